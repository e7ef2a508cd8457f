"""The files of an OpenAPI description, JSON or YAML, and what their `$ref`s point to.

YAML as OpenAPI means it: version 1.2, where `no`, `on` and `14:00` are texts.
`corrigible.rules.language.yaml_source` reads rule packs, and remembers lines: a description of ten megabytes needs none
of that.

A Swagger 2.0 document as OpenAPI 3.0, for what is read of a description: requests, and the schemas of refusals.
No library that is published for Python does it. References keep their texts: `#/definitions/Pet` is where it was.
Specification: https://spec.openapis.org/oas/v2.0
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

import orjson
import yaml

from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.language.yaml_source import composed, read_source
from corrigible.rules.pointer import MISSING, resolve
from corrigible.schema.exchange import Json

DEEPEST: Final = 200
_MOST: Final = 4_000_000
"""Values of a description with its aliases resolved: the largest known ones have half a million."""
_LONGEST_NUMBER: Final = 300
"""Digits: a number of more is infinite in JSON."""
_MERGE: Final = "<<"
# YAML 1.2.2, section 10.3.2
_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TRUTH: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER: Final = re.compile(r"[-+]?\d+")
_BASED: Final = re.compile(r"0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT: Final = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?")


def read_yaml(path: Path) -> Any:
    """Read one document. Raises AuthoringError with file and line."""
    try:
        text = path.read_text("utf-8")
        node = composed(text, path, deepest=DEEPEST, most=_MOST)
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        read_source(path)  # raises with the problem and its line
        raise AuthoringError(Place(path), "not YAML") from None
    return None if node is None else _Reading(path).value(node)


class _Reading:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[int, Any] = {}
        """By node: an alias is the value of its anchor."""

    def value(self, node: yaml.Node) -> Any:
        if isinstance(node, yaml.ScalarNode):
            value = _scalar(node)
            if value is None and node.value not in _NULL:
                raise self._error(node, f"a number of {len(node.value)} digits")
            return value
        if id(node) in self._known:
            return self._known[id(node)]
        if isinstance(node, yaml.SequenceNode):
            out: Any = [self.value(item) for item in node.value]
        else:
            out = self._mapping(node)
        self._known[id(node)] = out
        return out

    def _mapping(self, node: yaml.Node) -> dict[str, Any]:
        out: dict[str, Any] = {}
        merged: list[Any] = []
        for key, inner in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._error(key, "a key must be plain text")
            if key.value in out:
                raise self._error(key, f'key "{key.value}" stands twice')
            value = self.value(inner)
            if key.value == _MERGE and not key.style:
                merged += value if isinstance(value, list) else [value]
            else:
                out[key.value] = value
        for more in merged:
            if isinstance(more, dict):
                out = {**more, **out}
        return out

    def _error(self, node: yaml.Node, problem: str) -> AuthoringError:
        return AuthoringError(Place(self._path, node.start_mark.line + 1), problem)


def _scalar(node: yaml.ScalarNode) -> Any:
    """Return the value of a scalar; None also for a number that is too long."""
    text: str = node.value
    if node.style:  # quoted, or a block
        return text
    if text in _NULL:
        return None
    if text in _TRUTH:
        return _TRUTH[text]
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) <= _LONGEST_NUMBER else None
    if _BASED.fullmatch(text):
        return int(text, 0) if len(text) <= _LONGEST_NUMBER else None
    return float(text) if _FLOAT.fullmatch(text) else text


Follow = Callable[[Json], Json]
"""Returns a value, or what it refers to where it is a reference."""

_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch")
_FORM: Final = "application/x-www-form-urlencoded"
_MULTIPART: Final = "multipart/form-data"
_OF_PARAMETER: Final = frozenset({"name", "in", "description", "required", "collectionFormat", "allowEmptyValue"})
_STYLES: Final[Mapping[str, Mapping[str, Json]]] = {
    "csv": {"style": "form", "explode": False},
    "ssv": {"style": "spaceDelimited", "explode": False},
    "pipes": {"style": "pipeDelimited", "explode": False},
    "multi": {"style": "form", "explode": True},
}


def is_swagger2(document: Json) -> bool:
    return isinstance(document, Mapping) and str(document.get("swagger", "")).startswith("2.")


def as_openapi(document: Mapping[str, Json], follow: Follow) -> dict[str, Json]:
    """Return the same API as OpenAPI 3.0. What is no Swagger is left as it is: the compiler passes over it."""
    consumes, produces = _texts(document.get("consumes")), _texts(document.get("produces"))
    out: dict[str, Json] = {key: value for key, value in document.items() if key not in _REPLACED}
    out["openapi"] = "3.0.3"
    out["servers"] = _servers(document)
    schemes = document.get("securityDefinitions")
    if isinstance(schemes, Mapping):  # those of keys are written alike
        keys = {name: one for name, one in schemes.items() if isinstance(one, Mapping) and one.get("type") == "apiKey"}
        out["components"] = {"securitySchemes": keys}
    shared = document.get("parameters")
    if isinstance(shared, Mapping):
        out["parameters"] = {name: _parameter(one) for name, one in shared.items()}
    if isinstance(document.get("definitions"), Mapping):
        out["definitions"] = {name: _schema(one) for name, one in document["definitions"].items()}
    if isinstance(document.get("responses"), Mapping):
        out["responses"] = {name: _response(one, produces) for name, one in document["responses"].items()}
    paths = document.get("paths")
    if isinstance(paths, Mapping):
        out["paths"] = {template: _path_item(item, consumes, produces, follow) for template, item in paths.items()}
    return out


_REPLACED: Final = frozenset({"swagger", "host", "basePath", "schemes", "consumes", "produces", "securityDefinitions"})


def _servers(document: Mapping[str, Json]) -> list[Json]:
    base = document.get("basePath")
    base = base if isinstance(base, str) else ""
    host = document.get("host")
    if not isinstance(host, str) or not host:
        return [{"url": base or "/"}]
    return [{"url": f"{scheme}://{host}{base}"} for scheme in _texts(document.get("schemes")) or ["https"]]


def _path_item(item: Json, consumes: Sequence[str], produces: Sequence[str], follow: Follow) -> Json:
    if not isinstance(item, Mapping) or "$ref" in item:
        return item
    listed = _list(item.get("parameters"))
    bodies = [one for one in listed if _place(one, follow) in ("body", "formData")]
    out = {key: value for key, value in item.items() if key != "parameters"}
    out["parameters"] = [_parameter(one) for one in listed if one not in bodies]
    for method in _METHODS:
        operation = item.get(method)
        if isinstance(operation, Mapping):
            out[method] = _operation(operation, bodies, consumes, produces, follow)
    return out


def _operation(
    operation: Mapping[str, Json],
    shared: Sequence[Json],
    consumes: Sequence[str],
    produces: Sequence[str],
    follow: Follow,
) -> dict[str, Json]:
    listed = _list(operation.get("parameters"))
    own = [one for one in listed if _place(one, follow) in ("body", "formData")]
    out = {key: value for key, value in operation.items() if key not in ("parameters", "consumes", "produces")}
    out["parameters"] = [_parameter(one) for one in listed if one not in own]
    media = _texts(operation.get("consumes")) if "consumes" in operation else consumes
    # "A unique parameter is defined by a combination of a name and location" (path item object): the nearer one holds.
    bodies = [followed for one in (*shared, *own) if isinstance(followed := follow(one), Mapping)]
    body = next((one for one in reversed(bodies) if one.get("in") == "body"), None)
    form = {str(one.get("name")): one for one in bodies if one.get("in") == "formData"}
    if body is not None:
        schema = _schema(body.get("schema"))
        content = {name: {"schema": schema} for name in media or ["application/json"]}
        out["requestBody"] = {"required": body.get("required") is True, "content": content}
    elif form:
        out["requestBody"] = _form(form, media)
    responses = operation.get("responses")
    if isinstance(responses, Mapping):
        media = _texts(operation.get("produces")) if "produces" in operation else produces
        out["responses"] = {status: _response(one, media) for status, one in responses.items()}
    return out


def _form(form: Mapping[str, Mapping[str, Json]], media: Sequence[str]) -> dict[str, Json]:
    required = [name for name, one in form.items() if one.get("required") is True]
    schema: dict[str, Json] = {"type": "object", "properties": {name: _field(one) for name, one in form.items()}}
    if required:
        schema["required"] = required
    has_file = any(one.get("type") == "file" for one in form.values())
    allowed = [name for name in media if name == _MULTIPART or (name == _FORM and not has_file)]
    documented = allowed or [_MULTIPART if has_file else _FORM]
    return {"required": bool(required), "content": {name: {"schema": schema} for name in documented}}


def _parameter(one: Json) -> Json:
    """Return a parameter with its type under `schema`."""
    if not isinstance(one, Mapping) or "$ref" in one or one.get("in") in ("body", "formData"):
        return one
    out = {key: value for key, value in one.items() if key in _OF_PARAMETER and key != "collectionFormat"}
    out["schema"] = _typed(one)
    if one.get("type") == "array":
        written = str(one.get("collectionFormat", "csv"))
        if written not in _STYLES:
            out["schema"] = {}  # tabs: OpenAPI 3 has no style for it
        elif one.get("in") == "query":
            out.update(_STYLES[written])
        elif written != "csv":
            out["schema"] = {}
    return out


def _field(parameter: Mapping[str, Json]) -> Json:
    """Return the schema of a field of a form, with its description, as a parameter has it beside its schema."""
    told = parameter.get("description")
    typed = _typed(parameter)
    return {"description": told, **typed} if isinstance(told, str) and isinstance(typed, dict) else typed


def _typed(parameter: Mapping[str, Json]) -> Json:
    return _schema({key: value for key, value in parameter.items() if key not in _OF_PARAMETER})


def _response(response: Json, media: Sequence[str]) -> Json:
    if not isinstance(response, Mapping) or "schema" not in response:
        return response
    rest = {key: value for key, value in response.items() if key != "schema"}
    schema = _schema(response["schema"])
    return {**rest, "content": {name: {"schema": schema} for name in media or ["application/json"]}}


def _schema(schema: Json) -> Json:
    """Return a schema in the dialect of OpenAPI 3.0: `x-nullable` is `nullable`, a file is text."""
    if isinstance(schema, list):
        return [_schema(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    return dict(_members(schema))


def _members(schema: Mapping[str, Json]) -> Iterator[tuple[str, Any]]:
    for key, value in schema.items():
        if key == "x-nullable":
            yield "nullable", value
        elif key == "type" and value == "file":
            yield "type", "string"
        elif key in ("enum", "default", "example"):
            yield key, value
        elif key == "properties" and isinstance(value, Mapping):
            yield key, {name: _schema(inner) for name, inner in value.items()}
        elif key != "discriminator" or not isinstance(value, str):  # 2.0 names a member, 3.0 maps its values
            yield key, _schema(value)


def _place(parameter: Json, follow: Follow) -> Json:
    followed = follow(parameter)
    return followed.get("in") if isinstance(followed, Mapping) else None


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()


def _texts(value: Json) -> list[str]:
    return [one for one in _list(value) if isinstance(one, str)]


_LONGEST_CHAIN = 32


class Found(NamedTuple):
    """A value and its place: references inside it start from that file."""

    value: Json
    file: Path
    pointer: str


class SourceFiles:
    """The description's own file, and those in its folder or below that it refers to.

    Nothing is ever fetched, and no file elsewhere is read: a description may come from a stranger, and what it refers
    to would appear in suggestions.
    """

    def __init__(self, path: Path) -> None:
        """Read the description. Raises AuthoringError with file and line."""
        self.path = path
        self._read: dict[Path, Json] = {}
        self._folder = path.resolve().parent
        self.native = self.document_of(path)
        """The first document as it is written."""
        self.document = self.native
        """As OpenAPI 3: references lead into this one."""
        if is_swagger2(self.native):
            self.document = self._read[path] = as_openapi(self.native, lambda value: self.dereferenced(value, path)[0])

    def digests(self) -> dict[str, str]:
        """Return the further files that were read, relative to the first, and what was in them."""
        return {os.path.relpath(file, self.path.parent): digest(file) for file in self._read if file != self.path}

    def find(self, reference: Json, file: Path) -> Found | None:
        """Return what a `$ref` points to, through further references; None where it leads nowhere."""
        for _ in range(_LONGEST_CHAIN):
            if not isinstance(reference, str):
                return None
            place, _, fragment = reference.partition("#")
            if place:
                if not self.may_read(place, file):
                    return None
                file = file.parent / unquote(place)
            pointer = unquote(fragment)
            value = self._at(file, pointer)
            if value is MISSING:
                return None
            if not (isinstance(value, Mapping) and "$ref" in value and len(value) == 1):
                return Found(value, file, pointer)
            reference = value["$ref"]
        return None

    def may_read(self, place: str, file: Path) -> bool:
        """Whether the part of a `$ref` before `#` is a file in the folder of the description, or below."""
        if urlsplit(place).scheme or place.startswith("//"):
            return False
        return (file.parent / unquote(place)).resolve().is_relative_to(self._folder)

    def read(self, uri: str) -> Json:
        """Return the document of a file URI. Raises AuthoringError where it is not to be read, or is none."""
        split = urlsplit(uri)
        file = Path(unquote(split.path))
        if split.scheme != "file" or not file.resolve().is_relative_to(self._folder):
            raise AuthoringError(
                Place(self.path), f"{uri} is not read: only files in the description's folder or below are"
            )
        return self.document_of(file)

    def dereferenced(self, value: Json, file: Path) -> tuple[Json, Path]:
        """Return a value, or what it refers to where it is a reference."""
        if isinstance(value, Mapping) and "$ref" in value:
            target = self.find(value["$ref"], file)
            return (target.value, target.file) if target is not None else ({}, file)
        return value, file

    def _at(self, file: Path, pointer: str) -> Json:
        try:
            document = self.document_of(file)
        except AuthoringError:
            if file == self.path:
                raise
            return MISSING
        return resolve(document, pointer) if not pointer or pointer.startswith("/") else MISSING

    def document_of(self, file: Path) -> Json:
        """Return the document of a file that `may_read` allows. Raises AuthoringError where it is none."""
        if file not in self._read:
            self._read[file] = self._parsed(file)
        return self._read[file]

    def _parsed(self, file: Path) -> Json:
        if file != self.path and file.exists() and not file.is_file():
            # Reading a pipe that nobody writes to would never end.
            raise _unreadable(file, OSError(errno.EINVAL, "no regular file"))
        try:
            data = file.read_bytes().removeprefix(b"\xef\xbb\xbf")
        except OSError as problem:
            raise _unreadable(file, problem) from None
        if file.suffix == ".json" or data[:1] == b"{":
            try:
                return _not_too_deep(orjson.loads(data), file)
            except orjson.JSONDecodeError as problem:
                if file.suffix == ".json":
                    raise AuthoringError(Place(file, problem.lineno), f"not JSON: {problem.msg}") from None
        return read_yaml(file)


def _not_too_deep(document: Json, file: Path) -> Json:
    """Return a document that may be walked. Raises AuthoringError where it is nested too deep."""
    level = [document]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for node in level
            for inner in (node.values() if isinstance(node, dict) else node)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return document
    raise AuthoringError(Place(file), f"nested deeper than {DEEPEST} levels")


def digest(path: Path) -> str:
    """Name a file by its content. Raises AuthoringError where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as problem:
        raise _unreadable(path, problem) from None


def _unreadable(path: Path, problem: OSError) -> AuthoringError:
    reason = "no such file" if isinstance(problem, FileNotFoundError) else f"cannot be read: {problem.strerror}"
    return AuthoringError(Place(path, 0), reason)
