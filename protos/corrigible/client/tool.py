"""Operations of an API as tools for a model: names, argument schemas, and requests from arguments and back.

Knows: OpenAPI 3 documents, the arguments of a call. Does not know: agents' frameworks, HTTP libraries, feedback.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, unquote

from corrigible.schema.document import pointer_parts, scalar_text
from corrigible.schema.exchange import Json, Request

BODY: Final = "body"
"""The argument that is the body of the request."""
_METHODS: Final = ("get", "put", "post", "delete", "patch")
_OWN_HEADERS: Final = frozenset({"accept", "content-type", "authorization"})
"""OpenAPI 3, section 4.8.12.1: parameters of these names are ignored."""
_FORM: Final = "application/x-www-form-urlencoded"
_LEFT_OUT: Final = frozenset({"example", "examples", "externalDocs", "xml", "discriminator"})
"""Members of schemas that say nothing about what is allowed."""
_LONGEST_NAME: Final = 64
_LONGEST_DESCRIPTION: Final = 1000
_DEEPEST: Final = 64
_DECODINGS: Final = 3
_SEGMENT_ENDS: Final = re.compile(r"[/\\]")
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+")
_IN_BRACES: Final = re.compile(r"\{([^{}/]+)\}")


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
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        properties: dict[str, Any] = {one.argument: dict(one.schema) for one in self.parameters}
        required = [one.argument for one in self.parameters if one.is_required]
        if self.body is not None:
            properties[BODY] = dict(self.body)
            required += [BODY] if self.is_body_required else []
        schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        if required:
            schema["required"] = required
        return {**schema, "$defs": dict(self.definitions)} if self.definitions else schema

    def request(self, arguments: Mapping[str, Json]) -> Request:
        """Return the request of a call. Raises ArgumentProblem."""
        names = [one.argument for one in self.parameters] + ([BODY] if self.body is not None else [])
        unknown = [name for name in arguments if name not in names]
        if unknown:
            allowed = ", ".join(names) or "none"
            raise ArgumentProblem(f"{self.name} has no argument {', '.join(unknown)}. Its arguments are: {allowed}.")
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
        is_form = self.media_type == _FORM and body is not None
        if body is not None:
            headers["content-type"] = self.media_type
        return Request(self.method, path, query=query, headers=headers, body=body, form=is_form)

    def arguments(self, request: Request, sent: Request, original: Mapping[str, Json]) -> dict[str, Json] | None:
        """Return the arguments of a corrected request; None if this tool cannot make it.

        What the correction left as it was `sent` stays as it was among the `original` arguments.
        """
        in_path = _path_values(self.path, request.path)
        if request.method != self.method or in_path is None:
            return None
        before = _path_values(self.path, sent.path) or {}
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
            arguments[BODY] = request.body
        return arguments


def tools_of(document: Mapping[str, Any]) -> Iterator[Tool]:
    """Yield a tool for each operation of an OpenAPI 3 document, but for those with other bodies than JSON or forms."""
    taken = set[str]()
    paths = document.get("paths")
    for path, item in paths.items() if isinstance(paths, Mapping) else ():
        if not str(path).startswith("/"):  # behind an address, `@other.example` or `9` would be another host
            continue
        item = _resolved(document, item)
        for method in _METHODS:
            operation = item.get(method)
            if not isinstance(operation, Mapping):
                continue
            shared = _listed(item)
            tool = _tool(document, method, str(path), operation, shared, taken)
            if tool is not None:
                taken.add(tool.name)
                yield tool


def _tool(
    document: Mapping[str, Any],
    method: str,
    path: str,
    operation: Mapping[str, Any],
    shared: Sequence[Any],
    taken: set[str],
) -> Tool | None:
    body = _resolved(document, operation.get("requestBody") or {})
    content = _mapping(body.get("content"))
    media = _media_type(content)
    if content and media is None:
        return None
    used = dict[str, str]()
    parameters = tuple(_parameters(path, [_resolved(document, one) for one in (*shared, *_listed(operation))], used))
    schema = _schema(_mapping(content[media]).get("schema") or {}, used) if media is not None else None
    text = str(operation.get("description") or operation.get("summary") or f"{method.upper()} {path}")
    return Tool(
        name=_name(str(operation.get("operationId") or f"{method}{path}"), taken),
        description=" ".join(text.split())[:_LONGEST_DESCRIPTION],
        method=method.upper(),
        path=path,
        parameters=parameters,
        body=schema,
        is_body_required=bool(body.get("required")),
        media_type=(media or "").partition(";")[0].strip(),
        definitions=_definitions(document, used),
    )


def _listed(holder: Mapping[str, Any]) -> Sequence[Any]:
    listed = holder.get("parameters")
    return listed if isinstance(listed, list) else ()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _name(wanted: str, taken: Container[str]) -> str:
    """Return a name that agents' frameworks accept, and that no other tool or definition has."""
    name = _NO_NAME.sub("_", wanted).strip("_")[:_LONGEST_NAME] or "operation"
    number = 2
    unique = name
    while unique in taken:
        unique = f"{name[: _LONGEST_NAME - 4]}_{number}"
        number += 1
    return unique


def _media_type(content: Mapping[str, Any]) -> str | None:
    """Return the first media type that arguments can be written as: JSON, else a form."""
    plain = {name: name.partition(";")[0].strip().lower() for name in content}
    as_json = (name for name, media in plain.items() if media == "application/json" or media.endswith("+json"))
    as_form = (name for name, media in plain.items() if media == _FORM)
    return next(as_json, None) or next(as_form, None)


def _parameters(path: str, listed: Sequence[Mapping[str, Any]], used: dict[str, str]) -> Iterator[Parameter]:
    """Yield the parameters; those of the operation replace those of the path with the same name and place."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for parameter in listed:
        name, place = str(parameter.get("name")), str(parameter.get("in"))
        if place in ("path", "query", "header") and not (place == "header" and name.lower() in _OWN_HEADERS):
            found[name, place] = parameter
    for name in _IN_BRACES.findall(path):
        found.setdefault((name, "path"), {"schema": {"type": "string"}})
    arguments = {BODY}
    for (name, place), parameter in found.items():
        argument = name if name not in arguments else f"{place}_{name}"
        arguments.add(argument)
        schema = parameter.get("schema")
        if schema is None:  # OpenAPI 3, section 4.8.12.2: JSON as text
            schema = {"type": "string"}
        style = parameter.get("style", "form")
        yield Parameter(
            name=name,
            place=place,
            argument=argument,
            schema=_described(_schema(schema, used), parameter.get("description")),
            is_required=place == "path" or bool(parameter.get("required")),
            is_exploded=bool(parameter.get("explode", style == "form")),
            is_deep=style == "deepObject",
        )


def _described(schema: dict[str, Any], description: Any) -> dict[str, Any]:
    return schema if not description or "description" in schema else {**schema, "description": str(description)}


def _definitions(document: Mapping[str, Any], used: dict[str, str]) -> dict[str, Any]:
    """Return what the references lead to, by name, and what is referred to there: in turn, as chains may be long."""
    definitions = dict[str, Any]()
    while len(definitions) < len(used):
        for reference, name in list(used.items())[len(definitions) :]:
            definitions[name] = _schema(_at(document, reference), used)
    return definitions


def _schema(schema: Any, used: dict[str, str]) -> dict[str, Any]:
    """Return a schema whose references lead to `$defs`; `used` gets the name of each."""
    copied = _copied(schema, used, 0)
    return copied if isinstance(copied, dict) else {}


def _copied(node: Any, used: dict[str, str], depth: int) -> Any:
    if depth > _DEEPEST:
        return {}
    if isinstance(node, list):
        return [_copied(one, used, depth + 1) for one in node]
    if not isinstance(node, Mapping):
        return node
    reference = node.get("$ref")
    if isinstance(reference, str):
        if reference not in used:
            used[reference] = _name(unquote(reference.rpartition("/")[2]), used.values())
        return {"$ref": f"#/$defs/{used[reference]}"}
    return {key: _copied(inner, used, depth + 1) for key, inner in node.items() if key not in _LEFT_OUT}


def _resolved(document: Mapping[str, Any], node: Any) -> Mapping[str, Any]:
    """Follow references until there is none; an empty object where they lead nowhere."""
    for _ in range(_DEEPEST):
        if not isinstance(node, Mapping) or not isinstance(node.get("$ref"), str):
            break
        node = _at(document, node["$ref"])
    return node if isinstance(node, Mapping) else {}


def _at(document: Mapping[str, Any], reference: str) -> Any:
    node: Any = document
    for part in pointer_parts(unquote(reference.removeprefix("#"))) or () if reference.startswith("#/") else ("",):
        node = node.get(part) if isinstance(node, Mapping) else None
    return node


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


def _path_values(template: str, path: str) -> dict[str, str] | None:
    """Return what stands in the braces of a template; None if the path does not fit."""
    pattern = "".join(
        f"(?P<p{index // 2}>[^/]+)" if index % 2 else re.escape(part)
        for index, part in enumerate(_IN_BRACES.split(template))
    )
    match = re.fullmatch(pattern, path)
    if match is None:
        return None
    return {name: unquote(match[f"p{index}"]) for index, name in enumerate(_IN_BRACES.findall(template))}


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
