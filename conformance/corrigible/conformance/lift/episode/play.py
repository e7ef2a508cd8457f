"""One (task, arm, agent, seed), played against real servers: set up, call until it ends, look what came of it.

Knows: agents' moves, arms, a running running. Does not know: how sites are started, logs, other episodes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Final

from corrigible.conformance.lift.agents.protocol import Agent, Briefing, Ending, Send, Stop, Usage
from corrigible.conformance.lift.arms.apply import Feedback, shown
from corrigible.conformance.lift.arms.arm import Arm
from corrigible.conformance.lift.environment.environment import Environment, RunningEnvironment
from corrigible.conformance.lift.environment.http_client import Unreachable
from corrigible.conformance.lift.environment.normalizer import Normalizer
from corrigible.conformance.lift.environment.reads import is_read
from corrigible.conformance.lift.environment.response import Response
from corrigible.conformance.lift.log.record import Episode, Reflection, Spent, Turn
from corrigible.conformance.lift.tasks.task import Kept, Read, Setup, Task, TaskFile, fill
from corrigible.conformance.model.usage_error import UsageError
from corrigible.schema.exchange import Json, Request

from .score import PlayedCall, ReadResult, Verdict, feedback_of, follows, missing, score_episode, secrets_of, value_at

ATTEMPTS: Final = 5
_MOST: Final = 60
"""Calls of one episode, look-ups and steps too."""
_SHOWN_HEADERS: Final = ("retry-after", "warning", "link", "content-type", "allow", "location")


class NotObserved(Exception):
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
class EpisodeState:
    """An episode as it goes: what is known of it even when it breaks off."""

    saved: dict[str, Json] = field(default_factory=dict)
    played: list[PlayedCall] = field(default_factory=list)
    ending: Ending | None = None
    reason: str = ""
    usage: Usage = field(default_factory=Usage)
    billed: bool = False
    attempts: int = 0
    closing: tuple[Reflection, ...] = ()


def play(job: Job, running: RunningEnvironment) -> Episode:
    """Play one episode. Whatever breaks makes it an error with a reason; nothing is raised but the end of all."""
    began, clock = time.time(), time.monotonic()
    state = EpisodeState(saved={"tenant": job.tenant})
    verdict = Verdict(False, "", ())
    trouble = ""
    try:
        verdict = _played(job, running, state, clock + job.timeout)
    except Unreachable as problem:
        trouble = f"{problem}; {running.ended()}" if running.ended() else str(problem)
    except (NotObserved, UsageError) as problem:
        trouble = str(problem)
    except Exception as problem:
        trouble = f"{type(problem).__name__}: {problem}{_place(problem)}"
        if isinstance(usage := getattr(problem, "usage", None), Usage):  # billed, though no move came of it
            state.usage, state.billed = state.usage + usage, True
    outcome = "error" if trouble else "success" if verdict.success else "failure"
    return _written(job, running.environment, state, outcome, trouble, verdict, began, time.monotonic() - clock)


def _played(job: Job, running: RunningEnvironment, state: EpisodeState, until: float) -> Verdict:
    environment, task = running.environment, job.task
    prepare((*environment.begin, *task.setup), job.file, running, state.saved)
    filled = Task.model_validate(
        fill(task.model_dump(include={"id", "origin", "prompt", "facts", "needs", "request", "accepted"}), state.saved)
        | {"success": [fill(one.model_dump(), state.saved) for one in task.success]}
        | {"kept": [fill(one.model_dump(), state.saved) for one in task.kept]}
    )
    before = [_look(one, job.file, running, state.saved) for one in filled.kept]
    if task.needs == "impossible" and filled.success:
        looked = [(one, ReadResult(_look(one, job.file, running, state.saved))) for one in filled.success]
        if not missing(filled, (), looked):
            raise NotObserved("the task is wrong: what must not come about holds before the first call")
    _calls(job, running, filled, state, until)
    success = [(one, ReadResult(_look(one, job.file, running, state.saved))) for one in filled.success]
    after = [_look(one, job.file, running, state.saved) for one in filled.kept]
    kept = [(one, ReadResult(now, then)) for one, now, then in zip(filled.kept, after, before, strict=True)]
    secrets = secrets_of([environment.credentials(name, state.saved) for name in environment.callers])
    return score_episode(
        filled, state.played, state.ending, success, kept, secrets, environment.clocks, environment.reads
    )


def prepare(calls: Sequence[Setup], file: TaskFile, running: RunningEnvironment, saved: dict[str, Json]) -> None:
    """Make calls straight to the upstream and keep what they save. Raises NotObserved where one is refused."""
    for one in calls:
        request = one.request.request(saved, form=file.form)
        answer = running.upstream_client.send(request, running.environment.credentials(one.caller, saved))
        if not answer.succeeded:
            raise NotObserved(f"set-up: {request.method} {request.path}: {answer.status} {str(answer.body)[:300]}")
        for name, pointer in one.save.items():
            value = value_at(answer.body, pointer)
            if value == "<absent>":
                raise NotObserved(f"set-up: {request.method} {request.path}: no {pointer} in {str(answer.body)[:300]}")
            saved[name] = value


def _look(read: Read | Kept, file: TaskFile, running: RunningEnvironment, saved: Mapping[str, Json]) -> Response:
    return running.upstream_client.send(
        read.read.request({}, form=file.form), running.environment.credentials("owner", saved)
    )


def credentials(job: Job, environment: Environment, saved: Mapping[str, Json]) -> dict[str, str]:
    """Return what the agent's calls carry beside its request: credentials, and what the proxy is asked for."""
    mine = environment.credentials(environment.agent, saved)
    if environment.grpc:
        return {**mine, "recovery-feedback": job.arm.mode, "recovery-feedback-caller": job.key[:16]}
    return {**mine, "prefer": f"recovery-feedback={job.arm.mode}; caller={job.key[:16]}"}


def _calls(job: Job, running: RunningEnvironment, task: Task, state: EpisodeState, until: float) -> None:
    """Let the agent call until it stops, is done, or has no attempt left."""
    request = task.request.request({}, form=job.file.form)
    about = str(fill(job.file.about, state.saved))
    briefing = Briefing(
        about, task.prompt, request, task.facts, job.description, job.attempts, running.environment.reads
    )
    headers = credentials(job, running.environment, state.saved)
    with closing(job.agent.play(briefing, job.seed)) as moves:
        move = next(moves, None)
        while True:
            if move is not None and move.usage is not None:
                state.usage, state.billed = state.usage + move.usage, True
            if move is None or isinstance(move, Stop):
                state.ending = move.ending if move is not None else "gave up"
                state.reason = move.reason if move is not None else "the agent ended without a word"
                if move is not None:
                    state.attempts += move.lost
                    state.closing = move.reflections
                return
            if time.monotonic() > until:
                raise NotObserved(f"time is out: {job.timeout:g} s")
            state.attempts += move.lost
            if state.attempts >= job.attempts:
                return  # before it came to this call
            seen = _made(job, running, move, headers, state)
            settled = seen.succeeded and move.settles
            out = state.attempts >= job.attempts or len(state.played) >= _MOST
            if (settled or out) and job.agent.kind != "external":
                return
            try:
                move = moves.send(seen)  # somebody out there says when it is done, and waits for the last answer too
            except StopIteration:
                move = None
            if out:
                return


def _made(
    job: Job, running: RunningEnvironment, move: Send, headers: Mapping[str, str], state: EpisodeState
) -> Response:
    """Wait, make the steps and the call of a move. Return what is seen of the call."""
    if (wait := min(move.wait, job.longest_wait)) > 0:
        time.sleep(wait)
    tokens = move.usage.input + move.usage.output if move.usage is not None else 0
    looks_up = not move.settles and is_read(move.request, running.environment.reads)  # one that works is no attempt
    last = Response(0, None)
    for index, request in enumerate((*move.steps, move.request)):
        is_step = index < len(move.steps) or looks_up
        ends = index == len(move.steps)
        asked = Request(request.method, request.path, request.query, request.headers, request.body, job.file.form)
        began = time.monotonic()
        answer = running.proxy_client.send(asked, headers)
        visible = {name: answer.headers[name] for name in _SHOWN_HEADERS if name in answer.headers}
        seen = Response(answer.status, answer.body, visible, answer.succeeded)
        if not answer.succeeded:
            seed = f"{job.seed}:{job.task.id}:{len(state.played)}"
            seen = shown(seen, job.arm, seed, job.pool, Normalizer(running.environment, {"tenant": job.tenant}))
        state.played.append(
            PlayedCall(
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
    state.attempts += not (last.succeeded and looks_up)
    return last


def _written(
    job: Job,
    environment: Environment,
    state: EpisodeState,
    outcome: str,
    trouble: str,
    verdict: Verdict,
    began: float,
    seconds: float,
) -> Episode:
    normalizer = Normalizer(environment, {"tenant": job.tenant})
    for value in state.saved.values():
        normalizer(value)
    turns = tuple(_turn(one, _call_before(state.played, index), normalizer) for index, one in enumerate(state.played))
    loops = sum(1 for one in state.played if _is_loop(one.seen))
    spent = Spent(
        input=state.usage.input,
        output=state.usage.output,
        cached=state.usage.cached,
        calls=state.usage.calls,
        by_turn=tuple(one.tokens for one in state.played),
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
        why=normalizer.text(trouble or verdict.why),
        ending=_ended(state),
        attempts=state.attempts,
        turns=turns,
        spent=spent if state.billed else None,
        harm=tuple(normalizer.text(line) for line in verdict.harm),
        loops=loops,
        strategy=job.strategy,
        closing=_reflected(state.closing, normalizer),
        at=round(began, 3),
        seconds=round(seconds, 4),
    )


def _ended(state: EpisodeState) -> str:
    if state.ending is None:
        return ""
    return f"{state.ending}: {state.reason}" if state.reason else state.ending


def _turn(one: PlayedCall, before: PlayedCall | None, normalizer: Normalizer) -> Turn:
    known = feedback_of(one.seen)
    return Turn(
        request=normalizer(one.request.document()),
        step=one.step,
        status=one.answer.status,
        shown=None if one.seen.succeeded else normalizer(one.seen.body),
        accepted=one.answer.succeeded,
        offered=len(known.suggestions) if known is not None else 0,
        applied=one.applied,
        followed=before is not None and not one.step and follows(before, one),
        wait=one.wait,
        note=normalizer.text(one.note),
        lost=one.lost,
        reflections=_reflected(one.reflections, normalizer),
        seconds=one.seconds,
    )


def _reflected(reflections: Sequence[Reflection], normalizer: Normalizer) -> tuple[Reflection, ...]:
    return tuple(one.model_copy(update={"text": normalizer.text(one.text)}) for one in reflections)


def _call_before(played: Sequence[PlayedCall], index: int) -> PlayedCall | None:
    return next((one for one in reversed(played[:index]) if not one.step), None)


def _is_loop(seen: Response) -> bool:
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


def first_feedback(job: Job, running: RunningEnvironment) -> Feedback | None:
    """Return the feedback that the first call of a task gets, None where it gets none: for the pool of others."""
    state = EpisodeState(saved={"tenant": job.tenant})
    prepare((*running.environment.begin, *job.task.setup), job.file, running, state.saved)
    headers = credentials(replace(job, arm=Arm.PATCHES), running.environment, state.saved)
    answer = running.proxy_client.send(job.task.request.request(state.saved, form=job.file.form), headers)
    known = feedback_of(Response(answer.status, answer.body, {}, answer.succeeded))
    return known.document() if known is not None else None
