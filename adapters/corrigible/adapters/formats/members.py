"""The members of one native error: its texts, and those that no field of a violation holds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from corrigible.schema.exchange import Json

_FIELDS: Final = frozenset({"code", "message", "pointer", "constraint", "type", "param"})


def text(members: Mapping[str, Json], *names: str) -> str:
    """Return the first of some members that is a text or a number, as text; empty where none is."""
    for name in names:
        if name in members and isinstance(value := members[name], (str, int, float)):
            return str(value)
    return ""


def with_plain_message(members: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the members with the sentence of OData's `{"message": {"lang": "en-US", "value": "..."}}` as a text."""
    for name in ("message", "Message"):
        inner = members.get(name)
        if isinstance(inner, dict) and isinstance(inner.get("value"), str) and inner.keys() <= {"lang", "value"}:
            return {**members, name: _ABOUT_THE_CALL.sub("", inner["value"])}
    return members


_ABOUT_THE_CALL: Final = re.compile(r"(?i)(?:\n(?:request-?id|time|date|host-?id|trace-?id): ?\S{1,100})+\s*$")
"""Lines behind the sentence that tell which call it was."""


def others(members: Mapping[str, Json]) -> dict[str, Json]:
    """Return the members that are called like no field of a violation."""
    return {name: value for name, value in members.items() if name not in _FIELDS}


def without_namespace(code: str) -> str:
    """Return the code in what AWS's protocols write: `com.x#Y` and `Y:http://x/` are `Y`, and so is `Y;Sender`."""
    match = _AWS_CODE.fullmatch(code)
    return code if match is None else match["code"]


_AWS_CODE: Final = re.compile(r"(?:[\w.-]{1,200}#)?(?P<code>[\w.-]{1,200})(?:[:;].{0,300})?")
