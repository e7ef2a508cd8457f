"""What flows through Envoy as without us: upgrades, 100 Continue, answers that come late, both directions at once."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests._support.envoy_proxy import EnvoyBench as Bench

JSON = b"Content-Type: application/json\r\n"
POST = b"POST /x HTTP/1.1\r\nHost: x\r\n"


@contextmanager
def server(behaves: Callable[[socket.socket], None]) -> Iterator[str]:
    """Serve one connection at a time in this way."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ended = threading.Event()

        def serve() -> None:
            while not ended.is_set():
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    behaves(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            ended.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(60)


def until(connection: socket.socket, end: bytes) -> bytes:
    got = b""
    while not got.endswith(end):
        data = connection.recv(1 << 16)
        assert data, got
        got += data
    return got


@contextmanager
def caller(corrector: Any, behaves: Callable[[socket.socket], None]) -> Iterator[Any]:
    with server(behaves) as url, Bench.proxy(corrector, upstream=url) as proxy:
        wire = Bench.Wire(proxy.port)
        try:
            yield wire
        finally:
            wire.close()


@pytest.mark.parametrize("protocol", [b"websocket", b"SPDY/3.1"])
def test_an_upgraded_connection_is_bytes_in_both_directions(protocol: bytes) -> None:
    def upgrade(connection: socket.socket) -> None:
        assert b"upgrade: " + protocol.lower() in until(connection, b"\r\n\r\n").lower()
        connection.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: %s\r\nConnection: Upgrade\r\n\r\n\x82\x01a" % protocol
        )
        connection.sendall(b"got " + connection.recv(100))

    corrector = Bench.Telling()
    with caller(corrector, upgrade) as wire:
        wire.send(b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: %s\r\nConnection: Upgrade\r\n" % protocol)
        wire.send(b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAA\r\n\r\n")
        wire.until(lambda got: got.endswith(b"\x82\x01a"))
        wire.send(b"\x82\x81\0\0\0\0b")
        assert wire.rest().endswith(b"\x82\x01agot \x82\x81\0\0\0\0b")
    assert corrector.asked == []


def test_an_expectation_is_the_api_s_to_meet() -> None:
    def asks(connection: socket.socket) -> None:
        assert b"\r\nexpect: 100-continue\r\n" in until(connection, b"\r\n\r\n").lower()
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        until(connection, b"hello")
        connection.sendall(Bench.message(b"400 No", JSON, b"{}"))

    corrector = Bench.Telling()
    with caller(corrector, asks) as wire:
        wire.send(POST + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        assert wire.until(lambda got: got.endswith(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 Continue\r\n")
        wire.send(b"hello")
        assert b"HTTP/1.1 400 " in wire.until(lambda got: b" | 0 " in got)
    assert [body for _, body, _, _ in corrector.seen] == [b"hello"]


@pytest.mark.parametrize("status", [b"417 Expectation Failed", b"401 Unauthorized"])
def test_a_refusal_instead_of_a_100_arrives_at_once(status: bytes) -> None:
    refusal = Bench.message(status, JSON, b"{}")

    def refuses(connection: socket.socket) -> None:
        until(connection, b"\r\n\r\n")
        connection.sendall(refusal)
        connection.recv(1)

    corrector = Bench.Telling()
    with caller(corrector, refuses) as wire:
        wire.send(POST + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        got = wire.until(lambda got: got.endswith(b"{}"))
    assert Bench.seen(got) == Bench.seen(refusal)
    assert corrector.asked == []  # what it is about will not be sent


def test_an_answer_that_comes_late_arrives_when_it_comes() -> None:
    asked, comes = threading.Event(), threading.Event()

    def polls(connection: socket.socket) -> None:
        until(connection, b"\r\n\r\n")
        asked.set()
        assert comes.wait(60)
        connection.sendall(Bench.message(b"200 OK", JSON, b"[1]"))

    with caller(Bench.reflective(), polls) as wire:
        wire.send(b"GET /poll HTTP/1.1\r\nHost: x\r\n\r\n")
        assert asked.wait(60)
        wire.socket.settimeout(0.5)
        with pytest.raises(TimeoutError):  # nobody answers in the place of the API
            wire.socket.recv(1)
        wire.socket.settimeout(60)
        comes.set()
        assert wire.until(lambda got: got.endswith(b"[1]")).startswith(b"HTTP/1.1 200 ")


def test_both_directions_flow_at_once() -> None:
    def echoes(connection: socket.socket) -> None:
        with connection.makefile("rb") as sent:
            while sent.readline() != b"\r\n":
                pass
            head = b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            connection.sendall(b"HTTP/1.1 200 OK\r\n" + head)
            while (size := sent.readline()) != b"0\r\n":
                connection.sendall(size + sent.readline())
            connection.sendall(b"0\r\n\r\n")

    with caller(Bench.reflective(), echoes) as wire:
        wire.send(POST + b"Transfer-Encoding: chunked\r\n\r\n")
        for word in (b"one", b"two", b"six"):  # each comes back before the next one is sent
            wire.send(b"3\r\n%s\r\n" % word)
            wire.until(lambda got, word=word: word in got)
        wire.send(b"0\r\n\r\n")
        wire.until(lambda got: got.endswith(b"0\r\n\r\n"))


def test_events_flow_one_by_one() -> None:
    go_on = threading.Semaphore(0)

    def tells(connection: socket.socket) -> None:
        until(connection, b"\r\n\r\n")
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        for number in range(3):
            connection.sendall(b"data: %d\n\n" % number)
            assert go_on.acquire(timeout=60)

    with caller(Bench.reflective(), tells) as wire:
        wire.send(b"GET /events HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        for number in range(3):
            wire.until(lambda got, number=number: b"data: %d\n\n" % number in got)
            go_on.release()
        wire.rest()
