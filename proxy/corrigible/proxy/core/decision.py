"""What the engine decides about an exchange: to leave the answer alone, or to add feedback to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from corrigible.rules.pack.load import Pack
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, record

from .api_profile import RefusalCase


@record
class PassThrough:
    """Nothing to add. Forward the upstream's bytes exactly as they came."""

    reason: str
    case: RefusalCase | None = None
    """The refusal, where the answer is one."""
    operation: str = ""
    fault: bool = False
    """Whether the reason is a mistake of ours."""

    @property
    def pack(self) -> Pack | None:
        return None if self.case is None else self.case.pack


class Annotate(NamedTuple):
    """Add this; the upstream's own members stay as they are."""

    case: RefusalCase
    feedback: Mapping[str, Json]
    encoded: bytes
    """The feedback as compact JSON."""
    diagnoses: tuple[Mapping[str, str], ...] = ()
    """`validation_errors` of verbose mode: what is wrong, never the fix."""
    rules: tuple[str, ...] = ()
    live: bool = False
    """Whether look-ups with the caller's credentials went into it."""
    placement: str = "member"
    """How the answer takes it in: as the adapter says, or `relayed` where the answer carried it already."""
    error: str | None = None
    """A mistake of ours that did not change the feedback."""
    seal: str = ""
    """By which feedback of a proxy of ours behind the API server is believed."""

    @property
    def pack(self) -> Pack:
        return self.case.pack

    @property
    def operation(self) -> str:
        return self.case.match.operation

    @property
    def body(self) -> Json:
        return self.case.body

    @property
    def errors(self) -> Sequence[Violation]:
        return self.case.errors


Decision = PassThrough | Annotate
