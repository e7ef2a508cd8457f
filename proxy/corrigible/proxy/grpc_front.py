"""The gRPC front end: refusals go through the pipeline, and feedback into the details of their status.

Knows: the pipeline, descriptors, one channel. Does not know: how calls are carried, what any rule says.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
from grpc import aio

from corrigible.adapters.protobuf.descriptors import Descriptors
from corrigible.rules.lookup import CALL, Lookup, LookupAnswer
from corrigible.schema.exchange import Exchange, Request

from .document import is_left_out
from .grpc_carrier import Metadata, Refusal
from .grpc_status import HTTP, annotated, encoded, native_status, status_json
from .journal import is_secret
from .lookup import NO_ANSWER, drive
from .mode import PREFERENCE, Mode, parse_mode
from .translate import Annotate, PassThrough, Translator


@dataclass(frozen=True, slots=True)
class Said:
    """What became of one refusal, for the journal."""

    refusal: Refusal
    id: str
    started: float
    reason: str
    operation: str = ""
    decision: Annotate | None = None
    error: str | None = None


class GrpcFront:
    """Corrects the refusals that a carrier hands over."""

    def __init__(
        self,
        translator: Translator,
        channel: aio.Channel,
        descriptors: Descriptors,
        *,
        mode: Mode = Mode.REFLECTIVE,
        told: Callable[[Said], None] = lambda said: None,
    ) -> None:
        self.translator, self.descriptors, self.mode = translator, descriptors, mode
        self._channel, self._told = channel, told

    async def correct(self, refusal: Refusal) -> Metadata | None:
        """Return the trailers to send, None for the upstream's own. Never raises."""
        id, started = uuid.uuid4().hex, time.time()
        try:
            trailers, said = await self._corrected(refusal, id, started)
        except Exception as problem:  # the law: an error of ours means that the native status passes
            trailers, said = (
                None,
                Said(refusal, id, started, "a mistake of ours", error=f"{type(problem).__name__}: {problem}"),
            )
        self._told(said)
        return trailers

    async def _corrected(self, refusal: Refusal, id: str, started: float) -> tuple[Metadata | None, Said]:
        mode = wanted(refusal.metadata) or self.mode
        if mode is not Mode.REFLECTIVE:
            return None, Said(refusal, id, started, f"mode is {mode.value}")
        status = native_status(refusal.code, refusal.message, refusal.trailers)
        body = encoded(status_json(status, self.descriptors.pool))
        exchange = Exchange(self._document(refusal), HTTP[refusal.code], {}, body, id, started)

        async def fetch(lookup: Lookup) -> LookupAnswer:
            return await self._call(lookup, refusal)

        decision = await drive(self.translator.translate(exchange), fetch, self.translator.limits)
        if isinstance(decision, PassThrough):
            error = decision.reason if decision.fault else None
            return None, Said(refusal, id, started, decision.reason, decision.operation, error=error)
        trailers = annotated(refusal.trailers, status, refusal.message, decision.feedback)
        reason = "annotated" if trailers is not None else "the native details leave no room"
        return trailers, Said(refusal, id, started, reason, decision.operation, decision if trailers else None)

    def _document(self, refusal: Refusal) -> Request:
        headers = {
            key: value
            for key, value in refusal.metadata
            if isinstance(value, str) and key != PREFERENCE and not is_left_out(key) and not is_secret(key)
        }
        body = None
        if refusal.request is not None:
            body = self.descriptors.request_json(refusal.method, refusal.request)
        return Request(refusal.method, "", headers=headers, body=body)

    async def _call(self, lookup: Lookup, refusal: Refusal) -> LookupAnswer:
        """Ask the upstream as the caller would."""
        if lookup.method != CALL:
            return NO_ANSWER
        message = self.descriptors.request_bytes(lookup.path, orjson.loads(lookup.body or b"{}"))
        if message is None:
            return NO_ANSWER
        metadata = [
            (k, v) for k, v in refusal.metadata if k != PREFERENCE and not k.startswith(("grpc-", "user-agent"))
        ]
        try:
            call: Any = self._channel.unary_unary(lookup.path)
            answer = await call(
                message, metadata=aio.Metadata(*metadata), timeout=self.translator.limits.seconds_with_lookups
            )
        except aio.AioRpcError as refused:
            return LookupAnswer(HTTP[refused.code().value[0]])
        return LookupAnswer(200, orjson.dumps(self.descriptors.answer_json(lookup.path, answer)))


def wanted(metadata: Metadata) -> Mode | None:
    """Return the mode that a caller's metadata asks for."""
    asked = (parse_mode(value) for key, value in metadata if key == PREFERENCE and isinstance(value, str))
    return next((mode for mode in asked if mode is not None), None)
