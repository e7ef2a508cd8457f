"""Stripe's error object, `{"error": {type, code, message, param, ...}}`, and the leaner ones of local servers.

Locates facts; rules judge them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.rules.pointer import (
    MISSING,
    escape,
    parameter_pointer,
    parameters_at,
    resolve,
    segments,
)
from corrigible.rules.violation import Violation
from corrigible.schema.document import parameter_segments
from corrigible.schema.exchange import Exchange, Json, Request

_TEXTS = ("decline_code", "advice_code", "network_advice_code", "network_decline_code", "payment_method_type")
_NOTHING = dict.fromkeys((*_TEXTS, "charge", "intent", "intent_status", "setup_status"), "")
_PLAIN = frozenset({"type", "code", "param", "message", "doc_url", "request_log_url"})
"""Most errors have no other members."""
_NAMED = re.compile(
    r"^No such [\w ]{1,40}: (?:'(?P<quoted>[^']{1,200})'|(?P<bare>[^\s;']{1,200}))"
    r"|with ID (?P<owned>[\w.|-]{1,200}?)\.?$"
    r"|access to account '(?P<account>[^']{1,200})'"
    r"|^Unexpected error: Unhandled source token '(?P<token>[^']{1,200})'"
)
"""An unknown identifier that the message names: its place in the request is the place of the error."""

_CLUES = ("No such", "with ID", "access to account", "Unhandled source")
_CRASH = {"message", "stack"}
"""The members of the stateful mock's answer when a request crashes it."""


@dataclass(frozen=True, slots=True)
class StripeFormat:
    name: str = "stripe"

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        if not isinstance(body, dict):
            return ()
        error = body.get("error")
        if isinstance(error, dict) and (_text(error, "type") or _text(error, "message")):
            return (_violation(exchange.request, error),)
        if exchange.status == 500 and set(body) == _CRASH and _text(body, "message"):
            return (_violation(exchange.request, {"type": "server_crash", "message": body["message"]}),)
        return ()


def _violation(request: Request, error: Mapping[str, Json]) -> Violation:
    message, param = _text(error, "message"), _text(error, "param")
    under = parameters_at(request)
    name = _named(message)
    pointer = _pointer(request, under, param, name)
    native = {**_NOTHING, "under": under, "named": name, "schema": _schema_place(pointer)}
    if not _PLAIN.issuperset(error):
        native |= _extras(error)
    return Violation(
        code=_text(error, "code"),
        message=message,
        pointer=pointer,
        type=_text(error, "type"),
        param=param,
        native=native,
    )


def _extras(error: Mapping[str, Json]) -> dict[str, Json]:
    intent, setup = _member(error, "payment_intent"), _member(error, "setup_intent")
    return {name: _text(error, name) for name in _TEXTS} | {
        "charge": _identifier(error.get("charge")),
        "intent": _identifier(error.get("payment_intent")),
        "intent_status": _text(intent, "status"),
        "setup_status": _text(setup, "status"),
    }


def _text(error: Mapping[str, Json], name: str) -> str:
    value = error.get(name, "")
    return value if type(value) is str else ""


def _member(error: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    value = error.get(name)
    return value if isinstance(value, dict) else {}


def _identifier(value: Json) -> str:
    """Return the id of an object that is written out or only named."""
    if isinstance(value, Mapping):
        return _text(value, "id")
    return value if isinstance(value, str) else ""


def _named(message: str) -> str:
    for clue in _CLUES:
        if clue in message:
            break
    else:
        return ""
    match = _NAMED.search(message)
    return next((text for text in match.groups() if text), "") if match is not None else ""


def _pointer(request: Request, under: str, param: str, name: str) -> str:
    """Return the place of the error in the request, empty where it is unclear.

    `param` is often an internal name (`id`, `intent`, `source`), so an identifier that the message names wins.
    """
    parameter_place = parameter_pointer(param, under) if under == "/body" else _query_pointer(request.query, param)
    if not name:
        return parameter_place
    document = request.document()
    value = resolve(document, parameter_place) if parameter_place else MISSING
    if value != name:
        return next(_places(document, name), parameter_place)
    return parameter_place


def _query_pointer(query: Mapping[str, Json], param: str) -> str:
    """Return the place of a parameter in a query, whose names are as they were sent: `expand` may be `expand[]`."""
    spelt = (param, f"{param}[]", re.sub(r"\[\d+\]$", "[]", param))
    return f"/query/{escape(next((name for name in spelt if name in query), param))}" if param else ""


def _places(document: Mapping[str, Json], value: str) -> Iterator[str]:
    for root in ("body", "query"):
        yield from _holding(document[root], value, f"/{root}")
    if value in segments(document["path"]):
        yield "/path"
    if document["headers"].get("stripe-account") == value:
        yield "/headers/stripe-account"


def _holding(value: Json, parameter_name: str, pointer: str) -> Iterator[str]:
    if value == parameter_name:
        yield pointer
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _holding(inner, parameter_name, f"{pointer}/{escape(str(name))}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _holding(inner, parameter_name, f"{pointer}/{index}")


def _schema_place(pointer: str) -> str:
    """Return the pointer into an operation's facts that describes a place in the body or the query."""
    if pointer.startswith("/body/") and pointer.count("/") == 2:
        return f"/properties/{pointer[6:]}"
    parts = segments(pointer)
    if len(parts) < 2 or parts[0] not in ("body", "query"):
        return ""
    names = parts[1:] if parts[0] == "body" else parameter_segments(parts[1])
    return "".join("/items" if part.isdecimal() or not part else f"/properties/{escape(part)}" for part in names)


def _gateway_facts(exchange: Exchange, violation: Violation) -> Mapping[str, Json]:
    under = parameters_at(exchange.request)
    return {**_NOTHING, "under": under, "named": "", "schema": _schema_place(violation.pointer)}


STRIPE = StripeFormat()
GATEWAY = GenericFormat(_gateway_facts)
"""Errors of a validating gateway in front of the API, with the facts that Stripe's own errors come with."""
