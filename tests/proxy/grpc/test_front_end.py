"""What goes wrong inside the proxy stays inside: the native status passes, and in time."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from corrigible.adapters.sandbox.server import free_port

grpc: Any = importlib.import_module("grpc")
aio: Any = importlib.import_module("grpc.aio")

from corrigible.proxy.grpc.channel import open_upstream  # noqa: E402
from corrigible.proxy.grpc.forwarder import FULL, BufferBudget, CallResult, Metadata, serve  # noqa: E402  behind what may be missing

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
DENIED = json.dumps({"code": 7, "message": "not you", "size": 200, "metadata": 1}).encode()


class CallObserver:
    """One who does with refusals what a test wants."""

    def __init__(self, answer: Metadata | Exception | None, *, unary: bool = False) -> None:
        self.answer, self.unary = answer, unary
        self.refusals: list[CallResult] = []
        self.endings: list[CallResult] = []

    def is_unary(self, method: str) -> bool:
        return self.unary

    def call_started(self, metadata: Metadata) -> None:
        pass

    def call_ended(self, ending: CallResult) -> None:
        self.endings.append(ending)

    async def corrected_trailers(self, refusal: CallResult) -> Metadata | None:
        self.refusals.append(refusal)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def through(overseer: CallObserver, port: int, method: str, request: bytes) -> tuple[str, str, Metadata]:
    """Make one unary call through a carrier in here."""

    async def main() -> tuple[str, str, Metadata]:
        upstream = open_upstream(f"127.0.0.1:{port}")
        server, own = await serve("127.0.0.1:0", upstream, overseer)
        try:
            async with aio.insecure_channel(f"127.0.0.1:{own}") as channel:
                call = channel.unary_unary(f"/probe.v1.Probe/{method}")(request, timeout=20)
                code, message = await call.code(), await call.details()
                trailers = tuple((key, value) for key, value in await call.trailing_metadata())
                return code.name, message or "", trailers
        finally:
            await server.stop(None)
            await upstream.close()

    return asyncio.run(main())


def native(rpc: Any) -> Metadata:
    trailers: Metadata = (*rpc.METADATA, (rpc.DETAILS, rpc.status_bytes(7, "not you", 200)))
    return trailers


each_way = pytest.mark.parametrize("unary", [False, True], ids=["as a stream", "as a unary call"])


@each_way
@pytest.mark.parametrize("answer", [None, RuntimeError("a bug"), MemoryError()], ids=["nothing", "bug", "memory"])
def test_the_native_trailers_pass(answer: Exception | None, unary: bool, rpc: Any, probe: Any) -> None:
    overseer = CallObserver(answer, unary=unary)
    assert through(overseer, probe.port, "Fail", DENIED) == ("PERMISSION_DENIED", "not you", native(rpc))
    (refusal,) = overseer.refusals
    assert (refusal.method, refusal.request, refusal.code) == ("/probe.v1.Probe/Fail", DENIED, 7)
    assert refusal.trailers == native(rpc)
    assert refusal.seconds is not None and 10 < refusal.seconds <= 20.1


class Quoting(grpc.GenericRpcHandler):  # type: ignore[misc]  # of no known type
    """Says of another server what gRPC itself says of one that it does not reach."""

    TEXT = "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:9: Connection refused"

    def service(self, details: Any) -> Any:
        return grpc.unary_unary_rpc_method_handler(lambda request, context: context.abort(UNAVAILABLE, self.TEXT))


@each_way
def test_where_an_upstream_is_stays_with_the_proxy_and_its_own_words_pass(unary: bool, rpc: Any) -> None:
    overseer = CallObserver(None, unary=unary)
    gone = free_port()
    code, text, _ = through(overseer, gone, "Echo", b"")
    assert (code, text) == ("UNAVAILABLE", "corrigible: no connection to the upstream: connection refused")
    with rpc.served(Quoting()) as port:
        assert through(overseer, port, "Echo", b"")[:2] == ("UNAVAILABLE", Quoting.TEXT)
    assert [refusal.failure for refusal in overseer.refusals] == [f"connection refused (127.0.0.1:{gone})", None]


@each_way
def test_other_trailers_go_out_instead(unary: bool, probe: Any) -> None:
    overseer = CallObserver((("x", "y"),), unary=unary)
    assert through(overseer, probe.port, "Fail", DENIED) == ("PERMISSION_DENIED", "not you", (("x", "y"),))


@each_way
def test_who_fails_to_listen_stops_nothing(unary: bool, rpc: Any, probe: Any) -> None:
    class Deaf(CallObserver):
        def call_started(self, metadata: Metadata) -> None:
            raise RuntimeError("a bug")

        def call_ended(self, ending: CallResult) -> None:
            raise RuntimeError("a bug")

    assert through(Deaf(None, unary=unary), probe.port, "Echo", b"x") == ("OK", "", rpc.METADATA)


@each_way
def test_a_call_that_went_well_is_nobodys_business(unary: bool, rpc: Any, probe: Any) -> None:
    overseer = CallObserver(RuntimeError("a bug"), unary=unary)
    assert through(overseer, probe.port, "Echo", b"x") == ("OK", "", rpc.METADATA)
    assert overseer.refusals == []
    assert [ending.code for ending in overseer.endings] == [0]


@pytest.mark.parametrize("method", ["a b", "b\r\nx: y", "\x00", "\x7f"])
def test_a_method_that_is_no_path_reaches_nobody(method: str, probe: Any) -> None:
    """It would be another request to an upstream that is less strict."""
    overseer = CallObserver(None)
    code, _, _ = through(overseer, probe.port, method, b"")
    assert code == "UNIMPLEMENTED"
    assert overseer.refusals == overseer.endings == []


@each_way
def test_a_request_that_is_too_large_is_not_kept(unary: bool, probe: Any) -> None:
    overseer = CallObserver(None, unary=unary)
    large = json.dumps({"code": 7, "message": "not you", "filler": "x" * (1 << 20)}).encode()
    assert through(overseer, probe.port, "Fail", large)[0] == "PERMISSION_DENIED"
    assert overseer.refusals[0].request is None


@pytest.mark.parametrize(
    ("messages", "kept"), [([DENIED], DENIED), ([b"first", DENIED], None), ([b"first", b"second", DENIED], None)]
)
def test_of_many_messages_none_is_the_one_that_was_refused(
    messages: list[bytes], kept: bytes | None, probe: Any
) -> None:
    """Advice for one of them might be applied to another."""
    observer = CallObserver(None)

    async def main() -> str:
        upstream = open_upstream(f"127.0.0.1:{probe.port}")
        server, own = await serve("127.0.0.1:0", upstream, observer)
        try:
            async with aio.insecure_channel(f"127.0.0.1:{own}") as channel:
                call = channel.stream_stream("/probe.v1.Probe/Chat")(iter(messages), timeout=20)
                with contextlib.suppress(aio.AioRpcError):
                    assert [answer async for answer in call] == [one[::-1] for one in messages[:-1]]
                return str((await call.code()).name)
        finally:
            await server.stop(None)
            await upstream.close()

    assert asyncio.run(main()) == "PERMISSION_DENIED"
    assert [refusal.request for refusal in observer.refusals] == [kept]


PROTO = """\
syntax = "proto3";
package apex.v1;
message Order { string name = 1; }
service Orders { rpc Create(Order) returns (Order); rpc Get(Order) returns (Order); }
"""
RULE = """
    match: {operation: apex.v1.Orders/Create}
    lookup:
      order: {get: "'/apex.v1.Orders/Get'", message: {name: request.body.name}}
    suggest:
      - {action: MODIFY_PARAMS, message: Take its name., parameters: {name: order.name}}
    """


@pytest.mark.parametrize(("seconds", "spoken"), [(None, True), (0.6, False)])
def test_look_ups_end_before_the_deadline_of_the_call(
    seconds: float | None, spoken: bool, rpc: Any, write_pack: Any, tmp_path: Path
) -> None:
    """An answer that takes half a second is waited for, but not by a caller who has not so much time."""
    proto = tmp_path / "orders.proto"
    proto.write_text(PROTO, "utf-8")
    pack = write_pack(manifest="lookups: [/apex.v1.Orders/Get]\n", mine=RULE)
    asked: list[dict[str, Any]] = []
    release = threading.Event()

    def get(request: bytes, context: Any) -> bytes:
        asked.append({m.key: m.value for m in context.invocation_metadata() if m.key != "user-agent"})
        release.wait(0.5)
        return b"\x0a\x04real"

    def create(request: bytes, context: Any) -> bytes:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no")
        return b""

    methods = {"Create": grpc.unary_unary_rpc_method_handler(create), "Get": grpc.unary_unary_rpc_method_handler(get)}
    with (
        rpc.served(grpc.method_handlers_generic_handler("apex.v1.Orders", methods)) as port,
        rpc.started(port, "--pack", str(pack), "--descriptors", str(proto)) as proxy,
        rpc.channel(proxy.port) as channel,
    ):
        metadata = (("authorization", "Bearer t"), ("recovery-feedback", "reflective"))
        seen = rpc.observe(
            channel, "/apex.v1.Orders/Create", b"\x0a\x01a", metadata=metadata, timeout=seconds or rpc.PATIENCE
        )
        release.set()
    assert (seen.code, seen.message) == ("INVALID_ARGUMENT", "no")
    assert (seen.details is not None) is spoken
    assert asked == [{"authorization": "Bearer t"}]


@each_way
def test_messages_that_find_no_room_end_their_call_and_leave_none_of_it_taken(unary: bool, probe: Any) -> None:
    room = BufferBudget(100_000)

    async def main() -> list[str]:
        upstream = open_upstream(f"127.0.0.1:{probe.port}")
        server, own = await serve("127.0.0.1:0", upstream, CallObserver(None, unary=unary), room=room)
        said = []
        try:
            async with aio.insecure_channel(f"127.0.0.1:{own}") as channel:
                for method, size in [("Echo", 40_000), ("Echo", 100_001), ("Sleep", 40_000), ("Echo", 40_000)]:
                    timeout = 0.2 if method == "Sleep" else 20
                    call = channel.unary_unary(f"/probe.v1.Probe/{method}")(b"10".ljust(size), timeout=timeout)
                    said.append(f"{(await call.code()).name} {await call.details()}")
                many = [channel.unary_unary("/probe.v1.Probe/Sleep")(b"10".ljust(30_000), timeout=1) for _ in range(5)]
                said += sorted({(await call.code()).name for call in many})
        finally:
            await server.stop(None)
            await upstream.close()
        return said

    said = asyncio.run(main())
    assert said[:2] == ["OK ", f"RESOURCE_EXHAUSTED {FULL}"]
    assert said[2].startswith("DEADLINE_EXCEEDED ")
    assert said[3:] == ["OK ", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED"]
    with room.reserved(bytes(100_000)):
        pass


def test_a_small_message_that_unfolds_to_a_huge_one_takes_no_memory(rpc: Any, probe: Any) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("memory is looked up in /proc")
    with rpc.started(probe.port) as proxy:

        def peak() -> int:
            status = Path(f"/proc/{proxy.process.pid}/status").read_text()
            return int(status.partition("VmHWM:")[2].split()[0]) << 10

        with rpc.channel(proxy.port) as channel:
            echo = channel.unary_unary("/probe.v1.Probe/Echo", None, None)
            assert echo(b"x", timeout=20) == b"x"
            before = peak()
            for size in (200 << 20, 40 << 20, 40 << 20):
                with pytest.raises(grpc.RpcError) as refused:
                    echo(bytes(size), compression=grpc.Compression.Gzip, timeout=60)
                assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert echo(bytes(5 << 20), compression=grpc.Compression.Gzip, timeout=60) == bytes(5 << 20)
        assert peak() - before < 100 << 20
