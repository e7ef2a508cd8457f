"""The contract: request documents, feedback, vocabulary, and the reader that applies a suggestion.

Protobuf stays outside: import `corrigible.schema.convert` where it is wanted.
"""

from __future__ import annotations

from .error import ContractError, FeedbackError, ReaderError, VocabularyError
from .exchange import Exchange, Json, Request
from .feedback import (
    MAX_DEPTH,
    MEMBER,
    SCHEMA,
    Confidence,
    Evidence,
    Feedback,
    Group,
    Loop,
    PatchOperation,
    Placeholder,
    Retry,
    Safety,
    StepRequest,
    Suggestion,
    Verification,
    parse,
)
from .reader import Choice, NeedsInput, Next, Terminal, apply, find
from .vocabulary import Action, Vocabulary
from .word import (
    BASE_ACTIONS,
    TERMINAL_ACTIONS,
    Applicability,
    Ask,
    BaseAction,
    ConfidenceBasis,
    EvidenceKind,
    FeedbackType,
    IdempotencyKey,
    LoopAction,
    PatchVerb,
    Recovery,
    Relation,
    SideEffects,
    VerificationMethod,
    VerificationStatus,
)
from .writer import validate

__all__ = [
    "BASE_ACTIONS",
    "MAX_DEPTH",
    "MEMBER",
    "SCHEMA",
    "TERMINAL_ACTIONS",
    "Action",
    "Applicability",
    "Ask",
    "BaseAction",
    "Choice",
    "Confidence",
    "ConfidenceBasis",
    "ContractError",
    "Evidence",
    "EvidenceKind",
    "Exchange",
    "Feedback",
    "FeedbackError",
    "FeedbackType",
    "Group",
    "IdempotencyKey",
    "Json",
    "Loop",
    "LoopAction",
    "NeedsInput",
    "Next",
    "PatchOperation",
    "PatchVerb",
    "Placeholder",
    "ReaderError",
    "Recovery",
    "Relation",
    "Request",
    "Retry",
    "Safety",
    "SideEffects",
    "StepRequest",
    "Suggestion",
    "Terminal",
    "Verification",
    "VerificationMethod",
    "VerificationStatus",
    "Vocabulary",
    "VocabularyError",
    "apply",
    "find",
    "parse",
    "validate",
]
