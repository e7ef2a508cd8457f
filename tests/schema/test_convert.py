"""Protobuf: nothing is lost on the way, and what a newer writer sent is read safely."""

from __future__ import annotations

import json
from typing import Any

import pytest

from corrigible.schema import MAX_DEPTH, Feedback, FeedbackType, ReaderError, Suggestion, parse
from corrigible.schema.convert import from_proto, to_proto, value_from_proto, value_to_proto
from corrigible.schema.v0_1 import feedback_pb2 as pb


def through_bytes(value: Any) -> Any:
    sent = pb.Value()
    sent.ParseFromString(value_to_proto(value).SerializeToString())
    return value_from_proto(sent)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "null_value"),
        (False, "bool_value"),
        (True, "bool_value"),
        (0, "int_value"),
        (500, "int_value"),
        (-1, "int_value"),
        (2**53 + 1, "int_value"),
        (2**63 - 1, "int_value"),
        (-(2**63), "int_value"),
        (2**63, "big_int_value"),
        (-(2**63) - 1, "big_int_value"),
        (10**300, "big_int_value"),
        (500.0, "double_value"),
        (-0.0, "double_value"),
        (1e-7, "double_value"),
        ("", "string_value"),
        ("\u00fc\u0000\U0001f600", "string_value"),
        ([], "list_value"),
        ([None, [], {}, 1, 1.0, True, "1"], "list_value"),
        ({}, "struct_value"),
        ({"z": 1, "a": {"": None}, "m": [{}]}, "struct_value"),
    ],
)
def test_a_value_keeps_its_kind_and_its_text(value: Any, kind: str) -> None:
    assert value_to_proto(value).WhichOneof("kind") == kind
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
    sent = pb.Feedback()
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
                "steps": [{"method": "", "path": "a.B/C", "body": {}}],
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
    by_hand = pb.Feedback(
        type=pb.FEEDBACK_TYPE_RECOVERY_GUIDANCE,
        message="No.",
        suggestions=[
            pb.Suggestion(
                action="MODIFY_PARAMS",
                parameters=pb.Struct(members=[pb.Member(name="a", value=pb.Value(int_value=1))]),
            )
        ],
    )
    assert to_proto(made) == by_hand
    assert from_proto(by_hand) == made


def test_an_empty_message_reads_as_guidance_that_suggests_nothing() -> None:
    assert from_proto(pb.Feedback()).document() == {"type": "recovery_guidance", "message": ""}


def suggestion(**fields: Any) -> pb.Feedback:
    return pb.Feedback(suggestions=[pb.Suggestion(action="MODIFY_PARAMS", **fields)])


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        (suggestion(parameters=pb.Struct(members=[pb.Member(name="a")])), "a value of no known kind"),
        (suggestion(patch=[pb.PatchOperation(path="/body/a")]), "/suggestions/0/patch/0/op"),
        (suggestion(applicability=99), "/suggestions/0/applicability"),
        (pb.Feedback(type=99), "/type"),  # type: ignore[arg-type]  # a number of a newer version
        (suggestion(steps=[pb.StepRequest(path="/a", body=pb.Value(big_int_value="0x10"))]), "no integer"),
        (suggestion(steps=[pb.StepRequest(path="/a", body=pb.Value(big_int_value="9" * 5000))]), "no integer"),
    ],
)
def test_what_a_newer_writer_decides_is_an_error(message: pb.Feedback, complaint: str) -> None:
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
