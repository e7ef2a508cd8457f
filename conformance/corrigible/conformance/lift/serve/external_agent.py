"""An agent that calls by itself: what it sends is handed to the episode as moves, and answers are handed back.

Knows: moves. Does not know: HTTP, tasks, arms, how an episode is judged.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Final

from corrigible.conformance.lift.agents.protocol import Briefing, Ending, Kind, Move, Send, Stop
from corrigible.conformance.lift.environment.reads import is_read
from corrigible.conformance.lift.environment.response import Response
from corrigible.schema.exchange import Json, Request

ENDINGS: Final[tuple[Ending, ...]] = ("done", "impossible", "needs input", "gave up")
"""What an agent may say that it ended with."""
MOST_CALLS: Final = 50
"""Of one episode, look-ups too."""


class NoCalls(Exception):
    """Nothing was called, so nothing was observed."""


@dataclass(frozen=True, slots=True)
class ExternalAgent:
    """Whoever plays, by the name that the log shall have."""

    name: str
    kind: Kind = "external"

    @property
    def identity(self) -> Mapping[str, Json]:
        return {"name": self.name, "served": 1}

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        """A guest plays in visits."""
        raise NoCalls("nobody plays")
        yield


@dataclass(eq=False)
class ExternalEpisode:
    """One episode of a guest."""

    agent: ExternalAgent
    attempts: int
    timeout: float
    """Seconds from the start to the end."""
    kind: Kind = "external"
    used: int = 0
    calls: int = 0
    briefing: Briefing | None = None
    over: threading.Event = field(default_factory=threading.Event)
    """Nothing more will be played."""
    _ready: threading.Event = field(default_factory=threading.Event)
    _asked: queue.Queue[Move] = field(default_factory=queue.Queue)
    _answered: queue.Queue[Response | None] = field(default_factory=queue.Queue)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _lost: int = 0

    @property
    def name(self) -> str:
        return self.agent.name

    @property
    def identity(self) -> Mapping[str, Json]:
        return self.agent.identity

    # The side of the episode.

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        """Hand on what is called, until the guest stops, has no attempt left, or its time is out."""
        self.briefing = briefing
        self._ready.set()
        until = time.monotonic() + self.timeout
        while self.used < self.attempts and self.calls < MOST_CALLS:
            try:
                move = self._asked.get(timeout=max(until - time.monotonic(), 0))
            except queue.Empty:
                if not self.calls:
                    raise NoCalls(f"nothing was called in {self.timeout:g} s") from None
                yield Stop("gave up", "its time was out")
                return
            if isinstance(move, Stop):
                yield move
                return
            seen = yield move
            self.calls += 1
            self.used += move.lost + (move.settles or not seen.succeeded)
            self._answered.put(seen)

    def ended(self) -> None:
        """Say that the episode is over: whoever waits is told."""
        self.over.set()
        self._ready.set()
        self._answered.put(None)

    # The side of the guest.

    def wait_for_briefing(self) -> Briefing | None:
        """Return what the guest is told; None where the set-up broke."""
        self._ready.wait()
        return self.briefing

    def call(self, request: Request) -> Response | None:
        """Make one call. None: the episode is over.

        A call that only reads and works is a look-up and no attempt, unless reading is what the task is about.
        """
        with self._turn:
            if self.over.is_set() or self.briefing is None:
                return None
            reads = self.briefing.read_methods
            settles = not is_read(request, reads) or is_read(self.briefing.request, reads)
            self._asked.put(Send(request, settles=settles, lost=self._lost))
            self._lost = 0
            return self._answered.get()

    def lose(self) -> None:
        """Count an attempt that came to no call: what was sent could not be read."""
        with self._turn:
            self._lost += 1
            if self.used + self._lost >= self.attempts and not self.over.is_set():
                self._asked.put(Stop("gave up", "what it sent could not be read", lost=self._lost))
                self.over.wait()

    def finish(self, ending: Ending, reason: str) -> None:
        """End the episode, and wait until it is scored. Ending it again does nothing."""
        with self._turn:
            if not self.over.is_set():
                self._asked.put(Stop(ending, reason, lost=self._lost))
                self.over.wait()
