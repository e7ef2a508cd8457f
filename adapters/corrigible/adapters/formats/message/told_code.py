"""The code of google.rpc that a text has in words, where a service chose none: Go's plain errors arrive as UNKNOWN.

Knows: one text. Does not know: requests, descriptions. A text is no proof: it is good for a question.
"""

from __future__ import annotations

import re
from typing import Final

_READ: Final = 500


def written_code(message: str) -> str:
    """Return the code that a text has in words, of several the last: what is outside only wraps it."""
    written = ["".join(found) for found in _WRITTEN.findall(message[:_READ])]
    return _SPELLED.get(written[-1].replace("_", "").upper(), "") if written else ""


_SPELLED: Final = {
    one.replace("_", ""): one
    for one in ("INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "FAILED_PRECONDITION", "OUT_OF_RANGE")
}
"""Codes that are about the request, whoever sends them; of others it is not clear whose call they are about."""
_WRITTEN: Final = re.compile(
    r"\b(?:code ?= ?)([A-Z][A-Za-z]+)\b|\b([A-Z]{2,20}(?:_[A-Z]{2,20}){1,2}|INTERNAL|UNKNOWN)(?=:|\W*$)"
)
