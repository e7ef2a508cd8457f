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
from corrigible.schema.exchange import Request
from tests._support.widgets import FIX, REFUSAL, REQUEST, Api, decide, small_enough

WritePack = Callable[..., Path]
DRY = "dry_run: {query: {dryRun: All}, methods: [POST]}\n"
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


def test_a_suggestion_whose_test_does_not_hold_proves_nothing(write_pack: WritePack) -> None:
    """A reader leaves it out, so a dry run that goes through with it would be a proof of something else."""
    wrong = "[{op: test, path: /body/size, value: 49}, {op: replace, path: /body/size, value: 10}]"
    rule = f"suggest: [{{action: MODIFY_PARAMS, message: m, patch: {wrong}}}]\n"
    api = Api(small_enough)
    decision = decide(build_engine([write_pack(manifest=DRY, x=rule)]), api)
    assert isinstance(decision, Annotate)
    assert "verification" not in decision.feedback["suggestions"][0]
    assert api.asked == []
