"""The Kubernetes pack as a whole: its cases hold, and it keeps away from what only a person may do."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.pack_tools.lint import evaluate_rules
from corrigible.rules.language.expression import Expression
from corrigible.rules.language.rule import TERMINAL, Rule, SuggestionLoop, SuggestionSpec
from corrigible.rules.lookup import allowed
from corrigible.rules.pack.cases import load_cases
from corrigible.rules.pack.load import Pack, rule_files
from tests._support.built_in_packs import pack_of, profile_of
from tests._support.rows import rows
from tests._support.rule_entries import says


@pytest.fixture(scope="module")
def pack() -> Pack:
    return pack_of("kubernetes")


def said_by(pack: Pack, name: str) -> list[SuggestionSpec]:
    (rule,) = [rule for rule in pack.rules if rule.id == f"kubernetes.{name}"]
    return [say for entry in rule.entries for say in says(entry)]


def written(rule: Rule) -> str:
    """Return all that the patches and steps of a rule write, as text."""
    out = []
    for say in (say for entry in rule.entries for say in says(entry)):
        edits = [] if say.edits is None else [say.edits] if isinstance(say.edits, Expression) else list(say.edits)
        out += [edit.text if isinstance(edit, Expression) else f"{edit.path} {edit.value}" for edit in edits]
        changes = [] if say.changes is None else [say.changes] if isinstance(say.changes, Expression) else say.changes
        for change in changes:
            parts = [change] if isinstance(change, Expression) else change
            out += [part.expanded if isinstance(part, Expression) else str(part) for part in parts]
        out += [str(step) for step in say.steps]
    return " ".join(out)


@rows(
    "name",
    [
        "apply-conflict",
        "eviction-two-budgets",
        "forbidden",
        "immutable-field",
        "namespace-terminating",
        "permission-escalation",
        "permission-missing",
        "too-large",
        "unauthorized",
        "webhook-unreachable",
    ],
)
def test_what_only_a_person_may_do_ends_the_matter(pack: Pack, name: str) -> None:
    assert {say.base_action for say in said_by(pack, name)} <= TERMINAL


@rows(
    "name", ["limit-range", "node-port-unavailable", "number-out-of-range", "priority-too-high", "quota-exceeded",
             "requests-exceed-limits"]
)  # fmt: skip
def test_another_amount_than_asked_is_flagged(pack: Pack, name: str) -> None:
    edits = [say for say in said_by(pack, name) if say.edits is not None or say.changes is not None]
    assert edits != []
    assert all(say.changes_intent for say in edits)


def test_nothing_is_taken_over_by_force_or_deleted(pack: Pack) -> None:
    texts = {rule.id: written(rule) for rule in pack.rules}
    assert [name for name, text in texts.items() if "/query/force" in text or "DELETE" in text] == []


@pytest.mark.parametrize("path", ["/api/v1/secrets", "/api/v1/namespaces/t/secrets", "/api/v1/namespaces/t/secrets/s"])
def test_no_secret_is_looked_up(pack: Pack, path: str) -> None:
    assert allowed(path, pack.settings.lookups) is None


def test_an_object_nobody_names_is_only_offered(pack: Pack) -> None:
    """A near name of an object that exists is a choice, never a repair."""
    for name in ("namespace-not-found", "not-found", "referenced-class-unknown", "service-account-unknown"):
        (rule,) = [rule for rule in pack.rules if rule.id == f"kubernetes.{name}"]
        assert any(isinstance(entry, SuggestionLoop) for entry in rule.entries)
        for entry in rule.entries:
            if isinstance(entry, SuggestionLoop):
                assert (entry.type, entry.member.changes_intent) == ("intent_disambiguation", True)
            elif isinstance(entry, SuggestionSpec):
                assert entry.edits is None and entry.changes is None


def test_no_value_of_a_secret_is_repeated() -> None:
    known = profile_of("kubernetes")
    rules = {rule.id.partition(".")[2]: rule for rule in known.pack.rules}
    seen = 0
    for file in rule_files(known.pack.path):
        for case in load_cases(file):
            body = case.exchange.request.body
            if "/secrets" not in case.exchange.request.path or not isinstance(body, dict) or case.text.no_match:
                continue
            values = [str(v) for v in (body.get("data") or {}).values() if isinstance(v, str) and len(v) > 3]
            said = evaluate_rules(known, (rules[case.rule],), case)
            assert isinstance(said, Annotate)
            assert [value for value in values if f'"{value}"'.encode() in said.encoded] == []
            seen += bool(values)
    assert seen > 2


@pytest.mark.parametrize(("length", "answer"), [(16, b'"value":16}'), (17, b'"placeholders"')])
def test_more_changes_than_one_answer_holds_are_asked_for(length: int, answer: bytes) -> None:
    profile = profile_of("kubernetes")
    (rule,) = [rule for rule in profile.pack.rules if rule.id == "kubernetes.type-mismatch"]
    cases = load_cases(profile.pack.path / "type-mismatch.yaml")
    (case,) = [case for case in cases if case.text.name == "every element of a long list"]
    body = copy.deepcopy(case.exchange.request.body)
    assert isinstance(body, dict)
    body["spec"]["securityContext"]["supplementalGroups"] = [str(number + 1) for number in range(length)]
    exchange = replace(case.exchange, request=replace(case.exchange.request, body=body))
    decision = evaluate_rules(profile, (rule,), replace(case, exchange=exchange))
    assert isinstance(decision, Annotate)
    assert answer in decision.encoded
