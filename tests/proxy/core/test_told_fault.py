"""Answers with 500 that say what is wrong with the request, and others that are faults of the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.request_at_fault import told_fault
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Request
from tests._support.by_description import engine_of, feedback_about
from tests._support.rows import rows

DESCRIPTION = """
openapi: 3.0.3
info: {title: Barns, version: '1'}
paths:
  /barns:
    get:
      parameters:
      - {name: limit, in: query, schema: {type: integer}}
    post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Barn'}}}}}
  /copies:
    post:
      parameters:
      - {name: barn, in: query, required: true, schema: {type: string}}
      - {name: note, in: query, schema: {type: string}}
components:
  schemas:
    Barn:
      type: object
      properties:
        label: {type: string}
        floor: {type: string}
        roof: {type: string}
        doors: {type: integer}
        timeout: {type: integer}
"""


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return engine_of(tmp_path, DESCRIPTION)


def patches(feedback: dict[str, Any] | None) -> list[Any]:
    return [one.get("patch", []) for one in (feedback or {}).get("suggestions", ())]


def test_a_misspelt_member_is_renamed(engine: Engine) -> None:
    request = Request("POST", "/barns", body={"lable": "North"})
    feedback = feedback_about(engine, request, 500, {"message": "the label cannot be empty"})
    assert any("/body/label" in [op["path"] for op in patch] for patch in patches(feedback))


def test_a_value_is_asked_for_where_go_cannot_read_it(engine: Engine) -> None:
    request = Request("POST", "/barns", body={"label": "North", "timeout": -5})
    message = "json: cannot unmarshal number -5 into Go struct field Barn.timeout of type uint"
    feedback = feedback_about(engine, request, 500, {"message": message})
    assert feedback is not None and "/body/timeout" in str(feedback["suggestions"])


def test_members_that_exclude_each_other_are_a_choice(engine: Engine) -> None:
    request = Request("POST", "/barns", body={"label": "North", "floor": "stone", "roof": "straw"})
    message = {"message": "both floor and roof cannot be set simultaneously: invalid configuration"}
    feedback = feedback_about(engine, request, 500, message)
    assert sorted(op["path"] for patch in patches(feedback) for op in patch if op["op"] == "remove") == [
        "/body/floor",
        "/body/roof",
    ]


@rows(
    "message",
    [
        "Internal Server Error",
        "unexpected error: invalid label",
        "invalid memory address or nil pointer dereference",
        "label must be read: dial tcp: connection refused",
        'unknown barn: Get "https://barns.example/v1/": no route',
        "open /var/lib/barns: no such file or directory",
        "ValueError: label is invalid (Traceback follows)",
        "SQL: unknown column label",
        "saving the barn: invalid argument",
    ],
)
def test_what_a_server_says_of_itself_is_no_fault_of_the_request(engine: Engine, message: str) -> None:
    request = Request("POST", "/barns", body={"lable": "North", "doors": "2"})
    feedback = feedback_about(engine, request, 500, {"message": message})
    # Before a fault that says nothing, what breaks the description is offered for confirmation.
    edits = feedback["suggestions"] if feedback is not None and message == "Internal Server Error" else ()
    assert not any(patches(feedback)) or edits
    assert all(one["safety"]["requires_confirmation"] for one in edits)


@rows(
    ("message", "is_told"),
    [
        ("unsupported driver brdige: invalid argument", True),
        ("mounting it: invalid argument", False),
        ("reading the tape: EOF", False),
        ("Decode(): invalid character 'a' in literal null (expecting 'u')", True),
        ('"timeout" is an unknown option', True),
        ("unknown host, timeout", False),
        ("no pod with name x found: no such pod", True),
        ("no pod with name y found: no such pod", False),  # what was sent is x
        ("the barn is gone", False),
        ("Path is a directory: /var/lib/barns", False),
        ("the decoder expects 3 bytes but got 2", False),
    ],
)
def test_the_text_says_whose_fault_it_is(message: str, is_told: bool) -> None:
    request = Request("POST", "/barns", body={"pod": "name x"})
    told = told_fault(Exchange(request, 500, {}, b"", "e", 1.0), [Violation(message=message)])
    assert (told is not None and told.status == 400) is is_told


@pytest.mark.parametrize("status", [400, 404, 502, 503])
def test_other_statuses_stay_what_they_are(status: int) -> None:
    exchange = Exchange(Request("POST", "/barns", body={}), status, {}, b"", "e", 1.0)
    assert told_fault(exchange, [Violation(message="unknown label")]) is None


@rows(
    ("message", "headers", "is_told"),
    [
        ("Unknown parameter: lable", {}, True),
        ("doors must be between 1 and 9", {"accept": "application/json"}, True),
        ("doors must be between 1 and 9", {"If-Match": '"1"'}, False),
        ("the barn has been modified since", {}, False),
        ("row version 3 is stale", {}, False),
        ("Precondition Failed", {}, False),
        ("The condition specified using HTTP conditional header(s) is not met.", {}, False),
        ("", {}, False),
    ],
)
def test_412_is_about_a_condition_where_one_was_sent_or_told(
    message: str, headers: dict[str, str], is_told: bool
) -> None:
    request = Request("POST", "/barns", headers=headers, body={"lable": "North"})
    told = told_fault(Exchange(request, 412, {}, b"", "e", 1.0), [Violation(message=message)])
    assert (told is not None and told.status == 400) is is_told


def test_of_several_texts_of_a_412_one_about_a_version_is_enough() -> None:
    exchange = Exchange(Request("POST", "/barns", body={}), 412, {}, b"", "e", 1.0)
    errors = [Violation(message="row version 3 is stale"), Violation(message="doors must be between 1 and 9")]
    assert told_fault(exchange, errors) is None
    assert told_fault(exchange, errors[1:]) is not None


def test_a_misspelt_member_is_renamed_under_412(engine: Engine) -> None:
    request = Request("POST", "/barns", body={"lable": "North"})
    feedback = feedback_about(engine, request, 412, {"message": "Unknown parameter: lable"})
    assert any("/body/label" in [op["path"] for op in patch] for patch in patches(feedback))
    conditional = Request("POST", "/barns", headers={"if-match": '"1"'}, body={"lable": "North"})
    assert not any(patches(feedback_about(engine, conditional, 412, {"message": "Unknown parameter: lable"})))


def test_json_under_the_media_type_of_forms_is_sent_as_json(tmp_path: Path) -> None:
    description = DESCRIPTION.replace(
        "content: {application/json: {schema: {$ref: '#/components/schemas/Barn'}}}",
        "content: {application/x-www-form-urlencoded: {schema: {$ref: '#/components/schemas/Barn'}},"
        " application/json: {schema: {$ref: '#/components/schemas/Barn'}}}",
    )
    headers = {"content-type": "application/x-www-form-urlencoded"}
    request = Request("POST", "/barns", headers=headers, body={"label": "North"})
    feedback = feedback_about(
        engine_of(tmp_path, description), request, 400, {"message": 'Unknown parameter: {"label": "North"}'}
    )
    assert [op.get("value") for patch in patches(feedback) for op in patch if "content-type" in op["path"]] == [
        "application/json"
    ]
    read = Request("POST", "/barns", headers=headers, body={"lable": "North"})
    feedback = feedback_about(engine_of(tmp_path, description), read, 400, {"message": "Unknown parameter: lable"})
    assert not any("content-type" in op["path"] for patch in patches(feedback) for op in patch)  # it was read as JSON
    form = Request("POST", "/barns", headers=headers, body={"lable": "North"}, form=True)
    feedback = feedback_about(engine_of(tmp_path, description), form, 400, {"message": "Unknown parameter: lable"})
    assert not any("content-type" in op["path"] for patch in patches(feedback) for op in patch)


@rows(
    ("message", "is_told"),
    [
        ("You are posting comments too quickly. Slow down.", True),
        ("You're doing that too often, try again later", True),
        ("Rate limit exceeded", True),
        ("The caller has exceeded the API rate limit.", True),
        ("Too many requests. Come back in a minute.", True),
        ("Too many requests in the batch: at most 25 are allowed", False),
        ("rate_limit must be at least 1", False),
        ("The rate limit must not be above 100", False),
        ("You are sending the doors too often-used names", False),
        ("The clock runs too fast", False),
    ],
)
def test_a_refusal_for_pace_is_read_as_429(message: str, is_told: bool) -> None:
    exchange = Exchange(Request("POST", "/barns", body={"label": "North"}), 400, {}, b"", "e", 1.0)
    told = told_fault(exchange, [Violation(message=message)])
    assert (told is not None and told.status == 429) is is_told
    assert told_fault(exchange, [Violation(message=message, pointer="/body/label")]) is None


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ("No matching contract found for method GET and path /barn", ["/barns"]),
        ("No matching contract found for path /barn", []),
        ("GET /barn failed for farm 7", []),
    ],
)
def test_a_400_about_this_very_method_and_path(engine: Engine, message: str, path: list[str]) -> None:
    feedback = feedback_about(engine, Request("GET", "/barn", {"limit": "3"}), 400, {"message": message})
    ops = [op for patch in patches(feedback) for op in patch]
    assert [op["value"] for op in ops if op["op"] == "replace" and op["path"] == "/path"] == path


def test_the_reason_beside_what_only_failed_is_read(engine: Engine) -> None:
    request = Request("POST", "/barns", body={"label": "North", "doors": -1})
    answer = {"errors": [{"description": "update from [10.0.0.1]:7 failed", "error": "doors must be at least 1"}]}
    feedback = feedback_about(engine, request, 500, answer)
    assert feedback is not None and "/body/doors" in str(feedback["suggestions"])
    answer["errors"][0]["error"] = "Access denied"
    feedback = feedback_about(engine, request, 500, answer)
    assert feedback is not None and feedback["suggestions"][0]["parameters"]["needed"] == "permission"
    answer["errors"][0]["error"] = "Unspecified error"
    assert feedback_about(engine, request, 500, answer) is None


@rows(
    ("message", "edit"),
    [
        ("doors: 50 are more than there is room for, use 30 or less", 30),
        ("doors: 50 are more than a clerk may order, only managers order above 30 or more than 30 at most", None),
        ("the barn is full", None),
    ],
)
def test_what_a_conflict_states_of_a_value_is_confirmed(message: str, edit: int | None, tmp_path: Path) -> None:
    request = Request("POST", "/barns", body={"label": "North", "doors": 50})
    feedback = feedback_about(engine_of(tmp_path, DESCRIPTION), request, 409, {"message": message})
    edits = [one for one in (feedback or {}).get("suggestions", ()) if "patch" in one]
    assert [one["patch"][-1]["value"] for one in edits] == ([] if edit is None else [edit])
    assert all(one["safety"]["requires_confirmation"] for one in edits)
