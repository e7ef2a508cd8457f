"""What scripts read: requests and their places, answers, prose, the prompt's facts.

Requests are never changed; what is set comes back as a new one. Places are within query and body only.
Knows: where feedback travels, the usual names of complaints, English sentences of validators. Does not know: agents,
arms, any API's name.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from operator import eq
from typing import Any, Final

from jsonschema import Draft202012Validator, SchemaError
from jsonschema.exceptions import ValidationError

from corrigible.schema.document import BODILESS, MISSING, leaves, pointer_parts, scalar_text, texts, to_pointer
from corrigible.schema.document import value_at as document_value
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import PatchOperation, Placeholder, Suggestion
from corrigible.schema.word import BaseAction, LoopAction, PatchVerb

JsonPath = tuple[str, ...]
"""A path into the request document: ("body", "ingredients", "2", "name")."""

ABSENT: Final = MISSING


def parse_pointer(pointer: str) -> JsonPath:
    """Return the place of an RFC 6901 pointer."""
    return pointer_parts(pointer) or ()


def scalars(request: Request) -> Iterator[tuple[JsonPath, Json]]:
    """Yield every scalar of query and body, in order."""
    for pointer, value in leaves({"query": request.query, "body": request.body}):
        place = parse_pointer(pointer)
        if len(place) > 1 and not isinstance(value, Mapping | list):
            yield place, value


def value_at(request: Request, place: JsonPath) -> Any:
    """Return what is at a place, ABSENT where nothing is."""
    return document_value(request.document(), place)


def setting(request: Request, place: JsonPath, value: Json) -> Iterator[PatchOperation]:
    """Yield the operations that set a value at a place, objects made on the way."""
    for length in range(1, len(place)):
        if value_at(request, place[:length]) in (ABSENT, None):
            yield PatchOperation(op=PatchVerb.ADD, path=to_pointer(place[:length]), value={})
    verb = PatchVerb.ADD if value_at(request, place) is ABSENT else PatchVerb.REPLACE
    yield PatchOperation(op=verb, path=to_pointer(place), value=value)


def parameter_location(request: Request) -> str:
    """Return where parameters of this request go: its query, or its body."""
    return "query" if request.body is None and request.method.upper() in BODILESS else "body"


def normalized_name(name: str) -> str:
    """Return a name as two spellings of it have in common: `firstName`, `first_name`, `first-name`."""
    return "".join(char for char in name.lower() if char.isalnum())


_ENDS: Final = (BaseAction.ESCALATE, BaseAction.NO_RECOVERY_AVAILABLE)


def is_escalated(feedback: Json) -> bool:
    """Whether a loop breaker ends the conversation. In the core of the contract only `attempts` tells."""
    suggestions = feedback.get("suggestions") if isinstance(feedback, Mapping) else None
    if not isinstance(suggestions, list) or len(suggestions) != 1 or not isinstance(suggestions[0], Mapping):
        return False
    only, loop = suggestions[0], feedback.get("loop")
    if str(only.get("action")).upper() not in _ENDS:
        return False
    parameters = only.get("parameters")
    has_attempts = isinstance(parameters, Mapping) and "attempts" in parameters
    return has_attempts or (isinstance(loop, Mapping) and str(loop.get("action")).lower() == LoopAction.ESCALATE)


def texts_in(body: Json) -> Iterator[tuple[str, str]]:
    """Yield every text of an answer with where it stands."""
    yield from ((pointer, value) for pointer, value in leaves(body) if isinstance(value, str))


def as_text(body: Json) -> str:
    """Return an answer as one text, to look for words in."""
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)


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
        for is_called in (eq, _nearly):
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
        yield from texts(value)
    for edit in suggestion.patch:
        if edit.op in (PatchVerb.ADD, PatchVerb.REPLACE):
            yield from texts(edit.value)
