"""Operational checks: edits are valid, guarded and truthful; alternatives are marked as such (SRF-OPS)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from corrigible.conformance.checks.support.error_request import PROFILES, Refused, refusals_with_feedback
from corrigible.conformance.suite.check import Check
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import request_document
from corrigible.conformance.validators.finding import Finding
from corrigible.schema import ContractError, Next, apply

from .core import ROLES, follow, validated


def _alternatives(subject: Subject) -> Iterator[Finding]:
    """Judge how they are marked; then take each alternative by itself: every one leads somewhere."""
    yield from validated("SRF-OPS-07")(subject)
    for judged_one in refusals_with_feedback(subject, "SRF-OPS-07"):
        if isinstance(judged_one, Refused):
            yield from _each_by_itself(subject, judged_one)


def _each_by_itself(subject: Subject, refusal: Refused) -> Iterator[Finding]:
    for index, suggestion in refusal.annotated_error.suggestions:
        group = suggestion.get("group")
        if not isinstance(group, Mapping) or group.get("relation") != "one_of" or suggestion.get("placeholders"):
            continue
        try:
            picked = apply(refusal.annotated_error.feedback, request_document(refusal.sent), confirm=True, pick=index)
        except ContractError:
            continue  # the core checks say so
        if isinstance(picked, Next):
            for finding in follow(subject, refusal, picked, fresh=True, look=False):
                sentence = f"Alternative {index} of {refusal.by.name} is none: {finding.message}"
                yield Finding("SRF-OPS-07", sentence, finding.expected, finding.got, finding.sent, place=finding.place)


def _judged_check(name: str, title: str, requirement: str) -> Check:
    return Check(f"operations/{name}", title, (requirement,), validated(requirement), PROFILES, ROLES)


CHECKS: tuple[Check, ...] = (
    _judged_check("valid", "Patches are RFC 6902", "SRF-OPS-01"),
    _judged_check("apply", "Patches apply to the request that was refused", "SRF-OPS-02"),
    _judged_check("guarded", "Edits inside arrays are guarded", "SRF-OPS-03"),
    _judged_check("described", "The outcome is what the description takes", "SRF-OPS-05"),
    _judged_check("agree", "Patch and parameters agree", "SRF-OPS-06"),
    Check("operations/alternatives", "Alternatives are marked", ("SRF-OPS-07",), _alternatives, PROFILES, ROLES),
    _judged_check("earned", "MACHINE_APPLICABLE is earned", "SRF-OPS-08"),
    _judged_check("flagged", "What is not what was asked for says so", "SRF-OPS-09"),
    _judged_check("idempotent", "A second application changes nothing", "SRF-OPS-10"),
    _judged_check("effects", "No side effects are claimed for reads and trials only", "SRF-OPS-12"),
    _judged_check("losses", "Nothing that was sent is lost unsaid", "SRF-OPS-13"),
    _judged_check("near", "A guess is the only one that is near, or a question", "SRF-OPS-14"),
    _judged_check("credentials", "Credentials are out of reach", "SRF-OPS-11"),
)
