"""What only the answer states is told as that: the description neither says nor verifies it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from corrigible.proxy.build import load_profiles
from corrigible.proxy.core.api_profile import Explanation
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Exchange, Request
from corrigible.schema.feedback import parse

DESCRIPTION = """
openapi: 3.0.3
info: {title: Shop, version: '1'}
paths:
  /orders:
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              properties:
                size: {type: string, enum: [small, large]}
                count: {type: integer, maximum: 100}
                colour: {type: string}
      responses: {'201': {description: made}}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    path: Path = tmp_path_factory.mktemp("spec") / "shop.yaml"
    path.write_text(DESCRIPTION, "utf-8")
    return Engine(load_profiles([], path))


def suggestion(engine: Engine, body: Any, field: str, message: str) -> tuple[dict[str, Any], Annotate]:
    answer = orjson.dumps({"errors": [{"field": field, "message": message}]})
    exchange = Exchange(Request("POST", "/orders", body=body), 422, {"content-type": "application/json"}, answer)
    decision = run_with_lookups_sync(engine.decide(exchange, Explanation()), lambda _: LookupAnswer(0))
    assert isinstance(decision, Annotate)
    parse(decision.feedback)
    return decision.feedback["suggestions"][0], decision


@pytest.mark.parametrize(
    ("body", "field", "message", "value"),
    [
        ({"size": "midium"}, "size", "must be one of: small, medium, large", "medium"),  # the description refuses it
        ({"count": 80}, "count", "must be less than or equal to 50", 50),  # the description takes both
        (
            {"count": 150},
            "count",
            "must be less than or equal to 50",
            50,
        ),  # it refuses the one, and gives another limit
        ({"colour": "gren"}, "colour", "must be one of: red, green", "green"),  # it says nothing about it
    ],
)
def test_what_the_answer_states(engine: Engine, body: Any, field: str, message: str, value: Any) -> None:
    one, decision = suggestion(engine, body, field, message)
    assert one["patch"][-1]["value"] == value
    assert one["evidence"] == {"kind": "answer", "pointer": f"/body/{field}"}
    assert "verification" not in one
    assert one["message"].endswith(" The server's error says so.")
    assert decision.rules == ("the error",)


@pytest.mark.parametrize(
    ("body", "field", "message", "value"),
    [
        ({"size": "larg"}, "size", "must be one of: small, large", "large"),
        ({"count": 150}, "count", "must be less than or equal to 100", 100),
        ({"size": "larg"}, "size", "is not allowed", "large"),
    ],
)
def test_what_the_description_says_as_well(engine: Engine, body: Any, field: str, message: str, value: Any) -> None:
    one, decision = suggestion(engine, body, field, message)
    assert one["patch"][-1]["value"] == value
    assert (one["evidence"]["kind"], one["verification"]) == ("spec", {"status": "verified", "method": "schema"})
    assert decision.rules == ("the description",)


def test_a_question_of_the_answer_says_so_too(engine: Engine) -> None:
    one, _ = suggestion(engine, {"size": "x"}, "size", "must be one of: small, medium, large")
    assert (one["applicability"], one["evidence"]["kind"]) == ("HAS_PLACEHOLDERS", "answer")
    assert one["message"] == "Choose one of the values that are allowed. The server's error says so."
