"""`kubectl exec`, `attach` and `port-forward` upgrade their connection: from then on it is bytes, up to a node."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from corrigible.adapters.sandbox.certificate import Files
from tests._support.wire import received

SWITCHING = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n"
SECONDS = 15


def head_of(wire: ssl.SSLSocket) -> bytes:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = wire.recv(1)
        assert piece, head
        head += piece
    return head


@pytest.fixture
def kubelet(proxy_certificate: Files) -> Iterator[int]:
    """What stands for a node: it upgrades, and sends every byte back. Yields the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(proxy_certificate.certificate, proxy_certificate.key)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError, AssertionError):
            while True:
                with context.wrap_socket(listener.accept()[0], server_side=True) as wire:
                    assert b"upgrade: spdy/3.1" in head_of(wire).lower()
                    wire.sendall(SWITCHING)
                    while data := wire.recv(65536):
                        wire.sendall(data)

    thread = threading.Thread(target=serve)
    thread.start()
    yield listener.getsockname()[1]
    with suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(SECONDS)


def test_exec_reaches_the_node_and_carries_bytes_both_ways(cluster: Any, pod: Any, kubelet: int) -> None:
    namespace = cluster.namespace()
    node = f"node-{kubelet}"
    address = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}
    status = {**address, "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet}}}
    pod["spec"]["nodeName"] = node
    path = f"/api/v1/namespaces/{namespace}/pods"
    with cluster.direct.client() as client:
        client.post("/api/v1/nodes", json={"metadata": {"name": node}, "status": status}).raise_for_status()
        client.post(path, json=pod).raise_for_status()
        try:
            for where in (cluster.direct, cluster.through):
                host, _, port = where.url.removeprefix("https://").rpartition(":")
                context = ssl.create_default_context(cafile=where.ca)
                with (
                    socket.create_connection((host, int(port)), SECONDS) as plain,
                    context.wrap_socket(plain, server_hostname=host) as wire,
                ):
                    wire.sendall(
                        f"POST {path}/p/exec?command=true&stdout=true HTTP/1.1\r\nHost: {host}\r\n"
                        "Authorization: Bearer admin-token\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
                        "X-Stream-Protocol-Version: v4.channel.k8s.io\r\nContent-Length: 0\r\n\r\n".encode()
                    )
                    assert head_of(wire).startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
                    for sent in (b"\x80\x03\x00\x01", b"x" * 200_000):
                        wire.sendall(sent)
                        back = b""
                        while len(back) < len(sent):
                            back += received(wire)
                        assert back == sent
        finally:
            client.delete(f"/api/v1/nodes/{node}")
