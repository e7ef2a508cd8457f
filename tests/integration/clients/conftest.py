"""A gRPC server that does what it is told, and the proxy before it; a local GitHub, and the proxy before it."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from corrigible.adapters.sandbox.runtimes import find_node
from corrigible.adapters.sandbox.server import Running, SandboxError
from corrigible.proxy.demo.scene import SANDBOXES
from tests._support.grpc_probe import probe as probe
from tests._support.grpc_probe import proxied as proxied
from tests._support.grpc_probe import rpc as rpc
from tests._support.raw_proxy import corrected


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
def github_proxy(github_server: Running) -> Iterator[SimpleNamespace]:
    with corrected(github_server.url, "github") as url:
        yield SimpleNamespace(url=url)
