"""The gRPC front end: refusals go through the pipeline, and feedback into the details of their status.

Knows: one upstream, how it is called. Does not know: how calls are carried, which feedback a refusal gets.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
from grpc import aio

from corrigible.adapters.protobuf.descriptors import Descriptors
from corrigible.proxy.core.corrector import OUR_ERROR, Outcome
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.http.message_head import is_forwarded
from corrigible.proxy.runtime.dispatcher import Attempt, Dispatcher, Task, unanswered
from corrigible.proxy.runtime.lookup_runner import NO_ANSWER
from corrigible.rules.lookup import CALL, Lookup, LookupAnswer

from .channel import Upstream
from .corrector import GrpcCorrector
from .forwarder import GONE, CallResult, Metadata, forwarded_metadata
from .reflection import Reflection
from .status import HTTP

LARGE_MESSAGE: Final = 4 << 10
"""Bytes of a message from which on it is not read on the loop: two may be a member, and JSON is made of each."""
_UNIMPLEMENTED: Final = 12
_BY_DESCRIPTORS: Final = frozenset({2, 3, 5, 6, 11, _UNIMPLEMENTED, 13})
"""Codes of refusals that may be about what descriptors describe."""
_PATIENCE: Final = 0.5
"""The part of the time a caller still waits that look-ups may take."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What became of one call, for the access log."""

    call: CallResult
    id: str
    outcome: Outcome[Metadata]
    lookups: int = 0
    correction: float | None = None
    """Seconds that were spent on it."""


class GrpcFront:
    """Corrects the refusals that a forwarder hands over."""

    def __init__(
        self,
        corrector: GrpcCorrector,
        upstream: Upstream,
        dispatcher: Dispatcher,
        *,
        described: bool,
        record: Callable[[CallOutcome], None] | None = None,
        complain: Callable[[str], None] = lambda line: None,
    ) -> None:
        """`described` says whether the corrector knows the API's descriptors; else the upstream is asked for them."""
        self._corrector, self._upstream, self._dispatcher, self._record = corrector, upstream, dispatcher, record
        self.reflection: Reflection | None = None
        """Asks for descriptors, where none were given."""
        if not described:
            self.reflection = Reflection(upstream, self._learn, complain)

    def _learn(self, descriptors: Descriptors) -> None:
        self._corrector.learn(descriptors)
        self._dispatcher.learn("read", descriptors.files)

    def is_unary(self, method: str) -> bool:
        return self._corrector.is_unary(method)

    def call_started(self, metadata: Metadata) -> None:
        if self.reflection is not None:
            self.reflection.begin(metadata)

    def call_ended(self, ending: CallResult) -> None:
        operation = ""
        if ending.code == 0:
            self._corrector.succeeded(ending)
            operation = self._corrector.described(ending.method)
        if self._record is not None:
            reason = ending.message if ending.code and ending.message != GONE else ""
            self._record(CallOutcome(ending, uuid.uuid4().hex, Outcome(None, reason, Mode.NONE, operation)))

    async def corrected_trailers(self, refusal: CallResult) -> Metadata | None:
        """Return the trailers to send, None for the upstream's own. Never raises."""
        id = uuid.uuid4().hex
        attempt: Attempt[Outcome[Metadata]]
        try:
            limits = _in_time(self._corrector.limits, refusal.seconds)
            if not await self._may_be_judged(refusal, limits):
                self._note(refusal, id, Outcome(None, "the upstream's descriptors are not read yet", Mode.REFLECTIVE))
                return None
            attempt = await self._dispatcher.attempt(
                self._task(refusal, id), lambda lookup: self._call(lookup, refusal), limits
            )
        except Exception as problem:
            attempt = Attempt(None, unanswered(problem), 0, 0.0)
        outcome = attempt.outcome
        if outcome is None:
            outcome = Outcome(None, attempt.why.reason or OUR_ERROR, Mode.REFLECTIVE, error=attempt.why.error)
        self._note(refusal, id, outcome, attempt.lookups, attempt.seconds)
        return outcome.rewrite

    def _note(
        self,
        refusal: CallResult,
        id: str,
        outcome: Outcome[Metadata],
        lookups: int = 0,
        correction: float | None = None,
    ) -> None:
        if self._record is not None:
            self._record(CallOutcome(refusal, id, outcome, lookups, correction))

    async def _may_be_judged(self, refusal: CallResult, limits: Limits) -> bool:
        """Wait for descriptors that are being read, where the refusal is about what they describe."""
        if self.reflection is None or refusal.code not in _BY_DESCRIPTORS or not self.reflection.is_pending:
            return True
        await self.reflection.wait(refusal.metadata, limits.seconds_with_lookups)
        return refusal.code != _UNIMPLEMENTED or not self.reflection.is_pending

    def _task(self, refusal: CallResult, id: str) -> Task[Outcome[Metadata]]:
        corrector = self._corrector
        size = len(refusal.request or b"") + sum(len(key) + len(value) for key, value in refusal.trailers)
        identity = {"id": id, "started": refusal.started}
        return Task(
            "correct",
            corrector.correct,
            corrector.accepted,
            (refusal,),
            identity,
            size,
            corrector.caller(refusal),
            f"{refusal.method} {refusal.code}",
        )

    async def _call(self, lookup: Lookup, refusal: CallResult) -> LookupAnswer:
        """Ask the upstream as the caller would."""
        if lookup.method != CALL:
            return NO_ANSWER
        message = self._corrector.descriptors.request_bytes(lookup.path, orjson.loads(lookup.body or b"{}"))
        if message is None:
            return NO_ANSWER
        metadata = [(key, value) for key, value in forwarded_metadata(refusal.metadata) if is_forwarded(key)]
        limits = _in_time(self._corrector.limits, refusal.seconds)
        try:
            with self._upstream.channel() as channel:
                call: Any = channel.unary_unary(lookup.path)
                answer: bytes = await call(
                    message, metadata=aio.Metadata(*metadata), timeout=limits.seconds_with_lookups
                )
        except aio.AioRpcError as error:
            return LookupAnswer(HTTP[error.code().value[0]])
        if len(answer) > limits.body:
            return NO_ANSWER
        return LookupAnswer(200, orjson.dumps(self._corrector.descriptors.answer_json(lookup.path, answer)))


def _in_time(limits: Limits, seconds: float | None) -> Limits:
    """Return limits that let a caller with a deadline see the refusal before that."""
    if seconds is None:
        return limits
    return replace(limits, seconds_with_lookups=min(limits.seconds_with_lookups, max(0.0, seconds * _PATIENCE)))
