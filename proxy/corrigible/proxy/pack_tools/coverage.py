"""Compares documented errors, observed errors, rules and cases. Pure: gets what was read, returns rows.

A rule covers an error if it names the operation or the code, or only the status. A rule that matches only messages
covers an error if a case or an observed response shows that it matches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.rules.language.rule import Rule
from corrigible.schema.exchange import Json

DEFAULT: Final = "default"
UNREAD: Final = "(unread)"
"""The code of observed errors of which nothing was read: they are a kind of their own, which no rule covers."""


class Error(NamedTuple):
    """One kind of error. `status` may be documented as `4XX` or `default`; `code` is empty if none is known."""

    operation: str
    status: str
    code: str = ""


class ObservedError(NamedTuple):
    """One error in recorded traffic."""

    error: Error
    rules: tuple[str, ...]
    """The rules that matched."""
    is_corrected: bool
    """Whether anything was added, by a rule or from the description."""


class Exercise(NamedTuple):
    """A case that a rule matches."""

    error: Error
    rule: str


class Row(NamedTuple):
    error: Error
    documented: bool
    observed: int
    corrected: int
    rules: tuple[str, ...]
    """The rules that could match."""
    cases: int
    """The number of cases that one of them matches."""

    @property
    def covered(self) -> bool:
        """Whether all observed errors were corrected; if none was observed, whether a rule could match."""
        return self.corrected == self.observed if self.observed else bool(self.rules)

    def document(self) -> dict[str, Json]:
        return {
            **self.error._asdict(),
            "documented": self.documented,
            "seen": self.observed,
            "answered": self.corrected,
            "rules": list(self.rules),
            "cases": self.cases,
            "covered": self.covered,
        }


class Share(NamedTuple):
    part: int
    whole: int

    @property
    def percent(self) -> float | None:
        """Return the share, None if the whole is 0."""
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
    """Rules that match no documented or observed error and no case of these operations."""

    @property
    def documented(self) -> Share:
        return _share([row for row in self.rows if row.documented])

    @property
    def observed(self) -> Share:
        """Return how many observed kinds of errors are covered."""
        return _share([row for row in self.rows if row.observed])

    @property
    def unread(self) -> int:
        """Return how many observed errors could not be read."""
        return sum(row.observed - row.corrected for row in self.rows if row.error.code == UNREAD)

    @property
    def corrected(self) -> Share:
        """Return how many observed errors were corrected."""
        return Share(sum(row.corrected for row in self.rows), sum(row.observed for row in self.rows))

    def document(self) -> dict[str, Json]:
        return {
            "documented": self.documented.document(),
            "observed": self.observed.document(),
            "answers": self.corrected.document(),
            "unread": self.unread,
            "idle_rules": list(self.idle),
            "errors": [row.document() for row in self.rows],
        }


def _share(rows: Sequence[Row]) -> Share:
    return Share(sum(row.covered for row in rows), len(rows))


def coverage(
    documented: Iterable[Error], seen: Sequence[ObservedError], exercises: Sequence[Exercise], rules: Sequence[Rule]
) -> Coverage:
    """Return a row for each documented error, and for each further error that was observed or has a case."""
    documented_errors = dict.fromkeys(documented)
    places = _Places(documented_errors)
    seen_at: dict[Error, list[ObservedError]] = {}
    for observation in seen:
        seen_at.setdefault(places.of(observation.error), []).append(observation)
    cases_at: dict[Error, list[Exercise]] = {}
    for exercise in exercises:
        cases_at.setdefault(places.of(exercise.error), []).append(exercise)
    rows = []
    matching: set[str] = set()
    for error in dict.fromkeys([*documented_errors, *seen_at, *cases_at]):
        observations, cases = seen_at.get(error, []), cases_at.get(error, [])
        shown_by_rule = {rule for observation in observations for rule in observation.rules} | {
            exercise.rule for exercise in cases
        }
        able = tuple(rule.id for rule in rules if rule.id in shown_by_rule or could_match(rule, error))
        matching.update(able)
        rows.append(
            Row(
                error,
                places.documents(error),
                len(observations),
                sum(observation.is_corrected for observation in observations),
                able,
                len(cases),
            )
        )
    idle = tuple(rule.id for rule in rules if rule.id not in matching)
    return Coverage(tuple(sorted(rows, key=_order)), idle)


def _order(row: Row) -> tuple[int, bool, str, str, str]:
    """Sort by the number of observations; for the same number, errors without a rule come first."""
    return (-row.observed, row.covered, *row.error)


def could_match(rule: Rule, error: Error) -> bool:
    """Whether a rule names this error, or matches every response with its status."""
    on = rule.match
    if rule.status == "deprecated" or not _is_status(on.statuses, error.status):
        return False
    if on.operations and error.operation not in on.operations:
        return False
    if on.codes and error.code:
        return error.code in on.codes
    if on.operations:
        return True
    is_narrower = on.codes or on.message is not None or on.types or on.params or rule.when is not None
    return not is_narrower and error.status in map(str, on.statuses)


def _is_status(wanted: Sequence[int], status: str) -> bool:
    if not wanted:
        return True
    if status == DEFAULT:
        return any(one >= 400 for one in wanted)
    return any(_fits(status, str(one)) for one in wanted)


def _fits(documented: str, status: str) -> bool:
    return documented == status or (documented.endswith("XX") and documented[0] == status[:1])


class _Places:
    """Finds the documented error that an observed one belongs to."""

    def __init__(self, documented: Mapping[Error, None]) -> None:
        self._codes: dict[tuple[str, str], set[str]] = {}
        for error in documented:
            self._codes.setdefault((error.operation, error.status), set()).add(error.code)

    def of(self, error: Error) -> Error:
        """Return the documented error for this one, else the error itself."""
        if error.code == UNREAD:
            return error
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
