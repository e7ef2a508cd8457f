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
from corrigible.rules.language.yaml_source import composed

_LIBYAML: Final = getattr(yaml, "CSafeLoader", None)
_DEEPEST: Final = 100
_MOST: Final = 200_000
"""Levels, and values with what aliases stand for written out: more is refused by the reader of packs."""
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
    try:
        composed(text, path, deepest=_DEEPEST, most=_MOST)
    except AuthoringError:
        return  # too deep or too large: the reader of packs says so
    except yaml.YAMLError:
        pass
    streams: list[list[tuple[Any, ...]]] = []
    unread: list[AuthoringError] = []
    for name, loader in (("libyaml", _LIBYAML), ("PyYAML's own parser", yaml.SafeLoader)):
        if loader is None:
            continue
        try:
            streams.append([_plain(event) for event in yaml.parse(text, Loader=loader)])
        except yaml.MarkedYAMLError as problem:
            line = problem.problem_mark.line + 1 if problem.problem_mark else 1
            unread.append(_problem(path, line, f"{name} cannot read this: {problem.problem}"))
        except yaml.YAMLError:
            continue
    if not streams:
        return  # the reader of packs says so
    yield from unread
    if len(streams) == 2 and streams[0] != streams[1]:
        yield _problem(path, 1, "libyaml and PyYAML's own parser read this file differently")
    try:
        tree = yaml.compose(text, Loader=_LIBYAML or yaml.SafeLoader if unread else yaml.SafeLoader)
    except yaml.YAMLError:
        return
    yield from _scalars(tree, path, text.splitlines())


def _problem(path: Path, line: int, problem: str) -> AuthoringError:
    return AuthoringError(Place(path, line), problem, kind="yaml")


def _plain(event: yaml.Event) -> tuple[Any, ...]:
    """Return what a parser read, without its place. (Trees are not compared: an alias multiplies what it names.)"""
    return (
        type(event).__name__,
        getattr(event, "anchor", None),
        getattr(event, "tag", None),
        getattr(event, "value", None),
        not getattr(event, "style", None),
    )


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


class _Dumper(yaml.SafeDumper):
    """Quotes what any YAML reader takes for something else than text."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        # Half of a surrogate pair, which JSON can escape, is no text of UTF-8.
        node = super().represent_str(data.encode("utf-8", "replace").decode())
        if not is_text_everywhere(data) or _CONTROL.search(data):
            node.style = '"'
        return node

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        return super().increase_indent(flow, False)


_Dumper.add_representer(str, _Dumper.represent_str)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")


def dumped(data: Any, *, is_flow: bool | None = None) -> str:
    """Return data as YAML that every reader reads alike: no text of it becomes a key, a tag or a comment."""
    options: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": 140, "default_flow_style": is_flow}
    return str(yaml.dump(data, Dumper=_Dumper, **options))


_KINDS: Final = {
    **dict.fromkeys(_AS_TEXT, "text"),
    "null": "null",
    "bool": "a boolean",
    "int": "a whole number",
    "float": "a number",
}
