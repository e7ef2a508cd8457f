"""Looks up the agents that a plan names."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

from corrigible.conformance.lift.plan import SCRIPTED, AgentPlan
from corrigible.conformance.model.usage_error import UsageError, did_you_mean

from .protocol import Agent
from .scripted import AGENTS, named


def agents(plans: Sequence[AgentPlan], rate: float | None = None) -> list[Agent]:
    """Return the agents that a plan names, each once. Raises UsageError for a name that means none."""
    by_name: dict[str, Agent] = {}
    for plan in plans:
        for agent in _named(plan, rate):
            if agent.name in by_name and plan.name != SCRIPTED:
                raise UsageError(f"two agents are called {agent.name}: give one another strategy or settings.name")
            by_name[agent.name] = agent
    return list(by_name.values())


def _named(plan: AgentPlan, rate: float | None) -> Sequence[Agent]:
    if plan.name == SCRIPTED:
        return AGENTS
    providers: tuple[str, ...] = ()
    if find_spec(f"{__package__}.model.provider") is not None:
        module = import_module(f"{__package__}.model.provider")
        providers = tuple(module.PROVIDERS)
        if plan.name in providers:
            built: Agent = module.build(plan, rate)
            return (built,)
    try:
        return (named(plan.name),)
    except UsageError as problem:
        names = (SCRIPTED, *(agent.name for agent in AGENTS), *providers)
        problem_text = (
            f"no agent is called {plan.name!r}{did_you_mean(plan.name, names)} (there are {', '.join(names)})"
        )
        raise UsageError(problem_text) from problem
