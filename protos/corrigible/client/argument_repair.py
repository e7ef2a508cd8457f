"""Arguments that a model gave in another shape than a tool has: what was meant, if only one thing can be.

Knows: the arguments and schemas of a tool. Does not know: requests, feedback.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from corrigible.schema.exchange import Json

from .tool import BODY, Tool

_NEAR: Final = 0.8
"""Of `difflib`: `titel` and `title` have 0.8."""
_DEEPEST: Final = 8


def mended(tool: Tool, arguments: Mapping[str, Json]) -> dict[str, Json] | None:
    """Return the arguments in the tool's shape; None if they have it, or if it is not clear what was meant.

    Put right are: JSON text for an object or a list, members of the body beside it, misspelt names, another name
    for the one argument that is left.
    """
    given = {name: _parsed(tool, name, value) for name, value in arguments.items()}
    unknown = [name for name in given if name not in tool.names]
    members = set(_members(tool, tool.body)) if tool.body is not None else set()
    for name in unknown:
        value = given.pop(name)
        body = given.get(BODY)
        in_body = body if isinstance(body, dict) else {}
        takes_members = tool.body is not None and isinstance(body, dict | None)
        free = [one for one in tool.names if one not in given]
        if takes_members and name in members and name not in in_body:
            given[BODY] = {**in_body, name: value}
        elif (near := nearest(name, free)) is not None:
            given[near] = _parsed(tool, near, value)
        elif takes_members and (near := nearest(name, members - in_body.keys())) is not None:
            given[BODY] = {**in_body, near: value}
        elif takes_members and body is None and isinstance(value, dict) and value and value.keys() <= members:
            given[BODY] = value  # the body under a name of its own
        elif takes_members and not members and len(tool.names) == 1:  # a body of any members
            given[BODY] = {**in_body, name: value}
        elif len(unknown) == len(free) == 1 and free[0] in tool.required and free[0] != BODY:  # it is the only one left
            given[free[0]] = value
        else:
            return None
    is_same = given.keys() == arguments.keys() and all(given[name] is arguments[name] for name in given)
    return None if is_same else given


def as_text(tool: Tool, arguments: Mapping[str, Json]) -> list[str]:
    """Return the arguments that are JSON text where the tool has an object or a list."""
    return [name for name, value in arguments.items() if _parsed(tool, name, value) is not value]


def _parsed(tool: Tool, argument: str, value: Json) -> Json:
    """Return what JSON text stands for where the argument is an object or a list."""
    if not isinstance(value, str) or argument not in tool.names:
        return value
    types = _types(tool, tool.schema_of(argument))
    if not types & {"object", "array"} or "string" in types:
        return value
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return parsed if isinstance(parsed, dict | list) else value


def _types(tool: Tool, schema: Mapping[str, Any]) -> set[str]:
    given = schema.get("type")
    types = {given} if isinstance(given, str) else set(given) if isinstance(given, list) else set()
    if not types and isinstance(schema.get("properties"), Mapping):
        types.add("object")
    for word in ("oneOf", "anyOf", "allOf"):
        for one in schema.get(word) or ():
            inner = tool.resolved(one).get("type")
            types |= {inner} if isinstance(inner, str) else set()
    return types


def _members(tool: Tool, schema: Any, depth: int = 0) -> Iterator[str]:
    plain = tool.resolved(schema)
    properties = plain.get("properties")
    yield from properties if isinstance(properties, Mapping) else ()
    for word in ("allOf", "oneOf", "anyOf"):
        for one in plain.get(word) or () if depth < _DEEPEST else ():
            yield from _members(tool, one, depth + 1)


def nearest(name: str, known: Collection[str]) -> str | None:
    """Return the one name that is near; None if there are several, or none."""
    plain = {one: _letters(one) for one in known}
    same = [one for one, letters in plain.items() if letters == _letters(name)]
    if same:
        return same[0] if len(same) == 1 else None
    near = [one for one, letters in plain.items() if difflib.get_close_matches(_letters(name), [letters], 1, _NEAR)]
    return near[0] if len(near) == 1 else None


def _letters(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
