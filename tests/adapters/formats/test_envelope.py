"""What stands around the text of an error: members as evidence, answers inside texts, places that fit nowhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrigible.adapters import formats
from corrigible.adapters.formats.error_shapes import ROLES
from corrigible.adapters.formats.generic import GenericFormat, MappedFormat
from corrigible.adapters.formats.members import About, members_of, said_of_places
from corrigible.proxy.core.engine import Engine
from corrigible.rules.language.pack_model import ErrorText
from corrigible.rules.pack.error_mapping import compile_error
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request
from corrigible.schema.reader import NeedsInput
from tests._support.by_description import engine_of, feedback_about, followed
from tests._support.rows import rows

BODY = {
    "slot": 2,
    "colour": "rde",
    "amount": 900,
    "item": {"sku": "x", "qty": 5, "box": {"high": 1}},
    "tags": ["a", "b"],
    "max_tokens": 5,
}
QUERY = {"page": "1", "filter": 'message = "two words"'}
REQUEST = Request("POST", "/bookings", QUERY, {"content-type": "application/json"}, BODY)


def read(body: Any, status: int = 400, request: Request = REQUEST) -> list[Violation]:
    return list(GenericFormat().read(Exchange(request, status, {}, b""), body))


@rows(
    ("body", "members"),
    [
        ({"code": "TAKEN", "message": "slot is taken", "free_slots": [3, 4]}, {"free_slots": [3, 4]}),
        ({"error": "slot is taken", "conflict": {"id": 7, "slot": 2}}, {"conflict": {"id": 7, "slot": 2}}),
        ({"error": {"message": "taken", "data": {"free": [3]}}}, {"data": {"free": [3]}, "free": [3]}),
        ({"error": {"message": "taken"}, "remaining": 0}, {"remaining": 0}),
        ({"errors": [{"message": "bad", "field": "colour"}], "limit": 5}, {"field": "colour", "limit": 5}),
        ({"errors": {"colour": ["is bad"]}, "allowed": ["red"]}, {"allowed": ["red"]}),
        ({"message": "m", "status": 400, "timestamp": "t", "requestId": "r", "trace": ["x"]}, {}),
        ("slot is taken", {}),
    ],
)
def test_what_stands_beside_a_text_is_kept(body: Any, members: dict[str, Any]) -> None:
    for status in (400, 409, 500):
        assert [members_of(one) for one in read(body, status)] == [members]


def test_what_is_kept_is_bounded() -> None:
    body: dict[str, Any] = {"message": "m", "long": "x" * 5000, "many": list(range(5000)), "deep": [[[[[1]]]]]}
    (error,) = read({**body, **{f"m{number}": number for number in range(500)}})
    assert len(members_of(error)) <= 32
    assert len(str(members_of(error)["long"])) <= 500
    assert len(list(members_of(error)["many"])) <= 32


def test_members_are_no_names_that_rules_see() -> None:
    (error,) = read({"message": "m", "limit": 5})
    assert "members" not in error.scope()
    (error,) = read({"message": "m", "members": ["ann", "bob"]})
    assert error.scope()["members"] == ["ann", "bob"]


@rows(
    ("body", "place", "stated"),
    [
        ({"code": "SLOT_TAKEN", "message": "no", "free_slots": [3, 4]}, "/body/slot", {"enum": [3, 4]}),
        ({"message": "no", "allowedColours": ["red", "blue"]}, "/body/colour", {"enum": ["red", "blue"]}),
        ({"message": "no", "max_amount": 500}, "/body/amount", {"maximum": 500}),
        ({"message": "no", "amountLimit": 500}, "/body/amount", {"maximum": 500}),
        ({"message": "the amount is too much", "limit": 500}, "/body/amount", {"maximum": 500}),
        ({"message": "no", "available_amount": 5}, "/body/amount", {"maximum": 5}),
        ({"message": "no", "remaining_slots": 1}, "/body/slot", {"maximum": 1}),
        ({"message": "no such colour", "allowed": ["red", "blue"]}, "/body/colour", {"enum": ["red", "blue"]}),
        ({"message": "taken", "conflict": {"id": 7, "slot": 2}}, "/body/slot", {}),
        ({"errors": [{"message": "no", "field": "colour"}], "allowed": ["red"]}, "/body/colour", {"enum": ["red"]}),
        # What was sent is none of those that break it, or nothing of that name was sent.
        ({"message": "no", "free_slots": [1, 2]}, "", {}),
        ({"message": "no", "free_seats": [3]}, "", {}),
        ({"message": "no", "max_amount": 1000}, "", {}),
        ({"message": "no", "limit": 500}, "", {}),
        ({"message": "no", "free_slots": [{"id": 3}]}, "", {}),
        ({"message": "no", "free_slots": 3}, "", {}),
        # Of two errors nobody knows which one it is about.
        ({"errors": [{"message": "no", "field": "colour"}, {"message": "no"}], "allowed": ["red"]}, "/body/colour", {}),
    ],
)
def test_a_member_says_what_its_place_takes(body: Any, place: str, stated: dict[str, Any]) -> None:
    error = read(body)[0]
    assert (error.pointer, dict(error.stated)) == (place, stated)


@given(st.dictionaries(st.text(max_size=30), st.recursive(st.integers() | st.text(max_size=5), st.lists), max_size=6))
def test_any_members_can_be_read(members: dict[str, Any]) -> None:
    for about in said_of_places(members):
        assert about.keyword in {"enum", "maximum", "minimum"}
        assert ROLES.keys().isdisjoint(about.noun)
    assert said_of_places({"free_slots": [3]}) == [About("enum", ("slots",), [3])]


DESCRIPTION = """
openapi: 3.0.3
info: {title: Bookings, version: '1'}
paths:
  /bookings:
    post:
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Booking'}}}}
components:
  schemas:
    Booking: {type: object, required: [slot], properties: {slot: {type: integer}, colour: {type: string}}}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("bookings"), DESCRIPTION)


@pytest.mark.parametrize("free", [[3, 4], [3]])
def test_who_books_is_asked_for_a_slot_that_is_free(engine: Engine, free: list[int]) -> None:
    request = Request("POST", "/bookings", headers={"content-type": "application/json"}, body={"slot": 2})
    answer: Json = {"code": "SLOT_TAKEN", "message": "slot is taken", "free_slots": free}
    asked = followed(feedback_about(engine, request, 422, answer), request)
    assert isinstance(asked, NeedsInput)
    assert [(one.pointer, (one.schema_ or {}).get("enum")) for one in asked.placeholders] == [("/body/slot", free)]


INNER = (
    """{'error': {'message': "Unknown parameter: 'max_tokens'.", 'param': 'max_tokens', 'code': 'unknown_parameter'}}"""
)


@rows(
    ("text", "code", "message", "place"),
    [
        (f"Error code: 400 - {INNER}", "unknown_parameter", "Unknown parameter: 'max_tokens'.", "/body/max_tokens"),
        (
            'upstream: {"error": {"message": "The key is no good", "code": "invalid_key", "param": null}}',
            *("invalid_key", "The key is no good", ""),
        ),
        ('up: {"detail": "{\\"message\\": \\"is bad\\", \\"field\\": \\"colour\\"}"}', "own", "is bad", "/body/colour"),
        ('RPC ended: status = INVALID, details = "colour is bad", at = 7', "own", "colour is bad", ""),
        ("a.BadError: OneException - colour is bad\n\nRelay: group 'size' failed", "own", "colour is bad", ""),
        ("a.Bad: b.Bad: OneException BadError - Error at colour\nmodel=size", "own", "Error at colour", ""),
        ("the colour - it is bad\n\nfor size", "own", "the colour - it is bad\n\nfor size", ""),
        # What was sent, and data that is no answer, say nothing.
        ('no filter: message = "two words"', *("own", 'no filter: message = "two words"', "")),
        ('see {"title": "a book", "pages": 7}', "own", 'see {"title": "a book", "pages": 7}', ""),
    ],
)
def test_an_answer_inside_of_a_text(text: str, code: str, message: str, place: str) -> None:
    (error,) = read({"error": {"message": text, "code": "own"}}, 500)
    assert (error.code, error.message, error.pointer) == (code, message, place)


SLACK = {
    "ok": False,
    "error": "invalid_blocks",
    "errors": ["no match [json-pointer:/tags/1]", "bad [json-pointer:/slot]"],
}


def test_a_pointer_at_the_end_of_a_text() -> None:
    assert [(one.pointer, one.message) for one in read(SLACK)] == [("/body/tags/1", "no match"), ("/body/slot", "bad")]


def test_a_mapping_without_places_leaves_those_that_the_answer_tells() -> None:
    mapping = compile_error(ErrorText.model_validate({"code": "/error"}))
    errors = MappedFormat(mapping).read(Exchange(REQUEST, 200, {}, b""), SLACK)
    assert [(one.code, one.pointer) for one in errors] == [
        ("invalid_blocks", "/body/tags/1"),
        ("invalid_blocks", "/body/slot"),
    ]
    errors = MappedFormat(mapping).read(Exchange(REQUEST, 200, {}, b""), {"error": "colour is required"})
    assert [(one.code, one.pointer) for one in errors] == [("colour is required", "")]


OF_NAMES = {"pointers", "keywords", "google_rpc"}
"""These have patterns for names of places and codes, for none of which is a sentence."""
WALKERS = {"generic", "json_errors", "members", "wrapped_calls"}


def test_only_the_tables_have_patterns_for_texts() -> None:
    """A pattern anywhere else is one more reader of messages."""
    for name in WALKERS:
        source = Path(str(formats.__file__)).with_name(f"{name}.py").read_text(encoding="utf-8")
        assert "import re\n" not in source, name
    for name in OF_NAMES:
        source = Path(str(formats.__file__)).with_name(f"{name}.py").read_text(encoding="utf-8")
        matched = {line.strip() for line in source.splitlines() if "message" in line and _MATCHING.search(line)}
        assert not matched, name


_MATCHING = re.compile(r"\.(?:search|match|fullmatch|finditer|sub)\(")


@rows(
    ("error", "steps"),
    [
        ({"field": "sku", "message": "cannot be set"}, ["sku"]),
        ({"instancePath": "/qty", "keyword": "type", "message": "must be string"}, ["qty"]),
        ({"instancePath": "/box", "keyword": "required", "params": {"missingProperty": "lid"}}, None),
        ({"instancePath": "", "keyword": "required", "params": {"missingProperty": "lid"}}, None),
        ({"instancePath": "/item/qty", "keyword": "type", "message": "must be string"}, None),
        ({"field": "colours", "message": "is required"}, None),
    ],
)
def test_a_place_that_fits_nowhere_may_be_inside_of_the_body(error: Any, steps: Json) -> None:
    (found,) = read({"errors": [error]})
    assert found.native.get("relative_place") == steps


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            "failed; caused by TypeError: /box must have required property 'lid' - of: lid",
            "/body/item/box/lid",
        ),
        ("data/item/qty must be string", "/body/item/qty"),
        ("/box/high must be string - type: string", "/body/item/box/high"),
        ("/tags must NOT have fewer than 3 items", "/body/tags"),
        ("files below /box must be readable", ""),
    ],
)
def test_a_path_that_ajv_writes_into_its_text(text: str, place: str) -> None:
    """It may begin at an object inside of the body, where only one has its steps."""
    assert [one.pointer for one in read({"message": text})] == [place]


def test_quotes_that_were_escaped_for_a_page() -> None:
    (found,) = read({"message": "NumberFormatException: For input string: &quot;rde&quot;", "status": "500"}, 500)
    assert found.message.endswith('"rde"')


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"message": "no good", "sort_key": "unknown"}, ""),
        ({"错误": "颜色无效", "字段": "colour"}, "/body/colour"),
        (
            {"jsonrpc": "2.0", "error": {"code": 1, "message": "Bad", "data": {"field": "slot", "reason": "no"}}},
            "/body/slot",
        ),
    ],
)
def test_a_member_that_names_a_place_of_the_request(body: Any, place: str) -> None:
    assert [one.pointer for one in read(body, 500)] == [place]


ORDER = Request("POST", "/orders", body={"name": "", "qty": "x", "items": [{"qty": "y"}], "address": {"zip": "1"}})


@rows(
    ("answer", "places"),
    [
        # zod: treeifyError and prettifyError
        (
            {
                "errors": [],
                "properties": {
                    "name": {"errors": ["Too small"]},
                    "items": {
                        "errors": [],
                        "items": [{"errors": [], "properties": {"qty": {"errors": ["No number"]}}}],
                    },
                },
            },
            ["/body/name", "/body/items/0/qty"],
        ),
        ({"error": {"errors": [], "properties": {"colour": {"errors": ["Too small"]}}}}, ["/body/colour"]),
        ("✖ No number\n  → at qty\n✖ No number\n  → at items[0].qty", ["/body/qty", "/body/items/0/qty"]),
        ("- qty: no number\n- items[0].qty: no number", ["/body/qty", "/body/items/0/qty"]),
        ("No number at qty\nNo number at items[0].qty", ["/body/qty", "/body/items/0/qty"]),
        ("- qty: no number\nThe rest is fine", [""]),
        # Valibot, Symfony's forms
        ({"nested": {"name": ["Invalid length"]}}, ["/body/name"]),
        ({"message": "m", "errors": {"children": {"name": {"errors": ["Empty."]}, "qty": {}}}}, ["/body/name"]),
        # Rust's validator, PocketBase, mongoose
        ({"name": [{"code": "length", "message": None, "params": {"min": 1}}]}, ["/body/name"]),
        (
            {"message": "Failed", "data": {"colour": {"code": "required", "message": "Missing value."}}},
            ["/body/colour"],
        ),
        ({"errors": {"qty": {"name": "CastError", "message": "no number", "path": "qty"}}}, ["/body/qty"]),
        # JSON Schema's own form of an output, FluentValidation, Echo
        (
            {
                "errors": [
                    {"keywordLocation": "#/properties/qty/type", "instanceLocation": "#/qty", "error": "no number"}
                ]
            },
            ["/body/qty"],
        ),
        ({"errors": [{"memberNames": ["name"], "errorMessage": "is bad"}]}, ["/body/name"]),
        ({"message": "Unmarshal type error: expected=int, got=string, field=qty, offset=20"}, ["/body/qty"]),
        ("DecodingFailure at .items[0].qty: Int", ["/body/items/0/qty"]),
        ({"code": "P2002", "meta": {"target": ["name"]}, "message": "Unique constraint failed"}, ["/body/name"]),
        # A step of the server's own: a parameter, a type, the branch of a union.
        ({"detail": [{"type": "x", "loc": ["body", "items", 0, "tea", "qty"], "msg": "bad"}]}, ["/body/items/0/qty"]),
        ({"detail": [{"type": "missing", "loc": ["body", "address", "home", "no"], "msg": "m"}]}, ["/body/address/no"]),
        ({"detail": [{"type": "missing", "loc": ["body", "order", "no"], "msg": "m"}]}, ["/body/order/no"]),
        ({"message": "Malformed: #/address: extraneous key [zip] is not permitted"}, ["/body/address/zip"]),
        ({"errors": [{"field": "items", "value": {"qty": "y"}, "message": "bad"}]}, ["/body/items"]),
        ({"detail": [{"type": "value_error", "loc": ["body", "payload", "name"], "msg": "bad"}]}, ["/body/name"]),
        ({"path": "$input.items[0].qty", "message": "bad", "expected": "number"}, ["/body/items/0/qty"]),
        ({"errors": [{"index": 0, "errors": [{"field": "qty", "message": "bad"}]}]}, ["/body/qty"]),
        # What was sent has such names, too.
        ({"items": [{"qty": ["A valid integer is required."]}]}, ["/body/items/0/qty"]),
    ],
)
def test_trees_and_lists_of_other_validators(answer: Any, places: list[str]) -> None:
    assert [one.pointer for one in read(answer, 422, ORDER)] == places


@pytest.mark.parametrize(
    ("field", "place"), [("slot", "/body/params/slot"), ("lid", "/body/params/lid"), ("id", "/body/id")]
)
def test_the_parameters_of_json_rpc_are_inside_of_the_body(field: str, place: str) -> None:
    call = Request("POST", "/rpc", body={"jsonrpc": "2.0", "id": 1, "method": "book", "params": {"slot": 2}})
    answer = {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": -32602, "message": "Bad", "data": {"field": field, "reason": "no"}},
    }
    assert [one.pointer for one in read(answer, 200, call)] == [place]


def test_the_element_that_an_error_quotes_is_its_place() -> None:
    assert [one.pointer for one in read({"field": "tags", "value": "b", "message": "not known"})] == ["/body/tags/1"]
    assert [one.pointer for one in read({"field": "tags", "value": "c", "message": "not known"})] == ["/body/tags"]
    assert len(read({"errors": ["[bad] colour is no text", {"field": "colour", "message": "is bad"}]})) == 2


def test_a_tool_of_mcp_has_its_arguments_inside() -> None:
    params: Json = {"name": "book", "arguments": {"slot": 2}}
    call = Request("POST", "/rpc", body={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    issue: Json = [{"code": "invalid_type", "expected": "string", "path": ["slot"], "message": "Expected string"}]
    answer: Json = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Invalid", "data": issue}}
    assert [one.pointer for one in read(answer, 200, call)] == ["/body/params/arguments/slot"]


@pytest.mark.parametrize("text", ["'box' is not one of ['qty', 'size']", '"box" is not one of qty, size'])
def test_a_name_that_is_none_of_those_listed_is_the_member_of_an_object(text: str) -> None:
    (found,) = read({"errors": [{"field": "item", "message": text}]})
    assert (found.pointer, found.constraint) == ("/body/item/box", "additionalProperties")
    assert found.stated == {"enum": ["qty", "size"]}


def test_a_value_that_is_none_of_those_listed_stays_at_its_place() -> None:
    (found,) = read({"errors": [{"field": "colour", "message": "'rde' is not one of ['red', 'blue']"}]})
    assert (found.pointer, found.stated) == ("/body/colour", {"enum": ["red", "blue"]})
