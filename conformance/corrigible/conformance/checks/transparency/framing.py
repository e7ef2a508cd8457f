"""Checks: ambiguous requests and endless heads end at the proxy (SRF-TRN-14, 15).

What reached the upstream is looked at as bytes, and read by the letter of RFC 9112: whoever is behind it may be laxer.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import h11

from corrigible.conformance.reference.upstream import answer
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import CASE, HttpRequest
from corrigible.conformance.transport.raw_connection import RawConnection
from corrigible.conformance.validators.finding import Finding

TIMEOUT: Final = 1.5
"""Seconds in which a refusal comes. Who waits for more instead gets none."""
_TARGET: Final = "/conformance/framing"
_CHUNKED: Final = "Transfer-Encoding: chunked\r\n"
_SECOND: Final = "DELETE /conformance/second HTTP/1.1\r\nHost: a\r\n\r\n"
_FOLD: Final = re.compile(rb"\n[ \t]")
_BARE: Final = re.compile(rb"\r(?!\n)|(?<!\r)\n")

# A name, what stands after the request line, the host, the credentials and the case, and what comes after the head.
AMBIGUOUS: Final[tuple[tuple[str, str, str], ...]] = (
    ("a bare CR in a header", f"X-A: b\r{_CHUNKED}Content-Length: {len(_SECOND)}\r\n", _SECOND),
    ("a bare CR before a name", f"X-A: b\r\n\rContent-Length: {len(_SECOND)}\r\n", _SECOND),
    ("a bare LF that ends a line", f"X-A: b\n{_CHUNKED}Content-Length: {len(_SECOND)}\r\n", _SECOND),
    ("a NUL in a header", "X-A: b\x00c\r\n", ""),
    ("a header that goes on in the next line", f"X-A: b\r\n {_CHUNKED}", f"0\r\n\r\n{_SECOND}"),
    ("a length that goes on in the next line", f"Content-Length:\r\n {len(_SECOND)}\r\n", _SECOND),
    # RFC 9112 section 5.2: "replace each received obs-fold with one or more SP octets prior to interpreting": where it
    # ends is plain then, and a proxy may send on what follows.
    ("a coding that goes on in the next line", "Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n"),
    ("a length and chunks", f"Content-Length: 5\r\n{_CHUNKED}", f"0\r\n\r\n{_SECOND}"),
    ("chunks and a length", f"{_CHUNKED}Content-Length: {5 + len(_SECOND)}\r\n", f"0\r\n\r\n{_SECOND}"),
    ("two lengths", f"Content-Length: 0\r\nContent-Length: {len(_SECOND)}\r\n", _SECOND),
    ("a list of two lengths", f"Content-Length: 0, {len(_SECOND)}\r\n", _SECOND),
    ("a length with a sign", f"Content-Length: +{len(_SECOND)}\r\n", _SECOND),
    ("a length with an underscore", "Content-Length: 1_0\r\n", "0123456789"),
    ("a blank before the colon of a length", f"Content-Length : {len(_SECOND)}\r\n", _SECOND),
    ("a blank before the colon of a coding", "Transfer-Encoding : chunked\r\n", f"0\r\n\r\n{_SECOND}"),
    ("a coding that is none", f"Transfer-Encoding: xchunked\r\nContent-Length: {len(_SECOND)}\r\n", _SECOND),
    (
        "chunked that is not last",
        "Transfer-Encoding: chunked, identity\r\nContent-Length: 0\r\n",
        f"0\r\n\r\n{_SECOND}",
    ),
    ("chunked twice", f"{_CHUNKED}{_CHUNKED}", f"0\r\n\r\n{_SECOND}"),
    ("a chunk without its end of line", _CHUNKED, f"5\r\nhelloXX0\r\n\r\n{_SECOND}"),
    ("a chunk whose line ends with LF alone", _CHUNKED, f"5\nhello\r\n0\r\n\r\n{_SECOND}"),
    ("a bare CR in the extension of a chunk", _CHUNKED, f"5;a\rb\r\nhello\r\n0\r\n\r\n{_SECOND}"),
    ("a size of a chunk in another notation", _CHUNKED, f"0x5\r\nhello\r\n0\r\n\r\n{_SECOND}"),
    ("a size of a chunk with a sign", _CHUNKED, f"+5\r\nhello\r\n0\r\n\r\n{_SECOND}"),
)
LINES: Final[tuple[tuple[str, str, str], ...]] = (
    ("chunks in HTTP/1.0", f"POST {_TARGET} HTTP/1.0\r\n{_CHUNKED}", f"0\r\n\r\n{_SECOND}"),
    ("a bare CR in the request line", f"POST {_TARGET}\rX HTTP/1.1\r\n{_CHUNKED}", f"0\r\n\r\n{_SECOND}"),
    (
        "a first header that is a continuation",
        f"POST {_TARGET} HTTP/1.1\r\n X-A: b\r\n{_CHUNKED}",
        f"0\r\n\r\n{_SECOND}",
    ),
    # Where it ends is plain: a proxy that writes one blank for two may send on what follows.
    ("two blanks in the request line", f"POST {_TARGET}  HTTP/1.1\r\n{_CHUNKED}", "0\r\n\r\n"),
)


def read_in_one_way(subject: Subject) -> Iterator[Finding]:
    for name, lines, after in AMBIGUOUS:
        yield from _send_malformed(subject, name, f"POST {_TARGET} HTTP/1.1\r\n", lines, after)
    for name, start, after in LINES:
        yield from _send_malformed(subject, name, start, "", after)


def _send_malformed(subject: Subject, name: str, start: str, lines: str, after: str) -> Iterator[Finding]:
    case = subject.case()
    subject.suite_upstream.script(
        case, answer(200, b'{"ok": 1.0}', [("Content-Type", "application/json")], reason="OK")
    )
    line, _, first = start.partition("\r\n")
    caller = ": ".join(subject.caller())
    own = f"{first}Host: {subject.wire.host}:{subject.wire.port}\r\n{caller}\r\n{CASE}: {case}\r\n"
    own = f"{own}{lines}\r\n" if not first.startswith(" ") else f"{first}{own.removeprefix(first)}{lines}\r\n"
    with RawConnection(subject.wire, timeout=TIMEOUT) as connection:
        connection.say(f"{line}\r\n{own}{after}".encode("latin-1"))
        connection.has(b"\r\n\r\n")
    for raw in _with(subject, case):
        problem = ambiguity(raw)
        if problem:
            sentence = f"{name}: what could be read in two ways went on to the upstream: {problem}"
            excerpt = raw[:400].decode("latin-1")
            yield Finding(
                "SRF-TRN-14", sentence, "a refusal, or one plain request", excerpt, HttpRequest("POST", _TARGET)
            )


def _with(subject: Subject, case: str) -> list[bytes]:
    """Return what came in on connections that named a case, from the request that did on."""
    mark = f"{CASE}: {case}\r\n".encode()
    received = []
    for message in subject.suite_upstream.heard:
        place = message.lower().find(mark.lower())
        if place >= 0:
            received.append(from_request(message, place))
    return received


def from_request(message: bytes, place: int) -> bytes:
    """Return what a connection heard from the request on that goes on at a place: a body before it may end its line."""
    target = max(message.rfind(_TARGET.encode(), 0, place), 0)
    begin = message.rfind(b"\n", 0, target) + 1
    return message[max(begin, message.rfind(b"POST ", 0, target)) :]


def ambiguity(raw: bytes) -> str:
    """Return why the bytes of a connection are not plain requests one after the other, empty where they are."""
    head = raw.partition(b"\r\n\r\n")[0]
    if _BARE.search(head):
        return "a line ends with CR or LF alone"
    if b"\x00" in head:
        return "there is a NUL"
    if head.split(b"\r\n")[0].count(b" ") != 2:
        return "its request line has not two blanks"
    if _FOLD.search(head):
        return "a header goes on in the next line"
    names = [line.partition(b":")[0].lower() for line in head.split(b"\r\n")[1:]]
    if any(name != name.strip() for name in names):
        return "a name has blanks"
    if b"transfer-encoding" in names and (b"content-length" in names or head.split(b"\r\n")[0].endswith(b"HTTP/1.0")):
        return "it has chunks where others see none"
    if names.count(b"content-length") > 1 or names.count(b"transfer-encoding") > 1:
        return "it is framed twice"
    if b"DELETE /conformance/second" in _outside(raw):
        return "it became two requests"
    return ""


def _outside(raw: bytes) -> bytes:
    """Return what follows the first request, as the letter of RFC 9112 has it; all of it where it is no request."""
    server = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
    server.receive_data(raw)
    try:
        while True:
            event = server.next_event()
            if event is h11.NEED_DATA:
                return b""
            if isinstance(event, h11.EndOfMessage):
                return bytes(server.trailing_data[0])
    except h11.RemoteProtocolError:
        return raw


ENDLESS: Final = 16 << 20
"""Bytes of one head after which somebody should have had enough."""


def heads_end(subject: Subject) -> Iterator[Finding]:
    """A head that goes on and on is refused with 431 or the like, or the connection ends; it is not kept for ever."""
    start = f"GET {_TARGET} HTTP/1.1\r\nHost: {subject.wire.host}:{subject.wire.port}\r\n".encode()
    forms: tuple[tuple[str, bytes, bytes], ...] = (
        ("headers without end", start, b"X-A: " + b"a" * 1017 + b"\r\n"),
        ("a header without end", start + b"X-A: ", b"a" * 1024),
        ("a request line without end", b"GET /", b"a" * 1024),
    )
    for name, first, piece in forms:
        with RawConnection(subject.wire, timeout=TIMEOUT) as connection:
            connection.say(first)
            sent, until = 0, time.monotonic() + 10
            while sent < ENDLESS and connection.open and time.monotonic() < until:
                connection.say(piece * 64)
                sent += 64 * len(piece)
                connection.until(lambda received: bool(received), timeout=0.001)
                if connection.received:
                    break
            connection.until(lambda received: bool(received))
            line = connection.received.split(b"\r\n")[0].decode("latin-1")
            rejected = line.startswith("HTTP/1.1 4") or not connection.open
        if not rejected:
            sentence = f"{name}: {sent >> 20} MiB of it are taken, and nothing is said"
            yield Finding(
                "SRF-TRN-15", sentence, "431, or the end of the connection", line, HttpRequest("GET", _TARGET)
            )
    response = subject.through(HttpRequest("GET", _TARGET), answer(200, b"ok", [], reason="OK"))
    if response.status != 200:
        sentence = "after heads without end a plain request is not answered"
        yield Finding("SRF-TRN-15", sentence, 200, response.error or response.status, HttpRequest("GET", _TARGET))


Run = Callable[[Subject], Iterable[Finding]]
RUNS: Final[tuple[tuple[str, str, tuple[str, ...], Run], ...]] = (
    ("framing/one-way", "what can be read in two ways does not go on", ("SRF-TRN-14",), read_in_one_way),
    ("framing/head", "heads have an end", ("SRF-TRN-15",), heads_end),
)
