"""A plan: what to run, from a file or from options.

Knows: names. Does not know: servers, agents' code. A plan is hashed before anything runs.
"""

from __future__ import annotations

import hashlib
import json
from datetime import date
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from corrigible.conformance.lift.arms import Arm
from corrigible.conformance.model.yaml_file import checked, loaded
from corrigible.schema.exchange import Json

Start = Literal["wish", "refusal"]
"""Where episodes start: at the wish, or after the task's own call was refused. Figures of the two are never mixed."""
SCRIPTED: Final = "scripted"
"""The name of all scripted agents together."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AgentPlan(_Model):
    """One agent, or all that are scripted."""

    name: str
    model: str = ""
    strategy: str = "none"
    """How a model reflects before it tries again."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings of a model: temperature, base_url, key_env (never a key)."""


class Price(_Model):
    """Price of a million tokens, in the currency of the cost cap."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    """Of cached input tokens; None: as other input."""


class Prices(_Model):
    """A price table, and when it was looked up."""

    date: date
    models: dict[str, Price] = Field(default_factory=dict)


class Registered(_Model):
    """Declared before the run; the plan's hash in the manifest proves it."""

    hypothesis: str = ""
    primary: tuple[Arm, Arm] | None = None
    """The comparison that counts: first less second. None: the rule of `summary.PRIMARY`, by the kind of agent."""
    margin: float | None = Field(default=None, gt=0, lt=1)
    """Within which two arms count as equivalent: success is a tie where two one-sided tests (TOST) say so."""
    calls_ratio: float | None = Field(default=None, gt=0)
    """The goal for strong agents: calls to resolution, the first arm's over the second's, at most this."""
    gain: float | None = Field(default=None, gt=0, le=1)
    """The goal for weak models: the success rate of the first arm less the second's, at least this."""
    exclusions: tuple[str, ...] = ()
    """Rules by which episodes are left out, in words."""


class Plan(_Model):
    """One run."""

    domains: tuple[str, ...] = ()
    """None: all that can be started here."""
    tasks: tuple[str, ...] = ("*",)
    """Patterns of task ids, or of domain/id."""
    arms: tuple[Arm, ...] = tuple(Arm)
    """Default: all; without `length-matched` where no model plays."""
    agents: tuple[AgentPlan, ...] = (AgentPlan(name=SCRIPTED),)
    seeds: tuple[int, ...] = (0,)
    engine: str = ""
    """What carries the traffic, as `corrigible proxy --engine` says it; empty: the proxy's default."""
    start: Start = "wish"
    """`refusal`: agents get the wish, the task's own request, and its refusal as the arm shows it, and go on."""
    attempts: int = Field(default=5, ge=1, le=50)
    concurrency: int = Field(default=2, ge=1, le=256)
    timeout: float = Field(default=120.0, gt=0)
    """Seconds that an episode may take."""
    longest_wait: float | None = Field(default=None, ge=0)
    """The longest wait of an agent in seconds; None: 0 for scripts, 30 for models."""
    rate: float | None = Field(default=None, gt=0)
    """Requests per minute that all episodes together may make of one model's provider."""
    cost_cap: float | None = Field(default=None, ge=0)
    prices: Prices | None = None
    registered: Registered = Registered()

    @field_validator("agents", mode="before")
    @classmethod
    def _names(cls, value: Json) -> Json:
        """Accept a bare name as an agent."""
        return (
            [{"name": item} if isinstance(item, str) else item for item in value] if isinstance(value, list) else value
        )

    @model_validator(mode="before")
    @classmethod
    def _default_arms(cls, value: Json) -> Json:
        """Leave out the control for length where only scripts play: they do not read it."""
        if isinstance(value, dict) and "arms" not in value:
            agents = value.get("agents", [SCRIPTED])
            reads = isinstance(agents, list) and any(isinstance(agent, dict) and agent.get("model") for agent in agents)
            value = {**value, "arms": [arm for arm in Arm if reads or arm is not Arm.LENGTH]}
        return value

    @model_validator(mode="after")
    def _can_be_run(self) -> Plan:
        for name in ("arms", "agents", "seeds", "tasks"):
            if not getattr(self, name):
                raise ValueError(f"{name}: none is named")
        if self.start == "refusal" and (writes := [a.name for a in self.agents if a.settings.get("first_request")]):
            raise ValueError(f"first_request of {', '.join(writes)}: belongs to `start: wish`")
        if self.cost_cap is not None:
            price_table = self.prices.models if self.prices is not None else {}
            if dear := sorted({agent.model for agent in self.agents if agent.model and agent.model not in price_table}):
                raise ValueError(f"cost_cap: no price for {', '.join(dear)}")
        return self

    @property
    def digest(self) -> str:
        """The hash of all that was declared."""
        return digest_of(self.model_dump(mode="json"))

    def wait_for(self, kind: str) -> float:
        """Return the seconds that an agent of this kind may be let wait."""
        if self.longest_wait is not None:
            return self.longest_wait
        return 0.0 if kind == "scripted" else 30.0


def read_plan(path: Path) -> Plan:
    """Read a plan file. Raises UsageError with the place of what is wrong."""
    return made(loaded(path) or {}, path)


def made(document: Json, source: object) -> Plan:
    """Return the plan of a document. Raises UsageError with the place of what is wrong."""
    return checked(Plan, document, source)


def digest_of(document: Json) -> str:
    """Return the SHA-256 of a value's canonical JSON."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
