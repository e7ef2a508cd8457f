"""The checks of the profile kubernetes-webhook: an honest proxy passes, and each planted fault is caught."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from corrigible.conformance.checks.bindings import kubernetes
from corrigible.conformance.checks.bindings.kubernetes import WEBHOOK as PROFILE
from corrigible.conformance.reference.upstream import Received, Upstream
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.transport.http1 import HttpClient, HttpRequest

from .made import checks_of, sampled
from .stand_in import Front, InProcess, Said, Spoil, corrector, edited, findings, fronted

CHECKS = checks_of("webhook/")

SLOW = "webhook/failure-policy"
QUICK = [check for check in CHECKS if check.id != SLOW]


def named(name: str) -> list[Check]:
    return [check for check in CHECKS if check.id == f"webhook/{name}"]


def response(body: Any) -> Any:
    return body["response"]


def causes(body: Any) -> list[Any]:
    found: list[Any] = response(body)["status"]["details"]["causes"]
    return found


def prose(body: Any) -> None:
    causes(body)[-1]["message"] = "leave the host's network"


def first(body: Any) -> None:
    listed = causes(body)
    listed[:] = [listed[-1], *listed[:-1]]


def other_value(body: Any) -> None:
    causes(body)[-1]["message"] = causes(body)[-1]["message"].replace('"value":"Always"', '"value":"Never"')


def patched(body: Any) -> None:
    response(body).update(patchType="JSONPatch", patch="W10=")


def silent(said: Said) -> None:
    """Leave the feedback, and drop what people would see."""
    edited(lambda b: response(b).update(warnings=response(b)["warnings"][: 1 if "digest" in str(b) else 0]))(said)


def another_status(said: Said) -> None:
    said.status = 403 if said.annotated else said.status


def always_yes(said: Said) -> None:
    if not said.annotated:
        said.body = said.body.replace(b'"allowed":true', b'"allowed":true,"warnings":["looked at"]', 1)


FAULTS: dict[str, tuple[Spoil, str, str]] = {
    "allowed": (edited(lambda b: response(b).update(allowed=True)), "verdict-kept", "SRF-K8S-01"),
    "allowed as text": (edited(lambda b: response(b).update(allowed="false")), "verdict-kept", "SRF-K8S-01"),
    "another uid": (edited(lambda b: response(b).update(uid="another")), "verdict-kept", "SRF-K8S-01"),
    "another version": (
        edited(lambda b: b.update(apiVersion="admission.k8s.io/v1beta1")),
        "verdict-kept",
        "SRF-K8S-02",
    ),
    "another kind": (edited(lambda b: b.update(kind="Status")), "verdict-kept", "SRF-K8S-02"),
    "another status": (another_status, "verdict-kept", "SRF-TRN-03"),
    "another code": (edited(lambda b: response(b)["status"].update(code=499)), "denial-kept", "SRF-TRN-05"),
    "another message": (edited(lambda b: response(b)["status"].update(message="no")), "denial-kept", "SRF-TRN-05"),
    "another warning": (
        edited(lambda b: response(b).update(warnings=["no"] * len(response(b)["warnings"]))),
        "denial-kept",
        "SRF-TRN-05",
    ),
    "a member of our own": (edited(lambda b: response(b).update(recovery_feedback={})), "form", "SRF-K8S-02"),
    "feedback as prose": (edited(prose), "form", "SRF-K8S-02"),
    "long warnings": (
        edited(lambda b: response(b)["warnings"].append("x" * 300)),
        "warnings",
        "SRF-K8S-03",
    ),
    "no warnings": (silent, "warnings", "SRF-K8S-03"),
    "a patch": (edited(patched), "no-patch", "SRF-K8S-05"),
    "another value": (edited(other_value), "next-request", "SRF-COR-14"),
    "consent with more": (always_yes, "consents", "SRF-TRN-01"),
}


def test_an_honest_proxy_passes() -> None:
    with fronted(PROFILE, "kubernetes") as subject:
        assert findings(CHECKS, subject) == {}


@pytest.mark.parametrize("fault", sampled(FAULTS, lambda fault: FAULTS[fault][1]))
def test_a_planted_fault_is_caught_by_its_own_check(fault: str) -> None:
    spoil, check, requirement = FAULTS[fault]
    with fronted(PROFILE, "kubernetes", spoil) as subject:
        assert findings(QUICK, subject) == {f"webhook/{check}": {requirement}}


def test_a_lost_uid_is_caught() -> None:
    with fronted(PROFILE, "kubernetes", edited(lambda b: response(b).pop("uid") and None)) as subject:
        found = findings(QUICK, subject)
    assert found["webhook/verdict-kept"] == {"SRF-K8S-01"}
    assert set(found) <= {"webhook/verdict-kept", "webhook/denial-kept"}


def test_a_cause_before_the_webhooks_own_is_found_twice() -> None:
    with fronted(PROFILE, "kubernetes", edited(first)) as subject:
        found = findings(QUICK, subject)
    assert found == {"webhook/denial-kept": {"SRF-TRN-05"}, "webhook/form": {"SRF-K8S-02"}}


def test_a_question_asked_twice_is_caught() -> None:
    with fronted(PROFILE, "kubernetes", ask_too=lambda sent: [sent]) as subject:
        assert findings(QUICK, subject) == {"webhook/asked-once": {"SRF-K8S-04"}}


@pytest.mark.parametrize(
    ("old", "new"), [(b'"dryRun":true', b'"dryRun":false'), (b"705ab4f5", b"805ab4f5")], ids=["dry run", "uid"]
)
def test_a_question_that_changed_is_caught(old: bytes, new: bytes) -> None:
    def forward(sent: HttpRequest) -> HttpRequest:
        kept = tuple(header for header in sent.headers if header[0].lower() != "content-length")
        return replace(sent, headers=kept, body=sent.body.replace(old, new))

    with fronted(PROFILE, "kubernetes", forward=forward) as subject:
        assert findings(QUICK, subject) == {"webhook/asked-once": {"SRF-K8S-04"}}


def untimed(sent: HttpRequest) -> HttpRequest:
    return replace(sent, target=sent.target.partition("?")[0])


def test_a_lost_time_out_is_caught() -> None:
    """The scripts are for the question with its time-out, so that much else goes wrong as well: one check is asked."""
    with fronted(PROFILE, "kubernetes", forward=untimed) as subject:
        assert findings(named("asked-once"), subject) == {"webhook/asked-once": {"SRF-K8S-04"}}


class Kind(Front):
    """Consents where the webhook fails, as if failurePolicy were its own."""

    def __call__(self, received: Received) -> Any:
        script = super().__call__(received)
        failed = not any(b'"allowed":' in part for part in script.parts if isinstance(part, bytes))
        body = b'{"kind":"AdmissionReview","response":{"uid":"1","allowed":true}}'
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        return replace(script, parts=(head + body,)) if failed else script


class Late(Front):
    """Answers what comes with a time-out only once the API server has given up."""

    given_up = threading.Event()

    def __call__(self, received: Received) -> Any:
        if "timeout=0.2s" in received.sent.target:
            self.given_up.wait()
        return super().__call__(received)


@contextmanager
def in_front(front: type[Front]) -> Iterator[Subject]:
    with Upstream() as upstream, Upstream(front(InProcess(upstream), corrector("kubernetes"))) as proxy:
        direct = InProcess(upstream)
        yield Subject("proxy", PROFILE, target=HttpClient(proxy.url), upstream=upstream, direct=direct)


def test_a_proxy_that_consents_for_the_webhook_is_caught() -> None:
    checks = [check for check in CHECKS if check.id != "webhook/in-time"]
    with in_front(Kind) as subject:
        assert findings(checks, subject) == {"webhook/failure-policy": {"SRF-K8S-04"}}


def test_a_proxy_that_is_late_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes, "_TIMEOUT", 0.2)
    with in_front(Late) as subject:
        try:
            found = findings(named("in-time"), subject)
        finally:
            Late.given_up.set()
    assert found == {"webhook/in-time": {"SRF-K8S-04"}}
