"""Texts that say their place in a form of their own, or hold data.

The forms are rows of `shapes.toml`. They, the forms below and `OF_PART` are the only patterns that the envelope applies
to a text.

Servers print their list of errors into one message: `{'value': ['Missing data for required field.']}`, tRPC's
`[{"code": "too_small", "path": ["name"]}]`, `Missing required property(ies): ['slots']`. Nothing is evaluated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import orjson

from corrigible.rules.budget import spend
from corrigible.rules.pointer import MISSING, escape, to_pointer, value_at
from corrigible.schema.exchange import Json, Request

from .error_shapes import TABLES
from .pointers import member_pointer, part_of, pointer, steps
from .sent_places import sent_places

_READ: Final = 4000
_MOST: Final = 32


class Told(NamedTuple):
    """One place that a text tells."""

    pointer: str
    text: str
    """The sentence about it."""
    keyword: str = ""
    """The keyword of JSON Schema that the sentence is about, where its form says that."""
    rule: str = ""
    """The code that stands beside the sentence."""
    element: str = ""
    """What has to be added to a list."""


class TextShape(NamedTuple):
    """How some servers write a place in a text: a row of `shapes.toml`, which says what its columns are."""

    mark: str
    pattern: re.Pattern[str]
    around: str = ""
    part: str = ""
    keyword: str = ""
    between: re.Pattern[str] | None = None
    steps: Sequence[tuple[str, re.Pattern[str]]] = ()


def _shape(row: Mapping[str, Any]) -> TextShape:
    compiled: dict[str, Any] = {"pattern": re.compile("".join(row["pattern"]))}
    if "between" in row:
        compiled["between"] = re.compile(row["between"])
    return TextShape(**{**row, **compiled, "steps": [(name, re.compile(one)) for name, one in row.get("steps", ())]})


SHAPES: Final = tuple(map(_shape, TABLES["texts"]))
_BELOW: Final = _shape(TABLES["below"])
_ELEMENT: Final = re.compile(r"\b(?:array|list)\b[^\n]{0,100}\. Missing ['\"`]([^'\"`\n]{1,100})['\"`]")
"""What a list lacks that was sent."""
_STEP_BELOW: Final = re.compile(r"'([^']*)'|\"([^\"]*)\"|(\d+)")


def told_below(message: str, place: str, request: Request) -> Told | None:
    """Return the place that a text tells below the one that its answer names: a path inside a document that was sent.

    The answer may name what holds the document. Of a JSON Schema it is known where it begins.
    """
    found = _BELOW.pattern.search(message[:_READ]) if _BELOW.mark in message else None
    if found is None:
        return None
    path = to_pointer([next(filter(None, one.groups()), "") for one in _STEP_BELOW.finditer(found["place"])])
    below = (one.pointer for one in sent_places(request) if one.pointer.startswith(f"{place}/"))
    holders = (one for one in (place, *below) if value_at(request, one + (path or "/properties")) is not MISSING)
    if (holder := next(holders, None if path else place)) is None:
        return None
    for keyword, pattern in _BELOW.steps:
        if (more := pattern.search(found["text"])) is not None:
            told = f"{holder}{path}/{escape(more[1])}"
            lacking = _ELEMENT.search(found["text"])
            if lacking is not None and isinstance(value_at(request, told), list):
                return Told(f"{told}/-", found["text"], keyword, element=lacking[1])
            return Told(told, found["text"], keyword)
    return Told(holder + path, found["text"])


_PRINTED: Final = re.compile(
    r'\b(?i:(?:err(?:or)?_?)?(?:msg|message|details?|desc|description|reason)) ?= ?"(?P<text>[^"\n]{3,500})"'
)
_LONGEST_REQUEST: Final = 100_000


def printed_text(message: str, request: Request) -> str:
    """Return the sentence of an error that a program printed with its fields; empty where there is none.

    `<_InactiveRpcError of RPC that terminated with: status = INVALID_ARGUMENT, details = "no field x in Order">`. What
    was sent may have such fields, too: a filter.
    """
    found = _PRINTED.search(message[:_READ])
    if found is None or " " not in found["text"]:
        return ""
    sent = f"{request.query}{request.body}"[:_LONGEST_REQUEST]
    return "" if found["text"] in sent else found["text"]


_FRAMED: Final = re.compile(
    r"(?:[\w. ]{1,60}: ){0,5}\w{0,40}(?:Exception|Error)(?: \w{1,40}Error)? - (?P<text>\S(?s:.){2,1500}?)"
    r"(?:\n\n|[.\n] ?Received Model Group=|\nmodel=|\Z)"
)


def framed_text(message: str) -> str:
    """Return what a gateway has in a frame: names of exceptions before it, what was tried next behind it.

    `litellm.BadRequestError: OpenAIException - "x" is required\\n\\nLiteLLM: model group 'm' failed`.
    """
    found = _FRAMED.match(message[:_READ])
    return message if found is None else found["text"]


def told_in(message: str, request: Request) -> list[Told]:
    """Return the places that a text tells in a form of its own; none where it is prose, or about something not sent."""
    text = message[:_READ]
    for shape in SHAPES:
        if shape.mark not in text or (shape.around and value_at(request, shape.around) is MISSING):
            continue
        if shape.between is None:
            found = [*islice(shape.pattern.finditer(text), _MOST)]
        else:
            pieces = [shape.pattern.fullmatch(one) for one in shape.between.split(text, _MOST)]
            found = [one for one in pieces if one is not None]
            found = found if len(found) == len(pieces) else []
        told = [_told(shape, one, text, request) for one in found]
        if told:
            return told
    return []


def _told(shape: TextShape, found: re.Match[str], text: str, request: Request) -> Told:
    groups = found.groupdict()
    place, sentence = groups.get("place") or "", groups.get("text") or text
    parts = [*([groups["name"]] if groups.get("name") and place[:1] in ("", ".", "[") else []), *steps(place)]
    part = part_of(groups.get("part") or shape.part)
    told = shape.around + to_pointer(parts) if shape.around else pointer(parts, request, place=part)
    for keyword, pattern in shape.steps:
        if (more := pattern.search(sentence)) is not None:
            name = next((one for one in more.groups() if one), "")
            return Told(told + to_pointer([name] if name else []), sentence, keyword)
    told = member_pointer(told, sentence, shape.keyword, request)
    return Told(told, sentence, shape.keyword, groups.get("rule") or "")


# Data written inside of a text


_BEGINNING: Final = re.compile(r"[{\[]")
_END: Final = re.compile(r"[}\]]")
_ESCAPE: Final = re.compile(r"\\([\\'\"nrt])?")
_MOST_BEGINNINGS: Final = 3
_MOST_ENDS: Final = 8
"""The last ones of a text: few words stand behind what a program prints."""


class Literal(NamedTuple):
    """A dict or list in a text, and where it stands."""

    value: Json
    start: int
    end: int


def find_literal(text: str) -> Literal | None:
    """Return the first dict or list in a text that is complete and not empty, None where there is none."""
    if len(text) > _READ:
        return None
    ends = [one.end() for one in _END.finditer(text)][: -_MOST_ENDS - 1 : -1]
    for beginning in islice(_BEGINNING.finditer(text), _MOST_BEGINNINGS):
        start = beginning.start()
        for end in (one for one in ends if one > start):
            spend()
            if value := _value(text[start:end]) or _value_of_quoted(text[start:end], text[start - 1 : start]):
                return Literal(value, start, end)
    return None


def _value(written: str) -> Json:
    try:
        return orjson.loads(written)
    except orjson.JSONDecodeError:
        pass
    try:
        value = ast.literal_eval(_ESCAPE.sub(lambda found: found[0] if found[1] else r"\\", written))
        return orjson.loads(orjson.dumps(value))  # a tuple is a list of JSON
    except (SyntaxError, TypeError, ValueError):
        return None


def _value_of_quoted(written: str, quote: str) -> Json:
    """Return the JSON of a text as Python prints it, with its escapes: `b'{\\n "error": ...'`."""
    if quote not in ("'", '"') or not quote or "\\" not in written:
        return None
    try:
        return orjson.loads(ast.literal_eval(f"{quote}{written}{quote}"))
    except (SyntaxError, TypeError, ValueError):
        return None
