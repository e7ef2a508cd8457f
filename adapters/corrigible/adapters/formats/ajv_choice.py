"""Ajv's errors below `oneOf` and `anyOf`: it lists those of every alternative, and only one was meant.

Knows: Ajv's error objects. Does not know: requests, descriptions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from corrigible.schema.exchange import Json

_CHOICE: Final = re.compile(r"(?P<choice>.*?/(?:oneOf|anyOf))/(?P<number>\d{1,4})(?:/|$)")
_VALUES: Final = ("enum", "const")

_Error = Mapping[str, Json]


def of_one_alternative(listed: Sequence[Json]) -> Sequence[Json]:
    """Return the errors without those that only follow from another one.

    Where all alternatives refuse the value of one place, which tells them apart, that is the error, with the values of
    all: what they say of other places is about things that were not meant. Otherwise all errors stay.
    """
    choices: dict[str, dict[str, list[_Error]]] = {}
    for one in listed:
        if isinstance(one, dict) and (found := _CHOICE.match(str(one.get("schemaPath", "")))) is not None:
            choices.setdefault(found["choice"], {}).setdefault(found["number"], []).append(one)
    out = list(listed)
    for choice, alternatives in choices.items():
        if len(alternatives) < 2:
            continue
        meant = _meant(list(alternatives.values()))
        if meant is None:
            continue
        below = {id(one) for errors in alternatives.values() for one in errors}
        out = [one for one in out if id(one) not in below and not _is_about(one, choice)] + list(meant)
    return out


def _meant(alternatives: Sequence[Sequence[_Error]]) -> Sequence[Json] | None:
    told = [{_place(one) for one in errors if one.get("keyword") in _VALUES} for errors in alternatives]
    common = set.intersection(*told)
    if not common:
        return None
    place = min(common)
    values = [value for errors in alternatives for one in errors if _place(one) == place for value in _allowed(one)]
    first = next(one for one in alternatives[0] if _place(one) == place and one.get("keyword") in _VALUES)
    each_once = list({repr(value): value for value in values}.values())
    return [{**first, "keyword": "enum", "params": {"allowedValues": each_once}}]


def _place(error: _Error) -> str:
    return str(error.get("instancePath") or error.get("dataPath") or "")


def _allowed(error: _Error) -> Iterator[Json]:
    params = error.get("params")
    if isinstance(params, dict):
        listed = params.get("allowedValues")
        yield from listed if isinstance(listed, list) else [params["allowedValue"]] if "allowedValue" in params else []


def _is_about(error: Json, choice: str) -> bool:
    return isinstance(error, dict) and error.get("schemaPath") == choice
