"""YAML as a tree of nodes whose size is known before anybody walks it.

libyaml composes by recursion in C, which deep brackets overrun, and an alias costs a few bytes where what it stands
for is written out by whoever reads it: both are counted first.
"""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import Final

import yaml

from corrigible.rules.errors import AuthoringError, Place

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
