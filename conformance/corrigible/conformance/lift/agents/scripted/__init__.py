"""Scripted agents.

They show that feedback is sufficient and safe, never how a model uses it. No agent knows its arm: its moves follow
from the briefing, the seed and the responses alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from corrigible.conformance.lift.agents.protocol import Agent
from corrigible.conformance.model.usage_error import UsageError, did_you_mean

from .enumerator import Enumerator
from .gullible import Gullible
from .informed import Informed
from .literal_merge import LiteralMerge
from .message_regex import MessageRegex
from .mis_merger import MisMerger
from .noisy_literal import NoisyLiteral
from .patch_executor import PatchExecutor
from .repeating import Oscillator, Stubborn

AGENTS: Final[tuple[Agent, ...]] = (
    LiteralMerge(),
    PatchExecutor(),
    Informed(),
    Enumerator(),
    MessageRegex(),
    Stubborn(),
    Oscillator(),
    MisMerger(),
    Gullible(),
)
"""All of them, in the order of reports."""

SCRIPTED: Final[Mapping[str, Agent]] = MappingProxyType({agent.name: agent for agent in AGENTS})
"""By name. `named` knows those that take a number as well."""

_NOISY: Final = re.compile(r"noisy-literal\((0(?:\.\d+)?|1(?:\.0+)?)\)")


def named(name: str) -> Agent:
    """Return a scripted agent: one of SCRIPTED, or `noisy-literal(P)`. Raises UsageError where there is none."""
    if (noisy := _NOISY.fullmatch(name)) is not None:
        return NoisyLiteral(float(noisy[1]))
    names = (*SCRIPTED, "noisy-literal(0.25)")
    if name not in SCRIPTED:
        raise UsageError(f"no scripted agent is called {name!r}{did_you_mean(name, names)}")
    return SCRIPTED[name]
