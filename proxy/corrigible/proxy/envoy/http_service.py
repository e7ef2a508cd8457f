"""The corrector as a service for an HTTP API: is asked about refused exchanges, and says how their answers change.

Knows: the corrector, the dispatcher, messages. Does not know: sockets, which gateway asks.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Final

from corrigible.proxy.access_log.entry import Entry, with_outcome
from corrigible.proxy.http.api_routes import ApiRoute, Upstream
from corrigible.proxy.http.corrector import HttpCorrector, size_to_read
from corrigible.proxy.http.lookup_client import LookupClient, Origin
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead, bytes_of
from corrigible.proxy.runtime.dispatcher import LARGE, Dispatcher, Task
from corrigible.rules.lookup import Lookup, LookupAnswer

from . import refusal_message
from .http_server import Call, Reply

_MILLISECONDS: Final = 1000


class HttpService:
    """Answers a gateway's questions about one API."""

    def __init__(
        self,
        api: ApiRoute,
        lookups: LookupClient,
        dispatcher: Dispatcher,
        clock: Callable[[], float] = time.time,
        watch_successes: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`watch_successes` is called when a caller has a loop: the gateway is to look for what ends it."""
        self._watch_successes = watch_successes
        self._api, self._lookups, self._dispatcher, self._clock = api, lookups, dispatcher, clock

    async def answer(self, call: Call) -> Reply:
        """Answer one question. A question that is not readable is answered with 400."""
        try:
            match call.path:
                case b"/v1/refusal":
                    return await self._refusal(call)
                case b"/v1/success":
                    head = self._request(refusal_message.read_head(call.body), call)
                    self._api.corrector.passed(head, 200)
                    return Reply(204, _loops_of(self._api.corrector, self._api.corrector.caller(head)))
                case b"/v1/target":
                    head = self._request(refusal_message.read_head(call.body), call)
                    return Reply(200, body=bytes_of(self._api.corrector.upstream_target(head.target)))
                case b"/v1/document":
                    return self._document(self._request(refusal_message.read_head(call.body), call))
                case b"/healthz":
                    return Reply(200, body=b"ok\n")
        except refusal_message.Unreadable as problem:
            return Reply(400, body=f"{problem}\n".encode())
        return Reply(404)

    @staticmethod
    def _request(head: refusal_message.Head, call: Call) -> RequestHead:
        """Return a request as its caller sent it. The authority stands among the headers, as in HTTP/1.1."""
        pseudo = head.pseudo
        if ":method" not in pseudo or ":path" not in pseudo:
            raise refusal_message.Unreadable("the request has no :method or no :path")
        target = call.headers.get(b"corrigible-target", b"").decode("utf-8", "surrogateescape")
        peer = call.headers.get(b"corrigible-peer", b"").decode()
        headers = [("host", pseudo[":authority"]), *head.headers] if ":authority" in pseudo else head.headers
        return RequestHead(pseudo[":method"], target or pseudo[":path"], headers, peer)

    def _document(self, request: RequestHead) -> Reply:
        stored = self._api.corrector.document(request, self._clock())
        if stored is None:
            return Reply(404)
        # For HEAD the gateway leaves the body out, and keeps its length.
        fields = tuple((bytes_of(n), bytes_of(v)) for n, v in stored.headers if n.lower() != "content-length")
        return Reply(200, fields, stored.body)

    async def _refusal(self, call: Call) -> Reply:
        message = refusal_message.read_message(call.headers.get(refusal_message.SECTIONS, b""), call.body)
        request = self._request(message.request, call)
        try:
            response = ResponseHead(int(message.response.pseudo[":status"]), message.response.headers)
        except (KeyError, ValueError):
            raise refusal_message.Unreadable("the answer has no :status") from None
        started = self._started(call)
        native = HttpExchange(request, message.request_body, response, message.response_body)
        id = secrets.token_hex(16)
        corrector = self._api.corrector
        choice = corrector.wants_body(request, response)
        if choice is None:
            entry = _entry(id, started, request, response)
            return _unchanged(with_outcome(entry, None, reason=corrector.reason_not_read(request, response) or None))
        counted = corrector.counted_caller(request)
        caller = counted or request.peer
        origin: Origin | None = None

        async def fetch(lookup: Lookup) -> LookupAnswer:
            nonlocal origin
            origin = origin or _origin(self._api.upstream, request)
            return await self._lookups.ask(origin, lookup)

        named = {
            "id": id,
            "started": started,
            "elapsed": max(0.0, self._clock() - started),
            "choice": choice,
            "caller": counted,
        }
        size = size_to_read(native, LARGE)
        task = Task(self._api.task, corrector.correct, corrector.accepted, (native,), named, size, caller)
        attempt = await self._dispatcher.attempt(task, fetch, corrector.limits)
        outcome = attempt.outcome
        entry = _entry(id, started, request, response, attempt.why.error, attempt.lookups, attempt.seconds)
        entry = with_outcome(entry, outcome, reason=attempt.why.reason)
        if outcome is None or outcome.rewrite is None:
            return _unchanged(entry)
        edits = "\n".join(refusal_message.head_edits(response.headers, outcome.rewrite.headers))
        lengths, body = refusal_message.written([bytes_of(edits), outcome.rewrite.body])
        loops = _loops_of(corrector, caller)
        if loops and self._watch_successes is not None:
            await self._watch_successes()
        return Reply(
            200,
            (
                (refusal_message.SECTIONS, lengths),
                (refusal_message.ENTRY, refusal_message.told(entry).encode()),
                *loops,
            ),
            body,
        )

    def _started(self, call: Call) -> float:
        """Return when the request came in, as far as the gateway says it."""
        text = call.headers.get(b"corrigible-started", b"")
        now = self._clock()
        return min(now, int(text) / _MILLISECONDS) if text.isdigit() and len(text) < 16 else now


def _entry(
    id: str,
    started: float,
    request: RequestHead,
    response: ResponseHead,
    error: str | None = None,
    lookups: int = 0,
    correction: float | None = None,
) -> Entry:
    return Entry(
        started,
        id,
        request.method,
        request.target,
        response.status,
        "untouched",
        0.0,
        error=error,
        lookups=lookups,
        correction=correction,
    )


def _loops_of(corrector: HttpCorrector, caller: str) -> tuple[tuple[bytes, bytes], ...]:
    """Return the header that says that a caller has a loop; nothing if it has none."""
    return ((refusal_message.LOOPS, b"1"),) if corrector.loops is not None and corrector.loops.has_loop(caller) else ()


def _unchanged(entry: Entry) -> Reply:
    return Reply(204, ((refusal_message.ENTRY, refusal_message.told(entry).encode()),))


def _origin(upstream: Upstream | None, request: RequestHead) -> Origin:
    """Return where look-ups go: to the API, as the caller of this request."""
    assert upstream is not None, "a corrector has an API"
    headers = tuple((bytes_of(name), bytes_of(value)) for name, value in request.headers)
    return Origin(upstream.scheme, upstream.host, upstream.port, None, headers)
