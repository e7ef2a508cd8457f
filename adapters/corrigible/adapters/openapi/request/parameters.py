"""The parameters of a query as OpenAPI styles them, read from the names that were sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from corrigible.rules.budget import spend
from corrigible.rules.pointer import MISSING, escape, resolve, to_pointer
from corrigible.rules.safety.json_text import repaired_json
from corrigible.rules.schema_repair.json_schema import Schema, all_types, parts
from corrigible.rules.schema_repair.wire_text import read
from corrigible.schema.exchange import Json
from corrigible.schema.form import parameter_segments

from .schema_checks import Path, Spot

JSON: Final = "json"
"""In the place of a delimiter: the value was sent as JSON text."""
_DELIMITERS: Final = {"form": ",", "spaceDelimited": " ", "pipeDelimited": "|"}


class Sent(NamedTuple):
    """One declared parameter as it was sent."""

    value: Json
    """Of the type of its schema."""
    names: Mapping[str, str]
    """From a place inside the value (`/gte`) to the name it was sent by (`created[gte]`)."""
    joined: str = ""
    """The delimiter of the elements, where they were sent as one text."""
    text: Json = MISSING
    """What was sent, where it is JSON text."""
    is_valid: bool = True
    """False where the text is nearly JSON: `value` is what it holds."""
    head: str = ""
    """The name before the brackets, where an object was sent as `created[gte]`."""


def query_object(
    query: Mapping[str, Json], declared: Sequence[Mapping[str, Any]], root: Schema
) -> tuple[dict[str, Sent], list[str]]:
    """Return the declared parameters that were sent, and the names sent that are none of them."""
    left = dict(query)
    sent: dict[str, Sent] = {}
    spend(len(left) + len(declared))
    heads: dict[str, list[str]] = {}
    """The names sent with brackets, by the part before the brackets."""
    for name in left:
        head, bracket, _ = name.partition("[")
        if bracket:
            heads.setdefault(head, []).append(name)
    for one in declared:
        parameter = _sent(one, left, heads, root)
        if parameter is not None:
            sent[one["name"]] = parameter
    if not left:
        return sent, []
    free = {
        name
        for parameter in declared
        if parameter.get("explode", True) and parameter.get("style", "form") == "form"
        for part in parts(parameter["schema"], root)
        for name in part.get("properties", ())
    }
    return sent, [name for name in left if name not in free]


def delimiter_of(parameter: Mapping[str, Any]) -> str:
    """Return what separates the elements of a list in one text; empty where each is sent by itself."""
    style = parameter.get("style", "form")
    joined = style != "form" or parameter.get("explode") is False
    return _DELIMITERS.get(style, ",") if joined else ""


def _sent(
    parameter: Mapping[str, Any], left: dict[str, Json], heads: Mapping[str, list[str]], root: Schema
) -> Sent | None:
    name, schema = parameter["name"], parameter["schema"]
    style = parameter.get("style", "form")
    head = name.removesuffix("[]")
    bracketed = heads.get(head, ())
    if style == "deepObject" or head != name or any(sent in left for sent in bracketed):
        inside = {sent: left[sent] for sent in bracketed if sent in left and sent not in (name, head)}
        if inside or (name.endswith("[]") and name in left):
            return _bracketed(head, {**inside, **({name: left[name]} if name in left else {})}, left, schema, root)
    if name not in left:
        return None
    value = left.pop(name)
    place = {"": name}
    if parameter.get(JSON):
        return _json(value, place)
    if parameter.get("allowEmptyValue") and value == "":
        return Sent(MISSING, place)
    if "array" in all_types(schema, root) and isinstance(value, str):
        delimiter = delimiter_of(parameter) or ("," if _names_choices(value, schema, root) else "")
        if delimiter and delimiter in value:
            return Sent(read(value.split(delimiter), [schema], root), place, delimiter)
        return Sent(read(value, [schema], root, single=style != "deepObject"), place)
    if isinstance(value, list) and "array" not in all_types(schema, root):
        value = value[-1]  # what most servers take of a repeated name
        return Sent(read(value, [schema], root), place)
    return Sent(read(value, [schema], root), place)


def _names_choices(text: str, schema: Schema, root: Schema) -> bool:
    """Whether a text lists values of a closed list with commas, one of them wrong.

    Many servers split such a text, though their description says that each element is sent by itself.
    """
    if "," not in text:
        return False
    choices = {
        str(choice)
        for part in parts(schema, root)
        if isinstance(part.get("items"), dict)
        for item in parts(part["items"], root)
        for choice in item.get("enum", ())
    }
    known = [element in choices for element in text.split(",")]
    return any(known) and not all(known) and not any("," in choice for choice in choices)


def _json(value: Json, place: Mapping[str, str]) -> Sent:
    """Read a value that is sent as JSON text; what is not even nearly JSON stays text."""
    if not isinstance(value, str):
        return Sent(value, place, JSON, value)
    try:
        return Sent(orjson.loads(value), place, JSON, value)
    except orjson.JSONDecodeError:
        held = repaired_json(value)
        is_read = isinstance(held, dict | list)
        return Sent(held if is_read else value, place, JSON, value, is_valid=not is_read)


def _bracketed(head: str, inside: Mapping[str, Json], left: dict[str, Json], schema: Json, root: Schema) -> Sent:
    """Read `created[gte]=1`, `expand[]=a` and `expand[0]=a`."""
    array = "array" in all_types(schema, root)
    out: Any = [] if array else {}
    names: dict[str, str] = {"": next(iter(inside))}
    for sent, value in inside.items():
        left.pop(sent, None)
        segments = parameter_segments(sent)[1:]
        if array:
            for element in value if isinstance(value, list) else [value]:
                names[f"/{len(out)}"] = sent
                out.append(element)
            continue
        node = out
        for part in segments[:-1]:
            node = node.setdefault(part, {}) if isinstance(node, dict) else {}
        if isinstance(node, dict) and segments:
            node[segments[-1]] = value
        names[to_pointer(segments)] = sent
    return Sent(read(out, [schema], root), names, head="" if array else head)


def _is_absent(value: Json, path: Path) -> bool:
    return resolve(value, to_pointer(path)) is MISSING


def query_locate(query: Mapping[str, Json], sent: Mapping[str, Sent], path: Path) -> Spot:
    """Return the place in the request document of a place inside the declared parameters."""
    if not path:
        return Spot("/query", dict(query))
    name = str(path[0])
    parameter = sent.get(name)
    if parameter is None:
        return Spot(f"/query/{escape(name)}", query.get(name, MISSING))
    rest = list(path[1:])
    if parameter.joined == JSON and isinstance(parameter.text, str) and parameter.value is not parameter.text:
        inside = to_pointer(rest)
        return Spot(f"/query/{escape(parameter.names[''])}{inside}", resolve(parameter.value, inside))
    wire_name = parameter.head + "".join(f"[{part}]" for part in rest)
    if parameter.head and rest and _is_absent(parameter.value, rest) and wire_name not in query:
        return Spot(f"/query/{escape(wire_name)}", MISSING)
    while True:
        place = to_pointer(rest)
        if place in parameter.names:
            used = parameter.names[place]
            break
        if not rest:
            used = name
            break
        rest.pop()
    pointer = f"/query/{escape(used)}"
    further = to_pointer(path[1 + len(rest) :])
    inner = resolve(query.get(used), further) if further else MISSING
    if inner is not MISSING:
        return Spot(pointer + further, inner)
    if isinstance(query.get(used), list) and path[1:] and str(path[-1]).isdecimal():
        listed, index = query[used], int(path[-1])
        if index < len(listed):
            return Spot(f"{pointer}/{index}", listed[index])
    return Spot(pointer, query.get(used, MISSING))
