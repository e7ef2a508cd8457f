"""For each error the rules are asked first, then the description, last of all the rules of last resort."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.api_profile import Explanation
from corrigible.proxy.core.decision import Annotate, Decision, PassThrough
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.budget import spend
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Exchange, Request
from tests._support.by_description import engine_of, feedback_about
from tests._support.widgets import FIX, REFUSAL, REQUEST, Api, Description, decide, described, small_enough

WritePack = Callable[..., Path]


def test_a_rule_goes_before_the_description(write_pack: WritePack) -> None:
    decision = decide(described(write_pack(x=FIX)), Api(small_enough))
    assert isinstance(decision, Annotate)
    assert decision.rules == ("apex.x",)


def test_a_place_that_the_description_settled_is_put_to_no_last_rule(write_pack: WritePack) -> None:
    last = "priority: -5\nsuggest: [{action: MODIFY_PARAMS, message: m, ask: [{pointer: /body/size, schema: {}}]}]\n"
    body = {"errors": [{"field": "size", "code": one, "message": "size is wrong"} for one in ("type", "enum")]}
    exchange = Exchange(REQUEST, 422, {}, orjson.dumps(body), "e", 1.0)
    decision = run_with_lookups_sync(described(write_pack(x=last)).decide(exchange), Api(small_enough).fetch)
    assert isinstance(decision, Annotate)
    assert decision.rules == ("the description",)


def test_the_description_gives_its_edits_a_fresh_key(write_pack: WritePack) -> None:
    folder = write_pack(manifest="idempotency_header: Idempotency-Key\n", x=f"match: {{code: NEVER}}\n{FIX}")
    request = replace(REQUEST, headers={"idempotency-key": "k"})
    decision = decide(described(folder), Api(small_enough), request)
    assert isinstance(decision, Annotate)
    assert decision.feedback["retry"] == {"same_request": False, "idempotency_key": "new"}
    last = decision.feedback["suggestions"][0]["patch"][-1]
    assert (last["op"], last["path"], last["value"] != "k") == ("replace", "/headers/idempotency-key", True)


def test_facts_of_the_description_are_spec(write_pack: WritePack) -> None:
    rule = "suggest: [{action: MODIFY_PARAMS, message: m, parameters: {size: spec.properties.size.maximum - 1}}]\n"
    decision = decide(described(write_pack(x=rule)), Api(small_enough))
    assert isinstance(decision, Annotate)
    assert decision.feedback["suggestions"][0]["parameters"] == {"size": 9}


def test_each_place_is_repaired_once(write_pack: WritePack) -> None:
    body = {"errors": [{"message": "wrong"}, {"field": "size", "message": "too large"}, {"message": "wrong"}]}
    request = replace(REQUEST, body={"size": 50, "colour": "rde"})
    decision = run_with_lookups_sync(
        described(write_pack(x=f"match: {{code: NEVER}}\n{FIX}")).decide(
            Exchange(request, 422, {}, orjson.dumps(body), "e", 1.0)
        ),
        Api(small_enough).fetch,
    )
    assert isinstance(decision, Annotate)
    assert [one["parameters"] for one in decision.feedback["suggestions"]] == [{"colour": "red"}, {"size": 10}]
    assert len(decision.diagnoses) == 2


def test_what_an_error_before_settled_hides_no_other_mistake(write_pack: WritePack) -> None:
    body = {"errors": [{"field": "size", "message": "too large"}, {"message": "wrong"}]}
    request = replace(REQUEST, body={"size": 50, "colour": "rde"})
    exchange = Exchange(request, 422, {}, orjson.dumps(body), "e", 1.0)
    engine = described(write_pack(x=f"match: {{code: NEVER}}\n{FIX}"))
    decision = run_with_lookups_sync(engine.decide(exchange), Api(small_enough).fetch)
    assert isinstance(decision, Annotate)
    assert [one["parameters"] for one in decision.feedback["suggestions"]] == [{"size": 10}, {"colour": "red"}]


class Strict(Description):
    """Allows no value over 1; takes steps to validate what an edit makes of a request."""

    def __init__(self, steps: int = 0) -> None:
        self.steps = steps

    def schema_violations(self, request: Request, operation: str, at: str = "") -> Sequence[SchemaViolation]:
        body = request.body if isinstance(request.body, dict) else {}
        wrong = [f"/body/{name}" for name, value in body.items() if value > 1]
        spend(self.steps if len(wrong) < len(body) else 0)
        return [SchemaViolation(place, "maximum", {"maximum": 1}, 2) for place in wrong if at in ("", place)]


def strictly(write_pack: WritePack, steps: int, members: int) -> tuple[Decision, list[str]]:
    """Return the decision about a request with so many mistakes, and what is explained of the description."""
    (profile,) = described(write_pack(x=f"match: {{code: NEVER}}\n{FIX}")).profiles
    engine = Engine([replace(profile, description=Strict(steps))])
    request = replace(REQUEST, body={f"m{n}": 2 for n in range(members)})
    exchange, explanation = Exchange(request, 422, {}, orjson.dumps(REFUSAL), "e", 1.0), Explanation()
    decision = run_with_lookups_sync(engine.decide(exchange, explanation), Api(small_enough).fetch)
    return decision, [line for line in explanation.lines if line.startswith("the description")]


def test_of_many_mistakes_so_many_are_looked_at(write_pack: WritePack) -> None:
    assert len(strictly(write_pack, 0, 40)[1]) == 32


@pytest.mark.parametrize(("steps", "suggestions"), [(100, 3), (12_000, 1)])
def test_what_was_repaired_before_the_steps_ended_is_told(write_pack: WritePack, steps: int, suggestions: int) -> None:
    decision, _ = strictly(write_pack, steps, 3)
    assert isinstance(decision, Annotate)
    assert len(decision.feedback["suggestions"]) == suggestions


def test_where_the_steps_end_before_the_first_repair_the_answer_passes(write_pack: WritePack) -> None:
    decision, _ = strictly(write_pack, 25_000, 3)
    assert isinstance(decision, PassThrough)
    assert decision.fault


def test_the_explanation_names_what_the_description_says(write_pack: WritePack) -> None:
    wrong = "priority: 1\nsuggest: [{action: MODIFY_PARAMS, message: m, parameters: {colour: \"'green'\"}}]\n"
    folder = write_pack(wrong=wrong, last=f"priority: -1\nwhen: false\n{FIX}")
    explanation = Explanation()
    exchange = Exchange(REQUEST, 422, {}, orjson.dumps(REFUSAL), "e", 1.0)
    run_with_lookups_sync(described(folder).decide(exchange, explanation), Api(small_enough).fetch)
    assert explanation.lines[0] == "apex.wrong: dropped: violates the description"
    assert [line for line in explanation.lines if line.startswith("the description")] == [
        "the description: maximum at /body/size: repaired"
    ]
    assert not [line for line in explanation.lines if line.startswith("apex.last")]


def test_facts_of_the_adapter_go_before_those_of_the_description(write_pack: WritePack) -> None:
    rule = "suggest: [{action: MODIFY_PARAMS, message: m, parameters: {size: spec.size}}]\n"
    engine = described(write_pack(x=rule))
    (profile,) = engine.profiles
    adapter = replace(profile.adapter, facts=lambda operation: {"size": len(operation)})
    engine = Engine([replace(profile, adapter=adapter)])
    decision = decide(engine, Api(small_enough), replace(REQUEST, body={"size": 1}))
    assert isinstance(decision, Annotate) is False, "12 is over the maximum"
    adapter = replace(profile.adapter, facts=lambda operation: {"size": 7})
    decision = decide(
        Engine([replace(profile, adapter=adapter)]), Api(small_enough), replace(REQUEST, body={"size": 1})
    )
    assert isinstance(decision, Annotate)
    assert decision.feedback["suggestions"][0]["parameters"] == {"size": 7}


SCOPE = """\
suggest:
- action: MODIFY_PARAMS
  message: m
  patch: [{op: add, path: /body/seen, value:
    "[body.size, query.ns, headers['content-type'], request.method, request.path, request.query.ns,
      request.headers['content-type'], request.body.size, response.status, response.headers['x-a'],
      response.body.code, error.code, errors.map(e, e.number)[0], params, operation,
      exchange.id, exchange.started, exchange.elapsed, tables]"}]
"""


def test_what_expressions_see(write_pack: WritePack) -> None:
    engine = build_engine([write_pack(manifest="operations: {'POST /{kind}': Make}\n", x=SCOPE)])
    exchange = Exchange(REQUEST, 422, {"x-a": "b"}, orjson.dumps(REFUSAL), "e", 1.0, 0.5)
    decision = run_with_lookups_sync(engine.decide(exchange), Api(small_enough).fetch)
    assert isinstance(decision, Annotate), decision
    assert decision.feedback["suggestions"][0]["patch"][-1]["value"] == [
        *(50, "a b", "application/json", "POST", "/widgets", "a b", "application/json", 50, 422, "b"),
        *("TOO_LARGE", "TOO_LARGE", 0, {"kind": "widgets"}, "Make", "e", 1.0, 0.5, {}),
    ]


def test_a_request_without_a_key_is_given_none(write_pack: WritePack) -> None:
    folder = write_pack(manifest="idempotency_header: Idempotency-Key\n", x=f"match: {{code: NEVER}}\n{FIX}")
    decision = decide(described(folder), Api(small_enough))
    assert isinstance(decision, Annotate)
    assert "retry" not in decision.feedback
    assert [op["path"] for op in decision.feedback["suggestions"][0]["patch"]] == ["/body/size"] * 2


ORDERS = """
openapi: 3.0.3
info: {title: t, version: '1'}
paths:
  /orders:
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [name, note]
              properties:
                name: {type: string}
                note: {type: string}
                colour: {type: string, enum: [red, green]}
"""


def test_what_the_server_itself_allows_is_not_refuted_by_the_description(tmp_path: Path) -> None:
    body = {"name": "n", "note": "n", "colour": "red"}
    request = Request("POST", "/orders", headers={"content-type": "application/json"}, body=body)
    answer = {"errors": [{"field": "colour", "message": "must be one of: green, reed"}]}
    feedback = feedback_about(engine_of(tmp_path, ORDERS), request, 422, answer)
    assert feedback is not None
    assert feedback["suggestions"][0]["patch"][-1] == {"op": "replace", "path": "/body/colour", "value": "reed"}
