"""The arms: how much of an answer reaches the agent. Names only; what each does to an answer is in `shown`."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Arm(StrEnum):
    """One treatment or control. The agent never sees its name."""

    NONE = "none"
    """The native answer, byte for byte."""
    TRADITIONAL = "traditional"
    VERBOSE = "verbose"
    REFLECTIVE = "reflective"
    """The core contract: type, message, suggestions with action, message and parameters. No patches, no steps."""
    PATCHES = "reflective-patches"
    """All of the feedback."""
    SHUFFLED = "shuffled"
    """Control: well-formed feedback of another task, of the same domain where there is one."""
    NOISE = "noise"
    """Control: this feedback with its values exchanged for plausible wrong ones. Measures blind obedience."""
    LENGTH = "length-matched"
    """Control: the verbose answer, as long as the reflective one would be, in words that say nothing."""

    @property
    def mode(self) -> str:
        """What the proxy is asked for: `Prefer: recovery-feedback=MODE`."""
        match self:
            case Arm.NONE | Arm.TRADITIONAL | Arm.VERBOSE:
                return self.value
            case _:
                return "reflective"


WRONG_ON_PURPOSE: Final = frozenset({Arm.SHUFFLED, Arm.NOISE})
"""Arms whose suggestions are wrong: harm there shows what checks on the agent's side are worth."""
