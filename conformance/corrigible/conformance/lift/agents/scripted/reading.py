"""What scripts read: requests and their places, answers, prose, the prompt's facts.

Requests are never changed; what is set comes back as a new one. Places are within query and body only.
Knows: where feedback travels, the usual names of complaints, English sentences of validators. Does not know: agents,
arms, any API's name.
"""

from __future__ import annotations

import base64
import json
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import eq
from typing import Any, Final

from jsonschema import Draft202012Validator, SchemaError
from jsonschema.exceptions import ValidationError

from corrigible.schema.carrier import CAUSE, DETAIL
from corrigible.schema.document import BODILESS, MISSING, leaves, pointer_parts, scalar_text, texts, to_pointer
from corrigible.schema.document import value_at as document_value
from corrigible.schema.edit import NotApplicable, after_suggestion
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import MEMBER, PatchOperation, Placeholder, Suggestion
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


def values_inside(request: Request) -> Iterator[tuple[JsonPath, Json]]:
    """Yield everything inside query and body, outer values first."""
    waiting: deque[tuple[JsonPath, Json]] = deque(((("query",), request.query), (("body",), request.body)))
    while waiting:
        place, value = waiting.popleft()
        if len(place) > 1:
            yield place, value
        if isinstance(value, Mapping):
            waiting.extend(((*place, name), inner) for name, inner in value.items())
        elif isinstance(value, list):
            waiting.extend(((*place, str(index)), inner) for index, inner in enumerate(value))


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


def edited(request: Request, *patch: PatchOperation) -> Request | None:
    """Return the request after edits of its query and body, None where they do not apply."""
    try:
        after = after_suggestion(Suggestion(action=BaseAction.MODIFY_PARAMS, patch=patch), request)
    except NotApplicable:
        return None
    return replace(request, query=after.query, body=after.body)


def with_value(request: Request, place: JsonPath, value: Json) -> Request | None:
    """Return the request with a value at a place; None where it would be no request."""
    return edited(request, *setting(request, place, value))


def without(request: Request, place: JsonPath) -> Request | None:
    """Return the request without what is at a place, None where nothing is."""
    return edited(request, PatchOperation(op=PatchVerb.REMOVE, path=to_pointer(place)))


def parameter_location(request: Request) -> str:
    """Return where parameters of this request go: its query, or its body."""
    return "query" if request.body is None and request.method.upper() in BODILESS else "body"


def normalized_name(name: str) -> str:
    """Return a name as two spellings of it have in common: `firstName`, `first_name`, `first-name`."""
    return "".join(char for char in name.lower() if char.isalnum())


def find_path(request: Request, names: Sequence[str]) -> JsonPath | None:
    """Return the place that an answer names, there or about to be there; None where nothing fits."""
    if not names:
        return None
    for start in (("body",), ("query",)):
        place, rest = _walked(request, start, names)
        if not rest or (len(rest) == 1 and len(names) > 1):
            return (*place, *rest)
    for skipped in range(1, len(names)):  # `body.x`, `order.x`: prefixes that the request does not have
        if (place_ := find_path(request, names[skipped:])) is not None and value_at(request, place_) is not ABSENT:
            return place_
    last = normalized_name(names[-1])
    inner = [place for place, _ in values_inside(request) if normalized_name(place[-1]) == last]
    return inner[0] if len(inner) == 1 else None


def _walked(request: Request, start: JsonPath, names: Sequence[str]) -> tuple[JsonPath, Sequence[str]]:
    place, node = start, value_at(request, start)
    for index, name in enumerate(names):
        match node:
            case Mapping():
                step = next((key for key in node if normalized_name(key) == normalized_name(name)), None)
            case list() if name.isdecimal() and int(name) < len(node):
                step = name
            case _:
                step = None
        if step is None:
            return place, names[index:]
        place, node = (*place, step), document_value(node, (step,))
    return place, ()


_TEXTS: Final = ("message", "detail", "msg", "description", "error", "title", "errorMessage")
"""Members that hold prose, the most telling first."""
_FIELDS: Final = ("field", "param", "pointer", "loc", "instancePath", "path", "parameter", "source")


@dataclass(frozen=True, slots=True)
class ErrorDetail:
    """One thing that is wrong, in the API's own words."""

    text: str
    field: str = ""
    """Where, as the answer writes it: `ingredients[2]`, `spec.replicas`, `card[number]`."""
    code: str = ""


def without_feedback(body: Json) -> Json:
    """Return an answer without its feedback, wherever it stands."""
    match body:
        case Mapping():
            return {name: without_feedback(inner) for name, inner in body.items() if name != MEMBER}
        case list():
            return [without_feedback(item) for item in body if not _carries(item)]
        case _:
            return body


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


def error_details(body: Json) -> tuple[ErrorDetail, ...]:
    """Return what a native answer complains of, the most exact first, each once."""
    if isinstance(body, str):
        return (ErrorDetail(body),) if body.strip() else ()
    details = list(dict.fromkeys(_error_details(without_feedback(body))))
    details.sort(key=lambda detail: not detail.field)
    return tuple(details)


def texts_in(body: Json) -> Iterator[tuple[str, str]]:
    """Yield every text of an answer with where it stands."""
    yield from ((pointer, value) for pointer, value in leaves(body) if isinstance(value, str))


def as_text(body: Json) -> str:
    """Return an answer as one text, to look for words in."""
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)


def path_parts(field: str) -> tuple[str, ...]:
    """Split what an answer calls a place: `a.b[0].c`, `a[b]`, `/a/b`, `$.a`."""
    return tuple(part for part in re.split(r"[.\[\]/\s]+", field.removeprefix("$")) if part)


def _error_details(value: Json) -> Iterator[ErrorDetail]:
    match value:
        case list():
            for item in value:
                yield from [ErrorDetail(item)] if isinstance(item, str) else _error_details(item)
        case Mapping():
            prose = [value[name] for name in _TEXTS if isinstance(value.get(name), str) and value[name].strip()]
            field = next((text for name in _FIELDS if (text := _field(value.get(name)))), "")
            if prose or field:
                yield ErrorDetail(prose[0] if prose else "", field, str(value.get("code") or value.get("reason") or ""))
            for inner in value.values():
                if isinstance(inner, Mapping | list):
                    yield from _error_details(inner)


def _field(value: Json) -> str:
    match value:
        case str() if len(value) <= 200 and "://" not in value and not value.startswith("/api/"):
            return value
        case Mapping():
            return _field(value.get("pointer") or value.get("parameter"))
        case list() if value and all(isinstance(part, str | int) for part in value):
            return ".".join(map(str, value))
        case _:
            return ""


def _carries(item: Any) -> bool:
    """Whether an element of a list is there for the feedback alone: a cause, an Any."""
    if not isinstance(item, Mapping):
        return False
    return item.get("reason") == CAUSE or str(item.get("@type", "")).rpartition("/")[2] == DETAIL


_QUOTED: Final = re.compile(r"(?<!\w)[\"'`“]([^\"'`“”\n]{1,120})[\"'`”](?!\w)")
_NUMBER: Final = r"[$€£]?(-?\d[\d,]*(?:\.\d+)?)"
_NOT_MORE: Final = r"(?:more|greater|larger|longer)"
_NOT_LESS: Final = r"(?:less|fewer|smaller)"
_OF: Final = r"(?: value| of| is| length| allowed| amount| charge)*"
_MOST: Final = re.compile(
    rf"(?i)(?:less than or equal to|at most|no {_NOT_MORE} than|not (?:be )?{_NOT_MORE} than|maximum{_OF}|up to|<="
    rf"|not exceed)[:\s]*{_NUMBER}"
)
_BELOW: Final = re.compile(rf"(?i)(?:(?:must|should|has to) be (?:less|smaller|lower) than|<)[:\s]*{_NUMBER}")
_LEAST: Final = re.compile(
    rf"(?i)(?:greater than or equal to|at least|no {_NOT_LESS} than|not (?:be )?{_NOT_LESS} than|minimum{_OF}|>=)"
    rf"[:\s]*{_NUMBER}"
)
_ABOVE: Final = re.compile(rf"(?i)(?:(?:must|should|has to) be (?:greater|larger|more) than|>)[:\s]*{_NUMBER}")
_BETWEEN: Final = re.compile(rf"(?i)between {_NUMBER} and {_NUMBER}")
_LIST: Final = re.compile(
    r"(?i)(?:must be (?:one of|either)|one of|(?:supported|allowed|valid|possible|permitted) values?(?: are)?"
    r"|expected(?: one of)?|either|options(?: are)?)[:\s]+([^\n]{1,400})"
)
_MEANT: Final = re.compile(r"(?i)did you mean[:\s]+[\"'`“]?([\w.\-\[\]/]+)")
_INSTEAD: Final = re.compile(
    r"(?i)(?:use|try|send|replace(?:d)? (?:it )?with)\s+[\"'`“]([^\"'`”]+)[\"'`”]\s+(?:instead|rather)"
)
_UNKNOWN: Final = re.compile(
    r"(?i)\b(?:unknown|unrecogni[sz]ed|unexpected|extraneous|not a member|not allowed|not permitted"
    r"|additional propert\w+|no such field|not supported|(?:may|must) not be (?:set|specified))\b"
)
_MISSING: Final = re.compile(
    r"(?i)\b(?:required|missing|must (?:be (?:set|given|provided|specified)|provide|specify|have)|can't be blank"
    r"|wasn't supplied|not (?:given|supplied|provided))\b"
)


@dataclass(frozen=True, slots=True)
class Prose:
    """What one message says, as far as patterns go."""

    quoted: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    meant: str = ""
    instead: str = ""
    least: float | None = None
    most: float | None = None
    is_unknown: bool = False
    is_missing: bool = False


def read(text: str) -> Prose:
    """Return what a message says."""
    match, instead = _MEANT.search(text), _INSTEAD.search(text)
    between = _BETWEEN.search(text)
    return Prose(
        tuple(_QUOTED.findall(text)),
        _allowed(text),
        match[1].rstrip(".?!") if match else "",
        instead[1] if instead else "",
        _number(between[1]) if between else _bound(text, _LEAST, _ABOVE, 1),
        _number(between[2]) if between else _bound(text, _MOST, _BELOW, -1),
        _UNKNOWN.search(text) is not None,
        _MISSING.search(text) is not None,
    )


def _bound(text: str, reached_pattern: re.Pattern[str], passed: re.Pattern[str], step: int) -> float | None:
    if hit := reached_pattern.search(text):
        return _number(hit[1])
    if hit := passed.search(text):
        return _number(hit[1]) + step
    return None


def _number(text: str) -> float:
    value = float(text.replace(",", ""))
    return int(value) if value.is_integer() else value


def _allowed(text: str) -> tuple[str, ...]:
    """Return the values of a list in prose: quoted ones, else words between commas."""
    hit = _LIST.search(text)
    if hit is None:
        return ()
    if quoted := _QUOTED.findall(hit[1]):
        return tuple(quoted)
    words = [part.strip(" .'\"`[]()") for part in re.split(r",|\bor\b|\band\b|\|", re.split(r"\.\s|;", hit[1])[0])]
    return tuple(words) if len(words) > 1 and all(word and " " not in word for word in words) else ()


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
