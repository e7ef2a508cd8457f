"""Paths by their template: `/v1/charges/{charge}`.

Knows: templates of OpenAPI. Does not know: operations, requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

IN_BRACES: Final = re.compile(r"\{([^{}/]+)\}")


def path_values(template: str, path: str) -> dict[str, str] | None:
    """Return what stands in the braces of a template; None if the path does not fit.

    The work is linear in the path, however many braces one segment has: of several ways to fit, the one is taken in
    which the first value is the longest.
    """
    segments, parts = _segments(template), path.split("/")
    if len(segments) != len(parts):
        return None
    values = dict[str, str]()
    for (literals, names), part in zip(segments, parts, strict=True):
        found = _in_segment(literals, part)
        if found is None:
            return None
        values.update(zip(names, map(unquote, found), strict=True))
    return values


class PathTemplates:
    """Templates by their segments: which of them a path fits is found without a look at all others."""

    def __init__(self, templates: Iterable[str]) -> None:
        self._top = _Node()
        for template in dict.fromkeys(templates):
            node = self._top
            for segment in template.split("/"):
                held = node.open if IN_BRACES.search(segment) else node.literal
                node = held.setdefault(segment, _Node())
            node.templates.append(template)

    def fitting(self, path: str) -> list[str]:
        """Return the templates that a path fits."""
        nodes = [self._top]
        for part in path.split("/"):
            literal = [node.literal[part] for node in nodes if part in node.literal]
            open_ones = (one for node in nodes for one in node.open.items())
            nodes = literal + [node for segment, node in open_ones if path_values(segment, part) is not None]
            if not nodes:
                return []
        return [template for node in nodes for template in node.templates]


@dataclass(slots=True)
class _Node:
    """What follows a beginning of templates."""

    literal: dict[str, _Node] = field(default_factory=dict)
    open: dict[str, _Node] = field(default_factory=dict)
    """Under segments with braces."""
    templates: list[str] = field(default_factory=list)
    """That end here."""


@lru_cache(4096)
def _segments(template: str) -> list[tuple[Sequence[str], Sequence[str]]]:
    """Return the literal texts and the names of each segment, in turn."""
    split = (IN_BRACES.split(segment) for segment in template.split("/"))
    return [(parts[::2], parts[1::2]) for parts in split]


def _in_segment(literals: Sequence[str], part: str) -> list[str] | None:
    """Return the values between literal texts, each of at least one character. From the end, each text is the last."""
    first, *rest = literals
    if not rest:
        return [] if part == first else None
    if len(part) < len(first) + len(rest[-1]) or not part.startswith(first) or not part.endswith(rest[-1]):
        return None
    values, end = list[str](), len(part) - len(rest[-1])
    for literal in reversed(rest[:-1]):
        start = part.rfind(literal, len(first) + 1, end - 1)
        if start < 0:
            return None
        values.append(part[start + len(literal) : end])
        end = start
    values.append(part[len(first) : end])
    return values[::-1] if all(values) else None
