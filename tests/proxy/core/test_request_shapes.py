"""A request of the right parts in another shape: not in a list, under a plural, below a version, in another form."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput, Next
from tests._support.by_description import engine_of, feedback_about, followed

DESCRIPTION = """
openapi: 3.0.3
info: {title: Fleet, version: '1'}
paths:
  /api/ships:
    post:
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Ships'}}}}
    get: {parameters: [{name: id, in: query, required: true, schema: {type: array, items: {type: string}}}]}
  /api/ports:
    post:
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Port'}}}}
  /api/tides/refresh: {get: {}}
  /api/tides/{port}: {get: {parameters: [{name: port, in: path, required: true, schema: {type: string}}]}}
  /api/anchors/raise:
    put: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Names'}}}}}
components:
  schemas:
    Names: {type: object, properties: {names: {type: array, items: {type: string}}, force: {type: boolean}}}
    Port:
      type: object
      required: [portCode, country]
      properties: {portCode: {type: string}, country: {type: string}}
    Ships:
      type: object
      required: [ships]
      properties: {ships: {type: array, minItems: 1, items: {$ref: '#/components/schemas/Ship'}}}
    Ship:
      type: object
      required: [hull]
      properties:
        hull: {type: string}
        decks: {type: array, items: {type: string}}
        mast: {type: string}
        rig: {type: string, enum: [RIG_SLOOP, RIG_KETCH]}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("fleet"), DESCRIPTION)


def post(body: Any, path: str = "/api/ships", media: str = "application/json") -> Request:
    return Request("POST", path, headers={"content-type": media}, body=body)


def next_request(
    engine: Engine, request: Request, status: int, answer: Any, *, confirm: bool = False
) -> Request | None:
    outcome = followed(feedback_about(engine, request, status, answer), request, confirm=confirm)
    return outcome.request if isinstance(outcome, Next) else None


def unknown(name: str) -> dict[str, str]:
    return {"message": f'json: unknown field "{name}"'}


@pytest.mark.parametrize("body", [{"mast": "oak"}, {"hull": "steel", "keel": "lead"}, {"hull": 7}])
def test_an_object_that_the_list_does_not_take_is_not_put_there(engine: Engine, body: dict[str, Any]) -> None:
    following = next_request(engine, post(body), 400, unknown(next(iter(body))))
    assert following is None or "ships" not in following.body


def test_a_parameter_for_a_list_of_one_is_renamed(engine: Engine) -> None:
    request = Request("GET", "/api/ships", query={"ids": "s-1"})
    following = next_request(engine, request, 400, {"message": "query parameter id is required"})
    assert following is not None and following.query == {"id": "s-1"}


@pytest.mark.parametrize("status", [405, 501])
def test_a_post_of_nothing_to_what_is_only_read_becomes_a_get_if_the_caller_agrees(engine: Engine, status: int) -> None:
    request = Request("POST", "/api/tides/refresh")
    answer = {"message": "Method Not Allowed"}
    assert isinstance(followed(feedback_about(engine, request, status, answer), request), NeedsInput)
    following = next_request(engine, request, status, answer, confirm=True)
    assert following is not None and (following.method, following.path) == ("GET", request.path)


def test_a_post_of_something_to_what_is_only_read_does_not_become_a_get(engine: Engine) -> None:
    request = post({"depth": 7}, "/api/tides/refresh")
    assert next_request(engine, request, 405, {"message": "Method Not Allowed"}, confirm=True) is None


@pytest.mark.parametrize(
    ("path", "meant"), [("/api/v1/tides/refresh", "/api/tides/refresh"), ("/api/v2/ships", "/api/ships")]
)
def test_a_version_that_no_path_has_is_left_out(engine: Engine, path: str, meant: str) -> None:
    following = next_request(engine, Request("GET", path), 404, {"message": "Not Found"})
    assert following is not None and following.path == meant


@pytest.mark.parametrize("text", ["invalid character '<' looking for beginning of value", "malformed JSON"])
def test_xml_where_json_belongs(engine: Engine, text: str) -> None:
    request = post("<ship><hull>steel</hull></ship>", media="application/xml")
    told = feedback_about(engine, request, 400, {"message": text})
    assert told is not None
    places = [one["pointer"] for s in told["suggestions"] for one in s.get("placeholders", ())]
    assert places and {place.partition("/")[2].partition("/")[0] for place in places} <= {"body", "headers"}


def test_a_value_gets_the_beginning_that_all_values_have(engine: Engine) -> None:
    request = post({"ships": [{"hull": "h", "rig": "ketch"}]})
    following = next_request(engine, request, 400, {"message": "invalid value for rig: ketch"})
    assert following is not None and following.body["ships"][0]["rig"] == "RIG_KETCH"


PORT = {"portCode": "NLRTM", "country": "NL"}


@pytest.mark.parametrize("message", ["Property 'port' is not allowed for this method.", 'unknown field "port"'])
def test_an_object_is_no_text_of_a_near_name_but_a_wrapper(engine: Engine, message: str) -> None:
    following = next_request(engine, post({"port": PORT}, "/api/ports"), 400, {"message": message})
    assert following is not None and following.body == PORT


@pytest.mark.parametrize("inner", [{"portCode": "NLRTM"}, {**PORT, "harbour": "east"}])
def test_an_object_that_is_not_what_belongs_around_it_stays_where_it_is(engine: Engine, inner: dict[str, str]) -> None:
    answer = {"message": "Property 'port' is not allowed for this method."}
    assert next_request(engine, post({"port": inner}, "/api/ports"), 400, answer) is None


def test_the_only_one_of_a_list_is_the_object_whose_member_0_is_unknown(engine: Engine) -> None:
    answer = {"message": "Property '0' is not allowed for this method."}
    following = next_request(engine, post([PORT], "/api/ports"), 400, answer)
    assert following is None or following.body == PORT
    assert next_request(engine, post([PORT, PORT], "/api/ports"), 400, answer) is None
