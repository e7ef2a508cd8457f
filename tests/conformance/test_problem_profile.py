"""The checks of the profile problem+json: a proxy before the reference API passes, and each fault is caught."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from corrigible.conformance.checks.bindings.problem import PROFILE
from corrigible.conformance.reference.api import PACK, SPEC, Shop
from corrigible.conformance.suite.subject import Subject

from .made import checks_of, sampled
from .stand_in import Said, Spoil, edited, findings, fronted, honest

CHECKS = checks_of("problem/")

MEMBER = "recovery_feedback"


@contextmanager
def shop(spoil: Spoil = honest) -> Iterator[Subject]:
    with fronted(PROFILE, str(PACK), spoil, spec=SPEC, api=Shop()) as subject:
        yield subject


def plain_json(said: Said) -> None:
    if said.annotated:
        said.headers = [(n, "application/json" if n.lower() == "content-type" else v) for n, v in said.headers]


def wrapped(body: Any) -> None:
    body["error"] = {MEMBER: body.pop(MEMBER)}


FAULTS: dict[str, tuple[Spoil, set[str]]] = {
    "another title": (edited(lambda b: b.update(title="no")), {"kept"}),
    "no detail": (edited(lambda b: (b.pop("detail", None) and None) or (b.pop("title") and None)), {"kept"}),
    "status as text": (edited(lambda b: b.update(status="422")), {"kept", "extension"}),
    "other extensions": (edited(lambda b: b.pop("code") and None), {"kept"}),
    "another order": (edited(lambda b: dict(sorted(b.items()))), {"kept"}),
    "plain JSON": (plain_json, {"kept", "extension"}),
    "in an error": (edited(wrapped), {"extension"}),
}


def test_an_honest_proxy_passes() -> None:
    with shop() as subject:
        assert findings(CHECKS, subject) == {}


@pytest.mark.parametrize("fault", sampled(FAULTS, lambda fault: min(FAULTS[fault][1])))
def test_a_planted_fault_is_caught(fault: str) -> None:
    spoil, checks = FAULTS[fault]
    with shop(spoil) as subject:
        assert findings(CHECKS, subject) == {f"problem/{check}": {"SRF-PRB-01"} for check in checks}
