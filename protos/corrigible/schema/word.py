"""The enumerations of the contract. Written in the canonical case, read in any case."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Word(StrEnum):
    """An enumeration value, looked up case-insensitively."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        folded = value.casefold()
        return next((member for member in cls if member.value.casefold() == folded), None)


class FeedbackType(Word):
    RECOVERY_GUIDANCE = "recovery_guidance"
    INTENT_DISAMBIGUATION = "intent_disambiguation"
    """Closed choices: the caller picks one."""
    CONFIDENCE_SIGNAL = "confidence_signal"
    """Information only: there is nothing to send again."""


class Recovery(Word):
    CORRECTABLE = "correctable"
    TRANSIENT = "transient"
    TERMINAL = "terminal"


class BaseAction(Word):
    """The actions that every reader knows. Packs register more, each based on one of these."""

    MODIFY_PARAMS = "MODIFY_PARAMS"
    WAIT_AND_RETRY = "WAIT_AND_RETRY"
    USE_ALTERNATIVE_ENDPOINT = "USE_ALTERNATIVE_ENDPOINT"
    RESOLVE_PRECONDITION = "RESOLVE_PRECONDITION"
    ALREADY_DONE = "ALREADY_DONE"
    ESCALATE = "ESCALATE"
    NO_RECOVERY_AVAILABLE = "NO_RECOVERY_AVAILABLE"


BASE_ACTIONS = frozenset(BaseAction)
TERMINAL_ACTIONS = frozenset({BaseAction.ALREADY_DONE, BaseAction.ESCALATE, BaseAction.NO_RECOVERY_AVAILABLE})
"""Each is the only suggestion: there is no next request."""


class Applicability(Word):
    """The levels of rustc's suggestions."""

    MACHINE_APPLICABLE = "MACHINE_APPLICABLE"
    MAYBE_INCORRECT = "MAYBE_INCORRECT"
    HAS_PLACEHOLDERS = "HAS_PLACEHOLDERS"
    UNSPECIFIED = "UNSPECIFIED"


class IdempotencyKey(Word):
    REUSE = "reuse"
    NEW = "new"
    NONE = "none"


class LoopAction(Word):
    NONE = "none"
    NEXT_ALTERNATIVE = "next_alternative"
    RELAX_STRUCTURE = "relax_structure"
    ESCALATE = "escalate"


class PatchVerb(Word):
    ADD = "add"
    REMOVE = "remove"
    REPLACE = "replace"
    MOVE = "move"
    COPY = "copy"
    TEST = "test"


class Ask(Word):
    AGENT = "agent"
    USER = "user"


class VerificationStatus(Word):
    VERIFIED = "verified"
    REFUTED = "refuted"
    UNVERIFIED = "unverified"
    NOT_POSSIBLE = "not_possible"


class VerificationMethod(Word):
    SCHEMA = "schema"
    DRY_RUN = "dry_run"
    LOOKUP = "lookup"


class ConfidenceBasis(Word):
    AUTHOR = "author"
    SPEC = "spec"
    OBSERVED = "observed"
    CORPUS = "corpus"


class SideEffects(Word):
    NONE = "none"
    POSSIBLE = "possible"
    CERTAIN = "certain"


class Relation(Word):
    ALL = "all"
    ONE_OF = "one_of"
    SEQUENCE = "sequence"


class EvidenceKind(Word):
    RULE = "rule"
    SPEC = "spec"
    LOOKUP = "lookup"
    MAPPING = "mapping"
    RELAYED = "relayed"
    """Written by someone behind the API: untrusted."""
    ANSWER = "answer"
    """The rejecting response itself stated what is allowed there."""
