"""A path of the request before or behind the sentence about it: `must be a list (at /box/sizes)`, `box.sizes: ...`.

Knows: one text and the request. Does not know: formats, descriptions, names that are single words.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from corrigible.adapters.formats.message.absence import SAYS_ABSENT
from corrigible.rules.budget import walk
from corrigible.rules.pointer import MISSING, value_at
from corrigible.schema.exchange import Request

from .pointers import part_of, pointer, steps

_READ: Final = 1000
_NAME: Final = r"[\w$@-]{1,60}"
_STEP: Final = rf"(?:\.{_NAME}|\[(?:{_NAME}|'{_NAME}'|\"{_NAME}\")\])"
_TOKEN: Final = rf"(?<![\w/:.@])(?P<path>(?:#?(?:/{_NAME}){{1,10}})|{_NAME}{_STEP}{{1,10}})"
_KIND: Final = r"(?:field|property|parameter|attribute|member|argument|key|path|location|element|value|input)"
_BEHIND: Final = re.compile(
    rf"[\s,;:-]{{0,3}}[(\[]?\s?(?:\b(?:at|in|for|on|under)\b:? )?(?:the )?(?:{_KIND}:? )?"
    rf"['\"`]?{_TOKEN}['\"`]?\s?[)\]]?[.!]?$",
    re.IGNORECASE,
)
_BEFORE: Final = re.compile(
    rf"^(?:[A-Za-z ]{{1,40}}[:-]\s?)?(?:the )?(?:{_KIND} )?(?P<mark>['\"`]?){_TOKEN}(?P=mark)(?: {_KIND})?"
    r"(?:(?: (?:was|is) (?:rejected|refused))?\s?[:.-]\s{1,3}(?=\S)"
    r"|(?= (?:must|should|has|is|can|may|needs|does|was)\b))",
    re.IGNORECASE,
)


class ToldPath(NamedTuple):
    """A place, and the sentence without it."""

    place: str = ""
    sentence: str = ""


def path_in_prose(message: str, request: Request) -> ToldPath:
    """Return the place that a text tells by its path and what it says of it; empty where it tells none.

    A path counts if the request has the place, or the object inside its body in which it would be.
    """
    if len(message) > _READ:
        return ToldPath()
    for pattern in (_BEFORE, _BEHIND):
        told = pattern.search(message)
        if told is None:
            continue
        sentence = message[told.end() :] if pattern is _BEFORE else message[: told.start()]
        sentence = sentence.strip(" ,;:-")
        if sentence and (place := _place(told["path"], sentence, request)):
            return ToldPath(place, sentence)
    return ToldPath()


def path_inside(message: str, place: str, request: Request) -> ToldPath:
    """Return the place below a known one that a text about that one tells by its path; empty where it tells none.

    WordPress tells the parameter, and in the text where in it: `categories[0] is not of type integer.`
    """
    told = path_in_prose(message, request)
    is_inside = told.place.startswith(f"{place}/") and value_at(request, told.place) is not MISSING
    return told if is_inside else ToldPath()


def _place(path: str, sentence: str, request: Request) -> str:
    walk()
    parts = steps(path)
    if path in (request.path, request.path.rstrip("/")) or not parts:
        return ""
    place = pointer(parts, request, place="body" if path[0] in "/#" and not part_of(parts[0]) else "")
    if not place.startswith(("/body/", "/query/")):
        return ""
    if value_at(request, place) is not MISSING:
        return place
    parent = place.rpartition("/")[0]
    is_inside = parent.count("/") > 1 or SAYS_ABSENT.search(sentence) is not None
    return place if is_inside and isinstance(value_at(request, parent), dict) else ""
