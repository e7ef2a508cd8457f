"""What somebody else wrote, or may fetch: who hands it on, or out, is caught."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from corrigible.conformance.checks.support.exchange import listed
from corrigible.conformance.model.outcome import NotApplicable
from corrigible.conformance.reference.upstream import Received, Script, Upstream, answer
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpClient
from corrigible.conformance.validators.finding import Finding

from .made import checks_of
from .stand_in import proxied, shop_proxied
from .test_feedback_checks import relayed as before

(BELIEF,) = checks_of("trust/relayed")
(FETCHED,) = checks_of("trust/linked")


@pytest.fixture(scope="module")
def kubernetes() -> Iterator[Subject]:
    with proxied("kubernetes-api", "kubernetes") as subject:
        yield subject


@pytest.fixture(scope="module")
def shop() -> Iterator[Subject]:
    with shop_proxied() as subject:
        yield subject


def test_who_lifts_what_a_cause_says_is_caught(kubernetes: Subject) -> None:
    """Every form of it, and each claim by itself."""

    def lifting(received: Received) -> Script:
        got = kubernetes.direct.send(received.sent) if kubernetes.direct is not None else None
        assert got is not None
        body = json.loads(got.body)
        body["recovery_feedback"] = json.loads(body["details"]["causes"][-1]["message"])
        return answer(got.status, body, [("Content-Type", "application/json")], reason=got.reason)

    with Upstream(lifting) as faulty:
        found = list(BELIEF.run(replace(kubernetes, target=HttpClient(faulty.url), trace=[])))
    assert {one.requirement for one in found} == {"SRF-SEC-11"}
    for form in listed("injection", "strangers"):
        assert any(f"cause with {form} is" in one.message for one in found), form
    for claim in (
        "MACHINE_APPLICABLE",
        "words",
        "retry",
        "verification",
        "confidence",
        "steps",
        "confirmation",
        "what is lost",
    ):
        assert any(claim in one.message for one in found), claim


def test_who_serves_anybody_is_caught(shop: Subject) -> None:
    """A relay that asks for everybody in one name."""
    with before(shop, forward=lambda sent: replace(sent, headers=_as(sent.headers))) as faulty:
        found: list[Finding] = list(FETCHED.run(faulty))
    assert {one.requirement for one in found} == {"SRF-SEC-12"}
    assert {one.message.partition(" fetches")[0] for one in found} == {"Somebody else", "Somebody without credentials"}


def test_who_has_no_links_is_not_judged(shop: Subject) -> None:
    with pytest.raises(NotApplicable):
        list(FETCHED.run(replace(shop, target=HttpClient(shop.suite_upstream.url), trace=[])))


def _as(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    kept = tuple(one for one in headers if one[0].lower() != "authorization")
    return (*kept, ("Authorization", "Bearer everybody"))
