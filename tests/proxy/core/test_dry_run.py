"""Suggestions are tried at the API in a dry run before they are sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate, PassThrough
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.schema.exchange import Exchange, Request
from tests._support.rows import rows
from tests._support.widgets import FIX, REFUSAL, REQUEST, Api, decide, small_enough

WritePack = Callable[..., Path]
DRY = "dry_run: {query: {dryRun: All}, methods: [POST]}\n"
TEN = replace(REQUEST, body={"size": "10", "colour": "red"})
"""What a repair to 10 takes nothing from."""


@pytest.mark.parametrize("status", [200, 201])
def test_a_repair_that_the_dry_run_takes_is_verified(write_pack: WritePack, status: int) -> None:
    api = Api(lambda body: (status, body) if body["size"] == 10 else (422, REFUSAL))
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

    for silence, is_silent in (("{kind: Status}", True), ("{kind: Status, status: Failure}", False)):
        silent = DRY.replace("}\n", f", silent: {silence}}}\n")
        decision = decide(build_engine([write_pack(manifest=silent, x=FIX)]), Api(terse), TEN)
        assert isinstance(decision, Annotate)
        (suggestion,) = decision.feedback["suggestions"]
        assert suggestion["verification"] == {"status": "unverified", "method": "dry_run"}
        assert suggestion["applicability"] == "MAYBE_INCORRECT"
        assert suggestion["safety"]["changes_intent"] is not is_silent


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


@pytest.mark.parametrize(("status", "sent"), [(422, ["middle"]), (400, ["middle"]), (302, ["middle", "old"])])
def test_an_alternative_that_is_refused_is_not_sent(write_pack: WritePack, status: int, sent: list[str]) -> None:
    def judge(body: Any) -> tuple[int, Any]:
        return (status, None) if body["version"] == "v1" else judged(body)

    judged = by_version({"v2beta2": ["version", "metrics"]})
    request = replace(REQUEST, body={"version": "v2", "metrics": [80]})
    decision = decide(build_engine([write_pack(manifest=VERSIONED, x=ALTERNATIVES)]), Api(judge), request)
    assert isinstance(decision, Annotate)
    assert [s["message"] for s in decision.feedback["suggestions"]] == sent
    assert ["verification" in s for s in decision.feedback["suggestions"]] == [True, False][: len(sent)]


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


@pytest.mark.parametrize("status", [400, 422])
def test_a_repair_that_is_refused_alike_is_not_sent(write_pack: WritePack, status: int) -> None:
    api = Api(lambda body: (422 if body["size"] == 50 else status, REFUSAL))
    decision = decide(build_engine([write_pack(manifest=DRY, x=FIX)]), api)
    assert isinstance(decision, PassThrough)
    assert decision.reason == "no rule matches"


@rows(
    "judge",
    [
        lambda body: (201, {}),  # the dry run does not see what is wrong
        lambda body: (422, {"code": "OTHER", "message": "else"}) if body["size"] == 50 else (201, body),  # nor here
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


OTHER_METHOD = "{action: MODIFY_PARAMS, message: m, patch: [{op: replace, path: /method, value: \"'%s'\"}]}"


@pytest.mark.parametrize(
    ("method", "suggested"),
    [
        ("POST", f"suggest: [{OTHER_METHOD % 'PUT'}]\n"),
        ("PUT", f"suggest: [{OTHER_METHOD % 'POST'}]\n"),
        ("POST", f"{ALTERNATIVES}  - {OTHER_METHOD % 'PUT'}\n"),
    ],
)
def test_a_request_and_what_each_edit_makes_of_it_must_be_triable(
    write_pack: WritePack, method: str, suggested: str
) -> None:
    api = Api(small_enough)
    request = replace(REQUEST, method=method, body={"version": "v2", "metrics": [80]})
    decision = decide(build_engine([write_pack(manifest=DRY, x=suggested)]), api, request)
    assert isinstance(decision, Annotate)
    assert not any("verification" in one for one in decision.feedback["suggestions"])
    assert api.asked == []


@pytest.mark.parametrize(
    ("query", "tried"), [({}, True), ({"strict": "x"}, False), ({"dryRun": "x"}, False), ({"other": "x"}, True)]
)
def test_what_asks_for_a_dry_run_itself_is_not_tried(write_pack: WritePack, query: dict[str, str], tried: bool) -> None:
    api = Api(small_enough)
    manifest = DRY.replace("{dryRun: All}", "{dryRun: All, strict: 'yes'}")
    decide(build_engine([write_pack(manifest=manifest, x=FIX)]), api, replace(TEN, query=query))
    assert bool(api.asked) is tried


def test_alternatives_for_the_caller_to_choose_are_not_tried(write_pack: WritePack) -> None:
    choice = f"type: intent_disambiguation\n{FIX}"
    api = Api(small_enough)
    assert isinstance(decide(build_engine([write_pack(manifest=DRY, x=choice)]), api), Annotate)
    assert api.asked == []


def test_a_suggestion_whose_test_does_not_hold_proves_nothing(write_pack: WritePack) -> None:
    """A reader leaves it out, so a dry run that goes through with it would be a proof of something else."""
    wrong = "[{op: test, path: /body/size, value: 49}, {op: replace, path: /body/size, value: 10}]"
    rule = f"suggest: [{{action: MODIFY_PARAMS, message: m, patch: {wrong}}}]\n"
    api = Api(small_enough)
    decision = decide(build_engine([write_pack(manifest=DRY, x=rule)]), api)
    assert not isinstance(decision, Annotate) or "verification" not in decision.feedback["suggestions"][0]
    assert api.asked == []


@rows(
    ("given", "sent"),
    [
        (None, "application/json"),
        ("", "application/json"),
        ("application/json; charset=utf-8", "application/json"),
        ("application/merge-patch+json", "application/merge-patch+json"),
        ("text/json", "text/json"),
        ("application/yaml", "application/json"),
        ("text/x-yaml; a=b", "application/json"),
        ("application/apply-patch+yaml", "application/apply-patch+yaml"),
    ],
)
def test_the_media_type_of_what_is_tried(write_pack: WritePack, given: str | None, sent: str) -> None:
    api = Api(small_enough)
    headers = {} if given is None else {"content-type": given}
    decide(build_engine([write_pack(manifest=DRY, x=FIX)]), api, replace(TEN, headers=headers))
    assert [lookup.content_type for lookup in api.asked] == [sent, sent]


def choices(*versions: str, **more: str) -> str:
    return "suggest:\n- one_of:\n" + "".join(
        f"  - {{action: MODIFY_PARAMS, message: {one}, parameters: {{version: \"'{one}'\"}}{more.get(one, '')}}}\n"
        for one in versions
    )


@rows(
    ("keeps", "tried", "sent"),
    [
        ({"a": "version", "b": "version metrics"}, ["a", "b"], ["b", "a", "c", "d"]),
        ({"a": "version metrics"}, ["a"], ["a", "b", "c", "d"]),
        ({"a": "version", "d": "version metrics"}, ["a", "b", "c"], ["a", "d"]),
        ({"a": "version", "b": "version", "c": "version"}, ["a", "b", "c"], ["a", "b", "c", "d"]),
        ({"b": "version", "c": "version metrics"}, ["a", "b", "c"], ["c", "b", "d"]),
        ({"b": "version", "c": "version"}, ["a", "b", "c"], ["b", "c", "d"]),
    ],
)
def test_three_alternatives_are_tried_until_one_keeps_everything(
    write_pack: WritePack, keeps: dict[str, str], tried: list[str], sent: list[str]
) -> None:
    request = replace(REQUEST, body={"version": "v2", "metrics": [80]})
    api = Api(by_version({version: names.split() for version, names in keeps.items()}))
    decision = decide(build_engine([write_pack(manifest=VERSIONED, x=choices("a", "b", "c", "d"))]), api, request)
    assert [orjson.loads(lookup.body)["version"] for lookup in api.asked] == ["v2", *tried]
    if "a" not in keeps:
        assert isinstance(decision, Annotate)
        assert [s["message"] for s in decision.feedback["suggestions"]][: len(sent)] == sent
        return
    assert isinstance(decision, Annotate)
    assert [s["message"] for s in decision.feedback["suggestions"]] == sent


def test_only_whole_edits_are_tried(write_pack: WritePack) -> None:
    """With a step or an open value nobody would send them as they are."""
    request = replace(REQUEST, body={"version": "v2", "metrics": [80]})
    asks = ", ask: [{pointer: /body/x, schema: {}}]"
    steps = ", steps: [{method: \"'POST'\", path: \"'/widgets'\"}]"
    rule = choices("a", "b", "c", "d", b=asks, c=steps)
    api = Api(by_version({"a": ["version"]}))
    decide(build_engine([write_pack(manifest=VERSIONED, x=rule)]), api, request)
    assert [orjson.loads(lookup.body)["version"] for lookup in api.asked] == ["v2", "a", "d"]


PARTS = {
    name: f"match: {{code: {name}}}\nsuggest: [{{action: MODIFY_PARAMS, message: {name}, parameters: {{{name}: 1}}}}]\n"
    for name in ("size", "weight")
}


def refuses(*names: str) -> tuple[int, dict[str, Any]]:
    return 422, {"errors": [{"code": name, "message": f"wrong {name}"} for name in names]}


@pytest.mark.parametrize(
    ("then", "sent"),
    [
        (["weight"], ["size"]),
        (["size", "weight"], None),
        (["other"], ["size", "weight"]),
        ([], ["size", "weight"]),
    ],
)
def test_of_several_errors_those_that_come_again_lose_their_suggestions(
    write_pack: WritePack, then: list[str], sent: list[str] | None
) -> None:
    def judge(body: Any) -> tuple[int, Any]:
        return refuses("size", "weight") if body["size"] == 50 else refuses(*then) if then else (201, body)

    api = Api(judge)
    body = refuses("size", "weight")[1]
    exchange = Exchange(replace(REQUEST, body={"size": 50, "weight": 9}), 422, {}, orjson.dumps(body), "e", 1.0)
    engine = build_engine([write_pack(manifest=DRY, **PARTS)])
    decision = run_with_lookups_sync(engine.decide(exchange), api.fetch)
    assert [orjson.loads(lookup.body) for lookup in api.asked] == [
        {"size": 50, "weight": 9},
        {"size": 1, "weight": 1},
    ]
    if sent is None:
        assert isinstance(decision, PassThrough)
        return
    assert isinstance(decision, Annotate)
    assert [s["message"] for s in decision.feedback["suggestions"]] == sent
    assert all(("verification" in s) is not bool(then) for s in decision.feedback["suggestions"])


def test_an_alternative_beside_a_refuted_one_is_left(write_pack: WritePack) -> None:
    request = replace(REQUEST, body={"version": "v2", "metrics": [80]})
    api = Api(by_version({}))
    decision = decide(build_engine([write_pack(manifest=VERSIONED, x=choices("a", "b", "c", "d"))]), api, request)
    assert isinstance(decision, Annotate)
    assert [s["message"] for s in decision.feedback["suggestions"]] == ["b", "c", "d"]


@rows("status", [200, 204, 299])
@rows("answer", [b"", b"OK", b"[1]"])
def test_an_answer_that_is_no_object_verifies_nothing(write_pack: WritePack, status: int, answer: bytes) -> None:
    def fetch(lookup: Lookup) -> LookupAnswer:
        fits = orjson.loads(lookup.body)["size"] == 10
        return LookupAnswer(status, answer) if fits else LookupAnswer(422, orjson.dumps(REFUSAL))

    engine = build_engine([write_pack(manifest=DRY, x=FIX)])
    exchange = Exchange(TEN, 422, {}, orjson.dumps(REFUSAL), "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), fetch)
    assert isinstance(decision, Annotate)
    (suggestion,) = decision.feedback["suggestions"]
    assert suggestion["verification"] == {"status": "unverified", "method": "dry_run"}
    assert (suggestion["applicability"], suggestion["safety"]["changes_intent"]) == ("MAYBE_INCORRECT", False)


@pytest.mark.parametrize(("answer", "status"), [(b"", 300), (b"no JSON", 422), (b"", 199)])
def test_an_answer_that_says_nothing_refutes_nothing(write_pack: WritePack, answer: bytes, status: int) -> None:
    def fetch(lookup: Lookup) -> LookupAnswer:
        fits = orjson.loads(lookup.body)["size"] == 10
        return LookupAnswer(status, answer) if fits else LookupAnswer(422, orjson.dumps(REFUSAL))

    engine = build_engine([write_pack(manifest=DRY, x=FIX)])
    decision = run_with_lookups_sync(engine.decide(Exchange(TEN, 422, {}, orjson.dumps(REFUSAL), "e", 1.0)), fetch)
    assert isinstance(decision, Annotate)
    assert "verification" not in decision.feedback["suggestions"][0]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("suggest: [{action: MODIFY_PARAMS, message: s, ask: [{pointer: /body/size, schema: {}}]}]\n", ["s"]),
        ("type: intent_disambiguation\n" + choices("x", "y").replace("version", "size"), ["x", "y"]),
    ],
)
def test_alternatives_are_tried_beside_a_question_about_another_error(
    write_pack: WritePack, question: str, said: list[str]
) -> None:
    asks = f"match: {{code: size}}\n{question}"
    of_version = "match: {code: weight}\n" + choices("a", "b")
    api = Api(lambda body: refuses("size", "weight") if body["version"] == "v2" else refuses("size"))
    request = replace(REQUEST, body={"version": "v2", "size": 50})
    exchange = Exchange(request, 422, {}, orjson.dumps(refuses("size", "weight")[1]), "e", 1.0)
    engine = build_engine([write_pack(manifest=VERSIONED, size=asks, weight=of_version)])
    decision = run_with_lookups_sync(engine.decide(exchange), api.fetch)
    assert isinstance(decision, Annotate)
    assert [s["message"] for s in decision.feedback["suggestions"]] == [*said, "a", "b"]
    assert [orjson.loads(lookup.body)["version"] for lookup in api.asked] == ["v2", "a", "b"]


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_a_call_that_another_exchange_carries_is_not_tried(write_pack: WritePack, is_wrapped: bool) -> None:
    (profile,) = build_engine([write_pack(manifest=DRY, x=FIX)]).profiles
    adapter = replace(profile.adapter, unwrap=lambda exchange: exchange if is_wrapped else None)
    api = Api(small_enough)
    assert isinstance(decide(Engine([replace(profile, adapter=adapter)]), api, TEN), Annotate)
    assert bool(api.asked) is not is_wrapped
