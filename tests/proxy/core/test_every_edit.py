"""Over the cases of all packs: no value is lost unsaid, by a judge that shares no code with who computes it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from corrigible.conformance.validators.intent import lost_values
from corrigible.proxy.core.api_profile import ApiProfile
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.pack_tools.lint import evaluate_rules
from corrigible.rules.language.rule import TERMINAL
from corrigible.rules.pack.cases import Case, load_cases
from corrigible.rules.pack.load import built_in, rule_files
from corrigible.schema.edit import after_edit
from corrigible.schema.exchange import Request
from tests._support.built_in_packs import profile_of

EXTRA = {"note-of-the-caller": {"kept": ["yesterday", 4711, True]}}
"""Members that no rule knows: whatever is repaired, they stay."""

SHOWN = {("priority-given", "/body/spec/priority")}
"""What is replaced by what a look-up shows to be the same: that judge sees no look-ups."""


def edits(known: ApiProfile, case: Case) -> Iterator[tuple[dict[str, Any], Request]]:
    """Yield what is suggested for a case, and the request after it."""
    said = evaluate_rules(known, known.pack.rules, case)
    for suggestion in said.feedback["suggestions"] if isinstance(said, Annotate) else ():
        edited = suggestion.get("patch") or suggestion.get("parameters")
        if edited and suggestion.get("base_action", suggestion["action"]) not in TERMINAL:
            after = after_edit(suggestion, case.exchange.request)
            if after is not None:
                yield suggestion, after


def speaking(known: ApiProfile) -> Iterator[Case]:
    for file in rule_files(known.pack.path):
        yield from (case for case in load_cases(file) if not case.text.no_match)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(built_in()))
def test_no_case_of_a_pack_loses_anything_unsaid(name: str) -> None:
    known = profile_of(name)
    tried = 0
    for case in speaking(known):
        for suggestion, after in edits(known, case):
            tried += 1
            said = suggestion["safety"].get("loses", [])
            gone = lost_values(case.exchange.request.document(), after.document())
            gone = [one for one in gone if (case.rule, one) not in SHOWN]
            gone = [one for one in gone if one.rpartition("/")[2] not in known.pack.settings.tokens]
            unsaid = [one for one in gone if not any(one == p or one.startswith(f"{p}/") for p in said)]
            assert not unsaid or suggestion["safety"]["changes_intent"], (case.place, case.text.name, unsaid)
    assert tried or name == "grpc"  # it edits no request


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(built_in()))
def test_what_no_rule_knows_stays_where_it_is(name: str) -> None:
    known = profile_of(name)
    tried = 0
    for case in speaking(known):
        body = case.exchange.request.body
        if not isinstance(body, dict):
            continue
        more = replace(case.exchange.request, body={**copy.deepcopy(body), **EXTRA})
        for suggestion, after in edits(known, replace(case, exchange=replace(case.exchange, request=more))):
            tried += 1
            kept = not any("note-of-the-caller" in one for one in lost_values(more.document(), after.document()))
            named = any("note-of-the-caller" in p or p == "/body" for p in suggestion["safety"].get("loses", ()))
            assert kept or (named and suggestion["safety"]["changes_intent"]), (case.place, case.text.name)
    assert tried or name in ("grpc", "http", "slack")  # these edit no body
