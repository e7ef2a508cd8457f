"""The checks of the profile grpc. Their modules are imported when a check runs: grpcio is an optional dependency."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any, Final

from corrigible.conformance.model.outcome import CouldNotTell
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.validators.finding import Finding
from corrigible.schema.extra import install_line

_GRPC: Final = frozenset({"grpc"})


def _in(module: str, name: str) -> Callable[[Subject], Iterable[Finding]]:
    """Return a check of a module that may not be there. It gets the two ways to call, open."""

    def run(subject: Subject) -> Iterator[Finding]:
        try:
            module_checks: Any = import_module(f".{module}", __package__)
        except ModuleNotFoundError as missing:
            if (missing.name or "").partition(".")[0] not in ("grpc", "google", "grpc_reflection"):
                raise
            raise CouldNotTell(f"the profile grpc needs grpcio: {install_line('grpc')}") from None
        with import_module(".call", __package__).calling(subject) as calls:
            yield from getattr(module_checks, name)(calls)

    return run


_TABLE: Final = (
    ("successes-kept", "carriage", "SRF-TRN-01", "A call that goes well is the upstream's, message by message."),
    ("requests-kept", "carriage", "SRF-TRN-12", "What reaches the upstream is what the caller sent."),
    ("streams-flow", "carriage", "SRF-TRN-09", "Messages of a stream pass when they come."),
    ("status-kept", "carriage", "SRF-GRP-01", "Code and message of a refusal are the upstream's."),
    ("details-kept", "carriage", "SRF-GRP-02", "The upstream's details stay, in order, and feedback comes last."),
    ("room-kept", "carriage", "SRF-GRP-03", "What is added finds room in what clients take."),
    ("every-kind", "carriage", "SRF-GRP-04", "Calls of all four kinds may be refused at any time."),
    ("unlisted-pass", "carriage", "SRF-GRP-06", "Services that no description mentions pass."),
    ("metadata-kept", "carriage", "SRF-GRP-07", "Metadata of refusals stays, bytes and order."),
    ("deadlines-pass", "carriage", "SRF-GRP-07", "The upstream knows the caller's deadline."),
    ("cancellation-passes", "carriage", "SRF-GRP-07", "The upstream hears that a caller gave up."),
    ("health-and-reflection", "carriage", "SRF-GRP-07", "Health and reflection are the upstream's."),
    ("unread-refusals-kept", "carriage", "SRF-TRN-02", "Details that cannot be read pass as they came."),
    ("own-feedback-kept", "carriage", "SRF-TRN-07", "An upstream's own feedback is not overwritten."),
    ("feedback-only-on-refusals", "carriage", "SRF-COR-07", "A call that goes well has no feedback."),
    ("preference-forwarded", "carriage", "SRF-NEG-04", "What a caller asks for reaches the upstream."),
    ("feedback-present", "feedback", "SRF-COR-01", "A message that is found invalid gets feedback."),
    (
        "shape",
        "feedback",
        "SRF-COR-02 SRF-COR-03 SRF-COR-04 SRF-COR-05 SRF-COR-06 SRF-COR-12 SRF-COR-13 SRF-COR-16",
        "Feedback has the shape of the contract.",
    ),
    ("other-modes", "feedback", "SRF-COR-08 SRF-COR-09", "Other modes carry no feedback, and refuse the same."),
    ("same-again", "feedback", "SRF-COR-10", "The same refusal gets the same feedback."),
    ("every-error", "feedback", "SRF-COR-11", "Every complaint is answered."),
    ("mended", "feedback", "SRF-COR-14 SRF-OPS-05", "What a reader makes of the feedback is not refused again."),
    ("numbers-typed", "feedback", "SRF-GRP-05", "Integers stay integers, as the descriptor says."),
    (
        "edits",
        "feedback",
        "SRF-OPS-01 SRF-OPS-02 SRF-OPS-03 SRF-OPS-05 SRF-OPS-06 SRF-OPS-07 SRF-OPS-08 SRF-OPS-09 SRF-OPS-10 SRF-OPS-11",
        "Edits are valid, guarded and honest.",
    ),
    ("losses", "feedback", "SRF-OPS-12 SRF-OPS-13", "Nothing that was sent is lost unsaid."),
    ("others", "carriage", "SRF-TRN-13", "What unpacks to very much stops nobody else."),
    ("intent-flagged", "feedback", "SRF-OPS-09", "What was not asked for is flagged."),
    (
        "pace",
        "feedback",
        "SRF-RTY-02 SRF-RTY-03 SRF-RTY-04 SRF-RTY-05",
        "What is said of retrying has an end and repeats no write.",
    ),
    ("waits-mirrored", "feedback", "SRF-RTY-01 SRF-RTY-02", "RetryInfo is mirrored."),
    ("none-honoured", "feedback", "SRF-NEG-01", "Who wants none gets the upstream's bytes."),
    ("unknown-words", "feedback", "SRF-NEG-05", "A mode that there is not changes nothing."),
    ("failed-look-ups", "feedback", "SRF-TRN-08", "A look-up that fails costs the feedback alone."),
    (
        "cleanness",
        "feedback",
        "SRF-SEC-02 SRF-SEC-03 SRF-SEC-05 SRF-SEC-10",
        "Feedback is clean, says where it comes from, and keeps secrets.",
    ),
    ("no-word-obeyed", "feedback", "SRF-SEC-01 SRF-SEC-02", "Text of the upstream's never becomes advice."),
    ("secrets-stay", "feedback", "SRF-SEC-05", "No secret of a call stands in feedback."),
    ("look-ups", "feedback", "SRF-SEC-07", "Look-ups are the caller's, and only read."),
    ("loops-end", "feedback", "SRF-SEC-08", "A caller who goes in circles is told so."),
    ("no-oracle", "feedback", "SRF-SEC-06", "What the caller may not list is not told him."),
    ("vectors", "feedback", "SRF-COR-14", "The vectors of this profile lead where they may."),
)
"""Name, module, requirements, title. The function in the module has the name of the check."""
CHECKS: Final = tuple(
    Check(f"grpc/{name}", title, tuple(requirements.split()), _in(module, name.replace("-", "_")), _GRPC)
    for name, module, requirements, title in _TABLE
)
