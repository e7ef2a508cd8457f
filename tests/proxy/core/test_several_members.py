"""Complaints about several members: asked at each place, or a choice; one of them is never repaired alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput
from tests._support.by_description import engine_of, feedback_about, followed
from tests._support.rows import rows

DESCRIPTION = """
openapi: 3.0.3
info: {title: Events, version: '1'}
paths:
  /events:
    post:
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Event'}}}}
    get:
      parameters:
      - {name: page, in: query, schema: {type: integer}}
      - {name: cursor, in: query, schema: {type: string}}
      - {name: from, in: query, schema: {type: string}}
      - {name: to, in: query, schema: {type: string}}
components:
  schemas:
    Span: {type: object, properties: {start: {type: string}, end: {type: string}}}
    Event:
      type: object
      properties:
        startDate: {type: string, format: date}
        end_date: {type: string, format: date}
        min: {type: integer, maximum: 10}
        max: {type: integer, maximum: 10}
        ids: {type: array, items: {type: string}}
        embeddings: {type: array, items: {type: array}}
        user_name: {type: string}
        user: {type: string}
        kind: {type: string, enum: [name, id]}
        name: {type: string}
        id: {type: string}
        spans: {type: array, items: {$ref: '#/components/schemas/Span'}}
"""
DATES = {"startDate": "2026-05-02", "end_date": "2026-05-01"}
LIMITS = {"min": 5, "max": 3}
LISTS = {"ids": ["a", "b"], "embeddings": [[1.0]]}
SPANS = {"spans": [{"start": "1", "end": "2"}, {"start": "4", "end": "3"}]}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("events"), DESCRIPTION)


def post(body: Any) -> Request:
    return Request("POST", "/events", headers={"content-type": "application/json"}, body=body)


def asked(engine: Engine, request: Request, answer: Any, status: int = 400) -> set[str] | None:
    """Return the places of what is asked for, None without feedback."""
    feedback = feedback_about(engine, request, status, answer)
    if feedback is None:
        return None
    outcome = followed(feedback, request, confirm=True)
    assert isinstance(outcome, NeedsInput), feedback
    assert not any("patch" in one for one in feedback["suggestions"])
    return {one.pointer for one in outcome.placeholders}


@rows(
    ("body", "message"),
    [
        (DATES, "startDate must be before end_date"),
        (DATES, "Start date must be earlier than the end date."),
        (DATES, "'end_date' should not precede 'startDate'"),
        (DATES, "Value error, endDate has to be after start_date"),
        # said as it is, and not as it has to be
        (DATES, "start_date is bigger than end_date."),
        (DATES, "startDate is after the end date"),
        (LIMITS, "min is greater than max"),
        (LIMITS, "min must be less than or equal to max"),
        (LIMITS, "max (3) must be greater than min (5)"),
        (LIMITS, "min can't exceed max"),
        (LIMITS, "max must be >= min"),
        (LISTS, "ids and embeddings must have the same length"),
        (LISTS, "Number of embeddings 1 must match number of ids 2"),
        (LISTS, "lengths of ids, embeddings do not match"),
        ({"user": "a", "user_name": "b"}, "user_name must be different from user"),
        ({"user": "a", "kind": "id"}, "user and kind do not go together"),
        ({"user": "a", "kind": "id"}, "user and kind are incompatible"),
        ({"user": "a", "kind": "id"}, "user and kind conflict with each other"),
    ],
)
def test_values_that_do_not_fit_together_are_asked_for_at_both_places(engine: Engine, body: Any, message: str) -> None:
    assert asked(engine, post(body), {"message": message}) == {f"/body/{name}" for name in body}


@pytest.mark.parametrize(
    ("body", "answer", "places"),
    [
        (LIMITS, {"errors": {"max": ["must be greater than min"]}}, {"/body/min", "/body/max"}),
        (
            SPANS,
            {"detail": [{"loc": ["body", "spans", 1, "end"], "msg": "end must be after start", "type": "value_error"}]},
            {"/body/spans/1/start", "/body/spans/1/end"},
        ),
    ],
)
def test_a_place_beside_the_text_is_one_of_the_two(engine: Engine, body: Any, answer: Any, places: set[str]) -> None:
    assert asked(engine, post(body), answer) == places


@rows(
    "message",
    [
        "only one of page, cursor may be given",
        "page and cursor are mutually exclusive",
        "Cannot specify both page and cursor",
        "page cannot be used together with cursor",
        "either 'page' or 'cursor', but not both",
        "Exactly one of page or cursor must be provided",
        "page can not be given when cursor is set",
        "page and cursor cannot be used together",
    ],
)
def test_of_members_that_exclude_each_other_the_caller_keeps_one(engine: Engine, message: str) -> None:
    request = Request("GET", "/events", query={"page": "2", "cursor": "abc"})
    feedback = feedback_about(engine, request, 400, {"message": message})
    assert isinstance(followed(feedback, request, confirm=True), NeedsInput)
    assert feedback is not None
    assert feedback["type"] == "intent_disambiguation"
    removed = [[op["path"] for op in one["patch"] if op["op"] == "remove"] for one in feedback["suggestions"]]
    assert removed == [["/query/cursor"], ["/query/page"]]
    assert all(one["safety"]["changes_intent"] and one["safety"]["loses"] for one in feedback["suggestions"])


@pytest.mark.parametrize("count", [2, 4, 5])
def test_of_more_than_four_members_no_choice_is_offered(engine: Engine, count: int) -> None:
    names = ["page", "cursor", "offset", "after", "before"][:count]
    request = Request("GET", "/events", query=dict.fromkeys(names, "2"))
    feedback = feedback_about(engine, request, 400, {"message": f"Only one of {', '.join(names)} may be given"})
    kept = [] if feedback is None else [one for one in feedback["suggestions"] if "group" in one]
    assert len(kept) == (count if count < 5 else 0)


@pytest.mark.parametrize(("method", "confirms"), [("GET", None), ("DELETE", True), ("POST", True)])
def test_to_leave_a_member_out_of_a_write_is_confirmed(engine: Engine, method: str, confirms: bool | None) -> None:
    request = Request(method, "/events", query={"dry_run": "true", "force": "true"})
    feedback = feedback_about(engine, request, 400, {"message": "dry_run and force are mutually exclusive"})
    assert feedback is not None
    assert [one["safety"].get("requires_confirmation") for one in feedback["suggestions"]] == [confirms] * 2


@rows(
    ("body", "message"),
    [
        ({"kind": "x", "name": "a", "id": "b"}, "kind must be exactly one of name, id"),
        ({"min": 12, "kind": "id"}, "min must be less than or equal to 10 for kind id"),
        ({"user": "a", "name": "b"}, "The user name is not valid"),
        (DATES, "startDate and end_date were read"),
        ({"name": "a", "id": ""}, "name and id must not both be empty"),
        ({"user": "a", "spans": [{"start": "1"}]}, "start must match user"),
        ({"user": "a", "spans": [{"start": "1"}]}, "start cannot be used with user, not both"),
        ({"spans": [{"start": "1"}]}, "start cannot be used together with spans"),
        ({"name": "a", "spans": [{"start": "1"}]}, "either name, id or start is required"),
        ({"name": "a", "id": "b"}, "name cannot be used if id is unknown"),
        ({"name": "a", "id": "b"}, "both name and id must be valid"),
    ],
)
def test_a_sentence_about_one_member_is_not_one_about_two(engine: Engine, body: Any, message: str) -> None:
    feedback = feedback_about(engine, post(body), 400, {"message": message})
    suggestions = [] if feedback is None else feedback["suggestions"]
    assert all(len(one.get("placeholders", ())) < 2 for one in suggestions)
    assert all(op["op"] != "remove" for one in suggestions for op in one.get("patch", ()))


SHARES = """
openapi: 3.0.3
info: {title: Frames, version: '1'}
paths:
  /frames:
    post: {requestBody: {content: {application/json: {schema: {type: object, properties: {
      integer_fraction: {type: number}, binary_fraction: {type: number}, missing_fraction: {type: number},
      link: {type: string}, family: {type: string}, checkpoint: {type: string}, max_depth: {type: integer}}}}}}}
"""


def test_a_value_that_holds_for_another_member_is_confirmed(tmp_path: Path) -> None:
    body = {"link": "logit", "family": "gaussian"}
    request = Request("POST", "/frames", headers={"content-type": "application/json"}, body=body)
    message = "Incompatible link function for selected family. Only identity is allowed for family=gaussian."
    feedback = feedback_about(engine_of(tmp_path, SHARES), request, 400, {"message": message})
    assert feedback is not None
    assert isinstance(followed(feedback, request), NeedsInput)
