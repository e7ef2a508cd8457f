"""The leak audit: searches every text that an agent sees for every fix that is known.

Knows: the kinds of audited things. Does not know: terminals, clocks, exit statuses.

Searches texts for fixes, and decides what counts as a leak.

A value counts only if the request does not hold it already. A short or common value counts only where it is written as
a value: quoted, assigned, prescribed, or as a limit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corrigible.schema.exchange import Json

from .subject import AuditSubject, packs, rendered, task_file
from .text import Fix, Strength, Text, View, as_number, plain, same, strength, views


@dataclass(frozen=True, slots=True)
class Hit:
    """A fix that occurs in a text outside of the feedback."""

    fix: Fix
    text: Text
    how: str
    """The form of the occurrence: exact, in words, URL-encoded, ..."""
    marked: str
    """The text around it, with the value marked."""


def search(text: Text, fixes: Iterable[Fix]) -> Iterator[Hit]:
    """Yield each fix that a text gives away, once."""
    readings = tuple(views(text.text))
    reported: set[str] = set()
    for fix in fixes:
        key = plain(str(fix.value))
        if key in reported:
            continue
        for view in readings:
            match = _found(view, text, fix)
            if match is not None:
                start, end, spelling = match
                reported.add(key)
                how_written = ", ".join(part for part in (spelling, view.how) if part)
                yield Hit(fix, text, how_written, view.marked(start, end))
                break


_LOOSE = 4
"""The fewest letters and digits of a value that is searched in other spellings: `o/r` is not "or"."""
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")


def _found(view: View, text: Text, fix: Fix) -> tuple[int, int, str] | None:
    if fix.source == "paraphrase":
        # A pack's author listed it because it gives the answer away.
        return next(((start, end, "a paraphrase") for start, end in view.places(str(fix.value))), None)
    number = as_number(fix.value)
    if number is not None:
        return _number(view, text, fix, number)
    return _word(view, text, fix)


def _word(view: View, text: Text, fix: Fix) -> tuple[int, int, str] | None:
    value = str(fix.value)
    core = _EDGES.sub("", value) or value
    for start, end in view.places(value):
        occurrence = view.text[start:end]
        if occurrence in (core, value):
            spelling = "exact"
        elif plain(occurrence) == plain(core):
            spelling = "in another case"
        else:
            spelling = "spelt differently"
        loose = spelling == "spelt differently"
        vague = fix.source == "look-up" and not any(map(str.isdigit, value))
        if loose and (vague or sum(map(str.isalnum, value)) < _LOOSE):
            continue
        if view.repeats(start, end, text.known, longer=not loose):
            continue
        # `read_write_once` for `ReadWriteOnce` is an identifier still; "read, write, once" may be English.
        needed = strength(value, close=not loose or not any(char.isspace() for char in occurrence))
        if fix.source == "let" and value.isalpha():
            needed = min(needed, Strength.WEAK)  # half of the words there are names of members
        if value in text.known:
            needed = min(needed, Strength.OWN)
        if _counts(view, text, fix, start, end, needed, loose=loose):
            return start, end, spelling
    return None


def _number(view: View, text: Text, fix: Fix, value: float) -> tuple[int, int, str] | None:
    for number in view.numbers:
        spelling = same(number, value, name=fix.name)
        if spelling is None:
            continue
        needed = strength(fix.value)
        if fix.value in text.known or any(value_there in text.known for value_there in number.values):
            needed = Strength.OWN
        elif number.casual:
            needed = min(needed, Strength.WEAK)
        start, end = number.start, number.end
        if view.repeats(start, end, text.known, longer=True):
            continue
        if number.casual and not view.counts(end, fix.words):
            continue
        if _counts(view, text, fix, start, end, needed, loose=number.spelt):
            return start, end, "exact" if view.text[start:end] == str(fix.value) else spelling
    return None


def _counts(view: View, text: Text, fix: Fix, start: int, end: int, needed: Strength, *, loose: bool) -> bool:
    if needed is Strength.STRONG:
        return True
    is_named = bool(fix.name) and (view.assigned(start, fix.name) or view.belongs(start, end, fix.name))
    if needed is Strength.OWN:
        return is_named
    if is_named or view.assigned(start) or view.prescribed(start, end):
        return True
    number = as_number(fix.value) is not None
    if number and (view.limits(start) or view.counts(end, fix.words)):
        return True
    if loose:
        return False
    return view.quoted(start, end) or (text.whole and (start, end) == (0, len(view.text.strip())))


SCHEMA = "corrigible-leak-audit/1"
_LIFT = Path(__file__).parent.parent / "lift" / "tasks"
"""The tasks that `conformance lift` gives agents."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The audited subjects and the hits."""

    subjects: tuple[AuditSubject, ...]
    hits: tuple[Hit, ...]

    @property
    def leaks(self) -> tuple[Hit, ...]:
        """Hits in our own texts."""
        return tuple(hit for hit in self.hits if hit.text.owner == "ours")

    @property
    def disclosed(self) -> tuple[Hit, ...]:
        """Hits in texts of third parties, which we cannot change; they are reported only."""
        return tuple(hit for hit in self.hits if hit.text.owner != "ours")

    @property
    def texts(self) -> int:
        return sum(len(scope.texts) for subject in self.subjects for scope in subject.scopes)

    @property
    def comparisons(self) -> int:
        return sum(len(scope.texts) * len(scope.fixes) for subject in self.subjects for scope in subject.scopes)


def gather(names: Sequence[str | None], tasks: Sequence[Path], corrigible: Sequence[str]) -> list[AuditSubject]:
    """Return the subjects. The name `None` means all packs and tasks of this package. Raises UsageError."""
    subjects = [pack for name in names for pack in packs(rendered(name, corrigible))]
    shipped = [pack.tasks for pack in subjects if pack.tasks is not None]
    lift_tasks = sorted(_LIFT.glob("*.yaml")) if None in names else []
    paths = list({path.resolve(): path for path in (*shipped, *lift_tasks, *tasks)}.values())
    return [*subjects, *(task_file(path, subjects) for path in paths)]


def audit(subjects: Sequence[AuditSubject]) -> Audit:
    """Search all scopes."""
    scopes = (scope for subject in subjects for scope in subject.scopes)
    hits = (hit for scope in scopes for text in scope.texts for hit in search(text, scope.fixes))
    return Audit(tuple(subjects), tuple(_once(hits)))


def _once(all_hits: Iterable[Hit]) -> Iterator[Hit]:
    seen: set[tuple[str, str, str]] = set()
    for hit in all_hits:
        key = (hit.text.where, hit.text.channel, str(hit.fix.value))
        if key not in seen:
            seen.add(key)
            yield hit


def document(result: Audit, *, suite: str, date: str) -> dict[str, Json]:
    """Return the audit as JSON. Without a leak it is the certificate."""
    disclosed = result.disclosed
    return {
        "schema": SCHEMA,
        "suite": suite,
        "date": date,
        "leaks": [_hit(hit) for hit in result.leaks],
        "audited": [
            {"kind": subject.kind, "name": subject.name, "sha256": subject.digest, **subject.facts}
            for subject in result.subjects
        ],
        "texts": result.texts,
        "comparisons": result.comparisons,
        "disclosed": {
            "what": "native answers of third parties that hold the fix themselves; they are the same in every mode",
            "count": len(disclosed),
            "by_channel": dict(sorted(Counter(hit.text.channel for hit in disclosed).items())),
            "by_rule": dict(sorted(Counter(hit.text.rule or hit.text.where for hit in disclosed).items())),
            "each": [_hit(hit) for hit in disclosed],
        },
    }


def _hit(hit: Hit) -> dict[str, Json]:
    return {
        "where": hit.text.where,
        "channel": hit.text.channel,
        "value": hit.fix.value,
        "rule": hit.text.rule,
        "known_from": f"{hit.fix.source}: {hit.fix.origin}",
        "how": hit.how,
        "text": hit.marked,
    }
