"""The gRPC front end: refusals go through the pipeline, and feedback into the details of their status.

Knows: the pipeline, descriptors, one upstream. Does not know: how calls are carried, what any rule says.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
from grpc import aio

from corrigible.adapters.protobuf.description import ProtobufDescription
from corrigible.adapters.protobuf.descriptors import Descriptors
from corrigible.rules.lookup import CALL, Lookup, LookupAnswer
from corrigible.schema.exchange import Exchange, Request

from .document import is_left_out
from .grpc_carrier import Ending, Metadata, passed_on
from .grpc_reflected import Reflection
from .grpc_status import HTTP, annotated, encoded, native_status, status_json
from .grpc_upstream import Upstream
from .journal import is_secret
from .limit import Limits
from .lookup import NO_ANSWER, drive
from .loop import Loops
from .mode import CALLER, PREFERENCE, Mode, parse_mode
from .translate import Annotate, Decision, PassThrough, Translator, again

_PATIENCE: Final = 0.5
"""The part of the time a caller still waits that look-ups may take."""
_OURS: Final = "corrigible.schema.v0_1.RecoveryFeedback"


@dataclass(frozen=True, slots=True)
class Said:
    """What became of one call, for the journal."""

    ending: Ending
    id: str
    reason: str = ""
    operation: str = ""
    decision: Annotate | None = None
    error: str | None = None
    lookups: int = 0


class GrpcFront:
    """Corrects the refusals that a carrier hands over."""

    def __init__(
        self,
        translator: Translator,
        upstream: Upstream,
        descriptors: Descriptors | None = None,
        *,
        mode: Mode = Mode.REFLECTIVE,
        loops: Loops | None = None,
        told: Callable[[Said], None] | None = None,
        complain: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.mode = mode
        self.loops = loops
        self._plain, self._upstream, self._told = translator, upstream, told
        self.descriptors = Descriptors()
        self._translators: Sequence[Translator] = _each(translator, None)
        self.reflection: Reflection | None = None
        """Asks for descriptors, where none were given."""
        if descriptors is not None:
            self.learn(descriptors)
        else:
            self.reflection = Reflection(upstream, self.learn, complain)

    def learn(self, descriptors: Descriptors) -> None:
        """Know from now on what these descriptors say."""
        translators = _each(self._plain, ProtobufDescription(descriptors))
        self.descriptors, self._translators = descriptors, translators

    def is_unary(self, method: str) -> bool:
        known = self.descriptors.methods.get(method)
        return known is not None and not (known.client_streaming or known.server_streaming)

    def began(self, metadata: Metadata) -> None:
        if self.reflection is not None:
            self.reflection.begin(metadata)

    def ended(self, ending: Ending) -> None:
        if self.loops and ending.code == 0:
            self.loops.succeeded(_caller(ending, self.loops), ending.method[1:])
        if self._told is not None:
            self._told(Said(ending, uuid.uuid4().hex))

    async def corrected(self, refusal: Ending) -> Metadata | None:
        """Return the trailers to send, None for the upstream's own. Never raises."""
        id = uuid.uuid4().hex
        try:
            trailers, said = await self._corrected(refusal, id)
        except Exception as problem:  # the law: an error of ours means that the native status passes
            said = Said(refusal, id, "a mistake of ours", error=f"{type(problem).__name__}: {problem}")
            trailers = None
        if self._told is not None:
            self._told(said)
        return trailers

    async def _corrected(self, refusal: Ending, id: str) -> tuple[Metadata | None, Said]:
        mode = wanted(refusal.metadata) or self.mode
        if mode is not Mode.REFLECTIVE:
            return None, Said(refusal, id, f"mode is {mode.value}")
        status = native_status(refusal.code, refusal.message, refusal.trailers)
        if any(detail.type_url.rpartition("/")[2] == _OURS for detail in status.details):
            return None, Said(refusal, id, "the upstream speaks for itself")
        body = encoded(status_json(status, self.descriptors.pool))
        caller = _caller(refusal, self.loops) if self.loops is not None else ""
        exchange = Exchange(self._document(refusal), HTTP[refusal.code], {}, body, id, refusal.started, caller=caller)
        asked = 0

        async def fetch(lookup: Lookup) -> LookupAnswer:
            nonlocal asked
            asked += 1
            return await self._call(lookup, refusal)

        decision = await self._decided(exchange, fetch, refusal.seconds)
        if self.loops is not None:
            decision = again(self.loops, decision, self._plain.limits)
        if isinstance(decision, PassThrough):
            error = decision.reason if decision.fault else None
            return None, Said(refusal, id, decision.reason, decision.operation, error=error, lookups=asked)
        trailers = annotated(refusal.trailers, status, refusal.message, decision.feedback)
        reason = "" if trailers is not None else "the native details leave no room"
        said = decision if trailers else None
        return trailers, Said(refusal, id, reason, decision.operation, said, decision.trouble, lookups=asked)

    async def _decided(self, exchange: Exchange, fetch: Any, seconds: float | None) -> Decision:
        """Ask one pack after the other: a rule that is about this comes before descriptions and generalities."""
        found: Decision | None = None
        for translator in self._translators:
            limits = _in_time(translator.limits, seconds)
            decision = await drive(translator.translate(exchange), fetch, limits)
            if isinstance(decision, Annotate) and _is_particular(decision):
                return decision
            if found is None or (isinstance(found, PassThrough) and isinstance(decision, Annotate)):
                found = decision
        assert found is not None, "there is a pack"
        return found

    def _document(self, refusal: Ending) -> Request:
        headers = {
            key: value
            for key, value in refusal.metadata
            if isinstance(value, str)
            and key not in (PREFERENCE, CALLER)
            and not is_left_out(key)
            and not is_secret(key)
        }
        body = None
        if refusal.request is not None:
            body = self.descriptors.request_json(refusal.method, refusal.request)
        return Request(refusal.method, "", headers=headers, body=body)

    async def _call(self, lookup: Lookup, refusal: Ending) -> LookupAnswer:
        """Ask the upstream as the caller would."""
        if lookup.method != CALL:
            return NO_ANSWER
        message = self.descriptors.request_bytes(lookup.path, orjson.loads(lookup.body or b"{}"))
        if message is None:
            return NO_ANSWER
        metadata = [(key, value) for key, value in passed_on(refusal.metadata) if key != PREFERENCE]
        limits = _in_time(self._plain.limits, refusal.seconds)
        try:
            with self._upstream.channel() as channel:
                call: Any = channel.unary_unary(lookup.path)
                answer: bytes = await call(
                    message, metadata=aio.Metadata(*metadata), timeout=limits.seconds_with_lookups
                )
        except aio.AioRpcError as refused:
            return LookupAnswer(HTTP[refused.code().value[0]])
        return LookupAnswer(200, orjson.dumps(self.descriptors.answer_json(lookup.path, answer)))


def _each(translator: Translator, description: ProtobufDescription | None) -> Sequence[Translator]:
    """Return a translator for each pack. What the API's descriptors say is known to all of them."""
    known = translator.known
    if description is not None:
        known = tuple(replace(one, description=description) for one in known)
    return [Translator([one], translator.limits) for one in known]


def _is_particular(decision: Annotate) -> bool:
    return any(rule.id in decision.rules and rule.priority >= 0 for rule in decision.pack.rules)


def _in_time(limits: Limits, seconds: float | None) -> Limits:
    """Return limits that let a caller with a deadline see the refusal before that."""
    if seconds is None:
        return limits
    return replace(limits, seconds_with_lookups=min(limits.seconds_with_lookups, max(0.0, seconds * _PATIENCE)))


def _caller(ending: Ending, loops: Loops) -> str:
    texts = [(key, value) for key, value in ending.metadata if isinstance(value, str)]
    try:
        return loops.caller(texts, next((value for key, value in texts if key == CALLER), ""), ending.peer)
    except Exception:  # whose refusals cannot be counted still gets feedback
        return ""


def wanted(metadata: Metadata) -> Mode | None:
    """Return the mode that a caller's metadata asks for."""
    asked = (parse_mode(value) for key, value in metadata if key == PREFERENCE and isinstance(value, str))
    return next((mode for mode in asked if mode is not None), None)
