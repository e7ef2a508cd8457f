"""One episode (task, arm, agent, seed) against real servers: set up, let the agent call, read the end state, record it.

The record is normalized, so that two runs of one seed agree.
Knows: moves, arms, a running environment. Does not know: how environments start, the log, other episodes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Final

from corrigible.conformance.lift import score
from corrigible.conformance.lift.agents.protocol import Agent, Briefing, Ending, Response, Send, Stop, is_read
from corrigible.conformance.lift.arms import Arm, Feedback, apply_arm
from corrigible.conformance.lift.environment import Environment, Normalizer, RunningEnvironment, Unreachable
from corrigible.conformance.lift.log import UNOBTAINABLE, Episode, Reflection, Spent, Turn
from corrigible.conformance.lift.plan import Start
from corrigible.conformance.lift.task import Asked, Kept, Read, Setup, Task, TaskFile, fill
from corrigible.conformance.model.outcome import UsageError, crash_place
from corrigible.model.conversation import Usage
from corrigible.schema.exchange import Json, Request

ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class Job:
    """All that an episode needs."""

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
    """Seconds; longer waits are cut to this."""
    start: Start = "wish"
    asked: Asked | None = None
    """The writes that the task asks for; None: not known."""
    strategy: str = ""
    pool: Sequence[Feedback] = ()
    """Feedback of other tasks, for the arm `shuffled`."""

    @property
    def tenant(self) -> str:
        """A name of this episode alone; it starts with a letter."""
        return f"e{self.key[:8]}"


@dataclass(slots=True)
class EpisodeState:
    """What an episode has come to so far; it is logged even if the episode fails half-way."""

    saved: dict[str, Json] = field(default_factory=dict)
    played: list[score.PlayedCall] = field(default_factory=list)
    ending: Ending | None = None
    reason: str = ""
    usage: Usage = field(default_factory=Usage)
    billed: bool = False
    attempts: int = 0
    closing: tuple[Reflection, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """How an episode ended."""

    outcome: str
    trouble: str
    """Why it is an error; empty: it is none."""
    verdict: score.Verdict
    began: float
    """Unix seconds."""
    seconds: float


def recorded(job: Job, environment: Environment, state: EpisodeState, ended: Ended) -> Episode:
    """Return the record of an episode, without what no two runs share."""
    verdict = ended.verdict
    normalizer = Normalizer(environment, {"tenant": job.tenant})
    for value in state.saved.values():
        normalizer(value)
    turns = tuple(
        _turn(call, _call_before(state.played, index), normalizer, job, state.saved)
        for index, call in enumerate(state.played)
    )
    loops = sum(1 for call in state.played if _is_loop(call.seen))
    usage = Spent(
        input=state.usage.input,
        output=state.usage.output,
        cached=state.usage.cached,
        calls=state.usage.calls,
        by_turn=tuple(call.tokens for call in state.played),
    )
    return Episode(
        key=job.key,
        task=job.task.id,
        domain=job.domain,
        needs=job.task.needs,
        start=job.start,
        arm=job.arm.value,
        agent=job.agent.name,
        kind=job.agent.kind,
        seed=job.seed,
        outcome=ended.outcome,
        why=normalizer.text(ended.trouble or verdict.why),
        ending=_outcome(state),
        attempts=state.attempts,
        turns=turns,
        spent=usage if state.billed else None,
        harm=tuple(normalizer.text(line) for line in verdict.harm),
        loops=loops,
        strategy=job.strategy,
        closing=_reflected(state.closing, normalizer),
        at=round(ended.began, 3),
        seconds=round(ended.seconds, 4),
    )


def _outcome(state: EpisodeState) -> str:
    if state.ending is None:
        return ""
    return f"{state.ending}: {state.reason}" if state.reason else state.ending


def _turn(
    call: score.PlayedCall,
    before: score.PlayedCall | None,
    normalizer: Normalizer,
    job: Job,
    saved: Mapping[str, Json],
) -> Turn:
    feedback = score.feedback_of(call.seen)
    reads = is_read(call.request, normalizer.reads)
    astray = None if reads or job.asked is None else not job.asked.includes(call.request, saved)
    return Turn(
        request=normalizer(call.request.document()),
        step=call.step,
        given=call.given,
        read=reads,
        astray=astray,
        status=call.answer.status,
        shown=None if call.seen.succeeded else normalizer(call.seen.body),
        accepted=call.answer.succeeded,
        offered=len(feedback.suggestions) if feedback is not None else 0,
        applied=call.applied,
        followed=before is not None and not call.step and score.follows(before, call),
        wait=call.wait,
        note=normalizer.text(call.note),
        lost=call.lost,
        reflections=_reflected(call.reflections, normalizer),
        seconds=call.seconds,
    )


def _reflected(reflections: Sequence[Reflection], normalizer: Normalizer) -> tuple[Reflection, ...]:
    return tuple(reflection.model_copy(update={"text": normalizer.text(reflection.text)}) for reflection in reflections)


def _call_before(played: Sequence[score.PlayedCall], index: int) -> score.PlayedCall | None:
    return next((call for call in reversed(played[:index]) if not call.step), None)


def _is_loop(response: Response) -> bool:
    feedback = score.feedback_of(response)
    return feedback is not None and feedback.loop is not None and feedback.loop.action not in (None, "none")


_MOST: Final = 60
"""Calls of one episode, look-ups and steps included."""
_SHOWN_HEADERS: Final = ("retry-after", "warning", "link", "content-type", "allow", "location")


class NotObserved(Exception):
    """The set-up failed, or time ran out: the episode is an error, and no observation."""


def play(job: Job, running: RunningEnvironment, state: EpisodeState | None = None) -> Episode:
    """Play one episode. Every exception makes it an error with a reason, but for KeyboardInterrupt and the like.

    `state` is one that the caller looks into.
    """
    began, clock = time.time(), time.monotonic()
    state = state or EpisodeState()
    state.saved["tenant"] = job.tenant
    verdict = score.Verdict(False, "", ())
    trouble = ""
    try:
        verdict = _played(job, running, state, clock + job.timeout)
    except Unreachable as problem:
        trouble = f"{problem}; {running.ended()}" if running.ended() else str(problem)
    except (NotObserved, UsageError) as problem:
        trouble = str(problem)
    except Exception as problem:
        trouble = f"{type(problem).__name__}: {problem}{crash_place(problem)}"
        if isinstance(usage := getattr(problem, "usage", None), Usage):  # billed, although no move followed
            state.usage, state.billed = state.usage + usage, True
    outcome = "error" if trouble else "success" if verdict.success else "failure"
    ended = Ended(outcome, trouble, verdict, began, time.monotonic() - clock)
    return recorded(job, running.environment, state, ended)


def _played(job: Job, running: RunningEnvironment, state: EpisodeState, until: float) -> score.Verdict:
    environment, task = running.environment, job.task
    prepare((*environment.begin, *task.setup), job.file, running, state.saved)
    filled = Task.model_validate(
        fill(
            task.model_dump(
                include={"id", "origin", "prompt", "facts", "needs", "proof", "holds", "request", "accepted", "made"}
            ),
            state.saved,
        )
        | {"success": [fill(read.model_dump(), state.saved) for read in task.success]}
        | {"kept": [fill(condition.model_dump(), state.saved) for condition in task.kept]}
    )
    before = [_look(condition, job.file, running, state.saved) for condition in filled.kept]
    if task.needs in UNOBTAINABLE and filled.success:
        looked = _end_state(filled, job.file, running, state)
        if not score.missing(filled, (), looked):
            raise NotObserved("the task is wrong: what must not come about holds before the first call")
    _calls(job, running, filled, state, until)
    success = _end_state(filled, job.file, running, state)
    after = [_look(condition, job.file, running, state.saved) for condition in filled.kept]
    unchanged_reads = [
        (condition, score.ReadResult(now, then))
        for condition, now, then in zip(filled.kept, after, before, strict=True)
    ]
    secrets = score.secrets_of([environment.credentials(name, state.saved) for name in environment.callers])
    return score.score_episode(
        filled, state.played, state.ending, success, unchanged_reads, secrets, environment.clocks, environment.reads
    )


def _end_state(
    task: Task, file: TaskFile, running: RunningEnvironment, state: EpisodeState
) -> list[tuple[Read, score.ReadResult]]:
    """Read the end state, one read after the other: they may name what the agent made, and what was read before."""
    names = dict(state.saved) | score.made_by(task, state.played)
    results: list[tuple[Read, score.ReadResult]] = []
    for condition in task.success:
        read = Read.model_validate(fill(condition.model_dump(), names))
        response = _look(read, file, running, state.saved)
        if read.alternative is not None and score.unmet(read, response):
            other = _look(read.alternative, file, running, state.saved)
            read, response = (read, response) if score.unmet(read.alternative, other) else (read.alternative, other)
        names |= {name: score.value_at(response.body, pointer) for name, pointer in read.save.items()}
        results.append((read, score.ReadResult(response)))
    return results


def prepare(calls: Sequence[Setup], file: TaskFile, running: RunningEnvironment, saved: dict[str, Json]) -> None:
    """Make set-up calls to the upstream and save their values. Raises NotObserved if one fails."""
    for setup in calls:
        request = setup.request.request(saved, form=file.form)
        response = running.upstream_client.send(request, running.environment.credentials(setup.caller, saved))
        if not response.succeeded:
            raise NotObserved(f"set-up: {request.method} {request.path}: {response.status} {str(response.body)[:300]}")
        for name, pointer in setup.save.items():
            value = score.value_at(response.body, pointer)
            if value == "<absent>":
                raise NotObserved(
                    f"set-up: {request.method} {request.path}: no {pointer} in {str(response.body)[:300]}"
                )
            saved[name] = value


def _look(read: Read | Kept, file: TaskFile, running: RunningEnvironment, saved: Mapping[str, Json]) -> Response:
    return running.upstream_client.send(
        read.read.request({}, form=file.form), running.environment.credentials("owner", saved)
    )


def credentials(job: Job, environment: Environment, saved: Mapping[str, Json]) -> dict[str, str]:
    """Return the headers that are added to the agent's requests: credentials, and the mode asked of the proxy."""
    headers = environment.credentials(environment.agent, saved)
    if environment.grpc:
        return {**headers, "recovery-feedback": job.arm.mode, "recovery-feedback-caller": job.key[:16]}
    return {**headers, "prefer": f"recovery-feedback={job.arm.mode}; caller={job.key[:16]}"}


def _calls(job: Job, running: RunningEnvironment, task: Task, state: EpisodeState, until: float) -> None:
    """Carry out the agent's moves until it stops, succeeds, or has no attempt left."""
    request = task.request.request({}, form=job.file.form)
    about = str(fill(job.file.about, state.saved))
    headers = credentials(job, running.environment, state.saved)
    refusal = _refusal(job, running, request, headers, state) if job.start == "refusal" else None
    briefing = Briefing(
        about=about,
        prompt=task.prompt,
        request=request,
        refusal=refusal,
        facts=task.facts,
        attempts=job.attempts,
        read_methods=running.environment.reads,
    )
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
                return  # the lost attempts were the last ones
            response = _make_move(job, running, move, headers, state)
            succeeded = response.succeeded and move.ends_episode
            exhausted = state.attempts >= job.attempts or len(state.played) >= _MOST
            if (succeeded or exhausted) and job.agent.kind != "external":
                return
            try:
                move = moves.send(response)  # an external agent waits for this response, and says when it is done
            except StopIteration:
                move = None
            if exhausted:
                return


def _refusal(
    job: Job, running: RunningEnvironment, request: Request, headers: Mapping[str, str], state: EpisodeState
) -> Response:
    """Make the task's own call, which is no attempt of the agent. Raises NotObserved if it is not refused."""
    response = _make_move(job, running, Send(request), headers, state)
    if response.succeeded:
        raise NotObserved("the task is wrong: its own call was accepted, so there is no refusal to start from")
    state.played[-1] = replace(state.played[-1], given=True)
    state.attempts = 0
    return response


def _make_move(
    job: Job, running: RunningEnvironment, move: Send, headers: Mapping[str, str], state: EpisodeState
) -> Response:
    """Wait, then make the steps and the call of a move. Return the call's response as the arm shows it."""
    if (wait := min(move.wait, job.longest_wait)) > 0:
        time.sleep(wait)
    tokens = move.usage.input + move.usage.output if move.usage is not None else 0
    is_look_up = not move.ends_episode and is_read(
        move.request, running.environment.reads
    )  # a successful one is no attempt
    last = Response(0, None)
    for index, request in enumerate((*move.steps, move.request)):
        is_step = index < len(move.steps) or is_look_up
        is_last = index == len(move.steps)
        sent = Request(request.method, request.path, request.query, request.headers, request.body, job.file.form)
        began = time.monotonic()
        response = running.proxy_client.send(sent, headers)
        visible = {name: response.headers[name] for name in _SHOWN_HEADERS if name in response.headers}
        visible_response = Response(response.status, response.body, visible, response.succeeded)
        if not response.succeeded:
            seed = f"{job.seed}:{job.task.id}:{len(state.played)}"
            visible_response = apply_arm(
                visible_response, job.arm, seed, job.pool, Normalizer(running.environment, {"tenant": job.tenant})
            )
        state.played.append(
            score.PlayedCall(
                sent,
                response,
                visible_response,
                step=is_step,
                applied=move.applied if is_last else None,
                wait=move.wait if is_last else 0.0,
                note=move.note if is_last else "",
                lost=move.lost if is_last else 0,
                reflections=move.reflections if is_last else (),
                tokens=tokens if is_last else 0,
                seconds=round(time.monotonic() - began, 6),
            )
        )
        last = visible_response
    state.attempts += not (last.succeeded and is_look_up)
    return last


def first_feedback(job: Job, running: RunningEnvironment) -> Feedback | None:
    """Return the feedback on a task's first request, if any: other tasks' `shuffled` arm shows it."""
    state = EpisodeState(saved={"tenant": job.tenant})
    prepare((*running.environment.begin, *job.task.setup), job.file, running, state.saved)
    headers = credentials(replace(job, arm=Arm.PATCHES), running.environment, state.saved)
    response = running.proxy_client.send(job.task.request.request(state.saved, form=job.file.form), headers)
    feedback = score.feedback_of(response)
    return feedback.document() if feedback is not None else None
