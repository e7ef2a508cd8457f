"""A committed run beside itself: the report from its log once more, its plan, and the same plan played again.

Pure: reads no file. Knows: reports, plans, logs. Does not know: how a plan is played.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence

from corrigible.conformance.lift.log.compare import differing
from corrigible.conformance.lift.log.record import Episode, Manifest
from corrigible.conformance.lift.plan import Plan

_OF_THE_RUN = ("agents", "ran", "skipped")
"""Members of a plan in a log that the options or the machine gave: a model at its address, what could start."""
_MOST = 20


def report_differences(committed: str, computed: str) -> list[str]:
    """Return the lines in which a report differs from the one that its log comes to now."""
    lines = difflib.unified_diff(committed.splitlines(), computed.splitlines(), n=0, lineterm="")
    return list(lines)[2:][:_MOST]


def plan_differences(plan: Plan, ran: Manifest) -> list[str]:
    """Return where what ran is not what the plan says. Agents are compared where the plan names models."""
    wanted, had = plan.model_dump(mode="json"), dict(ran.plan)
    left_out = [name for name in _OF_THE_RUN if name != "agents" or not any(agent.model for agent in plan.agents)]
    first, second = ({name: value for name, value in one.items() if name not in left_out} for one in (wanted, had))
    return list(differing(first, second))


def outcome_differences(committed: Sequence[Episode], again: Sequence[Episode]) -> Iterator[str]:
    """Yield the episodes whose outcome is another one now, and those that only one of two runs has."""
    before, now = ({_name(one): one.outcome for one in inside} for inside in (committed, again))
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            yield f"{name}: {before.get(name, 'not played')}, and {now.get(name, 'not played')}"


def by_arm(episodes: Sequence[Episode]) -> dict[str, str]:
    """Return successes of observations by agent and arm."""
    seen = [one for one in episodes if one.outcome != "error"]
    observed, won = (Counter(f"{one.agent} {one.arm}" for one in inside) for inside in (seen, _successes(seen)))
    return {name: f"{won[name]} of {n}" for name, n in observed.items()}


def _successes(episodes: Sequence[Episode]) -> list[Episode]:
    return [one for one in episodes if one.outcome == "success"]


def _name(one: Episode) -> str:
    return f"{one.domain}/{one.task} {one.arm} {one.agent} seed {one.seed}, from the {one.start} on"
