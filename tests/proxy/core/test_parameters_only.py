"""Refusals of an API that takes nearly everything as parameters of the query or fields of a form, some as JSON."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest
import yaml

from corrigible.proxy.build import SpecWarning, build_engine
from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput, Next
from tests._support.by_description import feedback_about, followed
from tests._support.rows import rows

FORM = "application/x-www-form-urlencoded"
DESCRIPTION = """
swagger: '2.0'
info: {title: Loans, version: '1'}
basePath: /api/v2
paths:
  /loans:
    get:
      parameters:
      - {name: limit, in: query, type: integer}
      - {name: tag, in: query, type: array, items: {type: string}, collectionFormat: multi}
      - {name: order, in: query, type: integer, enum: [1, -1], description: '1 for ascending, -1 for descending.'}
      - {name: kinds, in: query, type: string, description: 'A JSON list of kinds of loans.'}
      - {name: words, in: query, type: string, description: 'Words between commas.'}
    post:
      parameters:
      - {name: title, in: query, type: string, required: true}
      - {name: public, in: query, type: boolean}
      - {name: days, in: query, type: integer}
  /loans/{loan}:
    parameters: [{name: loan, in: path, required: true, type: string}]
    put:
      parameters:
      - {name: parent, in: query, type: string}
      - {name: parentKind, in: query, type: string}
      - {name: kinds, in: query, type: string, description: 'A JSON list of kinds of loans.'}
  /loans/{loan}/notes:
    parameters: [{name: loan, in: path, required: true, type: string}]
    put:
      consumes: [application/json]
      parameters: [{name: notes, in: body, required: true, schema: {type: string}}]
    post:
      consumes: [application/x-www-form-urlencoded]
      parameters:
      - {name: notes, in: formData, type: string}
      - {name: remark, in: formData, type: string}
      - {name: tags, in: formData, type: string, description: 'A JSON list.'}
  /password:
    put:
      consumes: [application/x-www-form-urlencoded]
      parameters:
      - {name: old, in: formData, type: string, required: true}
      - {name: new, in: formData, type: string, required: true}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder = tmp_path_factory.mktemp("loans")
    description = folder / "description.json"
    description.write_text(json.dumps(yaml.safe_load(DESCRIPTION)), "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)  # it is Swagger 2.0
        return build_engine((), description)


def sent(engine: Engine, request: Request, message: str, status: int = 400, *, confirm: bool = False) -> Request | None:
    """Return what is sent next, None where nothing is, or only what has to be confirmed."""
    outcome = followed(feedback_about(engine, request, status, {"message": message}), request, confirm=confirm)
    return outcome.request if isinstance(outcome, Next) else None


def asked(engine: Engine, request: Request, message: str, status: int = 400) -> list[str]:
    feedback = feedback_about(engine, request, status, {"message": message})
    if not isinstance(followed(feedback, request), NeedsInput):
        return []
    places = [place for one in (feedback or {})["suggestions"] for place in one.get("placeholders", ())]
    return [place["pointer"] for place in places]


def form(method: str, path: str, **fields: str) -> Request:
    return Request(method, path, {}, {"content-type": FORM}, fields, True)


def loans(**query: Any) -> Request:
    return Request("GET", "/api/v2/loans", query)


@rows(
    ("request_", "message", "right"),
    [
        (("PATCH", "/api/v2/loans/7"), 'No matching route for "PATCH 7"', ("PUT", "/api/v2/loans/7")),
        (("GET", "/api/v2/loan"), "No such route: GET loan", ("GET", "/api/v2/loans")),
        (("GET", "/api/v2/loan"), "Unknown endpoint", ("GET", "/api/v2/loans")),
        (("GET", "/api/loans"), "Route /api/loans not found", ("GET", "/api/v2/loans")),
        # That may be said of a value.
        (("GET", "/api/v2/loan"), "Invalid URL", None),
        (("GET", "/api/v2/loan"), "The route is too long", None),
        (("GET", "/api/v2/loan"), "No route to the database host", None),
    ],
)
def test_a_400_that_says_that_there_is_no_route_is_about_it(
    engine: Engine, request_: tuple[str, str], message: str, right: tuple[str, str] | None
) -> None:
    found = sent(engine, Request(*request_, {"parent": "8"} if request_[0] == "PATCH" else {}), message, confirm=True)
    assert (None if found is None else (found.method, found.path)) == right


def test_no_route_for_what_is_described_is_about_something_else(engine: Engine) -> None:
    assert sent(engine, loans(limit="5"), 'No matching route for "GET "') is None


def test_the_half_of_a_base_path_is_completed(engine: Engine) -> None:
    found = sent(engine, Request("PUT", "/api/loans/7"), "Not Found", 404)
    assert found is not None
    assert found.path == "/api/v2/loans/7"


def test_a_parameter_that_takes_several_is_not_sent_too_often(engine: Engine) -> None:
    assert sent(engine, loans(tag=["a", "b"]), '"tag" must not be specified multiple times.') is None


@rows(
    ("body", "query", "right"),
    [
        ({"title": "a", "public": True, "days": 3}, {}, {"title": "a", "public": "true", "days": "3"}),
        ({"title": "a", "public": False}, {"days": "3"}, {"title": "a", "public": "false", "days": "3"}),
        # What is no parameter, does not fit, or stands in both parts is not moved.
        ({"title": "a", "publik": True}, {}, None),
        ({"title": "a", "days": "many"}, {}, None),
        ({"title": "a", "days": [3]}, {}, None),
        ({"title": "a", "days": 3}, {"days": "4"}, None),
        ({"public": True, "days": 3}, {}, None),
    ],
)
def test_a_body_of_parameters_is_sent_in_the_query(
    engine: Engine, body: dict[str, Any], query: dict[str, str], right: dict[str, str] | None
) -> None:
    request = Request("POST", "/api/v2/loans", dict(query), {"content-type": "application/json"}, body)
    found = sent(engine, request, 'Parameter "title" is required.')
    assert (None if found is None else (found.query, found.body)) == (None if right is None else (right, None))


def test_words_of_another_notation_are_left_alone(engine: Engine) -> None:
    assert sent(engine, loans(words="car,boat"), "Parameter words must be valid JSON.") is None


def test_json_in_a_field_of_a_form_is_put_right_where_the_error_names_it(engine: Engine) -> None:
    request = form("POST", "/api/v2/loans/7/notes", notes="{'a': 1}", remark="[draft] none")
    found = sent(engine, request, "Parameter notes must be valid JSON.")
    assert found is not None
    assert found.body == {"notes": '{"a":1}', "remark": "[draft] none"}
    assert sent(engine, request, "Invalid JSON.") is None


@pytest.mark.parametrize(
    ("name", "message", "right"),
    [
        ("parentkind", "No such loan: l-8", {"parent": "l-8", "parentKind": "shop"}),
        ("parent_kind", "No such loan: l-8", {"parent": "l-8", "parentKind": "shop"}),
        ("shop", "No such loan: l-8", None),
    ],
)
def test_a_parameter_that_was_not_read_is_put_right_before_the_one_that_is_refused(
    engine: Engine, name: str, message: str, right: dict[str, str] | None
) -> None:
    request = Request("PUT", "/api/v2/loans/7", {"parent": "l-8", name: "shop"})
    assert sent(engine, request, message) is None  # only the description says so
    found = sent(engine, request, message, confirm=True)
    assert (None if found is None else found.query) == right


@pytest.mark.parametrize(
    "message",
    ["You are not allowed to set a new password.", "The passwords do not match.", "Old password is incorrect."],
)
def test_a_403_about_rights_is_about_no_member(engine: Engine, message: str) -> None:
    request = form("PUT", "/api/v2/password", old="a-secret", new="b-secret")
    assert asked(engine, request, message, 403) == []
