"""What a proxy is exposed to: each fault breaks the requirement that it is about and no other."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from corrigible.conformance.checks.transparency import exposure
from corrigible.conformance.checks.transparency.exposure import ambiguity, from_request
from corrigible.conformance.model.outcome import NotApplicable
from corrigible.conformance.reference.api import Shop
from corrigible.conformance.reference.upstream import Upstream
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.transport.http1 import HttpClient
from corrigible.conformance.validators.finding import Finding
from tests._support.rows import rows

from .faulty import Fault, Request, relay
from .made import checks_of, told
from .stand_in import shop_proxied

CHECKS = checks_of("exposure/")

BY_NAME = {check.id: check for check in CHECKS}


@pytest.fixture(scope="module")
def conforming() -> Iterator[Subject]:
    with shop_proxied() as subject:
        yield subject


def found(check: Check, subject: Subject) -> list[Finding]:
    out: list[Finding] = []
    with suppress(NotApplicable):
        out.extend(told(check.run(subject)))
    assert {one.requirement for one in out} <= set(check.requirements)
    return out


def test_who_only_hands_on_hands_on_what_can_be_read_in_two_ways() -> None:
    with Upstream(Shop()) as upstream, relay(upstream.port, Fault()) as port:
        subject = Subject("proxy", "http-json", HttpClient(f"http://127.0.0.1:{port}"), upstream=upstream)
        by_requirement = {name: found(BY_NAME[f"exposure/framing/{name}"], subject) for name in ("one-way", "head")}
    assert {one.requirement for one in by_requirement["one-way"]} == {"SRF-TRN-14"}
    assert len(by_requirement["one-way"]) > 10
    assert {one.requirement for one in by_requirement["head"]} == {"SRF-TRN-15"}


@pytest.mark.nightly
def test_who_does_one_thing_at_a_time_holds_others_up(conforming: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    one_at_a_time = threading.Lock()

    def slow(request: Request) -> Request:
        with one_at_a_time:
            time.sleep(3 if len(request.body) > 30_000 else 0)
        return request

    name = "three thousand members that nobody knows"
    worst = exposure.bodies()[name]
    monkeypatch.setattr(exposure, "bodies", lambda: {name: worst})
    with relay(conforming.wire.port, Fault(request=slow)) as port:
        subject = replace(conforming, target=HttpClient(f"http://127.0.0.1:{port}"))
        said = found(BY_NAME["exposure/others/body"], subject)
    assert {one.requirement for one in said} == {"SRF-TRN-13"}
    assert all(name in one.message and "takes others " in one.message for one in said)


HEAD = b"POST /x HTTP/1.1\r\nHost: a\r\n"
AMBIGUOUS = {
    "a bare CR": HEAD + b"X: a\rb\r\n\r\n",
    "a bare LF": HEAD + b"X: a\nb: c\r\n\r\n",
    "a NUL": HEAD + b"X: a\x00\r\n\r\n",
    "a fold": HEAD + b"X: a\r\n b\r\n\r\n",
    "a blank before the colon": HEAD + b"Content-Length : 3\r\n\r\n",
    "a length and chunks": HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": b"POST /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": HEAD + b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
    "another request": HEAD + b"Content-Length: 0\r\n\r\nDELETE /conformance/second HTTP/1.1\r\nHost: a\r\n\r\n",
}
PLAIN = {
    "no body": HEAD + b"\r\n",
    "a length": HEAD + b"Content-Length: 5\r\n\r\nhello",
    "a request as a body": HEAD + b"Content-Length: 31\r\n\r\nDELETE /conformance/second HTTP",
    "chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "half of it": HEAD + b"Content-Length: 50\r\n\r\nhello",
}


@rows("raw", AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
def test_what_can_be_read_in_two_ways(raw: bytes) -> None:
    assert ambiguity(raw)


@pytest.mark.parametrize("raw", PLAIN.values(), ids=PLAIN.keys())
def test_what_can_be_read_in_one_way(raw: bytes) -> None:
    assert not ambiguity(raw)


@pytest.mark.parametrize("before", [b"", b"DELETE /x HTTP/1.1\r\nContent-Length: 12\r\n\r\n" + b'{"ids": [1]}'])
def test_a_body_before_a_request_is_no_part_of_its_line(before: bytes) -> None:
    raw = b"POST /conformance/framing HTTP/1.1\r\nHost: a\r\nconformance-case: case-7\r\n\r\n"
    heard = before + raw
    assert from_request(heard, heard.index(b"conformance-case")) == raw
