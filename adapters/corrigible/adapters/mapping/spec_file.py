"""Any file or folder that describes APIs, by what is in it.

ToolBench's JSON as canonical operations: a tool's file, and the APIs that a file of queries lists.
A tool's file (`toolenv/tools/<category>/<tool>.json`) has `tool_name` and `api_list` with `name`, `url`, `method`,
`required_parameters` and `optional_parameters`. A file of queries (`instruction/G1_query.json`) has the same of each
API without its URL, with `api_name` and `template_response`.
Source: https://github.com/OpenBMB/ToolBench, `data_example/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import orjson

from corrigible.adapters.openapi.source_files import SourceFiles
from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.pointer import escape
from corrigible.schema.exchange import Json

from .openapi_operations import read_openapi, shortened
from .operation import ApiDocument, CanonicalOperation, Field

_TYPES: Final = {
    **dict.fromkeys(("string", "str", "text", "enum", "date (yyyy-mm-dd)", "time (24-hour hh:mm)"), "string"),
    **dict.fromkeys(("number", "float"), "number"),
    **dict.fromkeys(("int", "integer"), "integer"),
    **dict.fromkeys(("bool", "boolean"), "boolean"),
    **dict.fromkeys(("array", "list", "empty list"), "array"),
    **dict.fromkeys(("object", "dict", "map"), "object"),
}
"""Their words, and those of the skeletons of answers."""
_VARIABLE: Final = re.compile(r"\{([^{}]+)\}|(?<=/):(\w+)")
_MOST: Final = 500
_DEEPEST: Final = 10


def is_toolbench(document: Json) -> bool:
    """Whether a document is one tool, or a list of queries."""
    if isinstance(document, Mapping):
        return "tool_name" in document and isinstance(document.get("api_list"), list)
    return (
        isinstance(document, list)
        and bool(document)
        and all(isinstance(one, Mapping) and isinstance(one.get("query"), str) for one in document)
    )


def read_toolbench(path: Path) -> list[ApiDocument]:
    """Read a file. Raises AuthoringError where it is none."""
    try:
        document = orjson.loads(path.read_bytes())
    except OSError as problem:
        raise AuthoringError(Place(path, 0), f"cannot be read: {problem.strerror}") from None
    except orjson.JSONDecodeError as problem:
        raise AuthoringError(Place(path, problem.lineno), f"not JSON: {problem.msg}") from None
    if not is_toolbench(document):
        raise AuthoringError(Place(path, 0), "not ToolBench's: neither a tool with an api_list nor a list of queries")
    if isinstance(document, Mapping):
        return _documents(_of_tool(document))
    listed = (one for query in document for one in _list(query.get("api_list")))
    return _documents(_of_query(one) for one in listed if isinstance(one, Mapping) and one.get("method"))


def _documents(operations: Iterable[CanonicalOperation]) -> list[ApiDocument]:
    by_api: dict[str, dict[str, CanonicalOperation]] = {}
    for operation in operations:
        by_api.setdefault(operation.api, {}).setdefault(operation.key, operation)
    return [ApiDocument(api, api, "", "", "", tuple(known.values())) for api, known in by_api.items()]


def _of_tool(tool: Mapping[str, Json]) -> Iterator[CanonicalOperation]:
    name = str(tool["tool_name"])
    category = _text(tool.get("category_name"))
    for one in _list(tool["api_list"]):
        if isinstance(one, Mapping) and isinstance(one.get("name"), str):
            yield _operation(name, one["name"], category, one, one.get("schema"))


def _of_query(one: Mapping[str, Json]) -> CanonicalOperation:
    name, api = _text(one.get("api_name")), _text(one.get("tool_name"))
    return _operation(api, name, _text(one.get("category_name")), one, one.get("template_response"))


def _operation(api: str, name: str, category: str, one: Mapping[str, Json], answer: Json) -> CanonicalOperation:
    method = (_text(one.get("method")) or "GET").upper()
    path = _path(_text(one.get("url")), api, name)
    variables = {first or second for first, second in _VARIABLE.findall(path)}
    place = "query" if method in ("GET", "DELETE", "HEAD") else "body"
    arguments = {
        field.pointer: field
        for key, required in (("required_parameters", True), ("optional_parameters", False))
        for parameter in _list(one.get(key))
        if isinstance(parameter, Mapping) and isinstance(parameter.get("name"), str)
        for field in [_argument(parameter, "path" if parameter["name"] in variables else place, required)]
    }
    return CanonicalOperation(
        api=api,
        name=name,
        method=method,
        path=path,
        description=shortened(_text(one.get("description")) or _text(one.get("api_description")), 1_500),
        tags=(category,) if category else (),
        arguments=tuple(arguments.values()),
        results=tuple(_results(answer)),
    )


def _path(url: str, api: str, name: str) -> str:
    """Return the path of a URL; without one, tool and API: nothing else names a call there."""
    if url:
        try:
            if (path := urlsplit(url).path).startswith("/"):
                return path
        except ValueError:
            pass
    if name.startswith("/"):
        return name
    return f"/{api.replace('/', '-')}/{name.replace('/', '-')}".replace(" ", "-")


def _argument(parameter: Mapping[str, Json], place: str, required: bool) -> Field:
    return Field(
        pointer=f"/{place}/{escape(parameter['name'])}",
        type=_TYPES.get(_text(parameter.get("type")).lower(), ""),
        description=shortened(_text(parameter.get("description")), 400),
        required=required or place == "path",
    )


def _results(skeleton: Json) -> Iterator[Field]:
    """Yield the fields of an answer's skeleton: `{"data": {"ipVersion": "int"}, "tags": ["list of str"]}`."""
    waiting: list[tuple[str, Json]] = [("/result", skeleton)]
    count = 0
    while waiting and count < _MOST:
        pointer, here = waiting.pop(0)
        if isinstance(here, list):
            waiting += [(f"{pointer}/*", one) for one in here[:1]]
        elif isinstance(here, Mapping) and pointer.count("/") < _DEEPEST:
            for name, inner in here.items():
                if name == "_list_length":
                    continue
                count += 1
                place = f"{pointer}/{escape(str(name))}"
                yield Field(pointer=place, type=_kind(inner))
                if isinstance(inner, (Mapping, list)):
                    waiting.append((place, inner))


def _kind(skeleton: Json) -> str:
    if isinstance(skeleton, Mapping):
        return "object"
    if isinstance(skeleton, list):
        return "array"
    word = _text(skeleton).lower()
    return "array" if word.startswith("list of") else _TYPES.get(word, "")


def _text(value: Json) -> str:
    return value.strip() if isinstance(value, str) else ""


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()


def read_spec(path: Path, api: str = "") -> list[ApiDocument]:
    """Read a file, or a folder of `.proto` files or of descriptions. Raises AuthoringError with file and line.

    `api`: what the API is called; of ToolBench's files, and of folders with several, the files say it.
    """
    if path.is_dir():
        return _folder(path, api)
    if path.suffix in (".proto", ".binpb", ".desc", ".pb", ".protoset"):
        from .proto_operations import read_protos

        return [read_protos(path, api)]
    if path.suffix == ".json" and is_toolbench(_json(path)):
        return read_toolbench(path)
    return [read_openapi(path, api)]


def _json(path: Path) -> object:
    document: object = SourceFiles(path).native
    return document


def _folder(path: Path, api: str) -> list[ApiDocument]:
    if any(path.rglob("*.proto")):
        from .proto_operations import read_protos

        return [read_protos(path, api)]
    files = sorted(one for one in path.rglob("*") if one.suffix in (".json", ".yaml", ".yml", ".binpb"))
    if not files:
        raise AuthoringError(Place(path, 0), "no description in this folder")
    return [document for one in files for document in read_spec(one)]
