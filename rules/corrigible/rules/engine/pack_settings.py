"""What a pack says once for all its rules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PackSettings:
    """The part of pack.yaml that rules are evaluated with."""

    lookups: tuple[tuple[str, ...], ...] = ()
    """Allow-listed path templates, split at `/`."""
    reading_posts: tuple[tuple[str, ...], ...] = ()
    """The same of paths that are read by POST."""
    lookup_headers: tuple[tuple[str, str | None], ...] = ()
    """Headers of look-ups, names in lower case; one without a value has the request's own."""
    idempotency_header: str = ""
    """Lower case; empty where the API has none."""
    secrets: frozenset[str] = frozenset()
    path_members: frozenset[str] = frozenset()
    """Members of look-ups whose values stand for several segments of a path."""
    decisive: frozenset[str] = frozenset()
    """Names of members that are not to be guessed, nor their values, besides those known by their words."""
    tokens: frozenset[str] = frozenset()
    """Members and headers (lower case) that hold a version of what is stored, or an idempotency key."""
