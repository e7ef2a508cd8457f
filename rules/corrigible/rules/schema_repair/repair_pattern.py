"""Repairs of a text that a pattern refuses: the same in another writing, which is provably in the pattern."""

from __future__ import annotations

import re
from typing import Final

import re2

from corrigible.rules.pattern import compiled
from corrigible.rules.safety.spelling import Spelling, as_is_taken
from corrigible.rules.safety.time_span import GO_DURATION, go_duration
from corrigible.rules.safety.written_moment import rewritten
from corrigible.schema.exchange import Json

from .first_violation import first_violation, is_fully_checked
from .json_schema import Schema
from .value_place import Place

_CASE: Final = "upper and lower case change"
_ANOTHER: Final = "it becomes another name than was asked for"


def patterned(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    """Return the first spelling, from the least change on, that is provably in the pattern.

    Where another name has to be made of words, the pattern says with what between them, or the caller does.
    """
    pattern = schema.get("pattern")
    if not isinstance(value, str) or not isinstance(pattern, str):
        return []
    if pattern == GO_DURATION:
        return [Spelling(length)] if (length := go_duration(value)) is not None else []
    shape = {"pattern": pattern}
    if not is_fully_checked(shape):
        return []
    if moment := _moment_in(value, pattern):
        return [Spelling(moment)]
    plain = value.strip()
    unmarked = plain.lstrip("#@$+").strip()
    dashed = re.sub(r"[\s_]+", "-", plain)
    led = re.match(r"\^((?:[A-Za-z0-9_-]|\\?/|:)+(?<=[/:]))(?=[.\[(\\])", pattern)
    beginning = led[1].replace("\\/", "/") if led is not None else ""
    ways = [
        Spelling(plain),
        Spelling(unmarked),
        Spelling(as_is_taken(plain, lambda text: first_violation(text, shape) is None)),
        Spelling(re.sub(r"[\s-]", "", plain) if re.fullmatch(r"[\d\s-]+", plain) else plain),
        Spelling(plain.lower(), _CASE),
        Spelling(plain.upper(), _CASE),
        Spelling(unmarked.lower(), _CASE),
        Spelling(unmarked.upper(), _CASE),
        Spelling(dashed, _ANOTHER),
        Spelling(dashed.lower(), _ANOTHER),
        Spelling(dashed.replace("-", "_").lower(), _ANOTHER),
        Spelling(beginning + plain, "the beginning that the pattern asks for is put before it"),
    ]
    fitting = [way for way in ways if way.value != value and way.value and first_violation(way.value, shape) is None]
    if not fitting or fitting[0].assumption != _ANOTHER or not re.search(r"\s", plain):
        return fitting[:1]
    joined = re.sub(r"[\s_]+", "_", plain if fitting[0].value == dashed else plain.lower())
    return [fitting[0], *(way for way in (Spelling(joined, _ANOTHER),) if first_violation(joined, shape) is None)]


def _moment_in(value: str, pattern: str) -> str:
    """Return a date or a time in the writing that a pattern has for the whole of it; empty where that says less."""
    try:
        whole = compiled(f"^(?:{pattern})$")
    except re2.error:
        return ""
    return rewritten(
        value, lambda text: whole.search(text) is not None and first_violation(text, {"pattern": pattern}) is None
    )
