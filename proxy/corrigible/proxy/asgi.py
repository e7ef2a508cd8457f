"""ASGI middleware: the contract inside your own service, or your own service in front of another.

app = ReflectiveMiddleware(app, packs=["recipe"], spec="openapi.json")
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
import uuid
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from corrigible.proxy.access_log.entry import Entry, Verdict, with_outcome
from corrigible.proxy.access_log.statistics import Recorder
from corrigible.proxy.access_log.terminal import refusal_line
from corrigible.proxy.core.mode import Mode, ModeChoice, parse_mode
from corrigible.proxy.http.corrector import HttpCorrector, HttpOutcome, size_to_read
from corrigible.proxy.http.message_head import is_forwarded
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead, bytes_of, text_of
from corrigible.proxy.runtime.dispatcher import LARGE, Attempt, Dispatcher, Task, Unanswered, unanswered
from corrigible.proxy.runtime.lookup_runner import NO_ANSWER
from corrigible.rules.lookup import CALL, Lookup, LookupAnswer, kept_headers

from .build import build_engine, build_loops

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_LOG = logging.getLogger(__name__)


class ReflectiveMiddleware:
    """Add recovery feedback to the refusals of an ASGI app. Successes and streams pass message by message.

    Look-ups are answered by the app itself, with the caller's own headers.
    """

    def __init__(
        self,
        app: App,
        packs: Sequence[str | Path] = (),
        *,
        spec: str | Path | None = None,
        base: str = "",
        mode: Mode | str = Mode.REFLECTIVE,
        corrector: HttpCorrector | None = None,
        largest: int = LARGE,
        recorder: Recorder | None = None,
    ) -> None:
        """`spec` is a file with the app's description (OpenAPI, Swagger), `base` a path before those that it has.

        `mode` is for callers who ask for none, by `Prefer: recovery-feedback=...` or `?mode=`.

        Corrections are made on the app's own event loop. Where a request and its answer are longer than `largest` bytes
        together, that would take too long for its other callers: the answer passes as it is.
        Each refusal is a line of the logger `corrigible.proxy.asgi` (level INFO); `recorder.statistics` counts them.
        Raises TypeError for `packs` that are no list and a `spec` that is no path.
        """
        _check(packs, spec)
        self.recorder = recorder or Recorder()
        self.app = app
        self.dispatcher = Dispatcher(largest_here=largest)
        self.corrector = corrector or HttpCorrector(
            build_engine(packs, None if spec is None else Path(spec), base=base),
            mode=_mode(mode),
            query_mode=True,
            loops=build_loops(),
        )
        if corrector is None:
            self.corrector.engine.warm_up()  # the first refusal has its time limit, too

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            responder = _Responder(self, scope, receive, send)
            document = self.corrector.document(responder.request, responder.started)
        except Exception as problem:  # a mistake of ours: the app is as if we were not there
            _log(problem)
            await self.app(scope, receive, send)
            return
        if document is not None:
            headers = [(bytes_of(name.lower()), bytes_of(value)) for name, value in document.headers]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": document.body})
            return
        await responder.run()


def _check(packs: object, spec: object) -> None:
    if isinstance(packs, (str, bytes, os.PathLike)):
        raise TypeError(f"packs={str(packs)!r}: give a list of packs: packs=[{str(packs)!r}]")
    if spec is not None and not isinstance(spec, (str, os.PathLike)):
        raise TypeError(f"spec: give the path of a file with the description, not a {type(spec).__name__}")


def _mode(name: Mode | str) -> Mode:
    mode = parse_mode(name)
    if mode is None:
        raise ValueError(f'"{name}" is no mode: {", ".join(Mode)}')
    return mode


class _Responder:
    """One request on its way through."""

    def __init__(self, middleware: ReflectiveMiddleware, scope: Scope, receive: Receive, send: Send) -> None:
        self.app, self.corrector, self.dispatcher = middleware.app, middleware.corrector, middleware.dispatcher
        self.recorder = middleware.recorder
        self.id = uuid.uuid4().hex
        self.lookups = 0
        self.operation = ""
        """Of a success, if it was looked for."""
        self.scope = scope
        self.upstream_receive, self.upstream_send = receive, send
        peer = str((scope.get("client") or ("",))[0])
        self.request = RequestHead(scope["method"], _target(scope), _text(scope["headers"]), peer)
        self.request_body = bytearray()
        self.start: Message | None = None
        self.response: ResponseHead | None = None
        self.body = bytearray()
        self.passing = False
        self.choice: ModeChoice | None = None
        """The mode to correct the answer in."""
        self.is_received = False
        """Whether the request has been received to its end."""
        self.is_unread = True
        """Whether nobody has asked for its body."""
        self.started = time.time()
        self.original = dict(scope)
        """As it came: routers write into the scope that they are given."""

    async def run(self) -> None:
        try:
            await self.app(self.scope, self._receive, self._send)
        finally:
            if self.start is not None and not self.passing:
                await self._pass(more=True)  # an app that broke off: whatever comes next is the server's to decide

    async def _receive(self) -> Message:
        self.is_unread = False
        message = await self.upstream_receive()
        if message["type"] == "http.request":
            if len(self.request_body) <= self.corrector.limits.body:
                self.request_body += message.get("body", b"")
            self.is_received = not message.get("more_body", False)
        return message

    async def _send(self, message: Message) -> None:
        if self.passing:
            await self.upstream_send(message)
        elif message["type"] == "http.response.start":
            self.response = ResponseHead(message["status"], _text(message.get("headers", ())))
            self.choice = self._choose_mode(self.response)
            if self.choice is not None:
                self.start = message
            else:
                self.passing = True
                with suppress(Exception):  # a mistake of ours: the answer passes all the same
                    self.operation = self.corrector.passed(self.request, self.response.status)
                    self._record_passed(self.response)
                await self.upstream_send(message)
        elif message["type"] == "http.response.body" and self.start is not None:
            self.body += message.get("body", b"")
            if len(self.body) > self.corrector.limits.body:
                self._record(reason="the answer is over the limit")
                await self._pass(more=message.get("more_body", False))
            elif not message.get("more_body", False):
                await self._finish()
        else:
            if self.start is not None:  # an answer by other means, such as http.response.pathsend
                self.passing = True
                await self.upstream_send(self.start)
            await self.upstream_send(message)

    def _choose_mode(self, response: ResponseHead) -> ModeChoice | None:
        try:
            return self.corrector.wants_body(self.request, response)
        except Exception as problem:  # a mistake of ours: the answer passes
            _log(problem)
            return None

    async def _pass(self, *, more: bool) -> None:
        assert self.start is not None
        self.passing = True
        await self.upstream_send(self.start)
        await self.upstream_send({"type": "http.response.body", "body": bytes(self.body), "more_body": more})

    async def _rest_received(self) -> bool:
        """Receive what the app has left of the request: half a body must not be corrected."""
        if self.is_unread and any(name.lower() == "expect" for name, _ in self.request.headers):
            # RFC 9110 section 10.1.1: the client waits for 100 (Continue), which a server sends when it is asked for
            # the body, or for this answer, which says that the body is not wanted.
            return False
        limits = self.corrector.limits
        try:
            async with asyncio.timeout(limits.seconds_with_lookups):
                while not self.is_received and len(self.request_body) <= limits.body:
                    if (await self._receive())["type"] == "http.disconnect":
                        return False
        except TimeoutError:
            return False
        return True

    def _record_passed(self, response: ResponseHead) -> None:
        if response.status >= 400:
            self._record(reason=self.corrector.reason_not_read(self.request, response))
        elif self.recorder.wants_successes:
            self._record()
        else:
            seconds = time.time() - self.started
            self.recorder.count_success(self.corrector.engine.packs, self.operation, response.status, seconds)

    def _record(
        self,
        outcome: HttpOutcome | None = None,
        *,
        reason: str | None = None,
        error: str | None = None,
        correction: float | None = None,
    ) -> None:
        with suppress(Exception):  # the exchange goes on, whatever its record says
            entry = Entry(
                time=self.started,
                id=self.id,
                method=self.request.method,
                path=self.request.target,
                status=self.response.status if self.response is not None else None,
                outcome="untouched",
                milliseconds=(time.time() - self.started) * 1000,
                error=error,
                lookups=self.lookups,
                correction=correction,
                traceparent=next((value for name, value in self.request.headers if name == "traceparent"), None),
                operation=self.operation or None,
                api=self.corrector.engine.packs,
            )
            entry = with_outcome(entry, outcome, reason=reason)
            self.recorder.write(entry)
            if _LOG.isEnabledFor(logging.INFO) and entry.verdict is not Verdict.SUCCESS:
                _LOG.info("%s", refusal_line(entry))

    async def _finish(self) -> None:
        """Send the answer, corrected where that comes to something. Whatever happens meanwhile, it is sent."""
        attempt: Attempt[HttpOutcome] = Attempt(None, Unanswered(None, None), 0, 0.0)
        try:
            attempt = await self._attempt()
            if attempt.outcome is not None and (rewrite := attempt.outcome.rewrite) is not None:
                # ASGI wants lower-case names, and HTTP/2 servers insist.
                headers = [(bytes_of(name.lower()), bytes_of(value)) for name, value in rewrite.headers]
                self.start, self.body = {**(self.start or {}), "headers": headers}, bytearray(rewrite.body)
        except asyncio.CancelledError:
            self._record(reason="the app was cancelled")
            await asyncio.shield(self._pass(more=False))
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            return  # the app gave up a look-up, not this answer
        except Exception as problem:
            attempt = replace(attempt, why=unanswered(problem))
        reason, error = attempt.why
        if error is not None:
            _LOG.error("a mistake of ours, the answer passes: %s", error)
        self._record(attempt.outcome, reason=reason, error=error, correction=attempt.seconds)
        await self._pass(more=False)

    async def _attempt(self) -> Attempt[HttpOutcome]:
        assert self.response is not None
        if not self.is_received and not await self._rest_received():
            return Attempt(None, Unanswered("the caller did not send the whole request", None), 0, 0.0)
        native = HttpExchange(self.request, bytes(self.request_body), self.response, bytes(self.body))
        elapsed = time.time() - self.started
        task = Task(
            "correct",
            self.corrector.correct,
            self.corrector.accepted,
            (native,),
            {"id": self.id, "started": self.started, "elapsed": elapsed, "choice": self.choice},
            size_to_read(native, LARGE),
            self.corrector.caller(self.request),
        )
        return await self.dispatcher.attempt(task, self._fetch, self.corrector.limits)

    async def _fetch(self, lookup: Lookup) -> LookupAnswer:
        """Ask the app itself."""
        if lookup.method == CALL:
            return NO_ANSWER
        self.lookups += 1
        plain, _, query = lookup.path.partition("?")
        stated = {name.encode("ascii"): value.encode("ascii") for name, value in lookup.headers}
        kept = [(n, v) for n, v in self.original["headers"] if _is_kept_header(n) and n.lower() not in stated]
        if lookup.content_type:
            kept += [
                (b"content-type", lookup.content_type.encode()),
                (b"content-length", str(len(lookup.body)).encode()),
            ]
        scope = {
            **self.original,
            "method": lookup.method,
            "path": unquote(plain),
            "raw_path": plain.encode(),
            "query_string": query.encode(),
            "headers": [*kept, *{b"accept": b"application/json", **stated}.items()],
        }
        status, body = 0, bytearray()
        told: dict[str, str] = {}
        is_sent, answered = False, asyncio.Event()

        async def receive() -> Message:
            nonlocal is_sent
            if is_sent:  # the app waits for the caller to go away
                await answered.wait()
                return {"type": "http.disconnect"}
            is_sent = True
            return {"type": "http.request", "body": lookup.body, "more_body": False}

        async def send(message: Message) -> None:
            nonlocal status, told
            if message["type"] == "http.response.start":
                status = message["status"]
                pairs = message.get("headers", ())
                told = kept_headers((name.decode("latin-1"), value.decode("latin-1")) for name, value in pairs)
            elif message["type"] == "http.response.body":
                body.extend(message.get("body", b""))
                if len(body) > self.corrector.limits.body:
                    raise ValueError("a look-up's answer is over the limit")
                if not message.get("more_body", False):
                    answered.set()

        await self.app(scope, receive, send)
        return LookupAnswer(status, bytes(body), told) if status else NO_ANSWER


def _log(problem: Exception) -> None:
    _LOG.error("a mistake of ours, the answer passes: %s: %s", type(problem).__name__, problem)


def _is_kept_header(name: bytes) -> bool:
    low = text_of(name).lower()
    return low in ("host", "user-agent") or is_forwarded(low)


def _target(scope: Scope) -> str:
    raw = scope.get("raw_path") or quote(scope["path"]).encode()
    query = scope.get("query_string", b"")
    target: bytes = raw.split(b"?")[0] + (b"?" + query if query else b"")
    return text_of(target)


def _text(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    return [(text_of(name), text_of(value)) for name, value in headers]
