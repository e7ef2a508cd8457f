"""One operation of an API as a tool for a model: the schema of its arguments, and requests from arguments and back.

Knows: styles of parameters, the arguments of a call. Does not know: descriptions, HTTP libraries, feedback.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, unquote

from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Request

from .explanation import name_line
from .policy import path_values

BODY: Final = "body"
"""The argument that is the body of the request."""
FORM: Final = "application/x-www-form-urlencoded"
_DECODINGS: Final = 3
_LONGEST_NAME: Final = 200
_MOST_NAMES: Final = 40
_MOST_REFERENCES: Final = 64
_SEGMENT_ENDS: Final = re.compile(r"[/\\]")


class ArgumentProblem(ValueError):
    """Arguments of which no request can be made; the text is for the model."""


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    place: str
    """`path`, `query` or `header`."""
    argument: str
    """Its name among the arguments: another one if two parameters share theirs."""
    schema: Mapping[str, Any] = field(default_factory=dict)
    is_required: bool = False
    is_exploded: bool = True
    is_deep: bool = False
    """Written as `name[member]=...`."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One operation."""

    name: str
    description: str
    method: str
    path: str
    """The template: `/v1/charges/{charge}`."""
    parameters: tuple[Parameter, ...]
    body: Mapping[str, Any] | None = None
    """The schema of the body; None if it takes none."""
    is_body_required: bool = False
    media_type: str = ""
    definitions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names of the arguments."""
        return [one.argument for one in self.parameters] + ([BODY] if self.body is not None else [])

    @property
    def required(self) -> list[str]:
        """The names of the arguments that have to be given."""
        names = [one.argument for one in self.parameters if one.is_required]
        return [*names, BODY] if self.body is not None and self.is_body_required else names

    def schema_of(self, argument: str) -> Mapping[str, Any]:
        """Return the schema of an argument, without a reference at its top."""
        schema = self.body if argument == BODY else None
        schema = schema or next((one.schema for one in self.parameters if one.argument == argument), {})
        return self.resolved(schema)

    def resolved(self, schema: Any) -> Mapping[str, Any]:
        for _ in range(_MOST_REFERENCES):
            reference = schema.get("$ref") if isinstance(schema, Mapping) else None
            if not isinstance(reference, str):
                break
            schema = self.definitions.get(reference.removeprefix("#/$defs/"))
        return schema if isinstance(schema, Mapping) else {}

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        properties: dict[str, Any] = {one.argument: dict(one.schema) for one in self.parameters}
        if self.body is not None:
            properties[BODY] = dict(self.body)
        schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        if self.required:
            schema["required"] = self.required
        return {**schema, "$defs": dict(self.definitions)} if self.definitions else schema

    def request(self, arguments: Mapping[str, Json]) -> Request:
        """Return the request of a call. Raises ArgumentProblem."""
        unknown = [name for name in arguments if name not in self.names]
        if unknown:
            allowed = names_line(self.names) or "none"
            which = f"argument{'s' if len(unknown) > 1 else ''} {names_line(unknown)}"
            raise ArgumentProblem(f"{self.name} has no {which}. Its arguments are: {allowed}.")
        path, query, headers = self.path, dict[str, Json](), dict[str, str]()
        for parameter in self.parameters:
            value = arguments.get(parameter.argument)
            if value is None:
                if parameter.place == "path":
                    raise ArgumentProblem(f"{self.name} needs the argument {parameter.argument}.")
                continue
            if parameter.place == "path":
                if isinstance(value, (dict, list)) or value == "":
                    raise ArgumentProblem(f"The argument {parameter.argument} of {self.name} is one text or number.")
                path = path.replace(f"{{{parameter.name}}}", quote(scalar_text(value), safe=""))
            elif parameter.place == "header":
                headers[parameter.name.lower()] = scalar_text(value)
            else:
                query |= _in_query(parameter, value)
        if _has_dot_segment(path):
            raise ArgumentProblem(f"The arguments of {self.name} lead to another path: '.' and '..' name no resource.")
        body = arguments.get(BODY)
        is_form = self.media_type == FORM and body is not None
        if body is not None:
            headers["content-type"] = self.media_type
        return Request(self.method, path, query=query, headers=headers, body=body, form=is_form)

    def arguments(self, request: Request, sent: Request, original: Mapping[str, Json]) -> dict[str, Json] | None:
        """Return the arguments of a corrected request; None if this tool cannot make it.

        What the correction left as it was `sent` stays as it was among the `original` arguments.
        """
        in_path = path_values(self.path, request.path)
        if request.method != self.method or in_path is None:
            return None
        before = path_values(self.path, sent.path) or {}
        arguments: dict[str, Json] = {}
        names = set[str]()
        for parameter in self.parameters:
            if parameter.place == "path":
                value: Json = in_path[parameter.name]
                unchanged = before.get(parameter.name) == value
            elif parameter.place == "header":
                value = request.headers.get(parameter.name.lower())
                unchanged = sent.headers.get(parameter.name.lower()) == value
            else:
                value, used = _from_query(parameter, request.query)
                names |= used
                unchanged = _from_query(parameter, sent.query)[0] == value
            if unchanged and parameter.argument in original:
                arguments[parameter.argument] = original[parameter.argument]
            elif value is not None:
                arguments[parameter.argument] = _typed(value, parameter.schema)
        if request.query.keys() - names:
            return None
        if request.body is not None:
            if self.body is None:
                return None
            arguments[BODY] = _as_written(request.body, original.get(BODY)) if sent.form else request.body
        return arguments


def names_line(names: Sequence[str]) -> str:
    """Return names of somebody else's as a part of a line, with where it is cut."""
    shown = ", ".join(name_line(one[:_LONGEST_NAME]) for one in names[:_MOST_NAMES])
    return shown + (f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else "")


def _has_dot_segment(path: str) -> bool:
    """Whether a client, a proxy or a server that unescapes it would leave a segment of the path."""
    for _ in range(_DECODINGS):
        path = unquote(path)
    return any(segment in (".", "..") for segment in _SEGMENT_ENDS.split(path))


def _in_query(parameter: Parameter, value: Json) -> dict[str, Json]:
    """OpenAPI 3, section 4.8.12.3: the styles `form` and `deepObject`."""
    match value:
        case list() if parameter.is_exploded:
            return {parameter.name: [scalar_text(one) for one in value]}
        case list():
            return {parameter.name: ",".join(map(scalar_text, value))}
        case dict() if parameter.is_deep:
            return {f"{parameter.name}[{name}]": scalar_text(inner) for name, inner in value.items()}
        case dict():
            return {name: scalar_text(inner) for name, inner in value.items()}
    return {parameter.name: scalar_text(value)}


def _from_query(parameter: Parameter, query: Mapping[str, Json]) -> tuple[Json, set[str]]:
    """Return the value of a parameter, and the names of the query that it is made of."""
    if parameter.is_deep:
        start = f"{parameter.name}["
        found = {name[len(start) : -1]: value for name, value in query.items() if name.startswith(start)}
        return found or None, {f"{start}{name}]" for name in found}
    if parameter.name not in query:
        members = parameter.schema.get("properties") if parameter.is_exploded else None
        found = {name: query[name] for name in members if name in query} if isinstance(members, Mapping) else {}
        return found or None, set(found)
    value = query[parameter.name]
    if parameter.schema.get("type") == "array" and isinstance(value, str):
        value = [value] if parameter.is_exploded else list(value.split(","))
    return value, {parameter.name}


def _as_written(value: Json, original: Json) -> Json:
    """Return a value of a form, in which every scalar is text, with what it shares with the arguments as it was."""
    if isinstance(value, Mapping):
        old = original if isinstance(original, Mapping) else {}
        return {name: _as_written(inner, old.get(name)) for name, inner in value.items()}
    if isinstance(value, list):
        old_items = original if isinstance(original, list) else []
        return [_as_written(one, old_items[i] if i < len(old_items) else None) for i, one in enumerate(value)]
    if original is None or isinstance(original, Mapping | list):
        return value
    if scalar_text(original) == scalar_text(value):
        return original
    return _typed(value, {"type": _TYPES.get(type(original))})


_TYPES: Final[Mapping[type, str]] = {bool: "boolean", int: "integer", float: "number"}


def _typed(value: Json, schema: Mapping[str, Any]) -> Json:
    """Return a text of a path, a query or a header as the type that the argument has."""
    if isinstance(value, list):
        items = schema.get("items")
        return [_typed(one, items if isinstance(items, Mapping) else {}) for one in value]
    if not isinstance(value, str):
        return value
    match schema.get("type"):
        case "integer" if re.fullmatch(r"-?\d{1,18}", value):
            return int(value)
        case "number" if re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", value):
            return float(value)
        case "boolean" if value in ("true", "false"):
            return value == "true"
    return value


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
