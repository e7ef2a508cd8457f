"""Checks of the role pack: rule files follow the published schema, their cases show what they claim, fixes do not leak.

Judged through the `corrigible` command and by reading YAML; nothing of the rule language is imported.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import re2
import yaml
from jsonschema import Draft202012Validator

from corrigible.conformance.audit.audit import Audit, Hit, audit, gather
from corrigible.conformance.audit.subject import command, rendered
from corrigible.conformance.model.outcome import CouldNotTell, NotApplicable, UsageError
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.process import completed
from corrigible.conformance.validators.finding import ABSENT, Finding
from corrigible.schema.document import to_pointer
from corrigible.schema.exchange import Json

ORIGINS: Final = ("recorded", "documented", "synthetic")
_SECONDS = 120.0
_CASES = ".cases.yaml"
_PATTERN = re.compile(r"""\.matches\(\s*r?(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*\)""")
# Complaints of `pack lint` and `pack test` that belong to other requirements than the one at hand.
_OF_PATTERNS = re.compile(
    r"not an RE2 pattern|invalid .*\bregular expression|error parsing regexp|invalid matches argument"
)
_OF_ORIGINS = re.compile(r"\borigin\b")
_OF_KINDS = re.compile(r"the rule has \d+ cases?: it needs\b")
_OF_OPERATIONS = re.compile(r"is no operation of pack\.yaml")  # a description that is given later may have it
_OF_RIVALS = re.compile(r"matches (?:first|too)\b")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # libyaml reads more of YAML 1.2
    """Reads `on`, `yes` and dates as the texts that they are."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if not tag.endswith((":bool", ":timestamp"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile("^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)


@dataclass(frozen=True, slots=True)
class _Tried:
    """What a command of `corrigible pack` said."""

    status: int
    lines: tuple[str, ...]


@lru_cache(maxsize=64)
def _ran(corrigible: tuple[str, ...], verb: str, *words: str) -> _Tried:
    line = [*corrigible, "pack", verb, *words]
    try:
        ran = completed(line, _SECONDS)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise CouldNotTell(f"{' '.join(line)}: {problem}") from None
    return _Tried(ran.returncode, tuple((ran.stderr or ran.stdout).splitlines()))


@lru_cache(maxsize=8)
def _schema(corrigible: tuple[str, ...], kind: str) -> Draft202012Validator:
    line = [*corrigible, "pack", "schema", kind]
    ran = completed(line, _SECONDS)
    if ran.returncode != 0:
        raise CouldNotTell(f"{' '.join(line)}: {ran.stderr.strip()}")
    return Draft202012Validator(json.loads(ran.stdout))


class _Pack:
    """The files of a pack, and the command that tries it."""

    def __init__(self, subject: Subject) -> None:
        config = subject.config
        self.name = str(config.get("pack") or "")
        if not self.name:
            raise CouldNotTell("no pack is given: --pack NAME_OR_PATH")
        try:
            self.corrigible = tuple(command(str(config["corrigible"]) if config.get("corrigible") else None))
        except UsageError as problem:
            raise CouldNotTell(str(problem)) from None
        self.path = Path(self.name)
        if not self.path.is_dir():
            self.path = Path(str(self.rendered()[0]["path"]))

    def rendered(self) -> list[dict[str, Json]]:
        """Return what the pack makes of its cases. Raises CouldNotTell where it does not load."""
        try:
            return _rendered(self.name, self.corrigible)
        except UsageError as problem:
            raise CouldNotTell(f"the pack does not load: {str(problem).splitlines()[0]}") from None

    def try_(self, verb: str, *words: str) -> _Tried:
        return _ran(self.corrigible, verb, self.name, *words)

    def line(self, verb: str) -> str:
        return f"corrigible pack {verb} {self.name}"

    def rules(self) -> dict[str, Path]:
        """Return the rule files by name."""
        return {
            path.stem: path
            for path in sorted(self.path.glob("*.yaml"))
            if path.name != "pack.yaml" and not path.name.endswith(_CASES)
        }

    def read(self, path: Path) -> Any:
        """Return what a YAML file holds. Raises CouldNotTell where it holds none."""
        try:
            return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
            raise CouldNotTell(f"{path.name} cannot be read: {str(problem).splitlines()[0]}") from None

    def cases(self, rule: Path) -> list[Mapping[str, Any]]:
        """Return the cases beside a rule; none where there is no such file."""
        path = rule.with_suffix(_CASES)
        cases = self.read(path) if path.is_file() else []
        return [case for case in cases if isinstance(case, Mapping)] if isinstance(cases, list) else []


@lru_cache(maxsize=8)
def _rendered(name: str, corrigible: tuple[str, ...]) -> list[dict[str, Json]]:
    return rendered(name, corrigible)


def loads(subject: Subject) -> Iterator[Finding]:
    """Hold every file against the published JSON Schema, and ask `corrigible pack lint` what that cannot see."""
    pack = _Pack(subject)
    linted = pack.try_("lint")
    others = (_OF_PATTERNS, _OF_ORIGINS, _OF_KINDS, _OF_OPERATIONS)
    mistakes = [line for line in linted.lines if not any(other.search(line) for other in others)]
    for line in mistakes if linted.status != 0 else ():
        yield _finding(
            "SRF-PCK-01", f"The pack does not load: {_short(pack, line)}", _short(pack, line), pack.line("lint")
        )
    if linted.status != 0 and mistakes:
        return
    files = [(pack.path / "pack.yaml", "pack"), *((path, "rule") for path in pack.rules().values())]
    files += [(path, "cases") for path in sorted(pack.path.glob(f"*{_CASES}"))]
    for path, kind in files:
        for error in _schema(pack.corrigible, kind).iter_errors(pack.read(path)):
            if not _OF_ORIGINS.search(f"{error.json_path} {error.message}"):
                sentence = (
                    f"{path.name} is not as the published schema says at {error.json_path}: {error.message[:200]}"
                )
                place = f"{path.name}#{to_pointer(error.absolute_path)}"
                again = f"corrigible pack schema {kind}"
                actual = error.instance if len(str(error.instance)) < 200 else str(error.instance)[:200]
                yield Finding("SRF-PCK-01", sentence, error.validator_value, actual, line=again, place=place)


def _finding(requirement: str, sentence: str, complaint: str, again: str) -> Finding:
    """Return a finding of which `corrigible pack` says FILE:LINE: what is wrong."""
    place, _, problem = complaint.partition(": ")
    return Finding(requirement, sentence, "no complaint", problem or complaint, line=again, place=place)


def shown_both_ways(subject: Subject) -> Iterator[Finding]:
    """Count the cases beside each rule, and run them: a case that does not hold shows nothing."""
    pack = _Pack(subject)
    whole = True
    for name, path in pack.rules().items():
        if pack.read(path).get("status") == "deprecated":
            continue
        cases = pack.cases(path)
        for wanted_case, present in (
            ("matches", any(case.get("expect") is not None for case in cases)),
            ("does not match", any(case.get("no_match") is True for case in cases)),
        ):
            if not present:
                whole = False
                sentence, again = f"The rule {name} has no case in which it {wanted_case}.", pack.line("test")
                cases_path = path.with_suffix("").name + _CASES
                yield Finding("SRF-PCK-02", sentence, "such a case", ABSENT, line=again, place=cases_path)
    tried = pack.try_("test")
    if tried.status == 2 and whole:
        raise CouldNotTell(f"the cases cannot be run: {tried.lines[0] if tried.lines else 'no word why'}")
    for line in tried.lines if tried.status == 1 and whole else ():
        if re.match(r".+\.yaml:\d+: ", line) and not _OF_RIVALS.search(line):
            short = _short(pack, line)
            yield _finding("SRF-PCK-02", f"A case does not hold: {short}", short, pack.line("test"))


def every_rule_can_match(subject: Subject) -> Iterator[Finding]:
    """Let the whole pack answer each case: every rule has to be the one that matches in some case of its own."""
    pack = _Pack(subject)
    documents = pack.rendered()
    cases_by_rule: dict[str, list[Mapping[str, Json]]] = {}
    for case in documents:
        if case["kind"] == "case" and not case["silent"]:
            cases_by_rule.setdefault(case["rule"], []).append(case)
    for rule in documents:
        if rule["kind"] != "rule" or rule["status"] == "deprecated":
            continue
        cases = cases_by_rule.get(rule["rule"], [])
        others = sorted({other for case in cases for other in case["spoke"]} - {rule["rule"]})
        if cases and not any(rule["rule"] in case["spoke"] for case in cases):
            before = f": {', '.join(others)} matches first" if others else ": no rule matches there"
            sentence = f"The rule {rule['rule']} never matches, not even in its own cases{before}."
            place = f"{rule['rule']}.yaml"
            yield Finding("SRF-PCK-03", sentence, rule["rule"], list(others), line=pack.line("test"), place=place)


def patterns_are_linear(subject: Subject) -> Iterator[Finding]:
    """Compile every pattern of the pack with RE2: those of `match.message`, and those that expressions match with."""
    pack = _Pack(subject)
    for name, path in pack.rules().items():
        for place, pattern in _patterns(pack.read(path)):
            problem = _not_re2(pattern)
            if problem is not None:
                sentence = f"The pattern of {place} in the rule {name} is none that RE2 takes: {problem}."
                yield Finding("SRF-PCK-04", sentence, expected="a pattern without backtracking", got=pattern)


def _patterns(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    match value:
        case Mapping():
            for name, inner in value.items():
                yield from _patterns(inner, f"{place}.{name}".lstrip("."))
        case list():
            for index, inner in enumerate(value):
                yield from _patterns(inner, f"{place}[{index}]")
        case str() if place == "match.message":
            yield place, value
        case str():
            for match in _PATTERN.finditer(value):
                raw = match.group(0).find("(r") >= 0
                text = match[1] if match[1] is not None else match[2]
                yield place, text if raw else text.replace("\\\\", "\\")


def _not_re2(pattern: str) -> str | None:
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as problem:
        reason = problem.args[0] if problem.args else problem
        return reason.decode() if isinstance(reason, bytes) else str(reason)
    return None


def covers_what_it_says(subject: Subject) -> Iterator[Finding]:
    """Let `corrigible pack coverage` count the documented errors, against `min_coverage` in pack.yaml."""
    pack = _Pack(subject)
    manifest = pack.read(pack.path / "pack.yaml")
    min_coverage = manifest.get("min_coverage") if isinstance(manifest, Mapping) else None
    if not isinstance(min_coverage, int | float):
        raise NotApplicable("the pack does not declare how much it covers (`min_coverage` in pack.yaml)")
    tried = pack.try_("coverage", "--min", f"{min_coverage:g}")
    if tried.status == 2:
        raise CouldNotTell(f"the coverage cannot be counted: {tried.lines[0] if tried.lines else 'no word why'}")
    if tried.status != 0:
        sentence = "The pack covers less than it declares."
        printed = next((line for line in tried.lines if line.startswith("coverage:")), "")
        line = f"{pack.line('coverage')} --min {min_coverage:g}"
        yield Finding("SRF-PCK-05", sentence, expected=f"{min_coverage:g} %", got=printed, line=line)


def cases_name_their_origin(subject: Subject) -> Iterator[Finding]:
    """Read every case: it was recorded, documented or made up."""
    pack = _Pack(subject)
    for name, path in pack.rules().items():
        for number, case in enumerate(pack.cases(path), start=1):
            if case.get("origin") not in ORIGINS:
                sentence = f"Case {number} of the rule {name} does not say its origin: {case.get('name')!r}."
                yield Finding("SRF-PCK-06", sentence, expected=" or ".join(ORIGINS), got=case.get("origin"))


def _short(pack: _Pack, line: str) -> str:
    return line.replace(f"{pack.path}/", "")


@lru_cache(maxsize=8)
def _audited(pack: str, tasks: tuple[str, ...], corrigible: str | None) -> Audit:
    return audit(gather([pack], [Path(path) for path in tasks], command(corrigible)))


def _done(subject: Subject) -> Audit:
    config = subject.config
    pack, tasks, corrigible = config.get("pack"), config.get("tasks") or [], config.get("corrigible")
    if not pack:
        raise CouldNotTell("no pack is given: --pack NAME_OR_PATH")
    try:
        return _audited(str(pack), tuple(map(str, tasks)), str(corrigible) if corrigible else None)
    except UsageError as problem:
        raise CouldNotTell(f"the pack cannot be rendered: {problem}") from None


def answers_hold_no_fix(subject: Subject) -> Iterator[Finding]:
    """Render every case of the pack in every mode, and look for its fixes in what is ours of the other modes."""
    for hit in _done(subject).leaks:
        if hit.text.channel not in _OF_TASKS:
            yield _leak("SRF-AUD-01", hit, subject)


def tasks_hold_no_fix(subject: Subject) -> Iterator[Finding]:
    """Look for the fixes of the pack, and of each task itself, in what a task tells an agent."""
    audit = _done(subject)
    if not any(
        subject.kind == "tasks" and subject.facts["with a text that an agent sees"] for subject in audit.subjects
    ):
        raise NotApplicable("there are no tasks with a prompt or success criteria (setting `tasks` names their files)")
    for hit in audit.leaks:
        if hit.text.channel in _OF_TASKS:
            yield _leak("SRF-AUD-02", hit, subject)


_OF_TASKS: Final = frozenset({"prompt", "success criteria"})


def _leak(requirement: str, hit: Hit, subject: Subject) -> Finding:
    sentence = (
        f"The {hit.text.channel} at {hit.text.where} gives away {hit.fix.value!r} ({hit.how}), which only the feedback"
        f" of {hit.fix.origin} may say."
    )
    line = f"conformance audit {subject.config.get('pack')}"
    return Finding(requirement, sentence, expected="a text that does not hold the fix", got=hit.marked, line=line)
