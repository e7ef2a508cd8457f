"""Agents that repeat themselves over gRPC, before a real `corrigible proxy --grpc-upstream`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import grpc
import pytest

from corrigible.client.grpc import feedback_of
from corrigible.schema.exchange import Request
from corrigible.schema.reader import Terminal, apply
from corrigible.schema.word import LoopAction
from tests._support.guarded_services import BOOK, Messages

REFUSED = {"room": "7", "nights": 30, "guests": ["Ada"]}
LADDER = [None, LoopAction.NONE, LoopAction.RELAX_STRUCTURE, LoopAction.ESCALATE]
Metadata = Sequence[tuple[str, str]]


@pytest.fixture
def book(proxy: int, messages: Messages) -> Callable[..., Any]:
    """Book a room over a connection of its own; return the feedback of a refusal, None where it is booked."""

    def call(metadata: Metadata, **change: Any) -> Any:
        with grpc.insecure_channel(f"127.0.0.1:{proxy}", options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
            stub: Any = channel.unary_unary(BOOK, lambda m: m.SerializeToString(), messages.answer(BOOK).FromString)
            try:
                stub(messages.of(BOOK, {**REFUSED, **change}), timeout=20, metadata=metadata)
            except grpc.RpcError as refusal:
                return feedback_of(refusal)
        return None

    return call


def action(feedback: Any) -> LoopAction | None:
    assert feedback is not None
    return feedback.loop.action if feedback.loop is not None else None


@pytest.mark.parametrize(
    "metadata", [[("authorization", "Bearer 1")], [("recovery-feedback-caller", "episode 7")], [("x-token", "1")]]
)
def test_the_same_refusal_is_answered_differently_each_time(book: Callable[..., Any], metadata: Metadata) -> None:
    said = [book(metadata, nights=nights) for nights in (30, 40, 30, 50)]
    assert [action(one) for one in said] == LADDER
    assert isinstance(apply(said[3], Request(BOOK, "", body=REFUSED)), Terminal)
    other = [(key, value + "0") for key, value in metadata]
    assert action(book(other)) is None
    assert action(book(metadata, room="8")) is None


def test_a_call_that_goes_well_ends_the_loop(book: Callable[..., Any]) -> None:
    metadata = [("authorization", "Bearer 2")]
    assert [action(book(metadata)) for _ in range(2)] == LADDER[:2]
    assert book(metadata, nights=3) is None
    assert action(book(metadata)) is None
