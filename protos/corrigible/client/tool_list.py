"""The operations of an API's description as tools.

Knows: OpenAPI 3 documents, JSON Schema. Does not know: calls, agents' frameworks.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

from corrigible.schema.document import is_credential_name, pointer_parts

from .path_template import IN_BRACES
from .tool import BODY, FORM, Parameter, Tool

_METHODS: Final = ("get", "put", "post", "delete", "patch")
_OWN_HEADERS: Final = frozenset({"accept", "content-type", "authorization"})
"""OpenAPI 3, section 4.8.12.1: parameters of these names are ignored."""
_LEFT_OUT: Final = frozenset({"example", "examples", "externalDocs", "xml", "discriminator"})
"""Members of schemas that say nothing about what is allowed."""
_BY_NAME: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Members of schemas whose own members are schemas under names of the API."""
_DATA: Final = frozenset({"enum", "const", "default", "required", "dependentRequired"})
"""Members of schemas that hold no schema."""
_LONGEST_NAME: Final = 64
_LONGEST_DESCRIPTION: Final = 1000
_DEEPEST: Final = 64
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+")
_KEY_OF_QUERY: Final = re.compile(r"(?i)(?:api|access)[_-]?(?:key|token)")


def credential_names(document: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of headers, parameters and cookies that are credentials by the description, in lower case."""
    schemes = _mapping(_mapping(document.get("components")).get("securitySchemes"))
    resolved = (_resolved(document, one) for one in schemes.values())
    return frozenset(str(one.get("name")).lower() for one in resolved if one.get("type") == "apiKey")


def tools_of(document: Mapping[str, Any]) -> Iterator[Tool]:
    """Yield a tool for each operation of an OpenAPI 3 document, but for those with other bodies than JSON or forms.

    Credentials are no arguments: the caller sends them, and no model sees them.
    """
    taken, credentials = set[str](), credential_names(document)
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
            tool = _tool(document, method, str(path), operation, shared, taken, credentials)
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
    credentials: frozenset[str],
) -> Tool | None:
    body = _resolved(document, operation.get("requestBody") or {})
    content = _mapping(body.get("content"))
    media = _media_type(content)
    if content and media is None:
        return None
    used = dict[str, str]()
    listed = [_resolved(document, one) for one in (*shared, *_listed(operation))]
    parameters = tuple(_parameters(path, [one for one in listed if not _is_credential(one, credentials)], used))
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
    as_form = (name for name, media in plain.items() if media == FORM)
    return next(as_json, None) or next(as_form, None)


def _parameters(path: str, listed: Sequence[Mapping[str, Any]], used: dict[str, str]) -> Iterator[Parameter]:
    """Yield the parameters; those of the operation replace those of the path with the same name and place."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for parameter in listed:
        name, place = str(parameter.get("name")), str(parameter.get("in"))
        if place in ("path", "query", "header") and not (place == "header" and name.lower() in _OWN_HEADERS):
            found[name, place] = parameter
    for name in IN_BRACES.findall(path):
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


def _is_credential(parameter: Mapping[str, Any], credentials: frozenset[str]) -> bool:
    name, place = str(parameter.get("name")), parameter.get("in")
    if place not in ("header", "query"):
        return False
    is_usual = is_credential_name(name) if place == "header" else _KEY_OF_QUERY.fullmatch(name) is not None
    return name.lower() in credentials or is_usual


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
    return {key: _member(key, inner, used, depth + 1) for key, inner in node.items() if key not in _LEFT_OUT}


def _member(key: str, inner: Any, used: dict[str, str], depth: int) -> Any:
    """Copy a member of a schema: a property may have the name of a keyword, and a value may look like a schema."""
    if key in _DATA:
        return inner
    if key in _BY_NAME and isinstance(inner, Mapping):
        return {name: _copied(one, used, depth + 1) for name, one in inner.items()}
    return _copied(inner, used, depth)


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
