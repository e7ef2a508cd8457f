"""Whether a text, or what stands beside the sentence of an error, is an error: else it was sent, or exists already.

| beside the sentence                                    | what it is           |
|--------------------------------------------------------|----------------------|
| `"object": {"id": 7, "name": "ann", "note": "must..."}` | what exists          |
| `"data": {"name": "ann"}`                              | what was sent        |
| `"data": {"name": ["is required"]}`                    | errors by place      |
| `"info": {"reason": "must be longer", "name": "ann"}`  | an error             |

Knows: the body that was sent. Does not know: places, formats.
"""

from __future__ import annotations

import re
from typing import Final

from corrigible.schema.exchange import Json

from .error_shapes import CODES, SENTENCES

_COMPLAINING: Final = re.compile(
    r"\b(?:requir|missing|must|should|invalid|not|cannot|can't|expected|unknown|unexpected|too (?:long|short|"
    r"large|small)"
    r"|at least|at most|already|wrong|blank|empty|greater|less)",
    re.IGNORECASE,
)


def is_error_text(message: str) -> bool:
    """Whether a text is worded like an error, where nothing but its words tells it from a value."""
    return _COMPLAINING.search(message[:_MOST_LETTERS]) is not None


_MOST_LETTERS: Final = 500


_CODE_NAMES: Final = frozenset(CODES)
_OF_ERRORS: Final = frozenset(
    {
        *("pointer", "field", "fieldName", "field_name", "param", "parameter", "property", "loc", "reason", "errors"),
        *("violations", "constraint", "constraints", "rule", "keyword", "value", "issues"),
    }
)
"""Names that few resources have, but an error beside the value that it is about."""


def is_thing(value: Json, body: Json) -> bool:
    """Whether a value repeats a member of the body with its value, and has nothing that an error has.

    What another member of it says ("must be tidied up") is then no error, whatever its words.
    """
    if not isinstance(value, dict) or not isinstance(body, dict):
        return False
    if any(isinstance(value.get(name), str) and name not in body for name in SENTENCES):
        return False
    if any(name not in body for name in _OF_ERRORS.intersection(value)):
        return False
    return any(name not in _CODE_NAMES and _is_telling(sent) and value.get(name) == sent for name, sent in body.items())


def _is_telling(sent: Json) -> bool:
    """Whether a value is one that another thing does not have by chance: no flag, and not empty."""
    return isinstance(sent, str | int) and sent not in ("", True, False)
