"""Data written inside a text: JSON, Python's or Ruby's notation of dicts and lists.

Servers print their list of errors into one message: `{'value': ['Missing data for required field.']}`, tRPC's
`[{"code": "too_small", "path": ["name"]}]`, `Missing required property(ies): ['slots']`. Nothing is evaluated.
"""

from __future__ import annotations

import ast
import re
from itertools import islice
from typing import Final, NamedTuple

from corrigible.rules.budget import spend
from corrigible.schema.exchange import Json

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<text>[ub]?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))|(?P<number>-?\d{1,18}(?:\.\d{1,18})?)(?![\w.])"""
    r"""|(?P<word>:?[A-Za-z_]\w{0,80})|(?P<mark>=>|[][{}(),:]))""",
    re.DOTALL,
)
_WORDS: Final = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None, "nil": None}
_SEPARATOR: Final = re.compile(r"\s*(?::|=>)")
_BEGINNING: Final = re.compile(r"[{\[]")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_DEEPEST: Final = 8
_LONGEST: Final = 4000
_MOST_BEGINNINGS: Final = 3


class Literal(NamedTuple):
    """A dict or list in a text, and where it stands."""

    value: Json
    start: int
    end: int


def find_literal(text: str) -> Literal | None:
    """Return the first dict or list in a text that is complete and not empty, None where there is none."""
    if len(text) > _LONGEST:
        return None
    for beginning in islice(_BEGINNING.finditer(text), _MOST_BEGINNINGS):
        source, end = _as_python(text, beginning.start())
        try:
            value = ast.literal_eval(source)
        except (SyntaxError, TypeError, ValueError):
            continue
        if value:
            return Literal(value, beginning.start(), end)
    return None


def _as_python(text: str, at: int) -> tuple[str, int]:
    """Return the notation that begins at an index as Python writes lists and dicts, and its end; nothing if none."""
    closers: list[str] = []
    written: list[str] = []
    while (token := _TOKEN.match(text, at)) is not None and len(closers) <= _DEEPEST:
        spend()
        at, mark, word = token.end(), token["mark"] or "", token["word"] or ""
        is_name = _SEPARATOR.match(text, at) is not None
        if mark in ("{", "[", "("):
            first = _TOKEN.match(text, at)
            is_dict = mark == "{" and (first is None or first["mark"] == "}" or _SEPARATOR.match(text, first.end()))
            written.append("{" if is_dict else "[")  # a set and a tuple are lists here
            closers.append(mark + written[-1])
        elif mark and mark in "}])":
            if not closers or (opened := closers.pop())[0] + mark not in ("{}", "[]", "()"):
                return "", at
            written.append("}" if opened[1] == "{" else "]")
        elif mark:
            written.append(":" if mark == "=>" else mark)
        elif token["number"]:
            written.append(repr(token["number"]) if is_name else token["number"])
        elif token["text"]:
            written.append(repr(_ESCAPE.sub(r"\1", token["text"].lstrip("ub")[1:-1])))
        elif word in _WORDS and not is_name:
            written.append(repr(_WORDS[word]))
        elif word.startswith(":") or is_name:
            written.append(repr(word.removeprefix(":")))  # a symbol of Ruby's, a name without quotes
        else:
            return "", at
        if not closers:
            return " ".join(written), at
    return "", at
