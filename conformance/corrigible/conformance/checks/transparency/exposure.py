"""Checks of exposure: one call delays no other, and a request has only one reading (SRF-TRN-13 to 15).

What reached the upstream is looked at as bytes, and read by the letter of RFC 9112: whoever is behind it may be laxer.
"""

from __future__ import annotations

import gzip
import json
import re
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import h11

from corrigible.conformance.checks.support import known_error
from corrigible.conformance.checks.support.exchange import (
    ASK,
    JSON,
    answering_for_upstream,
    is_trial,
    listed,
)
from corrigible.conformance.reference.upstream import Answering, Received, Script, answer
from corrigible.conformance.suite.subject import Pair, Subject
from corrigible.conformance.transport.http1 import CASE, HttpClient, HttpRequest, RawConnection
from corrigible.conformance.validators.finding import Finding
from corrigible.schema.exchange import Json

TIMEOUT: Final = 1.5
"""Seconds in which a refusal comes. Who waits for more instead gets none."""
_TARGET: Final = "/conformance/framing"
_FOLD: Final = re.compile(rb"\n[ \t]")
_BARE: Final = re.compile(rb"\r(?!\n)|(?<!\r)\n")


def read_in_one_way(subject: Subject) -> Iterator[Finding]:
    for entry in listed("framing", "ambiguous"):
        yield from _send_malformed(subject, entry["name"], entry["start"], entry.get("lines", ""), entry["after"])


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


_MIB: Final = 1 << 20
_SMALL: Final = HttpRequest("GET", "/v1/items/tea", (ASK,))


def _order(**more: Any) -> dict[str, Any]:
    whole: Any = known_error.ORDER
    return {**whole, **more}


def _deep(levels: int, inner: str = "1") -> bytes:
    return ('{"a":' * levels + inner + "}" * levels).encode()


def _filters(levels: int) -> Any:
    """Return conditions within conditions: each level fits two branches of a description until its end is seen."""
    condition: Any = {"field": "status", "is": 5}
    for _ in range(levels):
        condition = {"all": [condition, condition]} if levels <= 12 else {"all": [condition]}
    return condition


def bodies() -> Mapping[str, Callable[[], bytes]]:
    """Return the worst bodies that are known, by name, made when they are needed."""
    return {
        "three thousand members that nobody knows": lambda: _json(_order(**{f"member_{n}": n for n in range(3000)})),
        "a MiB of members that nobody knows": lambda: _json(_order(**{f"m{n:06}": n for n in range(55_000)})),
        "members that are nearly known": lambda: _json(_order(**{f"curency{n}": "eur" for n in range(20_000)})),
        "a MiB of elements that are all wrong": lambda: _json(_order(lines=[{"sku": "", "quantity": "x"}] * 30_000)),
        "a MiB of elements, the same twice": lambda: _json(
            _order(lines=[{"sku": f"s{n // 2}"} for n in range(60_000)])
        ),
        "ten thousand levels": lambda: _json(_order())[:-1] + b',"deep":' + _deep(10_000) + b"}",
        "a text of a MiB": lambda: _json(_order(note="x" * (_MIB - 300))),
        "a MiB of one name again and again": lambda: b"{" + b",".join([b'"currency":"usdd"'] * 55_000) + b"}",
        "conditions in conditions": lambda: _json({"where": _filters(40)}),
        "conditions that double with each level": lambda: _json({"where": _filters(10)}),
    }


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


@contextmanager
def _small_calls(subject: Subject) -> Iterator[known_error.SmallCalls]:
    """Make small calls all the while: a success, a refusal that is explained, and one straight to the upstream."""
    case, refused = subject.case(), known_error.native(subject)
    subject.suite_upstream.script(case, known_error.as_script(refused), target=known_error.KNOWN.target)
    target, direct = HttpClient(subject.wire.url), HttpClient(subject.suite_upstream.url)
    success, refusal = _SMALL.adding(subject.caller()), known_error.KNOWN.adding((CASE, case))

    def call(noted: known_error.SmallCalls) -> None:
        for name, client, request, status in (
            ("a success", target, success, 200),
            ("a refusal", target, refusal.adding(subject.caller()), refused.status),
            (known_error.STRAIGHT, direct, success, 200),
        ):
            response = client.send(request, timeout=known_error.LONGEST)
            noted.note(name, response.seconds, response.error or str(response.status), str(status))

    with known_error.small_calls(call) as noted:
        yield noted


def bodies_stop_nobody(subject: Subject) -> Iterator[Finding]:
    native_response = known_error.native(subject)
    for name, make_body in bodies().items():
        target = "/v1/orders/search" if name.startswith("conditions") else known_error.KNOWN.target
        request = HttpRequest("POST", target, (JSON, ASK), make_body())

        def measure(request: HttpRequest = request) -> tuple[known_error.SmallCalls, Pair]:
            with _small_calls(subject) as noted:
                return noted, subject.both(request, known_error.as_script(native_response), timeout=known_error.LONGEST)

        noted, pair = known_error.at_its_best(measure)
        yield from _answered(f"a body with {name}", pair, request)
        yield from _held_up(f"a body with {name}", noted, request)


def _bomb() -> bytes:
    packer = zlib.compressobj(1, wbits=31)
    parts = [packer.compress(b'{"error": {"code": "enum", "param": "currency", "message": "')]
    parts += [packer.compress(b"a" * _MIB) for _ in range(100)]
    return b"".join([*parts, packer.flush()])


def bombs_stop_nobody(subject: Subject) -> Iterator[Finding]:
    """Answers, look-ups and requests of a few kilobytes that unpack to very much."""
    bomb = _bomb()
    twice = gzip.compress(bomb, mtime=0)
    native_response = known_error.native(subject)
    coded = [header for header in native_response.headers if header[0].lower() != "content-length"]
    usual = subject.suite_upstream.api
    forms: tuple[tuple[str, HttpRequest, Script | Answering, Script | None], ...] = (
        (
            "an answer that unpacks to 100 MiB",
            known_error.KNOWN,
            answer(native_response.status, bomb, [*coded, ("Content-Encoding", "gzip")], reason=native_response.reason),
            None,
        ),
        (
            "an answer that unpacks twice to 100 MiB",
            known_error.KNOWN,
            answer(
                native_response.status,
                twice,
                [*coded, ("Content-Encoding", "gzip, gzip")],
                reason=native_response.reason,
            ),
            None,
        ),
        (
            "a request that unpacks to 100 MiB",
            HttpRequest(
                "POST", known_error.KNOWN.target, (*known_error.KNOWN.headers, ("Content-Encoding", "gzip")), bomb
            ),
            known_error.as_script(native_response),
            None,
        ),
        (
            "look-ups whose answers unpack to 100 MiB",
            known_error.NEEDS_A_LOOK,
            usual,
            answer(200, twice, [JSON, ("Content-Encoding", "gzip, gzip")], reason="OK"),
        ),
    )
    for name, sent, script, looked in forms:

        def says(received: Received, looked: Script | None = looked) -> Script | None:
            is_own = received.sent.method == "GET" and received.sent.target != _SMALL.target
            return looked if is_own or is_trial(received.sent) else None

        def measure_unpacking(
            says: Callable[[Received], Script | None] = says,
            sent: HttpRequest = sent,
            script: Script | Answering = script,
        ) -> tuple[known_error.SmallCalls, Pair]:
            with answering_for_upstream(subject, says), _small_calls(subject) as noted:
                return noted, subject.both(sent, script, timeout=known_error.LONGEST)

        noted, pair = known_error.at_its_best(measure_unpacking)
        yield from _answered(name, pair, sent)
        yield from _held_up(name, noted, sent)


def _answered(name: str, pair: Pair, request: HttpRequest) -> Iterator[Finding]:
    short = HttpRequest(request.method, request.target, request.headers)
    for difference in known_error.answer_differences(pair.direct, pair.through, annotated=True):
        yield difference.finding("SRF-TRN-13", short, name)
    if pair.through.status == pair.direct.status and pair.through.body != pair.direct.body:
        for lack in known_error.native_differences(pair):
            yield lack.finding("SRF-TRN-13", short, name)


def _held_up(name: str, noted: known_error.SmallCalls, request: HttpRequest) -> Iterator[Finding]:
    short = HttpRequest(request.method, request.target, request.headers)

    def finding(sentence: str, expected: Json, actual: Json) -> Finding:
        return Finding("SRF-TRN-13", sentence, expected, actual, short)

    return noted.findings(f"has {name}", finding)
