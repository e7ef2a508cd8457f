"""The text of a document of GraphQL: its AST, slips in its syntax, and the splices that edit it.

A splice replaces the text of one node, so that all else stays as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import graphql as g

from corrigible.rules.budget import spend
from corrigible.rules.schema_repair.names import near_names

Splice = tuple[int, int, str]
"""Where a text begins and ends, and what stands there instead."""
MOST_TOKENS: Final = 4000
_MOST_SLIPS: Final = 8


def parsed(text: str) -> g.DocumentNode | None:
    """Return the AST of a document; None where there is none."""
    spend(len(text) // 4)
    try:
        return g.parse(text, max_tokens=MOST_TOKENS)
    except (g.GraphQLError, RecursionError):
        return None


def written(text: str) -> str:
    """Return a document whose syntax is wrong at signs that can only be meant in one way; empty where others are."""
    for _ in range(_MOST_SLIPS):
        try:
            g.parse(text, max_tokens=MOST_TOKENS)
        except g.GraphQLSyntaxError as problem:
            spend(len(text) // 4)
            text = _without_slip(text, min(problem.positions or (0,)))
        except (g.GraphQLError, RecursionError):
            return ""
        else:
            return text
    return ""


def _without_slip(text: str, at: int) -> str:
    """Return a document with the sign at a place in the form that GraphQL has for it; empty where none is known."""
    if at >= len(text.rstrip()):
        return text.rstrip() + "}"
    if text[at] == "{" and _is_open(before := text[:at].rstrip()):
        return f"{before}){text[len(before) :]}"
    if (word := _WORD.match(text, at)) is not None and len(near := near_names(word[0], _KEYWORDS)) == 1:
        return text[:at] + near[0] + text[word.end() :]
    for pattern, form in _SLIPS:
        for found in pattern.finditer(text):
            if found.start() <= at < found.end():
                return text[: found.start()] + found.expand(form) + text[found.end() :]
    return ""


def _is_open(text: str) -> bool:
    """Whether a text ends behind a whole argument, in brackets that are not closed."""
    inside = _UNREAD.sub("", text).rpartition("(")[2]
    return ")" not in inside and all(inside.count(one) == inside.count(other) for one, other in ("{}", "[]"))


_UNREAD: Final = re.compile(r'"""(?s:.*?)"""|"(?:[^"\\\n]|\\.)*"|#[^\n]*')
_WORD: Final = re.compile(r"\w+")
_KEYWORDS: Final = ("query", "mutation", "subscription", "fragment")
_SLIPS: Final = (
    (re.compile(r"'([^'\"\\\n]*)'"), r'"\1"'),
    (re.compile('[\u201c\u201d\u201e]([^\u201c\u201d"\\\\\n]*)[\u201c\u201d]'), r'"\1"'),
    (re.compile(r'\\"([^\\"\n]*)\\"'), r'"\1"'),
    (re.compile(r'"([_A-Za-z]\w*)"(?=\s*:)'), r"\1"),
    (re.compile(r"\(\s*\)|;|\}\s*\Z"), ""),
    (re.compile(r"="), ":"),
)
"""Quotation marks, names of fields in quotes, no arguments in brackets, semicolons, a brace too many, `=` for `:`."""


def spliced(text: str, splices: Sequence[Splice]) -> str:
    """Return a text with splices; of those that overlap the first one counts, lists at one place are one list."""
    out, end = text, len(text) + 1
    for start, stop, new in sorted(_joined(splices), key=lambda one: (one[0], one[1]), reverse=True):
        if stop <= end:
            out, end = out[:start] + new + out[stop:], start
    return out


def _joined(splices: Sequence[Splice]) -> tuple[Splice, ...]:
    """Return splices with those at one place as one."""
    out: dict[tuple[int, int], str] = {}
    for start, end, text in splices:
        out[start, end] = _BETWEEN.sub(", ", f"{out.get((start, end), '')}\0{text}").replace("\0", "")
    return tuple((*place, text) for place, text in out.items())


_BETWEEN: Final = re.compile(r"\) ?\0(?:\w+ )? ?\(|\}\0\{")
"""Between two variables of an operation, or two fields of an object, that had none."""


def span(node: Any) -> tuple[int, int]:
    return node.loc.start, node.loc.end


def at(node: Any) -> tuple[int, int]:
    """Return the line and the column of a node."""
    return node.loc.start_token.line, node.loc.start_token.column


def removed(node: Any, text: str) -> Splice:
    """Return the splice that takes a node away, with the comma or blanks behind it, of the last one before it."""
    start, end = span(node)
    end = len(text) - len(text[end:].lstrip(" ,\t"))
    while text[end : end + 1] in (")", "]") and text[start - 1] in " ,\t":
        start -= 1
    return start, end, ""
