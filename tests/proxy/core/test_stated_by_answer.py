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
  /{shelf}/books:
    parameters: [{name: shelf, in: path, required: true, schema: {type: string}}]
    get: {responses: {'200': {description: all}}}
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


@pytest.mark.parametrize(("sent", "meant"), [("tpo", "/top/books"), ("Top", "/top/books"), ("attic", None)])
def test_what_is_listed_for_a_segment_of_the_path_is_offered(engine: Engine, sent: str, meant: str | None) -> None:
    answer = orjson.dumps({"detail": f"Unknown shelf {sent} (available shelves: ['top', 'low', 'oversize'])"})
    exchange = Exchange(Request("GET", f"/{sent}/books"), 400, {"content-type": "application/json"}, answer)
    decision = run_with_lookups_sync(engine.decide(exchange), lambda _: LookupAnswer(0))
    assert isinstance(decision, Annotate)
    (one,) = decision.feedback["suggestions"]
    if meant is None:
        assert one["placeholders"][0]["schema"]["enum"] == ["/top/books", "/low/books", "/oversize/books"]
    else:
        assert one["patch"][-1] == {"op": "replace", "path": "/path", "value": meant}
        assert one["safety"]["requires_confirmation"] is True


def test_a_label_that_a_text_lists_is_offered_as_an_identifier_too(engine: Engine) -> None:
    (one, decision) = suggestion(engine, {"colour": "gren"}, "colour", "choose one of: Blue, Red, Green")
    values = [each["patch"][-1]["value"] for each in decision.feedback["suggestions"]]
    assert values == ["Green", "green"] and one["group"]["relation"] == "one_of"
    (one, _) = suggestion(engine, {"colour": "red"}, "colour", "choose one of: Blue, Red, Green")
    assert one["patch"][-1]["value"] == "Red"


def test_a_wrong_form_is_no_missing_member(engine: Engine) -> None:
    answer = orjson.dumps({"detail": 'Validation failed for field "colour". Value doesn\'t have the correct format.'})
    exchange = Exchange(Request("POST", "/orders", body={"colour": "x"}), 400, {}, answer)
    decision = run_with_lookups_sync(engine.decide(exchange), lambda _: LookupAnswer(0))
    assert isinstance(decision, Annotate)
    assert [one["pointer"] for one in decision.feedback["suggestions"][0]["placeholders"]] == ["/body/colour"]
