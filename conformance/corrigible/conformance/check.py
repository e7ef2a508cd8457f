"""What a check is: a question to a subject, and the findings that answer it.

Knows: names of requirements, profiles and roles. Does not know: how anything is sent, run or reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal

from corrigible.schema.exchange import Json

if TYPE_CHECKING:
    from .subject import Subject
    from .wire import Sent

PROFILES: Final = (
    "http-json",
    "problem+json",
    "grpc",
    "kubernetes-api",
    "kubernetes-webhook",
    "graphql",
    "mcp",
    "recipe",
)
ROLES: Final = ("producer", "proxy", "consumer", "pack")


class Absent(Enum):
    """Stands where there is no value at all, since None is one."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


class NotApplicable(Exception):
    """The subject has nothing that this check is about. The message says what."""


class CouldNotTell(Exception):
    """The question could not be put: nobody answered, or the set-up failed. The message says why."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as a requirement says."""

    requirement: str
    said: str
    """A sentence that a stranger understands."""
    expected: Json | Absent = ABSENT
    got: Json | Absent = ABSENT
    sent: Sent | None = None
    """What was sent when it showed: printed as a line that does it again."""
    line: str | None = None
    """That line itself, where it is no curl: grpcurl, or a command."""


Role = Literal["producer", "proxy", "consumer", "pack"]


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
