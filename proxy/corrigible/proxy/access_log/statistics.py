"""What became of all exchanges since the start, in numbers: for the summary, the metrics and `corrigible status`.

Knows: entries. Does not know: clocks, files, how numbers are shown. A number of its own has each rule, operation and
reason, but only so many of them: who calls must not be able to fill the memory.

Where front ends report what became of each exchange. All that shows it gets the same facts from here.

Knows: the log, the terminal, the statistics, and who else listens. Does not know: HTTP, gRPC, rules.
Nothing here waits, and nothing raises: live traffic matters more than its record.
"""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from corrigible.schema.printable import printable

from .entry import TOOL, AccessLog, Entry, Verdict, redact
from .terminal import Terminal, counted

if TYPE_CHECKING:
    from .drift import DriftWatch

BUCKETS: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper bounds in seconds of the classes of correction times."""
REQUEST_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds in seconds of the classes of whole exchanges. Envoy counts whole milliseconds."""
OTHER: Final = "other"
Name = TypeVar("Name", bound=Hashable)
_AMOUNT: Final = re.compile(r":? took \d+ ms$")
"""What each refusal of one kind has of its own."""
_MOST_NAMES = 512
_SHOWN = 5
_TOOL: Final = "tool"
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
    api: str = ""

    def __str__(self) -> str:
        return f"{self.status} {self.operation or 'unknown operation'}: {self.reason}"


class Group(NamedTuple):
    """Requests that are counted together."""

    api: str
    operation: str
    """Empty where it has no name, or is not looked for: of a success that nobody had to read."""
    status_class: str
    """`2xx`, `4xx`, ...: of what the caller got. `none` where the caller was gone, `tool` for the call of a tool."""
    verdict: Verdict


class Refused(NamedTuple):
    """Refusals that are counted together."""

    api: str
    operation: str
    status: str
    """404, or the name of a gRPC code."""


class Drifted(NamedTuple):
    """Respects in which exchanges are not as the description says, counted together."""

    api: str
    operation: str
    kind: str


class Named(NamedTuple):
    """A rule or a failure, with the API that it was met at."""

    api: str
    name: str


@dataclass(slots=True)
class Times:
    """How many there were, and how long they took: by classes of duration, the last one without an upper bound."""

    classes: list[int]
    seconds: float = 0.0
    count: int = 0

    @classmethod
    def of(cls, bounds: Sequence[float]) -> Times:
        return cls([0] * (len(bounds) + 1))

    def add(self, bounds: Sequence[float], seconds: float) -> None:
        self.classes[bisect_left(bounds, seconds)] += 1
        self.seconds += seconds
        self.count += 1

    def __copy__(self) -> Times:
        return Times([*self.classes], self.seconds, self.count)


@dataclass(slots=True)
class Statistics:
    """Counts what ended."""

    groups: dict[Group, Times] = field(default_factory=dict)
    """All requests."""
    refused: Counter[Refused] = field(default_factory=Counter)
    rules: Counter[Named] = field(default_factory=Counter)
    """Refusals by the rule that had something to say; what no rule knew may come from the description."""
    unchanged: Counter[Kind] = field(default_factory=Counter)
    failures: Counter[Named] = field(default_factory=Counter)
    """Requests without an answer, by what was wrong with the upstream."""
    lookups: Counter[str] = field(default_factory=Counter)
    """By API."""
    corrections: dict[str, Times] = field(default_factory=dict)
    """By API."""
    reloads: Counter[str] = field(default_factory=Counter)
    """Reloads of packs and descriptions: `done` or `failed`."""
    drift: Counter[Drifted] = field(default_factory=Counter)
    judged: Counter[Named] = field(default_factory=Counter)
    """Exchanges that were to be judged by the description: `judged`, `dropped` or `failed`."""

    def count_success(self, api: str, operation: str, status: int, seconds: float) -> None:
        """Count a success that nobody had to read: most requests are, and to count one must cost next to nothing."""
        self.times(Group(api, operation, _CLASSES[status // 100], Verdict.SUCCESS)).add(REQUEST_BUCKETS, seconds)

    def times(self, group: Group) -> Times:
        """Return the numbers of a group. Beyond so many groups, operations have no number of their own."""
        found = self.groups.get(group)
        if found is not None:
            return found
        group = group._replace(operation=label(group.operation))
        if group.operation and len(self.groups) >= _MOST_NAMES:
            group = group._replace(operation=OTHER)
        return self.groups.setdefault(group, Times.of(REQUEST_BUCKETS))

    def write(self, entry: Entry) -> None:
        """Count an exchange that ended."""
        verdict, api, operation = entry.verdict, entry.api, label(entry.operation or "")
        self.times(Group(api, operation, status_class(entry), verdict)).add(REQUEST_BUCKETS, entry.milliseconds / 1000)
        if entry.lookups:
            self.lookups[api] += entry.lookups
        if entry.correction is not None:
            self.corrections.setdefault(api, Times.of(BUCKETS)).add(BUCKETS, entry.correction)
        if verdict is Verdict.FAILED:
            failure = Named(api, label(redact(entry.failure or "")))
            count(self.failures, failure, failure._replace(name=OTHER))
        elif verdict in REFUSALS:
            status = entry.code or str(entry.status)
            refused = Refused(api, operation, status)
            count(self.refused, refused, refused._replace(operation=OTHER))
            for rule in entry.rules:
                count(self.rules, Named(api, rule), Named(api, OTHER))
            if verdict is Verdict.UNCHANGED:
                reason = label(_AMOUNT.sub("", redact(entry.error or entry.reason or "no reason is known")))
                count(self.unchanged, Kind(status, operation, reason, api), Kind(status, OTHER, OTHER, api))

    def copy(self) -> Statistics:
        """Return the numbers as they are now."""
        numbers: dict[str, Any] = {one.name: copy(getattr(self, one.name)) for one in COUNTERS}
        for name in ("groups", "corrections"):
            numbers[name] = {key: copy(times) for key, times in getattr(self, name).items()}
        return Statistics(**numbers)

    @property
    def verdicts(self) -> Counter[Verdict]:
        """Requests by what became of them."""
        found: Counter[Verdict] = Counter()
        for group, times in self.groups.items():
            found[group.verdict] += times.count
        return found

    @property
    def requests(self) -> int:
        return sum(times.count for times in self.groups.values())

    @property
    def refusals(self) -> int:
        return self.refused.total()

    def summary(self) -> Iterator[str]:
        """Yield the lines of a summary: nothing where nobody called."""
        if not self.requests:
            return
        verdicts = self.verdicts
        counts = [f"{verdicts[one]:,} {_IN_WORDS[one]}" for one in REFUSALS if verdicts[one]]
        tools: dict[str, Counter[Verdict]] = {}
        for group, times in self.groups.items():
            if group.status_class == _TOOL:
                tools.setdefault(group.operation, Counter())[group.verdict] += times.count
        calls = sum(one.total() for one in tools.values())
        totals = {"request": self.requests - calls, "tool call": calls}
        line = ", ".join(counted(number, noun) for noun, number in totals.items() if number)
        yield f"{line}, {counted(self.refusals, 'refusal')}" + (f": {', '.join(counts)}" if counts else "")
        most = sorted(tools.items(), key=lambda one: (one[1][Verdict.SUCCESS] - one[1].total(), one[0]))
        for name, became in most[:_SHOWN]:
            told = ", ".join(f"{became[one]:,} {_IN_WORDS[one]}" for one in REFUSALS if became[one])
            if told:
                refused = became.total() - became[Verdict.SUCCESS]
                yield f"{name}: {refused:,} of {counted(became.total(), 'call')} refused: {told}"
        if self.rules:
            yield f"by rule: {_most(self.rules)}"
        for kind, count in self.unchanged.most_common(_SHOWN):
            yield f"unchanged: {count:,} x {kind}"
        if len(self.unchanged) > _SHOWN:
            rest = self.unchanged.total() - sum(count for _, count in self.unchanged.most_common(_SHOWN))
            yield f"unchanged: {rest:,} of {counted(len(self.unchanged) - _SHOWN, 'other kind')}"
        if self.failures:
            yield f"without an answer from the API: {_most(self.failures)}"
        if self.judged:
            kinds = Counter(one.kind for one in self.drift.elements())
            said = ", ".join(f"{calls:,} x {kind}" for kind, calls in kinds.most_common()) or "all as described"
            yield f"drift: {said}; {', '.join(f'{calls:,} {one.name}' for one, calls in sorted(self.judged.items()))}"


class CounterFacts(NamedTuple):
    """A counter of the statistics as metrics have it."""

    name: str
    """Of the attribute."""
    metric: str
    about: str
    labels: Sequence[str]
    key: Callable[..., Any]
    """Makes a key of the values of the labels."""


COUNTERS: Final = (
    CounterFacts("refused", "refusals", "Refusals of the API by status", Refused._fields, Refused),
    CounterFacts("rules", "rule_matches", "Refusals by the rule that knew something", ("api", "rule"), Named),
    CounterFacts("failures", "upstream_failures", "Requests without an answer from the API", ("api", "failure"), Named),
    CounterFacts("unchanged", "unchanged", "Refusals that were passed on unchanged", Kind._fields, Kind),
    CounterFacts("drift", "drift", "Respects in which judged exchanges are not as described", Drifted._fields, Drifted),
    CounterFacts("judged", "judged", "Exchanges that were to be judged by the description", ("api", "result"), Named),
    CounterFacts("lookups", "lookups", "Requests of the proxy's own", ("api",), str),
    CounterFacts("reloads", "reloads", "Reloads of packs and descriptions", ("result",), str),
)


def labelled(counter: Mapping[Any, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the values of the labels with each number. The counter may grow meanwhile."""
    for key, number in dict(counter).items():
        yield (key if isinstance(key, tuple) else (key,)), number


_CLASSES: Final = ("none", "1xx", "2xx", "3xx", "4xx", "5xx", *("other",) * 4)
"""By the first digit of a status."""


def label(text: str) -> str:
    """Return a text as a number may be called by it: callers choose some of them, and UTF-8 has no lone surrogates."""
    return printable(text)[:_LONGEST]


def status_class(entry: Entry) -> str:
    """Return the class of what the caller got: a 502 or 504 where the API gave no answer."""
    if entry.method == TOOL:
        return _TOOL
    if entry.status is None:
        return "5xx" if entry.failure is not None else "none"
    return _CLASSES[min(entry.status // 100, 9)]


def count(counter: Counter[Name], name: Name, other: Name) -> None:
    """Count something under its name, or together with others where there are too many names."""
    counter[name if name in counter or len(counter) < _MOST_NAMES else other] += 1


def _most(counts: Counter[Named]) -> str:
    counter: Counter[str] = Counter()
    for named, count in counts.items():
        counter[named.name] += count
    shown = [f"{count:,} x {name}" for name, count in counter.most_common(_SHOWN)]
    rest = counter.total() - sum(count for _, count in counter.most_common(_SHOWN))
    return ", ".join(shown + ([f"{rest:,} x others"] if rest else []))


class Listener(Protocol):
    """Hears of every exchange."""

    def write(self, entry: Entry) -> None:
        """Take an exchange that ended."""

    def close(self) -> None:
        """Finish, in a moment at most."""


class Recorder:
    """Records what front ends report."""

    def __init__(
        self,
        access_log: AccessLog | None = None,
        terminal: Terminal | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.statistics = Statistics()
        self.access_log, self.terminal = access_log, terminal
        self.refresh: Callable[[], Awaitable[None]] | None = None
        """Brings the statistics up to date, where somebody else counts successes."""
        self.drift: DriftWatch | None = None
        """Judges some of what passes."""
        self.is_draining = False
        """Whether the front end takes no more connections: requests that are under way end."""
        self.is_cutting = False
        """Whether it ends what is under way: an exchange that breaks off now does so because of us."""
        self._listeners: tuple[Listener, ...] = (*([access_log] if access_log is not None else ()), *listeners)

    def listen(self, listener: Listener) -> None:
        """Have somebody hear of every exchange from now on."""
        self._listeners = (*self._listeners, listener)

    @property
    def wants_successes(self) -> bool:
        """Whether somebody wants to know more of a success than that there was one."""
        return bool(self._listeners)

    def count_success(self, api: str, operation: str, status: int, seconds: float) -> None:
        """Count a success that nobody wants to know more of. `operation` is empty where it is not known anyway."""
        with suppress(Exception):
            self.statistics.count_success(api, operation, status, seconds)

    def write(self, entry: Entry) -> None:
        """Record an exchange."""
        if self.is_cutting and entry.outcome == "failed" and entry.failure is None:
            entry = replace(entry, error="the proxy was stopped")
        with suppress(Exception):
            self.statistics.write(entry)
        if self.terminal is not None:
            with suppress(Exception):
                self.terminal.write(entry)
        for listener in self._listeners:
            with suppress(Exception):
                listener.write(entry)

    def say(self, text: str) -> None:
        """Write one line on the terminal, about no exchange."""
        if self.terminal is not None:
            self.terminal.say(text)

    async def snapshot(self) -> Statistics:
        """Return the numbers as they are now."""
        if self.refresh is not None:
            with suppress(Exception):
                await self.refresh()
        return self.statistics.copy()

    def reopen(self) -> None:
        """Go on in a new log file of the same name, or say why not."""
        try:
            if self.access_log is not None:
                self.access_log.reopen()
        except OSError as problem:
            self.say(f"the log goes on where it was: {(problem.strerror or str(problem)).lower()}")

    def close(self, further: Sequence[str] = ()) -> None:
        """Finish everything, each in a moment at most, and write the summary with further lines."""
        for listener in self._listeners:
            with suppress(Exception):
                listener.close()
        if self.terminal is None:
            return
        self.terminal.settle()
        for line in () if self.terminal.quiet else self.statistics.summary():
            self.say(line)
        for line in further:
            self.say(line)
        if self.access_log is not None and self.access_log.dropped:
            self.say(f"{self.access_log.dropped} log lines could not be written")
        self.terminal.close()


def on_hangup(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    """Have SIGHUP do something, as those who rotate logs expect; without this it would end the process."""
    if sys.platform != "win32":
        loop.add_signal_handler(signal.SIGHUP, act)
