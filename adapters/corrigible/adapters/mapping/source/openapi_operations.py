"""OpenAPI 3 and Swagger 2.0 as canonical operations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from corrigible.adapters.mapping.operation import CanonicalOperation, Field
from corrigible.adapters.openapi.document.source_files import SourceFiles
from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.pointer import escape
from corrigible.schema.exchange import Json

from .api_document import ApiDocument
from .schema_fields import Body, SchemaFields, shortened

_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_SUCCESS: Final = re.compile(r"2(?:\d\d|XX)", re.IGNORECASE)
_PLACES: Final = ("path", "query", "header")
"""Cookies carry credentials: they are no arguments."""
_NO_ARGUMENTS: Final = frozenset({"accept", "content-type", "authorization"})
"""Headers that an OpenAPI description may not list as parameters (3.0.3, parameter object)."""
_LONGEST: Final = 1_500
"""Characters of a description."""
_PREFERRED: Final = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")


def read_openapi(path: Path, api: str = "") -> ApiDocument:
    """Read a description. Raises AuthoringError with file and line where it is none."""
    files = SourceFiles(path)
    document = files.document
    paths = document.get("paths") if isinstance(document, Mapping) else None
    if not isinstance(document, Mapping) or not isinstance(paths, Mapping):
        raise AuthoringError(Place(path), 'not an OpenAPI description: "paths" is missing')
    info = document.get("info")
    title, version = (_text(info.get(key)) for key in ("title", "version")) if isinstance(info, Mapping) else ("", "")
    name = api or " ".join(filter(None, (title, version))) or path.stem
    reader = _Reader(files, name)
    origin, base = _server(document)
    operations = tuple(reader.operations(paths))
    return ApiDocument(name=name, title=title, version=version, origin=origin, base=base, operations=operations)


def _server(document: Mapping[str, Json]) -> tuple[str, str]:
    """Return origin and base path of the first server; empty where they are relative or have variables."""
    first = next(iter(_list(document.get("servers"))), None)
    url = _text(first.get("url")) if isinstance(first, Mapping) else ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", ""
    if "{" in url or "@" in parts.netloc:
        return "", ""
    origin = f"{parts.scheme}://{parts.netloc}" if parts.scheme in ("http", "https") and parts.netloc else ""
    return origin, parts.path.rstrip("/")


class _Reader:
    def __init__(self, files: SourceFiles, api: str) -> None:
        self._files, self._api = files, api
        self._schemas = SchemaFields(files)

    def operations(self, paths: Mapping[str, Json]) -> Iterator[CanonicalOperation]:
        for template, entry in paths.items():
            item, file = self._files.dereferenced(entry, self._files.path)
            if not isinstance(item, Mapping) or not str(template).startswith("/"):
                continue
            for method in _METHODS:
                if isinstance(operation := item.get(method), Mapping):
                    yield self._operation(str(template).partition("#")[0], method.upper(), operation, item, file)

    def _operation(
        self, path: str, method: str, operation: Mapping[str, Json], item: Mapping[str, Json], file: Path
    ) -> CanonicalOperation:
        taken, taken_schema = self._request(operation, file)
        returned, returned_schema = self._result(operation, file)
        names = [*self._schemas.names(taken_schema), *self._schemas.names(returned_schema)]
        return CanonicalOperation(
            api=self._api,
            name=_text(operation.get("operationId")) or f"{method} {path}",
            method=method,
            path=path,
            summary=shortened(_text(operation.get("summary")) or _text(item.get("summary")), _LONGEST),
            description=shortened(_text(operation.get("description")) or _text(item.get("description")), _LONGEST),
            tags=tuple(str(tag) for tag in _list(operation.get("tags"))),
            deprecated=operation.get("deprecated") is True,
            arguments=(*self._parameters(operation, item, file), *taken.fields),
            results=returned.fields,
            schemas=tuple(dict.fromkeys(names)),
            left_out=taken.left_out + returned.left_out,
        )

    def _parameters(self, operation: Mapping[str, Json], item: Mapping[str, Json], file: Path) -> Iterator[Field]:
        seen: dict[str, Field] = {}
        for entry in (*_list(item.get("parameters")), *_list(operation.get("parameters"))):
            one, source = self._files.dereferenced(entry, file)
            if not isinstance(one, Mapping) or one.get("in") not in _PLACES or not isinstance(one.get("name"), str):
                continue
            place, name = str(one["in"]), str(one["name"])
            if place == "header" and name.lower() in _NO_ARGUMENTS:
                continue
            schema = one.get("schema")
            if schema is None and isinstance(content := one.get("content"), Mapping):
                schema = next((inner.get("schema") for inner in content.values() if isinstance(inner, Mapping)), None)
            pointer = f"/{place}/{escape(name.lower() if place == 'header' else name)}"
            seen[pointer] = self._schemas.single(
                schema, source, pointer, _text(one.get("description")),
                required=place == "path" or one.get("required") is True,
            )  # fmt: skip
        yield from seen.values()

    def _request(self, operation: Mapping[str, Json], file: Path) -> tuple[Body, Json]:
        body, file = self._files.dereferenced(operation.get("requestBody"), file)
        return self._content(body, file, "/body")

    def _result(self, operation: Mapping[str, Json], file: Path) -> tuple[Body, Json]:
        responses = operation.get("responses")
        if not isinstance(responses, Mapping):
            return Body((), 0), None
        statuses = sorted(status for status in responses if _SUCCESS.fullmatch(str(status)))
        for status in statuses or ["default"]:
            response, source = self._files.dereferenced(responses.get(status), file)
            body, schema = self._content(response, source, "/result")
            if schema is not None:
                return body, schema
        return Body((), 0), None

    def _content(self, holder: Json, file: Path, pointer: str) -> tuple[Body, Json]:
        content = holder.get("content") if isinstance(holder, Mapping) else None
        if not isinstance(content, Mapping):
            return Body((), 0), None
        schemas = {
            str(name): one["schema"] for name, one in content.items() if isinstance(one, Mapping) and "schema" in one
        }
        names = [
            *(name for name in _PREFERRED if name in schemas),
            *(name for name in schemas if "json" in name),
            *schemas,
        ]
        if not names:
            return Body((), 0), None
        return self._schemas.body(schemas[names[0]], file, pointer), schemas[names[0]]


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()
