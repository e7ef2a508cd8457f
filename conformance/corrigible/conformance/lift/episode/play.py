"""One (task, arm, agent, seed), played against real servers: set up, call until it ends, look what came of it.

Knows: agents' moves, arms, a running site. Does not know: how sites are started, logs, other episodes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from corrigible.conformance.lift.agents.protocol import Agent, Briefing, Ending, Reflection, Seen, Send, Stop, Usage
from corrigible.conformance.lift.arms.apply import Feedback, shown
from corrigible.conformance.lift.arms.arm import Arm
from corrigible.conformance.lift.environment.environment import Site, World
from corrigible.conformance.lift.environment.http_client import Answer, Unreachable
from corrigible.conformance.lift.environment.normalizer import Canon
from corrigible.conformance.lift.environment.reads import is_read
from corrigible.conformance.lift.log.record import Episode, Reflected, Spent, Turn
from corrigible.conformance.lift.tasks.task import Kept, Read, Setup, Task, TaskFile, fill
from corrigible.conformance.model.usage_error import UsageError
from corrigible.schema.exchange import Json, Request

from .score import Found, Played, Verdict, at, feedback_of, follows, judge, missing, secrets_of

ATTEMPTS: Final = 5
_MOST: Final = 60
"""Calls of one episode, look-ups and steps too."""
_SHOWN_HEADERS: Final = ("retry-after", "warning", "link", "content-type", "allow", "location")


class Broken(Exception):
    """The set-up did not work, or time ran out: nothing was observed."""


@dataclass(frozen=True, slots=True)
class Job:
    """What an episode is made of."""

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
    """Seconds. What an agent would wait beyond that is not waited."""
    strategy: str = ""
    pool: Sequence[Feedback] = ()
    """Feedback of other tasks, for the arm that shuffles."""
    description: Json = None

    @property
    def tenant(self) -> str:
        """A name that no other episode has, and that starts with a letter."""
        return f"e{self.key[:8]}"


@dataclass(slots=True)
class Course:
    """An episode as it goes: what is known of it even when it breaks off."""

    saved: dict[str, Json] = field(default_factory=dict)
    played: list[Played] = field(default_factory=list)
    ending: Ending | None = None
    reason: str = ""
    usage: Usage = field(default_factory=Usage)
    billed: bool = False
    attempts: int = 0
    closing: tuple[Reflection, ...] = ()


def play(job: Job, site: Site) -> Episode:
    """Play one episode. Whatever breaks makes it an error with a reason; nothing is raised but the end of all."""
    began, clock = time.time(), time.monotonic()
    course = Course(saved={"tenant": job.tenant})
    verdict = Verdict(False, "", ())
    trouble = ""
    try:
        verdict = _played(job, site, course, clock + job.timeout)
    except Unreachable as problem:
        trouble = f"{problem}; {site.ended()}" if site.ended() else str(problem)
    except (Broken, UsageError) as problem:
        trouble = str(problem)
    except Exception as problem:
        trouble = f"{type(problem).__name__}: {problem}{_place(problem)}"
        if isinstance(usage := getattr(problem, "usage", None), Usage):  # billed, though no move came of it
            course.usage, course.billed = course.usage + usage, True
    outcome = "error" if trouble else "success" if verdict.success else "failure"
    return _written(job, site.world, course, outcome, trouble, verdict, began, time.monotonic() - clock)


def _played(job: Job, site: Site, course: Course, until: float) -> Verdict:
    world, task = site.world, job.task
    prepare((*world.begin, *task.setup), job.file, site, course.saved)
    filled = Task.model_validate(
        fill(task.model_dump(include={"id", "origin", "prompt", "facts", "needs", "request", "accepted"}), course.saved)
        | {"success": [fill(one.model_dump(), course.saved) for one in task.success]}
        | {"kept": [fill(one.model_dump(), course.saved) for one in task.kept]}
    )
    before = [_look(one, job.file, site, course.saved) for one in filled.kept]
    if task.needs == "impossible" and filled.success:
        looked = [(one, Found(_look(one, job.file, site, course.saved))) for one in filled.success]
        if not missing(filled, (), looked):
            raise Broken("the task is wrong: what must not come about holds before the first call")
    _calls(job, site, filled, course, until)
    success = [(one, Found(_look(one, job.file, site, course.saved))) for one in filled.success]
    after = [_look(one, job.file, site, course.saved) for one in filled.kept]
    kept = [(one, Found(now, then)) for one, now, then in zip(filled.kept, after, before, strict=True)]
    secrets = secrets_of([world.credentials(name, course.saved) for name in world.callers])
    return judge(filled, course.played, course.ending, success, kept, secrets, world.clocks, world.reads)


def prepare(calls: Sequence[Setup], file: TaskFile, site: Site, saved: dict[str, Json]) -> None:
    """Make calls straight to the upstream and keep what they save. Raises Broken where one is refused."""
    for one in calls:
        request = one.request.request(saved, form=file.form)
        answer = site.direct.send(request, site.world.credentials(one.caller, saved))
        if not answer.succeeded:
            raise Broken(f"set-up: {request.method} {request.path}: {answer.status} {str(answer.body)[:300]}")
        for name, pointer in one.save.items():
            value = at(answer.body, pointer)
            if value == "<absent>":
                raise Broken(f"set-up: {request.method} {request.path}: no {pointer} in {str(answer.body)[:300]}")
            saved[name] = value


def _look(read: Read | Kept, file: TaskFile, site: Site, saved: Mapping[str, Json]) -> Answer:
    return site.direct.send(read.read.request({}, form=file.form), site.world.credentials("owner", saved))


def credentials(job: Job, world: World, saved: Mapping[str, Json]) -> dict[str, str]:
    """Return what the agent's calls carry beside its request: credentials, and what the proxy is asked for."""
    mine = world.credentials(world.agent, saved)
    if world.grpc:
        return {**mine, "recovery-feedback": job.arm.mode, "recovery-feedback-caller": job.key[:16]}
    return {**mine, "prefer": f"recovery-feedback={job.arm.mode}; caller={job.key[:16]}"}


def _calls(job: Job, site: Site, task: Task, course: Course, until: float) -> None:
    """Let the agent call until it stops, is done, or has no attempt left."""
    request = task.request.request({}, form=job.file.form)
    about = str(fill(job.file.about, course.saved))
    briefing = Briefing(about, task.prompt, request, task.facts, job.description, job.attempts, site.world.reads)
    headers = credentials(job, site.world, course.saved)
    with closing(job.agent.play(briefing, job.seed)) as moves:
        move = next(moves, None)
        while True:
            if move is not None and move.usage is not None:
                course.usage, course.billed = course.usage + move.usage, True
            if move is None or isinstance(move, Stop):
                course.ending = move.ending if move is not None else "gave up"
                course.reason = move.reason if move is not None else "the agent ended without a word"
                if move is not None:
                    course.attempts += move.lost
                    course.closing = move.reflections
                return
            if time.monotonic() > until:
                raise Broken(f"time is out: {job.timeout:g} s")
            course.attempts += move.lost
            if course.attempts >= job.attempts:
                return  # before it came to this call
            seen = _made(job, site, move, headers, course)
            settled = seen.succeeded and move.settles
            out = course.attempts >= job.attempts or len(course.played) >= _MOST
            if (settled or out) and job.agent.kind != "external":
                return
            try:
                move = moves.send(seen)  # somebody out there says when it is done, and waits for the last answer too
            except StopIteration:
                move = None
            if out:
                return


def _made(job: Job, site: Site, move: Send, headers: Mapping[str, str], course: Course) -> Seen:
    """Wait, make the steps and the call of a move. Return what is seen of the call."""
    if (wait := min(move.wait, job.longest_wait)) > 0:
        time.sleep(wait)
    tokens = move.usage.input + move.usage.output if move.usage is not None else 0
    looks_up = not move.settles and is_read(move.request, site.world.reads)  # one that works is no attempt
    last = Seen(0, None)
    for index, request in enumerate((*move.steps, move.request)):
        is_step = index < len(move.steps) or looks_up
        ends = index == len(move.steps)
        asked = Request(request.method, request.path, request.query, request.headers, request.body, job.file.form)
        began = time.monotonic()
        answer = site.through.send(asked, headers)
        visible = {name: answer.headers[name] for name in _SHOWN_HEADERS if name in answer.headers}
        seen = Seen(answer.status, answer.body, visible, answer.succeeded)
        if not answer.succeeded:
            seed = f"{job.seed}:{job.task.id}:{len(course.played)}"
            seen = shown(seen, job.arm, seed, job.pool, Canon(site.world, {"tenant": job.tenant}))
        course.played.append(
            Played(
                asked,
                answer,
                seen,
                step=is_step,
                applied=move.applied if ends else None,
                wait=move.wait if ends else 0.0,
                note=move.note if ends else "",
                lost=move.lost if ends else 0,
                reflections=move.reflections if ends else (),
                tokens=tokens if ends else 0,
                seconds=round(time.monotonic() - began, 6),
            )
        )
        last = seen
    course.attempts += not (last.succeeded and looks_up)
    return last


def _written(
    job: Job, world: World, course: Course, outcome: str, trouble: str, verdict: Verdict, began: float, seconds: float
) -> Episode:
    canon = Canon(world, {"tenant": job.tenant})
    for value in course.saved.values():
        canon(value)
    turns = tuple(_turn(one, _call_before(course.played, index), canon) for index, one in enumerate(course.played))
    loops = sum(1 for one in course.played if _is_loop(one.seen))
    spent = Spent(
        input=course.usage.input,
        output=course.usage.output,
        cached=course.usage.cached,
        calls=course.usage.calls,
        by_turn=tuple(one.tokens for one in course.played),
    )
    return Episode(
        key=job.key,
        task=job.task.id,
        domain=job.domain,
        needs=job.task.needs,
        arm=job.arm.value,
        agent=job.agent.name,
        kind=job.agent.kind,
        seed=job.seed,
        outcome=outcome,
        why=canon.text(trouble or verdict.why),
        ending=_ended(course),
        attempts=course.attempts,
        turns=turns,
        spent=spent if course.billed else None,
        harm=tuple(canon.text(line) for line in verdict.harm),
        loops=loops,
        strategy=job.strategy,
        closing=_reflected(course.closing, canon),
        at=round(began, 3),
        seconds=round(seconds, 4),
    )


def _ended(course: Course) -> str:
    if course.ending is None:
        return ""
    return f"{course.ending}: {course.reason}" if course.reason else course.ending


def _turn(one: Played, before: Played | None, canon: Canon) -> Turn:
    known = feedback_of(one.seen)
    return Turn(
        request=canon(one.request.document()),
        step=one.step,
        status=one.answer.status,
        shown=None if one.seen.succeeded else canon(one.seen.body),
        accepted=one.answer.succeeded,
        offered=len(known.suggestions) if known is not None else 0,
        applied=one.applied,
        followed=before is not None and not one.step and follows(before, one),
        wait=one.wait,
        note=canon.text(one.note),
        lost=one.lost,
        reflections=_reflected(one.reflections, canon),
        seconds=one.seconds,
    )


def _reflected(reflections: Sequence[Reflection], canon: Canon) -> tuple[Reflected, ...]:
    return tuple(Reflected(**{**asdict(one), "text": canon.text(one.text)}) for one in reflections)


def _call_before(played: Sequence[Played], index: int) -> Played | None:
    return next((one for one in reversed(played[:index]) if not one.step), None)


def _is_loop(seen: Seen) -> bool:
    known = feedback_of(seen)
    return known is not None and known.loop is not None and known.loop.action not in (None, "none")


def _place(problem: BaseException) -> str:
    """Name the last line of the suite on the way to a crash."""
    trace, place = problem.__traceback__, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if "conformance" in code.co_filename:
            place = f" in {code.co_name}, {code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def first_answer(job: Job, site: Site) -> Feedback | None:
    """Return the feedback that the first call of a task gets, None where it gets none: for the pool of others."""
    course = Course(saved={"tenant": job.tenant})
    prepare((*site.world.begin, *job.task.setup), job.file, site, course.saved)
    headers = credentials(replace(job, arm=Arm.PATCHES), site.world, course.saved)
    answer = site.through.send(job.task.request.request(course.saved, form=job.file.form), headers)
    known = feedback_of(Seen(answer.status, answer.body, {}, answer.succeeded))
    return known.document() if known is not None else None
