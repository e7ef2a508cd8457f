"""What a process does about itself: its memory, its name, the children of its children, and its file descriptors.

Knows: Linux. The name and the children are left alone on other systems.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Final

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]  # checked in both functions

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NAME: Final = 15
_PR_SET_CHILD_SUBREAPER: Final = 36
_LONGEST: Final = 15
"""Bytes of a name that the kernel keeps."""


def keep_what_exists() -> None:
    """Have the collector leave alone what exists now, which stays: it need not walk all of that again and again.

    Call it before a fork: each page that the collector writes to would be copied.
    """
    gc.collect()
    gc.freeze()


def name_process(name: str) -> None:
    """Have `ps -o comm` and `top` show this name: else all that were forked have the one of the command."""
    _prctl(_PR_SET_NAME, name.encode()[:_LONGEST])


def adopt_orphans() -> None:
    """Be the parent of all processes below this one whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent(signal: int) -> None:
    """Have this process sent a signal when the parent ends. Look afterwards whether it has ended before."""
    _prctl(_PR_SET_PDEATHSIG, signal)


def _prctl(option: int, argument: int | bytes) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, argument, 0, 0, 0)


CONNECTIONS: Final = 1 << 14
"""Of callers. Above this number idle ones are closed."""
_OWN: Final = 64
"""What a process has open for itself."""


def raise_limit() -> None:
    """Raise the limit as far as the system allows: the usual 1,024 serve 500 callers, with two each."""
    if resource is None:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):  # some systems report a limit that they do not grant
        return


def scarcity_threshold() -> int:
    """Return the descriptor number from which on they are scarce. The system assigns the lowest free number."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if resource is not None else 1 << 14
    if resource is not None and soft == resource.RLIM_INFINITY:
        return 1 << 20
    return soft - soft // 8


def most_connections() -> int:
    """Return how many callers one process can serve at once, with a connection to the API for each."""
    return max(8, min(CONNECTIONS, (scarcity_threshold() - _OWN) // 2))
