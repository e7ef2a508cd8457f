"""The folders of the suite are in layers: each imports only those before it, so that there is no circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from corrigible.conformance.model.yaml_file import SUITE

LAYERS = ("model", "transport", "validators", "reference", "suite", "report", "audit", "lift", "checks", "command")
PREFIX = "corrigible.conformance."


def imported(path: Path) -> Iterator[str]:
    """Yield the folders of the suite that a module imports from."""
    package = [*PREFIX.rstrip(".").split("."), *path.relative_to(SUITE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])]) + "."
            if module == PREFIX:
                yield from (alias.name for alias in node.names)
            elif module.startswith(PREFIX):
                yield module.removeprefix(PREFIX).partition(".")[0]


def test_folders_import_only_what_is_before_them() -> None:
    found = {
        (path.relative_to(SUITE).parts[0], folder)
        for path in SUITE.rglob("*.py")
        if len(path.relative_to(SUITE).parts) > 1
        for folder in imported(path)
    }
    assert {("suite", "transport"), ("checks", "suite"), ("command", "checks")} <= found
    assert [(one, other) for one, other in found if LAYERS.index(other) > LAYERS.index(one)] == []
