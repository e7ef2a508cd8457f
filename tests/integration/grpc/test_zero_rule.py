"""Real services behind a real `corrigible proxy --grpc-upstream --descriptors`, without a rule of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.rpc import status_pb2

from corrigible.client.grpc import RecoveryFeedbackInterceptor, feedback_of
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput, Next, apply
from tests._support.guarded_services import BOOK, STORE, Messages

GOOD: dict[str, Any] = {"name": "x", "parts": [{"code": "abc"}], "word": "w"}


@pytest.fixture
def refused(proxy: int, messages: Messages) -> Iterator[Callable[[str, Any], grpc.RpcError]]:
    """Call a method through the proxy and return how it was refused."""
    with grpc.insecure_channel(f"127.0.0.1:{proxy}") as channel:

        def call(method: str, document: Any) -> grpc.RpcError:
            stub: Any = channel.unary_unary(method, lambda m: m.SerializeToString(), messages.answer(method).FromString)
            with pytest.raises(grpc.RpcError) as refusal:
                stub(messages.of(method, document), timeout=20)
            return refusal.value

        yield call


def native(error: Any) -> status_pb2.Status:
    (data,) = [value for key, value in error.trailing_metadata() if key == "grpc-status-details-bin"]
    return status_pb2.Status.FromString(data)


def test_what_protovalidate_refuses_is_repaired(refused: Callable[[str, Any], Any], messages: Messages) -> None:
    document = {**GOOD, "limit": "6000000000", "uuid": "3F2504E04F8941D39A0C0305E82C3301"}
    error = refused(STORE, document)
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    details = native(error).details
    assert [one.type_url for one in details] == [
        "type.googleapis.com/buf.validate.Violations",
        "type.googleapis.com/corrigible.schema.v0_1.RecoveryFeedback",
    ]
    feedback = feedback_of(error)
    assert feedback is not None
    outcome = apply(feedback, Request(STORE, "", body=messages.document(messages.of(STORE, document))), confirm=True)
    assert isinstance(outcome, Next)
    assert outcome.request.body == {
        **GOOD,
        "limit": "5000000000",
        "uuid": "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    }


def test_the_services_own_words_lead_to_the_place(refused: Callable[[str, Any], Any], messages: Messages) -> None:
    document = {"room": "7", "nights": 30, "guests": ["Ada", "bob"]}
    error = refused(BOOK, document)
    assert (error.code(), error.details()) == (grpc.StatusCode.INVALID_ARGUMENT, "the booking is not possible")
    feedback = feedback_of(error)
    assert feedback is not None
    outcome = apply(feedback, Request(BOOK, "", body=messages.document(messages.of(BOOK, document))))
    assert isinstance(outcome, NeedsInput)
    assert [asked.pointer for asked in outcome.placeholders] == ["/body/nights", "/body/guests/1"]


def test_a_method_that_is_nearly_called_so(proxy: int) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{proxy}") as channel:
        call: Any = channel.unary_unary("/guarded.v1.Things/Stor", None, None)
        with pytest.raises(grpc.RpcError) as refusal:
            call(b"", timeout=20)
        error: Any = refusal.value
        assert error.code() is grpc.StatusCode.UNIMPLEMENTED
        feedback = feedback_of(error)
        assert feedback is not None
        (one,) = feedback.suggestions
        assert one.action == "USE_ALTERNATIVE_ENDPOINT"
        assert one.patch is not None and one.patch[-1].value == STORE
        assert one.safety is not None and one.safety.changes_intent


def test_no_feedback_is_asked_for(proxy: int, service: int, messages: Messages) -> None:
    """Mode `none` gives what the service says, byte for byte; Envoy adds the date that RFC 9110 has it add."""
    seen = []
    for port in (service, proxy):
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            with pytest.raises(grpc.RpcError) as refusal:
                channel.unary_unary(STORE, lambda m: m.SerializeToString(), None)(
                    messages.of(STORE, {}), timeout=20, metadata=(("recovery-feedback", "none"),)
                )
            error: Any = refusal.value
            seen.append(
                (
                    error.code(),
                    error.details(),
                    tuple(one for one in map(tuple, error.trailing_metadata()) if one[0] != "date"),
                )
            )
    assert seen[0] == seen[1]


def test_a_good_message_is_stored(proxy: int, messages: Messages) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{proxy}") as plain:
        channel = grpc.intercept_channel(plain, RecoveryFeedbackInterceptor())
        stub: Any = channel.unary_unary(STORE, lambda m: m.SerializeToString(), messages.answer(STORE).FromString)
        assert stub(messages.of(STORE, GOOD), timeout=20).name == "x"
