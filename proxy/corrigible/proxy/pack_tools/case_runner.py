"""Trying a pack: each rule on its own cases, then each case on the whole pack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from corrigible.proxy.build import load_profiles
from corrigible.proxy.core.engine import Annotate, ApiProfile, Engine, Explanation
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.engine.index import RuleIndex
from corrigible.rules.engine.lookup import Lookup, LookupAnswer
from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.language.rule import Rule
from corrigible.rules.pack.cases import Case, case_file, differences, load_cases
from corrigible.rules.pack.load import rule_files
from corrigible.schema.error import FeedbackError, ReaderError
from corrigible.schema.exchange import Json
from corrigible.schema.feedback import parse
from corrigible.schema.reader import Next, apply
from corrigible.schema.writer import validate


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one case ended. No complaints means that it held."""

    case: Case
    complaints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """What testing a pack found."""

    verdicts: tuple[Verdict, ...]
    problems: tuple[AuthoringError, ...]
    """What is wrong with the pack as a whole: missing polarity, rivals, rules that never get a word in."""

    @property
    def passed(self) -> int:
        return sum(not verdict.complaints for verdict in self.verdicts)


def try_pack(name_or_path: str | Path) -> Trial:
    """Run every case of a pack. Raises AuthoringError where the pack or a case file is wrong."""
    (known,) = load_profiles([name_or_path])
    rules = {rule.id.partition(".")[2]: rule for rule in known.pack.rules}
    verdicts: list[Verdict] = []
    problems: list[AuthoringError] = []
    for file in rule_files(known.pack.path):
        cases = load_cases(file)
        rule = rules[file.stem]
        if rule.status == "deprecated":
            continue  # it never speaks again; its cases stay as a record
        problems += _polarity(file, cases)
        verdicts += [Verdict(case, tuple(_complaints(known, rule, case))) for case in cases]
    problems += _strays(known.pack.path, set(rules))
    for verdict in verdicts:
        if verdict.case.text.expect is not None and not verdict.complaints:
            problems += _rivals(known, rules[verdict.case.rule], verdict.case)
    return Trial(tuple(verdicts), tuple(problems))


def _polarity(file: Path, cases: tuple[Case, ...]) -> Iterator[AuthoringError]:
    for wanted, silent in (("a case where it speaks", False), ("a case where it stays silent", True)):
        if not any(case.text.no_match is silent for case in cases):
            yield AuthoringError(Place(case_file(file)), f"the rule needs {wanted}")


def _strays(path: Path, rules: set[str]) -> Iterator[AuthoringError]:
    for file in sorted(path.glob("*.cases.yaml")):
        name = file.name.removesuffix(".cases.yaml")
        if name not in rules:
            yield AuthoringError(Place(file), f"there is no rule {name}.yaml beside these cases")


def _complaints(known: ApiProfile, rule: Rule, case: Case) -> Iterator[str]:
    said = speaks(known, (rule,), case)
    if case.text.no_match:
        if isinstance(said, Annotate):
            yield f"expected silence, it says {orjson.dumps(said.feedback).decode()}"
        elif said is not None:
            yield f"expected silence, it crashed: {said}"
        return
    if not isinstance(said, Annotate):
        yield ("expected it to speak, it is silent" if said is None else f"expected it to speak, it crashed: {said}")
        return
    yield from differences(case.text.expect, orjson.loads(said.encoded))
    try:
        validate(parse(said.feedback), vocabulary=known.pack.vocabulary)
    except (FeedbackError, ReaderError) as problem:
        yield f"this may not be sent: {problem}"
    if case.text.after is not None:
        following = apply(orjson.loads(said.encoded), case.exchange.request)
        if isinstance(following, Next):
            yield from (f"after{d}" for d in differences(case.text.after, following.request.document()))
        else:
            yield f"after: the reader does not retry: {following}"


def losses_unsaid(name_or_path: str | Path) -> Iterator[AuthoringError]:
    """Yield each case whose rule takes something from the request, and neither of them says so."""
    (known,) = load_profiles([name_or_path])
    for file in rule_files(known.pack.path):
        for case in load_cases(file):
            if case.text.expect is None or _claims_change(case.text.expect):
                continue
            explanation = Explanation()
            speaks(known, known.pack.rules, case, explanation)
            if explanation.unsaid:
                said = f'"{case.text.name}": the edit loses {", ".join(explanation.unsaid)}: claim changes_intent: true'
                yield AuthoringError(case.place, said)


def _claims_change(claimed: Json) -> bool:
    match claimed:
        case Mapping():
            return claimed.get("changes_intent") is True or any(map(_claims_change, claimed.values()))
        case list():
            return any(map(_claims_change, claimed))
    return False


def speaks(
    known: ApiProfile, rules: tuple[Rule, ...], case: Case, explanation: Explanation | None = None
) -> Annotate | str | None:
    """Return what some rules say on a case: an annotation, None for silence, or a crash in words.

    Where only the API's description has something to say, the rules are silent.
    """
    # An index of the whole pack is there already; to make one takes longer than all that a case asks of it.
    engine = Engine([known if rules is known.pack.rules else replace(known, index=RuleIndex(rules))])
    decision = run_with_lookups_sync(
        engine.decide(case.exchange, explanation), lambda lookup: answer(case.text.lookups, lookup)
    )
    if isinstance(decision, Annotate):
        return decision if any(rule.id in decision.rules for rule in rules) else None
    return decision.reason if decision.fault else None


def answer(recorded: dict[str, Json], lookup: Lookup) -> LookupAnswer:
    """Answer a look-up from a case. `answer: {status, body}` stands for anything but a 200."""
    said = recorded.get(f"{lookup.method} {lookup.path}")
    if said is None and lookup.method != "GET":
        return LookupAnswer(0)
    if said is None:
        return LookupAnswer(404, b'{"error": {"message": "the case names no such look-up"}}')
    if isinstance(said, dict) and set(said) == {"answer"}:
        return LookupAnswer(said["answer"].get("status", 200), orjson.dumps(said["answer"].get("body")))
    return LookupAnswer(200, orjson.dumps(said))


def _rivals(known: ApiProfile, rule: Rule, case: Case) -> Iterator[AuthoringError]:
    whole = speaks(known, known.pack.rules, case)
    if isinstance(whole, Annotate) and rule.id not in whole.rules and rule.status == "stable":
        yield AuthoringError(case.place, f'"{case.text.name}": {whole.rules[0]} speaks before {rule.id} gets to')
    for other in known.pack.rules:
        same_rank = (other.priority, other.match.specificity) == (rule.priority, rule.match.specificity)
        rivals = other.id != rule.id and same_rank and {other.status, rule.status} == {"stable"}
        if rivals and isinstance(speaks(known, (other,), case), Annotate):
            yield AuthoringError(
                case.place, f'"{case.text.name}": {other.id} speaks too, and nothing says which goes first (priority)'
            )
