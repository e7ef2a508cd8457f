"""The validation errors of AWS's frameworks, several in one text: Coral and Smithy.

`2 validation errors detected: Value 'HASHH' at 'keySchema.1.member.keyType' failed to satisfy constraint: Member must
satisfy enum value set: [HASH, RANGE]; Value null at 'tableName' failed to satisfy constraint: Member must not be null`

Knows: one text. Does not know: the request, formats, descriptions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice, zip_longest
from typing import Final, NamedTuple

import re2

from corrigible.rules.budget import spend
from corrigible.rules.pattern import compiled
from corrigible.schema.exchange import Json

from .limits import limits_in

_FAILED: Final = re.compile(r"\bat '(?P<place>/?[\w.$\[\]/:-]{1,200})' failed to satisfy constraint: ?")
_HEADING: Final = re.compile(r"\d{1,4} validation errors? detected[:.] ")
_MOST: Final = 64
_LONGEST: Final = 1 << 14
_LETTERS_A_STEP: Final = 64
_NULL: Final = re.compile(r"Member must not be null\b")
_ELEMENTS: Final = re.compile(r"Member must satisfy constraint: \[(?P<inner>.*)\]\s*$", re.DOTALL)
_CHOICES: Final = re.compile(r"Member must satisfy enum value set: \[(?P<listed>[^\[\]]*)\]")
_CHOICE: Final = re.compile(r"[\w$.:/@+*%#~-]{1,120}")
_MOST_CHOICES: Final = 1000
_PATTERN: Final = re.compile(r"must satisfy regular expression(?: pattern)?:? ?(?P<quote>')?(?P<pattern>\S{1,300})\s*$")
BETWEEN: Final = frozenset({"member", "entry"})
"""Names between a list or a map and its elements, which are no members: `tags.1.member.key`, `Tags.member.1.Key`."""
_RANGE: Final = re.compile(
    r"(?P<length>length )?(?:value )?between (?P<low>-?\d{1,15}) and (?P<high>-?\d{1,15})(?:, inclusive)?"
)


class ConstraintFailure(NamedTuple):
    """One failure, as it is told."""

    message: str
    """Its own sentence."""
    names: tuple[str, ...]
    """Where it is; lists are counted from 1 unless `counts_from_zero`."""
    counts_from_zero: bool
    is_missed: bool
    """Whether nothing was sent there."""
    stated: Mapping[str, Json]
    is_about_elements: bool = False
    """Whether the constraint is that of the elements of the list at its place."""


def constraint_failures(message: str) -> Iterator[ConstraintFailure]:
    """Yield the failures that a text tells; none where it tells of none in these words."""
    if "failed to satisfy constraint" not in message[:_LONGEST]:
        return
    text = message[:_LONGEST]
    spend(len(text) // _LETTERS_A_STEP)
    heading = _HEADING.match(text)
    start = heading.end() if heading is not None else 0
    found = list(islice(_FAILED.finditer(text), _MOST))
    for one, following in zip_longest(found, found[1:]):
        end = len(text)
        if following is not None:
            between = text.find("; Value", one.end(), following.start())
            end = between if between >= 0 else following.start()
        yield _failure(text[start:end].strip(" ;"), one["place"], text[one.end() : end].strip(" ;"))
        start = end


def _failure(message: str, place: str, told: str) -> ConstraintFailure:
    names = tuple(name for name in re.split(r"[./\[\]]+", place) if name)
    names = tuple(name for order, name in enumerate(names) if order == 0 or name not in BETWEEN)
    inner = _ELEMENTS.search(told)
    is_missed = inner is None and _NULL.match(told) is not None
    stated = _stated(told if inner is None else inner["inner"])
    return ConstraintFailure(message, names, place.startswith("/"), is_missed, stated, inner is not None)


def _stated(told: str) -> Mapping[str, Json]:
    """Return the JSON Schema keywords that a constraint stands for."""
    listed = _CHOICES.search(told)
    if listed is not None:
        items = [one.strip().strip("'\"") for one in listed["listed"].split(",", _MOST_CHOICES)]
        is_plain = len(items) <= _MOST_CHOICES and all(map(_CHOICE.fullmatch, items))
        return {"enum": items} if is_plain else {}
    pattern = _PATTERN.search(told)
    if pattern is not None:
        return _of_pattern(pattern["pattern"].rstrip("'") if pattern["quote"] else pattern["pattern"])
    between = _RANGE.search(told)
    if between is not None:
        names = ("minLength", "maxLength") if between["length"] else ("minimum", "maximum")
        return dict(zip(names, (int(between["low"]), int(between["high"])), strict=True))
    return limits_in(told.partition(", Member must ")[0])


def _of_pattern(pattern: str) -> Mapping[str, Json]:
    """Return a pattern for the whole value, which is what these frameworks match."""
    is_whole = pattern.startswith("^") and pattern.endswith("$") and "|" not in pattern
    whole = pattern if is_whole else f"^(?:{pattern})$"
    try:
        compiled(whole)
    except re2.error:
        return {}
    return {"pattern": whole}
