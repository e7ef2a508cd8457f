"""A suggestion is held against the description and tried in a dry run before it is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from corrigible.adapters.operation import Operations
from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate, Decision, PassThrough
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Exchange, Json, Request
from corrigible.schema.feedback import parse
from corrigible.schema.writer import validate

WritePack = Callable[..., Path]
DRY = "dry_run: {query: {dryRun: All}, methods: [POST]}\n"
FIX = "suggest: [{action: MODIFY_PARAMS, message: m, parameters: {size: 10}}]\n"
REFUSAL = {"code": "TOO_LARGE", "message": "too large"}
REQUEST = Request("POST", "/widgets", {"ns": "a b"}, {"content-type": "application/json"}, {"size": 50})


class Api:
    """Answers dry runs by a function of the body."""

    def __init__(self, judge: Callable[[Any], tuple[int, Any]]) -> None:
        self.judge = judge
        self.asked: list[Lookup] = []

    def fetch(self, lookup: Lookup) -> LookupAnswer:
        self.asked.append(lookup)
        status, body = self.judge(orjson.loads(lookup.body))
        return LookupAnswer(status, orjson.dumps(body))


def decide(engine: Engine, api: Api, request: Request = REQUEST) -> Decision:
    exchange = Exchange(request, 422, {}, orjson.dumps(REFUSAL), "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), api.fetch)
    if isinstance(decision, Annotate):
        validate(parse(decision.feedback), vocabulary=decision.pack.vocabulary)
    return decision


def small_enough(body: Any) -> tuple[int, Any]:
    fits = isinstance(body["size"], int) and body["size"] <= 10
    return (201, body) if fits else (422, REFUSAL)


TEN = replace(REQUEST, body={"size": "10", "colour": "red"})
"""What a repair to 10 takes nothing from."""


def test_a_repair_that_the_dry_run_takes_is_verified(write_pack: WritePack) -> None:
    api = Api(small_enough)
    decision = decide(build_engine([write_pack(manifest=DRY, x=FIX)]), api, TEN)
    assert isinstance(decision, Annotate)
    (suggestion,) = decision.feedback["suggestions"]
    assert suggestion["verification"] == {"status": "verified", "method": "dry_run"}
    assert suggestion["applicability"] == "MACHINE_APPLICABLE"
    assert [(a.method, a.path, orjson.loads(a.body), a.content_type) for a in api.asked] == [
        ("POST", "/widgets?ns=a+b&dryRun=All", {"size": "10", "colour": "red"}, "application/json"),
        ("POST", "/widgets?ns=a+b&dryRun=All", {"size": 10, "colour": "red"}, "application/json"),
    ]


@pytest.mark.parametrize(
    ("stored", "lost"),
    [
        ({"size": 10}, ["/body/colour"]),
        ({"size": 10, "colour": "blue", "shape": "round"}, ["/body/colour"]),
        ({"size": 9, "colour": "red"}, ["/body/size"]),
    ],
)
def test_what_the_dry_run_shows_dropped_or_changed_is_lost(write_pack: WritePack, stored: Any, lost: list[str]) -> None:
    """That a server accepts a request proves nothing about the wish behind it."""

    def prunes(body: Any) -> tuple[int, Any]:
        status, answer = small_enough(body)
        return (status, stored) if status == 201 else (status, answer)

    decision = decide(build_engine([write_pack(manifest=DRY, x=FIX)]), Api(prunes), TEN)
    assert isinstance(decision, Annotate)
    (suggestion,) = decision.feedback["suggestions"]
    assert suggestion["verification"] == {"status": "unverified", "method": "dry_run"}
    assert suggestion["applicability"] == "MAYBE_INCORRECT"
    assert suggestion["safety"] == {"side_effects": "certain", "changes_intent": True, "loses": lost}


def test_an_answer_that_shows_nothing_verifies_nothing(write_pack: WritePack) -> None:
    def terse(body: Any) -> tuple[int, Any]:
        status, answer = small_enough(body)
        return (status, {"kind": "Status", "status": "Success"}) if status == 201 else (status, answer)

    silent = DRY.replace("}\n", ", silent: {kind: Status}}\n")
    decision = decide(build_engine([write_pack(manifest=silent, x=FIX)]), Api(terse), TEN)
    assert isinstance(decision, Annotate)
    (suggestion,) = decision.feedback["suggestions"]
    assert suggestion["verification"] == {"status": "unverified", "method": "dry_run"}
    assert suggestion["applicability"] == "MAYBE_INCORRECT"
    assert suggestion["safety"]["changes_intent"] is False


ALTERNATIVES = """\
suggest:
- one_of:
  - {action: MODIFY_PARAMS, message: old, parameters: {version: "'v1'"}}
  - {action: MODIFY_PARAMS, message: middle, parameters: {version: "'v2beta2'"}}
"""


def by_version(keeps: Mapping[str, Sequence[str]]) -> Callable[[Any], tuple[int, Any]]:
    """Judge as a server that has some versions, each with some members."""

    def judge(body: Any) -> tuple[int, Any]:
        known = keeps.get(body["version"])
        return (422, REFUSAL) if known is None else (201, {name: body[name] for name in known})

    return judge


VERSIONED = DRY.replace("}\n", ", version: version}\n")


def test_of_alternatives_the_one_that_keeps_everything_goes_first(write_pack: WritePack) -> None:
    request = replace(REQUEST, body={"version": "v2", "metrics": [80]})
    api = Api(by_version({"v1": ["version"], "v2beta2": ["version", "metrics"]}))
    decision = decide(build_engine([write_pack(manifest=VERSIONED, x=ALTERNATIVES)]), api, request)
    assert isinstance(decision, Annotate)
    best, other = decision.feedback["suggestions"]
    assert (best["message"], best["applicability"]) == ("middle", "MACHINE_APPLICABLE")
    assert best["verification"] == {"status": "verified", "method": "dry_run"}
    assert best["safety"] == {"side_effects": "certain", "changes_intent": False}
    assert other["safety"]["loses"] == ["/body/metrics/0", "/body/version"]
    assert other["verification"]["status"] == "unverified"


def test_another_version_that_nobody_tried_is_a_change(write_pack: WritePack) -> None:
    request = replace(REQUEST, body={"version": "v2", "metrics": [80]})
    decision = decide(build_engine([write_pack(x=ALTERNATIVES)]), Api(small_enough), request)
    assert isinstance(decision, Annotate)
    assert [s["safety"]["loses"] for s in decision.feedback["suggestions"]] == [["/body/version"]] * 2


def test_an_alternative_that_is_refused_is_not_sent(write_pack: WritePack) -> None:
    request = replace(REQUEST, body={"version": "v2", "metrics": [80]})
    api = Api(by_version({"v2beta2": ["version", "metrics"]}))
    decision = decide(build_engine([write_pack(manifest=VERSIONED, x=ALTERNATIVES)]), api, request)
    assert isinstance(decision, Annotate)
    assert [s["message"] for s in decision.feedback["suggestions"]] == ["middle"]


def test_verified_and_changing_what_was_asked_for_is_still_not_for_machines(write_pack: WritePack) -> None:
    flagged = FIX.replace("message: m", "message: m, changes_intent: true")
    decision = decide(build_engine([write_pack(manifest=DRY, x=flagged)]), Api(small_enough))
    assert isinstance(decision, Annotate)
    (suggestion,) = decision.feedback["suggestions"]
    assert (suggestion["verification"]["status"], suggestion["applicability"]) == ("verified", "MAYBE_INCORRECT")


def test_verified_and_to_be_confirmed_is_still_not_for_machines(write_pack: WritePack) -> None:
    flagged = FIX.replace("message: m", "message: m, requires_confirmation: true")
    decision = decide(build_engine([write_pack(manifest=DRY, x=flagged)]), Api(small_enough), TEN)
    assert isinstance(decision, Annotate)
    (suggestion,) = decision.feedback["suggestions"]
    assert (suggestion["verification"]["status"], suggestion["applicability"]) == ("verified", "MAYBE_INCORRECT")
    assert suggestion["safety"]["changes_intent"] is False


def test_a_repair_that_is_refused_alike_is_not_sent(write_pack: WritePack) -> None:
    decision = decide(build_engine([write_pack(manifest=DRY, x=FIX)]), Api(lambda body: (422, REFUSAL)))
    assert isinstance(decision, PassThrough)
    assert decision.reason == "no rule speaks"


@pytest.mark.parametrize(
    "judge",
    [
        lambda body: (201, {}),  # the dry run does not see what is wrong
        lambda body: (0, None),
        lambda body: (409, REFUSAL) if body["size"] > 10 else (201, body),  # another status: another refusal
        lambda body: (422, REFUSAL) if body["size"] > 10 else (409, {"code": "OTHER", "message": "else"}),
        lambda body: (403, {"code": "DENIED", "message": "no dry run for you"}),
    ],
)
def test_a_dry_run_that_proves_nothing_changes_nothing(write_pack: WritePack, judge: Any) -> None:
    decision = decide(build_engine([write_pack(manifest=DRY, x=FIX)]), Api(judge))
    assert isinstance(decision, Annotate)
    (suggestion,) = decision.feedback["suggestions"]
    assert ("verification" in suggestion, suggestion["applicability"]) == (False, "MAYBE_INCORRECT")


@pytest.mark.parametrize(
    "request_",
    [
        replace(REQUEST, method="DELETE"),
        replace(REQUEST, query={"dryRun": "All"}),
        replace(REQUEST, form=True, body={"size": "50"}),
    ],
)
def test_what_cannot_be_tried_is_not(write_pack: WritePack, request_: Request) -> None:
    api = Api(small_enough)
    assert isinstance(decide(build_engine([write_pack(manifest=DRY, x=FIX)]), api, request_), Annotate)
    assert api.asked == []


def test_alternatives_for_the_caller_to_choose_are_not_tried(write_pack: WritePack) -> None:
    choice = f"type: intent_disambiguation\n{FIX}"
    api = Api(small_enough)
    assert isinstance(decide(build_engine([write_pack(manifest=DRY, x=choice)]), api), Annotate)
    assert api.asked == []


class Description:
    """Widgets have a size from 1 to 10 and a colour."""

    operations = Operations({"POST /widgets": "CreateWidget"})

    def schema_violations(self, request: Request, operation: str, at: str = "") -> Sequence[SchemaViolation]:
        body = request.body if isinstance(request.body, Mapping) else {}
        out = []
        if "size" not in body:
            out.append(SchemaViolation("/body/size", "required", {"type": "integer"}))
        if body.get("size", 1) > 10:
            out.append(SchemaViolation("/body/size", "maximum", {"type": "integer", "maximum": 10}, body["size"]))
        if body.get("colour", "red") not in ("red", "blue"):
            out.append(
                SchemaViolation("/body/colour", "enum", {"type": "string", "enum": ["red", "blue"]}, body["colour"])
            )
        return [violation for violation in out if not at or violation.pointer == at]

    def nearest_operation(self, method: str, path: str) -> SchemaViolation | None:
        return None

    def facts(self, operation: str) -> Json:
        return {"required": [], "properties": {"size": {"type": "integer", "maximum": 10}}}


def described(folder: Path) -> Engine:
    engine = build_engine([folder])
    (known,) = engine.profiles
    adapter = replace(known.adapter, operations=Description.operations)
    return Engine([replace(known, adapter=adapter, description=Description())])


def test_what_the_description_refutes_is_not_sent(write_pack: WritePack) -> None:
    wrong = "suggest: [{action: MODIFY_PARAMS, message: m, parameters: {colour: \"'green'\"}}]\n"
    decision = decide(described(write_pack(x=wrong)), Api(small_enough))
    # The rule is refuted, so the description itself speaks about what it sees.
    assert isinstance(decision, Annotate)
    assert decision.rules == ("the description",)
    assert decision.feedback["suggestions"][0]["parameters"] == {"size": 10}


def test_what_belongs_together_goes_with_the_part_that_is_refuted(write_pack: WritePack) -> None:
    both = [
        {"action": "MODIFY_PARAMS", "message": "m", "parameters": one} for one in ({"size": 9}, {"colour": "'green'"})
    ]
    decision = decide(
        described(write_pack(x=f"suggest: [{{all: {orjson.dumps(both).decode()}}}]\n")), Api(small_enough)
    )
    assert isinstance(decision, Annotate)
    assert decision.rules == ("the description",)


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


@pytest.mark.parametrize(("path", "sent"), [("/widget", True), ("/widgets", False)])
def test_what_is_missing_besides_does_not_refute_a_path(write_pack: WritePack, path: str, sent: bool) -> None:
    rule = (
        "suggest: [{action: USE_ALTERNATIVE_ENDPOINT, message: m, patch: "
        "[{op: replace, path: /path, value: \"'/widgets'\"}, {op: remove, path: /body/size}]}]\n"
    )
    request = replace(REQUEST, path=path, body={"size": 5})
    decision = decide(described(write_pack(x=rule)), Api(small_enough), request)
    assert isinstance(decision, Annotate) is sent


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


def test_a_suggestion_whose_test_does_not_hold_proves_nothing(write_pack: WritePack) -> None:
    """A reader leaves it out, so a dry run that goes through with it would be a proof of something else."""
    wrong = "[{op: test, path: /body/size, value: 49}, {op: replace, path: /body/size, value: 10}]"
    rule = f"suggest: [{{action: MODIFY_PARAMS, message: m, patch: {wrong}}}]\n"
    api = Api(small_enough)
    decision = decide(build_engine([write_pack(manifest=DRY, x=rule)]), api)
    assert isinstance(decision, Annotate)
    assert "verification" not in decision.feedback["suggestions"][0]
    assert api.asked == []
