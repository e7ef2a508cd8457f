"""The contract: request documents, feedback, vocabulary, and the reader that applies a suggestion.

Protobuf stays outside: import `corrigible.schema.convert` where it is wanted.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .error import ContractError, FeedbackError, ReaderError, VocabularyError
from .exchange import Exchange, Json, Request
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

if TYPE_CHECKING:
    from .carrier import find
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
    from .reader import Choice, NeedsInput, Next, Terminal, apply
    from .vocabulary import Action, Vocabulary
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

_MODULES = [
    "cache",
    "carrier",
    "credential_name",
    "command_line",
    "content_encoding",
    "convert",
    "document",
    "edit",
    "error",
    "exchange",
    "extra",
    "feedback",
    "printable",
    "reader",
    "v0_1",
    "vocabulary",
    "word",
    "writer",
]
"""Modules that others may import by their name; the rest is private."""
_HOMES = ("carrier", "feedback", "reader", "vocabulary", "writer")
"""Imported when one of their names is asked for: a proxy that only needs `Exchange` pays for no models."""


def __getattr__(name: str) -> object:
    if name in __all__:
        for home in _HOMES:
            module = import_module(f".{home}", __name__)
            if hasattr(module, name):
                globals()[name] = found = getattr(module, name)
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
