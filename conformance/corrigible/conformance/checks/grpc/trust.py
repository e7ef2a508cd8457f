"""Checks: text from errors never gets into feedback, secrets are not repeated, look-ups are the caller's, loops end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from google.protobuf import json_format
from google.rpc import error_details_pb2 as known

from corrigible.conformance.checks.http.injection import payloads
from corrigible.conformance.model.outcome import CouldNotTell, NotApplicable
from corrigible.conformance.reference.grpc_shop import PRODUCTS, Shop, Violation, bad_request, error_info, path, request
from corrigible.conformance.reference.grpc_upstream import Answer, Received, refusal
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.grpc import GrpcCall, GrpcResult
from corrigible.conformance.validators.finding import Finding
from corrigible.conformance.validators.trust import forms, hidden
from corrigible.schema.error import ReaderError
from corrigible.schema.exchange import Json
from corrigible.schema.reader import Next, apply

from .call import PREFERENCE, Calls, calling
from .case import following
from .trace import request_document

_ORDER: Final = {"currency": "EUR", "items": [{"sku": "tea-gren", "quantity": 50}]}
_SECRETS: Final = ("corr-token-4f1e9a77", "corr-key-80b3cd25", "corr-field-c61d02ee")
_IDENTIFIER: Final = re.compile(r"\w{1,64}", re.ASCII)
_ROUNDS: Final = 4
_TURNS: Final = 4


def no_word_obeyed(subject: Subject) -> Iterable[Finding]:
    """Payloads in messages, details, names of fields and metadata: none of them in the feedback."""
    with calling(subject) as calls:
        annotated_count = 0
        for number, payload in enumerate(payloads()):
            text, marks = payload.text, payload.markers
            if _IDENTIFIER.fullmatch(text):
                continue  # a name may be repeated as one
            for label, answer in _share(number, [*_poisoned(text)]):
                result = calls.through(call := calls.sent("CreateOrder", _ORDER), answer)
                if result.feedback is None:
                    continue
                annotated_count += 1
                whole = json.dumps(result.feedback, ensure_ascii=False)
                if any(mark in whole for mark in marks):
                    sentence = f"Text that the upstream put into {label} stands in the feedback."
                    yield calls.finding("SRF-SEC-01", sentence, call, "none of it", dict(result.feedback))
                if names := [name for text in _texts(result.feedback) for name in hidden(text)]:
                    sentence = f"Characters that nobody sees came from {label} into the feedback."
                    yield calls.finding("SRF-SEC-02", sentence, call, "visible characters", names)
        if not annotated_count:
            raise NotApplicable("no refusal with free text gets feedback")


def _share(number: int, places: list[tuple[str, Answer]]) -> list[tuple[str, Answer]]:
    """Return every fourth place, others for the next payload: in the end each has had ten of them."""
    return places[number % _TURNS :: _TURNS]


def _poisoned(text: str) -> Iterator[tuple[str, Answer]]:
    sku, quantity = Violation("items[0].sku", "UNKNOWN_PRODUCT", "there is no such product"), "QUANTITY_OUT_OF_RANGE"
    plain = bad_request(sku)
    many = bad_request(sku, Violation("items[0].quantity", quantity, text))
    metadata = text.encode().decode("ascii", "ignore").translate({number: None for number in range(32)}).strip()
    yield "the message", refusal(3, text, plain)
    yield "the message alone", Answer(3, text)
    yield "the description of a field", refusal(3, "no", bad_request(sku._replace(description=text)))
    yield "the description of one of several", refusal(3, "no", many)
    yield "the name of a field", refusal(3, "no", bad_request(sku._replace(field=text)), plain)
    yield "the key of a field", refusal(3, "no", bad_request(sku._replace(field=f'items["{text}"].sku')), plain)
    yield "the reason of a field", refusal(3, "no", bad_request(sku._replace(reason=text)))
    yield "the reason of an ErrorInfo", refusal(9, "no", error_info(text))
    yield "the metadata of an ErrorInfo", refusal(10, "no", error_info("STALE_VERSION", order=text, **{"note": text}))
    yield "the domain of an ErrorInfo", refusal(9, "no", known.ErrorInfo(reason="REFUNDED_IN_FULL", domain=text))
    yield "a link of help", refusal(3, "no", plain, known.Help(links=[known.Help.Link(description=text, url=text)]))
    yield "a localized message", refusal(3, "no", plain, known.LocalizedMessage(locale="en", message=text))
    yield "debugging", refusal(3, "no", plain, known.DebugInfo(detail=text, stack_entries=[text]))
    yield "a quota", refusal(8, "quota", _quota(text))
    yield "a precondition", refusal(9, "no", _precondition(text))
    resource = known.ResourceInfo(resource_type=text, resource_name=text, description=text)
    yield "a resource that is not there", refusal(5, "no", resource)
    yield "a resource that is there", refusal(6, "no", resource)
    yield "what permission is missing", refusal(7, "no", error_info(text, permission=text, service=text))
    yield "a service that is switched off", refusal(7, "no", error_info("SERVICE_DISABLED", service=text))
    yield "what is unavailable", refusal(14, text, error_info(text, service=text))
    yield (
        "the trailing metadata",
        refusal(3, "no", plain, trailing=(("x-note", metadata), ("x-note-bin", text.encode()))),
    )


def _quota(text: str) -> Any:
    return known.QuotaFailure(violations=[known.QuotaFailure.Violation(subject=text, description=text)])


def _precondition(text: str) -> Any:
    violation = known.PreconditionFailure.Violation(type=text, subject=text, description=text)
    return known.PreconditionFailure(violations=[violation])


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def secrets_stay(subject: Subject) -> Iterable[Finding]:
    """Credentials in metadata, and a secret field, even where the refusal is about it."""
    token, key, field = _SECRETS
    places = ("items[0].sku", "access_token", "accessToken", "")
    with calling(subject) as calls:
        for place in places:
            reason = "UNKNOWN_PRODUCT" if place.endswith("sku") else "NOT_VALID"
            refusal_answer = refusal(3, "no", bad_request(Violation(place, reason, "must be another one")))
            document = {**_ORDER, "accessToken": field}
            metadata = (("authorization", f"Bearer {token}"), ("x-api-key", key), ("cookie", f"session={key}"))
            message = request(path("CreateOrder"), document)
            call = GrpcCall(path("CreateOrder"), (message,), (*metadata, (PREFERENCE, "reflective")))
            result = calls.through(call, refusal_answer)
            whole = json.dumps(dict(result.feedback or {}), ensure_ascii=False)
            for secret, label in zip(_SECRETS, ("the authorization", "an API key", "a secret field"), strict=True):
                if any(form in whole for form in forms(secret)):
                    sentence = f"The feedback repeats {label} of the call."
                    yield calls.finding("SRF-SEC-05", sentence, call, "nothing of it", "it stands in the feedback")


def look_ups(subject: Subject) -> Iterable[Finding]:
    """What the subject asks on its own, it asks as the caller, and it only reads."""
    with calling(subject) as calls:
        sent = calls.sent("RefundOrder", {"order": "orders/1", "amountCents": "9000"})
        before = len(calls.upstream.calls)
        calls.through(sent)
        for call in calls.upstream.calls[before:]:
            if call.method == sent.method or call.method.startswith("/grpc."):
                continue
            if call.value("authorization") != sent.value("authorization"):
                sentence = f"{call.method} was looked up with other credentials than the caller's."
                yield calls.finding("SRF-SEC-07", sentence, sent, "the caller's", "another's, or none")
            if not call.method.rpartition("/")[2].startswith(("Get", "List")):
                sentence = f"{call.method} was called on the way to feedback, and it writes."
                yield calls.finding("SRF-SEC-07", sentence, sent, "calls that only read", call.method)


def no_oracle(subject: Subject) -> Iterable[Finding]:
    """What the caller may not list is not told him by way of feedback."""

    def closed(received: Received) -> Answer:
        if received.method == path("CreateOrder"):
            return _unsold(received)
        return Answer(7, "the products are none of your business")

    with calling(subject) as calls:
        result = calls.through(call := calls.sent("CreateOrder", _ORDER), closed)
        whole = json.dumps(dict(result.feedback or {}), ensure_ascii=False)
        if leaked := [name for name in PRODUCTS if name in whole]:
            sentence = "The caller may not list the products, and the feedback names some."
            yield calls.finding("SRF-SEC-06", sentence, call, [], leaked)


def loops_end(subject: Subject) -> Iterable[Finding]:
    """A caller who does what he is told, and is refused for the same reason, hears by the fourth time that it ends."""
    with calling(subject) as calls:
        yield from _loop(calls, ())
        yield from _loop(calls, (("recovery-feedback-caller", "somebody"),))
        yield from _unknown(calls)


def _unsold(received: Received) -> Answer:
    """Refuse an order again and again; what is looked up is there."""
    if received.method == path("ListProducts"):
        return Answer(messages=tuple(Shop().call(received.method, b"")))
    violation = Violation("items[0].sku", "UNKNOWN_PRODUCT", "there is no such product")
    return refusal(3, "the order cannot be placed", bad_request(violation))


def _loop(calls: Calls, metadata: Any) -> Iterator[Finding]:
    sent = first = calls.scripted(calls.sent("CreateOrder", _ORDER, metadata=metadata), _unsold)
    results: list[GrpcResult] = []
    for _ in range(_ROUNDS):
        results.append(result := calls.target.send(sent))
        sent = _obeyed(sent, result)
    if results[0].feedback is None:
        raise CouldNotTell("a misspelt product gets no feedback, so there is no advice to go in circles with")
    actions = [_action(result) for result in results]
    if actions[0] in ("ESCALATE", "NO_RECOVERY_AVAILABLE"):
        raise CouldNotTell("a misspelt product gets no advice that could be followed")
    if actions[-1] != "ESCALATE":
        sentence = (
            f"The same error came back {_ROUNDS} times to a caller who followed the advice, and no ESCALATE comes."
        )
        yield calls.finding("SRF-SEC-08", sentence, first, "ESCALATE", actions)
    other = calls.scripted(calls.sent("CreateOrder", _ORDER), _unsold)
    if _action(calls.target.send(other)) == "ESCALATE":
        sentence = "One caller went in circles, and another one who calls for the first time is told to give up."
        yield calls.finding("SRF-SEC-08", sentence, other, actions[0], "ESCALATE")


def _unknown(calls: Calls) -> Iterator[Finding]:
    """Callers without credentials, at one address, are no caller."""
    signed = calls.scripted(calls.sent("CreateOrder", _ORDER), _unsold)
    call = replace(signed, metadata=tuple(pair for pair in signed.metadata if pair[0] != "authorization"))
    actions = [_action(calls.target.send(call)) for _ in range(_ROUNDS)]
    if actions[0] != "ESCALATE" and "ESCALATE" in actions:
        sentence = "Callers without credentials, at one address, were taken for one that goes in circles."
        yield calls.finding("SRF-SEC-08", sentence, call, actions[0], actions)


def _obeyed(call: GrpcCall, result: GrpcResult) -> GrpcCall:
    """Return what a reader sends next; the same again where there is nothing to do."""
    if result.feedback is None:
        return call
    try:
        reading = apply(dict(result.feedback), request_document(call), confirm=True)
        return following(call, reading) if isinstance(reading, Next) else call
    except (ReaderError, json_format.ParseError, TypeError, ValueError):
        return call


def _action(result: GrpcResult) -> str:
    suggestions: Json = (result.feedback or {}).get("suggestions") or [{}]
    return str(suggestions[0].get("base_action") or suggestions[0].get("action", "")).upper()
