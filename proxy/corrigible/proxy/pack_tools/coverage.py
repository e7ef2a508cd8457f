"""Compares documented errors, observed errors, rules and cases. Pure: gets parsed files, returns rows.

An error is covered if a case that passes, or each observed response of its kind, shows that a rule answers it. Which
rules could match an error besides is listed, and counts for nothing. The same holds for rules and their entries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.rules.language.rule import Branch, Rule
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
    branches: frozenset[tuple[str, Branch]] = frozenset()
    """The entries under `suggest` that gave it, with their rules; unknown of a line of a log."""


class Exercise(NamedTuple):
    """A case that passes, and that a rule matches."""

    error: Error
    rule: str
    branches: frozenset[Branch] = frozenset()
    """The entries under `suggest` that gave what the case expects."""


class Entry(NamedTuple):
    """An entry under `suggest`, or a member of its group that has an `if`."""

    rule: str
    branch: Branch
    cases: int
    """The number of cases that reached it and pass."""
    observed: int
    """The number of observed errors that reached it."""

    @property
    def covered(self) -> bool:
        return self.cases + self.observed > 0

    def document(self) -> dict[str, Json]:
        return {**self._asdict(), "branch": list(self.branch), "covered": self.covered}


class Row(NamedTuple):
    error: Error
    documented: bool
    observed: int
    corrected: int
    rules: tuple[str, ...]
    """The rules that could match."""
    cases: int
    """The number of cases that one of them matches, and that pass."""

    @property
    def covered(self) -> bool:
        """Whether all observed errors were corrected; if none was observed, whether a case shows a correction."""
        return self.corrected == self.observed if self.observed else self.cases > 0

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
    entries: tuple[Entry, ...]
    """Those of each rule that is in use, in the order of the rules."""
    idle: tuple[str, ...]
    """Rules that gave nothing in any case that passes, nor in an observed response."""

    @property
    def rules(self) -> Share:
        """Return how many rules gave something."""
        known = len({one.rule for one in self.entries})
        return Share(known - len(self.idle), known)

    @property
    def reached(self) -> Share:
        """Return how many entries under `suggest` gave something."""
        return Share(sum(one.covered for one in self.entries), len(self.entries))

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
            "rules": self.rules.document(),
            "entries": {**self.reached.document(), "each": [one.document() for one in self.entries]},
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
    for error in dict.fromkeys([*documented_errors, *seen_at, *cases_at]):
        observations, cases = seen_at.get(error, []), cases_at.get(error, [])
        shown_by_rule = {rule for observation in observations for rule in observation.rules} | {
            exercise.rule for exercise in cases
        }
        able = tuple(rule.id for rule in rules if rule.id in shown_by_rule or could_match(rule, error))
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
    used = [rule for rule in rules if rule.status != "deprecated"]
    met = {rule for observation in seen for rule in observation.rules} | {exercise.rule for exercise in exercises}
    by_case = Counter((one.rule, branch) for one in exercises for branch in one.branches)
    by_traffic = Counter(branch for one in seen for branch in one.branches)
    entries = tuple(
        Entry(rule.id, branch, by_case[rule.id, branch], by_traffic[rule.id, branch])
        for rule in used
        for branch in rule.branches()
    )
    idle = tuple(rule.id for rule in used if rule.id not in met)
    return Coverage(tuple(sorted(rows, key=_order)), entries, idle)


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
