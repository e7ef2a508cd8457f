"""Data written inside a text: JSON, Python's or Ruby's notation of dicts and lists.

Servers print their list of errors into one message: `{'value': ['Missing data for required field.']}`, tRPC's
`[{"code": "too_small", "path": ["name"]}]`, `Missing required property(ies): ['slots']`. Nothing is evaluated.
"""

from __future__ import annotations

import re
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
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_CLOSING: Final = {"{": "}", "[": "]", "(": ")"}
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
    if len(text) > _LONGEST or ("{" not in text and "[" not in text):
        return None
    for number, match in enumerate(re.finditer(r"[{\[]", text)):
        if number == _MOST_BEGINNINGS:
            break
        try:
            value, end = _value(text, _next(text, match.start()), 0)
        except _NoLiteral:
            continue
        if value:
            return Literal(value, match.start(), end)
    return None


class _NoLiteral(Exception):
    pass


def _next(text: str, at: int) -> re.Match[str]:
    spend()
    match = _TOKEN.match(text, at)
    if match is None:
        raise _NoLiteral
    return match


def _value(text: str, token: re.Match[str], depth: int) -> tuple[Json, int]:
    """Return the value that begins with a token, and the index after it."""
    if depth > _DEEPEST:
        raise _NoLiteral
    kind = token.lastgroup or ""
    written, end = token[kind], token.end()
    match kind:
        case "text":
            inner = written.lstrip("ub")[1:-1]
            return _ESCAPE.sub(r"\1", inner) if "\\" in inner else inner, end
        case "number":
            return float(written) if "." in written else int(written), end
        case "word" if written in _WORDS:
            return _WORDS[written], end
        case "word" if written.startswith(":"):
            return written[1:], end  # a symbol of Ruby's
        case "mark" if written == "{":
            return _mapping(text, end, depth)
        case "mark" if written in ("[", "("):
            return _sequence(text, end, depth, _CLOSING[written])
    raise _NoLiteral


def _sequence(text: str, at: int, depth: int, closing: str) -> tuple[Json, int]:
    values: list[Json] = []
    while (token := _next(text, at))["mark"] != closing:
        value, at = _value(text, token, depth + 1)
        values.append(value)
        token = _next(text, at)
        if token["mark"] == closing:
            break
        if token["mark"] != ",":
            raise _NoLiteral
        at = token.end()
    return values, token.end()


def _mapping(text: str, at: int, depth: int) -> tuple[Json, int]:
    members: dict[str, Json] = {}
    values: list[Json] = []  # of a set of Python's
    while (token := _next(text, at))["mark"] != "}":
        name, at = _name(text, token)
        if (separator := _SEPARATOR.match(text, at)) is not None:
            members[str(name)], at = _value(text, _next(text, separator.end()), depth + 1)
        else:
            values.append(name)
        token = _next(text, at)
        if token["mark"] == "}":
            break
        if token["mark"] != ",":
            raise _NoLiteral
        at = token.end()
    if members and values:
        raise _NoLiteral
    return values or members, token.end()


def _name(text: str, token: re.Match[str]) -> tuple[Json, int]:
    if token["word"] is not None:
        return token["word"].lstrip(":"), token.end()
    if token["mark"] is not None:
        raise _NoLiteral
    return _value(text, token, _DEEPEST)
