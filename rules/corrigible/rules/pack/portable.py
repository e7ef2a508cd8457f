"""Whether every YAML reader takes a file, and reads the same from it: what its author meant, as far as that shows.

Two parsers read it, libyaml and PyYAML's own, and two schemas resolve its plain scalars: YAML 1.1, which this project
and most tools read, and the core schema of YAML 1.2, which editors and newer tools read.

Knows: YAML. Does not know: packs, rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from corrigible.rules.errors import AuthoringError, Place

_LIBYAML: Final = getattr(yaml, "CSafeLoader", None)
_CORE: Final = (
    ("null", re.compile(r"~|null|Null|NULL|")),
    ("bool", re.compile(r"true|True|TRUE|false|False|FALSE")),
    ("int", re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")),
    (
        "float",
        re.compile(
            r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
        ),
    ),
)
"""YAML 1.2, section 10.3.2: tag resolution of the core schema."""
_AS_TEXT: Final = frozenset({"timestamp", "str", "merge", "value"})
"""What packs read as text whatever YAML 1.1 makes of it."""


def portability_problems(path: Path) -> Iterator[AuthoringError]:
    """Yield where YAML readers would disagree about a file."""
    text = path.read_text("utf-8")
    trees: list[yaml.Node | None] = []
    unread: list[AuthoringError] = []
    for name, loader in (("libyaml", _LIBYAML), ("PyYAML's own parser", yaml.SafeLoader)):
        if loader is None:
            continue
        try:
            trees.append(yaml.compose(text, Loader=loader))
        except yaml.MarkedYAMLError as problem:
            line = problem.problem_mark.line + 1 if problem.problem_mark else 1
            unread.append(_problem(path, line, f"{name} cannot read this: {problem.problem}"))
        except RecursionError:
            return  # nested too deep: the reader of packs says so
    if not trees:
        return  # the reader of packs says so
    yield from unread
    if len(trees) == 2 and _plain(trees[0]) != _plain(trees[1]):
        yield _problem(path, 1, "libyaml and PyYAML's own parser read this file differently")
    yield from _scalars(trees[-1], path, text.splitlines())


def _problem(path: Path, line: int, problem: str) -> AuthoringError:
    return AuthoringError(Place(path, line), problem, kind="yaml")


def _plain(node: yaml.Node | None) -> Any:
    """Return a tree's tags and texts."""
    match node:
        case yaml.MappingNode():
            return [(_plain(key), _plain(value)) for key, value in node.value]
        case yaml.SequenceNode():
            return [_plain(item) for item in node.value]
        case None:
            return None
    return node.tag, node.value


def _scalars(top: yaml.Node | None, path: Path, lines: Sequence[str]) -> Iterator[AuthoringError]:
    """Yield plain scalars that are one thing in YAML 1.1 and another one in YAML 1.2, or not what they look like."""
    waiting = [top]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        match node:
            case yaml.MappingNode():
                waiting += [part for pair in reversed(node.value) for part in reversed(pair)]
            case yaml.SequenceNode():
                waiting += reversed(node.value)
                for one in node.value:
                    if (shown := _choice_read_as_map(one)) is not None:
                        line = one.start_mark.line + 1
                        yield _problem(path, line, f'"{shown}" is read as a map: quote the expression')
            case yaml.ScalarNode() if not node.style:
                old, new = node.tag.rpartition(":")[2], _core_tag(node.value)
                if old != new and not {old, new} <= _AS_TEXT:
                    problem = f'"{node.value}" is {_KINDS[old]} in YAML 1.1 and {_KINDS[new]} in YAML 1.2: quote it'
                    yield _problem(path, node.start_mark.line + 1, problem)
                elif (doubt := _doubt(node, lines)) is not None:
                    yield _problem(path, node.start_mark.line + 1, doubt)


def _choice_read_as_map(node: yaml.Node) -> str | None:
    """Return `a ? b: c` of a list in brackets, which YAML reads as a map; None for anything else."""
    if not isinstance(node, yaml.MappingNode) or len(node.value) != 1:
        return None
    key, value = node.value[0]
    if isinstance(key, yaml.ScalarNode) and not key.style and " ? " in key.value:
        return f"{key.value}: {value.value}" if isinstance(value, yaml.ScalarNode) else key.value
    return None


def _doubt(node: yaml.ScalarNode, lines: Sequence[str]) -> str | None:
    """Say what is odd about a plain scalar that all readers read alike."""
    tag = node.tag.rpartition(":")[2]
    if tag == "float" and _ENDS_WITH_ZERO.fullmatch(node.value):
        return f'"{node.value}" is the number {float(node.value):g}: write that, or quote it if it is a text'
    if tag == "int" and _LEADING_ZERO.fullmatch(node.value):
        return f'"{node.value}" is octal in YAML 1.1 and decimal in YAML 1.2: quote it'
    rest = lines[node.end_mark.line][node.end_mark.column :] if node.end_mark.line < len(lines) else ""
    if tag == "str" and _COMMENT.match(rest):
        return f'the text ends before "{rest.strip()[:30]}", which YAML reads as a comment: quote it'
    return None


_ENDS_WITH_ZERO: Final = re.compile(r"[-+]?\d+\.\d+0")
"""`1.20`, a version rather than a number; `1.0` is the usual spelling of a number."""
_LEADING_ZERO: Final = re.compile(r"[-+]?0\d+")
_COMMENT: Final = re.compile(r" #[^\s#]")
"""A comment begins with `# `; `issue #5` was meant to be text."""


def is_text_everywhere(text: str) -> bool:
    """Whether a plain scalar is text in YAML 1.2; PyYAML knows by itself what it is in YAML 1.1."""
    return _core_tag(text) == "str"


def _core_tag(text: str) -> str:
    return next((tag for tag, pattern in _CORE if pattern.fullmatch(text)), "str")


_KINDS: Final = {
    **dict.fromkeys(_AS_TEXT, "text"),
    "null": "null",
    "bool": "a boolean",
    "int": "a whole number",
    "float": "a number",
}
