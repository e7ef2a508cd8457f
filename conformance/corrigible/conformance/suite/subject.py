"""The subject of a run, as a check sees it, and what a check is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, TypeVar

from corrigible.conformance.model.outcome import PROFILES, ROLES, CouldNotTell
from corrigible.conformance.reference.upstream import Answering, Received, Script, Upstream
from corrigible.conformance.transport.http1 import CASE, HttpClient, HttpRequest, HttpResponse
from corrigible.conformance.validators.finding import Finding
from corrigible.schema.exchange import Json

Answers = TypeVar("Answers")
MOST_WAITS: Final = 3
"""Answers that one check waits for in vain, before it gives up."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One request answered twice: straight from the upstream, and through the subject."""

    direct: HttpResponse
    through: HttpResponse
    received: Received | None
    """What the upstream got from the subject."""
    direct_received: Received | None
    """What it got directly."""


@dataclass(slots=True)
class Subject:
    """One profile of one implementation. The parts that a role has no use for are None."""

    role: str
    profile: str
    target: HttpClient | None = None
    grpc: str | None = None
    """HOST:PORT of a gRPC subject."""
    upstream: Upstream | None = None
    direct: HttpClient | None = None
    grpc_upstream: Any = None
    """The suite's own gRPC upstream (reference.grpc_upstream), where there is one: grpc is an optional dependency."""
    start_another: Callable[[str, Path], AbstractContextManager[str]] | None = None
    """Starts one more, with HTTP/2, in front of a URL and with a certificate, and says its own URL. None where
    nothing says how."""
    config: Mapping[str, Json] = field(default_factory=dict)
    """What the config file says for this profile beyond how to start it."""
    seed: int = 0
    trace: list[tuple[str, str]] = field(default_factory=list)
    """Who said what while the present check ran; wires write it, and `note` does where there is no wire of ours."""
    remarks: list[str] = field(default_factory=list)
    """What a reader of the report is told beside findings; of the present check, as the trace is."""
    timeouts: int = 0
    """Exchanges of the present check that had no whole answer when their time was over."""
    _numbers: count[int] = field(default_factory=lambda: count(1))
    _run: str = field(default_factory=lambda: token_hex(4))
    """A subject that goes on running remembers the callers of earlier runs."""
    _begun: dict[str, tuple[list[tuple[list[Any], list[tuple[str, str]]]], Iterator[Any]]] = field(
        default_factory=dict, init=False
    )

    def caller(self) -> tuple[str, str]:
        """Return credentials nobody used before: a loop breaker counts by caller."""
        return ("Authorization", f"Bearer conformance-{self.seed}-{self._run}-{next(self._numbers)}")

    def count_on(self, before: Subject) -> None:
        """Number callers and cases after those of the subject that this one stands for now."""
        self._numbers, self._run = before._numbers, before._run

    def note(self, who: str, text: str) -> None:
        """Add to what a reader of a failure sees of the traffic."""
        self.trace.append((who, text))

    def overdue(self, sentence: str) -> None:
        """Count an answer that did not come in time. Raises CouldNotTell for the last one that a check waits for."""
        self.timeouts += 1
        if self.timeouts >= MOST_WAITS:
            raise CouldNotTell(
                f"{self.timeouts} requests of this check had no whole answer in time, the last one: {sentence}"
            )

    def remark(self, sentence: str) -> None:
        """Tell a reader of the report something that no requirement is about."""
        self.remarks.append(sentence)

    def cached(self, name: str, ask: Callable[[], Answers]) -> Answers:
        """Return what was answered when this was asked for the first time: many checks look at the same answers."""
        return next(self.each(name, lambda: iter([ask()])))

    def each(self, name: str, ask: Callable[[], Iterator[Answers]]) -> Iterator[Answers]:
        """Yield answers as `cached` keeps them, and ask only as far as somebody looks."""
        if name not in self._begun:
            self._begun[name] = ([], ask())
        kept, rest = self._begun[name]
        for number in count():
            if number == len(kept):
                before = len(self.trace)
                try:
                    answers = [next(rest)]
                except StopIteration:
                    answers = []
                except BaseException:  # raised again: what could not be told now is asked for anew
                    del self._begun[name]
                    raise
                kept.append((answers, self.trace[before:]))
            else:
                self.trace.extend(kept[number][1])
            if not kept[number][0]:
                return
            yield from kept[number][0]

    def case(self) -> str:
        """Return the name of a script nobody used before."""
        return f"case-{next(self._numbers)}"

    @property
    def wire(self) -> HttpClient:
        """The way to the subject. Raises CouldNotTell where it has no HTTP side."""
        if self.target is None:
            raise CouldNotTell("the subject has no HTTP address: give --target")
        return self.target

    @property
    def suite_upstream(self) -> Upstream:
        """The suite's own upstream. Raises CouldNotTell where the suite does not stand behind the subject."""
        if self.upstream is None:
            raise CouldNotTell("the suite is not behind this subject: the role proxy needs its own upstream")
        return self.upstream

    def through(
        self, request: HttpRequest, script: Script | Answering | None = None, *, timeout: float = 10.0
    ) -> HttpResponse:
        """Send through the subject as a new caller; the upstream answers by script, or as the reference API."""
        if script is not None:
            case = self.case()
            self.suite_upstream.script(case, script, target=request.target)
            request = request.adding((CASE, case))
        return self.wire.send(self._signed(request), timeout=timeout)

    def both(self, request: HttpRequest, script: Script | Answering, *, timeout: float = 10.0) -> Pair:
        """Send the same request straight to the upstream and through the subject."""
        upstream, case = self.suite_upstream, self.case()
        upstream.script(case, script, target=request.target)  # look-ups and dry runs may name the case too
        signed = self._signed(request.adding((CASE, case)))
        direct = (self.direct or HttpClient(upstream.url)).send(signed, timeout=timeout)
        before = upstream.received(case)
        through = self.wire.send(signed, timeout=timeout)
        after = upstream.received(case)[len(before) :]
        return Pair(direct, through, after[0] if after else None, before[0] if before else None)

    def _signed(self, request: HttpRequest) -> HttpRequest:
        return request if request.header("authorization") is not None else request.adding(self.caller())


@dataclass(frozen=True, slots=True)
class Check:
    """A question to a subject. No findings means that the requirements hold as far as this can tell."""

    id: str
    """A path, such as `transparency/status-kept`: patterns select by its parts."""
    title: str
    requirements: tuple[str, ...]
    """Every finding is about one of these. Levels and MUST or SHOULD follow from them."""
    run: Callable[[Subject], Iterable[Finding]]
    profiles: frozenset[str] = field(default_factory=lambda: frozenset(PROFILES))
    roles: frozenset[str] = frozenset({"proxy"})

    def __post_init__(self) -> None:
        unknown = [*(self.profiles - set(PROFILES)), *(self.roles - set(ROLES))]
        if unknown:
            raise ValueError(f"{self.id}: no such profile or role: {', '.join(unknown)}")
        if not self.requirements:
            raise ValueError(f"{self.id}: a check holds some requirement")
