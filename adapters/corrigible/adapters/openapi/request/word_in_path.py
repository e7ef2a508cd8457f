"""A word at the end of a path that a variable of another operation takes, though it was meant as a word.

| the request            | the description has                              | is asked for          |
|------------------------|--------------------------------------------------|-----------------------|
| `POST /flows/7/enable` | `GET /flows/{id}/{version}`, `POST .../activate` | one of those words    |
| `GET /types/schema`    | `DELETE /types/{id}`, `GET /types/schema/{name}` | the name that follows |

Knows: the trie of an API's paths. Does not know: answers, suggestions.
"""

from __future__ import annotations

import re
from typing import Final

from corrigible.adapters.operation import Node
from corrigible.rules.budget import spend
from corrigible.rules.schema_repair.json_schema import literal_pattern
from corrigible.rules.schema_repair.schema_violation import SchemaViolation

LONGEST: Final = 40
"""Segments: no longer path is taken for a misspelling."""
_MOST: Final = 8
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z_-]{2,40}")


def nodes_after(root: Node, parts: list[str]) -> list[Node]:
    """Return where some segments lead."""
    nodes = [root]
    for part in [part for part in parts if part][:LONGEST]:
        spend(len(nodes))
        nodes = [inner for node in nodes for inner in (node.literal.get(part), node.variable) if inner is not None]
    return nodes


def words_instead(root: Node, method: str, path: str) -> SchemaViolation | None:
    """Return the paths that have the method, and another word than this one behind the name of a thing."""
    *before, word = [part for part in path.split("/") if part] or [""]
    if len(before) < 2 or len(before) > LONGEST or _WORD.fullmatch(word) is None:
        return None
    things = [node.variable for node in nodes_after(root, before[:-1]) if node.variable is not None]
    if any(word in node.literal for node in things):
        return None
    words = dict.fromkeys(one for node in things for one, inner in node.literal.items() if method in inner.operations)
    plain = "/" + "/".join(before)
    others = [f"{plain}/{one}" for one in words][:_MOST]
    return SchemaViolation("/path", "around", {"type": "string", "enum": others}, path) if others else None


def name_left_out(root: Node, method: str, path: str) -> SchemaViolation | None:
    """Return the path with one name more, where this one ends with a word that only leads there."""
    *before, word = [part for part in path.split("/") if part] or [""]
    if not word or len(before) > LONGEST:
        return None
    ends = [node.literal[word] for node in nodes_after(root, before) if word in node.literal]
    is_one_more = any(end.variable is not None and method in end.variable.operations for end in ends)
    if not is_one_more or any(end.operations for end in ends):
        return None
    pattern = f"^{literal_pattern(path.rstrip('/'))}/[^/]+$"
    return SchemaViolation("/path", "around", {"type": "string", "pattern": pattern}, path)
