"""What a plan takes in tokens before it is run, seen on the real servers without a model.

The least is one call, the most is every attempt used, each answered as the first was. Not counted: look-ups, which are
no attempts; what a model thinks; reflections; the few tokens that a provider puts between messages.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, TypeAdapter

from corrigible.conformance.lift.agents import prompt
from corrigible.conformance.lift.agents.model import Settings
from corrigible.conformance.lift.agents.prompt import tokens
from corrigible.conformance.lift.agents.protocol import Briefing, Move, Response, Send, Stop
from corrigible.conformance.lift.log import opened
from corrigible.conformance.lift.plan import Plan, Price
from corrigible.conformance.lift.resolved_plan import ResolvedPlan
from corrigible.conformance.lift.run import OnProgress, run
from corrigible.conformance.model.outcome import UsageError
from corrigible.conformance.model.yaml_file import checked
from corrigible.schema.exchange import Json, Request

_GRPC: Final = Request("/a.B/C", "")
_HTTP: Final = Request("POST", "/")
NOT_COUNTED: Final = "look-ups, what a model thinks, reflections"


class Measured(BaseModel):
    """Tokens of one task."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str
    """Domain/id."""
    grpc: bool
    told: int
    """The first message but for the answer: the API, the wish, and the call made already."""
    call: int
    """The task's own call, as a model writes one."""
    answers: dict[str, int]
    """By arm: what that call is answered with."""


MEASURED: Final = TypeAdapter(list[Measured])


class Tokens(NamedTuple):
    """Of the least and of the most."""

    least_input: float
    least_output: float
    most_input: float
    most_output: float

    def plus(self, other: Tokens) -> Tokens:
        return Tokens(*(a + b for a, b in zip(self, other, strict=True)))

    def times(self, factor: float) -> Tokens:
        return Tokens(*(factor * value for value in self))


class Estimate(NamedTuple):
    """One agent under one arm."""

    agent: str
    model: str
    arm: str
    episodes: int
    tokens: Tokens
    """Of all of them."""


def estimates(plan: Plan, measured: Sequence[Measured]) -> list[Estimate]:
    """Return what each model of a plan takes under each arm. Raises UsageError for settings that are none."""
    found = []
    for agent in (agent for agent in plan.agents if agent.model):
        chosen = checked(Settings, agent.settings, agent.name, "settings")
        for arm in dict.fromkeys(plan.arms):
            inside = [one for one in measured if arm in one.answers]
            total = Tokens(0, 0, 0, 0)
            for one in inside:
                total = total.plus(_episode(plan, chosen, one, one.answers[arm]).times(len(plan.seeds)))
            found.append(Estimate(agent.name, agent.model, arm.value, len(inside) * len(plan.seeds), total))
    return found


def _episode(plan: Plan, chosen: Settings, one: Measured, answer: int) -> Tokens:
    first = _always(plan, chosen, grpc=one.grpc) + one.told + answer
    # From the wish on, the task's own call is the first attempt.
    questions = max(plan.attempts - (plan.start == "wish"), 1)
    grown = sum(first + at * (one.call + answer) for at in range(questions))
    return Tokens(first, one.call, grown, questions * one.call)


def _always(plan: Plan, chosen: Settings, *, grpc: bool) -> int:
    """Return the tokens of what is said in every question: the instructions, and the tools."""
    request = _GRPC if grpc else _HTTP
    briefing = Briefing("", "", request, attempts=plan.attempts)
    text = prompt.system(briefing, chosen.mode, chosen.vocabulary)
    if chosen.mode == "tools":
        text += json.dumps([[tool.name, tool.description, dict(tool.schema)] for tool in prompt.tools(request)])
    return tokens(text)


def rendered(plan: Plan, measured: Sequence[Measured]) -> Iterator[str]:
    """Yield the lines of a table: by model and arm, and in all."""
    yield (
        f"{len(measured)} tasks, {len(plan.seeds)} seed{'s' if len(plan.seeds) > 1 else ''}, from the {plan.start} on,"
        f" {plan.attempts} attempt{'s' if plan.attempts > 1 else ''}; tokens estimated, from one call to all"
        f" attempts used; not counted: {NOT_COUNTED}"
    )
    rows = estimates(plan, measured)
    for agent in dict.fromkeys((row.agent, row.model) for row in rows):
        own = [row for row in rows if (row.agent, row.model) == agent]
        price = plan.prices.models.get(agent[1]) if plan.prices is not None else None
        total = Tokens(0, 0, 0, 0)
        for row in own:
            total = total.plus(row.tokens)
        in_all = Estimate(*agent, "in all", sum(row.episodes for row in own), total)
        yield ""
        yield f"{agent[0]} {agent[1]}"
        head = f"  {'arm':<20}{'episodes':>9}{'input an episode':>20}{'output an episode':>19}"
        yield f"{head}{'input':>24}{'output':>20}{'cost' if price is not None else '':>20}".rstrip()
        for row in (*own, in_all):
            yield _row(row, price)


def _row(row: Estimate, price: Price | None) -> str:
    each = row.tokens.times(1 / row.episodes) if row.episodes else row.tokens
    cells = (
        f"{_range(each.least_input, each.most_input):>20}{_range(each.least_output, each.most_output):>19}"
        f"{_range(row.tokens.least_input, row.tokens.most_input):>24}"
        f"{_range(row.tokens.least_output, row.tokens.most_output):>20}"
    )
    if price is not None:
        least, most = (
            (inputs * price.input + outputs * price.output) / 1e6
            for inputs, outputs in (row.tokens[:2], row.tokens[2:])
        )
        cells += f"{f'{least:.2f} to {most:.2f}':>20}"
    return f"  {row.arm:<20}{row.episodes:>9}{cells}"


def _range(least: float, most: float) -> str:
    texts = f"{least:,.0f}", f"{most:,.0f}"
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


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
