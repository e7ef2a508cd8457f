"""What an expression that compiles gets wrong all the same: the kind of its value, names of captures and members.

Knows: CEL's types, captures, the members of the common scope. Does not know: rules, files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from corrigible.rules.errors import suggest_spelling

from .expression import Expression
from .shorthand import without_literals

_KINDS: Final = {
    "BOOL": "a boolean",
    "STRING": "a text",
    "INT": "a number",
    "UINT": "a number",
    "DOUBLE": "a number",
    "LIST": "a list",
    "MAP": "a map",
    "NULL": "null",
    "BYTES": "bytes",
    "TIMESTAMP": "a timestamp",
    "DURATION": "a duration",
}
"""CEL's types; a value of any other type is known when the expression is evaluated."""
_CAPTURE: Final = re.compile(
    r"(?<![\w.])captures\s*(?:\.\??\s*(?P<name>[A-Za-z_]\w*)|\[\??\s*(?P<text>'_*'|\"_*\")\s*\])"
)

_MEMBERS: Final = {
    "request": ("method", "path", "query", "headers", "body"),
    "response": ("status", "headers", "body"),
    "exchange": ("id", "started", "elapsed"),
}
"""Names of the common scope that have these members and no others."""
_MEMBER: Final = re.compile(rf"(?<![\w.])({'|'.join(_MEMBERS)})\.\??\s*([A-Za-z_]\w*)(?!\w|\s*\()")


def wrong_result(expression: Expression, wanted: str) -> str | None:
    """Return what is wrong with the kind of an expression's value; `wanted` is one such as `a list`."""
    given = _KINDS.get(expression.type.partition("<")[0])
    return None if given in (None, wanted) else f"the expression gives {given}, expected {wanted}"


def unknown_captures(expression: Expression, captures: Collection[str]) -> Iterator[str]:
    """Yield what is wrong with each capture that no group of `match.message` has."""
    text = expression.expanded
    if "captures" not in text:
        return
    for match in _CAPTURE.finditer(without_literals(text)):
        name = match["name"] or text[match.start("text") + 1 : match.end("text") - 1]
        if name not in captures:
            groups = f"it has {', '.join(captures)}" if captures else "it has none"
            hint = suggest_spelling(name, captures) or f"; {groups}"
            yield f'match.message has no group "{name}"{hint}'


def unknown_members(expression: Expression) -> Iterator[str]:
    """Yield what is wrong with each member that `request`, `response` and `exchange` never have."""
    for name, member in _MEMBER.findall(without_literals(expression.expanded)):
        if member not in _MEMBERS[name]:
            hint = suggest_spelling(member, _MEMBERS[name]) or f"; it has {', '.join(_MEMBERS[name])}"
            yield f'{name} has no member "{member}"{hint}'
