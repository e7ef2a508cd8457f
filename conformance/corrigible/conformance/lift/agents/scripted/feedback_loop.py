"""The loop of every script that reads feedback: send, read, decide, stop.

Knows: moves. Does not know: how a script uses a suggestion.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import replace

from corrigible.conformance.lift.agents.protocol import Briefing, Ending, Move, Send, Stop
from corrigible.conformance.lift.agents.scripted.reading.error_body import is_escalated
from corrigible.conformance.lift.environment.response import Response
from corrigible.schema.carrier import find
from corrigible.schema.error import ReaderError
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import Suggestion
from corrigible.schema.reader import NeedsInput, Next, Terminal

STOPPED_BY_LOOP_BREAKER = Stop("stopped by loop breaker", "the loop breaker escalated")
_KEY = "idempotency-key"

Decide = Callable[[Mapping[str, Json], Request, int], Move]
"""Feedback, the refused request, how many refusals there were: what comes next."""


def first_response(briefing: Briefing) -> Generator[Move, Response, Response]:
    """Send the first request, unless the episode starts at its refusal. Return the response."""
    if briefing.refusal is not None:
        return briefing.refusal
    return (yield Send(briefing.request))


def run_feedback_loop(briefing: Briefing, decide: Decide) -> Generator[Move, Response, None]:
    """Send the first request, and let `decide` choose the next move after each error."""
    request = briefing.request
    response = yield from first_response(briefing)
    refusals = 0
    while not response.succeeded:
        refusals += 1
        move = _after(response, request, refusals, decide)
        if isinstance(move, Stop):
            yield move
            return
        request = move.request
        response = yield move
    yield Stop("done")


def _after(response: Response, request: Request, refusals: int, decide: Decide) -> Move:
    feedback = find(response.body)
    if feedback is None:
        return Stop("gave up", "no feedback")
    if is_escalated(feedback):
        return STOPPED_BY_LOOP_BREAKER
    try:
        return decide(feedback, request, refusals)
    except ReaderError as problem:
        return Stop("gave up", f"unreadable feedback: {problem}")


def move_for_outcome(outcome: Next | Terminal | NeedsInput, before: Request, refusals: int, note: str = "") -> Move:
    """Return the move for an outcome of the published reader."""
    match outcome:
        case Terminal(action=action):
            ending: Ending = "done" if action == "ALREADY_DONE" else "impossible"
            return Stop(ending, action)
        case NeedsInput(reason=reason):
            return Stop("needs input", reason)
        case Next():
            request = outcome.request
            if outcome.new_idempotency_key and _key(request) == _key(before):  # one that the answer gave stays
                request = with_idempotency_suffix(request, str(refusals + 1))
            return Send(request, outcome.steps, outcome.wait_seconds, outcome.applied, note=note)


def agrees(suggestion: Suggestion) -> bool:
    """Confirm as the user of a script: yes to what changes the wish, no to what requires a confirmation."""
    return not suggestion.requires_confirmation


def with_idempotency_suffix(request: Request, word: str) -> Request:
    """Return the request with another idempotency key, if it has one."""
    return replace(request, headers={n: f"{v}-{word}" if n.lower() == _KEY else v for n, v in request.headers.items()})


def _key(request: Request) -> str | None:
    return next((value for name, value in request.headers.items() if name.lower() == _KEY), None)
