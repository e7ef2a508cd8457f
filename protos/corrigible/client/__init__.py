"""For programs that call APIs: explains the corrections in refused answers, and sends them where that is allowed.

Each HTTP library or SDK has a module of its name, which is imported where it is wanted: `corrigible.client.httpx`,
`.requests`, `.stripe`, `.github`, `.grpc`. `.openai` and `.anthropic` give the operations of an API to models as tools.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
_HOMES = ("answer", "correction", "driver", "explanation", "policy", "sent_request")
"""Imported when one of their names is asked for: a proxy needs one other module, and 2 MB less."""


def __getattr__(name: str) -> object:
    for home in _HOMES if name in __all__ else ():
        if hasattr(module := import_module(f".{home}", __name__), name):
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
