"""The record of a run, as JSON lines: the target, one line for each check, the counts. Reports are views of it.

Knows: the file. Does not know: how checks run. A record that does not end with its counts is refused.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from corrigible.conformance.model.outcome import Outcome, UsageError, usable
from corrigible.conformance.validators.finding import ABSENT, Absent
from corrigible.schema.exchange import Json

SLOW: Final = 10.0
"""Seconds from which on reports name a check as slow."""
_HALF: Final = re.compile("[\ud800-\udfff]")
"""Halves of characters, which JSON of a subject may hold and UTF-8 may not: written out as text."""


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Clause(_Line):
    """One requirement, as it read when it was judged."""

    id: str
    level: str
    must: bool
    title: str = ""
    text: str = ""
    why: str = ""
    group: str = ""
    where: str = ""
    """Where to read it: SPEC.md#srf-trn-01."""
    profiles: list[str] = []
    """Where it holds. None named: everywhere."""
    roles: list[str] = []
    numbers: tuple[str, ...] = Field(default=(), exclude=True)
    """Those of the contract's SPEC.md that it is about. A record does not keep them."""

    def about(self, profile: str, role: str) -> bool:
        """Whether it says anything about a profile in a role."""
        return (not self.profiles or profile in self.profiles) and (not self.roles or role in self.roles)

    @property
    def weight(self) -> str:
        return "MUST" if self.must else "SHOULD"


class JudgedProfile(_Line):
    """One profile of the subject, and how it was reached."""

    profile: str
    about: str = ""
    """Its name where that is no profile: a pack, a reader."""
    role: str
    reached: str
    """The command that started it, or its address."""
    due: list[str] = []
    """Each MUST of the level that the suite checks for this profile and role: a level rests on all of them."""

    @property
    def column(self) -> str:
        return self.about or self.profile


class Header(_Line):
    kind: Literal["run"] = "run"
    suite: str
    contract: str = "SRF 0.1"
    subject: str
    level: str
    judged: list[JudgedProfile]
    seed: int = 0
    strict: bool = False
    options: str = ""
    """What was said on the command line about the subject: enough to replay a check."""
    selected: bool = False
    """Only some checks were asked for, so no level can be given."""
    started: str
    """RFC 3339."""
    packs: dict[str, str] = {}
    """Rule packs the config names, by digest, so that a claim can be repeated."""
    clauses: list[Clause]

    def again(self, entry: Entry) -> str | None:
        """Return the command that runs a check again; None for a record that does not know its subject's options."""
        return f"conformance replay {shlex.quote(entry.name)} {self.options}" if self.options else None

    @property
    def scope(self) -> str:
        """What a claim is about: profiles, or packs, or a reader."""
        return "+".join(dict.fromkeys(subject.column for subject in self.judged))


class RecordedFinding(_Line):
    """A finding, on file."""

    requirement: str
    message: str
    expected: Json = None
    got: Json = None
    place: str = ""
    """Where it is: a pointer into the answer, a byte of it, or the part that it is about."""
    line: str | None = None
    """The command that shows it again."""

    @property
    def sides(self) -> tuple[Json | Absent, Json | Absent]:
        """What was expected and what was got; ABSENT where the record has none: null is a value."""
        fields_set = self.model_fields_set
        return (self.expected if "expected" in fields_set else ABSENT, self.got if "got" in fields_set else ABSENT)


class TraceEntry(_Line):
    """One thing that went over a wire while a check ran, as text."""

    who: str
    text: str


class Reason(_Line):
    """Why a failure was announced."""

    reason: str
    issue: str | None = None


class Entry(_Line):
    kind: Literal["check"] = "check"
    check: str
    title: str
    profile: str
    about: str = ""
    outcome: Outcome
    advice: bool = False
    """It failed, but nothing that MUST hold broke."""
    requirements: list[str]
    flaws: list[RecordedFinding] = []
    reason: str | None = None
    """Why it could not run or does not apply."""
    known: Reason | None = None
    again: str | None = None
    """The command that runs this check again."""
    remarks: list[str] = []
    """What else a reader should know of it."""
    seconds: float = 0.0
    trace: list[TraceEntry] = []

    @property
    def column(self) -> str:
        """Where it stands in a matrix: its profile, or the one thing of several that it is about."""
        return self.about or self.profile

    @property
    def name(self) -> str:
        return f"{self.column}:{self.check}"

    @property
    def bad(self) -> bool:
        """Whether a reader has to look at it."""
        return not self.outcome.ok


class Verdict(Enum):
    CONFORMS = "conforms"
    """The level is given: each of its MUSTs was run and passed."""
    AS_LISTED = "fails as listed"
    """Nothing failed that was not announced. What is announced has failed, so there is no level."""
    SELECTED = "passed what was selected"
    """Only some checks were asked for: there is no level."""
    DOES_NOT = "does not conform"
    COULD_NOT_TELL = "could not tell"
    """Nothing failed, and not all of it was run."""

    @property
    def status(self) -> int:
        """Return the exit status."""
        return {Verdict.DOES_NOT: 1, Verdict.COULD_NOT_TELL: 2}.get(self, 0)


class Footer(_Line):
    kind: Literal["end"] = "end"
    verdict: Verdict
    level: str | None = None
    """The highest level whose MUSTs, and those of the levels below, were all run and passed; None: no level."""
    claim: str
    counts: dict[str, int]
    seconds: float
    last_words: dict[str, str] = {}
    """What a subject that the suite started had written when it ended, by profile."""


class Record(_Line):
    """A whole run."""

    head: Header
    entries: list[Entry] = Field(default_factory=list)
    foot: Footer

    def clause(self, requirement: str) -> Clause:
        found = next((clause for clause in self.head.clauses if clause.id == requirement), None)
        return found or Clause(id=requirement, level="", must=True)


class Standing(Enum):
    """How one requirement came out in one profile."""

    MET = "met"
    BROKEN = "broken"
    UNKNOWN = "could not tell"


def standings(entries: Iterable[Entry]) -> dict[str, dict[str, Standing]]:
    """Return by column and requirement how it came out. What does not apply is left out."""
    by_requirement: dict[str, dict[str, Standing]] = {}
    worst = [Standing.MET, Standing.UNKNOWN, Standing.BROKEN]
    for entry in entries:
        if entry.outcome is Outcome.NOT_APPLICABLE:
            continue
        broken = {flaw.requirement for flaw in entry.flaws}
        mine = by_requirement.setdefault(entry.column, {})
        for requirement in entry.requirements:
            if entry.outcome is Outcome.NOT_RUN:
                now = Standing.UNKNOWN
            elif entry.outcome is Outcome.FAILED_AS_EXPECTED and not broken:
                now = Standing.BROKEN
            else:
                now = Standing.BROKEN if requirement in broken else Standing.MET
            mine[requirement] = max(mine.get(requirement, now), now, key=worst.index)
    return by_requirement


class Share(NamedTuple):
    """How many of the MUSTs of a level, and of those below it, were run, and how many passed."""

    passed: int
    run: int
    due: int


def share(head: Header, entries: Sequence[Entry], level: str | None = None) -> Share:
    """Count the MUSTs up to a level. One that was not run, or did not pass, in one profile counts as neither.

    A check that is listed as known failing has not passed. A MUST of which nothing applies is left out.
    """
    ids = {clause.id for clause in head.clauses if clause.must and clause.level <= (level or head.level)}
    results: dict[str, list[Standing]] = {}
    found = standings(entries)
    asked = {(entry.column, id) for entry in entries for id in entry.requirements}
    due = {subject.column: set(subject.due) for subject in head.judged}
    for column in {*due, *(column for column, _ in asked)}:
        mine = found.get(column, {})
        for id in ids & (due.get(column) or {id for other, id in asked if other == column}):
            if id in mine or (column, id) not in asked:
                results.setdefault(id, []).append(mine.get(id, Standing.UNKNOWN))
    run = [each for each in results.values() if Standing.UNKNOWN not in each]
    passed = sum(set(each) == {Standing.MET} for each in run)
    return Share(passed, len(run), len(results))


def level_given(head: Header, entries: Sequence[Entry]) -> str | None:
    """Return the highest level of which every MUST was run and passed, and those of every level below it."""
    surprises = any(entry.outcome is Outcome.PASSED_UNEXPECTEDLY for entry in entries)
    given = None
    if head.selected or surprises:
        return None
    for level in sorted({clause.level for clause in head.clauses if clause.level <= head.level} | {head.level}):
        counted = share(head, entries, level)
        if counted.passed < counted.due:
            break
        given = level if counted.due else None
    return given


def level_text(head: Header, entries: Sequence[Entry]) -> str:
    """Return the level where it is given, else how much of it was run: `L1, 19 of 26 run`."""
    if level_given(head, entries) == head.level:
        return head.level
    counted = share(head, entries)
    if head.selected or counted.run < counted.due or not counted.due:
        return f"{head.level}, {counted.run} of {counted.due} run"
    return f"{head.level}, {counted.passed} of {counted.due} passed"


class Score(NamedTuple):
    """How many requirements hold, of how many that were judged."""

    met: int
    judged: int

    def __str__(self) -> str:
        return f"{self.met}/{self.judged}"


def score(clauses: Iterable[Clause], entries: Iterable[Entry], *, must: bool) -> Score:
    """Count requirements of one weight. One that breaks in any profile does not hold."""
    by_profile = standings(entries).values()
    required = {clause.id for clause in clauses if clause.must is must}
    judged_ids = {requirement_id for each in by_profile for requirement_id in each if requirement_id in required}
    met = {
        requirement_id
        for requirement_id in judged_ids
        if all(each.get(requirement_id, Standing.MET) is Standing.MET for each in by_profile)
    }
    return Score(len(met), len(judged_ids))


def claim(head: Header, entries: Sequence[Entry]) -> str:
    """Return the one line that says what was judged and how it came out."""
    parts = [f"{score(head.clauses, entries, must=True)} MUST"]
    should = score(head.clauses, entries, must=False)
    if should.judged:
        parts.append(f"{should} SHOULD")
    if known_failures := sum(entry.outcome is Outcome.FAILED_AS_EXPECTED for entry in entries):
        parts.append(f"{known_failures} known failing")
    given = level_given(head, entries)
    if given is not None and given != head.level:
        parts.append(f"level given: {given}")
    level = level_text(head, entries)
    return f"{head.contract} {level} / {head.scope}, suite {head.suite}: {', '.join(parts)}"


def counts(entries: Iterable[Entry]) -> dict[str, int]:
    """Count outcomes, advice apart from failures."""
    tally = Counter("advised" if entry.advice else entry.outcome.value for entry in entries)
    words = ("passed", "failed", "advised", *(outcome.value for outcome in Outcome))
    return {word: tally[word] for word in words}


def verdict(head: Header, entries: Sequence[Entry]) -> Verdict:
    """A failure tells. Without one, the level is given if each of its MUSTs was run and passed."""
    outcomes = {entry.outcome for entry in entries if not entry.advice}
    if {Outcome.FAILED, Outcome.PASSED_UNEXPECTEDLY} & outcomes:
        return Verdict.DOES_NOT
    ran = {Outcome.PASSED, Outcome.FAILED_AS_EXPECTED} & outcomes
    not_run = any(entry.outcome is Outcome.NOT_RUN for entry in entries)
    if head.selected:
        return Verdict.SELECTED if ran and not not_run else Verdict.COULD_NOT_TELL
    if level_given(head, entries) == head.level and not (head.strict and not_run):
        return Verdict.CONFORMS
    counted = share(head, entries)
    if not ran or counted.run < counted.due or (head.strict and not_run):
        return Verdict.COULD_NOT_TELL
    return Verdict.AS_LISTED if Outcome.FAILED_AS_EXPECTED in outcomes else Verdict.COULD_NOT_TELL


def footer(head: Header, entries: Sequence[Entry], *, seconds: float, last_words: dict[str, str]) -> Footer:
    """Return the last line of a record."""
    return Footer(
        verdict=verdict(head, entries),
        level=level_given(head, entries),
        claim=claim(head, entries),
        counts=counts(entries),
        seconds=seconds,
        last_words=last_words,
    )


def lines(record: Record) -> Iterator[str]:
    """Write a record."""
    everything: list[Header | Entry | Footer] = [record.head, *record.entries, record.foot]
    for record_line in everything:
        yield line(record_line)


def line(record_line: Header | Entry | Footer) -> str:
    """Write one line of a record."""
    text = json.dumps(_document(record_line), ensure_ascii=False, default=lambda word: word.value)
    return _HALF.sub(lambda match: f"\\\\u{ord(match.group()):04x}", text) + "\n"


def _document(record_line: Header | Entry | Footer) -> dict[str, Json]:
    document: dict[str, Json] = record_line.model_dump()
    if isinstance(record_line, Entry):
        document["flaws"] = [flaw.model_dump(exclude_unset=True) for flaw in record_line.flaws]
    return document


def read(path: Path) -> Record:
    """Read a record. Raises UsageError where it is none, or is cut short."""
    with usable(path):
        text = path.read_text(encoding="utf-8")
    rows = [row for row in text.split("\n") if row.strip()]
    if not rows:
        raise UsageError(f"{path}: empty, where a record of a run was expected")
    try:
        documents = [json.loads(row) for row in rows[:-1]]
        if not documents:
            raise UsageError(f"{path}: no record of a run: one of `conformance check --report json=FILE` is needed")
        head = Header.model_validate(documents[0])
        entries = [Entry.model_validate(document) for document in documents[1:]]
        last = rows[-1]
    except (ValueError, ValidationError) as problem:
        raise UsageError(f"{path}: no record of a run: {str(problem).splitlines()[0]}") from None
    try:
        foot = Footer.model_validate_json(last)
    except ValidationError:
        raise UsageError(f"{path}: the record has no last line with its counts: the run was cut short") from None
    return Record(head=head, entries=entries, foot=foot)
