"""The patch-executor with a prompt: fills placeholders and picks among choices by the values that the prompt states.

It shows whether feedback asks at the right place. Where no value fits it asks too: it never guesses. It confirms what
agrees with the prompt.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import replace
from typing import Literal

from corrigible.conformance.lift.agents.protocol import Briefing, Move
from corrigible.conformance.lift.agents.scripted.reading.facts import Facts
from corrigible.conformance.lift.agents.scripted.reading.path import (
    ABSENT,
    format_pointer,
    parameter_location,
    parse_pointer,
    value_at,
    with_value,
)
from corrigible.conformance.lift.environment.response import Response
from corrigible.schema.edit import NotApplicable, after_suggestion
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import Feedback, PatchOperation, Placeholder, Suggestion, parse
from corrigible.schema.reader import Next, apply
from corrigible.schema.word import Applicability, FeedbackType, PatchVerb, Relation

from .feedback_loop import agrees, move_for_outcome, run_feedback_loop


class Informed:
    """Applies suggestions as the reader does, after filling in what the prompt states."""

    name = "informed"
    kind: Literal["scripted"] = "scripted"
    identity: Mapping[str, Json] = {"version": 2}

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        facts = Facts(briefing.facts)

        def decide(feedback: Mapping[str, Json], request: Request, refusals: int) -> Move:
            filled = _filled(parse(feedback), request, facts)
            order = _by_agreement(filled, request, facts)
            chosen_feedback = filled.model_copy(
                update={"suggestions": tuple(filled.suggestions[index] for index in order)}
            )
            picked = _picked(chosen_feedback, request, facts)
            agreed = _agreed(chosen_feedback, picked, request, facts)
            outcome = apply(
                chosen_feedback, request, pick=picked, confirm=lambda suggestion: agreed or agrees(suggestion)
            )
            if isinstance(outcome, Next):
                outcome = replace(outcome, applied=tuple(order[index] for index in outcome.applied))
            return move_for_outcome(outcome, request, refusals)

        return run_feedback_loop(briefing, decide)


def _filled(feedback: Feedback, request: Request, facts: Facts) -> Feedback:
    suggestions = tuple(_without_holes(suggestion, request, facts) for suggestion in feedback.suggestions)
    return feedback.model_copy(update={"suggestions": suggestions})


def _without_holes(suggestion: Suggestion, request: Request, facts: Facts) -> Suggestion:
    """Return a suggestion that puts facts where it asked, itself where a fact is missing."""
    if not suggestion.placeholders or suggestion.terminal:
        return suggestion
    values = [(hole, facts.fitting(hole, request)) for hole in suggestion.placeholders]
    if any(value is ABSENT for _, value in values):
        return suggestion
    unconditional = suggestion.model_copy(update={"placeholders": (), "applicability": Applicability.MAYBE_INCORRECT})
    try:
        current = after_suggestion(unconditional, request)
    except NotApplicable:
        return suggestion
    patch = list(suggestion.patch) or list(_merging(suggestion.parameters, f"/{parameter_location(request)}", request))
    for hole, value in values:
        patch += _putting(hole, value, current)
        after = with_value(current, parse_pointer(hole.pointer), value)
        if after is None:
            return suggestion
        current = after
    return unconditional.model_copy(update={"patch": tuple(patch)})


def _merging(parameters: Mapping[str, Json], under: str, request: Request) -> Iterator[PatchOperation]:
    """Yield the operations that merging parameters comes to."""
    if parameters and value_at(request, parse_pointer(under)) in (ABSENT, None):
        yield _operation(PatchVerb.ADD, under, {})
    for name, value in parameters.items():
        at = f"{under}{format_pointer((name,))}"
        if isinstance(value, Mapping):
            yield from _merging(value, at, request)
        elif value is not None:
            yield _operation(PatchVerb.ADD, at, value)
        elif value_at(request, parse_pointer(at)) is not ABSENT:
            yield PatchOperation(op=PatchVerb.REMOVE, path=at)


def _putting(hole: Placeholder, value: Json, current: Request) -> Iterator[PatchOperation]:
    place = parse_pointer(hole.pointer)
    for length in range(1, len(place)):
        if value_at(current, place[:length]) in (ABSENT, None):
            yield _operation(PatchVerb.ADD, format_pointer(place[:length]), {})
    verb = PatchVerb.ADD if value_at(current, place) is ABSENT else PatchVerb.REPLACE
    yield _operation(verb, hole.pointer, value)


def _operation(verb: PatchVerb, path: str, value: Json) -> PatchOperation:
    return PatchOperation(op=verb, path=path, value=value)


def _by_agreement(feedback: Feedback, request: Request, facts: Facts) -> list[int]:
    """Return the order in which alternatives stand where those that agree with facts come first in their group."""
    order = list(range(len(feedback.suggestions)))
    groups: dict[str, list[int]] = {}
    for index, suggestion in enumerate(feedback.suggestions):
        if suggestion.group is not None and suggestion.group.relation is Relation.ONE_OF:
            groups.setdefault(suggestion.group.id, []).append(index)
    for members in groups.values():
        agreed = sorted(members, key=lambda index: -facts.agreement(feedback.suggestions[index], request))
        for position, index in zip(members, agreed, strict=True):
            order[position] = index
    return order


def _agreed(feedback: Feedback, picked: int | None, request: Request, facts: Facts) -> bool:
    """Whether the prompt says what everything that requires a confirmation would come to."""
    chosen = feedback.suggestions if picked is None else (feedback.suggestions[picked],)
    asking = [suggestion for suggestion in chosen if suggestion.requires_confirmation]
    return bool(asking) and all(facts.agreement(suggestion, request) > 0 for suggestion in asking)


def _picked(feedback: Feedback, request: Request, facts: Facts) -> int | None:
    """Return the one choice that agrees with most facts, None where the choice is not the caller's or stays open."""
    if feedback.type is FeedbackType.RECOVERY_GUIDANCE:
        return None
    scores = [
        0 if suggestion.terminal or suggestion.placeholders else facts.agreement(suggestion, request)
        for suggestion in feedback.suggestions
    ]
    best = max(scores, default=0)
    return scores.index(best) if best > 0 and scores.count(best) == 1 else None
