"""A JSON object in a text that a server does not take: `filters={"nmae": ["x"]}`, whose description lists the names.

| the complaint                                     | the description lists `name=<name>`, ... | what follows   |
|---------------------------------------------------|------------------------------------------|----------------|
| `"nmae" is an invalid filter`                     | and one name is a slip away              | the other name |
| `json: cannot unmarshal string into ... []string` | and says `map[string][]string`           | lists of one   |

Knows: one complaint about a place, what is declared there. Does not know: how an answer is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from corrigible.rules.budget import spend
from corrigible.rules.safety.nearness import distance, nearest
from corrigible.schema.exchange import Json

from .json_schema import Schema

TOLD_NAMES: Final = "x-told-names"
"""In a schema of a text: the names that its description lists, one for each line, as those of the values in it."""
OF_LISTS: Final = "x-told-lists"
"""In a schema of a text: its description says that it is a JSON object of lists of texts."""
_NAMED: Final = re.compile(r"(?m)^[ \t]*[-*][ \t]+`?([A-Za-z][\w.-]{1,40})`?=")
_OF_LISTS: Final = re.compile(r"map\[string\]\[\]string")
_FEW: Final = 2
_MOST: Final = 64
_READ: Final = 4000
NOT_LISTS: Final = re.compile(r"cannot unmarshal string into Go value of type \[\]string")


def told_names(description: Json) -> dict[str, Json]:
    """Return what a description tells of the JSON object that a text holds, as members of its schema."""
    text = description[:_READ] if isinstance(description, str) else ""
    names = list(dict.fromkeys(_NAMED.findall(text)))[:_MOST]
    told: dict[str, Json] = {TOLD_NAMES: [*names]} if len(names) >= _FEW else {}
    return told | ({OF_LISTS: True} if _OF_LISTS.search(text) is not None else {})


def as_told(value: str, message: str, schema: Schema) -> str:
    """Return the text with the name, or in the form, that the description tells; empty where that is not sure."""
    names = schema.get(TOLD_NAMES)
    sent = _object(value) if names or schema.get(OF_LISTS) else {}
    if not sent:
        return ""
    if schema.get(OF_LISTS) and NOT_LISTS.search(message) is not None:
        return _written({name: [one] if isinstance(one, str) else one for name, one in sent.items()}, value)
    return _renamed(sent, value, message, [str(one) for one in names] if isinstance(names, list) else [])


def _renamed(sent: Mapping[str, Json], value: str, message: str, names: list[str]) -> str:
    spend(len(names) + len(sent))
    quoted = [one for one in sent if re.search(rf"(?<![\w.-]){re.escape(one)}(?![\w.-])", message) is not None]
    if len(quoted) != 1 or quoted[0] in names:
        return ""
    near = nearest(quoted[0], names)
    if len(near) != 1 or near[0] in sent or distance(quoted[0], near[0]) != 1:
        return ""
    return _written({near[0] if name == quoted[0] else name: one for name, one in sent.items()}, value)


def _object(text: str) -> Mapping[str, Json]:
    try:
        sent = json.loads(text) if text.lstrip().startswith("{") else {}
    except (ValueError, RecursionError):
        return {}
    return sent if isinstance(sent, dict) else {}


def _written(sent: Mapping[str, Json], before: str) -> str:
    """Return JSON with or without spaces, as it was before."""
    separators = (", ", ": ") if re.search(r'["\]}\d][:,] ', before) is not None else (",", ":")
    return json.dumps(sent, ensure_ascii=False, separators=separators)
