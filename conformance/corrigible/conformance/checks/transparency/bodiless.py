"""Checks of responses without a body: no byte comes between one and the next response on the connection.

A client of HTTP does not look for a body there, so an ordinary exchange cannot show one: it is read as the next answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from corrigible.conformance.checks.support.headers import ASK, JSON
from corrigible.conformance.checks.support.known_error import QUERY
from corrigible.conformance.model.outcome import CouldNotTell
from corrigible.conformance.reference.upstream import Script, answer
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import CASE, HttpRequest
from corrigible.conformance.transport.raw_connection import RawConnection, head
from corrigible.conformance.validators.finding import Finding

from .passing import GET

TIMEOUT: Final = 2.5
_NEXT: Final = b'{"the": "next answer"}'
_ERROR: Final = b'{"error": {"code": "enum", "message": "sort has none of the allowed values.", "param": "sort"}}'


def _headed(status: int, reason: str, body: bytes) -> Script:
    """Return an answer to HEAD: the head of one that has a body."""
    return answer(status, b"", [JSON, ("Content-Length", str(len(body)))], reason=reason)


def _cases() -> Iterator[tuple[str, HttpRequest, Script]]:
    request = replace(QUERY, method="HEAD")
    yield "HEAD of a success", replace(GET, method="HEAD"), _headed(200, "OK", b'{"ok": true}')
    yield "HEAD of an error nobody knows", replace(GET, method="HEAD"), _headed(418, "Teapot", b'{"odd": 1.0}')
    yield "HEAD of a refusal that is known", request, _headed(400, "Bad Request", _ERROR)
    unframed = Script((b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n",))
    yield "HEAD of a refusal without a length", request, unframed
    yield "a 204", replace(GET, method="DELETE"), answer(204, b"", [JSON], reason="No Content")
    yield "a 304", GET, answer(304, b"", [JSON, ("ETag", '"a"')], reason="Not Modified")


def ends_with_its_head(subject: Subject) -> Iterator[Finding]:
    for name, sent, script in _cases():
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


Run = Callable[[Subject], Iterable[Finding]]
RUNS: Final[tuple[tuple[str, str, tuple[str, ...], Run], ...]] = (
    ("no-body/head", "nothing follows a head that is all", ("SRF-TRN-10",), ends_with_its_head),
)
