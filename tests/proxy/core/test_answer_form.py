"""An answer of another media type (406), and the two kinds of patches (415), by the description alone."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput, Next
from tests._support.by_description import engine_of, feedback_about, followed
from tests._support.rows import rows

DESCRIPTION = """
openapi: 3.0.3
info: {title: Notes, version: '1'}
paths:
  /notes:
    get:
      responses: {'200': {$ref: '#/components/responses/Notes'}, '404': {description: none, content: {text/html: {}}}}
    post: {responses: {'201': {description: made, content: {application/json; charset=utf-8: {}}}}}
  /export:
    get: {responses: {2XX: {description: all, content: {text/csv: {}, application/xml: {}}}}}
  /many:
    get:
      responses:
        '200':
          description: all
          content: {a/a: {}, a/b: {}, a/c: {}, a/d: {}, a/e: {}, application/json: {}}
  /most:
    get:
      responses:
        '200':
          description: all
          content: {a/a: {}, a/b: {}, a/c: {}, a/d: {}, a/e: {}, application/json: {}, application/vnd.a+json: {}}
  /photos:
    post:
      requestBody: {content: {application/octet-stream: {}}}
      responses: {'201': {description: made, content: {application/json: {}, text/html: {}}}}
  /unsaid:
    get: {responses: {'200': {description: all}}}
  /merged/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    patch: {requestBody: {content: {application/merge-patch+json: {schema: {$ref: '#/components/schemas/Note'}}}}}
  /plain/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    patch: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Note'}}}}}
  /patched/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    patch: {requestBody: {content: {application/json-patch+json: {schema: {type: array, items: {type: object}}}}}}
  /both/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    patch:
      requestBody:
        content:
          application/merge-patch+json: {schema: {$ref: '#/components/schemas/Note'}}
          application/json-patch+json: {schema: {type: array, items: {type: object}}}
components:
  responses: {Notes: {description: all, content: {application/vnd.notes+json: {}}}}
  schemas: {Note: {type: object, properties: {title: {type: string}, secret_token: {type: string}}}}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("notes"), DESCRIPTION)


def refused(engine: Engine, method: str, path: str, accept: str) -> tuple[Request, dict[str, Any] | None]:
    request = Request(method, path, headers={"accept": accept})
    return request, feedback_about(engine, request, 406, {"detail": "Could not satisfy the request Accept header."})


@pytest.mark.parametrize("accept", ["text/csv", "application/json", "text/*, application/vnd.notes+json;q=0"])
def test_the_media_type_that_is_produced_is_accepted_instead(engine: Engine, accept: str) -> None:
    request, feedback = refused(engine, "GET", "/notes", accept)
    assert feedback is not None
    (suggestion,) = feedback["suggestions"]
    assert suggestion["safety"]["changes_intent"] is True  # another answer than was asked for
    following = followed(feedback, request, confirm=True)
    assert isinstance(following, Next)
    assert following.request.headers["accept"] == "application/vnd.notes+json"


def test_a_415_without_a_body_is_about_the_media_type_of_the_answer(engine: Engine) -> None:
    request = Request("GET", "/notes", headers={"accept": "application/atom+xml"})
    feedback = feedback_about(engine, request, 415, {"detail": "That format is not supported."})
    following = followed(feedback, request, confirm=True)
    assert isinstance(following, Next)
    assert following.request.headers["accept"] == "application/vnd.notes+json"


@pytest.mark.parametrize(
    ("sentence", "is_unread"),
    [("The title is missing", True), ("Values are not specified for all of it", True), ("The shelf is full", False)],
)
def test_what_is_missed_of_a_body_that_was_sent_was_not_read(engine: Engine, sentence: str, is_unread: bool) -> None:
    headers = {"content-type": "text/plain"}
    request = Request("PATCH", "/plain/1", headers=headers, body='{"title": "a"}')
    feedback = feedback_about(engine, request, 400, {"detail": sentence})
    following = followed(feedback, request) if feedback is not None else None
    is_sent_as_json = isinstance(following, Next) and following.request.headers["content-type"] == "application/json"
    assert is_sent_as_json is is_unread


@pytest.mark.parametrize("status", [400, 415, 422])
def test_another_status_is_not_about_the_media_type_of_the_answer(engine: Engine, status: int) -> None:
    request = Request("POST", "/notes", headers={"accept": "text/csv"})
    feedback = feedback_about(engine, request, status, {"detail": "Bad Request"}) or {"suggestions": []}
    edits = [edit for one in feedback["suggestions"] for edit in one.get("patch", ())]
    assert not [edit for edit in edits if edit["path"] == "/headers/accept"]


@pytest.mark.parametrize(
    ("status", "accept"), [(415, "application/json"), (415, "text/csv"), (406, "*/*"), (406, "text/html")]
)
def test_a_body_that_is_taken_as_plain_octets_only(engine: Engine, status: int, accept: str) -> None:
    request = Request("POST", "/photos", headers={"accept": accept, "content-type": "text/plain"}, body="hello")
    feedback = feedback_about(engine, request, status, b"")
    following = followed(feedback, request)
    assert isinstance(following, Next)
    assert following.request.headers == {"accept": accept, "content-type": "application/octet-stream"}
    assert following.request.body == "hello"


@pytest.mark.parametrize(("status", "body"), [(400, "hello"), (406, {"a": 1}), (415, {"a": 1})])
def test_a_body_that_may_be_sent_as_it_is(engine: Engine, status: int, body: Any) -> None:
    media = "text/plain" if isinstance(body, str) else "application/json"
    request = Request("POST", "/photos", headers={"accept": "*/*", "content-type": media}, body=body)
    feedback = feedback_about(engine, request, status, b"") or {"suggestions": []}
    assert not any("patch" in one for one in feedback["suggestions"])


def test_several_media_types_are_a_choice(engine: Engine) -> None:
    request, feedback = refused(engine, "GET", "/export", "application/json")
    assert isinstance(followed(feedback, request), NeedsInput)
    assert feedback is not None
    assert [one["patch"][-1]["value"] for one in feedback["suggestions"]] == ["text/csv", "application/xml"]


def test_json_is_chosen_from_any_number_of_media_types(engine: Engine) -> None:
    _, feedback = refused(engine, "GET", "/many", "text/html")
    assert feedback is not None
    assert [one["patch"][-1]["value"] for one in feedback["suggestions"]] == ["application/json"]


def test_json_is_among_the_media_types_that_are_offered(engine: Engine) -> None:
    _, feedback = refused(engine, "GET", "/most", "text/html")
    assert feedback is not None
    offered = [one["patch"][-1]["value"] for one in feedback["suggestions"]]
    assert offered == ["application/json", "application/vnd.a+json", "a/a", "a/b", "a/c"]


def test_a_call_that_may_have_been_carried_out_is_confirmed_first(engine: Engine) -> None:
    request, feedback = refused(engine, "POST", "/notes", "text/csv")
    assert isinstance(followed(feedback, request), NeedsInput)
    assert isinstance(followed(feedback, request, confirm=True), Next)


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        ("/notes", "application/vnd.notes+json"),
        ("/notes", "application/*"),
        ("/notes", "text/csv, application/vnd.notes+json; q=0.5"),
    ],
)
def test_a_server_that_contradicts_its_description_is_not_explained_by_it(
    engine: Engine, path: str, accept: str
) -> None:
    _, feedback = refused(engine, "GET", path, accept)
    assert feedback is not None
    assert feedback["suggestions"][0]["patch"][-1]["value"] == "*/*"  # what every API means by it


def test_what_is_not_described_is_not_made_up(engine: Engine) -> None:
    _, feedback = refused(engine, "GET", "/unsaid", "text/csv")
    assert feedback is not None
    assert feedback["suggestions"][0]["patch"][-1]["value"] == "*/*"


JSON, MERGE, PATCH = "application/json", "application/merge-patch+json", "application/json-patch+json"
OPERATIONS = [{"op": "replace", "path": "/title", "value": "x"}]


@pytest.mark.parametrize(
    ("path", "media", "body", "right", "taken"),
    [
        ("/both/1", JSON, {"title": "x"}, MERGE, {"title": "x"}),
        ("/both/1", JSON, OPERATIONS, PATCH, OPERATIONS),
    ],
)
def test_a_patch_is_sent_as_the_kind_that_is_described(
    engine: Engine, path: str, media: str, body: Any, right: str, taken: Any
) -> None:
    request = Request("PATCH", path, headers={"content-type": media}, body=body)
    following = followed(feedback_about(engine, request, 415, b""), request, confirm=True)
    assert isinstance(following, Next)
    assert (following.request.headers["content-type"], following.request.body) == (right, taken)


@rows(
    ("path", "media", "body"),
    [
        ("/patched/1", JSON, ["title"]),
        ("/patched/1", MERGE, {"title": "x"}),
        ("/merged/1", PATCH, OPERATIONS),
        ("/plain/1", PATCH, OPERATIONS),
        ("/patched/1", MERGE, {"secret_token": "s3cret-value"}),
        ("/merged/1", PATCH, [{"op": "test", "path": "/title", "value": "y"}, *OPERATIONS]),
        ("/merged/1", JSON, ["title"]),
    ],
)
def test_a_patch_of_another_kind_is_asked_for(engine: Engine, path: str, media: str, body: Any) -> None:
    request = Request("PATCH", path, headers={"content-type": media}, body=body)
    assert isinstance(followed(feedback_about(engine, request, 415, b""), request, confirm=True), NeedsInput)
