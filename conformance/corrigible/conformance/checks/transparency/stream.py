"""Checks: streams, upgrades, interim responses and several exchanges on a connection pass as they happen.

The upstream says a piece and waits until somebody has seen it: whoever holds it back shows at once. Of responses
without a body, no byte comes between one and the next on the connection: an ordinary exchange cannot show one, since a
client of HTTP does not look for a body there and reads it as the next answer.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Final

from corrigible.conformance.checks.support.exchange import ASK, JSON, as_bytes, cases, listed
from corrigible.conformance.checks.transparency.passing import GET
from corrigible.conformance.model.outcome import CouldNotTell
from corrigible.conformance.reference.upstream import Echo, Hear, Part, Script, Wait, answer
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import CASE, Headers, HttpRequest, RawConnection, head
from corrigible.conformance.validators.finding import Finding

TIMEOUT: Final = 4.0
_NEXT: Final = b'{"the": "next answer"}'


def ends_with_its_head(subject: Subject) -> Iterator[Finding]:
    for name, sent, script in cases("no-body/head"):
        first, second = subject.case(), subject.case()
        subject.suite_upstream.script(first, script)
        subject.suite_upstream.script(second, answer(200, _NEXT, [JSON], reason="OK"))
        with RawConnection(subject.wire, timeout=TIMEOUT) as connection:
            connection.say(_line(subject, sent, first))
            if not connection.has(b"\r\n\r\n"):
                raise CouldNotTell(f"{name}: there was no answer")
            connection.say(_line(subject, GET, second))
            connection.has(_NEXT)
            rest = connection.received.partition(b"\r\n\r\n")[2]
        if rest and not rest.startswith(b"HTTP/1.1 "):
            sentence = f"{name} is answered with a body: a client reads it as the next answer"
            yield Finding("SRF-TRN-10", sentence, "nothing after its head", rest[:60].decode("latin-1"), sent)


def _line(subject: Subject, request: HttpRequest, case: str) -> bytes:
    authority = ("Host", f"{subject.wire.host}:{subject.wire.port}")
    return head(request.method, request.target, authority, ASK, subject.caller(), (CASE, case))


FIRST: Final = b"data: first\n\n"
SECOND: Final = b"data: second\n\n"
_CHUNKED: Final = "Transfer-Encoding: chunked\r\n"
_LENGTH: Final = 3 << 20


def streams_flow(subject: Subject) -> Iterator[Finding]:
    for entry in listed("framing", "streams"):
        name, start, seen_event = entry["name"], entry["head"], threading.Event()
        first, second, coded = as_bytes(entry["first"]), as_bytes(entry["second"]), "chunked" in start
        parts: tuple[Part, ...] = (
            start.encode() + _piece(first, coded=coded),
            Wait(seen_event, TIMEOUT + 0.5),
            _piece(second, coded=coded) + (b"0\r\n\r\n" if coded else b""),
        )
        case = subject.case()
        subject.suite_upstream.script(case, Script(parts, close=True))
        with RawConnection(subject.wire) as connection:
            connection.say(head(*_upgrade_request(subject, case)))
            arrived = connection.has(FIRST, timeout=TIMEOUT)
            seen_event.set()
            if not arrived:
                sentence = f"{name} is held back: its first piece did not arrive before its second was sent"
                yield Finding("SRF-TRN-09", sentence, f"the first piece within {TIMEOUT} s", "nothing", GET)
            elif not connection.has(SECOND):
                yield Finding("SRF-TRN-09", f"{name} stops after its first piece", "both pieces", "one", GET)


def both_ways_flow(subject: Subject) -> Iterator[Finding]:
    """A request that is answered while it is still being sent: neither end waits for the other's last word."""
    chunk = b"5\r\nhello\r\n"
    forms: tuple[tuple[str, tuple[str, str], bytes, bytes], ...] = (
        ("chunks", ("Transfer-Encoding", "chunked"), chunk, b"0\r\n\r\n"),
        ("a length", ("Content-Length", "5"), b"hello", b""),
        ("a length that is long", ("Content-Length", str(_LENGTH)), b"hello", b"x" * (_LENGTH - 5)),
    )
    start = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n{_CHUNKED}\r\n".encode()
    for name, framed, first, rest in forms:
        case = subject.case()
        parts = (start + _piece(FIRST, coded=True), Hear(5), _piece(SECOND, coded=True) + b"0\r\n\r\n")
        subject.suite_upstream.script(case, Script(parts, early=True))
        with RawConnection(subject.wire) as connection:
            _, target, *headers = _upgrade_request(subject, case)
            connection.say(head("POST", target, *headers, framed))
            request = HttpRequest("POST", target, (framed,), b"hello")
            if not connection.has(FIRST, timeout=TIMEOUT):
                sentence = f"a request with {name} is held back: what the upstream says to its head does not arrive"
                yield Finding("SRF-TRN-09", sentence, f"the first piece within {TIMEOUT} s", "nothing", request)
                continue
            connection.say(first)
            if not connection.has(SECOND, timeout=TIMEOUT):
                sentence = f"a request with {name} is held back: the upstream does not get what was sent of its body"
                yield Finding("SRF-TRN-09", sentence, "the answer to it", "nothing", request)
            connection.say(rest)


def upgrades_pass(subject: Subject) -> Iterator[Finding]:
    """After a 101 the connection belongs to its two ends, in both directions, whatever the protocol."""
    websocket = (
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    )
    agreed = "Upgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
    odd = b"\x00\xffhello\r\n"
    forms: tuple[tuple[str, Headers, str, tuple[Part, ...], bytes, bytes], ...] = (
        (
            "a WebSocket",
            websocket,
            agreed,
            (b"\x81\x05first", Hear(11), b"\x81\x06second"),
            b"\x81\x85\x00\x00\x00\x00hello",
            b"\x81\x05first\x81\x06second",
        ),
        ("a protocol of somebody's own", (("Upgrade", "odd/1"),), "Upgrade: odd/1\r\n", (Echo(),), odd, odd),
    )
    for name, fields, status_line, parts, sent_bytes, expected in forms:
        case = subject.case()
        start = f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n{status_line}\r\n".encode()
        subject.suite_upstream.script(case, Script((start, *parts)))
        with RawConnection(subject.wire) as connection:
            method, target, *headers = _upgrade_request(subject, case, keep=True)
            connection.say(head(method, target, *headers, ("Connection", "Upgrade"), *fields))
            if not connection.has(b"\r\n\r\n") or not connection.received.startswith(b"HTTP/1.1 101"):
                line = connection.received.split(b"\r\n")[0].decode("latin-1")
                yield Finding(
                    "SRF-TRN-09", f"an upgrade to {name} does not pass", "HTTP/1.1 101", line, _as_request(fields)
                )
                continue
            connection.say(sent_bytes)
            if not connection.has(expected, timeout=TIMEOUT):
                sentence = f"after an upgrade to {name} what one end says does not reach the other"
                yield Finding(
                    "SRF-TRN-09", sentence, repr(expected), repr(connection.received[-40:]), _as_request(fields)
                )


def hints_arrive(subject: Subject) -> Iterator[Finding]:
    """RFC 9110, 15.2: a proxy MUST forward 1xx responses unless it asked for them itself."""
    case = subject.case()
    final = answer(200, b'{"ok": 1.0}', [("Content-Type", "application/json")], reason="OK").parts
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
    subject.suite_upstream.script(case, Script((b"HTTP/1.1 102 Processing\r\n\r\n", hints, *final)))
    response = subject.wire.send(GET.adding(subject.caller(), (CASE, case)))
    if response.status != 200 or response.error is not None or response.body != b'{"ok": 1.0}':
        sentence = "an interim answer (102 or 103) is taken for the final one, or breaks it"
        yield Finding(
            "SRF-TRN-01",
            sentence,
            '200 {"ok": 1.0}',
            response.error or f"{response.status} {response.body[:40]!r}",
            GET,
        )
    elif list(response.informational) != [102, 103]:
        yield Finding(
            "SRF-TRN-01", "interim answers (102, 103) do not arrive", [102, 103], list(response.informational), GET
        )


def expectations_are_met(subject: Subject) -> Iterator[Finding]:
    """A client that waits for its 100 gets it; an upstream that refuses before the body is sent is heard."""
    case = subject.case()
    subject.suite_upstream.script(
        case, answer(201, b'{"ok": 1.0}', [("Content-Type", "application/json")], reason="Created")
    )
    request = HttpRequest("POST", GET.target, (("Expect", "100-continue"), ("Content-Type", "text/plain")), b"hello")
    with RawConnection(subject.wire) as connection:
        _, target, *headers = _upgrade_request(subject, case)
        connection.say(head("POST", target, *headers, *request.headers, ("Content-Length", "5")))
        if not connection.has(b"\r\n\r\n", timeout=TIMEOUT) or not connection.received.startswith(b"HTTP/1.1 100"):
            line = connection.received.split(b"\r\n")[0].decode("latin-1")
            sentence = "a client that asks with Expect: 100-continue and waits gets no 100"
            yield Finding("SRF-TRN-12", sentence, "HTTP/1.1 100 Continue", line or "nothing", request)
            return
        connection.say(b"hello")
        connection.has(b'{"ok": 1.0}')
        if b"HTTP/1.1 201 " not in connection.received:
            sentence = "after its 100 the client's request is not answered"
            yield Finding("SRF-TRN-12", sentence, "HTTP/1.1 201", connection.received[-60:].decode("latin-1"), request)
    received = subject.suite_upstream.received(case)
    if [received.sent.body for received in received] != [b"hello"]:
        sentence = "the body that was sent after a 100 did not reach the upstream"
        yield Finding(
            "SRF-TRN-12", sentence, "hello", [received.sent.body.decode("latin-1") for received in received], request
        )


def expectations_arrive(subject: Subject) -> Iterator[Finding]:
    """The upstream hears of an expectation, and its refusal comes before the body was sent."""
    case = subject.case()
    response = b"HTTP/1.1 413 Too Large\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"
    subject.suite_upstream.script(case, Script((response,), early=True))
    request = HttpRequest("POST", GET.target, (("Expect", "100-continue"), ("Content-Type", "text/plain")), b"hello")
    with RawConnection(subject.wire) as connection:
        _, target, *headers = _upgrade_request(subject, case)
        connection.say(head("POST", target, *headers, *request.headers, ("Content-Length", "5")))
        connection.has(b"HTTP/1.1 413", timeout=TIMEOUT)
        line = connection.received.split(b"\r\n")[0].decode("latin-1")
    received = subject.suite_upstream.received(case)
    if not received or received[0].sent.header("expect") != "100-continue":
        sentence = "a client's Expect: 100-continue does not reach the upstream"
        yield Finding("SRF-TRN-12", sentence, "100-continue", received[0].sent.header("expect") if received else None)
    elif line != "HTTP/1.1 413 Too Large":
        sentence = "an upstream refuses before the body is sent, and the client that waits does not hear of it"
        yield Finding("SRF-TRN-12", sentence, "HTTP/1.1 413 Too Large", line or "nothing", request)


def connections_last(subject: Subject) -> Iterator[Finding]:
    """Several exchanges on one connection, one by one and without waiting: each answer to its own request, in order."""
    bodies = [b"the first", b"the second", b"the third", b"the fourth"]
    statuses = (200, 418, 200, 404)
    for name, at_once in (("one after the other", False), ("without waiting for answers", True)):
        cases = [subject.case() for _ in bodies]
        for case, status, body in zip(cases, statuses, bodies, strict=True):
            subject.suite_upstream.script(case, answer(status, body, [("Content-Type", "text/plain")], reason="Said"))
        requests = [head(*_upgrade_request(subject, case, keep=True)) for case in cases]
        with RawConnection(subject.wire) as connection:
            if at_once:
                connection.say(b"".join(requests))
            for request, body in zip(requests, bodies, strict=True):
                if not at_once:
                    connection.say(request)
                if not connection.has(body, timeout=TIMEOUT):
                    break
        places = [connection.received.find(body) for body in bodies]
        if -1 in places or places != sorted(places) or connection.received.count(b"HTTP/1.1 ") != len(bodies):
            actual = f"{connection.received.count(b'HTTP/1.1 ')} answers, bodies at {places}"
            sentence = f"four requests on one connection, {name}, do not get their four answers in order"
            yield Finding("SRF-TRN-01", sentence, "4 answers in the order of the requests", actual, GET)


def _upgrade_request(
    subject: Subject, case: str, *, keep: bool = False
) -> tuple[str, str, *tuple[tuple[str, str], ...]]:
    close = () if keep else (("Connection", "close"),)
    authority = f"{subject.wire.host}:{subject.wire.port}"
    return ("GET", GET.target, ("Host", authority), ASK, subject.caller(), (CASE, case), *close)


def _piece(data: bytes, *, coded: bool) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data) if coded else data


def _as_request(headers: tuple[tuple[str, str], ...]) -> HttpRequest:
    return HttpRequest("GET", GET.target, (("Connection", "Upgrade"), *headers))
