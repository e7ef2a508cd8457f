"""File descriptors: raise the limit, and tell from which number on they are scarce.

Knows: the system's limits. Does not know: connections.
"""

from __future__ import annotations

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]  # checked in both functions


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
