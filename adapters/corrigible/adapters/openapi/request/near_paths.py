"""Paths of a description that are near to one: with segments respelt, or a word in the other number.

Knows: paths, the tree of declared ones. Does not know: what is suggested.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from corrigible.adapters.operation import Node
from corrigible.rules.budget import spend
from corrigible.rules.safety.nearness import is_plural, is_same, is_slip

SHORTEST_WORD: Final = 4


class Candidate(NamedTuple):
    cost: int
    path: str


def walk(root: Node, parts: list[str], method: str, budget: int) -> Iterator[Candidate]:
    """Yield concrete paths that have the method, with at most so many segments respelt."""
    open_: list[tuple[Node, int, int, tuple[str, ...]]] = [(root, 0, 0, ())]
    while open_:
        node, at, cost, walked = open_.pop()
        spend(1 + len(node.literal) if cost < budget else 1)
        if at == len(parts):
            if method in node.operations:
                yield Candidate(cost, "/" + "/".join(walked))
            continue
        part = parts[at]
        if method in node.tail:
            yield Candidate(cost, "/" + "/".join((*walked, *parts[at:])))
        if node.variable is not None:
            open_.append((node.variable, at + 1, cost, (*walked, part)))
        for key, (pattern, inner) in node.mixed.items():
            if pattern.fullmatch(part):
                open_.append((inner, at + 1, cost, (*walked, part)))
            elif cost < budget and (extended := _extended(part, key)):
                open_.append((inner, at + 1, cost + 1, (*walked, extended)))
        if part in node.literal:
            open_.append((node.literal[part], at + 1, cost, (*walked, part)))
        if cost < budget:
            for literal, inner in node.literal.items():
                if literal != part and is_near(part, literal):
                    open_.append((inner, at + 1, cost + 1, (*walked, literal)))


def _extended(part: str, key: str) -> str:
    """Return a segment as `orders.{format}` or `{id}.json` wants it, with its extension; empty where it is not near."""
    name, dot, ending = key.rpartition(".")
    have, dotted, extension = part.rpartition(".")
    if not dot or ending not in ("{}", "json", "xml") or name.count("{}") != (name == "{}"):
        return ""
    if not dotted:
        have, extension = part, "json" if ending == "{}" else ending
    if name == "{}":
        return f"{have}.{extension}" if not dotted else ""
    return f"{name}.{extension}" if have == name or is_near(have, name) else ""


def parts_of(path: str) -> list[str]:
    return path.strip("/").split("/")


def is_other_number(parts: list[str], others: list[str]) -> bool:
    """Whether two paths differ in one word, of which one is the plural of the other's."""
    different = [(one, two) for one, two in zip(parts, others, strict=False) if one != two]
    return len(parts) == len(others) and len(different) == 1 and is_plural(*different[0])


def is_near(part: str, literal: str) -> bool:
    """Whether a segment is a misspelling of another: case, separators, number, one letter in four, its last words."""
    if is_same(part, literal) or is_plural(part, literal):
        return True
    if len(part) >= SHORTEST_WORD and re.search(rf"[_-]{re.escape(part)}s?$", literal) is not None:
        return True
    return min(len(part), len(literal)) >= 4 and part[0] == literal[0] and is_slip(part, literal)
