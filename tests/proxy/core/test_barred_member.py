"""A change of nothing but what the server does not let be changed."""

from __future__ import annotations

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Json, Request
from corrigible.schema.reader import NeedsInput, Next, Terminal
from tests._support.by_description import engine_of, feedback_about, followed

DESCRIPTION = """
openapi: 3.0.3
info: {title: Labels, version: '1'}
paths:
  /labels/{labelId}:
    parameters: [{name: labelId, in: path, required: true, schema: {type: string}}]
    patch: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Label'}}}}}
    put: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Label'}}}}}
components:
  schemas:
    Label: {type: object, properties: {name: {type: string}, colour: {type: string}, value: {type: string}}}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("labels"), DESCRIPTION)


def outcome(engine: Engine, body: Json, message: str, method: str = "PATCH") -> Next | NeedsInput | Terminal | None:
    request = Request(method, "/labels/l7", headers={"content-type": "application/json"}, body=body)
    return followed(feedback_about(engine, request, 400, {"message": message}), request)


def test_beside_other_members_it_is_not(engine: Engine) -> None:
    message = "Property 'name' is not allowed for this method."
    assert not isinstance(outcome(engine, {"name": "blue", "value": "7"}, message), Terminal)


def test_what_creates_is_no_change(engine: Engine) -> None:
    message = "Property 'name' is not allowed for this method."
    assert not isinstance(outcome(engine, {"name": "blue"}, message, "PUT"), Terminal)


def test_a_misspelt_member_is_renamed(engine: Engine) -> None:
    renamed = outcome(engine, {"vlaue": "7"}, "Property 'vlaue' is not allowed for this method.")
    assert isinstance(renamed, Next)
    assert renamed.request.body == {"value": "7"}


def test_an_undeclared_member_is_not_told_as_fixed(engine: Engine) -> None:
    assert not isinstance(outcome(engine, {"weight": 7}, "Property 'weight' is not allowed for this method."), Terminal)
