"""Checks of the profile grpc. What calls is imported when a check runs: grpcio is an optional dependency."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Final

from corrigible.conformance.model.outcome import CouldNotTell
from corrigible.conformance.suite.check import Check
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.validators.finding import Finding

_GRPC: Final = frozenset({"grpc"})


def _in(module: str, name: str) -> Callable[[Subject], Iterable[Finding]]:
    """Return a check of a module that may not be there."""

    def run(subject: Subject) -> Iterable[Finding]:
        try:
            found: Any = import_module(f".{module}", __package__)
        except ModuleNotFoundError as missing:
            if (missing.name or "").partition(".")[0] not in ("grpc", "google", "grpc_reflection"):
                raise
            raise CouldNotTell("the profile grpc needs grpcio: pip install 'corrigible[grpc]'") from None
        findings: Iterable[Finding] = getattr(found, name)(subject)
        return findings

    return run


def _check(id: str, title: str, requirements: str, module: str, name: str) -> Check:
    return Check(f"grpc/{id}", title, tuple(requirements.split()), _in(module, name), _GRPC)


CHECKS: Final = (
    _check(
        "successes-kept",
        "A call that goes well is the upstream's, message by message.",
        "SRF-TRN-01",
        "carriage",
        "successes_kept",
    ),
    _check(
        "requests-kept",
        "What reaches the upstream is what the caller sent.",
        "SRF-TRN-12",
        "carriage",
        "requests_kept",
    ),
    _check(
        "streams-flow",
        "Messages of a stream pass when they come.",
        "SRF-TRN-09",
        "carriage",
        "streams_flow",
    ),
    _check(
        "status-kept",
        "Code and message of a refusal are the upstream's.",
        "SRF-GRP-01",
        "status",
        "codes_kept",
    ),
    _check(
        "details-kept",
        "The upstream's details stay, in order, and feedback comes last.",
        "SRF-GRP-02",
        "status",
        "details_kept",
    ),
    _check(
        "room-kept",
        "What is added finds room in what clients take.",
        "SRF-GRP-03",
        "status",
        "room_kept",
    ),
    _check(
        "every-kind",
        "Calls of all four kinds may be refused at any time.",
        "SRF-GRP-04",
        "carriage",
        "every_kind_refused",
    ),
    _check(
        "unlisted-pass",
        "Services that no description mentions pass.",
        "SRF-GRP-06",
        "carriage",
        "unlisted_pass",
    ),
    _check(
        "metadata-kept",
        "Metadata of refusals stays, bytes and order.",
        "SRF-GRP-07",
        "carriage",
        "metadata_kept",
    ),
    _check(
        "deadlines-pass",
        "The upstream knows the caller's deadline.",
        "SRF-GRP-07",
        "carriage",
        "deadlines_pass",
    ),
    _check(
        "cancellation-passes",
        "The upstream hears that a caller gave up.",
        "SRF-GRP-07",
        "carriage",
        "cancellation_passes",
    ),
    _check(
        "health-and-reflection",
        "Health and reflection are the upstream's.",
        "SRF-GRP-07",
        "carriage",
        "health_and_reflection_pass",
    ),
    _check(
        "unread-refusals-kept",
        "Details that cannot be read pass as they came.",
        "SRF-TRN-02",
        "status",
        "unread_kept",
    ),
    _check(
        "own-feedback-kept",
        "An upstream's own feedback is not overwritten.",
        "SRF-TRN-07",
        "status",
        "own_feedback_kept",
    ),
    _check(
        "feedback-only-on-refusals",
        "A call that goes well has no feedback.",
        "SRF-COR-07",
        "carriage",
        "feedback_only_on_refusals",
    ),
    _check(
        "preference-forwarded",
        "What a caller asks for reaches the upstream.",
        "SRF-NEG-04",
        "carriage",
        "preference_forwarded",
    ),
    _check(
        "feedback-present",
        "A message that is found invalid gets feedback.",
        "SRF-COR-01",
        "feedback",
        "feedback_present",
    ),
    _check(
        "shape",
        "Feedback has the shape of the contract.",
        "SRF-COR-02 SRF-COR-03 SRF-COR-04 SRF-COR-05 SRF-COR-06 SRF-COR-12 SRF-COR-13 SRF-COR-16",
        "feedback",
        "shape",
    ),
    _check(
        "other-modes",
        "Other modes carry no feedback, and refuse the same.",
        "SRF-COR-08 SRF-COR-09",
        "feedback",
        "other_modes",
    ),
    _check(
        "same-again",
        "The same refusal gets the same feedback.",
        "SRF-COR-10",
        "feedback",
        "same_again",
    ),
    _check(
        "every-error",
        "Every complaint is answered.",
        "SRF-COR-11",
        "feedback",
        "every_error_answered",
    ),
    _check(
        "mended",
        "What a reader makes of the feedback is not refused again.",
        "SRF-COR-14 SRF-OPS-05",
        "feedback",
        "mended",
    ),
    _check(
        "numbers-typed",
        "Integers stay integers, as the descriptor says.",
        "SRF-GRP-05",
        "feedback",
        "numbers_typed",
    ),
    _check(
        "edits",
        "Edits are valid, guarded and honest.",
        "SRF-OPS-01 SRF-OPS-02 SRF-OPS-03 SRF-OPS-05 SRF-OPS-06 SRF-OPS-07 SRF-OPS-08 SRF-OPS-09 SRF-OPS-10 SRF-OPS-11",
        "feedback",
        "edits",
    ),
    _check("losses", "Nothing that was sent is lost unsaid.", "SRF-OPS-12 SRF-OPS-13", "feedback", "losses"),
    _check("others", "What unpacks to very much stops nobody else.", "SRF-TRN-13", "others", "bombs_stop_nobody"),
    _check(
        "intent-flagged",
        "What was not asked for is flagged.",
        "SRF-OPS-09",
        "feedback",
        "intent_flagged",
    ),
    _check(
        "pace",
        "What is said of retrying has an end and repeats no write.",
        "SRF-RTY-02 SRF-RTY-03 SRF-RTY-04 SRF-RTY-05",
        "feedback",
        "pace",
    ),
    _check(
        "waits-mirrored",
        "RetryInfo is mirrored.",
        "SRF-RTY-01 SRF-RTY-02",
        "feedback",
        "waits_mirrored",
    ),
    _check(
        "none-honoured",
        "Who wants none gets the upstream's bytes.",
        "SRF-NEG-01",
        "feedback",
        "none_honoured",
    ),
    _check(
        "unknown-words",
        "A mode that there is not changes nothing.",
        "SRF-NEG-05",
        "feedback",
        "unknown_words_ignored",
    ),
    _check(
        "failed-look-ups",
        "A look-up that fails costs the feedback alone.",
        "SRF-TRN-08",
        "feedback",
        "failed_look_ups_pass",
    ),
    _check(
        "cleanness",
        "Feedback is clean, says where it comes from, and keeps secrets.",
        "SRF-SEC-02 SRF-SEC-03 SRF-SEC-05 SRF-SEC-10",
        "feedback",
        "cleanness",
    ),
    _check(
        "no-word-obeyed",
        "Text of the upstream's never becomes advice.",
        "SRF-SEC-01 SRF-SEC-02",
        "trust",
        "no_word_obeyed",
    ),
    _check(
        "secrets-stay",
        "No secret of a call stands in feedback.",
        "SRF-SEC-05",
        "trust",
        "secrets_stay",
    ),
    _check(
        "look-ups",
        "Look-ups are the caller's, and only read.",
        "SRF-SEC-07",
        "trust",
        "look_ups_are_the_callers",
    ),
    _check(
        "loops-end",
        "A caller who goes in circles is told so.",
        "SRF-SEC-08",
        "trust",
        "loops_end",
    ),
    _check(
        "no-oracle",
        "What the caller may not list is not told him.",
        "SRF-SEC-06",
        "trust",
        "no_oracle",
    ),
    _check(
        "vectors",
        "The vectors of this profile lead where they may.",
        "SRF-COR-14",
        "feedback",
        "vectors_held",
    ),
)
