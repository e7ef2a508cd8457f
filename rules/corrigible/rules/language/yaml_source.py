"""YAML that remembers where every value stood, so that an error can name its line."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

import yaml
from yaml.constructor import SafeConstructor
from yaml.reader import ReaderError

from corrigible.rules.errors import AuthoringError, Place

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


_FAST: Final = getattr(yaml, "CSafeLoader", None)
_BRACKETS: Final = re.compile(r"[\[\]{}]")
_INDENTS: Final = re.compile(r"^[ \t?:-]+", re.MULTILINE)
_LETTERS: Final = 256
"""Of a text that count as one more value: an alias of a long text costs as little as one of a short text."""
_SAFE_FOR_C: Final = 1000
"""Levels that libyaml's recursion surely carries."""


def composed(text: str, path: Path, *, deepest: int, most: int) -> yaml.Node | None:
    """Compose one document of at most so many levels and nodes, aliases written out.

    Raises AuthoringError with file and line where it is more; yaml's own errors for what is no YAML.
    """
    try:
        if _may_be_deep(text):
            _walk_events(text, path, deepest)
        node = _node(text)
    except RecursionError:
        raise _too_deep(path, 1, deepest) from None
    except yaml.MarkedYAMLError as problem:
        if "nesting depth" not in (problem.problem or ""):  # libyaml of PyYAML 6.0.4: at most 1,000 levels
            raise
        mark = problem.problem_mark
        raise _too_deep(path, mark.line + 1 if mark else 1, deepest) from None
    if node is not None:
        _count(node, path, deepest, most)
    return node


def _node(text: str) -> yaml.Node | None:
    """Compose with libyaml where PyYAML has it, ten times as fast; what is wrong the Python parser says better."""
    if _FAST is not None:
        try:
            return yaml.compose(text, Loader=_FAST)
        except yaml.YAMLError:
            pass
    return yaml.compose(text, Loader=yaml.SafeLoader)


def _may_be_deep(text: str) -> bool:
    """Whether brackets or indents could nest deeper than C's stack is sure to carry; quoted ones count as well."""
    depth = 0
    for bracket in _BRACKETS.finditer(text):
        depth = depth + 1 if bracket[0] in "[{" else max(0, depth - 1)
        if depth > _SAFE_FOR_C:
            return True
    return any(indent.end() - indent.start() > _SAFE_FOR_C for indent in _INDENTS.finditer(text))


def _walk_events(text: str, path: Path, deepest: int) -> None:
    """Count levels from the parser's events, which come one by one."""
    depth = 0
    for event in yaml.parse(text, Loader=_FAST or yaml.SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > deepest:
                raise _too_deep(path, event.start_mark.line + 1 if event.start_mark else 1, deepest)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _count(top: yaml.Node, path: Path, deepest: int, most: int) -> None:
    """Count nodes and levels, what aliases stand for included. Each node is looked at once."""
    sizes: dict[int, tuple[int, int]] = {}
    """Nodes and levels, by the collection's id; of one that is being counted nothing yet."""
    walk = [(top, *_content(top))]
    remaining = [iter(walk[-1][1])]
    under_way = {id(top)}
    while walk:
        inner = next((one for one in remaining[-1] if id(one) not in sizes), None)
        if inner is not None:
            if id(inner) in under_way:
                raise _too_deep(path, inner.start_mark.line + 1, deepest)  # an alias inside of what it stands for
            under_way.add(id(inner))
            walk.append((inner, *_content(inner)))
            remaining.append(iter(walk[-1][1]))
            continue
        node, collections, scalars = walk.pop()
        remaining.pop()
        size, depth = 1 + scalars, int(scalars > 0)
        for one in collections:
            size, depth = size + sizes[id(one)][0], max(depth, sizes[id(one)][1])
        if size > most:
            raise _error(path, node, f"more than {most:,} values, what aliases stand for written out")
        if depth >= deepest:
            raise _too_deep(path, node.start_mark.line + 1, deepest)
        sizes[id(node)] = size, depth + 1
        under_way.discard(id(node))


def _content(node: yaml.Node) -> tuple[list[yaml.Node], int]:
    """Return the collections inside a node, and the number of its scalars, keys included: a long text counts more."""
    if isinstance(node, yaml.MappingNode):
        inner = list(chain.from_iterable(node.value))
    elif isinstance(node, yaml.SequenceNode):
        inner = node.value
    else:
        return [], 0
    collections: list[yaml.Node] = [one for one in inner if isinstance(one, yaml.CollectionNode)]
    scalars = [len(one.value) // _LETTERS for one in inner if isinstance(one, yaml.ScalarNode)]
    return collections, len(scalars) + sum(scalars)


def _error(path: Path, node: yaml.Node, problem: str) -> AuthoringError:
    return AuthoringError(Place(path, node.start_mark.line + 1), problem)


def _too_deep(path: Path, line: int, deepest: int) -> AuthoringError:
    return AuthoringError(Place(path, line), f"nested deeper than {deepest} levels")
