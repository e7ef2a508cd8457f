"""Looks up the agents that a plan names.

Scripted agents show that feedback is sufficient and safe, never how a model uses it. No agent knows its arm: its moves
follow from the briefing, the seed and the responses alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from corrigible.conformance.lift.agents.protocol import Agent
from corrigible.conformance.lift.agents.scripted import follower
from corrigible.conformance.lift.plan import SCRIPTED as ALL_SCRIPTED
from corrigible.conformance.lift.plan import AgentPlan
from corrigible.conformance.model.outcome import UsageError, did_you_mean

AGENTS: Final[tuple[Agent, ...]] = (
    follower.LITERAL_MERGE,
    follower.PATCH_EXECUTOR,
    follower.INFORMED,
    follower.STUBBORN,
    follower.GULLIBLE,
)
"""All of them, in the order of reports."""

SCRIPTED: Final[Mapping[str, Agent]] = MappingProxyType({agent.name: agent for agent in AGENTS})


def named(name: str) -> Agent:
    """Return a scripted agent. Raises UsageError where there is none."""
    if name not in SCRIPTED:
        raise UsageError(f"no scripted agent is called {name!r}{did_you_mean(name, SCRIPTED)}")
    return SCRIPTED[name]


def agents(plans: Sequence[AgentPlan], rate: float | None = None) -> list[Agent]:
    """Return the agents that a plan names, each once. Raises UsageError for a name that means none."""
    by_name: dict[str, Agent] = {}
    for plan in plans:
        for agent in _named(plan, rate):
            if agent.name in by_name and plan.name != ALL_SCRIPTED:
                raise UsageError(f"two agents are called {agent.name}: give one another strategy or settings.name")
            by_name[agent.name] = agent
    return list(by_name.values())


def _named(plan: AgentPlan, rate: float | None) -> Sequence[Agent]:
    if plan.name == ALL_SCRIPTED:
        return AGENTS
    from corrigible.conformance.lift.agents.model import build  # with httpx and the like: only where a model may play
    from corrigible.model.provider_client import PROVIDERS

    if plan.name in PROVIDERS:
        return (build(plan, rate),)
    try:
        return (named(plan.name),)
    except UsageError as problem:
        names = (ALL_SCRIPTED, *SCRIPTED, *PROVIDERS)
        problem_text = (
            f"no agent is called {plan.name!r}{did_you_mean(plan.name, names)} (there are {', '.join(names)})"
        )
        raise UsageError(problem_text) from problem
