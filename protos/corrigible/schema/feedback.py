"""The wire objects: the content of `recovery_feedback`, and how to read one from another writer.

Knows: members, words, JSON. Does not know: whether a writer may send it (`writer`), what a reader does with
it (`reader`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from . import word
from .error import ReaderError
from .exchange import Json

MEMBER: Final = "recovery_feedback"
"""The member name of feedback in a JSON object."""

SCHEMA: Final = "self-reflective-api/0.1"
"""The value of `schema`."""

MAX_DEPTH: Final = 24
"""Maximum nesting of a literal value: deeper ones exceed protobuf's limit of 100 messages."""

_MAX_INT: Final = 2**63 - 1


def _json(value: Json, depth: int = 0) -> Json:
    """Return `value` if every binding can encode it: finite numbers, limited nesting, valid Unicode."""
    if depth > MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    match value:
        case None | bool() | int():
            pass
        case str():
            _text(value)
        case float():
            if value != value or value in (float("inf"), float("-inf")):
                raise ValueError("not a finite number")
        case list():
            for item in value:
                _json(item, depth + 1)
        case dict():
            for name, item in value.items():
                if not isinstance(name, str):
                    raise ValueError("a member name is not text")
                _text(name)
                _json(item, depth + 1)
        case _:
            raise ValueError(f"{type(value).__name__} is not JSON")
    return value


def _text(value: str) -> str:
    try:
        value.isascii() or value.encode()
    except UnicodeEncodeError:
        raise ValueError("text with a lone surrogate") from None
    return value


def _whole(value: float) -> float:
    """7.0 seconds are written as 7."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


JsonValue = Annotated[Any, AfterValidator(_json)]
"""Any JSON value: a literal in a suggestion may be any."""

Text = Annotated[str, AfterValidator(_text)]
Members = Annotated[dict[str, Any], AfterValidator(_json)]
OptionalMembers = Annotated[Members, BeforeValidator(lambda value: {} if value is None else value)]
"""A null counts as absent."""
Seconds = Annotated[int | float, Field(ge=0, le=2**53), AfterValidator(_whole)]
Count = Annotated[int, Field(ge=0, le=_MAX_INT)]
ActionName = Annotated[str, Field(min_length=1), AfterValidator(_text), AfterValidator(str.upper)]


class Wire(BaseModel):
    """A JSON object of the contract. Unknown members are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, allow_inf_nan=False)

    def document(self) -> dict[str, Json]:
        """Return the JSON object to send: members in order, without defaults."""
        names = _members(type(self))
        return {names[k]: _plain(v) for k, v in vars(self).items() if v is not None and v != ()}


@cache
def _members(kind: type[Wire]) -> dict[str, str]:
    """Return the member name of every attribute: pydantic's own table is slow to walk."""
    return {name: info.alias or name for name, info in kind.model_fields.items()}


def _plain(value: Any) -> Json:
    if isinstance(value, Wire):
        return value.document()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.value if isinstance(value, word.Word) else value


class Retry(Wire):
    same_request: bool | None = None
    after_seconds: Seconds | None = None
    max_attempts: Count | None = None
    idempotency_key: word.IdempotencyKey | None = None


class Loop(Wire):
    fingerprint: Text | None = None
    """Caller, operation, error code and pointer; no values."""
    attempt: Count | None = None
    action: word.LoopAction | None = None


class PatchOperation(Wire):
    """One operation of RFC 6902 on the request document."""

    op: word.PatchVerb
    path: Text
    from_: Text | None = Field(default=None, alias="from")
    value: JsonValue = None
    """Absent and null differ: see `has_value`."""

    @property
    def has_value(self) -> bool:
        return "value" in self.model_fields_set

    def document(self) -> dict[str, Json]:
        return {**super().document(), "value": self.value} if self.has_value else super().document()


class StepRequest(Wire):
    """A request document to send first. It has no credentials: the sender adds the caller's own."""

    method: Text
    path: Text
    query: OptionalMembers = Field(default_factory=dict)
    headers: Annotated[dict[Text, Text], BeforeValidator(lambda value: {} if value is None else value)] = Field(
        default_factory=dict
    )
    body: JsonValue = None

    def document(self) -> dict[str, Json]:
        """Return the JSON object, without a query or headers that are empty."""
        out = super().document()
        return {k: v for k, v in out.items() if v != {} or k == "body"}


class Placeholder(Wire):
    """A value that the writer does not have."""

    pointer: Text
    """Where in the request document the value goes."""
    ask: word.Ask | None = None
    schema_: Members | None = Field(default=None, alias="schema")


class Verification(Wire):
    status: word.VerificationStatus
    method: word.VerificationMethod | None = None


class Confidence(Wire):
    basis: word.ConfidenceBasis
    value: Annotated[float, Field(ge=0, le=1)] | None = None
    successes: Count | None = None
    trials: Count | None = None

    @property
    def lower_bound(self) -> float | None:
        """The lower bound of the 95 % Wilson interval of the observed share; None without observations."""
        n, k = self.trials, self.successes
        if self.basis is not word.ConfidenceBasis.OBSERVED or not n or k is None or k > n:
            return None
        z2 = 1.959963984540054**2
        share = k / n
        centre = share + z2 / (2 * n)
        margin = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n)))
        return (centre - margin) / (1 + z2 / n)


class Safety(Wire):
    side_effects: word.SideEffects | None = None
    changes_intent: bool | None = None
    """The fix differs from what the user asked for."""
    requires_confirmation: bool | None = None
    loses: Annotated[tuple[Text, ...], BeforeValidator(lambda value: () if value is None else value)] = ()
    """Pointers into the request document to values that do not survive the edit."""


class Group(Wire):
    id: Text
    relation: word.Relation


class Evidence(Wire):
    kind: word.EvidenceKind
    rule: Text | None = None
    lookups: tuple[Text, ...] = ()
    pointer: Text | None = None


class Suggestion(Wire):
    action: ActionName
    base_action: ActionName | None = None
    message: Text | None = None
    parameters: Members = Field(default_factory=dict)
    patch: tuple[PatchOperation, ...] = ()
    steps: tuple[StepRequest, ...] = ()
    applicability: word.Applicability | None = None
    placeholders: tuple[Placeholder, ...] = ()
    verification: Verification | None = None
    confidence: Confidence | None = None
    safety: Safety | None = None
    group: Group | None = None
    evidence: Evidence | None = None

    @property
    def terminal(self) -> bool:
        """No next request follows from it."""
        return self.action in word.TERMINAL_ACTIONS or self.base_action in word.TERMINAL_ACTIONS

    @property
    def waits(self) -> bool:
        """The same request later: its parameters are no edit."""
        base_action = self.action if self.action in word.BASE_ACTIONS else self.base_action
        return base_action == word.BaseAction.WAIT_AND_RETRY

    @property
    def changes_intent(self) -> bool:
        return self.safety is not None and self.safety.changes_intent is True

    @property
    def loses(self) -> tuple[str, ...]:
        return self.safety.loses if self.safety is not None else ()

    @property
    def requires_confirmation(self) -> bool:
        return self.safety is not None and self.safety.requires_confirmation is True

    @property
    def needs_confirmation(self) -> bool:
        """Somebody has to agree first: a reader never sends it otherwise."""
        return self.requires_confirmation or self.changes_intent or bool(self.loses)

    @property
    def proven(self) -> bool:
        """There is enough evidence for `MACHINE_APPLICABLE`."""
        if self.verification is not None and self.verification.status is word.VerificationStatus.VERIFIED:
            return True
        seen = self.confidence
        low = seen.lower_bound if seen is not None else None
        return low is not None and low >= 0.9 and seen is not None and (seen.trials or 0) >= 20


class Feedback(Wire):
    schema_: Text | None = Field(default=None, alias="schema")
    type: word.FeedbackType
    message: Text
    recovery: word.Recovery | None = None
    retry: Retry | None = None
    loop: Loop | None = None
    suggestions: tuple[Suggestion, ...]


_DESCRIPTIVE: Final[Mapping[str, type[Wire] | type[str]]] = {
    "schema": str,
    "message": str,
    "loop": Loop,
    "verification": Verification,
    "confidence": Confidence,
    "evidence": Evidence,
}
"""Descriptive members: a malformed one is dropped, and the rest is read."""

_SUGGESTION_MEMBERS: Final = frozenset(Suggestion.model_fields)


def parse(obj: Json) -> Feedback:
    """Read an untrusted feedback object, or raise `ReaderError`.

    Unknown members are ignored, words are matched in any case, nulls count as absent, a missing `type` is
    `recovery_guidance`. A descriptive member that cannot be read is dropped; any other is an error, since
    guessing at an edit is worse than having none. In a suggestion without `parameters`, unknown members
    beside `action` are the parameters: the short form of the paper's figure 1.
    """
    members: dict[str, Json] = {
        "type": word.FeedbackType.RECOVERY_GUIDANCE,
        "message": "",
        **_readable(obj, "feedback"),
    }
    suggestions: Json = members.get("suggestions", [])
    if not isinstance(suggestions, list):
        raise ReaderError("/suggestions: not an array")
    members["suggestions"] = [_suggestion(item, index) for index, item in enumerate(suggestions)]
    try:
        return Feedback.model_validate(members)
    except ValidationError as error:
        raise ReaderError("; ".join(_lines(error))) from None


def _suggestion(obj: Json, index: int) -> dict[str, Json]:
    members = _readable(obj, f"/suggestions/{index}")
    if "parameters" not in members:
        members["parameters"] = {k: v for k, v in members.items() if k not in _SUGGESTION_MEMBERS}
    return members


def _readable(obj: Json, where: str) -> dict[str, Json]:
    """Return the members that are present, without malformed descriptive ones."""
    if not isinstance(obj, dict):
        raise ReaderError(f"{where}: not an object")
    out = {name: value for name, value in obj.items() if value is not None}
    for name, kind in _DESCRIPTIVE.items():
        if name in out and not _fits(out[name], kind):
            del out[name]
    return out


def _fits(value: Json, kind: type[Wire] | type[str]) -> bool:
    if not issubclass(kind, Wire):
        return isinstance(value, str)
    try:
        kind.model_validate(value)
    except ValidationError:
        return False
    return True


def _lines(error: ValidationError) -> list[str]:
    """Return the place and the problem, without the value: it may be anything."""
    return [
        f"/{'/'.join(str(part) for part in line['loc'])}: {line['msg']}"
        for line in error.errors(include_url=False, include_context=False, include_input=False)
    ]
