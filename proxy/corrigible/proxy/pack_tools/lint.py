"""What is wrong with the files of a pack, beyond what keeps it from loading.

Knows: a pack, its files and cases. Does not know: how a case is judged, the command line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from corrigible.proxy.build import load_profiles
from corrigible.proxy.core.api_profile import ApiProfile, Explanation
from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.language.rule import Entry, Rule, SuggestionGroup, SuggestionLoop, SuggestionSpec
from corrigible.rules.pack.cases import Case, load_cases
from corrigible.rules.pack.load import find_pack, load_pack, rule_files
from corrigible.rules.pack.portable import portability_problems
from corrigible.schema.exchange import Json

from .case_runner import evaluate_rules


def lint_pack(name_or_path: str | Path) -> Iterator[AuthoringError]:
    """Yield the mistakes of a pack that loads. Raises AuthoringError where it, or a case file, does not."""
    path = find_pack(name_or_path)
    for file in sorted([*path.glob("*.yaml"), *path.glob("tables/*.yaml")]):
        yield from portability_problems(file)
    lint: list[AuthoringError] = []
    load_pack(name_or_path, lint)
    yield from lint
    (profile,) = load_profiles([name_or_path])
    for file in rule_files(path):
        cases = load_cases(file)
        rule = next(rule for rule in profile.pack.rules if rule.id.partition(".")[2] == file.stem)
        yield from _unclaimed_losses(profile, cases)
        yield from _unclaimed_intent(rule, file, cases)


def _unclaimed_losses(profile: ApiProfile, cases: tuple[Case, ...]) -> Iterator[AuthoringError]:
    """Yield each case whose rule removes something from the request without claiming `changes_intent`."""
    for case in cases:
        if case.text.expect is None or _claims_change(case.text.expect):
            continue
        explanation = Explanation()
        evaluate_rules(profile, profile.pack.rules, case, explanation)
        if explanation.undeclared_losses:
            losses = ", ".join(explanation.undeclared_losses)
            yield AuthoringError(case.place, f'"{case.text.name}": the edit loses {losses}: claim changes_intent: true')


def _unclaimed_intent(rule: Rule, file: Path, cases: tuple[Case, ...]) -> Iterator[AuthoringError]:
    """Yield a rule that says `changes_intent: true`, and whose cases would not notice if it no longer did."""
    changes = any(spec.changes_intent for entry in rule.entries for spec in _specs(entry))
    if changes and rule.status != "deprecated" and not any(_claims_change(case.text.expect) for case in cases):
        yield AuthoringError(Place(file), "the rule has changes_intent: true, and none of its cases claims it")


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
