"""Patterns that select checks: globs over the parts of a path.

`transparency/*`, `**/status-kept`, `grpc:core/message` for one profile, or a requirement's id.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from .check import Check


def matches(pattern: str, check: Check, column: str) -> bool:
    """Whether a pattern means this check of a column: by all of its path, or by a folder above it."""
    profile_name, colon, glob = pattern.partition(":")
    if not colon:
        glob = pattern
    elif not fnmatchcase(column, profile_name):
        return False
    if any(fnmatchcase(clause.lower(), glob.lower()) for clause in check.requirements):
        return True
    parts, pattern_parts = check.id.split("/"), glob.strip("/").split("/")
    return _match(pattern_parts, parts) or any(_match(pattern_parts, parts[:depth]) for depth in range(1, len(parts)))


def _match(pattern_parts: Sequence[str], parts: Sequence[str]) -> bool:
    """`*` stands within one part, `**` for any number of whole parts."""
    if not pattern_parts:
        return not parts
    first, *rest = pattern_parts
    if first == "**":
        return any(_match(rest, parts[skipped:]) for skipped in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], first) and _match(rest, parts[1:])
