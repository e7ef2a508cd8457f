"""The checks of the profile recipe: the service passes, and so does a proxy before it; each fault is caught."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.sandbox.server import Running
from corrigible.conformance.checks.bindings.recipe import PROFILE
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpClient

from .made import checks_of, sampled
from .stand_in import Said, Spoil, edited, findings, fronted

CHECKS = checks_of("recipe/")


def refused(said: Said) -> bool:
    return b'"success":false' in said.body


def bad_request(said: Said) -> None:
    said.status = 400 if refused(said) else 200


def successful(said: Said) -> None:
    said.body = said.body.replace(b'"success":false', b'"success":true')


def without_codes(said: Said) -> None:
    said.body = said.body.replace(b'{"code":', b'{"kind":')


def substitute_is_silent(said: Said) -> None:
    if "substitute" in said.asked.target:
        said.body = said.native.body


def asked(said: Said, mode: str) -> bool:
    return f"mode={mode}&" in f"{said.asked.target}&"


def traditional_tells(said: Said) -> None:
    if asked(said, "traditional") and refused(said):
        said.body = said.native.body


def verbose_helps(said: Said) -> None:
    if (asked(said, "traditional_verbose") or asked(said, "verbose")) and refused(said):
        said.body = said.body[:-1] + b',"recovery_feedback":{"suggestions":[]}}'


def strange_verbose(said: Said) -> None:
    if asked(said, "verbose") and refused(said):
        said.body = said.body.replace(b"recipe validation failed", b"no")


def stricter(said: Said) -> None:
    if asked(said, "reflective") and refused(said):
        edited(lambda b: b["validation_errors"].append({"code": "MORE", "message": "more"}))(said)


def helpful_success(said: Said) -> None:
    if b'"success":true' in said.body:
        said.body = said.body[:-1] + b',"recovery_feedback":null}'


def renamed(body: Any) -> None:
    for suggestion in body.get("recovery_feedback", {}).get("suggestions", ()):
        suggestion["action"] = "REPLACE" if suggestion["action"].startswith("REPLACE") else suggestion["action"]


def baseless(body: Any) -> None:
    for suggestion in body.get("recovery_feedback", {}).get("suggestions", ()):
        suggestion.pop("base_action", None)


def ten_eggs(said: Said) -> None:
    said.body = said.body.replace(b'"value":11}', b'"value":10}')


FAULTS: dict[str, tuple[Spoil, str, str]] = {
    "400": (bad_request, "refused-with-success", "SRF-RCP-01"),
    "success": (successful, "refused-with-success", "SRF-RCP-01"),
    "errors without a code": (without_codes, "errors-listed", "SRF-RCP-02"),
    "verbose helps": (verbose_helps, "mode-names", "SRF-COR-08"),
    "traditional tells": (traditional_tells, "mode-names", "SRF-RCP-04"),
    "verbose is another mode": (strange_verbose, "mode-names", "SRF-RCP-04"),
    "stricter when reflective": (stricter, "same-rules", "SRF-RCP-05"),
    "feedback on success": (helpful_success, "absent-on-success", "SRF-COR-07"),
    "another action": (edited(renamed), "action-names", "SRF-RCP-06"),
    "no base action": (edited(baseless), "action-names", "SRF-RCP-06"),
    "ten eggs": (ten_eggs, "next-request", "SRF-COR-14"),
}


def test_an_honest_proxy_passes() -> None:
    with fronted(PROFILE, "recipe") as subject:
        assert findings(CHECKS, subject) == {}


@pytest.mark.parametrize("fault", sampled(FAULTS, lambda fault: FAULTS[fault][1]))
def test_a_planted_fault_is_caught_by_its_own_check(fault: str) -> None:
    spoil, check, requirement = FAULTS[fault]
    with fronted(PROFILE, "recipe", spoil) as subject:
        found = findings(CHECKS, subject)
    if fault == "another action":  # it is not the one that its vector allows, either
        found.pop("recipe/next-request", None)
    if fault == "no base action":  # which the contract wants of every API
        assert found.pop("recipe/shape") == {"SRF-COR-05"}
    assert found == {f"recipe/{check}": {requirement}}


def test_an_endpoint_without_feedback_is_caught() -> None:
    with fronted(PROFILE, "recipe", substitute_is_silent) as subject:
        found = findings(CHECKS, subject)
    assert found["recipe/both-endpoints"] == {"SRF-RCP-03"}
    assert found.pop("recipe/mode-names") == {"SRF-RCP-04"}  # reflective is silent, traditional tells
    assert set(found) == {"recipe/both-endpoints"}


def test_the_recipe_service_passes(recipe_server: Running) -> None:
    assert findings(CHECKS, Subject("producer", PROFILE, target=HttpClient(recipe_server.url))) == {}
