"""File descriptors: how many there are, and from which number on they count as scarce.

Knows: the system's limits. Does not know: connections.
"""

from __future__ import annotations

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]  # said once, here


def raise_limit() -> None:
    """Take as many as the system lets us have: the usual 1,024 are two for each of 500 callers."""
    if resource is None:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):  # some systems name a limit that they do not grant
        return


def scarce() -> int:
    """Return the number of the descriptor from which on they are scarce. The system gives the lowest free one."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if resource is not None else 1 << 14
    if resource is not None and soft == resource.RLIM_INFINITY:
        return 1 << 20
    return soft - soft // 8
