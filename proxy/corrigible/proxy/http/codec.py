"""HTTP messages into an exchange, and a decision into the answer; no I/O.

Knows: headers, encodings, modes, where feedback goes. Does not know: sockets, clocks, what any rule says.

Feedback about paths as the caller sends them, where the proxy takes a prefix away from each.

An HTML page or an empty body as a problem document (RFC 9457), for callers who prefer JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

import orjson

from corrigible.proxy.core.corrector import NotCorrected, Unplaced
from corrigible.proxy.core.decision import Annotate, Decision
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.loop.detector import Loops
from corrigible.proxy.core.mode import (
    PREFERENCE,
    Mode,
    ModeChoice,
    is_compact,
    named_caller,
    preferred,
    queried,
    without_mode,
)
from corrigible.proxy.embed.member import MEMBER, EmbeddedBody, blank, embed_feedback, splice
from corrigible.rules.lookup_headers import media_ranges
from corrigible.rules.schema_repair.json_schema import literal_pattern
from corrigible.schema.content_encoding import coding, decoded
from corrigible.schema.exchange import Exchange, Json, Request
from corrigible.schema.word import TERMINAL_ACTIONS, BaseAction

from .message_head import DIGESTS, covers_body
from .messages import DOCUMENTS, DocumentResponse, Documents, Headers, HttpExchange, RequestHead, ResponseHead, Rewrite
from .request_reader import read_request

_MEDIA_TYPE: Final = "application/problem+json"
_JSON: Final = re.compile(r"application/(?:[\w.-]+\+)?json")
_PAGES: Final = frozenset({"text/html", "application/xhtml+xml", "text/*"})


def prefers_json(headers: Headers) -> bool:
    """Whether `Accept` names JSON, and pages of HTML with less weight or not at all."""
    ranges = media_ranges(", ".join(value for name, value in headers if name.lower() == "accept"))
    of_json = max((one.weight for one in ranges if _JSON.fullmatch(one.media)), default=0.0)
    return of_json > max((one.weight for one in ranges if one.media in _PAGES), default=0.0)


def is_no_document(headers: Headers, body: bytes) -> bool:
    """Whether an answer is an HTML page, or empty: a program that asked for JSON can read nothing in it."""
    return not body or any(
        name.lower() == "content-type" and value.strip().lower().startswith("text/html") for name, value in headers
    )


def headers_of_problem(headers: Headers) -> Headers:
    """Return the headers of a page or an empty body for the problem document in its place."""
    named = [(name, _MEDIA_TYPE if name.lower() == "content-type" else value) for name, value in headers]
    missing = [] if any(name.lower() == "content-type" for name, _ in headers) else [("Content-Type", _MEDIA_TYPE)]
    return [*named, *missing, ("Vary", "Accept")]


def problem_document(status: int, decision: Annotate) -> bytes:
    """Return the text of a page, if there is one, and the feedback as one JSON object."""
    problem: dict[str, Json] = {"type": "about:blank", "status": status}
    with suppress(ValueError):
        problem["title"] = HTTPStatus(status).phrase
    if isinstance(decision.case.text, str) and decision.case.text:
        problem["detail"] = decision.case.text
    return splice(orjson.dumps(problem), problem, {"": [b'"' + MEMBER.encode() + b'":' + decision.encoded]})


def with_prefix(decision: Annotate, prefix: str) -> Annotate:
    """Return the decision with the prefix before each path that the caller would send."""
    feedback = dict(decision.feedback)
    feedback["suggestions"] = [_suggestion(one, prefix) for one in feedback["suggestions"] or ()]
    return decision._replace(feedback=feedback, encoded=orjson.dumps(feedback))


def _suggestion(suggestion: Any, prefix: str) -> Json:
    out = dict(suggestion)
    if isinstance(out.get("patch"), list):
        out["patch"] = [_operation(one, prefix) for one in out["patch"]]
    if isinstance(out.get("steps"), list):
        out["steps"] = [_at_path(one, prefix) for one in out["steps"]]
    if isinstance(out.get("placeholders"), list):
        out["placeholders"] = [_placeholder(one, prefix) for one in out["placeholders"]]
    if isinstance(out.get("parameters"), Mapping) and _tells(out):
        out["parameters"] = _called(_at_path(out["parameters"], prefix), prefix)
    return out


_TELLING: Final = TERMINAL_ACTIONS | {BaseAction.USE_ALTERNATIVE_ENDPOINT}
"""Actions whose parameters tell of requests and results. Those of the others may be members of a body."""


def _tells(suggestion: Mapping[str, Json]) -> bool:
    """Whether a path among the parameters is one of this server's: with an origin it is another's."""
    is_telling = not _TELLING.isdisjoint((suggestion.get("action"), suggestion.get("base_action")))
    return is_telling and "origin" not in (suggestion.get("parameters") or {})


def _called(parameters: Any, prefix: str) -> Json:
    method = parameters.get("method")
    if isinstance(method, str) and (call := _CALL.fullmatch(method)) is not None:
        return {**parameters, "method": f"{call[1]} {prefix}{call[2]}"}
    return dict(parameters)


_CALL: Final = re.compile(r"([A-Z]+) (/.*)", re.DOTALL)


def _operation(operation: Any, prefix: str) -> Json:
    if operation.get("path") == "/path" and isinstance(operation.get("value"), str):
        return {**operation, "value": prefix + operation["value"]}
    return dict(operation)


def _placeholder(placeholder: Any, prefix: str) -> Json:
    schema = placeholder.get("schema")
    if placeholder.get("pointer") != "/path" or not isinstance(schema, Mapping):
        return dict(placeholder)
    schema = dict(schema)
    if isinstance(schema.get("pattern"), str) and schema["pattern"].startswith("^"):
        schema["pattern"] = f"^{literal_pattern(prefix)}{schema['pattern'][1:]}"
    for name in ("enum", "examples"):
        if isinstance(schema.get(name), list):
            schema[name] = [prefix + one if isinstance(one, str) else one for one in schema[name]]
    return {**placeholder, "schema": schema}


def _at_path(document: Any, prefix: str) -> Json:
    path = document.get("path") if isinstance(document, Mapping) else None
    if isinstance(path, str) and path.startswith("/"):
        return {**document, "path": prefix + path}
    return dict(document) if isinstance(document, Mapping) else document


_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_READS = frozenset({"GET", "HEAD"})
"""Headers do not tell people of these: `kubectl apply` looks whether there is something, and mostly there is not."""


class HttpCodec:
    """Decodes and embeds for the APIs of one engine."""

    modes: Final = frozenset(Mode) - {Mode.NONE}

    def __init__(self, engine: Engine, *, query_mode: bool | None = None, prefix: str = "") -> None:
        """`query_mode` says whether `?mode=` is ours where no description declares one of the API's own.

        By default it is only where a description has the operation: an API may have a `mode` that nobody told us of.

        `prefix` is what callers have before each path, and the API has not.
        """
        self._query_mode, self._prefix = query_mode, prefix
        self._documents = Documents()
        self.use(engine)

    def use(self, engine: Engine) -> None:
        """Work for the APIs of this engine from now on."""
        self._engine = engine
        native = any(profile.adapter.native_mode for profile in engine.profiles)
        self._reads_query = not native if self._query_mode is None else self._query_mode
        self._strips_query = not native and self._query_mode is not False

    def choose_mode(self, native: HttpExchange, default: Mode) -> ModeChoice:
        return self.mode_of(native.request, default)

    def mode_of(self, request: RequestHead, default: Mode) -> ModeChoice:
        """Return the mode for a request: what its `Prefer` says, else its query, else the default."""
        values = [value for name, value in request.headers if name.lower() == "prefer"]
        if values and (prefer := preferred(values)) is not None:
            return ModeChoice(prefer, is_preferred=True, is_compact=is_compact(values))
        mode = queried(request.target) if self._reads_query and "mode=" in request.target else None
        return ModeChoice(default if mode is None or not self._is_ours(request.path) else mode)

    def upstream_target(self, target: str) -> str:
        """Return the target for the upstream: a third party never sees our `?mode=`."""
        if self._strips_query and "mode=" in target and self._is_ours(target.partition("?")[0]):
            return without_mode(target)
        return target

    def _is_ours(self, path: str) -> bool:
        """Whether `?mode=` of a path can be no parameter of the API: it is described there, without one."""
        is_known = False
        for profile in self._engine.profiles:
            described = profile.described
            declares = getattr(described, "declares", None)
            if described is None or declares is None:
                continue
            named = [profile.adapter.operations.find(method, path) for method in _METHODS]
            if any(match is not None and declares(match[0], "mode") for match in named):
                return False
            is_known = is_known or any(described.operations.find(method, path) for method in _METHODS)
        return is_known or self._query_mode is True

    def caller(self, native: HttpExchange, loops: Loops) -> str:
        return self.caller_of(native.request, loops)

    @staticmethod
    def caller_of(request: RequestHead, loops: Loops) -> str:
        name = named_caller([value for header, value in request.headers if header.lower() == "prefer"])
        return loops.caller(request.headers, name, request.peer)

    def target(self, native: HttpExchange) -> Request:
        return Request(native.request.method.upper(), native.request.path)

    def decode(self, native: HttpExchange, id: str, started: float, elapsed: float, caller: str) -> Exchange:
        limit = self._engine.limits.body
        response = native.response
        if len(native.request_body) > limit:
            raise NotCorrected(f"the request body is over {limit} bytes")
        try:
            body = _decoded_body(response, native.response_body, limit)
        except ValueError as problem:
            raise NotCorrected(f"the answer cannot be changed: {problem}") from None
        headers: dict[str, str] = {}
        for name, value in response.headers:
            low = name.lower()
            if low != "set-cookie":
                headers[low] = f"{headers[low]}, {value}" if low in headers else value
        try:
            document = self._read_request(native, limit)
        except ValueError as problem:
            raise NotCorrected(f"the request cannot be read: {problem}") from None
        return Exchange(document, response.status, headers, body, id, started, elapsed, caller)

    def _read_request(self, native: HttpExchange, limit: int) -> Request:
        request, target = native.request, self.upstream_target(native.request.target)
        try:
            body = decoded(request.headers, native.request_body, limit)
        except ValueError:
            if native.request_body.lstrip()[:1] not in (b"{", b"["):
                raise
            # It is called compressed, and is not: a text, since no server reads it as JSON.
            document = read_request(request.method, target, request.headers, b"")
            return replace(document, body=native.request_body.decode("utf-8", "replace"))
        return read_request(request.method, target, request.headers, body)

    def embed(
        self, native: HttpExchange, exchange: Exchange, decision: Decision, choice: ModeChoice
    ) -> Rewrite | Unplaced:
        mode, response = choice.mode, native.response
        if self._prefix and isinstance(decision, Annotate):
            decision = with_prefix(decision, self._prefix)
        applied = mode if choice.is_preferred else None
        has_digest = covers_body(response.headers)
        embedded = None if has_digest else self._embedded(native, decision, mode, exchange)
        if embedded is not None:
            rewrite = _rewrite(exchange, decision, response.headers, embedded.body, applied)
            if native.request.method not in _READS:
                rewrite.headers.extend(embedded.headers)
            return rewrite
        if not isinstance(decision, Annotate) or mode is not Mode.REFLECTIVE:
            return Unplaced(_reason_not_embedded(mode, has_digest=has_digest))
        if not has_digest and is_no_document(response.headers, exchange.body) and prefers_json(native.request.headers):
            body = problem_document(response.status, decision)
            return _rewrite(exchange, decision, headers_of_problem(response.headers), body, applied)
        return self._linked(native, exchange, decision, applied)

    def _embedded(
        self, native: HttpExchange, decision: Decision, mode: Mode, exchange: Exchange
    ) -> EmbeddedBody | None:
        if isinstance(decision, Annotate) and mode is not Mode.TRADITIONAL:
            is_mirrored = _shows_only_errors(native.request.headers, decision.pack.text.mirror_whole)
            return embed_feedback(
                exchange.body, decision, mode, lambda text: self._sealed(exchange, text), is_mirrored=is_mirrored
            )
        if mode is not Mode.TRADITIONAL or decision.pack is None or decision.case is None or decision.case.body is None:
            return None
        blanked = blank(exchange.body.decode(), decision.pack.text.redact).encode()
        return None if blanked == exchange.body else EmbeddedBody(blanked)

    def _linked(self, native: HttpExchange, exchange: Exchange, decision: Annotate, applied: Mode | None) -> Rewrite:
        """Point to the feedback (RFC 8288): the body has no place for a member."""
        request = native.request
        document = self._documents.create(
            exchange.id, request.headers, request.peer, decision.encoded, exchange.started
        )
        link = (
            f'<{DOCUMENTS}{document.name}>; rel="recovery-feedback"; type="application/json"; token="{document.token}"'
        )
        headers = [*native.response.headers, ("Link", link), ("Vary", "Prefer")]
        if applied is not None:
            headers.append(_applied(applied))
        return Rewrite(headers, native.response_body, document)

    def _sealed(self, exchange: Exchange, text: str) -> str | None:
        """Seal a text that goes through an API server, where it asked about a call that can be named."""
        relay = self._engine.relay
        if relay is None:
            return None
        for profile in self._engine.profiles:
            calls = profile.adapter.calls(exchange.request) if profile.adapter.calls is not None else None
            if calls is not None and calls.uid and len(calls.calls) == 1:
                return relay.seal(text, calls.calls[0], calls.uid, exchange.started + exchange.elapsed)
        return None

    def store_document(self, embedded: Rewrite) -> None:
        if embedded.document is not None:
            self._documents.store(embedded.document)

    def document_response(self, request: RequestHead, now: float) -> DocumentResponse | None:
        """Return the feedback that a `Link` of ours pointed this caller to; None for every other request."""
        return self._documents.response_to(request.method, request.target, request.headers, request.peer, now)


def changed_answer(response: ResponseHead, body: bytes, change: Callable[[bytes], bytes], limit: int) -> Rewrite | None:
    """Return an answer with what `change` makes of its body, None where that stays. Raises ValueError as decoding."""
    if covers_body(response.headers):
        return None
    content = _decoded_body(response, body, limit)
    changed = change(content)
    if changed == content:
        return None
    named = next((value for name, value in response.headers if name.lower() == "content-encoding"), "identity")
    scheme = coding(named)
    encoded = changed if scheme is None else scheme.encode(changed)
    return Rewrite(_rewritten_headers(response.headers, len(encoded), None, live=False), encoded)


def _decoded_body(response: ResponseHead, body: bytes, limit: int) -> bytes:
    """Return the body of an answer without its Content-Encoding. Raises ValueError where it must not change."""
    content = decoded(response.headers, body, limit)
    if len(content) > limit:
        raise ValueError(f"the body is over {limit} bytes")
    if any(n.lower() == "signature-input" and "content-digest" in v.lower() for n, v in response.headers):
        raise ValueError("the upstream signed its body (RFC 9421)")
    return content


def _rewrite(exchange: Exchange, decision: Decision, headers: Headers, body: bytes, applied: Mode | None) -> Rewrite:
    """Return the answer with another body, in the encoding that it came in."""
    scheme = coding(exchange.headers.get("content-encoding", "identity"))
    encoded = body if scheme is None else scheme.encode(body)
    live = isinstance(decision, Annotate) and decision.live
    return Rewrite(_rewritten_headers(headers, len(encoded), applied, live=live), encoded)


def _shows_only_errors(headers: Headers, clients: Sequence[str] | None) -> bool:
    """Whether a caller is one of the clients that show nothing but the native error object; None: all are."""
    if clients is None:
        return True
    return any(name.lower() == "user-agent" and value.startswith(tuple(clients)) for name, value in headers)


def _reason_not_embedded(mode: Mode, *, has_digest: bool) -> str:
    if has_digest:
        return "the upstream vouches for its body with a checksum or a signature"
    return "there is nothing to blank" if mode is Mode.TRADITIONAL else "there is nowhere to put it"


def _rewritten_headers(headers: Headers, length: int, applied: Mode | None, *, live: bool) -> list[tuple[str, str]]:
    """Return the answer's headers for its new body, in their order and spelling."""
    out: list[tuple[str, str]] = []
    has_length = has_vary = has_cache_control = False
    for name, value in headers:
        low = name.lower()
        if low in DIGESTS or low == "transfer-encoding" or (low == "etag" and not value.startswith("W/")):
            continue
        if low == "content-length":
            if has_length:
                continue
            has_length, value = True, str(length)
        elif low == "vary" and not has_vary:
            has_vary = True
            if _NAMED.isdisjoint(name.strip() for name in value.lower().split(",")):
                value = f"{value}, Prefer"
        elif low == "cache-control" and live:
            if has_cache_control:
                continue
            has_cache_control, value = True, "no-store"
        out.append((name, value))
    if not has_length:
        out.append(("Content-Length", str(length)))
    if not has_vary:
        out.append(("Vary", "Prefer"))
    if live and not has_cache_control:
        out.append(("Cache-Control", "no-store"))
    if applied is not None:
        out.append(_applied(applied))
    return out


_NAMED: Final = frozenset({"prefer", "*"})
"""What a Vary has in it that tells caches of Prefer already, as a name of its own (RFC 9110, section 12.5.5)."""


def _applied(mode: Mode) -> tuple[str, str]:
    return "Preference-Applied", f"{PREFERENCE}={mode.value}"
