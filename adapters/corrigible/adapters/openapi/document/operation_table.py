"""The operations of a description as a YAML table, for adapters that keep one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_METHODS = ("get", "post", "delete", "put", "patch")


def operation_ids(description: Mapping[str, Any], template: Callable[[str], str] = str) -> dict[str, str]:
    """Return `POST /v1/refunds` to operation id; `template` rewrites a path."""
    return {
        f"{method.upper()} {template(path)}": operation["operationId"]
        for path, item in description["paths"].items()
        for method, operation in item.items()
        if method in _METHODS
    }


def by_path(table: Mapping[str, str]) -> dict[str, str]:
    """Return the table sorted by path, then by method."""
    return dict(sorted(table.items(), key=lambda entry: (entry[0].partition(" ")[2], entry[0])))


def generate_table(
    source: Path, out: Path, head: str, operations: Callable[[Mapping[str, Any]], dict[str, str]]
) -> None:
    """Write the operations of a description as YAML below some comment lines, in which `{version}` is its version."""
    description = json.loads(source.read_text("utf-8"))
    version = description["info"]["version"].partition(" GMT")[0]
    lines = "".join(f"{key}: {name}\n" for key, name in operations(description).items())
    out.write_text(head.format(version=version) + lines, "utf-8")
