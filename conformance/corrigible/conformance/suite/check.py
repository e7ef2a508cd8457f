"""A check: a function that examines a subject and returns findings.

Knows: names of requirements, profiles and roles. Does not know: how anything is sent, run or reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from corrigible.conformance.model.profile import PROFILES, ROLES
from corrigible.conformance.validators.finding import Finding

from .subject import Subject


@dataclass(frozen=True, slots=True)
class Check:
    """A question to a subject. No findings means that the requirements hold as far as this can tell."""

    id: str
    """A path, such as `transparency/status-kept`: patterns select by its parts."""
    title: str
    requirements: tuple[str, ...]
    """Every finding is about one of these. Levels and MUST or SHOULD follow from them."""
    run: Callable[[Subject], Iterable[Finding]]
    profiles: frozenset[str] = field(default_factory=lambda: frozenset(PROFILES))
    roles: frozenset[str] = frozenset({"proxy"})

    def __post_init__(self) -> None:
        unknown = [*(self.profiles - set(PROFILES)), *(self.roles - set(ROLES))]
        if unknown:
            raise ValueError(f"{self.id}: no such profile or role: {', '.join(unknown)}")
        if not self.requirements:
            raise ValueError(f"{self.id}: a check holds some requirement")
