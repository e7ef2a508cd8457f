"""What a complaint states about its place beside its text: the keyword of its code, and its structured members."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from corrigible.rules.wordings import read
from corrigible.schema.exchange import Json

from .error_shapes import by_name, names
from .members import folded

KEYWORDS: Final = frozenset(names("keywords"))
_CODES: Final = by_name("codes")
_FAMILIES: Final = (
    (re.compile(r"(\w{1,40})\.openapi\.\w+"), ""),  # express-openapi-validator: the keyword itself
    (re.compile(r"(?:date|datetime|time|uuid|url)_(?:\w+_)?(?:parsing|type|past|future|scheme|version)"), "format"),
    (re.compile(r"(?:int|float|bool|string|list|dict|set|tuple|model|decimal)_(?:type|parsing|from_float)\w*"), "type"),
    (re.compile(r"type_error\..*"), "type"),
)
"""Codes of which there are many: pydantic's of types and forms."""
PYDANTIC_OF_LISTS: Final = {"too_short": "minItems", "too_long": "maxItems"}
_CLOSED_LISTS: Final = (*names("closed_lists"), "{{ choices }}")
"""Members that hold a closed list; the last one is Symfony's."""
_MOST_CHOICES: Final = 300
_LONGEST_CODE: Final = 60


def states_of(message: str) -> dict[str, Json]:
    """Return what the sentences of a text state; the first one counts where two state the same keyword."""
    stated: dict[str, Json] = {}
    for one in read(message).said:
        for keyword, value in one.states.items():
            stated.setdefault(keyword, value)
    return stated


def keyword_of(code: str) -> str:
    """Return the JSON Schema keyword that an error code of any framework stands for, empty where it is none."""
    if not code or len(code) > _LONGEST_CODE:
        return ""
    if code in KEYWORDS:
        return code
    if (keyword := _CODES.get(_plain(code))) is not None:
        return keyword
    for pattern, family in _FAMILIES:
        if (found := pattern.fullmatch(code)) is not None:
            return family or keyword_of(found[1])
    return ""


def stated_keywords(code: str, keyword: str, native: Mapping[str, Json], message: str) -> dict[str, Json]:
    """Return the JSON Schema keywords that a complaint states: its members before its text."""
    members = folded(native)
    for name in names("nested"):
        if isinstance(inner := members.get(name), dict):
            members |= folded(inner)
    expected = members.get("expected")
    stated = _listed(members, keyword)
    if not stated and isinstance(expected, str):
        stated = {name: value for name, value in states_of(f"must be {expected}").items() if name == "type"}
    stated = stated or states_of(message)
    if keyword in ("required", "additionalProperties"):
        stated.pop("type", None)
    return stated


def _plain(code: str) -> str:
    return "".join(one for one in code.lower() if one.isascii() and one.isalnum())


def _listed(members: Mapping[str, Json], keyword: str) -> dict[str, Json]:
    """Return the closed list of a member, which may be written in a text: pydantic's "'a', 'b' or 'c'"."""
    for name in _CLOSED_LISTS if keyword in ("", "enum") else ():
        value = members.get(name)
        listed = value if isinstance(value, list) else _options(value) if isinstance(value, str) else []
        is_list = 0 < len(listed) <= _MOST_CHOICES and not any(isinstance(one, dict | list) for one in listed)
        if is_list and (isinstance(value, list) or keyword == "enum" or len(listed) > 1):
            return {"enum": [*listed]}
    param = members.get("param")
    if keyword == "enum" and isinstance(param, str) and " " in param.strip():
        return {"enum": param.split()}  # Go's validator: `oneof=a b c`
    return {}


def _options(written: str) -> list[Json]:
    """Return the items of a list in a text, whatever joins them."""
    listed = states_of(f"must be one of: {written}").get("enum")
    return listed if isinstance(listed, list) else []


def fit_keywords(stated: Mapping[str, Json], value: Json) -> Mapping[str, Json]:
    """Name limits as those of the value: `max` of a list limits its elements, whatever the validator calls it.

    The form of a date is not that of a word.
    """
    if isinstance(value, str) and not _NUMERIC.fullmatch(value):
        return {_OF_TEXT.get(keyword, keyword): limit for keyword, limit in stated.items()}
    if isinstance(value, list):
        return {_OF_LIST.get(keyword, keyword): limit for keyword, limit in stated.items()}
    return stated


_NUMERIC: Final = re.compile(r"\s*[-+]?[\d.,]{1,40}\s*")
_OF_TEXT: Final[Mapping[str, str]] = {"minimum": "minLength", "maximum": "maxLength"}
_OF_LIST: Final[Mapping[str, str]] = {**_OF_TEXT, "minLength": "minItems", "maxLength": "maxItems"} | {
    "minimum": "minItems",
    "maximum": "maxItems",
}
