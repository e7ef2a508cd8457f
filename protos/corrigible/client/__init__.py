"""For programs that call APIs: explains the corrections in refused answers, and sends them where that is allowed.

Each HTTP library or SDK has a module of its name, which is imported where it is wanted: `corrigible.client.httpx`,
`.requests`, `.stripe`, `.github`, `.grpc`. `openai` and `anthropic` give the operations of an API to models as tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .answer import Answer
from .correction import Outcome
from .driver import run, run_async
from .explanation import explain
from .policy import OnRefusal, Policy, Proposal, Question
from .sent_request import SentRequest

if TYPE_CHECKING:
    from .agents import anthropic, openai

__all__ = [
    "Answer",
    "OnRefusal",
    "Outcome",
    "Policy",
    "Proposal",
    "Question",
    "SentRequest",
    "anthropic",
    "explain",
    "openai",
    "run",
    "run_async",
]


def __getattr__(name: str) -> Any:
    """Only who calls tools pays for httpx."""
    if name not in ("anthropic", "openai"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import agents

    return getattr(agents, name)
