"""HTTP messages in, HTTP messages out; no I/O. Every HTTP front end stands on this.

Knows: headers, encodings, modes, where feedback goes. Does not know: sockets, clocks, what any rule says.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

from corrigible.proxy.core.engine import Annotate, Decision, Engine, Explanation, PassThrough, again
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.core.loop_detector import Loops, place_of
from corrigible.proxy.core.mode import PREFERENCE, Mode, named_caller, preferred, queried, without_mode
from corrigible.proxy.embed.json_splice import blank
from corrigible.proxy.embed.member import EmbeddedBody, embed_feedback
from corrigible.rules.engine.lookup import Lookup, LookupAnswer
from corrigible.schema.exchange import Exchange, Json, Request

from .content_encoding import coding, decoded, plain_size
from .digest_headers import DIGESTS, is_held
from .feedback_store import DOCUMENTS, Document, Documents, Served
from .request_reader import read_request

Headers = Sequence[tuple[str, str]]

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_READS = frozenset({"GET", "HEAD"})
"""Headers do not tell people of these: `kubectl apply` looks whether there is something, and mostly there is not."""
_HELD = "the upstream vouches for its body with a checksum or a signature"
_NO_BODY = frozenset({204, 205, 206, 304})


@dataclass(frozen=True, slots=True)
class RequestHead:
    method: str
    target: str
    """Path and query as sent."""
    headers: Headers
    peer: str = ""
    """The address of who calls, without a port; empty where that is not known."""


@dataclass(frozen=True, slots=True)
class ResponseHead:
    status: int
    headers: Headers


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The answer as it goes out. The status never changes."""

    headers: list[tuple[str, str]]
    body: bytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one answer. Without a rewrite every byte stays."""

    rewrite: Rewrite | None
    reason: str
    mode: Mode
    operation: str = ""
    feedback: Json = None
    rules: tuple[str, ...] = ()
    error: str | None = None
    """A mistake of ours, for the log."""
    document: Document | None = None
    """What the rewrite points to."""
    seal: tuple[str, float] | None = None
    """By which the feedback was believed, and when."""

    def withheld(self, error: str) -> Outcome:
        """Return the outcome that leaves every byte, for a mistake of ours."""
        return replace(
            self, rewrite=None, reason="a mistake of ours", feedback=None, rules=(), error=error, document=None
        )


class HttpCorrector:
    """The pipeline as a proxy sees it."""

    def __init__(
        self,
        engine: Engine,
        *,
        mode: Mode = Mode.REFLECTIVE,
        query_mode: bool | None = None,
        loops: Loops | None = None,
    ) -> None:
        """`query_mode` says whether `?mode=` is ours to honour; by default it is, unless the API has its own.

        Without `loops` every refusal is answered as if it were the first.
        """
        self.engine = engine
        self.loops = loops
        self.mode = mode
        self.limits: Limits = engine.limits
        native = any(known.adapter.native_mode for known in engine.profiles)
        self._query_mode = not native if query_mode is None else query_mode
        self._strip = not native
        self._documents = Documents()

    def upstream_target(self, target: str) -> str:
        """Return the target for the upstream: a third party never sees our `?mode=`."""
        return without_mode(target) if self._strip and "mode=" in target and not self._declared(target) else target

    def _declared(self, target: str) -> bool:
        """Whether a description says that the API has a `mode` of its own there: then none is ours."""
        path = target.partition("?")[0]
        for known in self.engine.profiles:
            declares = getattr(known.described, "declares", None)
            if declares is None:
                continue
            found = (known.adapter.operations.find(method, path) for method in _METHODS)
            if any(one is not None and declares(one[0], "mode") for one in found):
                return True
        return False

    def document(self, request: RequestHead, now: float) -> Served | None:
        """Return feedback that a `Link` of ours pointed this caller to; None for every other request."""
        return self._documents.served(request.method, request.target, request.headers, request.peer, now)

    def wanted(self, request: RequestHead) -> tuple[Mode, bool]:
        """Return the mode for a request, and whether a `Prefer` header asked for it."""
        prefer = preferred(value for name, value in request.headers if name.lower() == "prefer")
        if prefer is not None:
            return prefer, True
        asked = queried(request.target) if self._query_mode and "mode=" in request.target else None
        return asked if asked is not None and not self._declared(request.target) else self.mode, False

    def wants_body(self, request: RequestHead, response: ResponseHead) -> bool:
        """Return whether an answer may be a refusal, so that its body must be at hand. False: stream it as it is."""
        status = response.status
        if request.method == "HEAD" or status < 200 or status in _NO_BODY:
            return False
        asked = status < 400 and self._may_refuse(request)
        if status < 400 and not asked and not self._refuses_with_success(request):
            return False
        media = length = ""
        for name, value in response.headers:
            low = name.lower()
            if low == "content-type":
                media = value.partition(";")[0].strip().lower()
            elif low == "content-length":
                length = value
        # Some servers label JSON as text; what is none is left alone once it is read.
        mislabelled = (status >= 400 or asked) and media.startswith("text/") and media != "text/event-stream"
        if not (media == "application/json" or media.endswith("+json") or mislabelled):
            return False
        if length.isdecimal() and not 0 < int(length) <= self.limits.body:
            return False
        return self.wanted(request)[0] is not Mode.NONE

    def _may_refuse(self, request: RequestHead) -> bool:
        asking = [k.adapter.may_refuse for k in self.engine.profiles if k.adapter.may_refuse is not None]
        if not asking:
            return False
        path = request.target.partition("?")[0]
        headers = {name.lower(): value for name, value in request.headers}
        return any(may_refuse(request.method, path, headers) for may_refuse in asking)

    def _refuses_with_success(self, request: RequestHead) -> bool:
        known = [k.adapter for k in self.engine.profiles if k.adapter.refuses_with_success]
        path = request.target.partition("?")[0]
        for adapter in known:
            found = adapter.operations.find(request.method, path)
            if found is not None and found[0] in adapter.refuses_with_success:
                return True
        return False

    def correct(
        self,
        request: RequestHead,
        request_body: bytes,
        response: ResponseHead,
        response_body: bytes,
        *,
        id: str,
        started: float,
        elapsed: float = 0.0,
        explanation: Explanation | None = None,
    ) -> Generator[Lookup, LookupAnswer, Outcome]:
        """Decide about one answer whose body is at hand, as it came over the wire. Never raises."""
        mode, preferred_so = self.wanted(request)
        if mode is Mode.NONE:
            return Outcome(None, "mode is none", mode)
        if len(request_body) > self.limits.body:
            return Outcome(None, f"the request body is over {self.limits.body} bytes", mode)
        try:
            plain, encoding = self._plain(response, response_body)
            exchange = self._exchange(request, request_body, response, plain, (id, started, elapsed))
            decision = yield from self.engine.decide(exchange, explanation)
            decision = self._taken_once(decision, exchange)
            seal = None
            if isinstance(decision, Annotate) and decision.seal:
                seal = (decision.seal, exchange.started + exchange.elapsed)
            if self.loops is not None:
                # What other modes say holds no suggestions that a caller could repeat.
                decision = again(self.loops, decision, self.limits) if mode is Mode.REFLECTIVE else decision
                if isinstance(decision, PassThrough) and not decision.violations:
                    self.passed(request, exchange.status)
            held = is_held(response.headers)
            rendered = None if held else self._render(decision, mode, plain, exchange)
            if rendered is None and isinstance(decision, Annotate) and mode is Mode.REFLECTIVE:
                document = self._documents.made(id, request.headers, request.peer, decision.encoded, started)
                headers = self._linked(response.headers, document)
                if preferred_so:
                    headers.append(("Preference-Applied", f"{PREFERENCE}={mode.value}"))
                linked = self._annotated(decision, mode, Rewrite(headers, response_body))
                linked = replace(linked, document=document, seal=seal)
                self.keep(linked)
                return linked
            if rendered is None:
                return self._untouched(decision, mode, held=held)
            scheme = coding(encoding)
            body = rendered.body if scheme is None else scheme.encode(rendered.body)
            live = isinstance(decision, Annotate) and decision.live
            headers = _headers(response.headers, len(body), mode if preferred_so else None, live=live)
            if request.method not in _READS:
                headers += rendered.headers
            return replace(self._annotated(decision, mode, Rewrite(headers, body)), seal=seal)
        except Exception as problem:  # the law: an error of ours means that the native answer passes
            said = f"{type(problem).__name__}: {problem}"
            return Outcome(None, "a mistake of ours", mode, error=said)

    def passed(self, request: RequestHead, status: int) -> None:
        """Hear of an answer that nobody needs to read: a success ends the loops of its caller there. Never raises."""
        loops = self.loops
        if not loops or status >= 400:
            return
        caller = self._caller(request, loops)
        try:
            if loops.knows(caller):
                path, method = self.upstream_target(request.target).partition("?")[0], request.method.upper()
                found = self.engine.identify(method, path)
                loops.succeeded(caller, place_of(found.operation if found is not None else "", Request(method, path)))
        except Exception:  # a loop that does not end here ends by itself
            return

    def caller(self, request: RequestHead) -> str:
        """Return who asks, as far as one can tell."""
        return (self._caller(request, self.loops) if self.loops is not None else "") or request.peer

    @staticmethod
    def _caller(request: RequestHead, loops: Loops) -> str:
        try:
            name = named_caller([value for header, value in request.headers if header.lower() == "prefer"])
            return loops.caller(request.headers, name, request.peer)
        except Exception:  # whose refusals cannot be counted still gets feedback
            return ""

    def accepted(self, outcome: Outcome) -> Outcome:
        """Take over what another process made of an answer: what is to be remembered is remembered here."""
        relay = self.engine.relay
        if outcome.seal is not None and (relay is None or not relay.first(*outcome.seal)):
            return outcome.withheld("feedback of another front was taken already")
        self.keep(outcome)
        return outcome

    def keep(self, outcome: Outcome) -> None:
        """Keep what an outcome points to for fetching."""
        if outcome.document is not None:
            self._documents.keep(outcome.document)

    @staticmethod
    def _linked(headers: Headers, document: Document) -> list[tuple[str, str]]:
        """Point to the feedback (RFC 8288): its body has no place for a member."""
        link = f'<{DOCUMENTS}{document.name}>; rel="recovery-feedback"; type="application/json"'
        return [*headers, ("Link", link), ("Vary", "Prefer")]

    def _plain(self, response: ResponseHead, body: bytes) -> tuple[bytes, str]:
        plain = decoded(response.headers, body, self.limits.body)
        if len(plain) > self.limits.body:
            raise ValueError(f"the body is over {self.limits.body} bytes")
        if any(n.lower() == "signature-input" and "content-digest" in v.lower() for n, v in response.headers):
            raise ValueError("the upstream signed its body (RFC 9421)")
        encoding = next((v for n, v in response.headers if n.lower() == "content-encoding"), "identity")
        return plain, encoding

    def _exchange(
        self,
        request: RequestHead,
        request_body: bytes,
        response: ResponseHead,
        plain: bytes,
        when: tuple[str, float, float],
    ) -> Exchange:
        headers: dict[str, str] = {}
        for name, value in response.headers:
            low = name.lower()
            if low != "set-cookie":
                headers[low] = f"{headers[low]}, {value}" if low in headers else value
        sent = decoded(request.headers, request_body, self.limits.body)
        document = read_request(request.method, self.upstream_target(request.target), request.headers, sent)
        caller = self._caller(request, self.loops) if self.loops is not None else ""
        return Exchange(document, response.status, headers, plain, *when, caller)

    def _taken_once(self, decision: Decision, exchange: Exchange) -> Decision:
        """Take feedback of another front of ours for one answer only: whoever saw it could show it again."""
        relay = self.engine.relay
        if not isinstance(decision, Annotate) or not decision.seal or decision.otherwise is None:
            return decision
        now = exchange.started + exchange.elapsed
        return decision if relay is not None and relay.first(decision.seal, now) else decision.otherwise

    def _sealed(self, exchange: Exchange, text: str) -> str | None:
        """Vouch for what goes through an API server, where it asked about a call that can be named."""
        relay = self.engine.relay
        if relay is None:
            return None
        for known in self.engine.profiles:
            found = known.adapter.calls(exchange.request) if known.adapter.calls is not None else None
            if found is not None and found.uid and len(found.calls) == 1:
                return relay.seal(text, found.calls[0], found.uid, exchange.started + exchange.elapsed)
        return None

    def _render(self, decision: Decision, mode: Mode, plain: bytes, exchange: Exchange) -> EmbeddedBody | None:
        match decision:
            case Annotate() if mode is not Mode.TRADITIONAL:
                return embed_feedback(plain, decision, mode, lambda text: self._sealed(exchange, text))
            case _:
                blanked = self._blanked(decision, plain) if mode is Mode.TRADITIONAL else None
                return None if blanked is None else EmbeddedBody(blanked)

    @staticmethod
    def _blanked(decision: Decision, plain: bytes) -> bytes | None:
        """Return the answer without what its pack lists; None where nothing changes by that."""
        if decision.pack is None:
            return None
        blanked = blank(plain.decode(), decision.pack.text.redact).encode()
        return None if blanked == plain else blanked

    @staticmethod
    def _untouched(decision: Decision, mode: Mode, *, held: bool) -> Outcome:
        if isinstance(decision, PassThrough):
            error = decision.reason if decision.fault else None
            return Outcome(None, decision.reason, mode, operation=decision.operation, error=error)
        said = (
            _HELD if held else "there is nothing to blank" if mode is Mode.TRADITIONAL else "there is nowhere to put it"
        )
        return Outcome(None, said, mode, operation=decision.operation, rules=decision.rules)

    @staticmethod
    def _annotated(decision: Decision, mode: Mode, rewrite: Rewrite) -> Outcome:
        if isinstance(decision, PassThrough):
            return Outcome(rewrite, decision.reason, mode, operation=decision.operation)
        feedback = decision.feedback if mode is Mode.REFLECTIVE else None
        return Outcome(rewrite, "annotated", mode, decision.operation, feedback, decision.rules, decision.trouble)


def to_read(request: RequestHead, sent: bytes, response: ResponseHead, body: bytes, limit: int) -> int:
    """Return how many bytes there are to read, without codings; more than the limit where that is not clear."""
    size = plain_size(request.headers, sent, limit) + plain_size(response.headers, body, limit)
    return len(request.target) + size


def spliced(native: bytes, decision: Annotate, mode: Mode) -> bytes | None:
    """Return the native answer with what a mode adds to it; None where it has no place for that."""
    found = embed_feedback(native, decision, mode)
    return None if found is None else found.body


def _headers(headers: Headers, length: int, applied: Mode | None, *, live: bool) -> list[tuple[str, str]]:
    """Return the answer's headers for its new body, in their order and spelling."""
    out: list[tuple[str, str]] = []
    measured = varied = cached = False
    for name, value in headers:
        low = name.lower()
        if low in DIGESTS or low == "transfer-encoding" or (low == "etag" and not value.startswith("W/")):
            continue
        if low == "content-length":
            if measured:
                continue
            measured, value = True, str(length)
        elif low == "vary" and not varied:
            varied = True
            if "prefer" not in value.lower() and value.strip() != "*":
                value = f"{value}, Prefer"
        elif low == "cache-control" and live:
            if cached:
                continue
            cached, value = True, "no-store"
        out.append((name, value))
    if not measured:
        out.append(("Content-Length", str(length)))
    if not varied:
        out.append(("Vary", "Prefer"))
    if live and not cached:
        out.append(("Cache-Control", "no-store"))
    if applied is not None:
        out.append(("Preference-Applied", f"{PREFERENCE}={applied.value}"))
    return out


__all__ = ["HttpCorrector", "Outcome", "RequestHead", "ResponseHead", "Rewrite", "spliced", "to_read"]
