"""What a caller allows to be sent when a request is refused.

Knows: the three ways, their bounds, what is asked. Does not know: how it is asked or sent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypedDict, TypeVar, Unpack

from corrigible.schema.exchange import Json
from corrigible.schema.feedback import Placeholder, Suggestion
from corrigible.schema.reader import Choice
from corrigible.schema.word import Applicability

_Word = TypeVar("_Word", bound=StrEnum)


class OnRefusal(StrEnum):
    """What follows a refusal that has feedback."""

    EXPLAIN = "explain"
    """Nothing is sent; the error's text shows the correction."""
    REPAIR = "repair"
    """What is MACHINE_APPLICABLE (or at least `cap`) and needs no confirmation is sent; the rest is explained."""
    CONFIRM = "confirm"
    """As REPAIR; `confirm` decides about the rest."""


@dataclass(frozen=True, slots=True)
class Question:
    """What only the caller or its user knows: a value, or which of several corrections is meant."""

    message: str
    placeholder: Placeholder | None = None
    """Where the value goes, and its schema. The answer is the value."""
    choices: tuple[Choice, ...] = ()
    """The answer is the `index` of one of them."""


Confirm = Callable[[Suggestion], bool | Awaitable[bool]]
Ask = Callable[[Question], Json | Awaitable[Json]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What may be sent without, and what only after asking. The default explains and sends nothing."""

    on_refusal: OnRefusal | str = OnRefusal.EXPLAIN
    confirm: Confirm | None = None
    """Whether the user agrees to a correction. Called for each that may not be sent by itself."""
    ask: Ask | None = None
    """The answer to a `Question`, or None for no answer. Without it, questions are part of the explanation."""
    cap: Applicability | str = Applicability.MACHINE_APPLICABLE
    """The least sure applicability that is sent unasked, as in `apply`. MAYBE_INCORRECT is a deliberate choice."""
    max_corrections: int = 2
    """How often a call is sent again, at most."""
    max_wait: float = 30
    """Seconds; a longer wait is explained."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "on_refusal", _word(OnRefusal, "on_refusal", self.on_refusal))
        object.__setattr__(self, "cap", _word(Applicability, "cap", self.cap))
        if self.cap is Applicability.HAS_PLACEHOLDERS:
            raise ValueError("cap='HAS_PLACEHOLDERS': values that are missing are asked for")
        if self.on_refusal is OnRefusal.CONFIRM and self.confirm is None:
            raise ValueError("on_refusal='confirm' needs a `confirm` function")


def _word(words: type[_Word], member: str, value: str) -> _Word:
    """Return the word that a value is, or is the text of. Raises ValueError with the words."""
    try:
        return words(value)
    except ValueError:
        allowed = ", ".join(repr(str(word)) for word in words)
        raise ValueError(f"{member}={value!r}: give one of {allowed}") from None


class PolicyMembers(TypedDict, total=False):
    """The members of a Policy, as adapters take them."""

    on_refusal: OnRefusal | str
    confirm: Confirm | None
    ask: Ask | None
    cap: Applicability | str
    max_corrections: int
    max_wait: float


def policy_of(policy: Policy | None, **members: Unpack[PolicyMembers]) -> Policy:
    """Return the policy that an adapter was given: whole, or by its members (`on_refusal="repair"`)."""
    if policy is None:
        return Policy(**members)
    if members:
        raise TypeError(f"give a Policy, or {', '.join(members)}, but not both")
    return policy
