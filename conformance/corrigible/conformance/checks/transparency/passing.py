"""Checks: the upstream receives what the client sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from corrigible.conformance.checks.support.exchange import ASK, JSON, cases
from corrigible.conformance.checks.support.known_error import headers, text
from corrigible.conformance.reference.upstream import answer
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpRequest
from corrigible.conformance.validators.finding import Finding

GET: Final = HttpRequest("GET", "/conformance/answers/1", (("Accept-Encoding", "gzip, deflate, br, zstd"), ASK))


_NOT_OURS: Final = frozenset({"host", "via", "forwarded", "x-real-ip", "expect", "content-length"})
"""Host names the next hop; the others say who passed it on, or belong to one connection."""
_HOP: Final = re.compile("x-forwarded-", re.IGNORECASE)
_YES: Final = answer(200, b'{"ok": 1.0}', [JSON], reason="OK")
_PATH: Final = "/conformance/requests"

TARGETS: Final = (
    "/a%2Fb%2fc/%7euser/%E2%82%AC%41",
    "//double//slash/",
    "/dots/./and/../more/..%2f",
    "/v1/things?",
    "/v1/things?a&b=&=c&&a=1&a=2",
    "/v1/things?q=a+b%20c%2Bd&x=%00%ff",
    "/v1/things?list[]=1&list[]=2&o[k]=v",
    "/v1/things;v=1/x,y:z@!$'()*",
    "/v1/things?url=http://127.0.0.1/?a=b#",
    "/?mode=fast&mode=&model=x",
    "/v1/things?mode=strict&x=1",
    "/" + "long/" * 800,
)
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "PURGE", "M-SEARCH", "get", "X!")
REQUEST_HEADERS: Final = (
    ("X-b", "1"),
    ("x-A", "2"),
    ("X-B", "3"),
    ("COOKIE", "a=1; b=2"),
    ("Accept", "application/json;q=0.9, */*;q=0.1"),
    ("accept", "text/plain"),
    ("Accept-Encoding", "gzip;q=0.5, br"),
    ("User-Agent", "Odd/1.0 (x; y) z"),
    ("X-Empty", ""),
    ("X-Name", "caf\xe9"),
    ("X-Long", "v" * 6000),
    ("Idempotency-Key", "k-1"),
    ("If-Match", '"a", W/"b"'),
    ("Range", "bytes=0-3"),
    ("Prefer", "respond-async, wait=10"),
    ("Origin", "null"),
    ("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
)


def targets_kept(subject: Subject) -> Iterator[Finding]:
    for target in TARGETS:
        yield from _forwarding_findings(
            subject, f"the target {text(target.encode())}", HttpRequest("GET", target.rstrip("#"))
        )


def methods_kept(subject: Subject) -> Iterator[Finding]:
    for method in METHODS:
        yield from _forwarding_findings(subject, f"the method {method}", HttpRequest(method, _PATH))


def headers_kept(subject: Subject) -> Iterator[Finding]:
    yield from _forwarding_findings(subject, "headers", HttpRequest("GET", _PATH, REQUEST_HEADERS))
    many = tuple((f"X-{n:03}", str(n)) for n in range(90))
    yield from _forwarding_findings(subject, "ninety headers", HttpRequest("GET", _PATH, many))


def bodies_kept(group: str, subject: Subject) -> Iterator[Finding]:
    for case in cases(group):
        yield from _forwarding_findings(subject, case.name, case.sent)


def mode_is_stripped_alone(subject: Subject) -> Iterator[Finding]:
    """`?mode=` is the one thing that may be taken out, and only where it is the contract's: all else stays."""
    forms = (
        ("/v1/things?mode=verbose", {"/v1/things", "/v1/things?"}),
        ("/v1/things?a=%2f&mode=reflective&b=+", {"/v1/things?a=%2f&b=+"}),
        ("/v1/things?mode=traditional&mode=odd", {"/v1/things?mode=odd"}),
    )
    for target, stripped in forms:
        pair = subject.both(HttpRequest("GET", target), _YES)
        actual = pair.received.sent.target if pair.received is not None else None
        if actual != target and actual not in stripped:
            sentence = f"{target} reaches the upstream as something else, and not just without its mode"
            yield Finding("SRF-TRN-12", sentence, sorted(stripped)[0], actual or "nothing", HttpRequest("GET", target))


def own_mode_stays(subject: Subject) -> Iterator[Finding]:
    """Where the API has a parameter of that name itself, it is the API's."""
    for target in ("/v1/items?mode=brief", "/v1/items?category=drink&mode=reflective&limit=2"):
        yield from _forwarding_findings(
            subject, f"the API's own parameter mode in {target}", HttpRequest("GET", target)
        )


def _forwarding_findings(subject: Subject, label: str, request: HttpRequest) -> Iterator[Finding]:
    pair = subject.both(request, _YES, timeout=20)
    direct_received, received = pair.direct_received, pair.received
    if direct_received is None:
        return  # the suite's own upstream did not take it: there is nothing to compare
    if received is None:
        sentence = f"{label}: the request does not reach the upstream"
        yield Finding("SRF-TRN-12", sentence, f"{request.method} {request.target}", f"{pair.through.status}", request)
        return
    for part, before, after in (
        ("method", direct_received.sent.method, received.sent.method),
        ("target", direct_received.sent.target, received.sent.target),
    ):
        if before != after:
            sentence = f"{label}: the {part} is another one at the upstream"
            yield Finding("SRF-TRN-12", sentence, text(before.encode()), text(after.encode()), request)
    if direct_received.sent.body != received.sent.body:
        sentence = f"{label}: the body is another one at the upstream"
        yield Finding("SRF-TRN-12", sentence, text(direct_received.sent.body), text(received.sent.body), request)
    direct_headers, through_headers = _compared(direct_received.sent), _compared(received.sent)
    for header in headers(direct_headers, through_headers, except_for=_NOT_OURS):
        yield header.finding("SRF-TRN-12", request, f"{label}: at the upstream", " ")


def _compared(request: HttpRequest) -> tuple[tuple[str, str], ...]:
    return tuple(header for header in request.headers if not _HOP.match(header[0]))


Run = Callable[[Subject], Iterable[Finding]]
REQUEST_RUNS: Final[tuple[tuple[str, str, tuple[str, ...], Run], ...]] = (
    ("request/target", "targets reach the upstream to the byte", ("SRF-TRN-12",), targets_kept),
    ("request/method", "methods reach the upstream, odd ones too", ("SRF-TRN-12",), methods_kept),
    ("request/headers", "headers reach the upstream, in order, case and number", ("SRF-TRN-12",), headers_kept),
    ("request/body", "bodies reach the upstream to the byte", ("SRF-TRN-12",), partial(bodies_kept, "request/body")),
    (
        "request/large",
        "large bodies reach the upstream to the byte",
        ("SRF-TRN-12",),
        partial(bodies_kept, "request/large"),
    ),
    ("request/own-mode", "a ?mode= of the API's own stays", ("SRF-TRN-12",), own_mode_stays),
    ("request/mode", "only ?mode= may be taken out of a target", ("SRF-TRN-12",), mode_is_stripped_alone),
)
