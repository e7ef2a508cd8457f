"""The gRPC front end: refusals go through the pipeline, and feedback into the details of their status.

Knows: one upstream, how it is asked. Does not know: how calls are carried, what is to be said about a refusal.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
from grpc import aio

from corrigible.adapters.protobuf.descriptors import Descriptors
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.http.forwarded_headers import travels
from corrigible.proxy.runtime.dispatcher import Dispatcher, Lost, Shed, Task
from corrigible.proxy.runtime.lookup_runner import NO_ANSWER
from corrigible.rules.engine.lookup import CALL, Lookup, LookupAnswer

from .channel import Upstream
from .corrector import GrpcCorrector, Verdict, caller_of
from .forwarder import CallResult, Metadata, passed_on
from .reflection import Reflection
from .status import HTTP

LARGE_MESSAGE: Final = 4 << 10
"""Bytes of a message from which on it is not read on the loop: two may be a member, and JSON is made of each."""
_PATIENCE: Final = 0.5
"""The part of the time a caller still waits that look-ups may take."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What became of one call, for the journal."""

    ending: CallResult
    id: str
    verdict: Verdict
    lookups: int = 0


class GrpcFront:
    """Corrects the refusals that a carrier hands over."""

    def __init__(
        self,
        judge: GrpcCorrector,
        upstream: Upstream,
        dispatcher: Dispatcher,
        *,
        described: bool,
        told: Callable[[CallOutcome], None] | None = None,
        complain: Callable[[str], None] = lambda line: None,
    ) -> None:
        """`described` says whether the judge knows the API's descriptors; else the upstream is asked for them."""
        self._judge, self._upstream, self._dispatcher, self._told = judge, upstream, dispatcher, told
        self.reflection: Reflection | None = None
        """Asks for descriptors, where none were given."""
        if not described:
            self.reflection = Reflection(upstream, self._learn, complain)

    def _learn(self, descriptors: Descriptors) -> None:
        self._judge.learn(descriptors)
        self._dispatcher.learn("read", descriptors.files)

    def is_unary(self, method: str) -> bool:
        known = self._judge.descriptors.methods.get(method)
        return known is not None and not (known.client_streaming or known.server_streaming)

    def began(self, metadata: Metadata) -> None:
        if self.reflection is not None:
            self.reflection.begin(metadata)

    def ended(self, ending: CallResult) -> None:
        loops = self._judge.loops
        if loops and ending.code == 0:
            loops.succeeded(caller_of(ending, loops), ending.method[1:])
        if self._told is not None:
            self._told(CallOutcome(ending, uuid.uuid4().hex, Verdict(None)))

    async def corrected(self, refusal: CallResult) -> Metadata | None:
        """Return the trailers to send, None for the upstream's own. Never raises."""
        id = uuid.uuid4().hex
        asked = 0

        async def fetch(lookup: Lookup) -> LookupAnswer:
            nonlocal asked
            asked += 1
            return await self._call(lookup, refusal)

        try:
            limits = _in_time(self._judge.limits, refusal.seconds)
            verdict = await self._dispatcher.run(self._task(refusal, id), fetch, limits)
        except Shed as why:
            verdict = Verdict(None, str(why))
        except Lost as why:
            verdict = Verdict(None, "a mistake of ours", error=str(why))
        except Exception as problem:  # the law: an error of ours means that the native status passes
            verdict = Verdict(None, "a mistake of ours", error=f"{type(problem).__name__}: {problem}")
        if self._told is not None:
            self._told(CallOutcome(refusal, id, verdict, asked))
        return verdict.trailers

    def _task(self, refusal: CallResult, id: str) -> Task[Verdict]:
        loops = self._judge.loops
        caller = (caller_of(refusal, loops) if loops is not None else "") or refusal.peer
        size = len(refusal.request or b"") + sum(len(key) + len(value) for key, value in refusal.trailers)
        return Task("judge", self._judge.judge, lambda verdict: verdict, (refusal, id), {}, size, caller)

    async def _call(self, lookup: Lookup, refusal: CallResult) -> LookupAnswer:
        """Ask the upstream as the caller would."""
        if lookup.method != CALL:
            return NO_ANSWER
        message = self._judge.descriptors.request_bytes(lookup.path, orjson.loads(lookup.body or b"{}"))
        if message is None:
            return NO_ANSWER
        metadata = [(key, value) for key, value in passed_on(refusal.metadata) if travels(key)]
        limits = _in_time(self._judge.limits, refusal.seconds)
        try:
            with self._upstream.channel() as channel:
                call: Any = channel.unary_unary(lookup.path)
                answer: bytes = await call(
                    message, metadata=aio.Metadata(*metadata), timeout=limits.seconds_with_lookups
                )
        except aio.AioRpcError as refused:
            return LookupAnswer(HTTP[refused.code().value[0]])
        if len(answer) > limits.body:
            return NO_ANSWER
        return LookupAnswer(200, orjson.dumps(self._judge.descriptors.answer_json(lookup.path, answer)))


def _in_time(limits: Limits, seconds: float | None) -> Limits:
    """Return limits that let a caller with a deadline see the refusal before that."""
    if seconds is None:
        return limits
    return replace(limits, seconds_with_lookups=min(limits.seconds_with_lookups, max(0.0, seconds * _PATIENCE)))
