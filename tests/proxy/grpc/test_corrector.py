"""The corrector for gRPC: the limits and the loops of every other front end hold for it."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

import orjson
import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.rpc import status_pb2

grpc: Any = importlib.import_module("grpc")

from corrigible.adapters.apis.etcd.adapter import descriptors  # noqa: E402
from corrigible.adapters.protobuf.descriptors import Descriptors  # noqa: E402
from corrigible.proxy.access_log.statistics import Recorder  # noqa: E402
from corrigible.proxy.build import build_engine, build_loops  # noqa: E402  behind what may be missing
from corrigible.proxy.core.limits import Limits  # noqa: E402
from corrigible.proxy.core.loop.detector import SharedLoops  # noqa: E402
from corrigible.proxy.core.mode import Mode  # noqa: E402
from corrigible.proxy.grpc.channel import open_upstream  # noqa: E402
from corrigible.proxy.grpc.corrector import GrpcCodec, GrpcCorrector  # noqa: E402
from corrigible.proxy.grpc.forwarder import CallResult, Metadata  # noqa: E402
from corrigible.proxy.grpc.server import (  # noqa: E402
    CallOutcome,
    GrpcFront,
    reporter,
)
from corrigible.proxy.runtime.dispatcher import Dispatcher  # noqa: E402
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync  # noqa: E402
from corrigible.rules.lookup import LookupAnswer  # noqa: E402

CALLER = ("authorization", "Bearer one")
UNAUTHENTICATED = 16


def refused(*metadata: tuple[str, str], trailers: Metadata = ()) -> CallResult:
    return CallResult("/shop.v1.Shop/Buy", (CALLER, *metadata), b"", UNAUTHENTICATED, "who are you", trailers, 1000.0)


def corrected(limits: Limits, loops: SharedLoops, *refusals: CallResult) -> list[CallOutcome]:
    """Return what becomes of some refusals, one after the other."""
    outcomes: list[CallOutcome] = []

    async def main() -> None:
        upstream = open_upstream("127.0.0.1:1")  # nobody asks it
        corrector = GrpcCorrector(build_engine(["grpc"], limits=limits, rpc=True), loops=loops)
        front = GrpcFront(corrector, upstream, Dispatcher(None, loops), described=True, record=outcomes.append)
        try:
            for refusal in refusals:
                trailers = await front.corrected_trailers(refusal)
                assert (trailers is None) is (outcomes[-1].outcome.rewrite is None)
        finally:
            await upstream.close()

    asyncio.run(main())
    return outcomes


def test_a_correction_that_takes_too_long_is_withheld_and_does_not_count() -> None:
    loops = build_loops()
    (late,) = corrected(Limits(seconds_with_lookups=0.0), loops, refused())
    assert late.outcome.rewrite is None
    assert "over the time limit of 0 s " in str(late.outcome.error)
    in_time = corrected(Limits(seconds=60, seconds_with_lookups=60), loops, refused(), refused())
    assert [one.outcome.feedback.get("loop", {}).get("attempt") for one in in_time] == [None, 2]


def test_feedback_without_room_does_not_count() -> None:
    limits, loops = Limits(seconds=60, seconds_with_lookups=60), build_loops()
    full = (("x-large", "x" * 8000),)
    outcomes = corrected(limits, loops, refused(trailers=full), refused(trailers=full), refused(), refused())
    assert [one.outcome.reason for one in outcomes[:2]] == ["the native details leave no room"] * 2
    assert [one.outcome.feedback.get("loop", {}).get("attempt") for one in outcomes[2:]] == [None, 2]


@pytest.mark.parametrize(("mode", "reason"), [("none", "mode is none"), ("verbose", "mode is verbose")])
def test_only_reflective_trailers_carry_anything(mode: str, reason: str) -> None:
    limits, loops = Limits(seconds=60, seconds_with_lookups=60), build_loops()
    first, then = corrected(limits, loops, refused(("recovery-feedback", mode)), refused())
    assert (first.outcome.rewrite, first.outcome.reason) == (None, reason)
    assert "loop" not in then.outcome.feedback


def etcd_descriptors() -> Descriptors:
    return Descriptors(FileDescriptorSet.FromString(descriptors()).file)


def kv_message(name: str, **members: Any) -> bytes:
    kind = message_factory.GetMessageClass(etcd_descriptors().pool.FindMessageTypeByName(f"etcdserverpb.{name}"))
    return kind(**members).SerializeToString()


@pytest.fixture(scope="module")
def corrector() -> GrpcCorrector:
    return GrpcCorrector(build_engine(["grpc"], rpc=True), etcd_descriptors(), loops=build_loops())


def test_descriptors_that_come_later_are_read() -> None:
    corrector = GrpcCorrector(build_engine(["grpc"], rpc=True))
    assert not corrector.is_unary("/etcdserverpb.KV/Put")
    corrector.read([file.SerializeToString() for file in FileDescriptorSet.FromString(descriptors()).file])
    assert corrector.is_unary("/etcdserverpb.KV/Put")
    assert not corrector.is_unary("/etcdserverpb.Watch/Watch")


def test_a_success_is_counted_by_its_operation_where_the_descriptors_have_it(corrector: GrpcCorrector) -> None:
    recorder, methods = Recorder(), ("/etcdserverpb.KV/Put", "/etcdserverpb.KV/Put", "/made.up/Method")
    upstream: Any = None  # nobody is called
    front = GrpcFront(
        corrector, upstream, Dispatcher(), described=True, record=reporter(recorder, corrector.engine.packs)
    )
    for method in methods:
        front.call_ended(CallResult(method, (), b"", 0, "", (), 1000.0))
    groups = {
        (group.api, group.operation, group.status_class): n.count for group, n in recorder.statistics.groups.items()
    }
    assert groups == {("grpc", "etcdserverpb.KV/Put", "2xx"): 2, ("grpc", "", "2xx"): 1}


class TestCodec:
    """What of a call is read, and by whom it was made."""

    METHOD = "/etcdserverpb.KV/Put"

    def call(self, *metadata: tuple[str, str | bytes], request: bytes | None = None, **more: Any) -> CallResult:
        given: dict[str, Any] = {"code": 3, "message": "no", "trailers": (), **more}
        return CallResult(self.METHOD, metadata, request, **given)

    @pytest.mark.parametrize(
        ("metadata", "mode"),
        [
            ((), Mode.REFLECTIVE),
            ((("recovery-feedback", "none"),), Mode.NONE),
            ((("recovery-feedback", "loud"), ("recovery-feedback", "verbose")), Mode.VERBOSE),
            ((("recovery-feedback", b"none"),), Mode.REFLECTIVE),
            ((("x-mode", "none"),), Mode.REFLECTIVE),
        ],
    )
    def test_the_mode_is_metadata(self, metadata: Any, mode: Mode) -> None:
        assert GrpcCodec().choose_mode(self.call(*metadata), Mode.REFLECTIVE).mode is mode

    def test_the_document_holds_the_message_and_no_credentials(self, corrector: GrpcCorrector) -> None:
        message = kv_message("PutRequest", key=b"a", lease=7)
        metadata: list[tuple[str, str | bytes]] = [
            ("x-tenant", "t"),
            ("authorization", "Bearer one"),
            ("x-session-token", "two"),
            ("grpc-timeout", "1S"),
            ("trace-bin", b"\x00"),
            ("recovery-feedback", "reflective"),
            ("recovery-feedback-caller", "me"),
            ("host", "h"),
        ]
        exchange = GrpcCodec.decode(corrector._grpc, self.call(*metadata, request=message), "e", 5.0, 0.5, "who")
        assert exchange.request.document() == {
            "method": self.METHOD,
            "path": "",
            "query": {},
            "headers": {"x-tenant": "t", "grpc-timeout": "1S"},
            "body": {"key": "YQ==", "lease": "7"},
        }
        assert (exchange.status, exchange.id, exchange.started, exchange.elapsed, exchange.caller) == (
            *(400, "e", 5.0),
            *(0.5, "who"),
        )
        assert orjson.loads(exchange.body) == {"code": 3, "message": "no", "details": []}
        assert GrpcCodec.decode(corrector._grpc, self.call(), "e", 5.0, 0.5, "").request.body is None

    def test_feedback_of_the_upstream_itself_is_left_alone(self, corrector: GrpcCorrector) -> None:
        for name, speaks in (("corrigible.schema.v0_1.RecoveryFeedback", True), ("google.rpc.BadRequest", False)):
            status = status_pb2.Status(code=3, message="no")
            status.details.add(type_url=f"type.googleapis.com/{name}", value=b"")
            native = self.call(trailers=(("grpc-status-details-bin", status.SerializeToString()),))
            outcome = run_with_lookups_sync(
                corrector.correct(native, id="e", started=1.0), lambda lookup: LookupAnswer(0)
            )
            assert (outcome.reason == "the upstream sent feedback itself") is speaks

    def test_who_calls(self, corrector: GrpcCorrector) -> None:
        one = corrector.caller(self.call(("authorization", "one"), ("recovery-feedback-caller", "a"), peer="p"))
        same = corrector.caller(self.call(("authorization", "one"), ("recovery-feedback-caller", "a"), peer="q"))
        other = corrector.caller(self.call(("authorization", "one"), ("recovery-feedback-caller", "b"), peer="p"))
        secret = self.call(("authorization", b"one"), ("recovery-feedback-caller", "a"), peer="p")
        assert one == same
        assert len({one, other, corrector.caller(secret), corrector.caller(self.call(peer="p"))}) == 4
        without = GrpcCorrector(corrector.engine, loops=None)
        assert without.caller(self.call(("authorization", "one"), peer="p")) == "p"

    def test_which_methods_are_unary(self) -> None:
        file = FileDescriptorProto(name="a.proto", package="a", syntax="proto3")
        file.message_type.add(name="M")
        service = file.service.add(name="S")
        for name, sent, given in (("One", False, False), ("Up", True, False), ("Down", False, True)):
            method = service.method.add(name=name, input_type=".a.M", output_type=".a.M")
            method.client_streaming, method.server_streaming = sent, given
        corrector = GrpcCorrector(build_engine(["grpc"], rpc=True), Descriptors([file]))
        kinds = {name: corrector.is_unary(f"/a.S/{name}") for name in ("One", "Up", "Down", "None")}
        assert kinds == {"One": True, "Up": False, "Down": False, "None": False}

    def test_every_pack_reads_the_descriptors(self) -> None:
        corrector = GrpcCorrector(build_engine(["grpc"], rpc=True))
        assert corrector.is_unary(self.METHOD) is False
        clock, limits = corrector.engine.clock, corrector.engine.limits
        corrector.learn(etcd_descriptors())
        assert corrector.is_unary(self.METHOD)
        assert all(profile.description is not None for profile in corrector.engine.profiles)
        assert (corrector.engine.clock, corrector.engine.limits) == (clock, limits)
