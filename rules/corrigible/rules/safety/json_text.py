"""Texts that are nearly JSON: where they stop being it, and what they hold where nothing has to be guessed.

Knows: RFC 8259. Does not know: schemas, requests, what a value means.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

from corrigible.rules.pointer import MISSING
from corrigible.schema.exchange import Json

LONGEST: Final = 65_536
"""Letters: nothing is said of a longer text."""
_BOM: Final = "\ufeff"
_TOKEN: Final = re.compile(
    r'"(?:[^"\\]|\\.)*+\\?(?:"|\Z)|,(?=\s*+[}\]])|(?P<number>-?Infinity\b|NaN\b)'
    r"|'(?P<text>(?:[^'\\\n]|\\.)*+)(?P<end>'?+)|(?<![\w$])(?P<name>[A-Za-z_$][\w$]*+)(?=\s*+:)"
    r"|\b(?:True|False|None)\b",
    re.DOTALL,
)
"""A text, with all that is in it; a comma before an end; what JavaScript and Python write and JSON does not have."""
_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_IN_QUOTES: Final = re.compile(r"\\.|\"", re.DOTALL)
_REQUOTED: Final = {"\\'": "'", '"': '\\"'}
_BLANK: Final = " \t\n\r"
_MEMBER: Final = "a member name in double quotes"
_VALUE: Final = "a value"
_EXPECTED: Final = (
    ("Expecting property name", _MEMBER),
    ("Expecting ':'", "a colon"),
    ("Expecting ','", "a comma, or the end of the object or list"),
    ("Expecting value", _VALUE),
    ("Unterminated string", "the end of the text that begins there"),
    ("Invalid control character", "an escape in the place of a control character"),
    ("Invalid \\", "a valid escape"),
    ("Extra data", "the end of the body"),
)


class JsonFault(NamedTuple):
    """Where a text stops being JSON; both count from 1."""

    line: int
    column: int
    expected: str


def fault(text: str) -> JsonFault | None:
    """Return where a text stops being JSON, None where it is JSON or too long to tell."""
    if len(text) > LONGEST:
        return None
    if text.startswith(_BOM):
        return JsonFault(1, 1, "no byte order mark")
    try:
        _loads(text)
    except json.JSONDecodeError as problem:
        if problem.msg.startswith("Illegal trailing comma"):  # since Python 3.13, at the comma
            end = len(text) - len(text[problem.pos + 1 :].lstrip(_BLANK))
            return _at(text, end, _MEMBER if text[end : end + 1] == "}" else _VALUE)
        expected = next((words for start, words in _EXPECTED if problem.msg.startswith(start)), "something else")
        return JsonFault(problem.lineno, problem.colno, expected)
    except _NoJson:
        return next((_at(text, token.start(), "a number") for token in _TOKEN.finditer(text) if token["number"]), None)
    except (RecursionError, ValueError):
        return None
    return None


def repaired_json(text: str) -> Json:
    """Return what a text holds that is JSON as JavaScript and Python write it; else MISSING.

    That is JSON but for a byte order mark, commas before an end, single quotes, names without quotes, `True`, `False`
    and `None`. Nothing is lost: what names a member twice or by one of these words, or has numbers or texts that cannot
    be kept, is left alone.
    """
    if len(text) > LONGEST:
        return MISSING
    plain = _TOKEN.sub(_as_json, text.removeprefix(_BOM))
    try:
        value = _loads(plain, strict=True)
        if "\\u" in plain:
            json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text: a ValueError
        return value
    except (ValueError, RecursionError, _NoJson):
        return MISSING


class ClosedJson(NamedTuple):
    """A text of which only the end was missing."""

    value: Json
    closers: str
    """What has to be added."""


def closed_json(text: str) -> ClosedJson | None:
    """Return what a text holds that lacks nothing but what closes its objects and lists; else None.

    It has to end behind a whole value that nothing could go on with: a text, an object, a list, or one of JSON's words.
    Behind that it may have been cut all the same.
    """
    if len(text) > LONGEST or not text.rstrip(_BLANK).endswith(_WHOLE):
        return None
    open_: list[str] = []
    for token in _BRACKET.finditer(text):
        if (closer := _CLOSERS.get(token[0])) is not None:
            open_.append(closer)
        elif token[0] in ("}", "]") and (not open_ or open_.pop() != token[0]):
            return None
    if not 0 < len(open_) <= _MOST_CLOSERS:
        return None
    closers = "".join(reversed(open_))
    try:
        value = _loads(text + closers, strict=True)
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text: a ValueError
    except (ValueError, RecursionError, _NoJson):
        return None
    return ClosedJson(value, closers)


_BRACKET: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\]]', re.DOTALL)
_CLOSERS: Final = {"{": "}", "[": "]"}
_WHOLE: Final = ('"', "}", "]", "true", "false", "null")
_MOST_CLOSERS: Final = 8


def _as_json(token: re.Match[str]) -> str:
    if token[0] == ",":
        return ""
    if token["text"] is not None:
        inner = _IN_QUOTES.sub(lambda one: _REQUOTED.get(one[0], one[0]), token["text"])
        return f'"{inner}"' if token["end"] else f'"{inner}'
    if token["name"] is not None:
        if token["name"] in _WORDS:
            return token[0]  # "True" in JavaScript, "true" for Python's json.dumps
        return f'"{token["name"]}"'
    return _WORDS.get(token[0], token[0])


def _at(text: str, index: int, expected: str) -> JsonFault:
    return JsonFault(text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index), expected)


class _NoJson(Exception):
    """Python reads it, JSON does not have it."""


def _loads(text: str, *, strict: bool = False) -> Json:
    hooks: dict[str, Any] = {"object_pairs_hook": _once, "parse_float": _exact} if strict else {}
    value: Json = json.loads(text, parse_constant=_refused, **hooks)
    return value


def _refused(constant: str) -> Json:
    raise _NoJson(constant)


def _once(members: list[tuple[str, Json]]) -> dict[str, Json]:
    out = dict(members)
    if len(out) < len(members):
        raise ValueError("a member is named twice")
    return out


def _exact(digits: str) -> float:
    value = float(digits)
    if len(digits) > 17 or value in (float("inf"), float("-inf")):
        raise ValueError("a number that would be rounded")
    return value
