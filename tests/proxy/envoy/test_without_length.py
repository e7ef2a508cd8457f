"""Refusals without a length: they are held back until they are whole, or are too large for that."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from corrigible.adapters.sandbox.certificate import make_certificate
from corrigible.proxy.envoy.bootstrap import bootstrap
from corrigible.proxy.envoy.gateway import Gateway
from corrigible.proxy.http.api_routes import Upstream
from corrigible.proxy.tls_files import Identity
from tests._support.envoy_proxy import EnvoyBench as Bench
from tests._support.envoy_proxy import configured_envoy

MEBIBYTE = 1 << 20
HEAD = b"HTTP/1.1 422 No\r\nContent-Type: application/json\r\n%sTransfer-Encoding: chunked\r\n\r\n"


def without_length(size: int, trailers: bytes = b"") -> Callable[[socket.socket], None]:
    def answer(connection: socket.socket) -> None:
        connection.sendall(HEAD % (b"Trailer: X-Sum\r\n" if trailers else b""))
        chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
        for _ in range(0, size, 0x4000):
            connection.sendall(chunk)
        connection.sendall(b"2\r\n{}\r\n0\r\n" + trailers + b"\r\n")

    return answer


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, int]]:
    files = make_certificate(tmp_path_factory.mktemp("tls"))
    answers: dict[str, Any] = {f"/{number}": without_length(number * MEBIBYTE) for number in (0, 3, 5, 65)}
    answers |= {f"/{number}/trailers": without_length(number * MEBIBYTE, b"X-Sum: 7\r\n") for number in (0, 3)}
    corrector = Bench.Telling()
    identity = Identity(files.certificate, files.key)
    with (
        Bench.upstream(answers) as api,
        Bench.proxy(corrector, upstream=f"http://127.0.0.1:{api.port}", identity=identity) as proxy,
    ):
        yield corrector, proxy.port


def asked(port: int, path: str, *, http2: bool) -> httpx.Response:
    with httpx.Client(verify=False, http1=not http2, http2=http2, trust_env=False, timeout=60) as client:
        return client.post(f"https://127.0.0.1:{port}{path}", json={})


@pytest.mark.parametrize("http2", [False, True])
def test_up_to_64_mib_it_passes_whatever_the_caller_speaks(proxied: tuple[Any, int], http2: bool) -> None:
    corrector, port = proxied
    small = asked(port, "/0", http2=http2)
    assert (small.status_code, small.content) == (422, b"{} | 0 ")
    corrector.asked.clear()
    for size in (3, 5):  # over the limit of what is read
        large = asked(port, f"/{size}", http2=http2)
        assert (large.status_code, large.content) == (422, b" " * size * MEBIBYTE + b"{}")
    assert corrector.asked == []


@pytest.mark.parametrize("http2", [False, True])
def test_beyond_that_its_status_passes_and_what_happened_is_said(proxied: tuple[Any, int], http2: bool) -> None:
    answer = asked(proxied[1], "/65", http2=http2)
    assert (answer.status_code, answer.text) == (
        422,
        "corrigible: the API's answer has no length, and is over 64 MiB\n",
    )
    assert not [name for name in answer.headers if name.startswith("x-")]


@pytest.mark.parametrize("number", [0, 3])
def test_trailers_pass_corrected_or_not(number: int) -> None:
    corrector = Bench.Telling()
    answers: dict[str, Any] = {"/x": without_length(number * MEBIBYTE, b"X-Sum: 7\r\n")}
    with Bench.upstream(answers) as api, Bench.proxy(corrector, upstream=f"http://127.0.0.1:{api.port}") as proxy:
        answer = Bench.ask(proxy.port, "/x", "POST", b"{}", b"Content-Type: application/json\r\n")
    assert (b" | " in answer) is (number == 0)
    assert answer.endswith(b"\r\n0\r\nx-sum: 7\r\n\r\n")


def test_a_corrected_one_has_one_length() -> None:
    edits = b"+content-length:3\n"
    head = b"HTTP/1.1 200 OK\r\ncorrigible-sections: %d 3\r\nContent-Length: %d\r\n\r\n"
    reply = head % (len(edits), len(edits) + 3) + edits + b"new"
    with Bench.upstream({"/x": without_length(0)}) as api, Bench.upstream({"/v1/refusal": reply}) as stand_in:
        at = [f"127.0.0.1:{stand_in.port}"]
        gateway = Gateway("127.0.0.1", 0, Upstream("http", "127.0.0.1", api.port), at, seconds=60)
        with configured_envoy(bootstrap(gateway)) as port:
            answer = Bench.ask(port, "/x", "POST", b"{}", b"Content-Type: application/json\r\n")
    assert answer.endswith(b"\r\n\r\nnew")
    assert answer.lower().count(b"content-length") == 1 and b"\r\ncontent-length: 3\r\n" in answer.lower()


def test_a_refusal_that_breaks_off_is_a_page_without_a_mark() -> None:
    heads = (
        b"Content-Length: 60\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n9\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nno",
    )

    def cut(head: bytes) -> Callable[[socket.socket], None]:
        def answer(connection: socket.socket) -> None:
            connection.sendall(b"HTTP/1.1 400 No\r\nContent-Type: application/json\r\n" + head + b"{")
            connection.shutdown(socket.SHUT_RDWR)

        return answer

    answers: dict[str, Any] = {f"/{number}": cut(head) for number, head in enumerate(heads)}
    with Bench.upstream(answers) as api, Bench.proxy(Bench.Telling(), upstream=f"http://127.0.0.1:{api.port}") as proxy:
        for path in answers:
            answer = Bench.ask(proxy.port, path)
            assert answer.startswith(b"HTTP/1.1 502 ")
            assert b"corrigible: the upstream" in answer and b"x-corrigible" not in answer.lower()
