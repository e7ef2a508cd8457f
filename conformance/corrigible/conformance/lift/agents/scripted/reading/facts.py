"""Which of the values that a prompt states belongs at a place that feedback leaves open: by name, or by the only shape.

Never a guess: two values that fit as well as each other are none.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jsonschema import Draft202012Validator, SchemaError
from jsonschema.exceptions import ValidationError

from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import Placeholder, Suggestion
from corrigible.schema.word import PatchVerb

from .path import ABSENT, JsonPath, normalized_name, parse_pointer, scalars, value_at

_NARROW = ("enum", "const", "format", "pattern", "contentEncoding")
"""Keywords that tell a value of one kind from texts in general."""


class Facts:
    """The values that a prompt states, by name; those inside of others under their own names as well."""

    def __init__(self, stated: Mapping[str, Json]) -> None:
        self._all = tuple(_named("", dict(stated)))

    def fitting(self, hole: Placeholder, request: Request) -> Any:
        """Return the value for a placeholder, ABSENT where none fits or several do."""
        place = parse_pointer(hole.pointer)
        schema = hole.schema_ or {}
        sent_value = value_at(request, place)
        last = normalized_name(
            next((part for part in reversed(place) if not str(part).isdecimal() and part != "-"), "")
        )
        for is_called in (_exactly, _nearly):
            called = [value for name, value in self._all if is_called(normalized_name(name), last)]
            if called:
                return _only(_shaped(called, schema, sent_value, place))
        if any(word in schema for word in _NARROW):
            return _only(_shaped([value for _, value in self._all], schema, sent_value, place))
        used = [scalar_text(value) for _, value in scalars(request)]
        unused = [v for _, v in self._all if not isinstance(v, Mapping | list) and scalar_text(v) not in used]
        return _only(_shaped(unused, schema, sent_value, place)) if "type" in schema else ABSENT

    def agreement(self, suggestion: Suggestion, request: Request) -> int:
        """Return with how many facts that are not yet in the request a suggestion agrees."""
        advised = list(_suggested_scalars(suggestion))
        used = {scalar_text(value) for _, value in scalars(request)} | set(request.path.split("/"))
        facts = {scalar_text(v) for _, v in self._all if not isinstance(v, Mapping | list)} - used
        return sum(any(fact == text or fact in text.split("/") for text in advised) for fact in facts)


def _named(name: str, value: Json) -> Iterator[tuple[str, Json]]:
    if name:
        yield name, value
    if isinstance(value, Mapping):
        for inner_name, inner in value.items():
            yield from _named(str(inner_name), inner)


def _exactly(fact: str, place: str) -> bool:
    return fact == place


def _nearly(fact: str, place: str) -> bool:
    """Plural and singular, or one more word in front: `source_branch` for `branch`."""
    first, other = fact.rstrip("s"), place.rstrip("s")
    return len(other) > 1 and len(first) > 1 and (first == other or first.endswith(other) or other.endswith(first))


def _only(values: Sequence[Json]) -> Any:
    distinct = [value for at, value in enumerate(values) if value not in values[:at]]
    return distinct[0] if len(distinct) == 1 else ABSENT


def _shaped(values: Sequence[Json], schema: Mapping[str, Json], sent_value: Any, place: JsonPath) -> list[Json]:
    """Return those values that the schema takes, each in the first of its forms that does."""
    out: list[Json] = []
    for value in values:
        forms = (form for form in _forms(value, schema, place) if _is_valid(form, schema))
        form = next(forms, ABSENT)
        if form is not ABSENT and not _same(form, sent_value):
            out.append(form)
    return out


def _forms(value: Json, schema: Mapping[str, Json], place: JsonPath) -> Iterator[Any]:
    if schema.get("contentEncoding") == "base64" and isinstance(value, str):
        yield base64.b64encode(value.encode()).decode()
    text = value if isinstance(value, Mapping | list) else scalar_text(value)
    yield text if place[:1] in (("headers",), ("path",), ("method",)) else value
    yield text
    if isinstance(value, str) and value.lstrip("-").isdecimal():
        yield int(value)
    if not isinstance(value, list) and schema.get("type") == "array":
        yield [value]


def _is_valid(value: Json, schema: Mapping[str, Json]) -> bool:
    try:
        Draft202012Validator(dict(schema), format_checker=Draft202012Validator.FORMAT_CHECKER).validate(value)
    except (ValidationError, SchemaError):
        return False
    return True


def _same(first: Any, other: Any) -> bool:
    if other is ABSENT or isinstance(first, Mapping | list) or isinstance(other, Mapping | list):
        return first is not ABSENT and bool(first == other)
    return scalar_text(first) == scalar_text(other)


def _suggested_scalars(suggestion: Suggestion) -> Iterator[str]:
    """Yield the scalars that a suggestion would put in."""
    for value in suggestion.parameters.values():
        yield from _texts(value)
    for edit in suggestion.patch:
        if edit.op in (PatchVerb.ADD, PatchVerb.REPLACE):
            yield from _texts(edit.value)


def _texts(value: Json) -> Iterator[str]:
    match value:
        case Mapping():
            for inner in value.values():
                yield from _texts(inner)
        case list():
            for inner in value:
                yield from _texts(inner)
        case None | bool():
            return
        case _:
            yield scalar_text(value)
