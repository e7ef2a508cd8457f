"""Tables of responses without feedback, which a proxy passes on unchanged.

Knows: bytes of answers. Does not know: subjects, requirements.
"""

from __future__ import annotations

import base64
import gzip
import zlib
from dataclasses import dataclass, replace
from typing import Final

from corrigible.conformance.checks.support.headers import ASK, JSON
from corrigible.conformance.reference.upstream import Script, answer, chunked
from corrigible.conformance.transport.http1 import HttpRequest

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
