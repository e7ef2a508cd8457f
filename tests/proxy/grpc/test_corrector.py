"""The corrector for gRPC: the limits and the loops of every other front end hold for it."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

import pytest

grpc: Any = importlib.import_module("grpc")

from corrigible.proxy.build import build_engine, build_loops  # noqa: E402  behind what may be missing
from corrigible.proxy.core.limits import Limits  # noqa: E402
from corrigible.proxy.core.loop.shared import LoopsApart  # noqa: E402
from corrigible.proxy.grpc.channel import open_upstream  # noqa: E402
from corrigible.proxy.grpc.corrector import GrpcCorrector  # noqa: E402
from corrigible.proxy.grpc.forwarder import CallResult, Metadata  # noqa: E402
from corrigible.proxy.grpc.front_end import CallOutcome, GrpcFront  # noqa: E402
from corrigible.proxy.runtime.dispatcher import Dispatcher  # noqa: E402

CALLER = ("authorization", "Bearer one")
UNAUTHENTICATED = 16


def refused(*metadata: tuple[str, str], trailers: Metadata = ()) -> CallResult:
    return CallResult("/shop.v1.Shop/Buy", (CALLER, *metadata), b"", UNAUTHENTICATED, "who are you", trailers, 1000.0)


def corrected(limits: Limits, loops: LoopsApart, *refusals: CallResult) -> list[CallOutcome]:
    """Return what becomes of some refusals, one after the other."""
    outcomes: list[CallOutcome] = []

    async def main() -> None:
        upstream = open_upstream("127.0.0.1:1")  # nobody asks it
        corrector = GrpcCorrector(build_engine(["grpc"], limits=limits, rpc=True), loops=loops)
        front = GrpcFront(corrector, upstream, Dispatcher(None, loops), described=True, record=outcomes.append)
        try:
            for refusal in refusals:
                trailers = await front.corrected(refusal)
                assert (trailers is None) is (outcomes[-1].outcome.rewrite is None)
        finally:
            await upstream.close()

    asyncio.run(main())
    return outcomes


def test_a_correction_that_takes_too_long_is_withheld_and_does_not_count() -> None:
    loops = build_loops()
    (late,) = corrected(Limits(seconds=0.0), loops, refused())
    assert late.outcome.rewrite is None
    assert str(late.outcome.error).endswith("the limit is 0")
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
