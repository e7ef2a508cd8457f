"""A 404 that refuses a parameter of the query: the path is right, and the parameter is asked for."""

from __future__ import annotations

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from tests._support.by_description import engine_of, feedback_about

DESCRIPTION = """
openapi: 3.0.3
info: {title: Shelves, version: '1'}
paths:
  /rooms/{room_name}/shelves:
    parameters: [{name: room_name, in: path, required: true, schema: {type: string}}]
    get: {}
    patch: {}
    put: {requestBody: {content: {application/json: {schema: {type: object, properties: {wood: {type: string}}}}}}}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("shelves"), DESCRIPTION)


def asked(engine: Engine, query: dict[str, str], message: str) -> list[str]:
    feedback = feedback_about(engine, Request("GET", "/rooms/attic/shelves", query), 404, {"message": message})
    found = feedback["suggestions"] if feedback is not None else []
    return [one["pointer"] for each in found for one in each.get("placeholders", ())]


@pytest.mark.parametrize(
    ("query", "message", "place"),
    [
        ({"page": "one"}, "Invalid page number", "/query/page"),
        ({"page_size": "ten"}, "Invalid per_page value", "/query/page_size"),
        ({"page": "1", "page_size": "ten"}, "Invalid page_size.", "/query/page_size"),
        ({"cursor": "zz", "limit": "5"}, "Bad value for cursor: zz", "/query/cursor"),
    ],
)
def test_the_parameter_is_asked_for(engine: Engine, query: dict[str, str], message: str, place: str) -> None:
    assert asked(engine, query, message) == [place]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"page": "1"}, "Invalid room name"),
        ({"page": "99"}, "That page contains no results"),
    ],
)
def test_the_path_may_be_wrong(engine: Engine, query: dict[str, str], message: str) -> None:
    assert not any(place.startswith("/query/") for place in asked(engine, query, message))


SILENT = ["Bad Request", "The browser (or proxy) sent a request that this server could not understand."]


def left(engine: Engine, method: str, message: str, query: dict[str, str] | None = None) -> list[str]:
    headers = {"content-type": "application/json"}
    request = Request(method, "/rooms/attic/shelves", query or {}, headers, {"wood": "oak", "colour": "red"})
    feedback = feedback_about(engine, request, 400, {"message": message})
    found = feedback["suggestions"] if feedback is not None else []
    return [one["pointer"] for each in found for one in each.get("placeholders", ())]


@pytest.mark.parametrize("message", SILENT)
def test_a_body_of_which_nobody_says_anything_is_asked_for(engine: Engine, message: str) -> None:
    assert left(engine, "PATCH", message) == ["/body/wood", "/body/colour"]


@pytest.mark.parametrize("message", SILENT)
def test_what_is_described_or_sent_besides_may_be_wrong(engine: Engine, message: str) -> None:
    assert "/body" not in left(engine, "PUT", message)
    assert "/body" not in left(engine, "PATCH", message, {"depth": "3"})


def test_a_text_that_says_something_is_about_that(engine: Engine) -> None:
    assert "/body" not in left(engine, "PATCH", "The shelf cannot be painted")
