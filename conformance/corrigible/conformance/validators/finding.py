"""A finding: one requirement that does not hold."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from corrigible.conformance.transport.http1 import HttpRequest
from corrigible.schema.exchange import Json


class Absent(Enum):
    """Marks a missing value, since None is a value."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as a requirement says."""

    requirement: str
    message: str
    """A sentence that a stranger understands."""
    expected: Json | Absent = ABSENT
    got: Json | Absent = ABSENT
    sent: HttpRequest | None = None
    """The request that showed it: printed as a curl line."""
    line: str | None = None
    """The command line that shows it again, where it is no curl."""
