"""Turns what was played into a record of the log: normalized, so that two runs of one seed agree.

Knows: played calls, the normalizer. Does not know: servers, agents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corrigible.conformance.lift.environment.environment import Environment
from corrigible.conformance.lift.environment.normalizer import Normalizer
from corrigible.conformance.lift.environment.reads import is_read
from corrigible.conformance.lift.environment.response import Response
from corrigible.conformance.lift.log.record import Episode, Reflection, Spent, Turn
from corrigible.schema.exchange import Json

from .job import EpisodeState, Job
from .score import PlayedCall, Verdict, feedback_of, follows


@dataclass(frozen=True, slots=True)
class Ended:
    """How an episode ended."""

    outcome: str
    trouble: str
    """Why it is an error; empty: it is none."""
    verdict: Verdict
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
    call: PlayedCall,
    before: PlayedCall | None,
    normalizer: Normalizer,
    job: Job,
    saved: Mapping[str, Json],
) -> Turn:
    feedback = feedback_of(call.seen)
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
        followed=before is not None and not call.step and follows(before, call),
        wait=call.wait,
        note=normalizer.text(call.note),
        lost=call.lost,
        reflections=_reflected(call.reflections, normalizer),
        seconds=call.seconds,
    )


def _reflected(reflections: Sequence[Reflection], normalizer: Normalizer) -> tuple[Reflection, ...]:
    return tuple(reflection.model_copy(update={"text": normalizer.text(reflection.text)}) for reflection in reflections)


def _call_before(played: Sequence[PlayedCall], index: int) -> PlayedCall | None:
    return next((call for call in reversed(played[:index]) if not call.step), None)


def _is_loop(response: Response) -> bool:
    feedback = feedback_of(response)
    return feedback is not None and feedback.loop is not None and feedback.loop.action not in (None, "none")
