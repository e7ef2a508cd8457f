"""The corrector as a service for a gRPC API: is asked about refused calls, and says how their trailers change.

Knows: the gRPC front end's correcting, messages. Does not know: sockets, which gateway asks.
"""

from __future__ import annotations

import base64
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from corrigible.proxy.core.corrector import Outcome
from corrigible.proxy.core.loop.detector import SharedLoops
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.grpc.channel import Secured, open_upstream
from corrigible.proxy.grpc.corrector import GrpcCorrector
from corrigible.proxy.grpc.forwarder import KEPT, CallResult
from corrigible.proxy.grpc.server import LARGE_MESSAGE, CallOutcome, GrpcFront, entry_of
from corrigible.proxy.grpc.status import DETAILS
from corrigible.proxy.runtime.dispatcher import Dispatcher
from corrigible.proxy.runtime.fork_server import Served

from .http_server import Answering, Call, Reply
from .process import SuccessWatch
from .processing import GrpcWants, Wants, metadata_of, seconds_of, single_message, status_of
from .refusal_message import ENTRY, LOOPS, SECTIONS, Head, Unreadable, read_head, read_message, told, written


class GrpcService:
    """Answers a gateway's questions about one API."""

    def __init__(
        self,
        front: GrpcFront,
        corrector: GrpcCorrector,
        clock: Callable[[], float] = time.time,
        watch_successes: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`front` reports to `ended` of this service.

        `watch_successes` is called when a caller has a loop: the gateway is to look for what ends it.
        """
        self._front, self._corrector, self._clock = front, corrector, clock
        self._watch_successes = watch_successes
        self._outcomes: dict[int, CallOutcome] = {}

    def ended(self, outcome: CallOutcome) -> None:
        """Take what became of a call, until its question is answered."""
        self._outcomes[id(outcome.call)] = outcome

    async def answer(self, call: Call) -> Reply:
        """Answer one question. A question that is not readable is answered with 400."""
        try:
            match call.path:
                case b"/v1/refusal":
                    return await self._refusal(call)
                case b"/v1/success":
                    ending = self._call(read_head(call.body), call, None, 0, "", ())
                    self._corrector.succeeded(ending)
                    return Reply(204, self._loops_of(ending))
                case b"/healthz":
                    return Reply(200, body=b"ok\n")
        except Unreadable as problem:
            return Reply(400, body=f"{problem}\n".encode())
        return Reply(404)

    def _call(
        self,
        head: Head,
        call: Call,
        request: bytes | None,
        code: int,
        message: str,
        trailers: Sequence[tuple[str, str]],
    ) -> CallResult:
        method = head.pseudo.get(":path")
        if method is None:
            raise Unreadable("the request has no :path")
        started, now = call.headers.get(b"corrigible-started", b""), self._clock()
        began = min(now, int(started) / 1000) if started.isdigit() and len(started) < 16 else now
        seconds = seconds_of(head.headers)
        return CallResult(
            method,
            metadata_of(head.headers),
            request,
            code,
            message,
            metadata_of(trailers, kept=(DETAILS,)),
            began,
            None if seconds is None else max(0.0, seconds - (now - began)),
            call.headers.get(b"corrigible-peer", b"").decode(),
        )

    async def _refusal(self, call: Call) -> Reply:
        message = read_message(call.headers.get(SECTIONS, b""), call.body)
        ending = message.trailers or message.response.headers
        status = status_of(ending)
        if status is None:
            raise Unreadable("the call has no grpc-status")
        encoding = next((value for name, value in message.request.headers if name == "grpc-encoding"), "identity")
        request = single_message(message.request_body, encoding, KEPT)
        refusal = self._call(message.request, call, request, *status, ending)
        self._front.call_started(refusal.metadata)
        try:
            trailers = await self._front.corrected_trailers(refusal)
            outcome = self._outcomes.get(id(refusal))
        finally:
            self._outcomes.pop(id(refusal), None)
        entry = told(entry_of(outcome or CallOutcome(refusal, "", Outcome(None, "", Mode.NONE)))).encode()
        details = next((value for key, value in trailers or () if key == DETAILS), None)
        if not isinstance(details, bytes):
            return Reply(204, ((ENTRY, entry),))
        text = base64.b64encode(details).rstrip(b"=")
        lengths, body = written([b"=%s:%s" % (DETAILS.encode(), text), b""])
        loops = self._loops_of(refusal)
        if loops and self._watch_successes is not None:
            await self._watch_successes()
        return Reply(200, ((SECTIONS, lengths), (ENTRY, entry), *loops), body)

    def _loops_of(self, call: CallResult) -> tuple[tuple[bytes, bytes], ...]:
        """Return the header that says that a caller has a loop; nothing if it has none."""
        loops = self._corrector.loops
        return ((LOOPS, b"1"),) if loops is not None and loops.has_loop(self._corrector.caller(call)) else ()


# A corrector process for a gRPC API. Needs grpcio, which is imported here and in what this imports only.


@dataclass(slots=True)
class GrpcJob:
    """Refusals of a gRPC API."""

    corrector: GrpcCorrector
    upstream: str
    """HOST:PORT."""
    loops: SharedLoops
    work: Served
    secured: Secured | None = None
    """How the upstream is called; None for in the clear."""
    is_described: bool = False
    """Whether descriptors are known; else the upstream is asked for them."""
    complain: Callable[[str], None] = lambda line: None
    largest_here: int = LARGE_MESSAGE

    @property
    def body_limit(self) -> int:
        return KEPT

    @property
    def wants(self) -> Wants:
        return GrpcWants()

    @asynccontextmanager
    async def serving(self, dispatcher: Dispatcher, admin: Path | None) -> AsyncIterator[Answering]:
        upstream = open_upstream(self.upstream, self.secured)
        outcomes: list[Callable[[CallOutcome], None]] = []
        front = GrpcFront(
            self.corrector,
            upstream,
            dispatcher,
            described=self.is_described,
            record=lambda outcome: outcomes[0](outcome),
            complain=self.complain,
        )
        watch = SuccessWatch(admin) if admin is not None else None
        service = GrpcService(front, self.corrector, watch_successes=watch.begin if watch is not None else None)
        outcomes.append(service.ended)
        if front.reflection is not None:
            front.reflection.begin()
        try:
            yield service.answer
        finally:
            if front.reflection is not None:
                front.reflection.stop()
            await upstream.close()
            if watch is not None:
                watch.close()
