"""What every arm of every task is told at the start, seen on the real servers, without a model.

Knows: jobs, the run. Does not know: prices, how a conversation goes on.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from corrigible.conformance.lift.agents.model import prompt
from corrigible.conformance.lift.agents.protocol import Briefing, Move, Send, Stop
from corrigible.conformance.lift.environment.response import Response
from corrigible.conformance.lift.log.store import opened
from corrigible.conformance.lift.stats.answer_size import tokens
from corrigible.conformance.model.usage_error import UsageError
from corrigible.schema.exchange import Json

from .resolve import ResolvedPlan
from .token_price import Measured
from .worker_pool import OnProgress, run


@dataclass(slots=True)
class Probe:
    """Plays no episode: makes the task's own call where nobody has, keeps what it was told, and stops."""

    seen: tuple[Briefing, Response | None] | None = field(default=None, init=False)
    kind: Literal["model"] = field(default="model", init=False)
    name: str = field(default="probe", init=False)
    identity: Mapping[str, Json] = field(default_factory=dict, init=False)

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        self.seen = briefing, briefing.refusal
        if briefing.refusal is None:
            self.seen = briefing, (yield Send(briefing.request))
        yield Stop("gave up")


def measure(resolved: ResolvedPlan, on_progress: OnProgress) -> list[Measured]:
    """Make each task's call under each arm, on the real servers, and count. Raises UsageError where one cannot be."""
    probes: dict[str, Probe] = {}
    jobs = []
    for job in resolved.jobs:
        if job.seed == resolved.plan.seeds[0]:
            probes[job.key] = Probe()
            jobs.append(replace(job, agent=probes[job.key]))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        progress = run(replace(resolved, jobs=jobs), stack.enter_context(opened(folder)), on_progress)
    found: dict[str, Measured] = {}
    for job in jobs:
        seen = probes[job.key].seen
        name = f"{job.domain}/{job.task.id}"
        if seen is None:
            why = next((one.why for one in progress.errors if one.key == job.key), progress.stopped)
            raise UsageError(f"{name} {job.arm}: cannot be measured: {why}")
        counted = _counted(name, job.arm.value, *seen)
        had = found.get(name, counted)
        found[name] = had.model_copy(update={"answers": {**had.answers, **counted.answers}})
    return sorted(found.values(), key=lambda one: one.task)


def _counted(task: str, arm: str, briefing: Briefing, answer: Response | None) -> Measured:
    request = briefing.request
    nothing = Response(0, None)
    whole = f"{prompt.opening(briefing)}\n\n{prompt.refused(request, answer or nothing)}"
    shown = tokens(prompt.answer(answer or nothing))
    return Measured(
        task=task,
        grpc=prompt.is_grpc(request),
        told=tokens(whole) - shown,
        call=tokens(prompt.as_action(request)),
        answers={arm: shown},
    )
