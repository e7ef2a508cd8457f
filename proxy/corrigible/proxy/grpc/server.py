"""`corrigible proxy --grpc-upstream`: one server, one upstream, the pipeline between them."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet

from corrigible.adapters.protobuf.descriptors import Descriptors, load
from corrigible.proxy.access_log.entry import Entry, with_outcome
from corrigible.proxy.access_log.recorder import Recorder
from corrigible.proxy.admin.reload import Part, reload_all
from corrigible.proxy.build import build_dispatcher
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.loop.shared import SharedLoops
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.runtime.dispatcher import Dispatcher
from corrigible.proxy.runtime.fork_server import Served
from corrigible.proxy.tls_files import USUAL, Identity, Trust

from .channel import Upstream, fetch_identity, open_upstream, secured
from .corrector import GrpcCorrector
from .forwarder import CODES, GONE, serve
from .front_end import LARGE_MESSAGE, CallOutcome, GrpcFront
from .status import HTTP

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
    return 0


def _complain(problem: str) -> None:
    print(f"corrigible proxy: {problem}", file=sys.stderr, flush=True)


def reporter(recorder: Recorder, api: str) -> Callable[[CallOutcome], None]:
    """Return what records calls that ended. `api` is what the log and the metrics call the API."""

    def record(ended: CallOutcome) -> None:
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
