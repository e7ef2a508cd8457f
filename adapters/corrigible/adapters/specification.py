"""What an OpenAPI description says about an API's operations."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from corrigible.rules.failure import AuthoringError, Place
from corrigible.rules.source import read_source

from .operation import Operations

_METHODS = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})


def operations_of(path: Path) -> Operations:
    """Read the operations of an OpenAPI 3 file, JSON or YAML. Raises AuthoringError where it is none."""
    document = _document(path)
    paths = document.get("paths") if isinstance(document, dict) else None
    if not isinstance(paths, dict):
        raise AuthoringError(Place(path), 'not an OpenAPI description: "paths" is missing')
    table: dict[str, str] = {}
    for template, item in paths.items():
        for method, operation in item.items() if isinstance(item, dict) else ():
            if method in _METHODS and isinstance(operation, dict):
                key = f"{method.upper()} {template}"
                name = operation.get("operationId") or key
                for base in _bases(document):
                    table.setdefault(f"{method.upper()} {base}{template}", name)
    return Operations(table)


def _bases(document: Any) -> list[str]:
    """Return what stands before the paths: nothing, and the path of every server that is no template."""
    servers = document.get("servers")
    urls = [server.get("url") for server in servers if isinstance(server, dict)] if isinstance(servers, list) else []
    paths = [urlsplit(url).path.rstrip("/") for url in urls if isinstance(url, str) and "{" not in url]
    return list(dict.fromkeys(["", *paths]))


def _document(path: Path) -> Any:
    if path.suffix != ".json":
        return read_source(path).data
    try:
        return orjson.loads(path.read_bytes())
    except OSError as problem:
        raise AuthoringError(Place(path), f"cannot be read: {problem.strerror}") from None
    except orjson.JSONDecodeError as problem:
        raise AuthoringError(Place(path, problem.lineno), f"not JSON: {problem.msg}") from None
