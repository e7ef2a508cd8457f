"""Does what a correction asks for: sends, waits, asks. Once for blocking libraries, once for asynchronous ones.

Knows: clocks, callbacks. Does not know: HTTP libraries: the adapter gives it a function that sends.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any

from .answer import Answer
from .correction import Correction, Effect, Outcome, Send, Wait, correct, log
from .decision import Ask, Confirm
from .policy import Policy, Proposal, Question
from .sent_request import NotSendable, SentRequest


def run(
    sent: SentRequest,
    answer: Answer,
    policy: Policy,
    send: Callable[[SentRequest], Answer],
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Return what the caller gets for a request that was answered.

    Errors of callbacks are raised, and those of `send` for the corrected request, but for NotSendable: the library does
    not write it, so nothing was sent.
    """
    calls = _calls(correct(sent, answer, policy), answer, policy, send, sleep)
    try:
        call = next(calls)
        while True:
            try:
                result = _plain(call())
            except Exception as problem:
                call = calls.throw(problem)
            else:
                call = calls.send(result)
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome


async def run_async(
    sent: SentRequest, answer: Answer, policy: Policy, send: Callable[[SentRequest], Awaitable[Answer]]
) -> Outcome:
    """Do the same where sending is awaited. `confirm` and `ask` may be coroutine functions."""
    calls = _calls(correct(sent, answer, policy), answer, policy, send, asyncio.sleep)
    try:
        call = next(calls)
        while True:
            try:
                result = await _awaited(call())
            except Exception as problem:
                call = calls.throw(problem)
            else:
                call = calls.send(result)
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome


def _calls(
    steps: Correction,
    last: Answer,
    policy: Policy,
    send: Callable[[SentRequest], Any],
    sleep: Callable[[float], Any],
) -> Generator[Callable[[], Any], Any, Outcome]:
    """Yield what is to be called for each effect; it is sent the result, or thrown the error."""
    result: Any = None
    while True:
        effect = _advance(steps, result, last)
        match effect:
            case Outcome():
                return effect
            case Wait(seconds):
                result = yield partial(sleep, seconds)
            case Send():
                try:
                    result = yield partial(send, effect.request)
                except Exception as problem:
                    if not (effect.optional or isinstance(problem, NotSendable)):
                        raise
                    result = None
                if effect.corrected and result is not None:
                    last = result
            case Confirm(proposal):
                result = yield partial(_confirm, policy, proposal)
            case Ask(question):
                result = yield partial(_ask, policy, question)


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


def _confirm(policy: Policy, proposal: Proposal) -> Any:
    return policy.confirm(proposal) if policy.confirm is not None else False


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
