"""The feedback for a repeated refusal, by the number of attempts: alternatives, then the place alone, then a person.

Knows: feedback, what was tried. Does not know: who calls, which requests are of one task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from corrigible.schema.document import pointer_problem
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import SCHEMA
from corrigible.schema.word import BaseAction, LoopAction

from .attempt_group import AttemptGroup, Feedback, Refusal
from .fingerprint import Advice, advice_of, follows

RELAXED: Final = 3
ESCALATED: Final = 4
"""The refusal, counted from 1, at which this is done at the latest."""
IDLE: Final = 600.0
"""Seconds after which a loop is forgotten."""
_MOST_PLACEHOLDERS = 16


def answer_repeated(
    group: AttemptGroup, refusal: Refusal, feedback: Feedback | None, fingerprint: str
) -> dict[str, Json] | None:
    """Return feedback by the number of times that a refusal came back."""
    attempts, most = group.attempts, ESCALATED
    suggestions: list[Mapping[str, Json]] = list(feedback["suggestions"]) if feedback else []
    terminal = feedback is not None and feedback["recovery"] == "terminal"
    transient = feedback is not None and feedback["recovery"] == "transient"
    if transient and feedback is not None:
        # Who does not wait learns nothing new from the next refusal, and nobody else has to act.
        most = max(most, (feedback.get("retry") or {}).get("max_attempts") or 0) + group.early
        most = attempts + 1 if group.is_early(refusal) else most
    action = LoopAction.NONE
    changed: dict[str, Json] = {}
    if terminal:
        done = any(BaseAction.ALREADY_DONE in (one["action"], one.get("base_action")) for one in suggestions)
        if attempts >= most and not done:
            action, changed = LoopAction.ESCALATE, _final(suggestions, attempts)
    elif attempts >= most:
        action, changed = LoopAction.ESCALATE, _escalated(group)
    elif attempts >= RELAXED and not transient:
        action, changed = LoopAction.RELAX_STRUCTURE, _relaxed(refusal, suggestions, attempts)
    elif not suggestions:
        return None
    elif not transient:
        left = _untried(suggestions, group.tried, refusal.request)
        if not left:
            action, changed = LoopAction.RELAX_STRUCTURE, _relaxed(refusal, suggestions, attempts)
        elif advice_of(left[0], refusal.request) not in group.advised[:1]:
            action = LoopAction.NEXT_ALTERNATIVE
        changed = changed or {"suggestions": left}
    out: dict[str, Json] = {**(feedback or {}), **changed}
    if action is LoopAction.ESCALATE:
        out.pop("retry", None)
    elif action is LoopAction.RELAX_STRUCTURE and "retry" in out:
        out["retry"] = {**out["retry"], "same_request": False}
    if feedback is not None and action in (LoopAction.RELAX_STRUCTURE, LoopAction.ESCALATE):
        out["message"] = f"{feedback['message']} {changed['message']}"
    shown = out.pop("suggestions")
    loop = {"fingerprint": fingerprint, "attempt": attempts, "action": action.value}
    return {**out, "loop": loop, "suggestions": shown}


def _untried(
    suggestions: Sequence[Mapping[str, Json]], tried: Sequence[Advice], request: Request
) -> list[Mapping[str, Json]]:
    """Leave out what was tried and led to the same refusal. A question can be answered in another way."""
    advised = [(one, advice_of(one, request)) for one in suggestions]
    return [one for one, advice in advised if advice.asked_pointers or not _is_tried(advice, tried, request)]


def _is_tried(advice: Advice, tried: Sequence[Advice], request: Request) -> bool:
    return advice in tried or (bool(advice.effects) and follows(advice, request))


def _relaxed(refusal: Refusal, suggestions: Sequence[Mapping[str, Json]], attempts: int) -> dict[str, Json]:
    """Say only that something is wrong, and where: no values, nothing that a reader would send by itself."""
    first: Mapping[str, Json] = suggestions[0] if suggestions else {}
    suggestion: dict[str, Json] = {
        "action": first.get("base_action") or first.get("action") or BaseAction.MODIFY_PARAMS.value,
        "message": "Read the answer itself, and change what it names: another request than those before.",
        "parameters": {},
    }
    asked = [place for place in dict.fromkeys(one.pointer for one in refusal.errors) if pointer_problem(place) is None]
    if asked:
        suggestion["applicability"] = "HAS_PLACEHOLDERS"
        suggestion["placeholders"] = [{"pointer": place, "ask": "user"} for place in asked[:_MOST_PLACEHOLDERS]]
    return {
        "schema": SCHEMA,
        "type": "recovery_guidance" if asked else "confidence_signal",
        "message": _times(attempts),
        "recovery": "correctable",
        "suggestions": [suggestion],
    }


def _final(suggestions: Sequence[Mapping[str, Json]], attempts: int) -> dict[str, Json]:
    """Count in what has ended already: it stays what it is, and who repeats it all the same hears so."""
    return {
        "message": _times(attempts),
        "suggestions": [
            {**one, "parameters": {**(one.get("parameters") or {}), "attempts": attempts}} for one in suggestions
        ],
    }


def _times(attempts: int) -> str:
    """Say what was counted, and what ends the count."""
    return (
        f"Requests like this one of the same caller were refused {attempts} times in the same way. A success of this"
        f" operation ends the count, and so do {IDLE:.0f} seconds without this refusal."
    )


def _escalated(group: AttemptGroup) -> dict[str, Json]:
    parameters: dict[str, Json] = {"actor": "you", "attempts": group.attempts}
    if group.code:
        parameters["code"] = group.code
    return {
        "schema": SCHEMA,
        "type": "recovery_guidance",
        "message": _times(group.attempts),
        "recovery": "terminal",
        "suggestions": [
            {
                "action": BaseAction.ESCALATE.value,
                "message": "Stop sending this: a person has to look at what is refused. Callers that share their"
                " credentials are told apart by names (`caller` in `Prefer`).",
                "parameters": parameters,
            }
        ],
    }
