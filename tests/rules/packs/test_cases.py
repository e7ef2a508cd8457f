"""The cases of all packs: each holds, and loses no value unsaid, by a judge that shares no code with who edits."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from corrigible.conformance.validators.intent import lost_values
from corrigible.proxy.core.api_profile import ApiProfile
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.pack_tools import lint
from corrigible.proxy.pack_tools.lint import PackResult, evaluate_rules, run_cases
from corrigible.rules.language.rule import TERMINAL
from corrigible.rules.pack.cases import Case
from corrigible.rules.pack.load import built_in
from corrigible.schema.edit import after_edit
from corrigible.schema.exchange import Request

FEWEST = {"acme": 70, "github": 400, "http": 25, "kubernetes": 400, "recipe": 30, "stripe": 350}
"""Fewer would mean that cases were lost."""

EXTRA = {"note-of-the-caller": {"kept": ["yesterday", 4711, True]}}
"""Members that no rule knows: whatever is repaired, they stay."""

SHOWN = {("priority-given", "/body/spec/priority")}
"""What is replaced by what a look-up shows to be the same: that judge sees no look-ups."""


class Evaluated(NamedTuple):
    """The cases of a pack, evaluated once for all that is asked of them."""

    result: PackResult
    profile: ApiProfile
    speaking: list[tuple[Case, list[tuple[dict[str, Any], Request]]]]
    """The cases that expect feedback, with the edits that the whole pack suggests."""


@pytest.fixture(params=sorted(built_in()))
def pack(request: pytest.FixtureRequest) -> Evaluated:
    return evaluated(request.param)


@functools.cache
def evaluated(name: str) -> Evaluated:
    profiles: list[ApiProfile] = []
    speaking: dict[int, tuple[Case, list[tuple[dict[str, Any], Request]]]] = {}

    def noted(profile: ApiProfile, rules: Any, case: Case, *more: Any, **named: Any) -> Annotate | str | None:
        said = evaluate_rules(profile, rules, case, *more, **named)
        profiles.append(profile)
        if rules is profile.pack.rules and not case.text.no_match:
            speaking[id(case)] = case, list(edits(said, case))
        return said

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lint, "evaluate_rules", noted)
        result = run_cases(name)
    return Evaluated(result, profiles[0], list(speaking.values()))


def edits(said: Annotate | str | None, case: Case) -> Iterator[tuple[dict[str, Any], Request]]:
    """Yield what is suggested for a case, and the request after it."""
    for suggestion in said.feedback["suggestions"] if isinstance(said, Annotate) else ():
        edited = suggestion.get("patch") or suggestion.get("parameters")
        if edited and suggestion.get("base_action", suggestion["action"]) not in TERMINAL:
            after = after_edit(suggestion, case.exchange.request)
            if after is not None:
                yield suggestion, after


def test_every_case_holds(pack: Evaluated) -> None:
    result = pack.result
    assert [str(one) for one in result.problems] == []
    assert [(one.case.rule, one.case.text.name, one.failures) for one in result.cases if one.failures] == []
    assert result.passed == len(result.cases) > FEWEST.get(pack.profile.pack.name, 0)
    assert len(pack.speaking) == sum(not one.case.text.no_match for one in result.cases)


@pytest.mark.slow
def test_no_case_of_a_pack_loses_anything_unsaid(pack: Evaluated) -> None:
    known = pack.profile.pack
    tried = 0
    for case, suggested in pack.speaking:
        for suggestion, after in suggested:
            tried += 1
            said = suggestion["safety"].get("loses", [])
            gone = lost_values(case.exchange.request.document(), after.document())
            gone = [one for one in gone if (case.rule, one) not in SHOWN]
            gone = [one for one in gone if one.rpartition("/")[2] not in known.settings.tokens]
            unsaid = [one for one in gone if not any(one == p or one.startswith(f"{p}/") for p in said)]
            assert not unsaid or suggestion["safety"]["changes_intent"], (case.place, case.text.name, unsaid)
    assert tried or known.name == "grpc"  # it edits no request


@pytest.mark.slow
def test_what_no_rule_knows_stays_where_it_is(pack: Evaluated) -> None:
    """Of the cases whose request is not edited a quarter is asked: hardly one is edited then."""
    known = pack.profile
    tried = 0
    others = [case for case, suggested in pack.speaking if not suggested]
    for case in [*(case for case, suggested in pack.speaking if suggested), *others[::4]]:
        body = case.exchange.request.body
        if not isinstance(body, dict):
            continue
        more = replace(case.exchange.request, body={**copy.deepcopy(body), **EXTRA})
        case = replace(case, exchange=replace(case.exchange, request=more))
        for suggestion, after in edits(evaluate_rules(known, known.pack.rules, case), case):
            tried += 1
            kept = not any("note-of-the-caller" in one for one in lost_values(more.document(), after.document()))
            named = any("note-of-the-caller" in p or p == "/body" for p in suggestion["safety"].get("loses", ()))
            assert kept or (named and suggestion["safety"]["changes_intent"]), (case.place, case.text.name)
    assert tried or known.pack.name in ("grpc", "http", "slack")  # these edit no body
