"""An agent outside this process: its requests become moves of an episode, and it gets the responses.

Knows: moves. Does not know: HTTP, tasks, arms, how an episode is scored.
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
"""The outcomes that an agent may report."""
MOST_CALLS: Final = 50
"""Of one episode, look-ups included."""


class NoCalls(Exception):
    """The agent sent nothing, so there is nothing to score."""


@dataclass(frozen=True, slots=True)
class ExternalAgent:
    """An agent under the name that the log gives it. Its episodes are `ExternalEpisode`s."""

    name: str
    kind: Kind = "external"

    @property
    def identity(self) -> Mapping[str, Json]:
        return {"name": self.name, "served": 1}

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        raise NotImplementedError("an external agent plays through an ExternalEpisode")


@dataclass(eq=False)
class ExternalEpisode:
    """One episode of an external agent: an agent for `episode.play` on one side, a client's API on the other."""

    agent: ExternalAgent
    attempts: int
    timeout: float
    """Seconds from the start to the end."""
    kind: Kind = "external"
    used: int = 0
    calls: int = 0
    briefing: Briefing | None = None
    over: threading.Event = field(default_factory=threading.Event)
    """No further call is carried out."""
    _ready: threading.Event = field(default_factory=threading.Event)
    _moves: queue.Queue[Move] = field(default_factory=queue.Queue)
    _responses: queue.Queue[Response | None] = field(default_factory=queue.Queue)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _lost: int = 0

    @property
    def name(self) -> str:
        return self.agent.name

    @property
    def identity(self) -> Mapping[str, Json]:
        return self.agent.identity

    # Called by the thread that plays the episode.

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        """Yield the agent's moves until it stops, has no attempt left, or its time is out."""
        self.briefing = briefing
        self._ready.set()
        deadline = time.monotonic() + self.timeout
        while self.used < self.attempts and self.calls < MOST_CALLS:
            try:
                move = self._moves.get(timeout=max(deadline - time.monotonic(), 0))
            except queue.Empty:
                if not self.calls:
                    raise NoCalls(f"nothing was called in {self.timeout:g} s") from None
                yield Stop("gave up", "its time was out")
                return
            if isinstance(move, Stop):
                yield move
                return
            response = yield move
            self.calls += 1
            self.used += move.lost + (move.ends_episode or not response.succeeded)
            self._responses.put(response)

    def ended(self) -> None:
        """Mark the episode as over, and release everybody who waits."""
        self.over.set()
        self._ready.set()
        self._responses.put(None)

    # Called by the threads that serve the agent.

    def wait_for_briefing(self) -> Briefing | None:
        """Return the briefing; None if the set-up failed."""
        self._ready.wait()
        return self.briefing

    def call(self, request: Request) -> Response | None:
        """Make one call. None: the episode is over.

        A successful read is a look-up and no attempt, unless the task itself is to read.
        """
        with self._turn:
            if self.over.is_set() or self.briefing is None:
                return None
            reads = self.briefing.read_methods
            settles = not is_read(request, reads) or is_read(self.briefing.request, reads)
            self._moves.put(Send(request, ends_episode=settles, lost=self._lost))
            self._lost = 0
            return self._responses.get()

    def lose(self) -> None:
        """Count an attempt whose request could not be read."""
        with self._turn:
            self._lost += 1
            if self.used + self._lost >= self.attempts and not self.over.is_set():
                self._moves.put(Stop("gave up", "what it sent could not be read", lost=self._lost))
                self.over.wait()

    def finish(self, ending: Ending, reason: str) -> None:
        """End the episode, and wait until it is scored. A second call does nothing."""
        with self._turn:
            if not self.over.is_set():
                self._moves.put(Stop(ending, reason, lost=self._lost))
                self.over.wait()
