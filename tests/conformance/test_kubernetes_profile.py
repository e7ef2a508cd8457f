"""The checks of the profile kubernetes-api: an honest proxy passes, and each planted fault is caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from corrigible.conformance.checks.bindings.kubernetes import PROFILE
from corrigible.conformance.suite.subject import Check
from corrigible.conformance.transport.http1 import HttpRequest

from .made import checks_of, sampled
from .stand_in import Said, Spoil, edited, findings, fronted

CHECKS = checks_of("kubernetes/")

SLOW = {"kubernetes/streams", "kubernetes/upgrades"}
"""The stand-in waits for the whole of an answer, so it cannot hold these."""
QUICK = [check for check in CHECKS if check.id not in SLOW]


def causes(body: Any) -> list[Any]:
    found: list[Any] = body["details"].setdefault("causes", [])
    return found


def reason(said: Said) -> None:
    said.status = 400 if said.annotated and said.status == 422 else said.status


def warned(text: str) -> Spoil:
    def spoil(said: Said) -> None:
        said.headers = [(n, f'299 x "{text}"' if n == "Warning" and "corrigible" in v else v) for n, v in said.headers]

    return spoil


def unwarned(said: Said) -> None:
    said.headers = [h for h in said.headers if h[0] != "Warning" or "corrigible" not in h[1]]


def upstream_unwarned(said: Said) -> None:
    if said.annotated:
        said.headers = [h for h in said.headers if h[0] != "Warning" or "corrigible" in h[1]]


def other_value(body: Any) -> None:
    for suggestion in body["recovery_feedback"]["suggestions"]:
        for operation in suggestion.get("patch", ()):
            if operation.get("value") == "Always":
                operation["value"] = "Never"


def eager(said: Said) -> None:
    if said.status == 200 and said.body.startswith(b"{") and not said.annotated:
        said.body = said.body[:-1] + b',"recovery_feedback":null}'


def translated(said: Said) -> None:
    if dict(said.headers).get("Content-Type", "").startswith("text/plain"):
        said.body = b'{"message": "logs are not available"}'


def each(edit: Callable[[Any], object]) -> Spoil:
    """Edit every suggestion."""
    return edited(lambda body: [edit(one) for one in body["recovery_feedback"]["suggestions"]] and None)


def unknown_operation(suggestion: Any) -> None:
    for operation in suggestion.get("patch", ()):
        if operation["op"] == "replace":
            operation["op"] = "replace-all"


def endless(body: Any) -> None:
    if "retry" in body["recovery_feedback"]:
        body["recovery_feedback"]["retry"]["max_attempts"] = 1000


FAULTS: dict[str, tuple[Spoil, str, str]] = {
    "another status code": (reason, "kubernetes/status-kept", "SRF-TRN-03"),
    "another message": (edited(lambda b: b.update(message="no")), "kubernetes/status-kept", "SRF-TRN-05"),
    "another reason": (edited(lambda b: b.update(reason="Other")), "kubernetes/status-kept", "SRF-TRN-05"),
    "another code": (edited(lambda b: b.update(code=400)), "kubernetes/status-kept", "SRF-TRN-05"),
    "code as text": (edited(lambda b: b.update(code=str(b["code"]))), "kubernetes/status-kept", "SRF-TRN-05"),
    "members in order": (edited(lambda b: dict(sorted(b.items()))), "kubernetes/status-kept", "SRF-TRN-05"),
    "a lost member": (edited(lambda b: b.pop("metadata") and None), "kubernetes/status-kept", "SRF-TRN-05"),
    "a native cause reworded": (
        edited(lambda b: causes(b)[0].update(message="no")),
        "kubernetes/status-kept",
        "SRF-K8S-02",
    ),
    "no causes of ours": (
        edited(lambda b: causes(b).__setitem__(slice(None), [c for c in causes(b) if len(c["message"]) > 900])),
        "kubernetes/causes",
        "SRF-K8S-02",
    ),
    "a warning of 300 characters": (warned("x" * 300), "kubernetes/warnings", "SRF-K8S-03"),
    "a warning without quotes": (
        warned('" no'),
        "kubernetes/warnings",
        "SRF-K8S-03",
    ),
    "no warnings": (unwarned, "kubernetes/warnings", "SRF-K8S-03"),
    "the upstream's warnings dropped": (upstream_unwarned, "kubernetes/warnings", "SRF-TRN-05"),
    "another value": (edited(other_value), "kubernetes/next-request", "SRF-COR-14"),
    "a type that is none": (
        edited(lambda b: b["recovery_feedback"].update(type="hint")),
        "kubernetes/shape",
        "SRF-COR-02",
    ),
    "hidden characters": (
        each(lambda s: s.update(message=f"{s.get('message', 'x')}\u200b")),
        "kubernetes/words",
        "SRF-SEC-02",
    ),
    "endless attempts": (edited(endless), "kubernetes/waits", "SRF-RTY-04"),
    "feedback on success": (eager, "kubernetes/successes", "SRF-TRN-01"),
    "text made JSON": (translated, "kubernetes/unread", "SRF-TRN-02"),
}


WHOLE = {"a type that is none"}
"""The fault that is judged by every check; the others by those of their requirement, and by a few more."""
ALWAYS = {f"kubernetes/{name}" for name in ("status-kept", "shape", "successes", "unread")}


def about(fault: str) -> list[Check]:
    requirement = FAULTS[fault][2]
    return [one for one in QUICK if fault in WHOLE or one.id in ALWAYS or requirement in one.requirements]


def test_an_honest_proxy_passes() -> None:
    with fronted(PROFILE, "kubernetes") as subject:
        assert findings(QUICK, subject) == {}


@pytest.mark.parametrize("fault", sampled(FAULTS, lambda fault: FAULTS[fault][1:]))
def test_a_planted_fault_is_caught_by_its_own_check(fault: str) -> None:
    spoil, check, requirement = FAULTS[fault]
    with fronted(PROFILE, "kubernetes", spoil) as subject:
        found = findings(about(fault), subject)
    if fault == "no causes of ours":  # the native ones are gone with them
        assert found.pop("kubernetes/status-kept") == {"SRF-K8S-02"}
    if fault == "feedback on success":  # the answer to a dry run is one too
        found.pop("kubernetes/dry-run", None)
    if fault == "a type that is none":  # a reader cannot read it at all
        assert found.pop("kubernetes/next-request") == {"SRF-COR-14"}
    assert found == {check: {requirement}}


def test_patches_that_are_none_are_found_by_their_judge_and_by_their_outcome() -> None:
    with fronted(PROFILE, "kubernetes", each(unknown_operation)) as subject:
        found = findings(QUICK, subject)
    assert "SRF-OPS-01" in found["kubernetes/edits"]
    assert found["kubernetes/next-request"] == {"SRF-COR-14"}
    assert set(found) == {"kubernetes/edits", "kubernetes/next-request"}


def test_feedback_in_causes_alone_is_not_enough() -> None:
    with fronted(PROFILE, "kubernetes", edited(lambda b: b.pop("recovery_feedback") and None)) as subject:
        assert findings(QUICK, subject) == {"kubernetes/next-request": {"SRF-COR-01"}}


@pytest.mark.parametrize("order", ["ours first", "reversed"])
def test_causes_in_another_order_are_found_twice(order: str) -> None:
    """The native ones moved, and ours are not the last."""

    def turn(body: Any) -> None:
        listed = causes(body)
        listed[:] = [listed[-1], *listed[:-1]] if order == "ours first" else listed[::-1]

    with fronted(PROFILE, "kubernetes", edited(lambda b: turn(b) if b.get("details") else None)) as subject:
        found = findings(QUICK, subject)
    assert found == {"kubernetes/status-kept": {"SRF-K8S-02"}, "kubernetes/causes": {"SRF-K8S-02"}}


def test_a_write_of_its_own_is_caught() -> None:
    def again(sent: HttpRequest) -> list[HttpRequest]:
        return [sent] if sent.method == "POST" and "dryRun" not in sent.target else []

    with fronted(PROFILE, "kubernetes", ask_too=again) as subject:
        assert findings(QUICK, subject) == {"kubernetes/no-writes": {"SRF-K8S-04"}}


def test_a_dry_run_that_is_carried_out_is_caught() -> None:
    def really(sent: HttpRequest) -> HttpRequest:
        return replace(sent, target=sent.target.replace("?dryRun=All", ""))

    with fronted(PROFILE, "kubernetes", forward=really) as subject:
        assert findings(QUICK, subject) == {"kubernetes/dry-run": {"SRF-K8S-04"}}


def refused(said: Said) -> None:
    said.status = 426 if said.status == 101 else said.status


def answered_anew(said: Said) -> None:
    said.headers = [(n, "another" if n.lower() == "sec-websocket-accept" else v) for n, v in said.headers]


@pytest.mark.parametrize("spoil", [refused, answered_anew])
def test_a_proxy_that_waits_for_whole_answers_or_spoils_upgrades_is_caught(spoil: Spoil) -> None:
    with fronted(PROFILE, "kubernetes", spoil) as subject:
        found = findings([check for check in CHECKS if check.id in SLOW], subject)
    assert found == {"kubernetes/streams": {"SRF-TRN-09"}, "kubernetes/upgrades": {"SRF-TRN-09"}}
