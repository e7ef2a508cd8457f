"""Does what a correction asks for: sends, waits, asks. Once for blocking libraries and for asynchronous ones.

A sequence is a generator: it yields what is to be called, and is sent the result or thrown the error. `drive` and
`drive_async` do the calls. Knows: clocks, callbacks. Does not know: HTTP libraries: the adapter gives it a function
that sends.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any, TypeVar

from .answer import Answer
from .correction import Correction, Effect, Outcome, Send, Wait, correct, log
from .decision import Ask, Confirm
from .policy import Policy
from .sent_request import NotSendable, SentRequest

T = TypeVar("T")
Calls = Generator[Callable[[], Any] | Wait, Any, T]


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
    return drive(corrected(sent, answer, policy, partial(_once, send)), sleep)


async def run_async(
    sent: SentRequest, answer: Answer, policy: Policy, send: Callable[[SentRequest], Awaitable[Answer]]
) -> Outcome:
    """Do the same where sending is awaited. `confirm` and `ask` may be coroutine functions."""
    return await drive_async(corrected(sent, answer, policy, partial(_once, send)))


def drive(calls: Calls[T], sleep: Callable[[float], Any] = time.sleep) -> T:
    """Do the calls of a sequence and return what it returns."""
    step: Callable[[], Any] = partial(next, calls)
    while True:
        try:
            call = step()
        except StopIteration as end:
            result: T = end.value
            return result
        try:
            done = sleep(call.seconds) if isinstance(call, Wait) else _plain(call())
            step = partial(calls.send, done)
        except BaseException as problem:  # also a cancellation: a sequence closes what is open
            step = partial(calls.throw, problem)


async def drive_async(calls: Calls[T]) -> T:
    """Do the same where results may have to be awaited."""
    step: Callable[[], Any] = partial(next, calls)
    while True:
        try:
            call = step()
        except StopIteration as end:
            result: T = end.value
            return result
        try:
            done = asyncio.sleep(call.seconds) if isinstance(call, Wait) else call()
            step = partial(calls.send, await done if inspect.isawaitable(done) else done)
        except BaseException as problem:  # also a cancellation: a sequence closes what is open
            step = partial(calls.throw, problem)


def corrected(
    sent: SentRequest, last: Answer, policy: Policy, send: Callable[[SentRequest], Calls[Answer]]
) -> Calls[Outcome]:
    """Yield the calls of a correction; `send` yields those of one request."""
    steps, result = correct(sent, last, policy), None
    while True:
        effect = _advance(steps, result, last)
        match effect:
            case Outcome():
                return effect
            case Wait():
                result = yield effect
            case Send():
                try:
                    result = yield from send(effect.request)
                except Exception as problem:
                    if not (effect.optional or isinstance(problem, NotSendable)):
                        raise
                    result = None
                if effect.corrected and result is not None:
                    last = result
            case Confirm(proposal):
                result = (yield partial(policy.confirm, proposal)) if policy.confirm is not None else False
            case Ask(question):
                result = (yield partial(policy.ask, question)) if policy.ask is not None else None


def _once(send: Callable[[SentRequest], Any], request: SentRequest) -> Calls[Answer]:
    answer: Answer = yield partial(send, request)
    return answer


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


def _plain(result: Any) -> Any:
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()  # it is never awaited
        raise TypeError("`confirm` and `ask` are plain functions where the HTTP library is synchronous")
    return result
