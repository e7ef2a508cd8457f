"""Tables of responses and requests that a proxy passes on unchanged.

Responses without feedback arrive as they were, the upstream receives what the client sent.
"""

from __future__ import annotations

import base64
import gzip
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from corrigible.conformance.checks.support.exchange import ASK, JSON
from corrigible.conformance.checks.support.known_error import headers, text
from corrigible.conformance.reference.upstream import Script, answer, chunked
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpRequest
from corrigible.conformance.validators.finding import Finding

GET: Final = HttpRequest("GET", "/conformance/answers/1", (("Accept-Encoding", "gzip, deflate, br, zstd"), ASK))
POST: Final = HttpRequest("POST", "/conformance/answers", (*GET.headers, JSON), b'{"name": "x"}')
HEAD: Final = replace(GET, method="HEAD")

HOSTILE: Final = (
    b'{ "b":1,"a" : 2, "a": 3, "big": 9223372036854775808, "e": 1e400, "f": 1.10, "z": -0.0, '
    b'"s": "\\u0000\\ud800 \\u00e9 \xc3\xa9 \\/", "n": null} \n'
)
"""JSON that does not survive being read and written again."""
_BROTLI: Final = base64.b64decode("iwqAeyJvayI6IHRydWUsICJuIjogMS4wfQM=")
_ZSTD: Final = base64.b64decode("KLUv/SAWsQAAeyJvayI6IHRydWUsICJuIjogMS4wfQ==")


@dataclass(frozen=True, slots=True)
class Case:
    """One answer, and what people call it."""

    name: str
    script: Script
    sent: HttpRequest = GET


def _raw(line: bytes, headers: bytes, body: bytes, *, close: bool = False) -> Script:
    return Script((b"HTTP/1.1 " + line + b"\r\n" + headers + b"\r\n" + body,), close)


STATUS_LINES: Final = (
    *(
        Case(f"a {status}", answer(status, b'{"ok": true}', [JSON], reason=reason), sent)
        for status, reason, sent in (
            (200, "OK", GET),
            (201, "Created", POST),
            (202, "Accepted", POST),
            (203, "Non-Authoritative Information", GET),
            (207, "Multi-Status", GET),
            (226, "IM Used", GET),
            (299, "Nearly Everything", GET),
            (300, "Multiple Choices", GET),
        )
    ),
    Case("a reason phrase of its own", answer(200, b"{}", [JSON], reason="Most Excellent, (really)")),
    Case("no reason phrase", answer(200, b"{}", [JSON], reason="")),
    Case("a reason phrase in Latin-1", answer(200, b"{}", [JSON], reason="d\xe9j\xe0 vu")),
    Case(
        "a redirect",
        answer(307, b"", [("Location", "http://127.0.0.1:1/else%2Fwhere?q=1#f")], reason="Temporary Redirect"),
    ),
    Case("a created thing without a body", answer(201, b"", [("Location", "/x/1")], reason="Created"), POST),
)

HEADERS: Final = (
    Case(
        "headers in an order and a spelling of their own",
        answer(200, b"{}", [("x-b", "1"), JSON, ("X-A", "2"), ("SERVER", "Odd/1.0"), ("x-B", "3")], reason="OK"),
    ),
    Case(
        "cookies",
        answer(
            200,
            b"{}",
            [
                JSON,
                ("Set-Cookie", "a=1; Path=/"),
                ("Set-Cookie", "b=2, c; Expires=Wed, 21 Oct 2026 07:28:00 GMT"),
                ("Set-Cookie", "a=1; Path=/"),
            ],
            reason="OK",
        ),
    ),
    Case(
        "an empty header and one with only commas",
        answer(200, b"{}", [JSON, ("X-Empty", ""), ("X-Commas", ",, ,")], reason="OK"),
    ),
    Case("a header in Latin-1", answer(200, b"{}", [JSON, ("X-Name", "caf\xe9")], reason="OK")),
    Case("two hundred headers", answer(200, b"{}", [JSON, *((f"X-{n:03}", str(n)) for n in range(200))], reason="OK")),
    Case("a header of 7,000 bytes", answer(200, b"{}", [JSON, ("X-Long", "v" * 7000)], reason="OK")),
    Case(
        "headers about bytes and caches",
        answer(
            200,
            HOSTILE,
            [
                JSON,
                ("ETag", '"strong"'),
                ("Digest", "sha-256=AAAA"),
                ("Content-Digest", "sha-256=:AAAA:"),
                ("Content-MD5", "AAAA"),
                ("Vary", "Accept"),
                ("Cache-Control", "max-age=60"),
                ("Signature-Input", 'sig=("content-digest")'),
                ("Alt-Svc", 'h3=":443"; ma=1'),
                ("Strict-Transport-Security", "max-age=1"),
                ("Via", "1.1 before"),
                ("Date", "Wed, 21 Oct 2026 07:28:00 GMT"),
            ],
            reason="OK",
        ),
    ),
)

BODIES: Final = (
    Case("JSON that does not survive being written again", answer(200, HOSTILE, [JSON], reason="OK")),
    Case("an empty body called JSON", answer(200, b"", [JSON], reason="OK")),
    Case("broken JSON", answer(200, b'{"a": 1,', [JSON], reason="OK")),
    Case(
        "every byte there is",
        answer(200, bytes(range(256)) * 4, [("Content-Type", "application/octet-stream")], reason="OK"),
    ),
    Case(
        "text in Shift JIS",
        answer(200, "日本".encode("shift_jis"), [("Content-Type", "text/plain; charset=Shift_JIS")], reason="OK"),
    ),
    Case(
        "JSON in UTF-16",
        answer(200, '{"a": "é"}'.encode("utf-16"), [("Content-Type", "application/json; charset=utf-16")], reason="OK"),
    ),
    Case("JSON after a byte order mark", answer(200, b'\xef\xbb\xbf{"a": 1}', [JSON], reason="OK")),
    Case("a body without a type", answer(200, b'{"a": 1}', [], reason="OK")),
    Case(
        "a success with a text about an error",
        answer(200, b'{"error": {"code": "enum", "param": "sort"}}', [JSON], reason="OK"),
    ),
    Case(
        "a success with a member called recovery_feedback",
        answer(200, b'{"recovery_feedback": {"mine": 1}}', [JSON], reason="OK"),
    ),
)

LARGE: Final = (
    Case(
        "five million bytes",
        answer(200, bytes(range(250)) * 20_000, [("Content-Type", "application/zip")], reason="OK"),
    ),
    Case("a JSON answer of three million bytes", answer(200, b"[" + b"1.0, " * 600_000 + b"1]", [JSON], reason="OK")),
)

CODINGS: Final = (
    Case(
        "gzip",
        answer(
            200, gzip.compress(HOSTILE, mtime=0), [JSON, ("Content-Encoding", "gzip"), ("ETag", '"z"')], reason="OK"
        ),
    ),
    Case("deflate", answer(200, zlib.compress(HOSTILE), [JSON, ("Content-Encoding", "deflate")], reason="OK")),
    Case("brotli", answer(200, _BROTLI, [JSON, ("Content-Encoding", "br")], reason="OK")),
    Case("zstd", answer(200, _ZSTD, [JSON, ("Content-Encoding", "zstd")], reason="OK")),
    Case(
        "gzip twice",
        answer(
            200,
            gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0),
            [JSON, ("Content-Encoding", "gzip, gzip")],
            reason="OK",
        ),
    ),
    Case("a coding nobody knows", answer(200, b"\x00\x01", [JSON, ("Content-Encoding", "x-unheard-of")], reason="OK")),
    Case("gzip that is none", answer(200, b"\x1f\x8b no", [JSON, ("Content-Encoding", "gzip")], reason="OK")),
)

FRAMES: Final = (
    Case("chunks", chunked(200, [HOSTILE[:5], HOSTILE[5:], b"x" * 70_000], [JSON], reason="OK")),
    Case("no chunk at all", chunked(200, [], [JSON], reason="OK")),
    Case("chunks of one byte", chunked(200, [bytes([c]) for c in b'{"a": 1.0}'], [JSON], reason="OK")),
    Case(
        "a body that ends with the connection",
        _raw(b"200 OK", b"Content-Type: text/plain\r\nConnection: close\r\n", b"to the end", close=True),
    ),
    Case("HTTP/1.0", Script((b"HTTP/1.0 200 OK\r\nServer: old\r\n\r\nto the end",), close=True)),
)

TRAILERS: Final = (
    Case(
        "trailers",
        chunked(
            200,
            [b'{"a"', b": 1}"],
            [JSON, ("Trailer", "X-Sum, Expires")],
            trailers=[("X-Sum", "abc"), ("Expires", "0"), ("x-sum", "d")],
            reason="OK",
        ),
    ),
    Case(
        "trailers after a stream",
        chunked(
            200,
            [b"a" * 100_000],
            [("Content-Type", "application/octet-stream")],
            trailers=[("X-Sum", "1")],
            reason="OK",
        ),
    ),
    Case(
        "trailers after an error nobody knows",
        chunked(418, [b'{"a": 1.0}'], [JSON], trailers=[("X-Sum", "1")], reason="Teapot"),
    ),
)

ERROR_BODIES: Final = (
    Case("plain text", answer(400, b"no such thing", [("Content-Type", "text/plain")], reason="Bad Request")),
    Case(
        "text in Latin-1",
        answer(400, b"d\xe9sol\xe9", [("Content-Type", "text/plain; charset=iso-8859-1")], reason="Bad Request"),
    ),
    Case(
        "a page",
        answer(502, b"<html><h1>Bad gateway</h1></html>", [("Content-Type", "text/html")], reason="Bad Gateway"),
    ),
    Case("nothing", answer(500, b"", [JSON], reason="Internal Server Error")),
    Case("no type", answer(400, b'{"odd": 1.0}', [], reason="Bad Request")),
    Case("an array", answer(422, b'[1, 2,  3, {"a": 1.0}]', [JSON], reason="Unprocessable Entity")),
    Case("a string", answer(422, b'"no"', [JSON], reason="Unprocessable Entity")),
    Case("a number", answer(422, b"1.0e2", [JSON], reason="Unprocessable Entity")),
    Case("null", answer(422, b"null", [JSON], reason="Unprocessable Entity")),
    Case("an empty object", answer(400, b"{ }", [JSON], reason="Bad Request")),
    Case(
        "members nobody knows",
        answer(418, b'{"weird": {"z": 1, "n": 1.0, "n": 2}, "x": 1E+2}', [JSON], reason="Teapot"),
    ),
    Case("numbers no machine holds", answer(418, HOSTILE, [JSON], reason="Teapot")),
    Case("NaN and Infinity", answer(418, b'{"a": NaN, "b": -Infinity}', [JSON], reason="Teapot")),
    Case("a byte order mark", answer(418, b'\xef\xbb\xbf{"a": 1.0}', [JSON], reason="Teapot")),
    Case("bytes that are no UTF-8", answer(418, b'{"a": "\xff\xfe"}', [JSON], reason="Teapot")),
    Case(
        "UTF-16",
        answer(
            418, '{"a": "é"}'.encode("utf-16"), [("Content-Type", "application/json; charset=utf-16")], reason="Teapot"
        ),
    ),
    Case("JSON that breaks off", answer(418, b'{"a": {"b": 1', [JSON], reason="Teapot")),
    Case("a comma too many", answer(418, b'{"a": 1,}', [JSON], reason="Teapot")),
    Case("two documents", answer(418, b'{"a": 1}\n{"b": 2}\n', [JSON], reason="Teapot")),
    Case("twenty thousand levels", answer(418, b'{"a":' * 20_000 + b"1" + b"}" * 20_000, [JSON], reason="Teapot")),
)

ERROR_LARGE: Final = (
    Case("three million bytes", answer(418, b'{"a": "' + b"a" * 3_000_000 + b'"}', [JSON], reason="Teapot")),
    Case(
        "ten million bytes in ten thousand",
        answer(
            418,
            gzip.compress(b'{"a": "' + b"a" * 10_000_000 + b'"}', mtime=0),
            [JSON, ("Content-Encoding", "gzip")],
            reason="Teapot",
        ),
    ),
)

ERROR_CODINGS: Final = (
    Case(
        "gzip",
        answer(418, gzip.compress(b'{"a": 1.0}', mtime=0), [JSON, ("Content-Encoding", "gzip")], reason="Teapot"),
    ),
    Case("gzip that is none", answer(418, b"\x1f\x8b no", [JSON, ("Content-Encoding", "gzip")], reason="Teapot")),
    Case(
        "gzip that breaks off",
        answer(418, gzip.compress(HOSTILE, mtime=0)[:-6], [JSON, ("Content-Encoding", "gzip")], reason="Teapot"),
    ),
    Case(
        "a coding nobody knows", answer(418, b"\x00\x01", [JSON, ("Content-Encoding", "x-unheard-of")], reason="Teapot")
    ),
    Case(
        "two codings",
        answer(
            418,
            gzip.compress(zlib.compress(b"{}"), mtime=0),
            [JSON, ("Content-Encoding", "deflate, gzip")],
            reason="Teapot",
        ),
    ),
    Case("chunks", chunked(418, [b'{"a"', b": 1.0}"], [JSON], reason="Teapot")),
)

ERROR_HEADS: Final = (
    *(
        Case(f"a {status}", answer(status, b'{"odd": 1.0}', [JSON, ("x-id", "1"), ("X-Id", "2")], reason=reason), POST)
        for status, reason in (
            (400, "Bad Request"),
            (402, "Payment Required"),
            (405, "No, Thanks"),
            (409, ""),
            (418, "I'm a teapot"),
            (451, "Unavailable For Legal Reasons"),
            (499, "Odd"),
            (500, "Internal Server Error"),
            (511, "Network Authentication Required"),
            (599, "Odder"),
        )
    ),
    Case(
        "headers about bytes and sessions",
        answer(
            401,
            b'{"odd": 1.0}',
            [
                JSON,
                ("WWW-Authenticate", 'Bearer realm="x", error="invalid_token"'),
                ("www-authenticate", "Basic"),
                ("Set-Cookie", "a=1"),
                ("Set-Cookie", "b=2"),
                ("ETag", '"e"'),
                ("Digest", "sha-256=AAAA"),
                ("Content-Length", "12"),
                ("Vary", "Origin"),
            ],
            reason="Unauthorized",
        ),
    ),
)

WITHOUT_BODY: Final = (
    Case(
        "the head of a success", answer(200, b"", [JSON, ("Content-Length", "120"), ("ETag", '"a"')], reason="OK"), HEAD
    ),
    Case("the head of an error", answer(404, b"", [JSON, ("Content-Length", "120")], reason="Not Found"), HEAD),
    Case(
        "the head of a chunked error",
        answer(400, b"", [JSON, ("Transfer-Encoding", "chunked")], reason="Bad Request"),
        HEAD,
    ),
    Case(
        "a head without a length",
        Script((b"HTTP/1.1 422 Unprocessable Entity\r\nContent-Type: application/json\r\n\r\n",)),
        HEAD,
    ),
    Case("a 204", answer(204, b"", [("X-Request-Id", "1")], reason="No Content"), replace(GET, method="DELETE")),
    Case("a 204 that is called JSON", answer(204, b"", [JSON, ("ETag", '"a"')], reason="No Content"), POST),
    Case("a 205", answer(205, b"", [("X-Request-Id", "1")], reason="Reset Content"), POST),
    Case(
        "a part",
        answer(206, b'{"er', [JSON, ("Content-Range", "bytes 0-3/10"), ("ETag", '"a"')], reason="Partial Content"),
        GET.adding(("Range", "bytes=0-3")),
    ),
    Case(
        "several parts",
        answer(
            206,
            b"--x\r\nContent-Range: bytes 0-0/2\r\n\r\n{\r\n--x--\r\n",
            [("Content-Type", "multipart/byteranges; boundary=x")],
            reason="Partial Content",
        ),
        GET.adding(("Range", "bytes=0-0,1-1")),
    ),
    Case(
        "a 304",
        answer(304, b"", [("ETag", '"a"'), ("Cache-Control", "max-age=1")], reason="Not Modified"),
        GET.adding(("If-None-Match", '"a"')),
    ),
    Case(
        "a 304 that gives a length",
        Script((b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 120\r\n\r\n',)),
        GET,
    ),
)


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
REQUEST_BODIES: Final[tuple[tuple[str, HttpRequest], ...]] = (
    (
        "every byte there is",
        HttpRequest("POST", _PATH, (("Content-Type", "application/octet-stream"),), bytes(range(256))),
    ),
    (
        "JSON that does not survive being written again",
        HttpRequest("POST", _PATH, (JSON,), b'{ "n":1.0, "n": 1e400,"s":"\\u00e9" } '),
    ),
    ("broken JSON", HttpRequest("PUT", _PATH, (JSON,), b'{"a": ')),
    (
        "a form",
        HttpRequest(
            "POST", _PATH, (("Content-Type", "application/x-www-form-urlencoded"),), b"a[b]=1&a%5Bc%5D=+%20&&x"
        ),
    ),
    ("gzip", HttpRequest("POST", _PATH, (JSON, ("Content-Encoding", "gzip")), gzip.compress(b"{}", mtime=0))),
    ("nothing, said with a length", HttpRequest("POST", _PATH, (("Content-Length", "0"),))),
    ("chunks", HttpRequest("POST", _PATH, (JSON, ("Transfer-Encoding", "chunked")), b'{"a": 1.0}')),
    ("a GET with a body", HttpRequest("GET", _PATH, (JSON,), b'{"query": 1.0}')),
    ("a DELETE with a body", HttpRequest("DELETE", _PATH, (JSON,), b'{"ids": [1]}')),
)

LARGE_REQUESTS: Final[tuple[tuple[str, HttpRequest], ...]] = (
    ("three million bytes", HttpRequest("POST", _PATH, (("Content-Type", "text/plain"),), b"0123456789" * 300_000)),
    (
        "three million bytes in chunks",
        HttpRequest("POST", _PATH, (("Transfer-Encoding", "chunked"),), b"0123456789" * 300_000),
    ),
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


def bodies_kept(bodies: tuple[tuple[str, HttpRequest], ...], subject: Subject) -> Iterator[Finding]:
    for name, sent in bodies:
        yield from _forwarding_findings(subject, name, sent)


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
    ("request/body", "bodies reach the upstream to the byte", ("SRF-TRN-12",), partial(bodies_kept, REQUEST_BODIES)),
    (
        "request/large",
        "large bodies reach the upstream to the byte",
        ("SRF-TRN-12",),
        partial(bodies_kept, LARGE_REQUESTS),
    ),
    ("request/own-mode", "a ?mode= of the API's own stays", ("SRF-TRN-12",), own_mode_stays),
    ("request/mode", "only ?mode= may be taken out of a target", ("SRF-TRN-12",), mode_is_stripped_alone),
)
