"""From method and path to the operation they name, through a trie of path segments.

The names and closed choices that a description declares for one operation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import re2
import yaml

from corrigible.rules.pattern import compiled
from corrigible.schema.exchange import Json

COMMON_BASE: Final = re.compile(r"(?:/(?:apis?|rest|v\d{1,3}(?:\.\d{1,3}){0,2})){1,3}", re.IGNORECASE)
"""A base path of common words. Another one may be the place of somebody's own server."""
MixedPattern = Any
"""A compiled pattern of RE2, which has no types."""
_VARIABLE = re.compile(r"\{([^{}]+)\}")
_MOST_PARTS = 16
"""Variables in one segment. What it costs to share a caller's segment out among them grows with their number."""


@dataclass(slots=True)
class Node:
    """One segment of paths, and the segments that may follow it."""

    literal: dict[str, Node] = field(default_factory=dict)
    mixed: dict[str, tuple[MixedPattern, Node]] = field(default_factory=dict)
    """Segments that are variables in part: `{id}.json`, `{name}:cancel`, `{base}...{head}`."""
    variable: Node | None = None
    operations: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """By method: the operation whose path ends here, and the names of its variables."""
    tail: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """Operations whose last variable takes all segments that are left."""


class Operations:
    """The operations of one API. Literal segments win over variables; look-up time does not grow with their number."""

    def __init__(self, table: Mapping[str, str]) -> None:
        """`table` maps `POST /v1/charges/{charge}/capture` to an operation's name.

        A variable takes a segment or a part of one; a last one written `{+path}` all that are left, at least one.
        Templates with more than 16 variables in one segment name nothing.
        """
        self.names = tuple(table.values())
        self.templates = dict(table)
        posts = (key.partition(" ")[2] for key in table if key[:5].upper() == "POST ")
        self.ends_of_posts = frozenset(template.rstrip("/").rpartition("/")[2] for template in posts)
        """The last segments of the paths that have a POST."""

    @cached_property
    def root(self) -> Node:
        """The trie, made where the first path is looked up: most tables are merged with another one before."""
        root = Node()
        for key, name in self.templates.items():
            method, _, template = key.partition(" ")
            node, variables = root, []
            for part in template.strip("/").split("/"):
                names = _VARIABLE.findall(part)
                if len(names) > _MOST_PARTS:
                    break
                if names and part != f"{{{names[0]}}}":
                    variables += names
                    node = node.mixed.setdefault(_VARIABLE.sub("{}", part), (mixed_pattern(part), Node()))[1]
                elif part.startswith("{") and part.endswith("}"):
                    variables.append(part.strip("{}"))
                    if part.startswith("{+"):
                        variables[-1] = variables[-1][1:]
                        node.tail[method.upper()] = (name, tuple(variables))
                        break
                    node.variable = node.variable or Node()
                    node = node.variable
                else:
                    node = node.literal.setdefault(part, Node())
            else:
                node.operations[method.upper()] = (name, tuple(variables))
        return root

    @classmethod
    def load(cls, text: str) -> Operations:
        return cls(yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {})

    def merged_with(self, more: Operations) -> Operations:
        """Return these operations and more; where both name one, these win."""
        return Operations({**more.templates, **self.templates})

    def with_prefix(self, base: str) -> Operations:
        """Return the same operations with this path before their own."""
        moved = {}
        for key, name in self.templates.items():
            method, _, template = key.partition(" ")
            moved[f"{method} {base}{template}"] = name
        return Operations(moved)

    @cached_property
    def base_paths(self) -> list[str]:
        """What stands before the paths of operations, in order: nothing, and the path of each server.

        The shortest path of an operation is its own; those that end with it have a base path before it.
        """
        paths: dict[str, list[str]] = {}
        for key, name in self.templates.items():
            paths.setdefault(name, []).append(key.partition(" ")[2])
        bases: dict[str, None] = {}
        for several in paths.values():
            own = min(several, key=len)
            bases |= dict.fromkeys(one.removesuffix(own) for one in several if one.endswith(own))
        return sorted(bases)

    def find(self, method: str, path: str) -> tuple[str, dict[str, str]] | None:
        """Return the operation's name and its decoded path parameters, or None."""
        values: list[str] = []
        match = _walk(self.root, path.strip("/").split("/"), 0, method, values)
        if match is None:
            return None
        name, variables = match
        if not variables:
            return name, {}
        return name, {
            variable: unquote(value) if "%" in value else value
            for variable, value in zip(variables, values, strict=True)
        }

    def base_of(self, path: str) -> tuple[str, str] | None:
        """Return what may be the base path of a path that names nothing, and the template of the rest; None without.

        The template has a literal segment, and any method will do: only a hint for people.
        """
        segments = path.strip("/").split("/")
        methods = {key.partition(" ")[0] for key in self.templates}
        if any(self.find(method, path) is not None for method in methods):
            return None
        for length in range(1, min(len(segments), _LONGEST_BASE + 1)):
            rest = "/" + "/".join(segments[length:])
            for method in sorted(methods):
                match = self.find(method, rest)
                if match is not None and len(match[1]) < len(segments) - length:
                    return "/" + "/".join(segments[:length]), self._template(method, match[0], rest)
        return None

    def _template(self, method: str, name: str, path: str) -> str:
        """Return the template by which a path names an operation."""
        templates = (key.partition(" ")[2] for key, other in self.templates.items() if other == name)
        return next(one for one in templates if Operations({f"{method} {one}": name}).find(method, path))


_LONGEST_BASE = 4
"""Segments."""


def _walk(node: Node, parts: list[str], at: int, method: str, values: list[str]) -> tuple[str, tuple[str, ...]] | None:
    rest: tuple[tuple[str, tuple[str, ...]], int, int] | None = None
    while at < len(parts):
        if node.tail and parts[at]:
            whole = node.tail.get(method)
            if whole is not None:
                rest = whole, at, len(values)
        literal = node.literal.get(parts[at])
        if node.mixed:
            match = _through_mixed(node, literal, parts, at, method, values)
            if match is not None:
                return match
            literal = None
        if literal is None:
            if node.variable is None or not parts[at]:
                return _remainder(rest, parts, values)
            values.append(parts[at])
            node = node.variable
        elif node.variable is None:
            node = literal
        else:
            count = len(values)
            match = _walk(literal, parts, at + 1, method, values)
            if match is not None:
                return match
            del values[count:]
            values.append(parts[at])
            node = node.variable
        at += 1
    return node.operations.get(method) or _remainder(rest, parts, values)


def mixed_pattern(part: str) -> MixedPattern:
    """Return what fits a segment that is a variable in part, a group for each variable.

    RE2, since callers write the segment: several variables in one would have `re` try every way to share it out.
    """
    return compiled("(?s)" + "(.+?)".join(map(re2.escape, _VARIABLE.sub("{}", part).split("{}"))))


def _through_mixed(
    node: Node, literal: Node | None, parts: list[str], at: int, method: str, values: list[str]
) -> tuple[str, tuple[str, ...]] | None:
    """Walk on from a node that has such segments: the literal one first, the whole variable not at all."""
    count = len(values)
    if literal is not None and (match := _walk(literal, parts, at + 1, method, values)) is not None:
        return match
    del values[count:]
    for pattern, inner in node.mixed.values():
        fits = pattern.fullmatch(parts[at])
        if fits is not None:
            values += fits.groups()
            if (match := _walk(inner, parts, at + 1, method, values)) is not None:
                return match
            del values[count:]
    return None


def _remainder(
    rest: tuple[tuple[str, tuple[str, ...]], int, int] | None, parts: list[str], values: list[str]
) -> tuple[str, tuple[str, ...]] | None:
    """Fall back to the last operation on the way that takes all that is left."""
    if rest is None:
        return None
    operation, at, count = rest
    values[count:] = ["/".join(parts[at:])]
    return operation


Path = tuple[str, ...]
"""The part of the request, then names: `("body", "items", "*", "price")`; `*` stands for any element or name."""

ANY: Final = "*"
MOST: Final = 500
"""Places of one operation that are kept: the outermost, since errors are mostly about those."""
DEEPEST: Final = 6


class Vocabulary(NamedTuple):
    """What an operation's request may hold, by place."""

    places: tuple[Path, ...] = ()
    choices: tuple[tuple[Path, tuple[Json, ...]], ...] = ()
    """The places whose values are a closed list, with the list."""


NOTHING: Final = Vocabulary()
