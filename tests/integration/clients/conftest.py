"""A gRPC server that does what it is told, and the proxy before it; a local GitHub, and the proxy before it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from corrigible.adapters.sandbox.error import SandboxError
from corrigible.adapters.sandbox.nodejs import find_node
from corrigible.adapters.sandbox.server import Running
from corrigible.proxy.demo.servers import SANDBOXES, proxy_for
from tests._support.grpc_probe import probe as probe
from tests._support.grpc_probe import proxied as proxied
from tests._support.grpc_probe import rpc as rpc


@pytest.fixture(scope="module")
def github_server() -> Iterator[Running]:
    """The local GitHub, fresh for these tests."""
    try:
        find_node()
    except SandboxError as problem:
        pytest.skip(str(problem))
    with SANDBOXES["github"][0].start() as running:
        yield running


@pytest.fixture(scope="module")
def github_proxy(github_server: Running) -> Iterator[Running]:
    with proxy_for(github_server.url, "github").start() as running:
        yield running
