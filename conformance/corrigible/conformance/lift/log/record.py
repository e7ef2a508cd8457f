"""The records of the log: a manifest line, then one JSON line per episode. All figures are a pure function of them.

Members called `seconds` or `at` are times; everything else is the same for two runs with one seed.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

FORMAT = "corrigible-lift/1"
FAITHFUL = ("informed", "patch-executor")
"""Scripts that follow the contract, the one for headlines first: feedback is to blame for their harm."""
UNOBTAINABLE = frozenset({"impossible", "restraint"})
"""Needs of tasks in which to stop and say so is the solution."""
ADVISED = "by a suggestion that"
"""Part of the text of a harm that followed a suggestion."""


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
    """One call and what the agent saw of the response. Ids of the server are `<id:1>`, by appearance."""

    request: dict[str, Any]
    """The request document; credentials are no part of it."""
    step: bool = False
    given: bool = False
    """Made before the agent began, which got the request and what was shown: no attempt."""
    read: bool = False
    """It only reads."""
    astray: bool | None = None
    """A write that the prompt did not ask for; None: it reads, or nobody wrote down what is asked for."""
    status: int
    shown: Any = None
    """The response as the arm showed it, feedback included; null for a success."""
    accepted: bool = False
    offered: int = 0
    """Suggestions in what was shown."""
    applied: tuple[int, ...] | None = None
    """Which of the answer before this one the agent says it applied."""
    followed: bool = False
    """The published reader derives this request from the feedback before it."""
    wait: float = 0.0
    note: str = ""
    lost: int = 0
    """Attempts before this one that could not be read as calls."""
    reflections: tuple[Reflection, ...] = ()
    """Made before this call."""
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
    start: Literal["wish", "refusal"] = "wish"
    arm: str
    agent: str
    kind: Literal["scripted", "model", "external"]
    seed: int
    outcome: Literal["success", "failure", "error"]
    """An error (a crash, a time-out, a failed set-up) is no observation."""
    why: str = ""
    ending: str = ""
    """How the agent ended the episode, if it did."""
    attempts: int = 0
    turns: tuple[Turn, ...] = ()
    spent: Spent | None = None
    harm: tuple[str, ...] = ()
    """Side effects twice, collateral changes, unannounced changes of intent, upstream instructions obeyed."""
    loops: int = 0
    """Responses that the loop breaker changed."""
    strategy: str = ""
    """The reflection strategy of a model agent."""
    closing: tuple[Reflection, ...] = ()
    """Reflections without a call after them."""
    at: float = 0.0
    """Unix seconds when it began."""
    seconds: float = 0.0


class Manifest(_Model):
    """What ran, in enough detail to repeat it."""

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
