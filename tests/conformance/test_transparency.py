"""Who only hands on passes all checks of transparency; each planted fault is caught, and as what it is."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from corrigible.conformance.checks.support.exchange import cases
from corrigible.conformance.checks.transparency import stream
from corrigible.conformance.model.outcome import NotApplicable
from corrigible.conformance.model.yaml_file import VECTORS
from corrigible.conformance.reference.api import Shop
from corrigible.conformance.reference.upstream import Pause, Upstream
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.transport.http1 import HttpClient, decoded, encoded, readable
from corrigible.conformance.validators.finding import Finding

from .faults import PLANTED, Planted
from .faulty import Answer, Fault, Request, relay
from .made import checks_of, sampled, told
from .stand_in import shop_fronted, shop_proxied

CHECKS = checks_of("transparency/")

LATENCY = "transparency/latency"
LOOKUPS = "transparency/open/look-up"
LARGE = {f"transparency/{one}/large" for one in ("success", "error", "request")}
SLOW = {LATENCY, LOOKUPS, *LARGE}
QUICK = [check for check in CHECKS if check.id not in SLOW]
WHOLE = {"changes bodies"}
"""The fault that is judged by all quick checks."""
ALWAYS = {f"transparency/{name}" for name in ("success/status-line", "error/body", "request/headers", "open/broken")}
"""A few checks that judge every fault, whatever it is to break."""


OF_STREAMS = {"SRF-TRN-08", "SRF-TRN-09", "SRF-TRN-12", "SRF-TRN-16"}
"""What the stand-in does not hold itself, since it waits for whole messages: our proxy is behind faults of these."""
LATE = {"keeps expectations to itself"}


@pytest.fixture(scope="module")
def proxy() -> Iterator[Subject]:
    with shop_proxied() as subject:
        yield subject


@pytest.fixture(scope="module")
def stand_in() -> Iterator[Subject]:
    with shop_fronted() as subject:
        yield subject


@pytest.fixture
def nobody() -> Iterator[Subject]:
    """No proxy at all: what leaves is what arrives."""
    with Upstream(Shop()) as upstream, relay(upstream.port, Fault()) as port:
        yield Subject("proxy", "http-json", HttpClient(f"http://127.0.0.1:{port}"), upstream=upstream)


def findings(check: Check, subject: Subject) -> list[Finding]:
    found: list[Finding] = []
    with suppress(NotApplicable):
        found.extend(told(check.run(subject)))
    assert {one.requirement for one in found} <= set(check.requirements)
    return found


def test_who_only_hands_on_breaks_nothing_and_has_no_annotated_answers(nobody: Subject) -> None:
    silent = set()
    for check in CHECKS:
        try:
            assert list(told(check.run(nobody))) == [], check.id
        except NotApplicable:
            silent.add(check.id)
    assert "transparency/annotated/members" in silent and LOOKUPS in silent
    assert not any(
        name.startswith(("transparency/success", "transparency/error", "transparency/request")) for name in silent
    )


@pytest.mark.parametrize("planted", sampled(PLANTED, lambda planted: min(planted.breaks)))
def test_a_planted_fault_is_caught_as_what_it_is(
    planted: Planted, proxy: Subject, stand_in: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    conforming = proxy if planted.breaks & OF_STREAMS else stand_in
    if planted.withholds or planted.name in LATE:
        monkeypatch.setattr(stream, "TIMEOUT", 0.3)  # what never comes need not be waited for long
    with relay(conforming.wire.port, planted.fault) as port:
        subject = replace(conforming, target=HttpClient(f"http://127.0.0.1:{port}"))
        asked = QUICK if planted.name in WHOLE else planted.about(QUICK, ALWAYS)
        found = [one for check in asked for one in findings(check, subject)]
    assert {one.requirement for one in found} == planted.breaks, [(one.requirement, one.message) for one in found][:8]


FORGETFUL = ("digest", "etag", "checksum", "signature")


def test_who_explains_and_forgets_what_vouches_for_the_body_is_caught() -> None:
    said = b'{"recovery_feedback":{"type":"recovery_guidance","message":"No.","suggestions":[{"action":"ESCALATE"}]},'

    def explaining(request: Request, answer: Answer) -> Answer:
        plain = answer.status >= 400 and answer.body.startswith(b'{"error"')
        return answer.with_body(said + answer.body[1:]) if plain else answer

    with Upstream(Shop()) as upstream, relay(upstream.port, Fault(whole=explaining)) as port:
        subject = Subject("proxy", "http-json", HttpClient(f"http://127.0.0.1:{port}"), upstream=upstream)
        by_name = {one.id.rpartition("/")[2]: findings(one, subject) for one in CHECKS if "/annotated/" in one.id}
    for name in FORGETFUL:
        assert {one.requirement for one in by_name[name]} == {"SRF-TRN-06"}, name
    assert len(by_name["checksum"]) == 5


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_bodies_are_coded_and_decoded(coding: str) -> None:
    if not readable(coding):
        pytest.skip(f"nothing here reads {coding}")
    assert decoded(encoded(b"hello", coding), coding) == b"hello"
    with pytest.raises(ValueError, match=r"."):
        decoded(b"hello", coding)


def test_codings_are_undone_from_the_last_to_the_first() -> None:
    assert decoded(gzip.compress(encoded(b"hello", "deflate")), "deflate, gzip") == b"hello"
    assert decoded(b"hello", None) == decoded(b"hello", "identity") == b"hello"


def test_every_answer_in_the_tables_has_a_name_of_its_own() -> None:
    groups = json.loads((VECTORS / "passing.json").read_text("utf-8"))
    for group in groups.keys() - {"about", "requests"}:
        names = [case.name for case in cases(group)]
        assert names and len(names) == len(set(names))


def test_bytes_of_a_case_are_what_is_written() -> None:
    gzipped = next(case for case in cases("success/coding") if case.name == "gzip twice").script
    assert isinstance(gzipped.parts[0], bytes)
    assert gzip.decompress(gzip.decompress(gzipped.parts[0].partition(b"\r\n\r\n")[2])) == b"{}"
    large = cases("success/large")[0].script.parts[0]
    assert isinstance(large, bytes) and large.endswith(bytes(range(250)) * 20_000)
    late = cases("webhook/failure-policy")[-1].script
    assert late.parts[0] == Pause(3.0) and cases("success/framing")[-1].script.close
