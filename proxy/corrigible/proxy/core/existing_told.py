"""The resource that a conflict's answer has beside its sentence: `{"message": "Exists", "object": {"id": 7, ...}}`.

| what was sent                  | what follows                                                        |
|--------------------------------|---------------------------------------------------------------------|
| is all there                   | it has been done already                                            |
| is there in part               | what is the same may be what is taken: other values are asked for   |

Knows: the answer of one refusal. Does not know: look-ups, descriptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson

from corrigible.rules.pointer import escape
from corrigible.rules.safety.stored import is_wrapper, unmet_values
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import Proposal, ask, is_secret
from corrigible.schema.edit import same_json
from corrigible.schema.exchange import Exchange, Json, Request

_MOST: Final = 65_536
"""Bytes of an answer that are read."""
_DEEPEST: Final = 2
"""Objects around the resource: an answer, an `error` in it."""
_NO_RESOURCE: Final = frozenset({"errors", "request", "input", "sent", "received", "params", "parameters", "meta"})
"""Names under which an answer repeats what was sent, or tells errors."""
_IDENTIFYING: Final = frozenset({"id", "_id", "uuid", "self", "href", "created", "created_at", "createdAt", "key"})
"""Members that only what exists has."""
_MOST_TAKEN: Final = 3
_ONE_IS_TAKEN: Final = "Give other values: what exists has these, and the server does not say which of them is taken."


def existing_told(exchange: Exchange) -> Mapping[str, Json] | None:
    """Return the only resource in an answer that has a value of the body, and an identifier that was not sent."""
    body = exchange.request.body
    sent = next(iter(body.values())) if isinstance(body, Mapping) and is_wrapper(body) else body
    if exchange.request.method != "POST" or not isinstance(sent, Mapping) or not sent or len(exchange.body) > _MOST:
        return None
    try:
        answer = orjson.loads(exchange.body)
    except orjson.JSONDecodeError:
        return None
    found: list[Mapping[str, Json]] = []
    waiting: list[tuple[Json, int]] = [(answer, 0)]
    for value, depth in waiting:
        for name, inner in value.items() if isinstance(value, Mapping) else ():
            if not isinstance(inner, Mapping) or name in _NO_RESOURCE:
                continue
            if any(one not in sent for one in _IDENTIFYING.intersection(inner)) and _same_members(sent, inner):
                found.append(inner)
            elif depth + 1 < _DEEPEST:
                waiting.append((inner, depth + 1))
    return found[0] if len(found) == 1 else None


def _same_members(sent: Mapping[str, Json], existing: Mapping[str, Json]) -> list[str]:
    """Return the names of the texts and numbers that a resource has as they were sent."""
    return [
        name
        for name, value in sent.items()
        if isinstance(value, str | int) and value not in ("", True, False) and same_json(value, existing.get(name))
    ]


def is_as_asked(request: Request, existing: Mapping[str, Json]) -> bool:
    """Whether a resource has all that a request was sent with."""
    body = request.body
    is_wrapped = isinstance(body, Mapping) and is_wrapper(body)
    return not unmet_values(request, {next(iter(body)): existing} if is_wrapped else existing)


def ask_for_others(request: Request, existing: Mapping[str, Json]) -> Proposal | None:
    """Ask for other values in the places of those that what exists has as well; None where they are too many."""
    body = request.body
    is_wrapped = isinstance(body, Mapping) and is_wrapper(body)
    around = f"/body/{escape(next(iter(body)))}" if is_wrapped else "/body"
    sent = next(iter(body.values())) if is_wrapped else body
    names = _same_members(sent, existing) if isinstance(sent, Mapping) else []
    places = {f"{around}/{escape(name)}": sent[name] for name in names}
    if not 0 < len(places) <= _MOST_TAKEN or any(is_secret(place, value) for place, value in places.items()):
        return None
    message = "Give a value that is free." if len(places) == 1 else _ONE_IS_TAKEN
    questions: list[tuple[str, Mapping[str, Json]]] = [
        (place, {"not": {"const": value}}) for place, value in places.items()
    ]
    question = ask(SchemaViolation(questions[0][0], "enum", {}), request, message, places=questions)
    question.suggestions[0]["safety"]["changes_intent"] = True
    return question
