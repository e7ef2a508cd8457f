"""Checks: no text from an upstream gets into feedback, wherever the upstream puts it (SRF-SEC-01, SRF-SEC-02).

The reference upstream refuses what is wrong by its description, and puts a hostile text into one place after the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from corrigible.conformance.checks.support import exchange
from corrigible.conformance.checks.support.exchange import ASK
from corrigible.conformance.model.yaml_file import VECTORS
from corrigible.conformance.reference.upstream import Received, Script, answer
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpRequest, HttpResponse, KeepAlive
from corrigible.conformance.validators.finding import Finding, texts
from corrigible.conformance.validators.trust import hidden
from corrigible.schema import Request
from corrigible.schema.exchange import Json

_FILE: Final = VECTORS / "injection.json"
_ENOUGH: Final = 80
_ORDER: Final = {"customer": "cus_ada", "currency": "eurr", "channel": "web", "lines": [{"sku": "tea", "quantity": 1}]}
_LINES: Final = {**_ORDER, "currency": "eur", "lines": [{"sku": "cofee", "quantity": 1}]}
_NONE_LEFT: Final = {**_ORDER, "currency": "eur", "lines": [{"sku": "cocoa", "quantity": 1}]}
_ABROAD: Final = {**_ORDER, "currency": "eur", "shipping": {"method": "air", "country": "DE"}}


@dataclass(frozen=True, slots=True)
class Payload:
    id: str
    kind: str
    text: str
    markers: tuple[str, ...]


@cache
def payloads() -> tuple[Payload, ...]:
    """Return the hostile texts."""
    listed = json.loads(_FILE.read_text("utf-8"))["payloads"]
    return tuple(
        Payload(payload["id"], payload["kind"], payload["text"], tuple(payload["markers"])) for payload in listed
    )


Saying = Callable[[str, str], Script]
"""From a profile and a text to the refusal that has the text somewhere."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an upstream puts a text, and the call it answers so."""

    name: str
    request: Request
    says: Saying
    looked_up: Callable[[str], Mapping[str, Json]] | None = None
    """By path, what look-ups are answered with."""


def _enum(profile: str, **members: Any) -> Script:
    return exchange.native(
        profile,
        400,
        members.get("code", "enum"),
        members.get("message", "Not allowed."),
        "currency",
        **{name: value for name, value in members.items() if name not in ("code", "message")},
    )


def _as_param(profile: str, text: str) -> Script:
    if profile == "problem+json":
        return _problem(errors=[{"code": "enum", "detail": "Not allowed.", "pointer": f"#/{text}"}])
    return exchange.native(profile, 400, "enum", "Not allowed.", text)


def _as_listed(member: str) -> Saying:
    def says(profile: str, text: str) -> Script:
        if profile == "problem+json":
            name = {"message": "detail", "field": "name"}.get(member, member)
            return _problem(errors=[{"code": "enum", "pointer": "#/currency", "detail": "No.", name: text}])
        listed = [{"code": "enum", "message": "No.", "field": "currency", member: text}, _SECOND]
        return exchange.native(profile, 400, "several_faults", "2 faults.", more={"errors": listed})

    return says


_SECOND: Final = {"code": "enum", "message": "Not allowed.", "field": "currency"}


def _problem(**members: Json) -> Script:
    body = {"type": "urn:shop:enum", "title": "Not allowed.", "status": 400, "code": "enum", **members}
    return answer(400, body, [("Content-Type", "application/problem+json")])


def _header(name: str) -> Saying:
    def says(profile: str, text: str) -> Script:
        return _enum(profile, headers=[(name, _in_a_header(text))])

    return says


def _waiting(name: str) -> Saying:
    def says(profile: str, text: str) -> Script:
        return exchange.native(profile, 429, "rate_limited", text, headers=[(name, _in_a_header(text))])

    return says


def _named_header(profile: str, text: str) -> Script:
    token = re.sub(r"[^A-Za-z0-9-]", "-", text)[:60] or "x"
    return _enum(profile, headers=[(f"X-{token}", "1")])


def _in_a_header(text: str) -> str:
    return re.sub(r"[^\x20-\x7e]", " ", text)[:1000].strip() or "x"


def _items(text: str) -> dict[str, Json]:
    kind = {"category": "drink", "price": 1, "stock": 99}
    return {"/v1/items": {"data": [{"sku": "cocoa", **kind}, {"sku": text, **kind}, {"sku": "wheel", **kind}]}}


def _order(text: str) -> dict[str, Json]:
    return {"/v1/orders/ord_1": {"id": text, "total": 1000, "refunded": 700, "note": text, text: text, "hint": text}}


def _sums(text: str) -> dict[str, Json]:
    return {"/v1/orders/ord_1": {"id": "ord_1", "total": text, "refunded": text}}


def _methods(text: str) -> dict[str, Json]:
    ways = [{"name": "parcel", "country": "DE"}, {"name": text, "country": "DE"}]
    return {"/v1/shipping-methods": {"data": ways}}


_REFUND: Final = Request("POST", "/v1/refunds", body={"order": "ord_1", "amount": 500})
_NEW: Final = Request("POST", "/v1/orders", body=_ORDER)
_LARGE: Final = "The amount is larger than what can still be refunded."

PLACES: Final = (
    Place("the message", _NEW, lambda profile, text: _enum(profile, message=text)),
    Place("the code", _NEW, lambda profile, text: _enum(profile, code=text)),
    Place("the place of the fault", _NEW, _as_param),
    Place("the message of one of several faults", _NEW, _as_listed("message")),
    Place("the code of one of several faults", _NEW, _as_listed("code")),
    Place("the place of one of several faults", _NEW, _as_listed("field")),
    Place("details inside the error", _NEW, lambda p, t: _enum(p, more={"details": {"hint": t, "more": [{"a": t}]}})),
    Place("the name of a member", _NEW, lambda p, t: _enum(p, more={t: {t: t}})),
    Place("a link to documentation", _NEW, lambda p, t: _enum(p, more={"doc_url": t, "help": t, "instance": t})),
    Place("what looks like feedback inside the error", _NEW, lambda p, t: _enum(p, more={"recovery_feedback": t})),
    Place("allowed values that the upstream lists", _NEW, lambda p, t: _enum(p, more={"allowed": [t], "enum": [t]})),
    *(
        Place(f"the header {name}", _NEW, _header(name))
        for name in ("Link", "Location", "Warning", "X-Error", "WWW-Authenticate", "Allow", "Preference-Applied")
    ),
    Place("the name of a header", _NEW, _named_header),
    Place("the header Retry-After", Request("GET", "/v1/orders"), _waiting("Retry-After")),
    Place("the header X-RateLimit-Reset", Request("GET", "/v1/orders"), _waiting("X-RateLimit-Reset")),
    Place(
        "a message that a rule captures a number from",
        Request("POST", "/v1/orders", body={**_LINES, "lines": [{"sku": "coffee", "quantity": 9}]}),
        lambda p, t: exchange.native(
            p, 422, "out_of_stock", f"Only 3 are in stock.{t} Only {t} are in stock.", "lines[0].quantity"
        ),
    ),
    Place(
        "texts of an object that is looked up",
        _REFUND,
        lambda p, t: exchange.native(p, 422, "amount_too_large", _LARGE, "amount"),
        _order,
    ),
    Place(
        "what stands where a look-up has numbers",
        _REFUND,
        lambda p, t: exchange.native(p, 422, "amount_too_large", _LARGE, "amount"),
        _sums,
    ),
    Place(
        "names of things in a list that is looked up",
        Request("POST", "/v1/orders", body=_LINES),
        lambda p, t: exchange.native(p, 422, "sku_unknown", "There is no such item.", "lines[0].sku"),
        _items,
    ),
    Place(
        "names of alternatives in a list that is looked up",
        Request("POST", "/v1/orders", body=_NONE_LEFT),
        lambda p, t: exchange.native(p, 422, "out_of_stock", "None is in stock.", "lines[0].quantity"),
        _items,
    ),
    Place(
        "names of choices in a list that is looked up",
        Request("POST", "/v1/orders", body=_ABROAD),
        lambda p, t: exchange.native(p, 422, "shipping_method_unavailable", "Not there.", "shipping.method"),
        _methods,
    ),
)


def tried(subject: Subject) -> Iterator[tuple[Place, Payload, HttpRequest, HttpResponse]]:
    """Put every text into every place, and yield what came back."""
    base = "/problem" if subject.profile == "problem+json" else ""
    for place in PLACES:
        request = Request(place.request.method, base + place.request.path, body=place.request.body)
        with KeepAlive() as line:
            for payload in payloads():
                with exchange.answering_for_upstream(subject, _answering(subject.profile, place, payload)):
                    sent = exchange.as_sent(request).adding(ASK, subject.caller())
                    yield place, payload, sent, exchange.send_for_answer(subject, sent, line)


def _answering(profile: str, place: Place, payload: Payload) -> Callable[[Received], Script | None]:
    script = place.says(profile, payload.text)
    listed = place.looked_up(payload.text) if place.looked_up is not None else {}

    def says(received: Received) -> Script | None:
        path = received.sent.target.partition("?")[0]
        if received.sent.method == "GET" and path in listed:
            return answer(200, listed[path])
        return _NO_TRIAL if exchange.is_trial(received.sent) else script

    return says


_NO_TRIAL: Final = answer(501, {"error": {"code": "no_trials", "message": "Nothing is tried here."}})


def not_repeated(subject: Subject) -> Iterator[Finding]:
    spoke = count = 0
    for place, payload, sent, response in tried(subject):
        count += 1
        if response.feedback is not None:
            spoke += 1
            yield from _repeated(place, payload, sent, response.feedback)
        if count == _ENOUGH and not spoke:
            break  # whoever says nothing about a plain fault says nothing
    if not spoke:
        yield exchange.no_feedback(count, "SRF-SEC-01")


def _repeated(place: Place, payload: Payload, request: HttpRequest, feedback: Mapping[str, Json]) -> Iterator[Finding]:
    whole = json.dumps(feedback, ensure_ascii=False)
    repeated_forms = [
        form for form in (payload.text, *payload.markers) if form in whole or json.dumps(form)[1:-1] in whole
    ]
    if repeated_forms:
        sentence = f"A text of the upstream ({payload.kind}) got into the feedback from {place.name}."
        yield Finding("SRF-SEC-01", sentence, f"nothing of {payload.id}", dict(feedback), request)
    if names := hidden("".join(text for _, text in texts(feedback))):
        sentence = f"Characters that nobody sees got into the feedback from {place.name}."
        yield Finding("SRF-SEC-02", sentence, f"nothing of {payload.id}", names, request)
