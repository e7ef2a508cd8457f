"""Look-ups as values: a rule yields what it wants to know, a front end performs it and sends the answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lookup:
    """One GET on the upstream's own origin, with the caller's own credentials."""

    path: str
    """Path and query."""


@dataclass(frozen=True, slots=True)
class LookupAnswer:
    """What came back. `status` 0 stands for no answer at all (time-out, refused, over the cap)."""

    status: int
    body: bytes = b""
