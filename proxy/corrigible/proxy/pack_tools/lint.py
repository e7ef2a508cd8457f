"""Run the cases of a pack: each rule on its own cases, then each case on the whole pack.

The mistakes in the files of a pack: those that keep the pack from loading, and those that do not.

Knows: a pack, its files and cases. Does not know: how a case is judged, the command line.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import orjson

from corrigible.adapters.base import Described
from corrigible.adapters.mapping.map_index import map_files, read_map
from corrigible.proxy.build import profile_of
from corrigible.proxy.core.api_profile import ApiProfile, Explanation, match_operation, parse_errors
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.engine.evaluate import RuleIndex
from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.language.expression import SCOPE
from corrigible.rules.language.rule import Branch, Entry, Rule, SuggestionGroup, SuggestionLoop, SuggestionSpec
from corrigible.rules.language.syntax import signature, words
from corrigible.rules.language.yaml_source import Source, Trail, read_source
from corrigible.rules.lookup import CALL, Lookup, LookupAnswer, allowed
from corrigible.rules.pack.cases import Case, case_file, differences, load_cases
from corrigible.rules.pack.load import MANIFEST, Pack, load_pack, rule_files
from corrigible.rules.pack.portable import portability_problems
from corrigible.rules.pack.reference import unchanged_members
from corrigible.rules.safety.nearness import is_slip
from corrigible.schema.error import FeedbackError, ReaderError, did_you_mean
from corrigible.schema.exchange import Json
from corrigible.schema.feedback import parse
from corrigible.schema.reader import Next, apply
from corrigible.schema.writer import validate

from .rule_places import DescribedPlaces, expressions, loop_names, member_names, places, tolerant_members, variables


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
        index = RuleIndex((rule,))
        results += [_judged(profile, rule, case, index) for case in cases]
    problems += orphans(profile.pack.path)
    for result in results:
        if not result.failures:
            problems += _conflicts(profile, rules[result.case.rule], result.case)
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
            problem = f"these cases have no rule: {name}.yaml does not exist{did_you_mean(name, names)}"
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
    failures = list(_failures(profile, rule, case, RuleIndex((rule,))))
    yield from failures or (conflict.problem for conflict in _conflicts(profile, rule, case))


def _conflicts(profile: ApiProfile, rule: Rule, case: Case) -> Iterator[AuthoringError]:
    if case.text.no_match:
        return
    explanation = Explanation()
    whole = evaluate_rules(profile, profile.pack.rules, case, explanation)
    if isinstance(whole, Annotate) and rule.id not in whole.rules and rule.status == "stable":
        problem = f'"{case.text.name}": {whole.rules[0]} matches first, so {rule.id} is not used'
        yield AuthoringError(case.place, problem, kind="conflict")
    for other in (one for one in profile.pack.rules if one.id in explanation.candidates):
        same_rank = (other.priority, other.match.specificity) == (rule.priority, rule.match.specificity)
        conflicting = other.id != rule.id and same_rank and {other.status, rule.status} == {"stable"}
        if conflicting and isinstance(evaluate_rules(profile, (other,), case), Annotate):
            problem = f'"{case.text.name}": {other.id} matches too, with the same rank (set priority)'
            yield AuthoringError(case.place, problem, kind="conflict")


KINDS: Final[Mapping[str, str]] = {
    "invalid": "A file of the pack cannot be used.",
    "yaml": "YAML readers disagree about a text, or read it as something else than it looks like.",
    "header": "A stable rule has a date and an author.",
    "long-expression": "An expression is too long to be read.",
    "wrong-result": "An expression gives another kind of value than its place needs.",
    "unknown-capture": "An expression uses a group that the pattern of the message does not have.",
    "unknown-member": "An expression uses a member that the request, the answer or the exchange never has.",
    "unknown-table": "An expression uses a table that the pack does not have.",
    "unknown-operation": "A rule names an operation that nobody knows: it never matches.",
    "trailing-slash": "A path or pointer fits nothing because of the slash at its end.",
    "missing-case": "A rule needs a case that it matches and one that it does not match.",
    "missing-rule": "Cases need a rule.",
    "undeclared-loss": "A case shows a loss that its rule does not declare.",
    "unclaimed-intent": "No case would notice if the rule no longer said that it changes the intent.",
    "undescribed-place": "A rule names a place of the request that the API's description does not have.",
    "unreached-entry": "No case reaches an entry under `suggest`.",
    "unused-name": "A `let` is used by nothing.",
    "hidden-name": "A name hides another one of the rule.",
    "misspelt-member": "An expression allows that a member is missing, and cases have it under nearly that name only.",
    "unshown-member": "A `let` allows that a member is missing, and no case has it.",
    "template": "A rule has parts of the template of `corrigible pack new`.",
}
"""The kinds of mistakes. A pack with one of the first kind is refused by the proxy."""


class LintResult(NamedTuple):
    pack: Pack
    """With the rules that are right."""
    cases: int
    mistakes: tuple[AuthoringError, ...]
    """By file and line."""
    notes: tuple[AuthoringError, ...] = ()
    """What is to be finished, and is no mistake."""


def lint_pack(name_or_path: str | Path, description: Described | None = None) -> LintResult:
    """Return the mistakes of a pack, those of each rule. Raises AuthoringError where pack.yaml itself is wrong."""
    mistakes: list[AuthoringError] = []
    pack = load_pack(name_or_path, mistakes, mistakes)
    for file in sorted([*pack.path.glob("*.yaml"), *pack.path.glob("tables/*.yaml")]):
        mistakes += portability_problems(file)
    for file in map_files(pack.path):
        try:
            read_map(file)
        except AuthoringError as error:
            mistakes.append(error)
    profile = profile_of(pack, description)
    described = profile.described
    declared = DescribedPlaces(described, pack.text.operations) if described is not None else None
    rules = {rule.id.partition(".")[2]: rule for rule in pack.rules}
    count = 0
    notes: list[AuthoringError] = []
    for file in rule_files(pack.path):
        try:
            cases = load_cases(file)
        except AuthoringError as error:
            mistakes += error.all_errors()
            continue
        count += len(cases)
        rule = rules.get(file.stem)
        if rule is None:
            continue  # it is among the mistakes
        unfinished, source = list(_template(file)), read_source(file)
        notes += unfinished
        mistakes += _names(source, rule, pack)
        for one in _doubtful_members(profile, source, cases):
            (notes if one.kind == "unshown-member" else mistakes).append(one)
        if declared is not None and not unfinished:
            requests = [case.exchange.request for case in cases]
            for place, problem in declared.undeclared(places(source.data), rule.match.operations, requests):
                mistakes.append(source.error(place.trail, problem, kind="undescribed-place"))
        mistakes += _unknown_operations(profile, rule, file)
        mistakes += _unknown_tables(pack, rule, file)
        if rule.status != "deprecated":
            mistakes += missing_kinds(file, cases)
            notes += _unreached(profile, source, rule, cases)
        mistakes += _unclaimed_losses(profile, cases)
        mistakes += _unclaimed_intent(rule, file, cases)
    mistakes += orphans(pack.path)
    ordered = sorted(mistakes, key=lambda one: (one.place.path.name != MANIFEST, str(one.place.path), one.place.line))
    return LintResult(
        pack, count, tuple(ordered), tuple(sorted(notes, key=lambda one: (one.place.path, one.place.line)))
    )


def _template(file: Path) -> Iterator[AuthoringError]:
    """Yield a rule that is as `pack new` made it, in part at least."""
    source = read_source(file)
    if unchanged := unchanged_members(source.data):
        problem = f"still the template of corrigible pack new: {', '.join(unchanged)}"
        yield source.error((unchanged[0],), problem, kind="template")


def _unknown_operations(profile: ApiProfile, rule: Rule, file: Path) -> Iterator[AuthoringError]:
    """Yield the operations of a rule that neither the pack nor the adapter nor a description has, if they list any."""
    known = {*profile.pack.text.operations.values(), *profile.adapter.operations.names}
    if not known:
        return
    names_itself = profile.pack.operation is not None
    elsewhere = " (of requests: add it to operations)" if names_itself else " (of a description: give it with --spec)"
    source = read_source(file)
    for index, name in enumerate(rule.match.operations):
        if name not in known and "/" not in name:  # a gRPC method is its own operation
            trail = ("match", "operation", index)
            hint = did_you_mean(name, known) or elsewhere
            problem = f'"{name}" is no operation of pack.yaml or of the API\'s adapter{hint}'
            yield source.error(trail, problem, kind="unknown-operation")


def _names(source: Source, rule: Rule, pack: Pack) -> Iterator[AuthoringError]:
    """Yield each `let` that nothing uses, and each name that hides one that the rule has."""
    data, lookups = source.data, source.data.get("lookup") or {}
    lets = data.get("let") or {}
    functions = [(signature(call), words(body)) for call, body in pack.text.functions.items()]
    used: list[tuple[Trail, frozenset[str]]] = [((), said - set(call[1])) for call, said in functions if call]
    known = frozenset(SCOPE) | rule.names
    for trail, text in expressions(data):
        used.append((trail[:2], words(text)))
        for name in dict.fromkeys(variables(text)):
            if name in known:
                yield source.error(trail, f'"{name}" is a name of the rule and of an element here', kind="hidden-name")
    for trail, name in loop_names(data):
        if name in rule.names:
            yield source.error(trail, f'"{name}" is a name of the rule and of an element here', kind="hidden-name")
    for name in lets:
        if name in lookups:
            yield source.error(("let", name), f'"{name}" hides the look-up of that name', kind="hidden-name")
        if not any(name in mentioned for trail, mentioned in used if trail != ("let", name)):
            yield source.error(("let", name), f'"{name}" is used by nothing', kind="unused-name")


_OF_SCHEMAS: Final = frozenset({"type", "enum", "properties", "items", "required", "pattern", "format", "default"})
"""Members of what the description says of a place: no case has that."""


def _doubtful_members(profile: ApiProfile, source: Source, cases: Sequence[Case]) -> Iterator[AuthoringError]:
    """Yield members that may be missing and that no case has: in a `let`, and where cases have nearly that name."""
    there = {*member_names(dict(profile.pack.tables)), *_OF_SCHEMAS}
    for case in cases:
        exchange, body = case.exchange, json_of(case.exchange.body)
        match = match_operation([profile], exchange.request)
        errors = parse_errors(match, exchange, body) if match is not None else ()
        read = [
            exchange.request.document(),
            dict(exchange.headers),
            body,
            case.text.lookups,
            *(one.scope() for one in errors),
        ]
        there.update(member_names(read))
    for trail, text in expressions(source.data) if cases else ():
        for name in dict.fromkeys(tolerant_members(text)):
            near = [] if name in there else [one for one in sorted(there) if is_slip(name, one)]
            problem = f'no case has a member "{name}", which may be missing here'
            if near:
                yield source.error(trail, f'{problem}; did you mean "{near[0]}"?', kind="misspelt-member")
            elif trail[0] == "let" and name not in there:
                yield source.error(trail, problem, kind="unshown-member")


def _unreached(profile: ApiProfile, source: Source, rule: Rule, cases: Sequence[Case]) -> Iterator[AuthoringError]:
    """Yield the entries under `suggest` that give nothing in any case."""
    branches = rule.branches()
    matching = [case for case in cases if case.text.expect is not None]
    if len(branches) == 1 or not matching:
        return  # that a case matches is asked of each rule
    reached = reached_branches(profile, rule, matching)
    for branch in branches:
        if branch not in reached:
            trail: Trail = ("suggest", branch[0])
            if len(branch) > 1:
                entry = rule.entries[branch[0]]
                trail = (*trail, entry.relation if isinstance(entry, SuggestionGroup) else "", branch[1])
            yield source.error(trail, f"no case reaches {shown_branch(rule, branch)}", kind="unreached-entry")


def json_of(body: bytes) -> Json:
    """Return the JSON of a body; None if it is none."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def _unknown_tables(pack: Pack, rule: Rule, file: Path) -> Iterator[AuthoringError]:
    """Yield the tables of a rule that the pack does not have, at the line that names each first."""
    lines = file.read_text("utf-8").splitlines()
    for name in sorted((rule.tables or frozenset()) - pack.tables.keys()):
        line = next((number for number, text in enumerate(lines, 1) if re.search(rf"\btables\.{name}\b", text)), 1)
        hint = did_you_mean(name, pack.tables)
        problem = f"there is no tables/{name.replace('_', '-')}.yaml{hint}"
        yield AuthoringError(Place(file, line), problem, kind="unknown-table")


def _unclaimed_losses(profile: ApiProfile, cases: tuple[Case, ...]) -> Iterator[AuthoringError]:
    """Yield each case whose rule removes something from the request without claiming `changes_intent`."""
    for case in cases:
        if case.text.expect is None or _claims_change(case.text.expect):
            continue
        explanation = Explanation()
        evaluate_rules(profile, profile.pack.rules, case, explanation)
        if explanation.undeclared_losses:
            losses = ", ".join(explanation.undeclared_losses)
            problem = f'"{case.text.name}": the edit loses {losses}: claim changes_intent: true'
            yield AuthoringError(case.place, problem, kind="undeclared-loss")


def _unclaimed_intent(rule: Rule, file: Path, cases: tuple[Case, ...]) -> Iterator[AuthoringError]:
    """Yield a rule that says `changes_intent: true`, and whose cases would not notice if it no longer did."""
    changes = any(spec.changes_intent for entry in rule.entries for spec in _specs(entry))
    if changes and rule.status != "deprecated" and not any(_claims_change(case.text.expect) for case in cases):
        problem = "the rule has changes_intent: true, and none of its cases claims it"
        yield AuthoringError(Place(file), problem, kind="unclaimed-intent")


def _specs(entry: Entry) -> Iterator[SuggestionSpec]:
    match entry:
        case SuggestionSpec():
            yield entry
        case SuggestionGroup():
            for member in entry.members:
                yield from _specs(member)
        case SuggestionLoop():
            yield from _specs(entry.member)


def _claims_change(claimed: Json) -> bool:
    match claimed:
        case Mapping():
            return claimed.get("changes_intent") is True or any(map(_claims_change, claimed.values()))
        case list():
            return any(map(_claims_change, claimed))
    return False


SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


_LEVELS: Final[Mapping[str, str]] = {
    "invalid": "error",
    **dict.fromkeys(("template", "unreached-entry", "unshown-member"), "note"),
}


def sarif(mistakes: Sequence[AuthoringError], kinds: Mapping[str, str], version: str, folder: Path) -> str:
    """Return the document. Files are named from `folder`, where they are below it."""
    used = list(dict.fromkeys(one.kind for one in mistakes))
    run: dict[str, Json] = {
        "tool": {
            "driver": {
                "name": "corrigible pack lint",
                "semanticVersion": version,
                "rules": [{"id": kind, "shortDescription": {"text": kinds[kind]}} for kind in used],
            }
        },
        "results": [_result(one, used, folder) for one in mistakes],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _result(mistake: AuthoringError, used: Sequence[str], folder: Path) -> Json:
    file = mistake.place.path.absolute()
    uri = file.relative_to(folder).as_posix() if file.is_relative_to(folder) else file.as_uri()
    identity = hashlib.sha256(f"{uri} {mistake.kind} {mistake.problem}".encode()).hexdigest()
    return {
        "ruleId": mistake.kind,
        "ruleIndex": used.index(mistake.kind),
        "level": _LEVELS.get(mistake.kind, "warning"),
        "message": {"text": mistake.problem},
        "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": mistake.place.line}}}
        ],
        "partialFingerprints": {"mistake/v1": identity},
    }
