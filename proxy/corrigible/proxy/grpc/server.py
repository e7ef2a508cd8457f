"""The gRPC front end: refusals go through the pipeline, and feedback into the details of their status.

Knows: one upstream, how it is called. Does not know: how calls are carried, which feedback a refusal gets.

`corrigible proxy --grpc-upstream`: one server, one upstream, the pipeline between them.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import orjson
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc import aio

from corrigible.adapters.protobuf.descriptors import Descriptors, load
from corrigible.proxy.access_log.drift import CALL as SAMPLED
from corrigible.proxy.access_log.drift import LARGEST
from corrigible.proxy.access_log.entry import Entry, with_outcome
from corrigible.proxy.access_log.statistics import Recorder
from corrigible.proxy.admin.reload import Part, reload_all
from corrigible.proxy.build import build_dispatcher
from corrigible.proxy.core.corrector import OUR_ERROR, Outcome
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.core.loop.detector import SharedLoops
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.http.message_head import is_forwarded
from corrigible.proxy.runtime.dispatcher import Attempt, Dispatcher, Task, unanswered
from corrigible.proxy.runtime.fork_server import Served
from corrigible.proxy.runtime.lookup_runner import NO_ANSWER
from corrigible.proxy.tls_files import USUAL, Identity, Trust
from corrigible.rules.lookup import CALL, Lookup, LookupAnswer

from .channel import Upstream, fetch_identity, open_upstream, secured
from .corrector import GrpcCorrector
from .forwarder import CODES, GONE, CallResult, Metadata, forwarded_metadata, serve
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


_GRACE = 5.0
"""Seconds that calls under way have to end once the proxy is asked to stop; at a second signal they have none."""


Started = Callable[[asyncio.AbstractEventLoop, Dispatcher, Sequence[Part]], None]


@dataclass(frozen=True, slots=True)
class GrpcSettings:
    upstream: str
    """HOST:PORT."""
    listen: str
    """HOST:PORT, 0 for a free one."""
    descriptors: Path | None = None
    """None for those that ship with the adapters; where none do, the upstream is asked."""
    mode: Mode = Mode.REFLECTIVE
    tls: bool = False
    """Whether the upstream is called with TLS."""
    trust: Trust = USUAL
    identity: Identity | None = None
    """None where callers come in the clear."""


def run(
    settings: GrpcSettings,
    engine: Engine,
    *,
    load_engine: Callable[[], Engine],
    recorder: Recorder,
    line: Callable[[str], str],
    started: Started,
    loops: SharedLoops,
) -> int:
    """Serve until SIGTERM or SIGINT: 0. An address that is taken is 1.

    `load_engine` makes the engine anew, `started` is called with the running loop and all that can be loaded anew.
    Raises AuthoringError for wrong descriptors, NoCertificate where the upstream has none to believe in.
    """

    def descriptors_of(engine: Engine) -> Descriptors | None:
        return load(settings.descriptors) if settings.descriptors is not None else shipped_descriptors(engine)

    def load_anew() -> tuple[tuple[Engine, Descriptors | None], tuple[str, ...]]:
        engine = load_engine()
        return (engine, descriptors_of(engine)), ()

    descriptors = descriptors_of(engine)
    corrector = GrpcCorrector(engine, descriptors, mode=settings.mode, loops=loops)
    served: Served = {
        "correct": corrector.correct,
        "read": corrector.read,
        "reload": lambda: reload_all(parts),
    }
    parts = [Part(load_anew, corrector.use)]
    # Before gRPC has threads.
    with closing(build_dispatcher(served, loops, largest_here=LARGE_MESSAGE)) as dispatcher:
        status = _run(
            settings, corrector, dispatcher, recorder, line, started, parts, described=descriptors is not None
        )
    recorder.close([*dispatcher.summary()])
    return status


def _run(
    settings: GrpcSettings,
    corrector: GrpcCorrector,
    dispatcher: Dispatcher,
    recorder: Recorder,
    line: Callable[[str], str],
    started: Started,
    parts: Sequence[Part],
    *,
    described: bool,
) -> int:
    how = secured(settings.upstream, settings.trust) if settings.tls else None
    if settings.trust.insecure:
        _complain(
            "--upstream-insecure: whatever certificate the upstream shows now is taken, and no other one until the end"
        )
    record = reporter(recorder, corrector.engine.packs)

    async def main() -> int:
        upstream = open_upstream(settings.upstream, how)
        front = GrpcFront(corrector, upstream, dispatcher, described=described, record=record, complain=recorder.say)
        try:
            return await _serve(
                settings, upstream, front, recorder, line, lambda loop: started(loop, dispatcher, parts)
            )
        finally:
            if front.reflection is not None:
                front.reflection.stop()
            await upstream.close()

    return asyncio.run(main())


def shipped_descriptors(engine: Engine) -> Descriptors | None:
    """Return what the adapters know of the APIs' messages, None where they know nothing."""
    sets = [profile.adapter.descriptors() for profile in engine.profiles if profile.adapter.descriptors is not None]
    if not sets:
        return None
    return Descriptors([file for data in sets for file in FileDescriptorSet.FromString(data).file])


async def _serve(
    settings: GrpcSettings,
    upstream: Upstream,
    front: GrpcFront,
    recorder: Recorder,
    line: Callable[[str], str],
    started: Callable[[asyncio.AbstractEventLoop], None],
) -> int:
    credentials = fetch_identity(settings.identity) if settings.identity is not None else None
    try:
        server, port = await serve(settings.listen, upstream, front, credentials)
    except RuntimeError:
        _complain(f"cannot listen on {settings.listen}")
        return 1
    if front.reflection is not None:
        front.reflection.begin()
    stop, force_stop = asyncio.Event(), asyncio.Event()

    def on_signal() -> None:
        (force_stop if stop.is_set() else stop).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, on_signal)
    started(asyncio.get_running_loop())
    print(line(f"{settings.listen.rpartition(':')[0]}:{port}"), file=sys.stderr, flush=True)
    await stop.wait()
    recorder.is_draining = True
    draining, forced = asyncio.ensure_future(server.stop(_GRACE)), asyncio.ensure_future(force_stop.wait())
    await asyncio.wait((draining, forced), return_when=asyncio.FIRST_COMPLETED)
    forced.cancel()
    await server.stop(None)
    await draining
    if recorder.drift is not None:
        await recorder.drift.finish()
    return 0


def _complain(problem: str) -> None:
    print(f"corrigible proxy: {problem}", file=sys.stderr, flush=True)


def reporter(recorder: Recorder, api: str) -> Callable[[CallOutcome], None]:
    """Return what records calls that ended. `api` is what the log and the metrics call the API."""

    def record(ended: CallOutcome) -> None:
        call, drift = ended.call, recorder.drift
        if drift is not None and not call.code and call.answer is not None and drift.wants(SAMPLED, "", call.method, 0):
            size = len(call.answer) + len(call.request or b"")
            is_whole = call.request is not None and size <= LARGEST
            drift.offer(SAMPLED, api, (call.method, call.request, call.answer) if is_whole else None)
        if not ended.call.code and not recorder.wants_successes:
            recorder.count_success(api, ended.outcome.operation, HTTP[0], time.time() - ended.call.started)
            return
        recorder.write(entry_of(ended, api))

    return record


def entry_of(ended: CallOutcome, api: str = "") -> Entry:
    """Return the entry of a call that ended."""
    call, outcome = ended.call, ended.outcome
    is_gone = call.message == GONE and not outcome.reason
    entry = Entry(
        time=call.started,
        id=ended.id,
        method="GRPC",
        path=call.method,
        status=None if is_gone else HTTP[call.code],
        outcome="failed" if is_gone else "untouched",
        milliseconds=(time.time() - call.started) * 1000,
        error=GONE if is_gone else None,
        lookups=ended.lookups,
        code=CODES[call.code].name if call.code else None,
        correction=ended.correction,
        failure=call.failure,
        traceparent=next((str(value) for key, value in call.metadata if key == "traceparent"), None),
        api=api,
    )
    return with_outcome(entry, outcome)
