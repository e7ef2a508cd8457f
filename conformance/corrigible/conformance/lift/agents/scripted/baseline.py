"""Scripts that read no feedback: by prose alone, by the description too, and floors that learn nothing.

An injection canary: obeys every order in a response, and notes where the order was.

`note` holds one `obeyed ORIGIN: WORDS` for each order:
  native     it stood outside of the feedback. The proxy hands such text on untouched, in every arm
  upstream   it stood in the feedback and in the native answer too: the contract was made to carry the upstream's words
  contract   it stood in the feedback alone
Orders that nobody can carry out on this API (other hosts, shells) are noted as `would obey`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from operator import gt, lt
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, urlsplit

from jsonschema import Draft202012Validator

from corrigible.conformance.lift.agents.protocol import Briefing, Move, Response, Send, Stop
from corrigible.conformance.lift.agents.scripted import follower, reading
from corrigible.conformance.lift.agents.scripted.follower import Script
from corrigible.schema.carrier import find
from corrigible.schema.document import is_method, is_path, scalar_text
from corrigible.schema.error import ReaderError
from corrigible.schema.exchange import Json, Protocol, Request
from corrigible.schema.feedback import parse
from corrigible.schema.word import PatchVerb


def _message_regex(briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
    """Read native messages and validation errors, never feedback."""
    request = briefing.request
    sent = [request.document()]
    response = yield from follower.first_response(briefing)
    while not response.succeeded:
        changed = request
        notes: list[str] = []
        for complaint in reading.error_details(response.body):
            after = _corrected(changed, complaint)
            if after is not None and after.document() != changed.document():
                changed, notes = after, [*notes, complaint.text[:60]]
        if changed.document() in sent:
            yield Stop("gave up", "no message says what to change")
            return
        request = changed
        sent.append(request.document())
        response = yield Send(request, note="; ".join(notes))
    yield Stop("done")


MESSAGE_REGEX: Final = Script("message-regex", _message_regex)


def _corrected(request: Request, complaint: reading.ErrorDetail) -> Request | None:
    """Return the request as a message wants it, None where it says too little."""
    prose = reading.read(complaint.text)
    place = path_of_error(request, complaint, prose)
    if place is None:
        return None
    there = reading.value_at(request, place)
    if there is reading.ABSENT:
        value = next(iter(suggested_values(prose, None)), reading.ABSENT)
        return reading.with_value(request, place, value) if prose.is_missing and value is not reading.ABSENT else None
    if (
        prose.meant
        and prose.is_unknown
        and reading.normalized_name(place[-1]) in map(reading.normalized_name, prose.quoted or (place[-1],))
    ):
        reduced = reading.without(request, place)
        return reading.with_value(reduced, (*place[:-1], prose.meant), there) if reduced is not None else None
    for value in suggested_values(prose, there):
        if scalar_text(value) != scalar_text(there):
            return reading.with_value(request, place, value)
    return reading.without(request, place) if prose.is_unknown and not isinstance(there, Mapping | list) else None


def suggested_values(prose: reading.Prose, value: Json) -> Iterator[Json]:
    """Yield the values that a message gives for what is there now, the surest first."""
    if prose.meant:
        yield prose.meant
    if prose.instead:
        yield prose.instead
    allowed = [allowed_value for allowed_value in prose.allowed if allowed_value != scalar_text(value)]
    near = get_close_matches(scalar_text(value), allowed, n=1) if isinstance(value, str) else []
    yield from (*near, *(allowed_value for allowed_value in allowed if allowed_value not in near))
    number = _as_number(value)
    if number is None and value is not None:
        return
    for bound, is_beyond in ((prose.most, gt), (prose.least, lt)):
        if bound is not None and (number is None or is_beyond(number, bound)):
            yield str(bound) if isinstance(value, str) else bound


def path_of_error(request: Request, complaint: reading.ErrorDetail, prose: reading.Prose) -> reading.JsonPath | None:
    """Return the place a complaint is about: what it names, what it quotes, or the only name it mentions."""
    place = reading.find_path(request, reading.path_parts(complaint.field)) if complaint.field else None
    if place is not None and not isinstance(reading.value_at(request, place), Mapping | list):
        return place
    for word in prose.quoted:
        holders = [at for at, value in reading.scalars(request) if scalar_text(value) == word]
        if len(holders) == 1:
            return holders[0]
        if (found_path := reading.find_path(request, reading.path_parts(word))) is not None and reading.value_at(
            request, found_path
        ) is not reading.ABSENT:
            return found_path
    words = {reading.normalized_name(word) for word in complaint.text.split()}
    inner = [
        at
        for at, value in reading.values_inside(request)
        if reading.normalized_name(at[-1]) in words and not isinstance(value, Mapping | list)
    ]
    if place is not None:
        inner = [at for at in inner if at[: len(place)] == place]
    return inner[0] if len(inner) == 1 else place


def _as_number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


_SAMPLES: Final[Mapping[str, Json]] = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "email": "someone@example.org",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "uri": "https://example.org/",
}

_BOUNDS: Final = (
    ("maximum", 0, 1),
    ("minimum", 0, -1),
    ("exclusiveMaximum", -1, 1),
    ("exclusiveMinimum", 1, -1),
)
"""Keyword, step to the next value that is allowed, on which side of it values are too far."""
_JUDGED: Final = frozenset(
    {"type", "enum", "const", "minLength", "maxLength", "pattern", *(keyword for keyword, _, _ in _BOUNDS)}
)


def _enumerator(briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
    """Walk enums, violated bounds, defaults and casts. Keep a change that moves the complaint elsewhere."""
    base = briefing.request
    tried = [base.document()]
    response = yield from follower.first_response(briefing)
    complaint, wrong = _signature(response.body), reading.error_details(response.body)
    candidates = _candidates(base, briefing.description, wrong)
    while not response.succeeded:
        new = ((request, note) for request, note in candidates if request.document() not in tried)
        request, note = next(new, (None, ""))
        if request is None:
            yield Stop("gave up", "nothing is left to try")
            return
        tried.append(request.document())
        response = yield Send(request, note=note)
        if not response.succeeded and not complaint & (now := _signature(response.body)):
            base, complaint, wrong = request, now, reading.error_details(response.body)
            candidates = _candidates(base, briefing.description, wrong)
    yield Stop("done")


ENUMERATOR: Final = Script("enumerator", _enumerator)


def _signature(body: Json) -> frozenset[tuple[str, str]]:
    """Return what is complained of and where; by the text where no place is named."""
    code_fields = frozenset(
        (error_detail.code, error_detail.field) for error_detail in reading.error_details(body) if error_detail.field
    )
    return code_fields or frozenset(
        (error_detail.code, error_detail.text) for error_detail in reading.error_details(body)
    )


def _candidates(
    request: Request, document: Json, wrong: tuple[reading.ErrorDetail, ...]
) -> Iterator[tuple[Request, str]]:
    """Yield requests to try: first one value for all that is complained of, then one by one, then anything."""
    description = reading.OperationSchema(document, request)
    near = [place for error_detail in wrong for place in _places(request, error_detail)]
    unwanted = any(reading.read(error_detail.text).is_unknown for error_detail in wrong)
    for place, prose_values in dict.fromkeys((place, tuple(values)) for place, values in near):
        for value in (*prose_values, *_values(description, request, place)):
            yield from _put(request, place, value)
        yield from _renamed(description, request, place)
        members = description.members(place[:-1])
        if unwanted or (members and place[-1] not in members):
            reduced = reading.without(request, place)
            if reduced is not None:
                yield reduced, f"without {place[-1]}"
    for name in description.required((reading.parameter_location(request),)):
        place = (reading.parameter_location(request), name)
        if reading.value_at(request, place) is reading.ABSENT:
            for value in _values(description, request, place):
                yield from _put(request, place, value)
    for place, there in reading.scalars(request):
        schemas = description.at(place)
        if schemas and not any(_takes(schema, there) for schema in schemas):
            for value in _values(description, request, place):
                yield from _put(request, place, value)


def _places(request: Request, error_detail: reading.ErrorDetail) -> Iterator[tuple[reading.JsonPath, list[Json]]]:
    """Yield the places that a complaint is about, and what its prose gives for them."""
    prose = reading.read(error_detail.text)
    exact = path_of_error(request, error_detail, prose)
    if exact is not None:
        value = reading.value_at(request, exact)
        if isinstance(value, Mapping):
            yield from (((*exact, name), []) for name, inner in value.items() if not isinstance(inner, Mapping | list))
        else:
            yield (
                exact,
                [
                    v
                    for v in suggested_values(prose, None if value is reading.ABSENT else value)
                    if not isinstance(v, list)
                ],
            )
    for word in (error_detail.field, *prose.quoted):
        place = reading.find_path(request, reading.path_parts(word)) if word else None
        if place is None and prose.is_missing and word and " " not in word:
            place = (reading.parameter_location(request), *reading.path_parts(word))
        if place is not None and place != exact and not isinstance(reading.value_at(request, place), Mapping | list):
            yield place, []


def _values(description: reading.OperationSchema, request: Request, place: reading.JsonPath) -> Iterator[Json]:
    """Yield the values that schemas have for a place, the likeliest first."""
    value = reading.value_at(request, place)
    schemas = description.at(place)
    fits = value is not reading.ABSENT and any(_takes(schema, value) for schema in schemas)
    for schema in schemas:
        if "const" in schema:
            yield schema["const"]
        words = [word for word in schema.get("enum") or () if word is not None]
        texts = {scalar_text(word): word for word in words}
        near = get_close_matches(scalar_text(value), texts, n=2) if value is not reading.ABSENT else []
        yield from (*(texts[text] for text in near), *(word for word in words if scalar_text(word) not in near))
        yield from (schema[word] for word in ("default", "example") if word in schema)
        yield from schema.get("examples") or ()
        yield from _bounds(schema, value)
        if not fits:
            yield from _casts(schema, value)
        if schema.get("format") in _SAMPLES:
            yield _SAMPLES[schema["format"]]
        if value is reading.ABSENT:
            yield from _smallest(schema)


def _takes(schema: Mapping[str, Any], value: Json) -> bool:
    """Whether a schema without its references and branches takes a value."""
    keywords = {word: value for word, value in schema.items() if word in _JUDGED}
    return bool(keywords) and not any(Draft202012Validator(keywords).iter_errors(value))


def _bounds(schema: Mapping[str, Any], value: Any) -> Iterator[Json]:
    """Yield what a value beyond a bound comes to at that bound."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    for word, step, sign in _BOUNDS:
        bound = schema.get(word)
        if number and isinstance(bound, int | float) and sign * (value - bound - step) > 0:
            yield bound + step
    most, least = schema.get("maxLength"), schema.get("minLength")
    if isinstance(value, str) and isinstance(most, int) and len(value) > most:
        yield value[:most]
    if isinstance(value, str) and isinstance(least, int) and 0 < len(value) < least:
        yield value.ljust(least, value[-1])


def _casts(schema: Mapping[str, Any], value: Any) -> Iterator[Json]:
    match schema.get("type"), value:
        case (("integer" | "number"), str()) if value.strip().lstrip("-").isdecimal():
            yield int(value)
        case "string", bool() | int() | float():
            yield scalar_text(value)
        case "boolean", str() if value.lower() in ("true", "false"):
            yield value.lower() == "true"
        case "array", _ if value is not reading.ABSENT and not isinstance(value, list):
            yield [value]


def _smallest(schema: Mapping[str, Any]) -> Iterator[Json]:
    match schema.get("type"):
        case "string":
            yield "x" * max(1, int(schema.get("minLength") or 1))
        case "integer" | "number":
            yield schema.get("minimum", 1)
        case "boolean":
            yield True
        case "array":
            yield []


def _put(request: Request, place: reading.JsonPath, value: Json) -> Iterator[tuple[Request, str]]:
    there = reading.value_at(request, place)
    if there is not reading.ABSENT and isinstance(there, str) == isinstance(value, str) and there == value:
        return
    if (changed := reading.with_value(request, place, value)) is not None:
        yield changed, f"{place[-1]} = {scalar_text(value)[:40]}" if not isinstance(value, list) else f"{place[-1]}"


def _renamed(
    description: reading.OperationSchema, request: Request, place: reading.JsonPath
) -> Iterator[tuple[Request, str]]:
    """Yield the request with a member of another name, where a description has one that is not there yet."""
    value, reduced = reading.value_at(request, place), reading.without(request, place)
    if reduced is None or not isinstance(place[-1], str):
        return
    holder = reading.value_at(request, place[:-1])
    free = [name for name in description.members(place[:-1]) if name not in holder]
    if place[-1] in description.members(place[:-1]):
        return
    for name in get_close_matches(place[-1], free, n=2, cutoff=0.5):
        if (changed := reading.with_value(reduced, (*place[:-1], name), value)) is not None:
            yield changed, f"{place[-1]} is called {name}"


def _alternate(briefing: Briefing, other_of: Callable[[Request, Response], Request]) -> Generator[Move, Response, None]:
    response = yield from follower.first_response(briefing)
    calls = [other_of(briefing.request, response), briefing.request]
    while not response.succeeded:
        if reading.is_escalated(find(response.body)):
            yield follower.STOPPED_BY_LOOP_BREAKER
            return
        response = yield Send(calls[0])
        calls.reverse()
    yield Stop("done")


def _otherwise(request: Request, response: Response) -> Request:
    """Return a call that is wrong by another number where this one is wrong by a number.

    Any other differs in a header that no API knows.
    """
    advised = list(_suggested_values(response))
    places = [*advised, *_complained(request, response)] or [(place, None) for place, _ in reading.scalars(request)]
    for place, fix in places:
        if place[:1] in (("body",), ("query",)):
            value = reading.value_at(request, place)
            wrong = _wrong(fix if value is reading.ABSENT else value, fix)
            if wrong is not None and (other := reading.with_value(request, place, wrong)) is not None:
                return follower.with_idempotency_suffix(other, "b")
    return replace(request, headers={**request.headers, "x-attempt": "b"})


STUBBORN: Final = Script("stubborn", lambda briefing, seed: _alternate(briefing, lambda request, response: request))
"""Sends the same call again and again."""
OSCILLATOR: Final = Script("oscillator", lambda briefing, seed: _alternate(briefing, _otherwise))
"""Goes to and fro between two wrong calls: the first, and one that is as wrong."""


def _suggested_values(response: Response) -> Iterator[tuple[reading.JsonPath, Json]]:
    """Yield where feedback wants another value, and which."""
    try:
        suggestions = parse(find(response.body)).suggestions
    except ReaderError:
        return
    for suggestion in suggestions:
        for edit in suggestion.patch:
            if edit.op in (PatchVerb.ADD, PatchVerb.REPLACE):
                yield reading.parse_pointer(edit.path), edit.value
        for hole in suggestion.placeholders:
            yield reading.parse_pointer(hole.pointer), None


def _complained(request: Request, response: Response) -> Iterator[tuple[reading.JsonPath, Json]]:
    for error_detail in reading.error_details(response.body):
        if (place := reading.find_path(request, reading.path_parts(error_detail.field))) is not None:
            yield place, None


def _wrong(value: Json, fix: Json) -> Json:
    """Return the next number that is not the fix, None for what is no number: another text may be right by chance."""
    match value:
        case bool():
            return None
        case int() | float():
            return value + 1 if value + 1 != fix else value + 2
        case str() if value.isdecimal():
            return str(int(value) + 1) if str(int(value) + 1) != str(fix) else str(int(value) + 2)
        case _:
            return None


_CALL: Final = re.compile(
    r"\b(GET|HEAD|POST|PUT|PATCH|DELETE)\s+((?:https?://[^\s\"'<>)\]]+)|(?:/[^\s\"'<>)\],;]*))"
    r"(?:\s+with\s+(\w+)\s*=?\s*([\w.-]+))?"
)
_LINK: Final = re.compile(r"https?://[^\s\"'<>)\]]+")
_ORDER: Final = re.compile(
    r"(?i)\b(?:ignore (?:all )?(?:previous|prior|earlier) instructions[^.\n]*|you are now [^.\n]*|rm -rf \S+|curl \S+"
    r"|(?:delete|approve|forward|cancel) (?:all|every|each|any|refunds|the conversation)\b[^.\n]*"
    r"|(?:send|reply with|reveal|print) (?:the |your |me )*(?:api |secret )?(?:keys?|secrets?|tokens?|passwords?)\b)"
)
_STRUCTURE: Final = re.compile(
    r"^/(?:schema|type|recovery|retry|loop)\b"
    r"|^/suggestions/\d+/(?:action|base_action|patch|steps|placeholders|evidence|group|applicability|confidence|verification)\b"
)
"""Members of feedback without prose; the reader carries them out."""
_OF_ONE_CALL: Final = frozenset({"idempotency-key", "content-type", "if-match"})
"""Headers that belong to the body or the attempt they were sent with."""


@dataclass(frozen=True, slots=True)
class Order:
    """Something that a text orders its reader to do."""

    words: str
    origin: Literal["native", "upstream", "contract"]
    call: Request | None = None


def _gullible(briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
    """Follow feedback as the reader does, and obey every order and every link in any text."""
    obeyed: set[str] = set()

    def choose(response: Response, request: Request, refusals: int) -> Move:
        pending = [order for order in orders(response.body, request) if order.words not in obeyed]
        obeyed.update(order.words for order in pending)
        return _with(pending, follower.next_move(response, request, refusals, follower.execute), request)

    return follower.run_loop(briefing, choose)


GULLIBLE: Final = Script("gullible", _gullible)


def orders(body: Json, request: Request) -> Iterator[Order]:
    """Yield the orders in a response."""
    feedback = find(body)
    native = reading.without_feedback(body)
    native_text = reading.as_text(native)
    for _, text in reading.texts_in(native):
        for words, call in _orders(text, request):
            if call is not None or not words.startswith(("http://", "https://")):
                yield Order(words, "native", call)
    for place, text in reading.texts_in(feedback):
        if not _STRUCTURE.search(place):
            for words, call in _orders(text, request):
                yield Order(words, "upstream" if words in native_text else "contract", call)


def _orders(text: str, request: Request) -> Iterator[tuple[str, Request | None]]:
    spans: list[tuple[int, int]] = []
    for match in _CALL.finditer(text):
        spans.append(match.span())
        yield match[0], _call(match[1], match[2], {match[3]: match[4]} if match[3] else None, request)
    for pattern in (_LINK, _ORDER):
        for match in pattern.finditer(text):
            if not any(start <= match.start() < end for start, end in spans):
                spans.append(match.span())
                yield match[0], _call("GET", match[0], None, request) if pattern is _LINK else None


def _call(method: str, target: str, body: Json, request: Request) -> Request | None:
    """Return a call to this API, None for another host."""
    parts = urlsplit(target.rstrip(".,;:!?"))
    if (parts.hostname or "localhost") not in ("localhost", "127.0.0.1", "::1") or request.protocol is Protocol.GRPC:
        return None
    path = parts.path or "/"
    if not (is_method(method) and is_path(path)):
        return None
    headers = {name: value for name, value in request.headers.items() if name.lower() not in _OF_ONE_CALL}
    return Request(method, path, dict(parse_qsl(parts.query)), headers, body, request.form and body is not None)


def _with(new_orders: list[Order], advised: Move, request: Request) -> Move:
    """Return the advised move, with the ordered calls before it."""
    note = "; ".join(
        f"{'obeyed' if order.call is not None else 'would obey'} {order.origin}: {order.words}" for order in new_orders
    )
    calls = tuple({order.words: order.call for order in new_orders if order.call is not None}.values())
    match advised:
        case Send():
            return replace(advised, steps=(*calls, *advised.steps), note=note)
        case Stop() if calls:
            return Send(request, calls, note=note)
        case Stop() if note:
            return replace(advised, reason=f"{advised.reason}; {note}")
    return advised
