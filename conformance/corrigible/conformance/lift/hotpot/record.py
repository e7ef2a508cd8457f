"""The records of a run: a manifest line, then one line for each question and strategy. They hold no times."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

FORMAT = "corrigible-hotpot/1"
Strategy = Literal["none", "free", "structured", "adaptive"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tokens(_Model):
    """As billed."""

    input: int = 0
    output: int = 0


class Step(_Model):
    """What the actor wrote, up to the end of its action, and what it was shown."""

    text: str
    observation: str = ""


class Reflection(_Model):
    """What the reflector made of a failed trial."""

    form: Literal["free", "structured"]
    text: str
    """Free text, or the correction rule; an answer that could not be read, as it came."""
    error_type: str = ""
    """Empty: free text, or unreadable."""
    first_step: int = 0
    """The step of the first fatal error, from 1; 0: not stated."""
    repeated: bool = False
    """The error type of the reflection before, which did not help."""
    lifted: bool = False
    """Free text, because a structured reflection repeated."""


class Trial(_Model):
    """One trajectory, and what came of it."""

    steps: tuple[Step, ...]
    answer: str | None
    """None: it did not finish."""
    correct: bool
    exact: bool
    f1: float
    judged: bool | None = None
    """What an LLM judge said, where it was asked and its answer could be read."""
    reflections: tuple[Reflection, ...] = ()
    """Made after this trial."""


class Sample(_Model):
    """One question under one strategy."""

    question: str
    """Its id."""
    agent: str
    strategy: Strategy
    outcome: Literal["success", "failure", "error"]
    """An error (the provider failed) is no observation."""
    why: str = ""
    trials: tuple[Trial, ...] = ()
    tokens: Tokens | None = None
    """Of the actor and the reflector, not of a judge; None: not billed."""

    @property
    def won(self) -> bool:
        return self.outcome == "success"

    @property
    def error_types(self) -> tuple[str, ...]:
        """Of all structured reflections, in order; an unreadable one has none."""
        return tuple(r.error_type for trial in self.trials for r in trial.reflections if r.form == "structured")


class Manifest(_Model):
    """All that determines a run; no secrets."""

    format: Literal["corrigible-hotpot/1"] = "corrigible-hotpot/1"
    version: int
    """Of the loop: grows with every change of what an agent does."""
    data: str
    """The SHA-256 of the file of questions."""
    questions: tuple[str, ...]
    agents: dict[str, dict[str, Any]]
    strategies: tuple[Strategy, ...]
    evaluator: Literal["exact", "f1", "judge"]
    f1_threshold: float
    trials: int
    steps: int
    seed: int
