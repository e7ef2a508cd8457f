"""From method and path to the operation they name, through a trie of path segments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

import yaml

_BRACES = "{}"


@dataclass(slots=True)
class _Node:
    literal: dict[str, _Node] = field(default_factory=dict)
    variable: _Node | None = None
    operations: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)


class Operations:
    """The operations of one API. Literal segments win over variables; look-up time does not grow with their number."""

    def __init__(self, table: Mapping[str, str]) -> None:
        """`table` maps `POST /v1/charges/{charge}/capture` to an operation's name."""
        self._root = _Node()
        self.names = tuple(table.values())
        self.templates = dict(table)
        for key, name in table.items():
            method, _, template = key.partition(" ")
            node, variables = self._root, []
            for part in template.strip("/").split("/"):
                if part.startswith("{") and part.endswith("}"):
                    variables.append(part.strip(_BRACES))
                    node.variable = node.variable or _Node()
                    node = node.variable
                else:
                    node = node.literal.setdefault(part, _Node())
            node.operations[method.upper()] = (name, tuple(variables))

    @classmethod
    def load(cls, text: str) -> Operations:
        return cls(yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {})

    def joined(self, more: Operations) -> Operations:
        """Return these operations and more; where both name one, these win."""
        return Operations({**more.templates, **self.templates})

    def find(self, method: str, path: str) -> tuple[str, dict[str, str]] | None:
        """Return the operation's name and its decoded path parameters, or None."""
        values: list[str] = []
        found = _walk(self._root, path.strip("/").split("/"), 0, method, values)
        if found is None:
            return None
        name, variables = found
        if not variables:
            return name, {}
        return name, {
            variable: unquote(value) if "%" in value else value
            for variable, value in zip(variables, values, strict=True)
        }


def _walk(node: _Node, parts: list[str], at: int, method: str, values: list[str]) -> tuple[str, tuple[str, ...]] | None:
    while at < len(parts):
        literal = node.literal.get(parts[at])
        if literal is None:
            if node.variable is None or not parts[at]:
                return None
            values.append(parts[at])
            node = node.variable
        elif node.variable is None:
            node = literal
        else:
            kept = len(values)
            found = _walk(literal, parts, at + 1, method, values)
            if found is not None:
                return found
            del values[kept:]
            values.append(parts[at])
            node = node.variable
        at += 1
    return node.operations.get(method)
