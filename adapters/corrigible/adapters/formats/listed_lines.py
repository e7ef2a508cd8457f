"""Complaints that a text lists one a line under a heading, each behind the name of what it is about.

    Invalid input data:
    - quantity: expected number, received string

The names are those of the object that the heading names, `inputData`, or else of the only place that ends in them.

Knows: texts of errors, requests. Does not know: descriptions, what a complaint says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from corrigible.adapters.formats.message.sent_values import fold
from corrigible.rules.pointer import escape, to_pointer, value_at
from corrigible.rules.safety.decisive import words
from corrigible.schema.exchange import Request

from .pointers import steps
from .sent_places import find_sent, sent_places

_LISTED: Final = re.compile(
    r"^(?P<heading>[^\n]{1,300}):[ \t]*\n+(?P<lines>(?:[ \t]*[-*•][ \t]+[^\n]{1,400}(?:\n|$))+)"
)
_LINE: Final = re.compile(r"[-*•][ \t]+(?P<name>[A-Za-z_$][\w$.\[\]-]{0,119}): (?P<complaint>\S[^\n]{0,399})")
_MOST: Final = 32
_MOST_WORDS: Final = 3
"""Of a heading that may be the name of a member."""


class Complaint(NamedTuple):
    pointer: str
    text: str


def listed_complaints(message: str, request: Request) -> list[Complaint]:
    """Return the complaints of a text with their places; none where one of them has no place."""
    listed = _LISTED.match(message)
    if listed is None or not isinstance(request.body, Mapping) or request.form:
        return []
    lines = [_LINE.fullmatch(line.strip()) for line in listed["lines"].splitlines()[:_MOST]]
    around = _around(listed["heading"], request)
    sent = () if around else list(sent_places(request))
    out: list[Complaint] = []
    for line in lines:
        if line is None:
            return []
        names = steps(line["name"])
        place = around + to_pointer(names) if around else find_sent("body", names, sent)
        if not place:
            return []
        out.append(Complaint(place, line["complaint"]))
    return out


def _around(heading: str, request: Request) -> str:
    """Return the place of the object in the body that a heading ends with the name of, empty where there is none."""
    last = words(heading)[-_MOST_WORDS:]
    endings = {fold("".join(last[at:])) for at in range(len(last))}
    members = request.body if isinstance(request.body, Mapping) else {}
    named = [f"/body/{escape(str(name))}" for name in members if fold(str(name)) in endings]
    objects = [one for one in named if isinstance(value_at(request, one), Mapping)]
    return objects[0] if len(objects) == 1 else ""
