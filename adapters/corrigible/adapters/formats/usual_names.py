"""Answers whose members have names that nobody knows: what stands in them tells the sentence and the place.

`{"mensaje": "name is required"}` and `{"reply": "no such colour", "culprit": "colour"}` are read as if they were
`{"message": ...}` and `{"message": ..., "field": ...}`. An object with a usual name for its sentence stays as it is.

Knows: the shape of values, the request. Does not know: descriptions, what the sentences say.
"""

from __future__ import annotations

import re
from typing import Final

from corrigible.rules.budget import spend
from corrigible.rules.pointer import MISSING, value_at
from corrigible.schema.exchange import Json, Request

from .error_shapes import ABOUT_THE_ANSWER, CODES, LISTS, MAPS, NO_ERRORS, PLACES, TEXTS, WHOLE
from .pointers import part_of, pointer, steps

_DEEPEST: Final = 8
_LONGEST_TOLD: Final = 500
_MOST_MEMBERS: Final = 40
"""Of one object: the object of an error has a few, a thing has many."""
_MOST_ITEMS: Final = 64
_LONGEST_PLACE: Final = 120
_TEXTS: Final = frozenset(TEXTS)
_KNOWN: Final = frozenset({*TEXTS, *CODES, *PLACES, *LISTS, *MAPS, *NO_ERRORS, *ABOUT_THE_ANSWER, *WHOLE})
_OF_AN_ERROR: Final = frozenset({"constraints", "keyword", "violations", "pointer", "instancePath"})
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_CAMEL: Final = re.compile(r"(?<=[a-z\d])(?=[A-Z])|[\W_]+")
_WITHOUT_SUBJECT: Final = re.compile(
    r"(?i)\W*(?:(?:this|the|that|your|given|provided) )*(?:field|value|input|string|number|integer|property|parameter"
    r"|item|list|array|object|text|length|format|it|is|isn't|are|aren't|can|cannot|can't|must|should|shall|may|has"
    r"|have|was|were|does|doesn't|do|needs?|not|no|none|required|mandatory|missing|invalid|unknown|unexpected"
    r"|unsupported|expected|ensure|enter|select|choose|provide|please|too|at|only|already|bad|wrong|empty|null|blank"
    r"|exceeds?|out|accepts?|allows?|permits?|contains?|shorter|longer|greater|less|outside|use|failed|fails)\b"
)
"""How a sentence begins that leaves its subject to the name that it stands under."""


def with_usual_names(body: Json, request: Request) -> Json:
    """Return an answer with the usual names of a sentence, of errors and of a place for those that only shapes tell."""
    names = {*request.query, *(request.body if isinstance(request.body, dict) else ())}
    return _renamed(body, request, frozenset(names), 0)


def _renamed(value: Json, request: Request, sent: frozenset[str], depth: int) -> Json:
    if depth > _DEEPEST:
        return value
    spend()
    if isinstance(value, list):
        return [*(_renamed(one, request, sent, depth + 1) for one in value[:_MOST_ITEMS]), *value[_MOST_ITEMS:]]
    if not isinstance(value, dict) or len(value) > _MOST_MEMBERS:
        return value
    has_sentence = any(isinstance(value[name], str) for name in _TEXTS.intersection(value))
    members = {
        # Beside a sentence stand the things that it is about, and errors only under their usual names.
        name: one if has_sentence and name not in LISTS else _renamed(one, request, sent, depth + 1)
        for name, one in value.items()
    }
    strange = [name for name in members if name not in _KNOWN and name not in sent and not part_of(name)]
    if not strange or has_sentence or "message" in members or not _OF_AN_ERROR.isdisjoint(members):
        return members
    is_map = all(_may_be_told(one) and not _is_place(one, request) for one in members.values())
    told = [name for name in strange if (_is_of_itself(name, members[name]) if is_map else _is_sentence(members[name]))]
    if told:
        sentence = max(told, key=lambda name: len(str(members[name])))
        places = [name for name in strange if name != sentence and _is_place(members[name], request)]
        usual = {sentence: "message"} | ({places[0]: "field"} if len(places) == 1 else {})
        return {usual.get(name, name): one for name, one in members.items()}
    lists = [name for name in strange if _are_of_themselves(name, members[name])]
    if len(lists) == 1 and "errors" not in members:
        return {"errors" if name == lists[0] else name: one for name, one in members.items()}
    return members


def _are_of_themselves(name: str, value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(_is_of_itself(name, one) for one in value)


def _is_of_itself(name: str, value: Json) -> bool:
    """Whether a value is a sentence with a subject of its own, which is not the name that it stands under.

    `{"name": "can't be blank"}` and `{"first_name": "First name is too long"}` are about what their names say.
    """
    if not isinstance(value, str) or not _is_sentence(value) or _WITHOUT_SUBJECT.match(value.strip()) is not None:
        return False
    told = value.strip()[:_LONGEST_TOLD]
    words = {one.lower() for one in _CAMEL.split(name) if one}
    return words.isdisjoint(one.lower() for one in _CAMEL.split(told)) and name.lower() not in told.lower()


def _may_be_told(value: Json) -> bool:
    """Whether a value may be what is told under the name of a place."""
    return _is_sentence(value) or isinstance(value, list | dict)


def _is_sentence(value: Json) -> bool:
    return isinstance(value, str) and " " in value.strip() and len(_WORD.findall(value[:_LONGEST_TOLD])) > 1


def _is_place(value: Json, request: Request) -> bool:
    """Whether a value names a place that the request has."""
    if isinstance(value, str) and value and len(value) <= _LONGEST_PLACE and not any(map(str.isspace, value)):
        parts = steps(value)
    elif isinstance(value, list) and value and all(isinstance(one, str | int) for one in value):
        parts = [str(one) for one in value]
    else:
        return False
    if not parts or value == request.path:
        return False
    return not part_of(parts[-1]) and value_at(request, pointer(parts, request)) is not MISSING
