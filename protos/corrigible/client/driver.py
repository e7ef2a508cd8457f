"""Does what a correction asks for: sends, waits, asks. Once for blocking libraries, once for asynchronous ones.

Knows: clocks, callbacks. Does not know: HTTP libraries: the adapter gives it a function that sends.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any

from corrigible.schema.feedback import Suggestion

from .answer import Answer
from .correction import Correction, Effect, Outcome, Send, Wait, correct, log
from .decision import Ask, Confirm
from .policy import Policy, Question
from .sent_request import SentRequest


def run(
    sent: SentRequest,
    answer: Answer,
    policy: Policy,
    send: Callable[[SentRequest], Answer],
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Return what the caller gets for a request that was answered. Errors of `send` and of callbacks are raised."""
    steps, last = correct(sent, answer, policy), answer
    result: Any = None
    while True:
        effect = _advance(steps, result, last)
        match effect:
            case Outcome():
                return effect
            case Wait(seconds):
                sleep(seconds)
                result = None
            case Send():
                try:
                    result = send(effect.request)
                except Exception:
                    if not effect.optional:
                        raise
                    result = None
                if effect.corrected:
                    last = result
            case Confirm(suggestion):
                result = _plain(_confirm(policy, suggestion))
            case Ask(question):
                result = _plain(_ask(policy, question))


async def run_async(
    sent: SentRequest, answer: Answer, policy: Policy, send: Callable[[SentRequest], Awaitable[Answer]]
) -> Outcome:
    """Do the same where sending is awaited. `confirm` and `ask` may be coroutine functions."""
    steps, last = correct(sent, answer, policy), answer
    result: Any = None
    while True:
        effect = _advance(steps, result, last)
        match effect:
            case Outcome():
                return effect
            case Wait(seconds):
                await asyncio.sleep(seconds)
                result = None
            case Send():
                try:
                    result = await send(effect.request)
                except Exception:
                    if not effect.optional:
                        raise
                    result = None
                if effect.corrected:
                    last = result
            case Confirm(suggestion):
                result = await _awaited(_confirm(policy, suggestion))
            case Ask(question):
                result = await _awaited(_ask(policy, question))


def _advance(steps: Correction, result: Any, answer: Answer) -> Effect | Outcome:
    """Return the next effect. An error of ours is logged, and the caller gets the answer as it is."""
    try:
        return steps.send(result)
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome
    except Exception:
        log.exception("the correction failed; the answer is passed on as it is")
        return Outcome(answer)


def _confirm(policy: Policy, suggestion: Suggestion) -> Any:
    return policy.confirm(suggestion) if policy.confirm is not None else False


def _ask(policy: Policy, question: Question) -> Any:
    return policy.ask(question) if policy.ask is not None else None


def _plain(result: Any) -> Any:
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()  # it is never awaited
        raise TypeError("`confirm` and `ask` are plain functions where the HTTP library is synchronous")
    return result


async def _awaited(result: Any) -> Any:
    return await result if inspect.isawaitable(result) else result
