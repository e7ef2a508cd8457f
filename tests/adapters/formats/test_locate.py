"""Where an error is, told by a name only, under another root, in another spelling, or by quoting a value."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from corrigible.adapters.operation import NOTHING, Vocabulary
from corrigible.rules.pointer import value_at
from corrigible.schema.exchange import Exchange, Request
from tests._support.by_description import errors_at_places
from tests._support.rows import rows

BODY = {
    "title": "x",
    "flow_id": "f-1",
    "source": "f-2",
    "schedule": {"cron": "every day", "zone": "CET"},
    "items": [{"sku": "a", "price": 3}, {"sku": "b"}],
    "left": {"size": 1},
    "right": {"size": 1},
}
REQUEST = Request("POST", "/flows/f-9/runs", {"limit": "500", "zone": "CET"}, {}, BODY)
DECLARED = Vocabulary(
    (
        *(("body",), ("body", "title"), ("body", "flow_id"), ("body", "source"), ("body", "parent_flow")),
        *(
            ("body", "schedule"),
            ("body", "schedule", "cron"),
            ("body", "schedule", "zone"),
            ("body", "schedule", "end"),
        ),
        *(("body", "items"), ("body", "items", "*"), ("body", "items", "*", "sku"), ("body", "items", "*", "price")),
        *(("body", "left", "size"), ("body", "right", "size"), ("body", "left", "unit"), ("body", "right", "unit")),
        *(("query", "limit"), ("query", "zone")),
    ),
    ((("body", "source"), ("git", "upload")),),
)


def read(body: Any, status: int = 400, declared: Vocabulary = DECLARED, request: Request = REQUEST) -> list[str]:
    exchange = Exchange(request, status, {}, b"")
    return [one.pointer for one in errors_at_places(exchange, body, declared, {"id": "f-9"})]


@rows(
    ("field", "message", "place"),
    [
        ("cron", "is no schedule", "/body/schedule/cron"),
        ("data.schedule.cron", "is no schedule", "/body/schedule/cron"),
        ("request.items[1].sku", "is unknown", "/body/items/1/sku"),
        ("limit", "is too large", "/query/limit"),
        ("size", "is too large", ""),  # two places have it
        ("unit", "is required", ""),  # two places lack it
        ("colour", "is too bright", ""),  # nobody has it
        ("flow.colour", "is too bright", ""),
        # The told place holds the one that the text tells of. A text that repeats all of it is about the whole.
        ("schedule", "unknown zone `CET`, expected one of `UTC`, `GMT`", "/body/schedule/zone"),
        ("schedule", "is not complete", "/body/schedule"),
        ("schedule", 'must be a list, not {"cron": "every day", "zone": "CET"}', "/body/schedule"),
        ("title." * 50 + "colour", "is required", ""),  # no place is so deep
        ("items." + "9" * 5000, "is too bright", ""),
    ],
)
def test_places_told_loosely(field: str, message: str, place: str) -> None:
    assert read({"errors": [{"field": field, "message": message}]}) == [place]


@rows(
    ("message", "place"),
    [
        ("'f-1' does not exist", "/body/flow_id"),
        ("Flow f-9 not found", ""),
        ("'every day' is no schedule", "/body/schedule/cron"),
        ("'CET' is unknown", "/body/schedule/zone"),  # of two that hold it the likelier one
        ("cannot move 'f-1' to 'f-2'", ""),  # two values
        ("The flow_id is unknown here", "/body/flow_id"),
        ("Please look at your title and try again", "/body/title"),
        ("Service is busy", ""),
        ("Table 'runs' is locked", ""),  # a word of the route is no value
        ("Parent flow must be a child of source", ""),  # about two members
        ("Title has already been taken", "/body/title"),
        ("Title is invalid", "/body/title"),
        ("Size is invalid", ""),  # two places have it
        ("Sku must exist", ""),  # it is in a list
        ("Invalid cron in schedule", "/body/schedule/cron"),
        ("Invalid size in schedule", ""),
        ("Must specify parent flow", "/body/parent_flow"),
        ("None can be derived from title. Please provide an explicit parent flow.", "/body/parent_flow"),
        ("Must specify at least one colour", ""),  # nobody declares it
        ("no parent flow specified", "/body/parent_flow"),
        ("empty parent flow", "/body/parent_flow"),
        ("invalid argument: parent_flow is not set", "/body/parent_flow"),
        ("parent flow is required", "/body/parent_flow"),
        ("no colour specified", ""),  # nobody declares it
    ],
)
def test_places_in_a_text(message: str, place: str) -> None:
    assert read({"message": message}) == [place]


IN_TEXT = Request(
    "GET",
    "/items",
    query={"q": '{"rank": {"$gt": 5}, "sort": {"by": "colour up"}, "limit": 0}', "zone": "colour down"},
)

FILTERED = Vocabulary((("query", "q"), ("query", "zone")), ())


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ({"message": "'colour down' has no direction"}, ["/query/zone"]),  # what is sent itself comes first
        ({"message": 'Cast failed for value {"$lt": 5}'}, [""]),
    ],
)
def test_places_inside_json_text(body: Any, places: list[str]) -> None:
    assert read(body, declared=FILTERED, request=IN_TEXT) == places


def test_of_many_errors_in_a_large_request_some_are_looked_for() -> None:
    request = Request("POST", "/x", {}, {}, {f"m{number}": number for number in range(1500)})
    errors = {"errors": [{"field": f"inner.m{number}", "message": "is wrong"} for number in range(64)]}
    places = read(errors, 400, NOTHING, request)
    assert places[0] == "/body/m0"
    assert places[-1] == ""


def test_what_is_not_about_the_request_has_no_place() -> None:
    assert read({"message": "'f-1' is broken"}, 500) == [""]
    assert read({"message": "'f-1' may not do that"}, 401) == [""]


def test_the_text_of_a_validation_error() -> None:
    text = (
        "2 validation errors for Flow\nschedule.end\n  Field required [type=missing, input_value={'cron': 'x'}, "
        "input_type=dict]\n    For further information visit https://errors.test\ntitle\n"
        "  String should have at least 3 characters [type=string_too_short, input_value='x', input_type=str]"
    )
    errors = errors_at_places(Exchange(REQUEST, 400, {}, b""), {"error": text})
    assert [(one.pointer, one.constraint, dict(one.stated)) for one in errors] == [
        ("/body/schedule/end", "required", {}),
        ("/body/title", "minLength", {"minLength": 3}),
    ]


@pytest.mark.parametrize(
    ("sent", "message", "place"),
    [
        # What was sent is another spelling of it, and the server does not know that one.
        # It is there, and empty.
        ({"dueDate": ""}, "Missing key 'due_date'", "/body/dueDate"),
        # Some servers print the names of their own members.
        ({"due": "x"}, "Missing key 'Due'", "/body/due"),
    ],
)
def test_a_missing_member_is_not_the_one_that_was_sent_in_another_spelling(
    sent: dict[str, str], message: str, place: str
) -> None:
    request = Request("POST", "/things", {}, {}, sent)
    assert read({"message": message}, declared=NOTHING, request=request) == [place]


@pytest.mark.parametrize(
    ("message", "place"),
    [
        # marshmallow gives what a schema checks as a whole to `_schema`
        ("Flow with id f-1 not found", "/body/flow_id"),
        ("Unknown title", "/body/title"),
    ],
)
def test_a_sentence_about_the_whole_body_may_be_about_one_place_in_it(message: str, place: str) -> None:
    assert read({"messages": {"json": {"_schema": [message]}}}) == [place]


@pytest.mark.parametrize(
    ("variable", "message", "place"),
    [
        ("shop_name", "No such shop", ""),
    ],
)
def test_what_is_absent_is_not_in_a_path_that_names_another_kind(variable: str, message: str, place: str) -> None:
    request = Request("POST", "/shops/s-1/comments", {}, {}, {"text": "x", "object_id": 7})
    exchange = Exchange(request, 400, {}, b"")
    assert [one.pointer for one in errors_at_places(exchange, {"message": message}, NOTHING, {variable: "s-1"})] == [
        place
    ]


@pytest.mark.parametrize(
    ("body", "message", "place"),
    [
        ({"parent": 7}, "Parent id must exist", "/body/parent"),
        ({"name": "x"}, "Owner key is required", "/body/owner"),
    ],
)
def test_what_is_called_by_its_kind_and_its_identifier(body: Any, message: str, place: str) -> None:
    exchange = Exchange(Request("POST", "/things", {}, {}, body), 400, {}, b"")
    declared = Vocabulary((("body",), ("body", "parent"), ("body", "owner"), ("body", "name")))
    assert [one.pointer for one in errors_at_places(exchange, {"message": message}, declared)] == [place]


@pytest.mark.parametrize("printed", [repr, lambda value: json.dumps(value, separators=(",", ":"))])
@rows("place", ["/body", "/body/schedule", "/body/items", "/body/items/0"])
def test_an_object_or_list_that_is_repeated_is_the_place(place: str, printed: Callable[[Any], str]) -> None:
    value = printed(value_at(REQUEST, place))
    for words in ("is not of type 'string'", "must be a string", *(["is not valid"] if place != "/body" else [])):
        assert read({"message": f"Validation failed: {value} {words}"}) == [place]
    assert read({"message": f"In {value} the title is not valid"}) != [place]


@rows("told", ["schedule", "title", "items"])
def test_the_body_is_not_what_is_meant_where_a_member_is_told(told: str) -> None:
    assert read({"message": f"{told}: invalid type: map, expected a sequence"}) != ["/body"]
