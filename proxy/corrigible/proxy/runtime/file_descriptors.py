"""File descriptors: raise the limit, and tell from which number on they are scarce.

Knows: the system's limits. Does not know: connections.
"""

from __future__ import annotations

from typing import Final

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]  # checked in both functions

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
