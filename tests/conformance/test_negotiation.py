"""Who knows nothing of it passes all checks of negotiation; each planted fault is caught, and as what it is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from email.utils import formatdate

import pytest

from corrigible.conformance.model.outcome import NotApplicable
from corrigible.conformance.reference.api import Shop
from corrigible.conformance.reference.upstream import Upstream
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpClient

from .faults import NEGOTIATION, Planted
from .faulty import Answer, Fault, Request, relay
from .made import checks_of, sampled, told
from .stand_in import shop_fronted

CHECKS = checks_of("negotiation/")


@pytest.fixture(scope="module")
def conforming() -> Iterator[Subject]:
    with shop_fronted() as subject:
        yield subject


def test_who_knows_nothing_of_it_breaks_nothing() -> None:
    with Upstream(Shop()) as upstream, relay(upstream.port, Fault()) as port:
        subject = Subject("proxy", "http-json", HttpClient(f"http://127.0.0.1:{port}"), upstream=upstream)
        for check in CHECKS:
            with suppress(NotApplicable):
                assert list(told(check.run(subject))) == [], check.id


def test_a_proxy_may_date_the_answers_that_come_without_a_date(conforming: Subject) -> None:
    """RFC 9110, section 6.6.1: a recipient without a Date may add one; two answers differ in it by chance."""
    seconds = itertools.count(1_793_000_000)

    def dated(_: Request, answer: Answer) -> Answer:
        return answer if answer.header("date") else answer.with_header("Date", formatdate(next(seconds), usegmt=True))

    with relay(conforming.wire.port, Fault(head=dated)) as port:
        subject = replace(conforming, target=HttpClient(f"http://127.0.0.1:{port}"))
        found = [one for check in CHECKS for one in told(check.run(subject))]
    assert found == []
    assert next(seconds) > 1_793_000_000 + len(CHECKS)


@pytest.mark.parametrize("planted", sampled(NEGOTIATION, lambda planted: min(planted.breaks)))
def test_a_planted_fault_is_caught_as_what_it_is(planted: Planted, conforming: Subject) -> None:
    with relay(conforming.wire.port, planted.fault) as port:
        subject = replace(conforming, target=HttpClient(f"http://127.0.0.1:{port}"))
        found = [one for check in CHECKS for one in told(check.run(subject))]
    assert {one.requirement for one in found} == planted.breaks, [(one.requirement, one.message) for one in found][:8]
