"""The arms: how much of a response the agent sees. Names only; `apply` implements them."""

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
    """Control: the feedback with plausible wrong values. Measures blind obedience."""
    LENGTH = "length-matched"
    """Control: the verbose response, padded with empty words to the length of the reflective one."""

    @property
    def mode(self) -> str:
        """The mode asked of the proxy: `Prefer: recovery-feedback=MODE`."""
        match self:
            case Arm.NONE | Arm.TRADITIONAL | Arm.VERBOSE:
                return self.value
            case _:
                return "reflective"


WRONG_ON_PURPOSE: Final = frozenset({Arm.SHUFFLED, Arm.NOISE})
"""Arms with wrong suggestions: harm there shows how well the agent checks them."""
