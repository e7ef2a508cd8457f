"""Operational checks: edits are valid, guarded and truthful; alternatives are marked as such (SRF-OPS)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from corrigible.conformance.checks.support.error_request import PROFILES, Refused, judged_ones
from corrigible.conformance.suite.check import Check
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import request_document
from corrigible.conformance.validators.finding import Finding
from corrigible.schema import ContractError, Next, apply

from .core import ROLES, follow, validated


def _alternatives(subject: Subject) -> Iterator[Finding]:
    """Judge how they are marked; then take each alternative by itself: every one leads somewhere."""
    yield from validated("SRF-OPS-07")(subject)
    for one in judged_ones(subject, "SRF-OPS-07"):
        if isinstance(one, Refused):
            yield from _each_by_itself(subject, one)


def _each_by_itself(subject: Subject, one: Refused) -> Iterator[Finding]:
    for index, suggestion in one.annotated_error.suggestions:
        group = suggestion.get("group")
        if not isinstance(group, Mapping) or group.get("relation") != "one_of" or suggestion.get("placeholders"):
            continue
        try:
            picked = apply(one.annotated_error.feedback, request_document(one.sent), confirm=True, pick=index)
        except ContractError:
            continue  # the core checks say so
        if isinstance(picked, Next):
            for found in follow(subject, one, picked, fresh=True, look=False):
                sentence = f"Alternative {index} of {one.by.name} is none: {found.said}"
                yield Finding("SRF-OPS-07", sentence, found.expected, found.got, found.sent)


def _judged(name: str, title: str, requirement: str) -> Check:
    return Check(f"operations/{name}", title, (requirement,), validated(requirement), PROFILES, ROLES)


CHECKS: tuple[Check, ...] = (
    _judged("valid", "Patches are RFC 6902", "SRF-OPS-01"),
    _judged("apply", "Patches apply to the request that was refused", "SRF-OPS-02"),
    _judged("guarded", "Edits inside arrays are guarded", "SRF-OPS-03"),
    _judged("described", "The outcome is what the description takes", "SRF-OPS-05"),
    _judged("agree", "Patch and parameters agree", "SRF-OPS-06"),
    Check("operations/alternatives", "Alternatives are marked", ("SRF-OPS-07",), _alternatives, PROFILES, ROLES),
    _judged("earned", "MACHINE_APPLICABLE is earned", "SRF-OPS-08"),
    _judged("flagged", "What is not what was asked for says so", "SRF-OPS-09"),
    _judged("idempotent", "A second application changes nothing", "SRF-OPS-10"),
    _judged("effects", "No side effects are claimed for reads and trials only", "SRF-OPS-12"),
    _judged("losses", "Nothing that was sent is lost unsaid", "SRF-OPS-13"),
    _judged("near", "A guess is the only one that is near, or a question", "SRF-OPS-14"),
    _judged("credentials", "Credentials are out of reach", "SRF-OPS-11"),
)
