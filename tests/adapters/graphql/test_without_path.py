"""An error of a resolver that has no path is read as one with it: by its place in the document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Json
from tests._support.rows import rows

from .test_documents import decided, engine, outcome, posted, refused

SCHEMA = """
type Query { desk(id: ID!): Desk  desks(limit: Int, floor: Int): [Desk!]! }
type Mutation { hold(input: Hold!): Desk  holdAll(holds: [Hold!]!): [Desk!]  free(id: ID!): Desk }
type Desk { id: ID!  floor: Int!  notes(about: String): [String!]! }
input Hold { desk: ID!  hours: Int!  guest: Email  note: String }
scalar Email
"""
HOLD = 'mutation { hold(input: {desk: "D1", hours: 90, note: "x"}) { id } }'
STATUS = "HTTP Error: HTTP status client error (422 Unprocessable Entity)"


@pytest.fixture
def desks(tmp_path: Path) -> Engine:
    file = tmp_path / "desks.graphql"
    file.write_text(SCHEMA, "utf-8")
    return engine(file)


def told(judge: Engine, text: str, answer: Json) -> Any:
    decision = decided(judge, posted({"query": text}), answer)
    return None if decision is None else decision.feedback


@rows(
    ("text", "at", "path", "message", "extensions"),
    [
        (HOLD, "hold", ["hold"], "hours must be between 1 and 8, got 90", {"code": "VALIDATION_FAILED"}),
        (HOLD, "input", ["hold"], "note is too short (minimum is 10 characters)", {"code": "BAD_USER_INPUT"}),
        (HOLD, "hold", ["hold"], "guest is required for so many hours", {"field": "guest"}),
        (HOLD, "hold", ["hold"], "Only members may hold a desk", {"code": "FORBIDDEN"}),
        (HOLD, "hold", ["hold"], "Too many holds, try again in 30 seconds", {"code": "RATE_LIMITED"}),
        (HOLD, "hold", ["hold"], "The hold is already cancelled", {"code": "ALREADY_CANCELLED"}),
        ('{ a: desk(id: "D9") { id } desks { id } }', "a:", ["a"], "No desk with id D9", {"code": "NOT_FOUND"}),
        (
            '{\n  desk(id: "D1") {\n    notes(about: "y")\n  }\n}',
            "notes",
            ["desk", "notes"],
            "about is too short (minimum is 3 characters)",
            {},
        ),
    ],
)
def test_the_place_of_an_error_is_as_good_as_its_path(
    desks: Engine, text: str, at: str, path: Json, message: str, extensions: Json
) -> None:
    before = text[: text.index(at)]
    place = {"line": before.count("\n") + 1, "column": len(before) - (before.rfind("\n") + 1) + 1}
    error: dict[str, Json] = {"message": message, "locations": [place], "extensions": extensions}
    with_path = told(desks, text, {"data": None, "errors": [{**error, "path": path}]})
    assert with_path is not None
    assert told(desks, text, {"data": None, "errors": [error]}) == with_path


@pytest.mark.parametrize("status", [STATUS, "422: Unprocessable Entity", "Request failed with status code 422", ""])
def test_the_text_beside_a_mere_status_counts(desks: Engine, status: str) -> None:
    text = "hours must be between 1 and 8, got 90"
    column = HOLD.index("hold") + 1
    plain = refused(text, column, extensions={"code": "VALIDATION_FAILED", "field": "hours"})
    beside = refused(status, column, extensions={"code": "VALIDATION_FAILED", "field": "hours", "message": text})
    wanted = {"asks": [], "confirms": {"query": HOLD.replace("90", "8")}}
    assert outcome(desks, posted({"query": HOLD}), plain) == wanted
    assert outcome(desks, posted({"query": HOLD}), beside) == wanted
    swapped = refused(text, column, extensions={"code": "VALIDATION_FAILED", "field": "hours", "message": status})
    assert outcome(desks, posted({"query": HOLD}), swapped) == wanted


def test_a_right_or_a_limit_needs_no_place(desks: Engine) -> None:
    assert outcome(desks, posted({"query": HOLD}), refused("No.", extensions={"code": "FORBIDDEN"})) == {"ends": True}
    limited = told(desks, HOLD, refused("Slow down.", extensions={"code": "RATE_LIMITED"}))
    assert limited["recovery"] == "transient" and limited["retry"] == {"same_request": False}


@pytest.mark.parametrize(
    ("text", "at", "code"),
    [
        (HOLD, "id }", ""),
        (HOLD, "", "CUSTOM"),
        (HOLD, "hold", "GRAPHQL_VALIDATION_FAILED"),
        ('query Q { desks { ...D } } fragment D on Desk { notes(about: "a") }', "notes", ""),
    ],
)
def test_a_limit_of_the_document_is_no_error_of_a_call(desks: Engine, text: str, at: str, code: str) -> None:
    answer = refused("The query is nested too deep", text.index(at) + 1 if at else 0, extensions={"code": code})
    assert outcome(desks, posted({"query": text}), answer) == {"silent": True}


@pytest.mark.parametrize("message", ["note must be a number", "hours must be a string"])
def test_what_the_schema_refuses_is_not_suggested(desks: Engine, message: str) -> None:
    found = outcome(desks, posted({"query": HOLD}), refused(message, HOLD.index("hold") + 1))
    assert "sends" not in found and "query" not in str(found.get("confirms"))


LISTED = "mutation H($h: [Hold!]!) { holdAll(holds: $h) { id } }"
HOLDS: Json = [
    {"desk": "D1", "hours": 2, "guest": "a@example.com"},
    {"desk": "D2", "hours": 3, "note": "look at value.x) (there", "guest": "b.example.com"},
]
"""The guest of the second is wrong by a rule that no schema has."""


@pytest.mark.parametrize(
    "message",
    [
        f'Variable "$h" got invalid value {json.dumps(HOLDS)} (not a valid email address at value[1].guest)',
        f'Variable "$h" got invalid value {json.dumps(HOLDS)}; Expected type Email at value[1].guest; no @ in it',
        f'Variable "$h" got invalid value {json.dumps(HOLDS)} (not an address: "b.example.com" at value[1].guest)',
        'Variable "$h" got invalid value "b.example.com" at "h[1].guest"; no valid email address',
        'Invalid value for argument "holds.1.guest", expected type "Email"',
    ],
)
def test_the_place_behind_a_repeated_value_is_asked_for(desks: Engine, message: str) -> None:
    body: Json = {"query": LISTED, "variables": {"h": HOLDS}}
    column = LISTED.index("holds" if "argument" in message else "$h") + 1
    assert outcome(desks, posted(body), refused(message, column))["asks"] == ["/body/variables/h/1/guest"]


@rows("expected", ['expected type "Email"', "expected a valid email address", ""])
@rows("name", ["input.guest", "guest"])
def test_a_custom_scalar_is_asked_for_where_its_name_is(desks: Engine, name: str, expected: str) -> None:
    message = f'Invalid value for argument "{name}", {expected}'.rstrip(", ")
    text = 'mutation { hold(input: {desk: "D1", hours: 9, guest: "b", note: "b"}) { id } }'
    asks = outcome(desks, posted({"query": text}), refused(message, text.index("input") + 1))["asks"]
    assert asks == ["/body/variables/guest"]
    text = "mutation H($i: Hold!) { hold(input: $i) { id } }"
    body: Json = {"query": text, "variables": {"i": {"desk": "D1", "hours": 9, "guest": "b", "note": "b"}}}
    asks = outcome(desks, posted(body), refused(message, text.index("input") + 1))["asks"]
    assert asks == ["/body/variables/i/guest"]


def test_a_mutation_that_failed_inside_of_its_field_has_run(desks: Engine) -> None:
    text = 'mutation { hold(input: {desk: "D1", hours: 9}) { notes(about: "y") } }'
    for data in ({"data": None}, {}):
        for message in ('about must be one of "chair", "yard"', "about is too short (minimum is 3 characters)"):
            answer = refused(message, text.index("notes") + 1, extensions={"code": "BAD_USER_INPUT"})
            assert isinstance(answer, dict)
            feedback = told(desks, text, {**answer, **data})
            flagged = [one["safety"].get("requires_confirmation", False) for one in feedback["suggestions"]]
            assert flagged and (all(flagged) or not data)
