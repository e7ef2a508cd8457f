"""What is found where a sentence could be about a name or about a value: an API with nothing but a description."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Exchange, Request
from corrigible.schema.feedback import parse
from corrigible.schema.reader import NeedsInput, Next, apply
from corrigible.schema.writer import validate
from tests._support.rows import rows

DESCRIPTION = """
openapi: 3.0.3
info: {title: Locks, version: '1'}
paths:
  /locks/{name}:
    parameters: [{name: name, in: path, required: true, schema: {type: string}}]
    post:
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Lock'}}}}
      responses: &any {default: {description: any}}
  /open/{name}:
    parameters: [{name: name, in: path, required: true, description: Name of the key to use., schema: {type: string}}]
    post: &take {requestBody: {content: {application/json: {schema: {type: object}}}}, responses: *any}
  /shut/{key_name}:
    parameters: [{name: key_name, in: path, required: true, schema: {type: string}}]
    post: *take
  /turn/{left}/{right}:
    parameters:
    - {name: left, in: path, required: true, description: Name of the key, schema: {type: string}}
    - {name: right, in: path, required: true, description: ID of the key, schema: {type: string}}
    post: *take
  /hide/{name}:
    parameters: [{name: name, in: path, required: true, description: Name of the door., schema: {type: string}}]
    post: *take
components:
  schemas:
    Lock:
      type: object
      properties:
        type: {type: string, description: 'One of "pin-4", "pin-6" and `disc`; a "disc" needs no key.'}
        material: {type: string, default: STEEL}
        owner: {type: string, example: Anna}
        shade: {type: string, example: Red}
        open_for: {type: string}
        ttl: {type: integer, format: seconds}
        delay: {type: integer}
        unit: {type: string}
"""
CERTAIN, CONFIRMED, ASKED = "certain", "confirmed", "asked"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    spec = tmp_path_factory.mktemp("spec") / "locks.json"
    spec.write_bytes(orjson.dumps(yaml.safe_load(DESCRIPTION)))
    return build_engine((), Path(spec))


def answered(engine: Engine, body: Any, message: str, path: str = "/locks/door") -> tuple[str, Any]:
    """Return how sure the answer is, and the body that it leads to; of a question, its places and edits."""
    request = Request("POST", path, {}, {"content-type": "application/json"}, body)
    exchange = Exchange(request, 400, {}, orjson.dumps({"errors": [message]}), "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), lambda lookup: LookupAnswer(0))
    if not isinstance(decision, Annotate):
        return "", None
    validate(parse(decision.feedback), vocabulary=decision.pack.vocabulary)
    for level, is_confirmed in ((CERTAIN, False), (CONFIRMED, True)):
        outcome = apply(decision.feedback, request, confirm=is_confirmed)
        if isinstance(outcome, Next):
            return level, outcome.request.body
    assert isinstance(outcome, NeedsInput)
    given = decision.feedback["suggestions"]
    edits = [f"{op['op']} {op['path']}" for one in given for op in one.get("patch", ()) if op["op"] != "test"]
    return ASKED, [*edits, *(place["pointer"] for one in given for place in one.get("placeholders", ()))]


@pytest.mark.parametrize(
    ("body", "message", "wanted"),
    [
        ({"material": "steel"}, 'unknown material "steel"', (ASKED, ["/body/material"])),
        ({"shade": "red"}, "unsupported shade: red", (ASKED, ["/body/shade"])),
        ({"material": "iron"}, 'unknown material "iron"', (ASKED, ["/body/material"])),
        ({"owner": "anna"}, 'unknown owner "anna"', (ASKED, ["/body/owner"])),
    ],
)
def test_a_value_that_is_not_known(engine: Engine, body: Any, message: str, wanted: tuple[str, Any]) -> None:
    assert answered(engine, body, message) == wanted


UNREAD = 'time: unknown unit " hours" in duration "2 hours"'


@pytest.mark.parametrize(
    ("body", "message", "wanted"),
    [
        ({"ttl": "2 hours"}, "ttl is invalid", (CONFIRMED, {"ttl": 7200})),
        # Neither the unit that was not sent nor something that does not exist: the length itself is asked for.
        ({"delay": "2 hours"}, f"delay: {UNREAD}", (ASKED, ["/body/delay"])),
        ({"open_for": "2 fortnights"}, UNREAD.replace("hours", "fortnights"), (ASKED, ["/body/open_for"])),
        ({"open_for": "30"}, 'time: missing unit in duration "30"', (ASKED, ["/body/open_for"])),
        ({"ttl": "soon"}, 'time: invalid duration "soon"', (ASKED, ["/body/ttl"])),
    ],
)
def test_a_length_of_time_that_is_not_read(engine: Engine, body: Any, message: str, wanted: tuple[str, Any]) -> None:
    assert answered(engine, body, message) == wanted


def test_a_member_that_is_not_known_may_be_left_out(engine: Engine) -> None:
    body = {"type": "disc", "weight": "4"}
    for message in ('unknown field "weight"', "unknown field weight in body"):
        assert answered(engine, body, message) == ("confirmed", {"type": "disc"})


@rows("message", ["encryption key not found", "Key not found.", "the key does not exist"])
@rows("path", ["/open/k-1", "/shut/k-1"])
def test_a_kind_of_thing_that_is_not_there_is_what_a_variable_of_the_path_names(
    engine: Engine, path: str, message: str
) -> None:
    assert answered(engine, {"text": "abc"}, message, path) == (ASKED, ["/path"])


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/open/k-1", {"key_id": "abc"}, "encryption key not found"),  # it may be that one
        ("/open/k-1", {"encryption": "abc"}, "encryption key not found"),
    ],
)
def test_otherwise_the_path_is_not_asked_for(engine: Engine, path: str, body: Any, message: str) -> None:
    assert answered(engine, body, message, path) != (ASKED, ["/path"])
