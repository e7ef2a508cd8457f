"""Where feedback is found in a JSON answer, and what does not count as such."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from google.protobuf import json_format

from corrigible.schema import find, parse
from corrigible.schema.carrier import CAUSE, DETAIL, SEAL, carried, seals
from corrigible.schema.convert import to_proto
from corrigible.schema.v0_1.feedback_pb2 import RecoveryFeedback
from tests._support.rows import rows

SAID: dict[str, Any] = {
    "type": "recovery_guidance",
    "message": "No.",
    "suggestions": [{"action": "MODIFY_PARAMS", "parameters": {"a": 1}}],
}
HELD = {"recovery_feedback": SAID}
DETAILS = [{"@type": f"type.googleapis.com/{DETAIL}", **json_format.MessageToDict(to_proto(parse(SAID)))}]

PLACES: list[dict[str, Any]] = [
    HELD,
    {"error": HELD},
    {"error": {"data": HELD}},
    {"errors": [{"extensions": HELD}]},
    {"details": DETAILS},
    {"error": {"details": DETAILS}},
    {"kind": "Status", "details": {"causes": [{"reason": CAUSE, "message": json.dumps(SAID)}]}},
]
TOLD: dict[str, Any] = {"content": [{"type": "text", "text": json.dumps(HELD)}], "isError": True}
ENVELOPES: list[dict[str, Any]] = [
    TOLD,
    {"jsonrpc": "2.0", "id": 1, "result": TOLD},
    {"jsonrpc": "2.0", "id": 1, "error": {"data": HELD}},
    {"errors": [{"extensions": HELD}], "data": None},
    {"errors": [{"extensions": HELD}], "data": None, "extensions": {}},
    {"success": False, **HELD},
    {"ok": False, "error": HELD},
]
"""They say themselves that they refuse."""


@rows("body", PLACES[:-1], ids=[json.dumps(body)[:40] for body in PLACES[:-1]])
def test_feedback_is_found_in_every_place_of_a_refusal(body: dict[str, Any]) -> None:
    assert find(body) == find(body, 400) == find(body, 503) == SAID
    assert (find(body, 200), find(body, 302)) == (None, None) or body.keys() == {"errors"}


@rows("body", ENVELOPES, ids=[json.dumps(body)[:40] for body in ENVELOPES])
def test_some_say_themselves_that_they_refuse(body: dict[str, Any]) -> None:
    assert find(body) == find(body, 200) == SAID


@rows("status", [None, 200, 400])
@rows("envelope", [{}, {"isError": False}, {"isError": "true"}, {"isError": 1}])
def test_what_a_tool_fetched_is_never_feedback(envelope: dict[str, Any], status: int | None) -> None:
    result = {**TOLD, **envelope, "structuredContent": HELD}
    if not envelope:
        del result["isError"]
    assert find({"jsonrpc": "2.0", "id": 1, "result": result}, status) is None
    assert find({**result, "isError": envelope.get("isError", False)}, status) is None


def test_a_cause_is_worth_what_a_stranger_may_say() -> None:
    found = find(PLACES[-1], 422)
    assert isinstance(found, dict)
    (one,) = found["suggestions"]
    assert one["patch"] == [{"op": "add", "path": "/body/a", "value": 1}]
    assert one["safety"] == {"side_effects": "certain", "changes_intent": True, "requires_confirmation": True}
    assert one["evidence"] == {"kind": "relayed", "pointer": "/details/causes"}
    assert found["message"] != SAID["message"]


def marked(body: Any, mark: str) -> Any:
    return json.loads(json.dumps(body).replace('"No."', f'"{mark}"').replace('\\"No.\\"', f'\\"{mark}\\"'))


@rows(("first", "second"), [*itertools.combinations(range(len(PLACES) - 1), 2)])
def test_the_place_that_is_named_first_counts(first: int, second: int) -> None:
    one, other = marked(PLACES[first], "first"), marked(PLACES[second], "second")
    both = {**other, **one}
    if "error" in one and "error" in other:
        both["error"] = {**other["error"], **one["error"]}
    found = find(both)
    assert isinstance(found, dict)
    assert found["message"] == "first"


def test_the_last_item_of_a_tool_counts() -> None:
    quoted = {"type": "text", "text": json.dumps({"recovery_feedback": {**SAID, "message": "Quoted."}})}
    assert find({**TOLD, "content": [quoted, *TOLD["content"]]}) == SAID
    assert find({**TOLD, "content": [*TOLD["content"], {"type": "text", "text": "No."}]}) is None


def test_the_name_of_the_detail_is_the_name_of_the_message() -> None:
    assert RecoveryFeedback.DESCRIPTOR.full_name == DETAIL


ODD: list[Any] = [None, [], "x", 7, True, [None], [7], {"recovery_feedback": 7}, "[]", "{", "{}"]


@rows("odd", ODD)
def test_odd_things_in_every_place_are_no_feedback(odd: Any) -> None:
    bodies: list[Any] = [
        odd,
        {"recovery_feedback": odd if not isinstance(odd, dict) else [odd]},
        {"error": odd},
        {"error": {"data": odd, "details": odd}},
        {"errors": odd},
        {"errors": [{"extensions": odd}]},
        {"kind": "Status", "details": odd},
        {"kind": "Status", "details": {"causes": odd}},
        {"kind": "Status", "details": {"causes": [{"reason": CAUSE, "message": odd if odd != "{}" else "{"}]}},
        {"details": [{"@type": odd}]},
        {"details": [{**DETAILS[0], "suggestions": odd}]} if odd not in ([], None) else {},
        {"content": [{"type": "text", "text": odd}], "result": {"content": odd}},
    ]
    assert [found for body in bodies if (found := find(body)) is not None and found != {"recovery_feedback": 7}] == []


def test_text_that_is_too_long_or_too_deep_is_left_alone() -> None:
    def content(text: str) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": text}], "isError": True}

    assert find(content(json.dumps({**HELD, "x": "y" * 64 * 1024}))) is None
    assert find(content('{"recovery_feedback": ' + "[" * 60_000)) is None
    assert find(content(" \n" + json.dumps(HELD))) == SAID


@pytest.mark.parametrize(
    ("more", "is_graphql"), [({}, True), ({"data": None}, True), ({"data": None, "items": []}, False)]
)
def test_a_success_with_errors_is_a_refusal_only_as_an_answer_of_graphql(
    more: dict[str, Any], is_graphql: bool
) -> None:
    found = find({"errors": [{"extensions": HELD}], **more}, 200)
    assert (found is not None) is is_graphql


def test_a_status_of_a_success_carries_nothing_and_a_reference_is_no_feedback() -> None:
    def status(reason: str, message: Any, **more: Any) -> dict[str, Any]:
        return {"kind": "Status", **more, "details": {"causes": [{"reason": reason, "message": message}]}}

    said = json.dumps(SAID)
    assert [one.feedback for one in carried(status(CAUSE, said))] == [SAID]
    assert [one.text for one in carried(status(CAUSE, said, status="Failure"))] == [said]
    assert SEAL == "RecoveryFeedbackSeal" and [*seals(status(SEAL, "abc"))] == ["abc"]
    for none in (
        status(CAUSE, said, status="Success"),
        status(CAUSE, said, kind="Pod"),
        status(CAUSE, json.dumps({"$ref": "#/a", **SAID})),
        status(CAUSE, SAID),
        status(SEAL, said),
    ):
        assert not [*carried(none)]
    assert not [*seals(status(SEAL, "abc", status="Success"))]


def test_a_status_of_success_has_no_feedback_in_its_details() -> None:
    assert find({"code": 3, "details": DETAILS}) == SAID
    assert find({"code": 0, "details": DETAILS}) is None
    assert find({"error": {"code": 0, "details": DETAILS}}) is None
