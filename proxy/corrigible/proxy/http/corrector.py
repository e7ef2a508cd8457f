"""The corrector as HTTP front ends see it: which answers it wants to read, and what goes out instead.

Knows: heads of messages, modes, which operations refuse with a success. Does not know: sockets, clocks, rules.
"""

from __future__ import annotations

import re

from corrigible.proxy.core.corrector import Corrector, Outcome
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.loop.detector import Loops
from corrigible.proxy.core.mode import Mode, ModeChoice
from corrigible.schema.content_encoding import decoded_size

from .codec import HttpCodec
from .messages import DOCUMENTS, DocumentResponse, HttpExchange, RequestHead, ResponseHead, Rewrite
from .request_reader import read_request

HttpOutcome = Outcome[Rewrite]

_NO_BODY = frozenset({204, 205, 206, 304})
_OF_ERRORS = re.compile(
    r"text/.+|.+\+json|application/(?:.+\+)?xml|application/(?:x-)?yaml|application/(?:[\w.-]*[.-])?json(?:-\d[\d.]*)?|application/vnd\.[\w.-]+"
)
"""Media types of errors that are read: text, XML, YAML, and JSON whatever a vendor calls it."""

_MEDIA_TYPE = re.compile(r"[\w.+-]{1,40}/[\w.+-]{1,60}")


class HttpCorrector(Corrector[HttpExchange, Rewrite]):
    """Corrects the refusals of an HTTP API."""

    def __init__(
        self,
        engine: Engine,
        *,
        mode: Mode = Mode.REFLECTIVE,
        query_mode: bool | None = None,
        loops: Loops | None = None,
        name: str = "",
        prefix: str = "",
    ) -> None:
        """`query_mode` says whether `?mode=` is ours where nothing describes the API; by default it is not.

        `name` tells this API from others that share the loops. `prefix` is what callers have before each path.
        """
        self._http = HttpCodec(engine, query_mode=query_mode, prefix=prefix)
        self._name = name
        super().__init__(engine, self._http, mode=mode, loops=loops)
        self.use(engine)

    def use(self, engine: Engine) -> None:
        """Correct by this engine from now on. What is under way goes on with the one before."""
        self.engine = engine
        self._http.use(engine)
        mappings = [profile.pack.error for profile in engine.profiles]
        self._media_types = frozenset(media for one in mappings if one is not None for media in one.media_types)

    def upstream_target(self, target: str) -> str:
        """Return the target for the upstream: a third party never sees our `?mode=`."""
        return self._http.upstream_target(target)

    def document(self, request: RequestHead, now: float) -> DocumentResponse | None:
        """Return feedback that a `Link` of ours pointed this caller to; None for every other request."""
        return self._http.document_response(request, now)

    def requested_mode(self, request: RequestHead) -> ModeChoice:
        """Return the mode for a request, and whether a `Prefer` header asked for it."""
        return self._http.mode_of(request, self.mode)

    def wants_body(self, request: RequestHead, response: ResponseHead) -> ModeChoice | None:
        """Return the mode to correct an answer in, once its body is at hand. None: stream it as it is."""
        considered = self._consider(request, response)
        return considered if isinstance(considered, ModeChoice) else None

    def reason_not_read(self, request: RequestHead, response: ResponseHead) -> str:
        """Return why `wants_body` leaves an answer alone."""
        considered = self._consider(request, response)
        return "" if isinstance(considered, ModeChoice) else considered

    def _consider(self, request: RequestHead, response: ResponseHead) -> ModeChoice | str:
        """Return the mode to correct an answer in, or why it is left alone."""
        status = response.status
        if request.method == "HEAD" or status < 200 or status in _NO_BODY:
            return "an answer without a body has no place for feedback"
        if request.target.startswith(DOCUMENTS):
            return "a document of ours that is not there is no refusal"
        may_refuse = status < 400 and self._may_refuse(request)
        if status < 400 and not may_refuse and not self._refuses_with_success(request):
            return "the answer is a success"
        media = length = ""
        for name, value in response.headers:
            low = name.lower()
            if low == "content-type":
                media = value.partition(";")[0].strip().lower()
            elif low == "content-length":
                length = value
        if status >= 400:
            is_read = not media or _OF_ERRORS.fullmatch(media) is not None
        else:  # some servers label JSON as text; what is none is left alone once it is read
            is_read = (
                media == "application/json" or media.endswith("+json") or (may_refuse and media.startswith("text/"))
            )
        is_read = is_read or media in self._media_types
        if not is_read or media == "text/event-stream":
            return f"answers of the type {media} are not read" if _MEDIA_TYPE.fullmatch(media) else "an unknown type"
        least = 0 if status >= 400 else 1
        if length.isdecimal() and not least <= int(length) <= self.limits.body:
            return "the answer is over the limit" if int(length) else "the answer is empty"
        choice = self.requested_mode(request)
        return "mode is none" if choice.mode is Mode.NONE else choice

    def _may_refuse(self, request: RequestHead) -> bool:
        adapters = [profile.adapter for profile in self.engine.profiles if profile.adapter.may_refuse is not None]
        if not adapters:
            return False
        headers = {name.lower(): value for name, value in request.headers}
        return any(a.may_refuse(request.method, request.path, headers) for a in adapters if a.may_refuse is not None)

    def _refuses_with_success(self, request: RequestHead) -> bool:
        profiles = [profile for profile in self.engine.profiles if profile.refuses_with_success]
        if not profiles:
            return False
        try:
            head = read_request(request.method, request.target, request.headers, b"")
        except ValueError:
            return False
        return any(profile.may_refuse_with_success(head) for profile in profiles)

    def passed(self, request: RequestHead, status: int) -> str:
        """Record an unmodified response: a success ends the loops of its caller there.

        Return its operation, if it was looked for. Never raises.
        """
        return self.succeeded(HttpExchange(request)) if status < 400 and self.loops else ""

    def _caller(self, native: HttpExchange) -> str:
        caller = super()._caller(native)
        return f"{caller}@{self._name}" if caller and self._name else caller

    def counted_caller(self, request: RequestHead) -> str:
        """Return who calls, as loops are counted; empty where nobody can tell."""
        return self._caller(HttpExchange(request))

    def caller(self, request: RequestHead) -> str:
        """Return who calls, as far as one can tell."""
        return self.counted_caller(request) or request.peer


def size_to_read(native: HttpExchange, limit: int) -> int:
    """Return how many bytes there are to read, without codings; more than the limit where that is not clear."""
    request_size = decoded_size(native.request.headers, native.request_body, limit)
    response_size = decoded_size(native.response.headers, native.response_body, limit)
    return len(native.request.target) + request_size + response_size
