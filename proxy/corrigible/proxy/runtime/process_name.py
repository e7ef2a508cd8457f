"""What `ps` and `top` call a process that was forked: else all have the name of the command.

Knows: Linux. Does nothing on other systems.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Final

_PR_SET_NAME: Final = 15
_LONGEST: Final = 15
"""Bytes that the kernel keeps."""


def name_process(name: str) -> None:
    """Name this process, as `ps -o comm` shows it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode()[:_LONGEST], 0, 0, 0)
