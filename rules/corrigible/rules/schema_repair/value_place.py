"""The place of a value in a request, as far as it decides how the value may be repaired."""

from __future__ import annotations

from typing import NamedTuple

from corrigible.rules.pointer import segments
from corrigible.schema.exchange import Request


class Place(NamedTuple):
    """What matters about the place of a value."""

    name: str = ""
    text: bool = False
    """Scalars are text on the wire."""
    reads: bool = False
    """The call only reads."""
    wraps: bool = True
    """A list can be distinguished from one value there (it cannot in a query)."""
    whole: bool = False
    """It is the whole body."""
    exact: bool = True
    """The text of a fraction there is the text that was sent."""


def place_of(pointer: str, request: Request) -> Place:
    """Return the facts of a value's place."""
    part, *names = segments(pointer) or [""]
    while names and names[-1].isdecimal():
        names.pop()
    return Place(
        name=names[-1] if names else "",
        text=part in ("query", "headers", "path") or (part == "body" and request.form),
        reads=request.method in ("GET", "HEAD"),
        wraps=part == "body",
        whole=pointer == "/body",
        exact=not request.has_other_numbers,
    )
