"""Answers whose members have names that nobody knows: what stands in them tells the sentence and the place.

`{"mensaje": "name is required"}` and `{"reply": "no such colour", "culprit": "colour"}` are read as if they were
`{"message": ...}` and `{"message": ..., "field": ...}`. An object with a usual name for its sentence stays as it is.

Knows: the shape of values, the request. Does not know: descriptions, what the sentences say.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from corrigible.rules.budget import spend
from corrigible.rules.pointer import MISSING, value_at
from corrigible.rules.safety.decisive import words
from corrigible.schema.exchange import Json, Request

from . import error_shapes as shapes
from .members import Members, fold
from .pointers import is_name, part_of, pointer, read_place

_LONGEST_TOLD: Final = 500
_MOST_MEMBERS: Final = 40
"""Of one object: the object of an error has a few, a thing has many."""
_KNOWN: Final = frozenset(
    {
        *shapes.TEXTS,
        *shapes.CODES,
        *(one.member for one in shapes.PLACES),
        *shapes.LISTS,
        *shapes.MAPS,
        *shapes.NO_ERRORS,
        *shapes.ABOUT_THE_ANSWER,
        *shapes.WHOLE,
        *shapes.OF_ERRORS,
    }
)


def with_usual_names(members: Members, request: Request, sent: Collection[str]) -> Members:
    """Return an object with the usual names of a sentence, of errors and of a place for those that only shapes tell."""
    strange = [name for name in members if fold(name) not in _KNOWN and name not in sent and not part_of(name)]
    if not strange or len(members) > _MOST_MEMBERS:
        return members
    usual = {fold(name): value for name, value in members.items()}
    if "message" in usual or any(isinstance(usual.get(name), str) for name in shapes.TEXTS):
        return members
    if not shapes.OF_ERRORS.isdisjoint(usual):
        return members
    spend()
    is_map = all(_may_be_told(one) and not _is_place(one, request) for one in members.values())
    told = [name for name in strange if (_is_of_itself(name, members[name]) if is_map else _is_sentence(members[name]))]
    if told:
        sentence = max(told, key=lambda name: len(str(members[name])))
        places = [name for name in strange if name != sentence and _is_place(members[name], request)]
        new = {sentence: "message"} | ({places[0]: "field"} if len(places) == 1 else {})
        return {new.get(name, name): one for name, one in members.items()}
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
    if not isinstance(value, str) or not _is_sentence(value):
        return False
    told = value.strip()[:_LONGEST_TOLD].lower()
    begins = next((one for one in map(_stripped, told.split()) if one not in shapes.DETERMINERS), "")
    if begins in shapes.WITHOUT_SUBJECT:
        return False
    return name.lower() not in told and set(words(name)).isdisjoint(words(told))


def _stripped(word: str) -> str:
    return word.strip(".,:;!?")


def _may_be_told(value: Json) -> bool:
    """Whether a value may be what is told under the name of a place."""
    return _is_sentence(value) or isinstance(value, list | dict)


def _is_sentence(value: Json) -> bool:
    if not isinstance(value, str):
        return False
    letters = [one for one in value[:_LONGEST_TOLD].split() if sum(map(str.isalpha, one)) > 1]
    return len(letters) > 1 or (" " not in value and len(value) > 3 and not value.isascii())


def _is_place(value: Json, request: Request) -> bool:
    """Whether a value names a place that the request has."""
    if not (is_name(value) or (isinstance(value, list) and value)) or value == request.path:
        return False
    parts = read_place(value).parts
    if not parts or part_of(parts[-1]):
        return False
    return value_at(request, pointer(parts, request)) is not MISSING
