"""Run the cases of a pack: each rule on its own cases, then each case on the whole pack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from corrigible.adapters.base import Described
from corrigible.proxy.build import profile_of
from corrigible.proxy.core.api_profile import ApiProfile, Explanation
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.engine.evaluate import RuleIndex
from corrigible.rules.errors import AuthoringError, Place, suggest_spelling
from corrigible.rules.language.rule import Branch, Rule, SuggestionGroup
from corrigible.rules.lookup import CALL, Lookup, LookupAnswer, allowed
from corrigible.rules.pack.cases import Case, case_file, differences, load_cases
from corrigible.rules.pack.load import load_pack, rule_files
from corrigible.schema.error import FeedbackError, ReaderError
from corrigible.schema.exchange import Json
from corrigible.schema.feedback import parse
from corrigible.schema.reader import Next, apply
from corrigible.schema.writer import validate


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of one case. It passed if there are no failures."""

    case: Case
    failures: tuple[str, ...]
    branches: frozenset[Branch] = frozenset()
    """The entries under `suggest` that gave what the case expects, if it passed."""


@dataclass(frozen=True, slots=True)
class PackResult:
    """The result of all cases of a pack."""

    cases: tuple[CaseResult, ...]
    problems: tuple[AuthoringError, ...]
    """What is wrong with the pack as a whole: a missing kind of case, rules in conflict, rules that never apply."""

    @property
    def passed(self) -> int:
        return sum(not result.failures for result in self.cases)


def run_cases(name_or_path: str | Path, description: Described | None = None) -> PackResult:
    """Run every case of a pack whose rule is right. Raises AuthoringError if pack.yaml itself is malformed."""
    problems: list[AuthoringError] = []
    profile = profile_of(load_pack(name_or_path, mistakes=problems), description)
    rules = {rule.id.partition(".")[2]: rule for rule in profile.pack.rules}
    results: list[CaseResult] = []
    alone = {rule.id: RuleIndex((rule,)) for rule in profile.pack.rules}
    for file in rule_files(profile.pack.path):
        rule = rules.get(file.stem)
        if rule is None or rule.status == "deprecated":
            continue  # the one is among the problems; the other never matches again, its cases stay as a record
        try:
            cases = load_cases(file)
        except AuthoringError as error:
            problems += error.all_errors()
            continue
        problems += missing_kinds(file, cases)
        results += [_judged(profile, rule, case, alone[rule.id]) for case in cases]
    problems += orphans(profile.pack.path)
    for result in results:
        if not result.failures:
            problems += _conflicts(profile, rules[result.case.rule], result.case, alone)
    return PackResult(tuple(results), tuple(problems))


def judged_cases(profile: ApiProfile) -> Iterator[CaseResult]:
    """Run each rule of a pack on its own cases. Raises AuthoringError where a case file is malformed."""
    for rule in profile.pack.rules:
        index = RuleIndex((rule,))
        for case in load_cases(profile.pack.path / f"{rule.id.partition('.')[2]}.yaml"):
            yield _judged(profile, rule, case, index)


def missing_kinds(file: Path, cases: tuple[Case, ...]) -> Iterator[AuthoringError]:
    """Yield the kinds of cases that a rule lacks."""
    for missing, no_match in (("a case that it matches (expect)", False), ("a case with no_match: true", True)):
        if not any(case.text.no_match is no_match for case in cases):
            count = f"{len(cases)} case" if len(cases) == 1 else f"{len(cases)} cases"
            problem = f"the rule has {count}: it needs {missing}"
            yield AuthoringError(Place(case_file(file)), problem, kind="missing-case")


def orphans(path: Path) -> Iterator[AuthoringError]:
    """Yield the case files of a pack that belong to no rule."""
    names = {file.stem for file in rule_files(path)}
    for file in sorted(path.glob("*.cases.yaml")):
        name = file.name.removesuffix(".cases.yaml")
        if name not in names:
            problem = f"these cases have no rule: {name}.yaml does not exist{suggest_spelling(name, names)}"
            yield AuthoringError(Place(file), problem, kind="missing-rule")


def _judged(profile: ApiProfile, rule: Rule, case: Case, alone: RuleIndex) -> CaseResult:
    explanation = Explanation()
    failures = tuple(_failures(profile, rule, case, alone, explanation))
    branches = frozenset(branch for of_rule, branch in explanation.branches if of_rule == rule.id)
    return CaseResult(case, failures, frozenset() if failures or case.text.no_match else branches)


def _failures(
    profile: ApiProfile, rule: Rule, case: Case, alone: RuleIndex, explanation: Explanation | None = None
) -> Iterator[str]:
    requested: list[str] = []
    result = evaluate_rules(profile, (rule,), case, explanation, requested, alone)
    yield from _lookup_failures(profile, case, requested)
    if case.text.no_match:
        if isinstance(result, Annotate):
            yield f"expected no match, got {orjson.dumps(result.feedback).decode()}"
        elif result is not None:
            yield f"expected no match, the rule failed: {result}"
        return
    if not isinstance(result, Annotate):
        yield "expected a match, got none" if result is None else f"expected a match, the rule failed: {result}"
        return
    yield from differences(case.text.expect, orjson.loads(result.encoded))
    try:
        validate(parse(result.feedback), vocabulary=profile.pack.vocabulary)
    except (FeedbackError, ReaderError) as problem:
        yield f"invalid feedback: {problem}"
    if case.text.after is not None:
        outcome = apply(orjson.loads(result.encoded), case.exchange.request, confirm=True)
        if isinstance(outcome, Next):
            yield from (f"after{d}" for d in differences(case.text.after, outcome.request.document()))
        else:
            yield f"after: no next request: {outcome}"


def reached_branches(profile: ApiProfile, rule: Rule, cases: Sequence[Case]) -> frozenset[Branch]:
    """Return the entries under `suggest` that give something in some case, whatever that case expects."""
    explanation, index = Explanation(), RuleIndex((rule,))
    for case in cases:
        evaluate_rules(profile, (rule,), case, explanation, index=index)
    return frozenset(branch for of_rule, branch in explanation.branches if of_rule == rule.id)


def shown_branch(rule: Rule, branch: Branch) -> str:
    """Return an entry under `suggest` as its author finds it."""
    entry = rule.entries[branch[0]]
    shown = f"suggest[{branch[0]}]"
    if len(branch) > 1 and isinstance(entry, SuggestionGroup):
        shown, entry = f"{shown}.{entry.relation}[{branch[1]}]", entry.members[branch[1]]
    return shown if entry.condition is None else f"{shown} (if: {entry.condition.text})"


def _lookup_failures(profile: ApiProfile, case: Case, requested: list[str]) -> Iterator[str]:
    """Yield look-ups that the rule makes and the case does not list, and those listed that nothing makes."""
    listed = case.text.lookups
    for lookup in dict.fromkeys(requested):
        if lookup not in listed and is_read(profile, lookup):
            yield f'the rule looks up "{lookup}", which the case does not list (null: nothing is there)'
    if not listed.keys() <= set(requested):
        evaluate_rules(profile, profile.pack.rules, case, requested=requested)
        for lookup in sorted(listed.keys() - set(requested)):
            yield f'lookups has "{lookup}", which nothing looks up'


def is_read(profile: ApiProfile, lookup: str) -> bool:
    """Whether a rule asks this: what else is asked is a dry run."""
    method, _, path = lookup.partition(" ")
    is_reading_post = method == "POST" and allowed(path, profile.pack.settings.reading_posts) is not None
    return method in ("GET", CALL) or is_reading_post


def evaluate_rules(
    profile: ApiProfile,
    rules: tuple[Rule, ...],
    case: Case,
    explanation: Explanation | None = None,
    requested: list[str] | None = None,
    index: RuleIndex | None = None,
) -> Annotate | str | None:
    """Return the result of some rules on a case: an annotation, None if none matches, or the text of an error.

    A result of the API's description alone counts as no match. Look-ups that are made are added to `requested`.
    `index` is that of the rules, where there is one: to build it takes longer than to use it for a case.
    """
    engine = Engine([profile if rules is profile.pack.rules else replace(profile, index=index or RuleIndex(rules))])

    def fetch(lookup: Lookup) -> LookupAnswer:
        if requested is not None:
            requested.append(f"{lookup.method} {lookup.path}")
        return answer_lookup(case.text.lookups, lookup)

    decision = run_with_lookups_sync(engine.decide(case.exchange, explanation), fetch)
    if isinstance(decision, Annotate):
        return decision if any(rule.id in decision.rules for rule in rules) else None
    return decision.reason if decision.fault else None


def answer_lookup(recorded: dict[str, Json], lookup: Lookup) -> LookupAnswer:
    """Answer a look-up from a case. `answer: {status, body}` gives another status than 200; null is a 404."""
    recorded_answer = recorded.get(f"{lookup.method} {lookup.path}")
    if recorded_answer is None and lookup.method != "GET":
        return LookupAnswer(0)
    if recorded_answer is None:
        return LookupAnswer(404, b'{"error": {"message": "not found"}}')
    if isinstance(recorded_answer, dict) and set(recorded_answer) == {"answer"}:
        return LookupAnswer(
            recorded_answer["answer"].get("status", 200), orjson.dumps(recorded_answer["answer"].get("body"))
        )
    return LookupAnswer(200, orjson.dumps(recorded_answer))


def failures_of(profile: ApiProfile, case: Case) -> Iterator[str]:
    """Yield why `pack test` would not take a case."""
    rule = next(one for one in profile.pack.rules if one.id.partition(".")[2] == case.rule)
    alone = {one.id: RuleIndex((one,)) for one in profile.pack.rules}
    failures = list(_failures(profile, rule, case, alone[rule.id]))
    yield from failures or (conflict.problem for conflict in _conflicts(profile, rule, case, alone))


def _conflicts(profile: ApiProfile, rule: Rule, case: Case, alone: Mapping[str, RuleIndex]) -> Iterator[AuthoringError]:
    if case.text.no_match:
        return
    explanation = Explanation()
    whole = evaluate_rules(profile, profile.pack.rules, case, explanation)
    if isinstance(whole, Annotate) and rule.id not in whole.rules and rule.status == "stable":
        problem = f'"{case.text.name}": {whole.rules[0]} matches first, so {rule.id} is not used'
        yield AuthoringError(case.place, problem, kind="conflict")
    for other in profile.pack.rules:
        same_rank = (other.priority, other.match.specificity) == (rule.priority, rule.match.specificity)
        is_other = other.id != rule.id and other.id in explanation.candidates
        conflicting = is_other and same_rank and {other.status, rule.status} == {"stable"}
        if conflicting and _matches(profile, other, case, alone):
            problem = f'"{case.text.name}": {other.id} matches too, with the same rank (set priority)'
            yield AuthoringError(case.place, problem, kind="conflict")


def _matches(profile: ApiProfile, rule: Rule, case: Case, alone: Mapping[str, RuleIndex]) -> bool:
    return isinstance(evaluate_rules(profile, (rule,), case, index=alone[rule.id]), Annotate)
