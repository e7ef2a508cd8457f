"""YAML as OpenAPI means it: version 1.2, where `no`, `on` and `14:00` are texts.

`corrigible.rules.language.yaml_source` reads rule packs, and remembers lines: a description of ten megabytes needs none
of that.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import yaml

from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.language.yaml_source import composed, read_source

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
    if text.startswith(("0x", "0o")) and len(text) > 2:
        return _based(text) if len(text) <= _LONGEST_NUMBER else None
    return float(text) if _FLOAT.fullmatch(text) else text


def _based(text: str) -> Any:
    try:
        return int(text[2:], 16 if text[1] == "x" else 8)
    except ValueError:
        return text
