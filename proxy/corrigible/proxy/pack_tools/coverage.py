"""Documented errors, observed errors, rules and cases, laid over each other. Pure: what was read goes in, rows out.

A rule counts for an error where it names its operation or its code, or asks for nothing but the very status; one that
knows messages only counts where a case or an observed answer shows that it speaks there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.rules.language.rule import Rule
from corrigible.schema.exchange import Json

DEFAULT: Final = "default"


class Error(NamedTuple):
    """One kind of refusal. `status` may be documented as `4XX` or `default`, `code` is empty where none is known."""

    operation: str
    status: str
    code: str = ""


class Seen(NamedTuple):
    """One refusal in recorded traffic."""

    error: Error
    rules: tuple[str, ...]
    """Which rules spoke."""
    answered: bool
    """Whether anything was added to it, by a rule or from the description."""


class Exercise(NamedTuple):
    """A case in which a rule speaks."""

    error: Error
    rule: str


class Row(NamedTuple):
    error: Error
    documented: bool
    seen: int
    answered: int
    rules: tuple[str, ...]
    """Which rules could speak."""
    cases: int
    """In how many cases one of them does."""

    @property
    def covered(self) -> bool:
        """Whether any that was seen was answered; where none was seen, whether a rule could speak."""
        return self.answered > 0 if self.seen else bool(self.rules)

    def document(self) -> dict[str, Json]:
        return {
            **self.error._asdict(),
            "documented": self.documented,
            "seen": self.seen,
            "answered": self.answered,
            "rules": list(self.rules),
            "cases": self.cases,
            "covered": self.covered,
        }


class Share(NamedTuple):
    part: int
    whole: int

    @property
    def percent(self) -> float | None:
        """Return the share, None of nothing."""
        return 100 * self.part / self.whole if self.whole else None

    def document(self) -> dict[str, Json]:
        percent = self.percent
        return {"covered": self.part, "of": self.whole, "percent": None if percent is None else round(percent, 1)}

    def __str__(self) -> str:
        percent = self.percent
        return f"{self.part} of {self.whole}" + ("" if percent is None else f" ({percent:.1f} %)")


class Coverage(NamedTuple):
    rows: tuple[Row, ...]
    idle: tuple[str, ...]
    """Rules that no documented or observed error and no case of these operations leads to."""

    @property
    def documented(self) -> Share:
        return _share([row for row in self.rows if row.documented])

    @property
    def observed(self) -> Share:
        """Return how many of the kinds that were seen are covered."""
        return _share([row for row in self.rows if row.seen])

    @property
    def answers(self) -> Share:
        """Return how many of the refusals that were seen were answered."""
        return Share(sum(row.answered for row in self.rows), sum(row.seen for row in self.rows))

    def document(self) -> dict[str, Json]:
        return {
            "documented": self.documented.document(),
            "observed": self.observed.document(),
            "answers": self.answers.document(),
            "idle_rules": list(self.idle),
            "errors": [row.document() for row in self.rows],
        }


def _share(rows: Sequence[Row]) -> Share:
    return Share(sum(row.covered for row in rows), len(rows))


def coverage(
    documented: Iterable[Error], seen: Sequence[Seen], exercises: Sequence[Exercise], rules: Sequence[Rule]
) -> Coverage:
    """Lay the four over each other: a row for every documented error, and for every further one seen or in a case."""
    known = dict.fromkeys(documented)
    places = _Places(known)
    seen_at: dict[Error, list[Seen]] = {}
    for one in seen:
        seen_at.setdefault(places.of(one.error), []).append(one)
    cases_at: dict[Error, list[Exercise]] = {}
    for exercise in exercises:
        cases_at.setdefault(places.of(exercise.error), []).append(exercise)
    rows = []
    speaking: set[str] = set()
    for error in dict.fromkeys([*known, *seen_at, *cases_at]):
        here, cases = seen_at.get(error, []), cases_at.get(error, [])
        shown = {rule for one in here for rule in one.rules} | {one.rule for one in cases}
        able = tuple(rule.id for rule in rules if rule.id in shown or could_speak(rule, error))
        speaking.update(able)
        rows.append(Row(error, places.documents(error), len(here), sum(one.answered for one in here), able, len(cases)))
    idle = tuple(rule.id for rule in rules if rule.id not in speaking)
    return Coverage(tuple(sorted(rows, key=_order)), idle)


def _order(row: Row) -> tuple[int, bool, str, str, str]:
    """Put what was seen most first, and of the same number what nobody covers."""
    return (-row.seen, row.covered, *row.error)


def could_speak(rule: Rule, error: Error) -> bool:
    """Whether a rule names this error, or would speak whatever an answer of that status said."""
    on = rule.match
    if rule.status == "deprecated" or not _is_status(on.statuses, error.status):
        return False
    if on.operations and error.operation not in on.operations:
        return False
    if on.codes and error.code:
        return error.code in on.codes
    if on.operations:
        return True
    asks_more = on.codes or on.message is not None or on.types or on.params or rule.when is not None
    return not asks_more and error.status in map(str, on.statuses)


def _is_status(wanted: Sequence[int], status: str) -> bool:
    if not wanted:
        return True
    if status == DEFAULT:
        return any(one >= 400 for one in wanted)
    return any(_fits(status, str(one)) for one in wanted)


def _fits(documented: str, status: str) -> bool:
    return documented == status or (documented.endswith("XX") and documented[0] == status[:1])


class _Places:
    """Where a refusal belongs among the documented ones."""

    def __init__(self, documented: Mapping[Error, None]) -> None:
        self._codes: dict[tuple[str, str], set[str]] = {}
        for error in documented:
            self._codes.setdefault((error.operation, error.status), set()).add(error.code)

    def of(self, error: Error) -> Error:
        """Return the documented error that this one is, else itself."""
        for status in (error.status, f"{error.status[:1]}XX", DEFAULT):
            codes = self._codes.get((error.operation, status))
            if codes is not None:
                if error.code in codes:
                    return Error(error.operation, status, error.code)
                return Error(error.operation, status) if "" in codes else Error(error.operation, status, error.code)
        return error

    def documents(self, error: Error) -> bool:
        codes = self._codes.get((error.operation, error.status))
        return codes is not None and (error.code in codes or "" in codes or not error.code)
