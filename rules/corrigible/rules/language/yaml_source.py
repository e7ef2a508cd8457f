"""YAML that remembers where every value stood, so that an error can name its line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import SafeConstructor
from yaml.reader import ReaderError

from corrigible.rules.errors import AuthoringError, Place

from .yaml_tree import composed

Trail = tuple[str | int, ...]
"""Keys and indices from the top of the document to one value."""

_DEEPEST = 100
_MOST = 200_000
"""Values of one file, what aliases stand for written out."""


class _Constructor(SafeConstructor):
    """Turns one scalar node into a value. Containers are walked here, for their lines."""


@dataclass(frozen=True, slots=True)
class Source:
    """A parsed YAML file and the line of each of its values (for map members, the line of the key)."""

    path: Path
    data: Any
    lines: Mapping[Trail, int]

    def place(self, trail: Sequence[str | int] = ()) -> Place:
        """Return where a value stands, or its nearest container that is in the file."""
        at = tuple(trail)
        while at and at not in self.lines:
            at = at[:-1]
        return Place(self.path, self.lines.get(at, 1))

    def error(self, trail: Sequence[str | int], problem: str, *, kind: str = "invalid") -> AuthoringError:
        return AuthoringError(self.place(trail), problem, kind=kind)


def read_source(path: Path) -> Source:
    """Read one YAML document. Raises AuthoringError for bad syntax, duplicate keys or unreadable files."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise AuthoringError(Place(path, 0), "no such file") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise AuthoringError(Place(path, 0), f"cannot be read: {problem}") from None
    try:
        node = composed(text, path, deepest=_DEEPEST, most=_MOST)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        raise AuthoringError(Place(path, mark.line + 1 if mark else 1), _syntax(problem, text)) from None
    except ReaderError as problem:
        line = text.count("\n", 0, problem.position) + 1
        raise AuthoringError(Place(path, line), f"character U+{problem.character:04X} is not allowed") from None
    lines: dict[Trail, int] = {}
    data = None if node is None else _value(node, (), lines, path)
    return Source(path, data, lines)


def _syntax(problem: yaml.MarkedYAMLError, text: str) -> str:
    """Say what is wrong: that a plain text which YAML reads as something else needs quotes, that blanks are missing."""
    message, mark = problem.problem or "not YAML", problem.problem_mark
    if mark is None:
        return message
    line = next(iter(text.splitlines()[mark.line : mark.line + 1]), "")
    sign = line[mark.column : mark.column + 1]
    if sign == "\t":
        return "a tab: lines are indented with blanks"
    if message.startswith("expected <block end>"):
        return "indented unlike the lines before it, or a line before it is"
    if message.startswith("mapping values") and sign == ":":
        return f'a text with ": " in it needs quotes{_IF_DEEPER if _is_deeper(text, mark.line) else ""}'
    if message.startswith("mapping keys") and sign == "?":
        return 'a text that begins with "? " needs quotes'
    if message.startswith("expected ',' or") and sign == "?":
        return 'a text with "?" in it needs quotes inside of brackets'
    if message.startswith("expected ',' or") and sign == ":":
        return f'{message}; a bracket is open, or a text with ":" in it needs quotes'
    if sign in ("@", "`", "%") and message.startswith("found character"):
        return f'a text that begins with "{sign}" needs quotes'
    if message.startswith("found undefined alias"):
        return f'{message}; a text that begins with "*" needs quotes'
    return message


_IF_DEEPER = "; or this line is indented too far: it continues the text of the line before"


def _is_deeper(text: str, number: int) -> bool:
    """Whether a line is indented further than the one before it."""
    before, line = ["", *text.splitlines()][number : number + 2]
    return bool(before.strip()) and len(line) - len(line.lstrip()) > len(before) - len(before.lstrip(" -"))


def _value(node: yaml.Node, trail: Trail, lines: dict[Trail, int], path: Path) -> Any:
    lines.setdefault(trail, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        out: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            # YAML 1.1 reads a bare `on` as true; here every key is the text the author typed.
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is None:
                raise AuthoringError(Place(path, line), "a key must be plain text")
            if key in out:
                raise AuthoringError(Place(path, line), f'key "{key}" stands twice')
            lines[(*trail, key)] = line
            out[key] = _value(value_node, (*trail, key), lines, path)
        return out
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*trail, index), lines, path) for index, item in enumerate(node.value)]
    if node.tag.endswith((":str", ":timestamp")):
        return node.value  # dates are not JSON; a pack means the text
    try:
        value = _Constructor().construct_object(node)
    except yaml.MarkedYAMLError as problem:
        message = (problem.problem or "bad value").replace(
            "could not determine a constructor for the tag", "unknown tag"
        )
        raise AuthoringError(Place(path, node.start_mark.line + 1), message) from None
    except ValueError as problem:
        raise AuthoringError(Place(path, node.start_mark.line + 1), str(problem)) from None
    if isinstance(value, float) and not math.isfinite(value):
        raise AuthoringError(Place(path, node.start_mark.line + 1), f"{node.value} is no number of JSON")
    return value if value is None or isinstance(value, (str, int, float, bool)) else node.value
