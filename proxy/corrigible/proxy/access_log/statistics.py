"""What became of all exchanges since the start, in numbers: for the summary, the metrics and `corrigible status`.

Knows: entries. Does not know: clocks, files, how numbers are shown. A number of its own has each rule, operation and
reason, but only so many of them: who calls must not be able to fill the memory.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from .entry import Entry, Verdict, redact

BUCKETS: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper bounds in seconds of the classes of correction times."""
OTHER: Final = "other"
_AMOUNT: Final = re.compile(r":? took \d+ ms$")
"""What each refusal of one kind has of its own."""
_MOST_NAMES = 512
_SHOWN = 5
_LONGEST = 120

REFUSALS: Final = (
    Verdict.CORRECTED,
    Verdict.ASKED,
    Verdict.WAIT,
    Verdict.FINAL,
    Verdict.DIAGNOSED,
    Verdict.UNCHANGED,
)
"""The verdicts about refusals."""
_IN_WORDS: Final = {
    Verdict.CORRECTED: "corrected",
    Verdict.ASKED: "answered with a question",
    Verdict.WAIT: "to be sent again later",
    Verdict.FINAL: "final",
    Verdict.DIAGNOSED: "diagnosed",
    Verdict.UNCHANGED: "unchanged",
}


class Kind(NamedTuple):
    """A kind of refusal that was passed on unchanged."""

    status: str
    operation: str
    """Empty where it has no name."""
    reason: str

    def __str__(self) -> str:
        return f"{self.status} {self.operation or 'unknown operation'}: {self.reason}"


@dataclass(slots=True)
class Statistics:
    """Counts what ended."""

    successes: int = 0
    """Apart from other verdicts: most requests are, and to count one must cost next to nothing."""
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    """Requests by what became of them, without successes."""
    statuses: Counter[str] = field(default_factory=Counter)
    """Refusals by status: 404, or the name of a gRPC code."""
    rules: Counter[str] = field(default_factory=Counter)
    """Refusals by the rule that had something to say; what no rule knew may come from the description."""
    unchanged: Counter[Kind] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    """Requests without an answer, by what was wrong with the upstream."""
    lookups: int = 0
    durations: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    """Corrections by the time they took: of each class in `BUCKETS`, and longer ones."""
    seconds: float = 0.0
    """Of all corrections."""
    reloads: Counter[str] = field(default_factory=Counter)
    """Reloads of packs and descriptions: `done` or `failed`."""

    def count_success(self) -> None:
        self.successes += 1

    def write(self, entry: Entry) -> None:
        """Count an exchange that ended."""
        verdict = entry.verdict
        if verdict is Verdict.SUCCESS:
            self.successes += 1
        else:
            self.verdicts[verdict] += 1
        self.lookups += entry.lookups
        if entry.correction is not None:
            self.durations[bisect_left(BUCKETS, entry.correction)] += 1
            self.seconds += entry.correction
        if verdict is Verdict.FAILED:
            _count(self.failures, redact(entry.failure or "")[:_LONGEST])
        elif verdict in REFUSALS:
            status = entry.code or str(entry.status)
            self.statuses[status] += 1
            for rule in entry.rules:
                _count(self.rules, rule)
            if verdict is Verdict.UNCHANGED:
                reason = _AMOUNT.sub("", redact(entry.error or entry.reason or "no reason is known"))[:_LONGEST]
                kind = Kind(status, entry.operation or "", reason)
                is_new = kind not in self.unchanged and len(self.unchanged) >= _MOST_NAMES
                self.unchanged[Kind(status, OTHER, OTHER) if is_new else kind] += 1

    def copy(self) -> Statistics:
        """Return the numbers as they are now."""
        return replace(self, **{name: copy(getattr(self, name)) for name in _CONTAINERS})

    @property
    def requests(self) -> int:
        return self.successes + self.verdicts.total()

    @property
    def refusals(self) -> int:
        return sum(self.verdicts[verdict] for verdict in REFUSALS)

    def summary(self) -> Iterator[str]:
        """Yield the lines of a summary: nothing where nobody called."""
        if not self.requests:
            return
        counts = [f"{self.verdicts[one]:,} {_IN_WORDS[one]}" for one in REFUSALS if self.verdicts[one]]
        line = f"{_number(self.requests, 'request')}, {_number(self.refusals, 'refusal')}"
        yield line + (f": {', '.join(counts)}" if counts else "")
        if self.rules:
            yield f"by rule: {_most(self.rules)}"
        for kind, count in self.unchanged.most_common(_SHOWN):
            yield f"unchanged: {count:,} x {kind}"
        if len(self.unchanged) > _SHOWN:
            rest = self.unchanged.total() - sum(count for _, count in self.unchanged.most_common(_SHOWN))
            yield f"unchanged: {rest:,} of {_number(len(self.unchanged) - _SHOWN, 'other kind')}"
        if self.failures:
            yield f"without an answer from the API: {_most(self.failures)}"


_CONTAINERS: Final = ("verdicts", "statuses", "rules", "unchanged", "failures", "durations", "reloads")


def _count(counter: Counter[str], name: str) -> None:
    counter[name if name in counter or len(counter) < _MOST_NAMES else OTHER] += 1


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _most(counter: Counter[str]) -> str:
    shown = [f"{count:,} x {name}" for name, count in counter.most_common(_SHOWN)]
    rest = counter.total() - sum(count for _, count in counter.most_common(_SHOWN))
    return ", ".join(shown + ([f"{rest:,} x others"] if rest else []))
