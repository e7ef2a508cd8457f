"""The mitmproxy addon: forwards requests, gives possible errors to the corrector, and logs each exchange.

Knows: mitmproxy's flows and their raw bytes. Does not know: sockets, rules, any API's name.
No hook raises into mitmproxy: if our side fails, the exchange passes unchanged.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

from mitmproxy import http, tcp, websocket
from mitmproxy.proxy import server_hooks

from corrigible.proxy.access_log.drift import LARGEST, CopiedBody, DriftWatch
from corrigible.proxy.access_log.entry import Entry, with_outcome
from corrigible.proxy.access_log.statistics import Recorder
from corrigible.proxy.build import build_tools_corrector
from corrigible.proxy.core.mode import Mode, ModeChoice
from corrigible.proxy.http.api_routes import ApiRoute, ApiRoutes
from corrigible.proxy.http.codec import changed_answer
from corrigible.proxy.http.corrector import HttpOutcome, size_to_read
from corrigible.proxy.http.lookup_client import LookupClient, Origin
from corrigible.proxy.http.messages import DOCUMENTS, HttpExchange, Rewrite, bytes_of, text_of
from corrigible.proxy.mcp.over_http import EventStream, Sessions, lookup_of, may_change, take_answer
from corrigible.proxy.mcp.relay import Passed, Relay, Tools
from corrigible.proxy.runtime.dispatcher import LARGE, Dispatcher, Task, Unanswered, kind_of, unanswered
from corrigible.rules.lookup import Lookup, LookupAnswer

from .error_events import ErrorEvents
from .error_page import ERROR_TYPE, error_body, error_text, failure_text, is_callers
from .listener import is_own
from .messages import TARGET, length_and_kind, request_head, response_head, rewrite_response
from .stream import API, CALLERS_END, CANDIDATE, REASON, REQUEST_OVER

BUFFER_LIMIT = 1 << 16
"""A response that cannot be an error is buffered only up to this length: cheaper than forwarding it in parts."""

_BODILESS = frozenset((204, 205, 206, 304))
_DOCUMENTS = DOCUMENTS.encode()
PREFIX = "Recovery-Feedback-Prefix"
"""Below which path an API is, in what may be its refusals: clients follow what it suggests nowhere else on the host."""
PASSED_BY = "corrigible.passed by"
"""In a flow's metadata: its host is none of those that the proxy knows."""
RELAY = "corrigible.relay"
"""In a flow's metadata: what corrects the call of a tool, None where it is no such call."""
WHOLE = "corrigible.whole"
"""In a flow's metadata: the request is buffered, as it may have to change."""
SAMPLED = "corrigible.sampled"
"""In a flow's metadata: a copy of its answer, which is to be judged by the description."""
_OWN_ANSWER = "the user did not say what was asked for"
_NO_API = "the configuration has no API for this host and path"


class CorrectionAddon:
    """The mitmproxy addon that corrects errors."""

    def __init__(
        self,
        apis: ApiRoutes,
        lookups: LookupClient,
        recorder: Recorder,
        dispatcher: Dispatcher | None = None,
        unmatched: Callable[[str], None] | None = None,
    ) -> None:
        """`unmatched` is told the target of each refused request that names no operation."""
        self._unmatched = unmatched
        self._apis = apis
        self._none = ApiRoute(next(iter(apis)).corrector)
        self._dispatcher = dispatcher or Dispatcher(largest_here=None)
        self._lookups = lookups
        self._recorder = recorder
        self._sessions: dict[ApiRoute, Sessions] = {}
        """Of APIs that are servers of the Model Context Protocol."""
        self.own_addresses: Sequence[tuple[str, int]] = ()
        """Where this proxy listens, to avoid connections to itself."""

    def server_connected(self, data: server_hooks.ServerConnectionHookData) -> None:
        """Reject a connection to this proxy itself: the loop would use up all file descriptors."""
        peer = data.server.peername
        if peer is not None and is_own((peer[0], peer[1]), self.own_addresses):
            data.server.error = "this proxy is its own upstream"

    def http_connect_error(self, flow: http.HTTPFlow) -> None:
        """Answer in one line why a tunnel was not opened."""
        response = flow.response
        if response is not None and response.status_code == 502:
            text = error_text(502, flow.server_conn.error or "unknown error")
            flow.response = http.Response.make(502, error_body(text), {"Content-Type": ERROR_TYPE.decode()})

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Forward the request to its API without our `mode` parameter, or serve a stored feedback document."""
        data = flow.request.data
        if data.path.startswith(_DOCUMENTS):
            try:
                head, now = request_head(flow), time.time()
                answers = (api.corrector.document(head, now) for api in self._apis)
                stored = next((answer for answer in answers if answer is not None), None)
            except Exception:  # our own failure: the request passes unchanged
                return
            if stored is not None:
                fields = [(bytes_of(name), bytes_of(value)) for name, value in stored.headers]
                flow.response = http.Response.make(200, stored.body)
                flow.response.headers = http.Headers(fields)
                return
        api = self._apis.only or self._apis.find(flow.request.host_header or "", text_of(data.path))
        if api is None and self._apis.are_passed_by:
            flow.metadata[PASSED_BY] = True
            return
        if api is None:
            flow.metadata[REASON] = _NO_API
            flow.response = http.Response.make(404, error_body(_NO_API), {"Content-Type": ERROR_TYPE.decode()})
            return
        if api is not self._apis.only:
            flow.metadata[API] = api
            _send_to(flow, api)
        if b"?" in data.path:
            try:
                target = text_of(data.path)
                stripped = api.corrector.upstream_target(target)
            except Exception:  # our own failure: the request passes unchanged
                return
            if stripped != target:
                flow.metadata[TARGET] = target
                data.path = bytes_of(stripped)
        with suppress(Exception):  # our own failure: the request passes unchanged
            if api in self._sessions and may_change(request_head(flow)):
                flow.metadata[WHOLE] = True
                flow.request.stream = False

    def request(self, flow: http.HTTPFlow) -> None:
        """Have what a user was asked for in the call, or answer the call where the user does not want to say it."""
        passed = relay.passed if WHOLE in flow.metadata and (relay := self._relay(flow)) is not None else Passed()
        if passed.back:
            flow.metadata[REASON] = _OWN_ANSWER
            flow.response = http.Response.make(200, passed.back, {"Content-Type": "application/json"})
        elif passed.on:
            flow.request.content = passed.on

    async def lookup(self, flow: http.HTTPFlow) -> None:
        """Make the look-ups that an event waits for."""
        stream = flow.response.stream if flow.response is not None else None
        if isinstance(stream, EventStream):
            stream.release(await self._released(flow, flow.metadata[RELAY]))

    async def _released(self, flow: http.HTTPFlow, relay: Relay) -> bytes:
        """Make the look-ups that an answer waits for, and return it."""
        head, parts, call = request_head(flow), list[bytes](), relay.wanted[0][0]
        lookups = [self._lookups.ask(_origin(flow), lookup_of(head, message)) for _, message in relay.wanted]
        relay.wanted.clear()
        with suppress(Exception):  # whatever a look-up dies of, the answer goes out
            async with asyncio.timeout(self._api(flow).corrector.limits.seconds_with_lookups):
                for done in asyncio.as_completed(lookups):
                    parts.append(take_answer(relay, await done))
        return b"".join(parts) or relay.released(call)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Decide what to buffer: possible errors and small responses. All others are streamed."""
        response = flow.response
        if response is None or flow.metadata.get(REASON) in (_NO_API, _OWN_ANSWER):
            return
        if PASSED_BY in flow.metadata:
            response.stream = True
            return
        own_location, prefix = self._api(flow).own_location, self._found(flow).prefix
        if prefix:  # a success may refuse in its body as well
            response.headers[PREFIX] = prefix
        if own_location is not None:
            data = response.data
            data.headers.fields = own_location.rewritten(data.status_code, data.headers.fields)
        length, is_event_stream = length_and_kind(response)
        if response.stream:  # longer than the limit
            flow.metadata[REASON] = "the answer is over the limit"
        elif is_event_stream:
            changed = self._of_events(flow) if length is None and "content-encoding" not in response.headers else None
            response.stream = True if changed is None else EventStream(changed)
        elif (choice := self._choose_mode(flow, response)) is not None:
            if REQUEST_OVER in flow.metadata:
                flow.metadata[REASON] = "the request is over the limit"
                response.stream = length is None or length > BUFFER_LIMIT
            else:
                flow.metadata[CANDIDATE] = choice
        elif length is None or length > BUFFER_LIMIT:
            response.stream = True
        if self._recorder.drift is not None and not is_event_stream and response.status_code >= 200:
            self._take_sample(flow, response)

    def _take_sample(self, flow: http.HTTPFlow, response: http.Response) -> None:
        """Have the answer copied while it passes, if it is to be judged. One that is buffered is copied at its end."""
        drift, head = self._recorder.drift, request_head(flow)
        with suppress(Exception):  # our own failure: the answer passes
            if drift is not None and drift.wants(self._api(flow).task, head.method, head.path, response.status_code):
                flow.metadata[SAMPLED] = copy = CopiedBody()
                response.stream = response.stream if CANDIDATE in flow.metadata else copy

    def _offer_sample(self, flow: http.HTTPFlow, drift: DriftWatch, response: http.Response) -> None:
        with suppress(Exception):  # the same
            copy: CopiedBody = flow.metadata.pop(SAMPLED)
            body = copy.body if response.stream is copy else None if response.stream else response.data.content
            request_body = flow.request.data.content
            is_whole = body is not None and request_body is not None and len(body) + len(request_body) <= 2 * LARGEST
            native = HttpExchange(request_head(flow), request_body or b"", response_head(response), bytes(body or b""))
            drift.offer(self._api(flow).task, self._found(flow).label, native if is_whole else None)

    def _api(self, flow: http.HTTPFlow) -> ApiRoute:
        api = self._apis.only or flow.metadata.get(API)
        return api if isinstance(api, ApiRoute) else next(iter(self._apis))

    def _found(self, flow: http.HTTPFlow) -> ApiRoute:
        """Return the API of a request; one without a name and a prefix if there is none for it."""
        api = self._apis.only or flow.metadata.get(API)
        return api if isinstance(api, ApiRoute) else self._none

    def _choose_mode(self, flow: http.HTTPFlow, response: http.Response) -> ModeChoice | None:
        status = response.data.status_code
        if status < 200 or status in _BODILESS or flow.request.data.method.upper() == b"HEAD":
            return None
        try:
            return self._api(flow).corrector.wants_body(request_head(flow), response_head(response))
        except Exception as problem:
            flow.metadata[REASON] = f"{type(problem).__name__}: {problem}"
            return None

    def _relay(self, flow: http.HTTPFlow) -> Relay | None:
        """Return what corrects the call of a tool, None where this is none."""
        api, content = self._found(flow), flow.request.data.content
        if RELAY in flow.metadata or not content:
            return flow.metadata.get(RELAY)
        try:
            if all(profile.pack.text.dialect != "mcp" for profile in api.corrector.engine.profiles):
                return None
            head = request_head(flow)
            if api.corrector.requested_mode(head).mode is not Mode.REFLECTIVE:
                return None
            packs = [one.pack for one in api.corrector.engine.profiles]
            made = partial(Tools, partial(build_tools_corrector, []), packs)
            begun = flow.response.headers.get("mcp-session-id", "") if flow.response is not None else ""
            sessions = self._sessions.setdefault(api, Sessions(made, self._recorder))
            relay = flow.metadata[RELAY] = sessions.relay(head, content, api.corrector.caller(head), begun)
            return relay
        except Exception:  # our own failure: the answer passes
            return None

    def _of_events(self, flow: http.HTTPFlow) -> Callable[[bytes], bytes] | None:
        """Return what becomes of the data of each event, None where all pass."""
        if (relay := self._relay(flow)) is not None:
            return relay.of_server
        corrector, content = self._found(flow).corrector, flow.request.data.content
        if not content or not any(profile.pack.text.error_events for profile in corrector.engine.profiles):
            return None
        try:
            head = request_head(flow)
            is_asked_for = corrector.requested_mode(head).mode is Mode.REFLECTIVE
            return ErrorEvents(corrector, head, content, self._recorder) if is_asked_for else None
        except Exception:  # our own failure: the answer passes
            return None

    def is_candidate(self, flow: http.HTTPFlow) -> bool:
        """Whether the response is buffered in full and may be an error, and the request body is known."""
        response = flow.response
        if CANDIDATE not in flow.metadata or response is None or response.stream:
            return False
        return flow.request.data.content is not None

    def response(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        """Correct a candidate (that is the awaitable), or log the exchange."""
        if PASSED_BY in flow.metadata:
            return None
        if SAMPLED in flow.metadata and self._recorder.drift is not None and flow.response is not None:
            self._offer_sample(flow, self._recorder.drift, flow.response)
        if self.is_candidate(flow):
            return self._correct(flow)
        if (relay := flow.metadata.get(RELAY)) is not None and relay.has_recorded:
            return None
        status, operation = 0, ""
        if flow.response is not None:
            status = flow.response.data.status_code
            with suppress(Exception):  # our own failure: the response has passed already
                operation = self._api(flow).corrector.passed(request_head(flow), status)
        if flow.response is not None and status >= 400:
            self._record(flow, "untouched", reason=self._reason_not_corrected(flow, flow.response))
        elif self._recorder.wants_successes:
            self._record(flow, "untouched", operation=operation)
        else:
            seconds = time.time() - flow.request.timestamp_start
            self._recorder.count_success(self._found(flow).label, operation, status, seconds)
        return None

    def _reason_not_corrected(self, flow: http.HTTPFlow, response: http.Response) -> str:
        """Return why nothing is decided about a refusal."""
        if REASON in flow.metadata:
            return str(flow.metadata[REASON])
        if CANDIDATE in flow.metadata:
            return f"the {'request' if REQUEST_OVER in flow.metadata else 'answer'} is over the limit"
        try:
            return self._api(flow).corrector.reason_not_read(request_head(flow), response_head(response))
        except Exception as problem:  # the response has passed already
            return f"{type(problem).__name__}: {problem}"

    async def _correct(self, flow: http.HTTPFlow) -> None:
        response = flow.response
        assert response is not None
        origin: Origin | None = None

        async def fetch(lookup: Lookup) -> LookupAnswer:
            nonlocal origin
            origin = origin or _origin(flow)
            return await self._lookups.ask(origin, lookup)

        outcome: HttpOutcome | None = None
        why, lookups, correction = Unanswered(None, None), 0, 0.0
        try:
            corrector, relay = self._api(flow).corrector, self._relay(flow)
            head, content, limits = response_head(response), response.raw_content or b"", corrector.limits
            by_tools: Rewrite | None = None  # it has a line of its own in the log
            has_rules = relay is not None and any(profile.pack.rules for profile in corrector.engine.profiles)
            if relay is not None and not has_rules:
                by_tools = changed_answer(head, content, relay.of_server, limits.body)
            if by_tools is None:
                attempt = await self._dispatcher.attempt(self._task(flow, response), fetch, limits)
                outcome, why, lookups, correction = attempt.outcome, attempt.why, attempt.lookups, attempt.seconds
                if relay is not None and has_rules and not _is_by_rule(outcome):
                    by_tools = changed_answer(head, content, relay.of_server, limits.body)
            if relay is not None and relay.wanted:
                released = await self._released(flow, relay)
                by_tools = changed_answer(head, content, lambda _: released, limits.body)
            outcome = outcome if by_tools is None else None
            rewrite = outcome.rewrite if outcome is not None else by_tools
            if rewrite is not None:
                rewrite_response(flow.request, response, rewrite)
            if relay is not None and relay.is_result:
                response.status_code = 200  # clients read a result of no other status
            if relay is not None and relay.has_recorded:
                return
        except Exception as problem:
            why = unanswered(problem)
        if outcome is not None and not outcome.operation and self._unmatched is not None:
            with suppress(Exception):  # a hint for people, nothing more
                self._unmatched(flow.request.path)
        self._record(
            flow,
            "untouched",
            outcome=outcome,
            reason=why.reason,
            error=why.error,
            lookups=lookups,
            correction=correction,
        )

    def _task(self, flow: http.HTTPFlow, response: http.Response) -> Task[HttpOutcome]:
        native = HttpExchange(
            request_head(flow),
            flow.request.raw_content or b"",
            response_head(response),
            response.raw_content or b"",
        )
        corrector = self._api(flow).corrector
        started = flow.request.timestamp_start
        elapsed = response.timestamp_start - started
        return Task(
            self._api(flow).task,
            corrector.correct,
            corrector.accepted,
            (native,),
            {"id": flow.id, "started": started, "elapsed": elapsed, "choice": flow.metadata[CANDIDATE]},
            size_to_read(native, LARGE),
            corrector.caller(native.request),
            kind_of(native.request.method, native.request.path, native.response.status),
        )

    def error(self, flow: http.HTTPFlow) -> None:
        """Log an exchange that broke off: no response from the upstream, or the client is gone."""
        if PASSED_BY in flow.metadata:
            return
        message = flow.error.msg if flow.error else ""
        is_callers_end = CALLERS_END in flow.metadata or is_callers(message)
        failure = None if is_callers_end else failure_text(message)
        self._record(flow, "failed", error=message or None, failure=failure)

    def tcp_message(self, flow: tcp.TCPFlow) -> None:
        """Drop the data of an upgraded connection: mitmproxy would keep all of it."""
        flow.messages.clear()

    def websocket_message(self, flow: http.HTTPFlow) -> None:
        """Drop all messages but the current one."""
        messages: list[websocket.WebSocketMessage] = flow.websocket.messages if flow.websocket else []
        del messages[:-1]

    def _record(
        self,
        flow: http.HTTPFlow,
        outcome_word: str,
        *,
        outcome: HttpOutcome | None = None,
        reason: str | None = None,
        error: str | None = None,
        lookups: int = 0,
        correction: float | None = None,
        failure: str | None = None,
        operation: str = "",
    ) -> None:
        started, api = flow.request.timestamp_start, self._found(flow)
        entry = Entry(
            time=started,
            id=flow.id,
            method=flow.request.method,
            path=api.prefix + flow.metadata.get(TARGET, flow.request.path),
            status=flow.response.status_code if flow.response is not None else None,
            outcome=outcome_word,
            milliseconds=(time.time() - started) * 1000,
            error=error,
            lookups=lookups,
            correction=correction,
            failure=failure,
            traceparent=flow.request.headers.get("traceparent"),
            operation=operation or None,
            api=api.label,
        )
        self._recorder.write(with_outcome(entry, outcome, reason=reason or None))


def _is_by_rule(outcome: HttpOutcome | None) -> bool:
    """Whether a pack's rule speaks: it knows the server better than the schemas of its tools."""
    suggestions = (outcome.feedback or {}).get("suggestions") if outcome is not None else None
    return any((one.get("evidence") or {}).get("kind") == "rule" for one in suggestions or ())


def _send_to(flow: http.HTTPFlow, api: ApiRoute) -> None:
    request, upstream = flow.request, api.upstream
    if api.prefix:
        request.data.path = bytes_of(api.stripped(text_of(request.data.path)))
    if upstream is not None:
        request.data.host, request.data.port = upstream.host, upstream.port
        request.data.scheme = upstream.scheme.encode()
        request.host_header = upstream.authority


def _origin(flow: http.HTTPFlow) -> Origin:
    request = flow.request
    secure = request.scheme == "https"
    return Origin(
        scheme=request.scheme,
        host=request.host,
        port=request.port,
        server_name=flow.server_conn.sni if secure else None,
        headers=request.headers.fields,
    )
