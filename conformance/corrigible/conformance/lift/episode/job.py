"""What an episode needs, and what it has come to so far. Data only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from corrigible.conformance.lift.agents.protocol import Agent, Ending
from corrigible.conformance.lift.arms.apply import Feedback
from corrigible.conformance.lift.arms.arm import Arm
from corrigible.conformance.lift.log.record import Reflection
from corrigible.conformance.lift.plan import Start
from corrigible.conformance.lift.tasks.asked import Asked
from corrigible.conformance.lift.tasks.task import Task, TaskFile
from corrigible.model.conversation import Usage
from corrigible.schema.exchange import Json

from .score import PlayedCall

ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class Job:
    """All that an episode needs."""

    key: str
    domain: str
    file: TaskFile
    task: Task
    arm: Arm
    agent: Agent
    seed: int
    attempts: int = ATTEMPTS
    timeout: float = 120.0
    longest_wait: float = 0.0
    """Seconds; longer waits are cut to this."""
    start: Start = "wish"
    asked: Asked | None = None
    """The writes that the task asks for; None: not known."""
    strategy: str = ""
    pool: Sequence[Feedback] = ()
    """Feedback of other tasks, for the arm `shuffled`."""
    description: Json = None

    @property
    def tenant(self) -> str:
        """A name of this episode alone; it starts with a letter."""
        return f"e{self.key[:8]}"


@dataclass(slots=True)
class EpisodeState:
    """What an episode has come to so far; it is logged even if the episode fails half-way."""

    saved: dict[str, Json] = field(default_factory=dict)
    played: list[PlayedCall] = field(default_factory=list)
    ending: Ending | None = None
    reason: str = ""
    usage: Usage = field(default_factory=Usage)
    billed: bool = False
    attempts: int = 0
    closing: tuple[Reflection, ...] = ()
