"""Callers that keep a proxy busy with frames that carry nothing: told to calm down, at nobody else's expense."""

from __future__ import annotations

import ssl
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, _, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS = 1, 4
ENHANCE_YOUR_CALM, REFUSED_STREAM = 11, 7
OK = (b"200", b"ok")


@pytest.fixture(scope="module")
def served(bench: Any, two: Any) -> Iterator[tuple[Any, Any]]:
    with (
        two.upstream(two.http2) as upstream,
        bench.proxy(bench.Silent(), **two.settings(upstream.port)) as proxy,
    ):
        yield proxy, upstream


@pytest.fixture
def caller(served: tuple[Any, Any], two: Any) -> Iterator[Any]:
    proxy, upstream = served
    upstream.seen.clear()
    with two.caller(proxy.port) as caller:
        yield caller


def opened(caller: Any) -> int:
    stream: int = caller.stream()
    caller.headers(stream, caller.head(b"/", b"POST"), end=False)
    return stream


def zero_data(caller: Any, frame: Callable[..., bytes]) -> Iterator[bytes]:
    stream = opened(caller)
    while True:
        yield frame(DATA, 0, stream)


def padding(caller: Any, frame: Callable[..., bytes]) -> Iterator[bytes]:
    stream = opened(caller)
    while True:
        yield frame(DATA, 8, stream, b"\x01\0")


def settings(caller: Any, frame: Callable[..., bytes]) -> Iterator[bytes]:
    while True:
        yield frame(SETTINGS)


def strange_settings(caller: Any, frame: Callable[..., bytes]) -> Iterator[bytes]:
    yield frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", number, 1) for number in range(100, 2700)))
    yield from settings(caller, frame)


def pings(caller: Any, frame: Callable[..., bytes]) -> Iterator[bytes]:
    while True:
        yield frame(PING, 0, 0, bytes(8))


def priorities(caller: Any, frame: Callable[..., bytes]) -> Iterator[bytes]:
    while True:
        yield frame(PRIORITY, 0, 1, b"\0\0\0\x03\x10")


def unknown(caller: Any, frame: Callable[..., bytes]) -> Iterator[bytes]:
    while True:
        yield frame(0xAB)


def updates(caller: Any, frame: Callable[..., bytes]) -> Iterator[bytes]:
    stream = opened(caller)
    while True:
        yield frame(WINDOW_UPDATE, 0, stream, b"\0\0\0\x01")


def rapid_resets(caller: Any, frame: Callable[..., bytes]) -> Iterator[bytes]:
    """CVE-2023-44487."""
    while True:
        stream = caller.stream()
        yield frame(HEADERS, END_STREAM | END_HEADERS, stream, caller.block(caller.head()))
        yield frame(RST_STREAM, 0, stream, b"\0\0\0\x08")


def resets_of_ours(caller: Any, frame: Callable[..., bytes]) -> Iterator[bytes]:
    """CVE-2025-8671: what makes the server reset streams."""
    while True:
        stream = caller.stream()
        yield frame(HEADERS, END_HEADERS, stream, caller.block(caller.head()))
        yield frame(WINDOW_UPDATE, 0, stream, b"\x7f\xff\xff\xff")


def empty_heads(caller: Any, frame: Callable[..., bytes]) -> Iterator[bytes]:
    while True:
        yield frame(HEADERS, END_STREAM | END_HEADERS, caller.stream())


def too_many(caller: Any, frame: Callable[..., bytes]) -> Iterator[bytes]:
    while True:
        yield frame(HEADERS, END_HEADERS, caller.stream(), caller.block(caller.head(b"/", b"POST")))


def continuations(caller: Any, frame: Callable[..., bytes]) -> Iterator[bytes]:
    """CVE-2024-27316 and its kind."""
    stream = caller.stream()
    yield frame(HEADERS, 0, stream, caller.block(caller.head()))
    while True:
        yield frame(CONTINUATION, 0, stream, caller.block([(b"a", b"b")]))


def empty_continuations(caller: Any, frame: Callable[..., bytes]) -> Iterator[bytes]:
    stream = caller.stream()
    yield frame(HEADERS, 0, stream, caller.block(caller.head()))
    while True:
        yield frame(CONTINUATION, 0, stream)


def hpack_bomb(caller: Any, frame: Callable[..., bytes]) -> Iterator[bytes]:
    """One long field in the table, and thousands of references to it."""
    stream = caller.stream()
    block = caller.block([*caller.head(), (b"a", b"x" * 3500)])
    yield frame(HEADERS, END_STREAM | END_HEADERS, stream, block + b"\xbe" * 15000)
    yield from pings(caller, frame)


FLOODS = [
    *(zero_data, padding, settings, strange_settings, pings, priorities, unknown, updates, rapid_resets),
    *(resets_of_ours, empty_heads, too_many, continuations, empty_continuations, hpack_bomb),
]


@pytest.mark.parametrize("flood", FLOODS, ids=lambda flood: flood.__name__)
def test_a_flood_is_told_to_calm_down(caller: Any, two: Any, flood: Any) -> None:
    frames = flood(caller, two.frame)
    try:
        for _ in range(40):
            caller.send(*(next(frames) for _ in range(200)))
    except OSError:
        pass  # it is closed already
    last = [found for found in caller.rest() if found.type == GOAWAY][-1]
    assert last.code == ENHANCE_YOUR_CALM


def test_what_is_asked_within_reason_is_not_a_flood(caller: Any, two: Any) -> None:
    for _ in range(5):
        caller.send(*(two.frame(PING, 0, 0, bytes(8)) for _ in range(20)))
        caller.send(*(two.frame(WINDOW_UPDATE, 0, 0, b"\0\0\x10\0") for _ in range(20)))
        streams = [caller.stream() for _ in range(30)]
        for stream in streams:
            caller.headers(stream, caller.head(b"/cancelled", b"POST"), end=False)
            caller.send(two.frame(RST_STREAM, 0, stream, b"\0\0\0\x08"))
        assert caller.ask() == OK


def test_streams_past_the_limit_are_refused_one_by_one(caller: Any, two: Any) -> None:
    streams = [opened(caller) for _ in range(101)]
    assert caller.answer(streams[-1]) == REFUSED_STREAM
    caller.data(streams[0], b"")
    assert caller.answer(streams[0]) == OK


def test_the_limits_are_announced(caller: Any) -> None:
    said = caller.until(lambda found: found.type == SETTINGS and not found.flags).payload
    known = dict(struct.unpack(">HI", said[place : place + 6]) for place in range(0, len(said), 6))
    assert (known[3], known[6]) == (100, 1 << 16)


def test_a_header_list_that_is_too_long_is_a_431_and_no_more(caller: Any, served: Any) -> None:
    stream = caller.stream()
    caller.headers(stream, caller.head(b"/long", b"GET", *((b"a%d" % n, b"x" * 3500) for n in range(20))))
    status, body = caller.answer(stream)
    assert (status, body) == (b"431", b"corrigible: the header list is too long\n")
    assert caller.ask() == OK
    assert not [fields for fields in served[1].seen if (b":path", b"/long") in fields]


def test_others_are_served_beside_floods(served: Any, two: Any) -> None:
    """Small data is no flood, since gRPC lives on it; but whoever sends it waits his turn."""
    proxy, _ = served
    with two.caller(proxy.port) as busy, two.caller(proxy.port) as other:
        stream = opened(busy)
        busy.send(*(two.frame(DATA, 0, stream, b"x") for _ in range(20_000)))
        assert other.ask() == OK
        busy.data(stream, b"")
        assert busy.answer(stream) == OK


def test_who_gives_back_room_frame_by_frame_is_not_a_flood(bench: Any, two: Any) -> None:
    """A long answer that comes fast is worth two WINDOW_UPDATEs for each of its frames."""
    whole = 16 << 20

    def pours(upstream: Any, wire: ssl.SSLSocket) -> None:
        peer, room = two.Server(wire), {0: 65535, 1: 65535}
        while (found := peer.next()) is not None:
            if found.type == SETTINGS and not found.flags:
                known = dict(struct.unpack(">HI", found.payload[at : at + 6]) for at in range(0, len(found.payload), 6))
                room[1] = known.get(4, room[1])
            elif found.type == WINDOW_UPDATE:
                room[found.stream] += int.from_bytes(found.payload, "big")
            elif found.type == HEADERS:
                peer.headers(found.stream, [(b":status", b"200")], end=False)
                sent = 0
                while sent < whole:
                    while min(room.values()) < 16384:
                        more = peer.until(lambda found: found.type == WINDOW_UPDATE)
                        room[more.stream] += int.from_bytes(more.payload, "big")
                    sent += 16384
                    room = {name: size - 16384 for name, size in room.items()}
                    peer.data(found.stream, b"x" * 16384, end=sent == whole)

    with (
        two.upstream(pours) as upstream,
        bench.proxy(bench.Silent(), **two.settings(upstream.port)) as proxy,
        two.caller(proxy.port, struct.pack(">HI", 4, 1 << 24)) as caller,
    ):
        caller.send(two.frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 24)))
        stream, got = caller.stream(), 0
        caller.headers(stream, caller.head())
        while got < whole:
            found = caller.until(lambda found: found.type in (DATA, GOAWAY))
            assert found.type == DATA, found
            got += len(found.payload)
            more = struct.pack(">I", len(found.payload))
            caller.send(two.frame(WINDOW_UPDATE, 0, 0, more), two.frame(WINDOW_UPDATE, 0, stream, more))
