"""Node's complaint about an argument: about a member where the operation declares one of that name."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Json, Request
from corrigible.schema.reader import NeedsInput
from tests._support.by_description import engine_of, feedback_about, followed

DESCRIPTION = """
openapi: 3.0.3
info: {title: Vaults, version: '1'}
paths:
  /vaults:
    post:
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Vault'}}}}
components:
  schemas:
    Vault: {type: object, properties: {passphrase: {type: string}, rounds: {type: integer}}}
"""
OF_TEXT = (
    'The "passphrase" argument must be of type string or an instance of ArrayBuffer, Buffer or DataView. Received '
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("vaults"), DESCRIPTION)


def outcome(engine: Engine, body: Json, status: int, message: str) -> Any:
    request = Request("POST", "/vaults", headers={"content-type": "application/json"}, body=body)
    return followed(feedback_about(engine, request, status, {"message": message}), request)


@pytest.mark.parametrize("status", [400, 500])
def test_what_is_undefined_was_not_sent(engine: Engine, status: int) -> None:
    asked = outcome(engine, {"rounds": 3}, status, f"{OF_TEXT}undefined")
    assert isinstance(asked, NeedsInput)
    assert [one.pointer for one in asked.placeholders] == ["/body/passphrase"]


@pytest.mark.parametrize(("value", "received"), [(512, "type number (512)"), (None, "null")])
def test_a_value_of_another_type_is_asked_for(engine: Engine, value: Json, received: str) -> None:
    asked = outcome(engine, {"passphrase": value}, 500, OF_TEXT + received)
    assert isinstance(asked, NeedsInput)
    assert "/body/passphrase" in [one.pointer for one in asked.placeholders]
