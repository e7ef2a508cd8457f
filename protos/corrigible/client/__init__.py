"""For programs that call APIs: explains the corrections in refused answers, and sends them where that is allowed.

Each HTTP library or SDK has a module of its name, which is imported where it is wanted: `corrigible.client.httpx`,
`.requests`, `.stripe`, `.github`, `.grpc`. `.openai` and `.anthropic` give the operations of an API to models as tools.
"""

from __future__ import annotations

from .answer import Answer
from .correction import Outcome
from .driver import run, run_async
from .explanation import explain
from .policy import OnRefusal, Policy, Proposal, Question
from .sent_request import SentRequest

__all__ = [
    "Answer",
    "OnRefusal",
    "Outcome",
    "Policy",
    "Proposal",
    "Question",
    "SentRequest",
    "explain",
    "run",
    "run_async",
]
_MODULES = [
    "answer",
    "anthropic",
    "credentials",
    "explanation",
    "github",
    "grpc",
    "guard",
    "httpx",
    "langchain",
    "openai",
    "policy",
    "requests",
    "stripe",
    "toolset",
]
"""Modules that others may import by their name; the rest is private."""
