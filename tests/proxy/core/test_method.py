"""PUT where only PATCH is described, and PATCH where only PUT is: offered with what changes, never silently."""

from __future__ import annotations

from pathlib import Path
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
  /replaced/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {}
    put: {requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Note'}}}}}
  /unread/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    put: {requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Note'}}}}}
    delete: {}
  /changed/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    patch: {requestBody: {content: {application/json: {schema: {type: object, properties: {title: {type: string}}}}}}}
  /both/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {}
    post: {requestBody: {content: {application/json: {schema: {type: object, properties: {copies: {type: integer}}}}}}}
    patch: {requestBody: {content: {application/json: {schema: {type: object, properties: {title: {type: string}}}}}}}
components:
  schemas:
    Note:
      type: object
      required: [title, text]
      properties: {title: {type: string}, text: {type: string}}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("notes"), DESCRIPTION)


def sent(method: str, path: str, body: Any) -> Request:
    return Request(method, path, headers={"content-type": "application/json"}, body=body)


@rows(("status", "allow"), [(405, "GET, PUT"), (405, "PUT"), (405, ""), (404, "")])
@rows(("path", "steps"), [("/replaced/1", [{"method": "GET", "path": "/replaced/1"}]), ("/unread/1", None)])
def test_put_needs_the_whole_resource(engine: Engine, path: str, steps: Any, status: int, allow: str) -> None:
    request = sent("PATCH", path, {"title": "x"})
    feedback = feedback_about(engine, request, status, {"detail": "Method Not Allowed"}, {"allow": allow})
    assert feedback is not None
    (suggestion,) = feedback["suggestions"]
    assert suggestion["safety"]["changes_intent"] is True
    assert suggestion.get("steps") == steps
    outcome = followed(feedback, request, confirm=True)
    assert isinstance(outcome, NeedsInput)
    assert [one.pointer for one in outcome.placeholders] == ["/body"]


def test_patch_leaves_what_is_not_sent(engine: Engine) -> None:
    request = sent("PUT", "/changed/1", {"title": "x"})
    feedback = feedback_about(engine, request, 405, b"", {"allow": "PATCH"})
    assert feedback is not None
    assert feedback["suggestions"][0]["safety"]["changes_intent"] is True
    following = followed(feedback, request, confirm=True)
    assert isinstance(following, Next)
    assert (following.request.method, following.request.body) == ("PATCH", {"title": "x"})


@pytest.mark.parametrize(
    ("body", "methods"),
    [
        ({"title": "x"}, ["PATCH"]),
        ({"copies": 2}, ["POST"]),
        ({"title": "x", "copies": 2}, ["PATCH", "POST"]),
        ({}, ["PATCH", "POST"]),
    ],
)
def test_of_several_methods_those_that_take_the_body_are_offered(engine: Engine, body: Any, methods: list[str]) -> None:
    feedback = feedback_about(engine, sent("PUT", "/both/1", body), 405, b"")
    assert feedback is not None
    assert [one["patch"][-1]["value"] for one in feedback["suggestions"]] == methods
    assert all(one["safety"]["changes_intent"] for one in feedback["suggestions"])


SHELF = """
openapi: 3.0.3
info: {title: Shelf, version: '1'}
paths:
  /books:
    get: {}
    post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Book'}}}}}
  /books/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    put: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Book'}}}}}
  /shelves:
    get: {}
    post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Shelf'}}}}}
  /shelves/{name}:
    parameters: [{name: name, in: path, required: true, schema: {type: string}}]
    put: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Shelf'}}}}}
  /rooms:
    get: {}
    post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Shelf'}}}}}
  /rooms/{room}:
    parameters: [{name: room, in: path, required: true, schema: {type: string}}]
    put: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Shelf'}}}}}
  /volumes:
    get: {}
    post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Shelf'}}}}}
  /volumes/{volume}:
    parameters: [{name: volume, in: path, required: true, schema: {type: string}}]
    put: {requestBody: {content: {application/json: {schema: {type: object, properties: {room: {type: string}}}}}}}
  /loans:
    get: {}
    post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Book'}}}}}
  /loans/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    delete: {}
components:
  schemas:
    Book: {type: object, properties: {id: {type: string}, title: {type: string}}}
    Shelf: {type: object, properties: {name: {type: string}, room: {type: string}}}
"""


@rows(
    ("path", "body", "is_clear"),
    [
        ("/books", {"title": "Dune"}, False),
        ("/books", {"id": "7", "title": "Dune"}, False),  # rather one that is there
        ("/shelves", {"room": "2"}, False),
        ("/rooms", {"name": "cellar"}, False),  # it may get this name
        ("/volumes", {"name": "cellar"}, False),
        ("/shelves", {"name": "top", "room": "2"}, False),
        ("/loans", {"title": "Dune"}, True),  # nothing there can be changed
    ],
)
def test_put_on_all_may_mean_one_that_is_not_named(tmp_path: Path, path: str, body: Any, is_clear: bool) -> None:
    request = sent("PUT", path, body)
    feedback = feedback_about(engine_of(tmp_path, SHELF), request, 405, b"Method Not Allowed")
    assert feedback is not None
    outcome = followed(feedback, request, confirm=is_clear)
    if is_clear:
        assert isinstance(outcome, Next)
        assert outcome.request.method == "POST"
        assert "requires_confirmation" not in feedback["suggestions"][0]["safety"]
        return
    assert isinstance(outcome, NeedsInput)
    (posted,) = feedback["suggestions"]
    assert posted["patch"][-1]["value"] == "POST"
    assert posted["safety"]["requires_confirmation"] is True


WHOLE = """
openapi: 3.0.3
info: {title: Tags, version: '1'}
paths:
  /tags/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {}
    put: {requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Tag'}}}}}
  /keys/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    delete: {}
  /flows/{id}/{version}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: string}}
      - {name: version, in: path, required: true, schema: {type: string}}
    get: {}
  /flows/{id}/stop:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    post: {}
components:
  schemas:
    Tag:
      type: object
      additionalProperties: false
      required: [name]
      properties:
        id: {type: string, readOnly: true}
        name: {type: string}
        look:
          type: object
          additionalProperties: false
          properties: {colour: {type: string}, size: {type: integer}}
"""


@pytest.fixture(scope="module")
def tags(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("tags"), WHOLE)


def test_a_read_of_what_can_only_be_deleted_is_asked_about(tags: Engine) -> None:
    request = Request("GET", "/keys/1")
    outcome = followed(feedback_about(tags, request, 405, {"message": "GET method not allowed"}), request)
    assert isinstance(outcome, NeedsInput)
    assert [one.pointer for one in outcome.placeholders] == ["/path"]
