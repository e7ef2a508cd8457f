"""The kind of a value that a text says it met: `Bad JSON value: float`, `expected a string, got null`.

Knows: one text and the values that were sent. Does not know: formats, descriptions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from corrigible.rules.budget import spend
from corrigible.schema.exchange import Json

from .sent_values import SentValue

_LONGEST: Final = 2000
_COMPARED_A_STEP: Final = 8
_KIND: Final = (
    r"(?P<kind>null|nil|nonetype|none|undefined|bool(?:ean)?|float(?:ing point)?|double|decimal|number|int(?:eger)?|"
    r"string|str|array|list|sequence|object|dict(?:ionary)?|map)"
)
_MET: Final = (
    re.compile(
        rf"(?i)\b(?:got|received|found|given|unexpected|unsupported|disallowed|forbidden|(?:bad|invalid|illegal)"
        rf"(?: json)? (?:type|value)|(?:unsupported|unexpected) (?:json )?(?:type|value))[ :]+(?:an? |type |value )?"
        rf"['\"`]?{_KIND}\b(?! (?:of|value of|format|literal))"
    ),
    re.compile(rf"(?i)^{_KIND}s?(?: values?)? (?:is|are) not (?:allowed|supported|permitted|accepted)\b"),
)
_IS_OF: Final[Mapping[str, Callable[[Json], bool]]] = {
    **dict.fromkeys(("null", "nil", "none", "nonetype", "undefined"), lambda value: value is None),
    **dict.fromkeys(("bool", "boolean"), lambda value: isinstance(value, bool)),
    **dict.fromkeys(("float", "floating point", "double", "decimal"), lambda value: isinstance(value, float)),
    **dict.fromkeys(
        ("number", "int", "integer"), lambda value: isinstance(value, int | float) and not isinstance(value, bool)
    ),
    **dict.fromkeys(("string", "str"), lambda value: isinstance(value, str)),
    **dict.fromkeys(("array", "list", "sequence"), lambda value: isinstance(value, list)),
    **dict.fromkeys(("object", "dict", "dictionary", "map"), lambda value: isinstance(value, dict)),
}


def place_by_kind(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only place of the body that holds a value of the kind that a text says it met, else nothing."""
    text = message[:_LONGEST]
    match = next(filter(None, (pattern.search(text) for pattern in _MET)), None)
    if match is None:
        return ""
    spend(len(sent) // _COMPARED_A_STEP)
    is_of = _IS_OF[match["kind"].lower()]
    places = [one.pointer for one in sent if one.path[:1] == ("body",) and is_of(one.value)]
    return places[0] if len(places) == 1 else ""


def only_number(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only value of the body that is no text, and a number, where a text says that some type is wrong."""
    if _WRONG_TYPE.search(message[:_LONGEST]) is None:
        return ""
    spend(len(sent) // _COMPARED_A_STEP)
    others = [
        one
        for one in sent
        if one.path[:1] == ("body",) and not isinstance(one.value, str | Mapping | list) and one.value is not None
    ]
    is_one = len(others) == 1 and not isinstance(others[0].value, bool)
    return others[0].pointer if is_one else ""


_WRONG_TYPE: Final = re.compile(r"(?i)\b(?:bad|wrong|invalid|incorrect) (?:\w+ ){0,2}type\b(?! of (?:content|media))")
