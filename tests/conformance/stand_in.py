"""Subjects in the process of the tests: our proxy itself, and one whose every answer can be spoiled on its way out."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

from corrigible.conformance.reference.api import PACK, SPEC, Shop
from corrigible.conformance.reference.upstream import Answering, Received, Script, Upstream, answer
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.transport.http1 import CASE, HttpClient, HttpRequest, HttpResponse, KeepAlive
from corrigible.conformance.validators.finding import Finding
from corrigible.proxy.build import build_corrector, build_loops
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.http.corrector import HttpCorrector
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead, Rewrite
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import Lookup, LookupAnswer
from tests._support.raw_proxy import PATIENT, proxy_at

from .made import told

_OF_ONE_CONNECTION = frozenset({"content-length", "connection", "host"})


@dataclass(slots=True)
class Said:
    """An answer that is about to go out, and what it was made of."""

    asked: HttpRequest
    native: HttpResponse
    headers: list[tuple[str, str]]
    body: bytes
    status: int

    @property
    def annotated(self) -> bool:
        return self.body != self.native.body


Spoil = Callable[[Said], None]


class _Memory:
    """A connection to an upstream of this process, of one request and its answer, without a socket and a thread."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._sent = bytearray()
        self._said: bytearray | None = None

    def settimeout(self, seconds: float) -> None:
        """Nobody is late."""

    def close(self) -> None:
        """Nothing is open."""

    def sendall(self, data: bytes) -> None:
        (self._sent if self._said is None else self._said).extend(data)

    def recv(self, size: int) -> bytes:
        """Read: what was sent, for the upstream, which starts when the client reads; what it said, for the client."""
        if self._said is None:
            self._said = bytearray()
            self._upstream._serve(cast(socket.socket, self))
            return bytes(self._said)
        data = bytes(self._sent)
        self._sent.clear()
        return data


class InProcess(HttpClient):
    """A client of an upstream of this process: both ends speak as ever, over memory unless bytes are to take time."""

    def __init__(self, upstream: Upstream) -> None:
        super().__init__(upstream.url)
        self._upstream = upstream

    def send(self, request: HttpRequest, *, timeout: float = 10.0, line: KeepAlive | None = None) -> HttpResponse:
        known = self._upstream._known(request)
        at_once = not isinstance(known, Script) or all(isinstance(part, bytes) for part in known.parts)
        if self._upstream._refusing or not at_once:
            return super().send(request, timeout=timeout, line=line)
        return self._sent(cast(socket.socket, _Memory(self._upstream)), request, time.monotonic(), timeout, None)


def honest(said: Said) -> None:
    """Leave everything as it is."""


@dataclass(slots=True)
class Front:
    """A proxy without a process of its own: our corrector, with a fault at the end."""

    upstream: HttpClient
    corrector: HttpCorrector
    spoil: Spoil = honest
    ask_too: Callable[[HttpRequest], Iterable[HttpRequest]] = field(default=lambda sent: ())
    """What it sends to the upstream of its own accord."""
    forward: Callable[[HttpRequest], HttpRequest] = field(default=lambda sent: sent)
    """What becomes of a request on its way in."""

    def __call__(self, received: Received) -> Script:
        wire = self.upstream
        asked = received.sent
        for own in self.ask_too(asked):
            wire.send(own)
        native = wire.send(self.forward(asked), timeout=1.5)
        if native.status == 0 or native.error is not None:
            return answer(502, native.error.encode() if native.error else b"")
        head = RequestHead(asked.method, asked.target, asked.headers)
        back = ResponseHead(native.status, native.headers)
        headers, body = list(native.headers), native.body
        if not self.corrector.wants_body(head, back):
            self.corrector.passed(head, native.status)
        elif (rewrite := self._corrected(head, asked, back, body)) is not None:
            headers, body = rewrite.headers, rewrite.body
        said = Said(asked, native, [h for h in headers if h[0].lower() != "content-length"], body, native.status)
        self.spoil(said)
        length = [("Content-Length", str(len(said.body)))]
        had = any(name.lower() in ("content-length", "transfer-encoding") for name, _ in native.headers)
        said.headers = [h for h in said.headers if h[0].lower() != "transfer-encoding"]
        return answer(said.status, said.body, [*said.headers, *(length if had else [])], reason=native.reason)

    def _corrected(self, head: RequestHead, asked: HttpRequest, back: ResponseHead, body: bytes) -> Rewrite | None:
        """Correct a refusal, or remember how: every fault is planted into the same answers. Look-ups are made again."""
        own = [one for one in asked.headers if one[0].lower() not in ("authorization", "host", CASE)]
        key = (self.corrector, asked.method, asked.target, *own, asked.body, back, body)
        if key in _CORRECTED and self.corrector.loops is None:
            before, rewrite = _CORRECTED[key]
            if all(self._looked_up(asked, lookup) == answer for lookup, answer in before):
                return rewrite
        made: list[tuple[Lookup, LookupAnswer]] = []

        def looked_up(lookup: Lookup) -> LookupAnswer:
            made.append((lookup, self._looked_up(asked, lookup)))
            return made[-1][1]

        deciding = self.corrector.correct(HttpExchange(head, asked.body, back, body), id="1", started=time.time())
        outcome = run_with_lookups_sync(deciding, looked_up)
        assert outcome.error is None or "look-up" in outcome.error, outcome.error  # a fault may disturb these
        _CORRECTED[key] = made, outcome.rewrite
        return outcome.rewrite

    def _looked_up(self, asked: HttpRequest, lookup: Lookup) -> LookupAnswer:
        credentials = [one for one in asked.headers if one[0].lower() == "authorization"]
        media = [("Content-Type", lookup.content_type)] if lookup.content_type else []
        got = self.upstream.send(HttpRequest(lookup.method, lookup.path, (*credentials, *media), lookup.body))
        return LookupAnswer(got.status, got.body)


_CORRECTED: dict[Hashable, tuple[list[tuple[Lookup, LookupAnswer]], Rewrite | None]] = {}


@cache
def corrector(pack: str, spec: Path | None = None, *, loops: bool = False) -> HttpCorrector:
    """Return the corrector of a pack; it takes a while to make."""
    limits = Limits.within(60.0)  # garbage of all tests is collected meanwhile
    return build_corrector([pack], spec=spec, limits=limits, loops=build_loops() if loops else None)


@contextmanager
def fronted(
    profile: str,
    pack: str,
    spoil: Spoil = honest,
    *,
    spec: Path | None = None,
    api: Answering | None = None,
    loops: bool = False,
    ask_too: Callable[[HttpRequest], Iterable[HttpRequest]] = lambda sent: (),
    forward: Callable[[HttpRequest], HttpRequest] = lambda sent: sent,
) -> Iterator[Subject]:
    """Put a stand-in of a proxy before the suite's own upstream."""
    with Upstream(api) as upstream:
        direct = InProcess(upstream)
        with Upstream(Front(direct, corrector(pack, spec, loops=loops), spoil, ask_too, forward)) as proxy:
            yield Subject("proxy", profile, target=InProcess(proxy), upstream=upstream, direct=direct)


@contextmanager
def shop_fronted(profile: str = "http-json") -> Iterator[Subject]:
    """Put a stand-in that counts loops before the suite's reference API."""
    with fronted(profile, str(PACK), spec=SPEC, api=Shop(), loops=True) as subject:
        yield subject


@contextmanager
def proxied(
    profile: str,
    pack: str | Path,
    *,
    spec: Path | None = None,
    api: Answering | None = None,
    limits: Limits = PATIENT,
    hold: float = 2.0,
) -> Iterator[Subject]:
    """Put our proxy, a thread of this process, before the suite's own upstream."""
    ours = build_corrector([pack], spec=spec, limits=limits, loops=build_loops())
    with Upstream(api) as upstream, proxy_at(ours, upstream=upstream.url, hold=hold) as proxy:
        target, direct = HttpClient(f"http://127.0.0.1:{proxy.port}"), HttpClient(upstream.url)
        yield Subject("proxy", profile, target=target, upstream=upstream, direct=direct)


@contextmanager
def shop_proxied(profile: str = "http-json", *, limits: Limits = PATIENT) -> Iterator[Subject]:
    """Put our proxy before the suite's reference API, with its rules and its description."""
    with proxied(profile, PACK, spec=SPEC, api=Shop(), limits=limits) as subject:
        yield subject


def findings(checks: Iterable[Check], subject: Subject) -> dict[str, set[str]]:
    """Return what each check finds against which requirement; checks that find nothing are left out."""
    found: dict[str, set[str]] = {}
    for check in checks:
        if subject.role not in check.roles:
            continue
        said: list[Finding] = list(told(check.run(subject)))
        assert {one.requirement for one in said} <= set(check.requirements), check.id
        if said:
            found[check.id] = {one.requirement for one in said}
    return found


def edited(edit: Callable[[Any], object]) -> Spoil:
    """Return a spoiler of the JSON of annotated answers. What the edit returns, if anything, replaces it."""

    def spoil(said: Said) -> None:
        if said.annotated:
            body = json.loads(said.body)
            said.body = json.dumps(edit(body) or body, separators=(",", ":"), ensure_ascii=False).encode()

    return spoil
