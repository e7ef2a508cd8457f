"""What is to be said about a refused call: its status and message through the pipeline. No I/O.

Knows: the pipeline, descriptors, what a status has room for. Does not know: channels, what any rule says.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorProto

from corrigible.adapters.protobuf.descriptors import Descriptors
from corrigible.adapters.protobuf.service_description import ProtobufDescription
from corrigible.proxy.access_log.entry import is_secret
from corrigible.proxy.core.engine import Annotate, Decision, Engine, PassThrough, again
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.core.loop_detector import Loops
from corrigible.proxy.core.mode import CALLER, PREFERENCE, Mode, parse_mode
from corrigible.proxy.http.request_reader import is_left_out
from corrigible.rules.engine.lookup import Lookup, LookupAnswer
from corrigible.schema.exchange import Exchange, Json, Request

from .forwarder import CallResult, Metadata
from .status import HTTP, annotated, encoded, native_status, status_json

_OURS: Final = "corrigible.schema.v0_1.RecoveryFeedback"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a refusal."""

    trailers: Metadata | None
    """To be sent, None where the upstream's own stay."""
    reason: str = ""
    operation: str = ""
    rules: tuple[str, ...] = ()
    feedback: Mapping[str, Json] | None = None
    error: str | None = None


Judging = Generator[Lookup, LookupAnswer, Verdict]


class GrpcCorrector:
    """Decides about refusals, one at a time."""

    def __init__(
        self,
        engine: Engine,
        descriptors: Descriptors | None = None,
        *,
        mode: Mode = Mode.REFLECTIVE,
        loops: Loops | None = None,
    ) -> None:
        self.mode, self.loops = mode, loops
        self._plain = engine
        self.descriptors = Descriptors()
        self._engines: Sequence[Engine] = _each(engine, None)
        if descriptors is not None:
            self.learn(descriptors)

    @property
    def limits(self) -> Limits:
        return self._plain.limits

    def learn(self, descriptors: Descriptors) -> None:
        """Know from now on what these descriptors say."""
        engines = _each(self._plain, ProtobufDescription(descriptors))
        self.descriptors, self._engines = descriptors, engines

    def read(self, files: Sequence[bytes]) -> None:
        """Learn descriptors from their serialized files."""
        self.learn(Descriptors(FileDescriptorProto.FromString(file) for file in files))

    def judge(self, refusal: CallResult, id: str) -> Judging:
        """Decide about a refusal. Never raises."""
        try:
            return (yield from self._judge(refusal, id))
        except Exception as problem:  # the law: an error of ours means that the native status passes
            return Verdict(None, "a mistake of ours", error=f"{type(problem).__name__}: {problem}")

    def _judge(self, refusal: CallResult, id: str) -> Judging:
        mode = wanted(refusal.metadata) or self.mode
        if mode is not Mode.REFLECTIVE:
            return Verdict(None, f"mode is {mode.value}")
        status = native_status(refusal.code, refusal.message, refusal.trailers)
        if any(detail.type_url.rpartition("/")[2] == _OURS for detail in status.details):
            return Verdict(None, "the upstream speaks for itself")
        body = encoded(status_json(status, self.descriptors.pool))
        caller = caller_of(refusal, self.loops) if self.loops is not None else ""
        exchange = Exchange(self._document(refusal), HTTP[refusal.code], {}, body, id, refusal.started, caller=caller)
        decision = yield from self._decided(exchange)
        if self.loops is not None:
            decision = again(self.loops, decision, self.limits)
        if isinstance(decision, PassThrough):
            error = decision.reason if decision.fault else None
            return Verdict(None, decision.reason, decision.operation, error=error)
        trailers = annotated(refusal.trailers, status, refusal.message, decision.feedback)
        if trailers is None and self.loops is not None:
            self.loops.withheld(id)
        if trailers is None:
            return Verdict(None, "the native details leave no room", decision.operation, error=decision.trouble)
        return Verdict(trailers, "", decision.operation, decision.rules, decision.feedback, decision.trouble)

    def _decided(self, exchange: Exchange) -> Generator[Lookup, LookupAnswer, Decision]:
        """Ask one pack after the other: a rule that is about this comes before descriptions and generalities."""
        found: Decision | None = None
        for engine in self._engines:
            decision = yield from engine.decide(exchange)
            if isinstance(decision, Annotate) and _is_particular(decision):
                return decision
            if found is None or (isinstance(found, PassThrough) and isinstance(decision, Annotate)):
                found = decision
        assert found is not None, "there is a pack"
        return found

    def _document(self, refusal: CallResult) -> Request:
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


def _each(engine: Engine, description: ProtobufDescription | None) -> Sequence[Engine]:
    """Return an engine for each pack. What the API's descriptors say is known to all of them."""
    known = engine.profiles
    if description is not None:
        known = tuple(replace(one, description=description) for one in known)
    return [Engine([one], engine.limits, engine.clock) for one in known]


def _is_particular(decision: Annotate) -> bool:
    return any(rule.id in decision.rules and rule.priority >= 0 for rule in decision.pack.rules)


def caller_of(ending: CallResult, loops: Loops) -> str:
    texts = [(key, value) for key, value in ending.metadata if isinstance(value, str)]
    try:
        return loops.caller(texts, next((value for key, value in texts if key == CALLER), ""), ending.peer)
    except Exception:  # whose refusals cannot be counted still gets feedback
        return ""


def wanted(metadata: Metadata) -> Mode | None:
    """Return the mode that a caller's metadata asks for."""
    asked = (parse_mode(value) for key, value in metadata if key == PREFERENCE and isinstance(value, str))
    return next((mode for mode in asked if mode is not None), None)
