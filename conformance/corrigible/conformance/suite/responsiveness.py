"""Finds out once whether a subject accepts connections without answering, so that not every check waits for it.

Knows: one plain question in HTTP/1.1 and the first frames of HTTP/2. Does not know: checks, outcomes, reports.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Final

from corrigible.conformance.transport.http1 import HttpClient, HttpRequest
from corrigible.conformance.transport.raw_connection import connected

from .subject import Subject

TIMEOUT: Final = 5.0
"""Seconds in which a plain question has to be answered."""
_QUESTION: Final = HttpRequest("GET", "/conformance/silence", (("Connection", "close"),))
_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"


def holding(subject: Subject, *, timeout: float | None = None) -> str | None:
    """Return how a subject holds connections, None where it answers, or refuses them."""
    timeout = TIMEOUT if timeout is None else timeout
    if subject.grpc is not None:
        return _over_http2(subject.grpc, timeout)
    if subject.target is None:
        return None
    response = HttpClient(subject.target.url).send(_QUESTION, timeout=timeout)
    if response.error is None or "timed out" not in response.error:
        return None
    if response.status == 0:
        return f"the subject takes connections and holds them: a plain GET had no answer after {timeout:g} s"
    return f"the subject does not end its answers: the one to a plain GET had no end after {timeout:g} s"


def _over_http2(address: str, timeout: float) -> str | None:
    host, _, port = address.rpartition(":")
    until = time.monotonic() + timeout
    with suppress(ConnectionError):
        try:
            with connected((host.strip("[]"), int(port)), timeout) as connection:
                connection.sendall(_PREFACE)
                connection.settimeout(max(0.01, until - time.monotonic()))
                connection.recv(1)
        except TimeoutError:
            return f"the subject takes connections and holds them: HTTP/2 had no first frame after {timeout:g} s"
    return None
