"""Agents that are scripts and say so: they show that feedback is sufficient and safe, never what a model makes of it."""

from __future__ import annotations

from typing import Final

from ..move import Agent
from .patch_executor import PatchExecutor

AGENTS: Final[tuple[Agent, ...]] = (PatchExecutor(),)
"""All of them, in the order of reports."""
