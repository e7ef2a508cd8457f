"""Protobuf: nothing is lost on the way, and what a newer writer sent is read safely."""

from __future__ import annotations

import json
from typing import Any

import pytest

from corrigible.schema import MAX_DEPTH, Feedback, FeedbackType, ReaderError, Suggestion, parse
from corrigible.schema.convert import from_proto, to_proto
from corrigible.schema.v0_1 import feedback_pb2 as pb
from tests._support.rows import rows


def through_bytes(value: Any) -> Any:
    patch = [{"op": "add", "path": "/body/a", "value": value}]
    feedback = parse({"message": "m", "suggestions": [{"action": "MODIFY_PARAMS", "patch": patch}]})
    sent = pb.RecoveryFeedback()
    sent.ParseFromString(to_proto(feedback).SerializeToString())
    return from_proto(sent).document()["suggestions"][0]["patch"][0]["value"]


@rows(
    "value",
    [
        *(None, False, True, 0, 500, -1, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 10**300),
        *(500.0, -0.0, 1e-7, "", "\u00fc\u0000\U0001f600"),
        *([], [None, [], {}, 1, 1.0, True, "1"], {}, {"z": 1, "a": {"": None}, "m": [{}]}),
    ],
)
def test_a_value_keeps_its_kind_and_its_text(value: Any) -> None:
    assert json.dumps(through_bytes(value)) == json.dumps(value)


@pytest.mark.parametrize("shape", [lambda v: {"a": v}, lambda v: [v]])
def test_the_deepest_feedback_that_may_be_written_can_be_sent(shape: Any) -> None:
    value: Any = "end"
    for _ in range(MAX_DEPTH - 1):
        value = shape(value)
    suggestion = {
        "action": "MODIFY_PARAMS",
        "parameters": {"a": value},
        "patch": [{"op": "add", "path": "/body/a", "value": value}],
        "steps": [{"method": "POST", "path": "/a", "query": {"a": value}, "body": value}],
        "placeholders": [{"pointer": "/body/b", "schema": {"a": value}}],
    }
    feedback = parse({"message": "Deep.", "suggestions": [suggestion]})
    sent = pb.RecoveryFeedback()
    sent.ParseFromString(to_proto(feedback).SerializeToString())
    assert from_proto(sent) == feedback


def test_what_is_empty_stays_there_where_it_means_something() -> None:
    document = {
        "type": "recovery_guidance",
        "message": "",
        "retry": {},
        "suggestions": [
            {
                "action": "MODIFY_PARAMS",
                "message": "",
                "parameters": {},
                "patch": [{"op": "add", "path": "/body/a", "value": None}, {"op": "remove", "path": "/body/b"}],
                "steps": [{"method": "/a.B/C", "path": "", "body": {}}],
                "placeholders": [{"pointer": "", "schema": {}}],
                "safety": {},
            }
        ],
    }
    assert from_proto(to_proto(parse(document))).document() == document


def test_a_message_is_the_same_however_it_was_made() -> None:
    made = Feedback(
        type=FeedbackType.RECOVERY_GUIDANCE,
        message="No.",
        suggestions=(Suggestion(action="MODIFY_PARAMS", parameters={"a": 1}),),
    )
    by_hand = pb.RecoveryFeedback(
        type=pb.FEEDBACK_TYPE_RECOVERY_GUIDANCE,
        message="No.",
        suggestions=[
            pb.Suggestion(
                action="MODIFY_PARAMS",
                parameters_json='{"a":1}',
            )
        ],
    )
    assert to_proto(made) == by_hand
    assert from_proto(by_hand) == made


def test_an_empty_message_reads_as_guidance_that_suggests_nothing() -> None:
    assert from_proto(pb.RecoveryFeedback()).document() == {"type": "recovery_guidance", "message": ""}


def suggestion(**fields: Any) -> pb.RecoveryFeedback:
    return pb.RecoveryFeedback(suggestions=[pb.Suggestion(action="MODIFY_PARAMS", **fields)])


@rows(
    ("message", "complaint"),
    [
        (suggestion(parameters_json="{a: 1}"), "a literal that is no JSON"),
        (suggestion(parameters_json="[1]"), "/suggestions/0/parameters"),
        (suggestion(patch=[pb.PatchOperation(path="/body/a")]), "/suggestions/0/patch/0/op"),
        (suggestion(applicability=99), "/suggestions/0/applicability"),
        (pb.RecoveryFeedback(type=99), "/type"),  # type: ignore[arg-type]  # a number of a newer version
        (suggestion(steps=[pb.StepRequest(path="/a", body_json="0x10")]), "no JSON"),
        (suggestion(steps=[pb.StepRequest(path="/a", body_json="9" * 5000)]), "no JSON"),
        (suggestion(steps=[pb.StepRequest(path="/a", body_json="[" * 100_000)]), "no JSON"),
    ],
)
def test_what_a_newer_writer_decides_is_an_error(message: pb.RecoveryFeedback, complaint: str) -> None:
    with pytest.raises(ReaderError) as caught:
        from_proto(message)
    assert complaint in str(caught.value)


def test_what_a_newer_writer_describes_is_dropped() -> None:
    newer = suggestion(evidence=pb.Evidence(kind=99))  # type: ignore[arg-type]  # a number of a newer version
    assert from_proto(newer).document()["suggestions"] == [{"action": "MODIFY_PARAMS", "parameters": {}}]


def test_unspecified_applicability_is_a_word_and_other_zeros_are_absent() -> None:
    message = suggestion(applicability=pb.APPLICABILITY_UNSPECIFIED, safety=pb.Safety(side_effects=0))  # type: ignore[arg-type]  # zero
    assert from_proto(message).document()["suggestions"] == [
        {"action": "MODIFY_PARAMS", "parameters": {}, "applicability": "UNSPECIFIED", "safety": {}}
    ]
