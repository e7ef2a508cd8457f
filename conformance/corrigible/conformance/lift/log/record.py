"""The log: one JSON line per episode, and what ran in a line before them. Numbers are a pure function of it.

Members called `seconds` or `at` are times; everything else is the same for two runs with one seed.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

FORMAT = "corrigible-lift/1"
FAITHFUL = ("informed", "patch-executor")
"""Scripts that do what the contract says, the one that headlines speak of first: their harm is the feedback's."""
ADVISED = "by a suggestion that"
"""Stands in the text of a harm that came of following one."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Reflection(_Model):
    """What a model made of an error before its next call."""

    form: Literal["free", "structured"]
    text: str
    """Free text, or the correction rule."""
    category: str = ""
    """A name of `agents.reflection.category`; empty: free text, or an answer that could not be read."""
    first: int = 0
    """The call that the first error was made in, counted from 1; 0: not stated."""
    repeated: bool = False
    """The same correction as before, which did not help."""
    lifted: bool = False
    """Free text in place of a structured reflection that had been repeated without success."""
    tokens: int = 0
    """Input and output together, as billed; part of the usage of the move."""


class Turn(_Model):
    """One call and what the agent saw of its answer. Ids that the server made up are `<id:1>`, by appearance."""

    request: dict[str, Any]
    """The request document; credentials are no part of it."""
    step: bool = False
    status: int
    shown: Any = None
    """The answer as the arm showed it, feedback included; null for a success."""
    accepted: bool = False
    offered: int = 0
    """Suggestions in what was shown."""
    applied: tuple[int, ...] | None = None
    """Which of the answer before this one the agent says it applied."""
    followed: bool = False
    """This request is what a reader makes of the feedback before it."""
    wait: float = 0.0
    note: str = ""
    lost: int = 0
    """Attempts before this one that came to no call."""
    reflections: tuple[Reflection, ...] = ()
    """Made of the answers before this call."""
    seconds: float = 0.0


class Spent(_Model):
    """Tokens as billed, over the episode and by turn."""

    input: int = 0
    output: int = 0
    cached: int = 0
    calls: int = 0
    by_turn: tuple[int, ...] = ()
    """Input and output together, for the call that this turn came from."""


class Episode(_Model):
    """How one (task, arm, agent, seed) went."""

    key: str
    """SHA-256 of all that determines it."""
    task: str
    domain: str
    needs: str
    arm: str
    agent: str
    kind: Literal["scripted", "model", "external"]
    seed: int
    outcome: Literal["success", "failure", "error"]
    """An error is a crash, a time-out or a broken set-up: no observation."""
    why: str = ""
    ending: str = ""
    """What the agent ended with, where it ended by itself."""
    attempts: int = 0
    turns: tuple[Turn, ...] = ()
    spent: Spent | None = None
    harm: tuple[str, ...] = ()
    """What must never happen: side effects twice, something else changed, intent changed unsaid, upstream obeyed."""
    loops: int = 0
    """Answers that a loop breaker changed."""
    strategy: str = ""
    """The reflection strategy of a model agent."""
    closing: tuple[Reflection, ...] = ()
    """Reflections that no call came after."""
    at: float = 0.0
    """Unix seconds when it began."""
    seconds: float = 0.0


class Manifest(_Model):
    """What ran: enough to run it again."""

    format: str = FORMAT
    plan: dict[str, Any]
    seed: int
    versions: dict[str, str] = Field(default_factory=dict)
    """Of this suite, the proxy, Python, the upstreams."""
    digests: dict[str, str] = Field(default_factory=dict)
    """Of task files and packs."""
    audit: str = ""
    """The digest of `certificate.json` without its date; empty: packs and tasks were not audited."""
    agents: dict[str, dict[str, Any]] = Field(default_factory=dict)
    tasks: dict[str, dict[str, str]] = Field(default_factory=dict)
    """Origin and prompt of each task, by domain/id: for reports."""
    at: float = 0.0
