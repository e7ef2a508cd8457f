"""What a client sees through the proxy is what it sees without it, but for one detail of a refusal."""

from __future__ import annotations

import importlib
import json
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests._support.rows import rows

grpc: Any = importlib.import_module("grpc")
status_pb2: Any = importlib.import_module("google.rpc.status_pb2")

NONE = (("recovery-feedback", "none"),)
REFLECTIVE = (("recovery-feedback", "reflective"),)
OURS = "type.googleapis.com/corrigible.schema.v0_1.RecoveryFeedback"


def told(**what: Any) -> bytes:
    return json.dumps(what).encode()


class Call(NamedTuple):
    name: str
    method: str
    requests: tuple[bytes, ...]


CALLS = [
    Call("echo with metadata both ways", "Echo", (b"hello",)),
    Call("empty message", "Echo", (b"",)),
    Call("5 MiB", "Echo", (bytes(range(256)) * (20 << 10),)),
    Call("client stream", "Up", tuple(b"a" * n for n in range(50))),
    Call("client stream of nothing", "Up", ()),
    Call("server stream", "Down", (told(count=40),)),
    Call("server stream of nothing", "Down", (told(count=0),)),
    Call("server stream, then an error", "Down", (told(count=3, code=9, message="half", size=300, metadata=1),)),
    Call("both ways", "Chat", tuple(b"abc%d" % n for n in range(30))),
    Call("both ways, then an error", "Chat", (b"abc", told(code=3, message="stop", size=200))),
    Call("error while the client still sends", "Early", tuple(b"z" * 1000 for _ in range(200))),
    Call("error as trailers only", "Fail", (told(code=3, message="no", size=200),)),
    Call("error behind headers", "Fail", (told(code=3, message="no", size=200, headers=1),)),
    Call("no details", "Fail", (told(code=7, message="no"),)),
    Call("no message", "Fail", (told(code=5, message=""),)),
    Call("message of any letters", "Fail", (told(code=5, message="100% ä✓\nsecond line\t"),)),
    Call("details that are none", "Fail", (told(code=3, message="no", details="0affffff7f"),)),
    Call("details of another status", "Fail", (told(code=3, message="no", details="0805"),)),
    Call("unknown method", "/probe.v1.Probe/Nope", (b"",)),
    Call("unknown service", "/no.Such/Thing", (b"",)),
    *(Call(f"code {code}", "Fail", (told(code=code, message="why", metadata=1),)) for code in range(1, 17)),
]
each_call = rows("call", CALLS, ids=lambda call: call.name)


@each_call
def test_with_mode_none_every_byte_is_the_same(call: Call, rpc: Any, direct_channel: Any, proxied_channel: Any) -> None:
    direct = rpc.observe(direct_channel, call.method, *call.requests, metadata=NONE)
    assert rpc.observe(proxied_channel, call.method, *call.requests, metadata=NONE) == direct


@each_call
def test_feedback_is_one_more_detail_and_nothing_else(
    call: Call, rpc: Any, direct_channel: Any, proxied_channel: Any
) -> None:
    direct = rpc.observe(direct_channel, call.method, *call.requests)
    seen = rpc.observe(proxied_channel, call.method, *call.requests, metadata=REFLECTIVE)
    assert (seen.code, seen.message, seen.messages) == (direct.code, direct.message, direct.messages)
    assert seen.initial == direct.initial
    others = [[entry for entry in one.trailing if entry[0] != rpc.DETAILS] for one in (direct, seen)]
    assert others[0] == others[1]
    if seen.details != direct.details:
        native = status_pb2.Status(code=CODE[direct.code], message=direct.message)
        if direct.details is not None:
            native.ParseFromString(direct.details)
        whole = status_pb2.Status.FromString(seen.details)
        assert whole.details.pop().type_url == OURS
        assert whole == native


CODE = {code.name: code.value[0] for code in grpc.StatusCode}


def test_the_code_and_message_alone_bring_feedback(rpc: Any, proxied_channel: Any) -> None:
    seen = rpc.observe(proxied_channel, "Fail", told(code=7, message="not you"))
    status = status_pb2.Status.FromString(seen.details)
    assert (status.code, status.message) == (7, "not you")
    assert [detail.type_url for detail in status.details] == [OURS]


def test_feedback_of_the_upstream_stays_the_only_one(
    rpc: Any, direct_channel: Any, proxied_channel: Any, proxied: Any
) -> None:
    """Behind another proxy of this kind."""
    with rpc.started(proxied.port) as second, rpc.channel(second.port) as channel:
        once = rpc.observe(proxied_channel, "Fail", told(code=7, message="not you"))
        twice = rpc.observe(channel, "Fail", told(code=7, message="not you"))
    assert len(status_pb2.Status.FromString(twice.details).details) == 1
    assert len(status_pb2.Status.FromString(once.details).details) == 1


@rows("headers", [0, 1])
@rows("size", [0, 100, 1024, 2048, 3072, 4096, 5120, 6144, 7168, 8192, 16384, 32768, 49152, 65536])
@rows("metadata", [NONE, REFLECTIVE], ids=["none", "reflective"])
def test_the_real_status_survives_at_every_size(
    size: int, headers: int, metadata: Any, rpc: Any, probe: Any, proxied: Any
) -> None:
    """A client with the usual limits sees the native status wherever it would see it without the proxy."""
    call = told(code=3, message="bad parent.name", size=size, headers=headers)
    with rpc.channel(probe.port, options=()) as channel:
        direct = rpc.observe(channel, "Fail", call)
    with rpc.channel(proxied.port, options=()) as channel:
        seen = rpc.observe(channel, "Fail", call, metadata=metadata)
    # A client takes 8 KiB surely, and more with luck. gRPC's own servers and clients save base64 between each other.
    if size <= (5120 if proxied.is_envoy else 7168):
        assert (direct.code, direct.message) == ("INVALID_ARGUMENT", "bad parent.name")
        assert (seen.code, seen.message) == ("INVALID_ARGUMENT", "bad parent.name")
        native = status_pb2.Status.FromString(direct.details)
        assert list(status_pb2.Status.FromString(seen.details).details[: len(native.details)]) == list(native.details)
    if proxied.is_envoy and size > 49152:  # more than 64 KiB in one field: HTTP/2 libraries take no more
        return
    with rpc.channel(proxied.port) as channel:
        patient = rpc.observe(channel, "Fail", call, metadata=metadata)
    assert (patient.code, patient.message) == ("INVALID_ARGUMENT", "bad parent.name")
    native = status_pb2.Status.FromString(rpc.status_bytes(3, "bad parent.name", size))
    assert list(status_pb2.Status.FromString(patient.details).details[: len(native.details)]) == list(native.details)


def test_metadata_of_the_caller_arrives(rpc: Any, direct_channel: Any, proxied_channel: Any) -> None:
    metadata = (("x-probe", "one"), ("x-probe", "two"), ("x-raw-bin", b"\x00\xff"), ("authorization", "Bearer t"))
    (direct,) = rpc.observe(direct_channel, "Mirror", b"", metadata=metadata).messages
    (proxied,) = rpc.observe(proxied_channel, "Mirror", b"", metadata=metadata).messages
    without = [[pair for pair in json.loads(one) if pair[0] != "user-agent"] for one in (direct, proxied)]
    assert without[1] == without[0] == [[k, v if isinstance(v, str) else v.hex()] for k, v in metadata]


def test_compressed_messages_arrive(rpc: Any, proxied_channel: Any) -> None:
    call = proxied_channel.unary_unary("/probe.v1.Probe/Echo", None, None)
    assert call(b"z" * 100_000, compression=grpc.Compression.Gzip, timeout=rpc.PATIENCE) == b"z" * 100_000


def test_deadlines_are_the_callers(rpc: Any, probe: Any, proxied_channel: Any) -> None:
    probe.cancelled.clear()
    seen = rpc.observe(proxied_channel, "Sleep", b"", timeout=3)
    assert seen.code == "DEADLINE_EXCEEDED"
    assert probe.remaining is not None and 0 < probe.remaining < 3.1
    assert probe.cancelled.wait(rpc.PATIENCE)


def test_no_deadline_is_none(rpc: Any, probe: Any, proxied_channel: Any) -> None:
    probe.remaining = 1.0
    assert proxied_channel.unary_unary("/probe.v1.Probe/Sleep", None, None)(b"0.01") == b"slept"
    # What a server reads where there is none depends on the server's library: here a very long time, or None.
    assert probe.remaining is None or probe.remaining > 1e6


def test_a_call_that_is_cancelled_is_cancelled_upstream(rpc: Any, probe: Any, proxied_channel: Any) -> None:
    probe.cancelled.clear()
    probe.begun.clear()
    call = proxied_channel.unary_unary("/probe.v1.Probe/Sleep", None, None).future(b"", timeout=rpc.PATIENCE)
    assert probe.begun.wait(rpc.PATIENCE)
    call.cancel()
    assert probe.cancelled.wait(rpc.PATIENCE)


def test_a_stream_that_is_cancelled_half_way_shows_what_came(rpc: Any, proxied_channel: Any) -> None:
    hold = threading.Event()

    def requests() -> Iterator[bytes]:
        yield b"abc"
        hold.wait(rpc.PATIENCE)

    call = proxied_channel.stream_stream("/probe.v1.Probe/Chat", None, None)(requests(), timeout=rpc.PATIENCE)
    assert next(call) == b"cba"
    call.cancel()
    hold.set()
    with pytest.raises(grpc.RpcError) as caught:
        next(call)
    assert caught.value.code() is grpc.StatusCode.CANCELLED


def test_many_calls_that_never_end_do_not_hold_up_the_next(rpc: Any, probe: Any, proxied: Any) -> None:
    """More than fit on one connection to a server that takes 100 at once, which is common."""
    told_ = rpc.Probe()
    limit = ("grpc.max_concurrent_streams", 100)
    with (
        rpc.served(told_.handlers(), options=(limit,), workers=150) as port,
        rpc.started(port) as proxy,
        rpc.channel(proxy.port) as channel,
    ):
        sleeping = [
            channel.unary_unary("/probe.v1.Probe/Sleep", None, None).future(b"30", timeout=60) for _ in range(120)
        ]
        assert rpc.observe(channel, "Echo", b"hello", timeout=10).messages == [b"hello"]
        for call in sleeping:
            call.cancel()
