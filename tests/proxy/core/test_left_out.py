"""What no other value is known for can be left out, once that is confirmed; what is missed goes where a text says.

The refusals are those of APIs without a description, in the words of public reports.
"""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Json, Request
from corrigible.schema.reader import NeedsInput, Next
from tests._support.by_description import feedback_about, followed
from tests._support.rows import rows


@pytest.fixture(scope="module")
def engine() -> Engine:
    return build_engine(())


def told(
    engine: Engine, body: Json, answer: Json, status: int = 400, query: dict[str, Json] | None = None
) -> tuple[Request, dict[str, Any]]:
    method = "POST" if body is not None else "GET"
    request = Request(method, "/v1/things", query or {}, {"content-type": "application/json"} if body else {}, body)
    answer = {"error": {"message": answer}} if isinstance(answer, str) else answer
    feedback = feedback_about(engine, request, status, answer)
    assert feedback is not None
    return request, feedback


def asked(feedback: dict[str, Any]) -> list[str]:
    return [one["pointer"] for each in feedback["suggestions"] for one in each.get("placeholders", ())]


def edits(feedback: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the operations of the suggestions, each of which is one that has to be confirmed."""
    patches = [one for one in feedback["suggestions"] if "patch" in one and "placeholders" not in one]
    assert all(one["safety"]["requires_confirmation"] for one in patches)
    return [(op["op"], op["path"]) for one in patches for op in one["patch"] if op["op"] != "test"]


SCREEN = "Field '{}' cannot be set. It is not on the appropriate screen, or unknown."
REFUSED = {"resource": "Issue", "field": "assignees", "code": "invalid"}


@rows(
    ("body", "answer", "removed"),
    [
        # A member that may not be sent at all: no question.
        ({"fields": {"due": "1"}}, {"errors": {"due": SCREEN.format("due")}}, [("remove", "/body/fields/due")]),
        ({"n": "a", "top_k": 5}, "`top_k` must be unset when thinking is enabled.", [("remove", "/body/top_k")]),
        (
            {"Total": 12},
            'Field "Total" cannot accept a value in this table',
            [("remove", "/body/Total")],
        ),
        # Each of several is answered alike, whatever it has.
        (
            {"fields": {"rank": {"name": "High"}, "custom_1": "x"}},
            {"errors": {"rank": SCREEN.format("rank"), "custom_1": SCREEN.format("custom_1")}},
            [("remove", "/body/fields/rank"), ("remove", "/body/fields/custom_1")],
        ),
    ],
)
def test_what_may_not_be_sent(engine: Engine, body: Json, answer: Json, removed: list[tuple[str, str]]) -> None:
    _, feedback = told(engine, body, answer)
    assert edits(feedback) == removed
    assert asked(feedback) == []


@rows(
    ("body", "answer", "place"),
    [
        ({"title": "t", "assignees": ["ann", "bob"]}, {"errors": [{"value": "bob", **REFUSED}]}, "/body/assignees/1"),
        ({"reviewers": ["ann", "octo-b"]}, "Review cannot be requested from author octo-b", "/body/reviewers/1"),
        (
            {"a": 1, "penalty": 2},
            {"errors": [{"field": "penalty", "message": "is not supported here"}]},
            "/body/penalty",
        ),
    ],
)
def test_what_is_refused_is_asked_for_or_left_out(engine: Engine, body: Json, answer: Json, place: str) -> None:
    request, feedback = told(engine, body, answer, 422)
    assert asked(feedback) == [place]
    assert edits(feedback) == [("remove", place)]
    assert feedback["suggestions"][-1]["evidence"] == {"kind": "answer", "pointer": place}
    assert isinstance(followed(feedback, request), NeedsInput)


def test_a_parameter_of_a_list_is_an_element(engine: Engine) -> None:
    query: dict[str, Json] = {"expand[0]": "customer", "expand[1]": "billing_notes"}
    _, feedback = told(engine, None, "This property cannot be expanded (billing_notes).", query=query)
    assert edits(feedback) == [("remove", "/query/expand[1]")]


@rows(
    ("body", "answer"),
    [
        ({"amount": 5, "a": 1}, {"errors": [{"field": "amount", "message": "is not supported here"}]}),  # it limits
        ({"owner": "ann"}, {"errors": [{"field": "owner", "message": "is not supported here"}]}),
        ({"mode": "x"}, {"errors": [{"field": "mode", "message": "is not valid"}]}),  # another value may do
        ({"mode": "x"}, {"errors": [{"field": "mode", "code": "invalid"}]}),
        ({"tags": ["a"]}, {"errors": [{"field": "tags[0]", "message": "must be one of: x, y"}]}),
    ],
)
def test_what_another_value_is_known_for_is_not_left_out(engine: Engine, body: Json, answer: Json) -> None:
    _, feedback = told(engine, body, answer)
    assert not any(op["op"] == "remove" for one in feedback["suggestions"] for op in one.get("patch", ()))


def test_the_last_of_several_elements_is_taken_out_first(engine: Engine) -> None:
    body = {"title": "t", "assignees": ["ann", "bob", "cat", "dan"]}
    request, feedback = told(engine, body, {"errors": [{"value": one, **REFUSED} for one in ("ann", "cat")]}, 422)
    outcome = followed(feedback, request, confirm=True)
    assert isinstance(outcome, Next)
    assert outcome.request.body["assignees"] == ["bob", "dan"]


CHAT: Json = {
    "messages": [
        {"role": "user", "content": "weather?"},
        {"role": "assistant", "tool_calls": [{"id": "call_A1", "name": "weather"}]},
        {"role": "user", "content": [{"text": "well?"}]},
    ]
}


def test_an_identifier_that_was_not_sent_is_asked_for_nowhere(engine: Engine) -> None:
    request = Request("POST", "/v1/things", {}, {"content-type": "application/json"}, CHAT)
    answer = {"error": {"message": "No tool output found for function call call_Z9."}}
    feedback = feedback_about(engine, request, 400, answer)
    assert feedback is None or not any(one.startswith("/body/messages/") for one in asked(feedback))


NESTED: Json = {
    "tools": [{"name": "f", "schema": {"type": "object", "required": ["a"], "properties": {"a": {}, "b": {"x": 1}}}}]
}


@rows(
    ("text", "edit"),
    [
        (
            "In context=('properties', 'a'), 'additionalProperties' is required to be supplied and to be false.",
            ("add", "/body/tools/0/schema/properties/a/additionalProperties"),
        ),
        (
            "In context=('properties', 'b'), 'x' is not permitted.",
            ("remove", "/body/tools/0/schema/properties/b/x"),
        ),
        (
            "In context=(), 'required' is required to be an array including every key. Missing 'b'.",
            ("add", "/body/tools/0/schema/required/-"),
        ),
    ],
)
def test_a_place_inside_a_schema_that_was_sent(engine: Engine, text: str, edit: tuple[str, str]) -> None:
    for param in ("tools[0].schema", "tools[0]"):
        _, feedback = told(engine, NESTED, {"error": {"message": f"Invalid schema: {text}", "param": param}})
        assert edits(feedback) == [edit]


@rows(
    ("body", "message", "edit"),
    [
        (
            {"blocks": [{"par": {"text": [1]}}]},
            "body.blocks[0].par.rich_text should be defined, instead was `undefined`.",
            ("move", "/body/blocks/0/par/rich_text"),
        ),
        (
            {"parts": [{"type": "image_url", "image": {"u": "x"}}]},
            "Missing required parameter: 'parts[0].image_url'.",
            ("move", "/body/parts/0/image_url"),
        ),
    ],
)
def test_a_member_with_words_of_the_missing_name(
    engine: Engine, body: Json, message: str, edit: tuple[str, str]
) -> None:
    _, feedback = told(engine, body, message)
    assert edits(feedback) == [edit]
    assert asked(feedback) == [edit[1]]  # it may be another one


def test_an_entry_of_a_map_is_counted(engine: Engine) -> None:
    body: Json = {"tools": [{"name": "f", "properties": {"n": {"least": 0, "type": "int"}}}]}
    field = "tools[0].properties[0].value"
    text = f"Unknown name \"least\" at '{field}': Cannot find field."
    details = [
        {
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            "fieldViolations": [{"field": field, "description": text}],
        }
    ]
    answer = {"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT", "details": details}}
    _, feedback = told(engine, body, answer)
    assert edits(feedback) == [("remove", "/body/tools/0/properties/n/least")]


@rows(
    ("body", "answer", "place"),
    [
        (
            {"fields": {"description": "x"}},
            {"errors": {"description": "must be a document"}},
            "/body/fields/description",
        ),
        ({"product": {"title": ""}}, {"errors": {"title": ["can't be blank"]}}, "/body/product/title"),
        ({"item": {"kind": "x", "n": 1}}, "Request.item.kind: is wrong", "/body/item/kind"),
        ({"max": 9, "n": 1}, [{"message": "These are refused.", "code": "INVALID", "fields": ["max"]}], "/body/max"),
    ],
)
def test_a_place_of_an_object_inside(engine: Engine, body: Json, answer: Json, place: str) -> None:
    answer = {"errors": answer} if isinstance(answer, list) else answer
    _, feedback = told(engine, body, answer)
    assert asked(feedback) == [place]
