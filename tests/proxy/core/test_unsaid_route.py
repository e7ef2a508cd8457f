"""Paths and methods that the description does not have, where the answer does not say so, or says no more than so.

What an answer does not say is never sent unasked; what is offered is always one of the description's operations.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput, Next
from tests._support.by_description import engine_of, feedback_about, followed
from tests._support.rows import rows

DESCRIPTION = """
openapi: 3.0.3
info: {title: Shelves, version: '1'}
paths:
  /api/label:
    post: {requestBody: {content: {application/json: {schema: {type: object, properties: {name: {type: string}}}}}}}
  /api/labels: {get: {}}
  /api/shelves: {get: {}}
  /api/status: {get: {}}
  /api/shelves/{shelf_id}:
    parameters: [{name: shelf_id, in: path, required: true, schema: {type: string}}]
    get: {}
    put:
      requestBody:
        content:
          application/json:
            schema: {type: object, properties: {shelfId: {type: string}, name: {type: string}, key: {type: string}}}
    delete: {}
  /api/links/{token}:
    parameters: [{name: token, in: path, required: true, schema: {type: string}}]
    put: {requestBody: {content: {application/json: {schema: {type: object, properties: {token: {type: string}}}}}}}
  /api/book: {get: {parameters: [{name: shelf, in: query, required: true, schema: {type: string, default: top}}]}}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("shelves"), DESCRIPTION)


@pytest.mark.parametrize(
    "message", ["path /api/drawers was not found", "Unknown API command: drawers", "No such route"]
)
def test_a_path_that_is_none_is_asked_for(engine: Engine, message: str) -> None:
    feedback = feedback_about(engine, Request("GET", "/api/drawers"), 404, {"message": message})
    assert feedback is not None
    (suggestion,) = feedback["suggestions"]
    assert suggestion["placeholders"][0]["pointer"] == "/path"


@rows(
    ("method", "path", "sent"),
    [
        ("GET", "/api/stats", ("GET", "/api/status")),
        ("GET", "/shelves", ("GET", "/api/shelves")),
        ("POST", "/api/status", ("GET", "/api/status")),
    ],
)
@rows("message", ["Bad request", "", "I don't understand you..."])
def test_a_400_without_a_reason_may_mean_the_path_and_is_confirmed(
    engine: Engine, method: str, path: str, sent: tuple[str, str], message: str
) -> None:
    request = Request(method, path)
    feedback = feedback_about(engine, request, 400, {"error": message})
    assert isinstance(followed(feedback, request), NeedsInput)
    confirmed = followed(feedback, request, confirm=True)
    assert isinstance(confirmed, Next)
    assert (confirmed.request.method, confirmed.request.path) == sent


def test_a_near_path_that_has_the_method_is_confirmed(engine: Engine) -> None:
    headers = {"content-type": "application/json"}
    request = Request("POST", "/api/labels", {}, headers, {"name": "top"})
    feedback = feedback_about(engine, request, 405, {"message": "Method Not Allowed"})
    assert isinstance(followed(feedback, request), NeedsInput)
    confirmed = followed(feedback, request, confirm=True)
    assert isinstance(confirmed, Next)
    assert (confirmed.request.method, confirmed.request.path) == ("POST", "/api/label")


def test_a_delete_is_never_moved_to_another_path(engine: Engine) -> None:
    feedback = feedback_about(engine, Request("DELETE", "/api/label"), 405, {"message": "Method Not Allowed"})
    assert feedback is None or all("patch" not in one for one in feedback["suggestions"])


def test_the_default_of_a_required_parameter_is_an_example(engine: Engine) -> None:
    request = Request("GET", "/api/book")
    feedback = feedback_about(engine, request, 400, {"message": "shelf is required"})
    assert isinstance(followed(feedback, request), NeedsInput)
    confirmed = followed(feedback, request, confirm=True)
    assert isinstance(confirmed, Next)
    assert confirmed.request.query == {"shelf": "top"}


def test_what_the_path_names_is_what_the_body_lacks(engine: Engine) -> None:
    headers = {"content-type": "application/json"}
    request = Request("PUT", "/api/shelves/s-7", {}, headers, {"name": "top"})
    sent = followed(feedback_about(engine, request, 400, {"error": "shelfId is missing"}), request)
    assert isinstance(sent, Next)
    assert sent.request.body == {"name": "top", "shelfId": "s-7"}


def test_another_name_than_that_of_the_path_is_asked_for(engine: Engine) -> None:
    headers = {"content-type": "application/json"}
    request = Request("PUT", "/api/shelves/s-7", {}, headers, {"name": "top"})
    sent = followed(feedback_about(engine, request, 400, {"error": "key is missing"}), request)
    assert isinstance(sent, NeedsInput)


def test_a_secret_of_the_path_is_not_repeated(engine: Engine) -> None:
    request = Request("PUT", "/api/links/t0p-s3cret", {}, {"content-type": "application/json"}, {"name": "top"})
    feedback = feedback_about(engine, request, 400, {"error": "token is missing"})
    assert "t0p-s3cret" not in str(feedback)


WORDS = st.sampled_from(
    ["api", "label", "labels", "shelves", "shelfs", "status", "stats", "book", "boks", "v1", "drawers", "s-7", ""]
)
METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"])
SAID: st.SearchStrategy[Any] = st.sampled_from(
    [
        "",
        "Bad request",
        "Not Found",
        "Method Not Allowed",
        "No such route",
        "The requested URL was not found",
        "shelf is taken",
    ]
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS, min_size=1, max_size=4), METHODS, st.sampled_from([400, 404, 405]), SAID)
def test_what_is_sent_unasked_is_told_by_the_answer(
    engine: Engine, parts: list[str], method: str, status: int, message: str
) -> None:
    request = Request(method, "/" + "/".join(parts))
    feedback = feedback_about(engine, request, status, {"message": message})
    if feedback is None:
        return
    step = followed(feedback, request)
    if isinstance(step, Next) and not step.wait_seconds:
        # A 400 tells nothing of the path; a deletion goes nowhere else; a write stays one.
        assert status != 400 and method != "DELETE" and step.request.method != "DELETE"
        assert step.request.body == request.body
    for suggestion in feedback["suggestions"]:
        for asked in suggestion.get("placeholders", ()):
            assert all(one.startswith("/") for one in asked["schema"].get("enum", ()) if asked["pointer"] == "/path")
