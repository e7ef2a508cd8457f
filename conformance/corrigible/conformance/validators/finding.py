"""A finding: one requirement that does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import zip_longest
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
    place: str = ""
    """A pointer into the answer, or a byte of it. What is left open is where expected and actual differ first."""

    @property
    def whole_place(self) -> str:
        """Return the place, or that of the first difference."""
        return self.place or _first_difference(self.expected, self.got)


def _first_difference(expected: Json | Absent, actual: Json | Absent) -> str:
    """Return the pointer below which two values differ first; of two texts, the byte."""
    match expected, actual:
        case Mapping(), Mapping():
            for name in [*expected, *(name for name in actual if name not in expected)]:
                left, right = expected.get(name, ABSENT), actual.get(name, ABSENT)
                if left != right:
                    inside = _first_difference(left, right)
                    step = "/" + str(name).replace("~", "~0").replace("/", "~1")
                    return f"{step}, {inside}" if inside.startswith("byte ") else step + inside
        case list(), list():
            for index, (left, right) in enumerate(zip_longest(expected, actual, fillvalue=ABSENT)):
                if left != right:
                    inside = _first_difference(left, right)
                    return f"/{index}, {inside}" if inside.startswith("byte ") else f"/{index}{inside}"
        case str(), str():
            left_bytes, right_bytes = (text.encode("utf-8", "surrogatepass") for text in (expected, actual))
            pairs = enumerate(zip_longest(left_bytes, right_bytes))
            return f"byte {next((at for at, (left, right) in pairs if left != right), 0)}"
        case _:
            pass
    return ""
