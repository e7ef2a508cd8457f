"""One real kube-apiserver and the proxy in front of it, started once, and the clients that people use."""

from __future__ import annotations

import os
import secrets
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from corrigible.adapters.apis.kubernetes.sandbox import ASSETS, TOKENS, apiserver, authority, kubeconfig
from corrigible.adapters.sandbox.certificate import Files, make_certificate
from corrigible.adapters.sandbox.server import Running
from corrigible.proxy.demo.scene import proxy_for


@dataclass(frozen=True)
class Place:
    """Somewhere the Kubernetes API is served: the server itself, or the proxy in front of it."""

    url: str
    ca: Path
    config: Path
    """A kubeconfig of the administrator."""

    def client(self, token: str = TOKENS["admin"]) -> httpx.Client:
        context = ssl.create_default_context(cafile=self.ca)
        headers = {"authorization": f"Bearer {token}", "accept": "application/json"}
        return httpx.Client(base_url=self.url, verify=context, headers=headers, timeout=30, trust_env=False)


@dataclass(frozen=True)
class Cluster:
    """The same API, without and with the proxy."""

    direct: Place
    through: Place
    home: Path
    names: Iterator[int]

    def namespace(self, **labels: str) -> str:
        """Make a namespace of its own for a test."""
        name = f"test-{next(self.names)}"
        with self.direct.client() as client:
            body = {"metadata": {"name": name, "labels": labels}}
            client.post("/api/v1/namespaces", json=body).raise_for_status()
        return name


def place(url: str, ca: Path, config: Path) -> Place:
    config.write_text(kubeconfig(url, ca), "utf-8")
    return Place(url, ca, config)


@pytest.fixture(scope="session")
def server() -> Iterator[Running]:
    """A kube-apiserver, fresh for this run of the tests."""
    if not os.environ.get(ASSETS):
        pytest.skip(f"{ASSETS} names no folder with a kube-apiserver")
    with apiserver().start() as running:
        yield running


@pytest.fixture(scope="session")
def proxy_certificate(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The proxies' certificate, and beside it the key that they share."""
    files = make_certificate(tmp_path_factory.mktemp("proxy-certificate"))
    relay_key(files).write_text(secrets.token_hex(32), "utf-8")
    return files


def relay_key(proxy: Files) -> Path:
    return proxy.certificate.with_name("relay.key")


@pytest.fixture(scope="session")
def cluster(server: Running, proxy_certificate: Files, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The server, and `corrigible proxy --pack kubernetes` in front of it with TLS on both sides."""
    home = tmp_path_factory.mktemp("kubernetes")
    ca = authority(server.port)
    tls = ["--upstream-ca", str(ca), "--tls-cert", str(proxy_certificate.certificate)]
    options = [*tls, "--tls-key", str(proxy_certificate.key), "--relay-key", str(relay_key(proxy_certificate))]
    with proxy_for(server.url, "kubernetes", options=options).start() as proxy:
        yield Cluster(
            place(server.url, ca, home / "direct.json"),
            place(proxy.url, proxy_certificate.authority, home / "through.json"),
            home,
            count(1),
        )


@dataclass(frozen=True)
class Kubectl:
    """The command that people use."""

    program: str
    home: Path

    def arguments(self, where: Place, *words: str) -> list[str]:
        return [self.program, f"--kubeconfig={where.config}", f"--cache-dir={self.home / where.config.stem}", *words]

    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": os.environ["PATH"], "NO_PROXY": "127.0.0.1"}

    def __call__(self, where: Place, *words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.arguments(where, *words),
            env=self.environment(),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def start(self, where: Place, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.arguments(where, *words),
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture(scope="session")
def kubectl(cluster: Cluster) -> Kubectl:
    program = shutil.which("kubectl")
    if program is None:
        pytest.skip("no kubectl on PATH")
    return Kubectl(program, cluster.home)


@pytest.fixture
def pod() -> dict[str, Any]:
    """A small one that the server takes."""
    container = {"name": "c", "image": "registry.k8s.io/pause:3.9"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
