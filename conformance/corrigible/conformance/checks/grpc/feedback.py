"""Checks: feedback about errors of the shop follows the contract, the corrected call is accepted, nothing leaks.

Text from errors never gets into feedback, secrets are not repeated, look-ups are the caller's, loops end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from google.protobuf import duration_pb2, json_format
from google.protobuf.descriptor import FieldDescriptor
from google.rpc import error_details_pb2 as known

from corrigible.conformance.checks.grpc.call import (
    CASES,
    PREFERENCE,
    Attempt,
    Calls,
    differences,
    following,
    grpcurl,
    reasons,
    request_document,
    tried,
)
from corrigible.conformance.checks.http.injection import payloads, with_text
from corrigible.conformance.checks.support.exchange import feedback_findings, listed
from corrigible.conformance.model import vector
from corrigible.conformance.model.outcome import CouldNotTell, NotApplicable
from corrigible.conformance.reference import grpc_shop
from corrigible.conformance.reference.grpc_shop import PRODUCTS, Shop, Violation, bad_request, path, request
from corrigible.conformance.reference.grpc_upstream import Answer, Received, refusal
from corrigible.conformance.transport.grpc import GrpcCall, GrpcResult
from corrigible.conformance.validators.finding import ABSENT, AnnotatedError, Finding, patch_of, texts
from corrigible.conformance.validators.trust import forms, hidden
from corrigible.schema.error import ReaderError
from corrigible.schema.exchange import Json
from corrigible.schema.reader import NeedsInput, Next, Terminal, apply

_STATUS: Final = {3: 400, 6: 409, 7: 403, 8: 429, 9: 400, 10: 409, 14: 503}
_READING: Final = frozenset({grpc_shop.path("GetOrder"), grpc_shop.path("WatchOrder"), grpc_shop.path("ListProducts")})
_SECRET: Final = "corr-secret-93c1f7"
_LONG: Final = frozenset(
    {
        *(FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_SINT64),
        *(FieldDescriptor.TYPE_FIXED64, FieldDescriptor.TYPE_SFIXED64),
    }
)
_SHORT: Final = frozenset(
    {
        *(FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_SINT32),
        *(FieldDescriptor.TYPE_FIXED32, FieldDescriptor.TYPE_SFIXED32),
    }
)


def contract(*requirements: str) -> Callable[[Calls], Iterable[Finding]]:
    """Return a check that lets the judges of feedback look at every refusal."""
    required = frozenset(requirements)

    def run(calls: Calls) -> Iterator[Finding]:
        for sent, result in _annotated(calls):
            yield from _findings_of(calls, sent, result, required)

    return run


def _annotated(calls: Calls) -> Iterator[tuple[GrpcCall, GrpcResult]]:
    """Yield refusals with feedback. Raises NotApplicable where there is none."""
    count = 0
    several = [(tried.sent, tried.got) for tried in tried(calls)]
    for name in ("CreateOrder", "WatchOrder"):
        sent = calls.sent(name, {"name": "orders/1"})
        several.append((sent, calls.through(sent, _exhausted(7))))
    for sent, result in several:
        if result.feedback is not None:
            count += 1
            yield sent, result
    if not count:
        raise NotApplicable("nothing that the shop refuses gets feedback")


def _findings_of(calls: Calls, call: GrpcCall, result: GrpcResult, required: frozenset[str]) -> Iterator[Finding]:
    annotated = AnnotatedError(
        request_document(call), result.feedback, _STATUS.get(result.code, 400), secrets=_secrets(call)
    )
    for finding in feedback_findings(annotated, required):
        if finding.requirement == "SRF-RTY-02" and call.method in _READING:
            continue  # over gRPC every call looks like one that writes
        yield replace(finding, sent=None, line=grpcurl(calls.target.address, call))


def _secrets(call: GrpcCall) -> tuple[str, ...]:
    return (str(call.value("authorization")).removeprefix("Bearer "), _SECRET)


def feedback_present(calls: Calls) -> Iterable[Finding]:
    """A message that the shop finds invalid gets feedback where the caller asks for it."""
    for attempt in tried(calls):
        if attempt.got.code == 3 and attempt.got.feedback is None:
            sentence = f"{attempt.case.title[0].upper()}{attempt.case.title[1:]} is refused, and no feedback comes."
            yield calls.finding("SRF-COR-01", sentence, attempt.sent, "feedback", ABSENT)


def every_error(calls: Calls) -> Iterable[Finding]:
    """Several complaints get as many suggestions, or groups."""
    for attempt in tried(calls):
        suggestions: Json = (attempt.got.feedback or {}).get("suggestions", [])
        groups = {(s.get("group") or {}).get("id", index) for index, s in enumerate(suggestions)}
        if attempt.got.feedback is not None and len(groups) < attempt.case.errors:
            sentence = f"For {attempt.case.title} there are fewer suggestions than complaints."
            yield calls.finding("SRF-COR-11", sentence, attempt.sent, attempt.case.errors, len(groups))


def same_again(calls: Calls) -> Iterable[Finding]:
    """Two callers with the same call get the same."""
    for first, other in zip(tried(calls), tried(calls), strict=True):
        before, after = (_without_loop(side.got.feedback) for side in (first, other))
        if before != after:
            sentence = f"Two new callers meet {first.case.title} in the same way, and are told different things."
            yield calls.finding("SRF-COR-10", sentence, first.sent, before, after)


def _without_loop(feedback: Mapping[str, Json] | None) -> Json:
    return None if feedback is None else {name: value for name, value in feedback.items() if name != "loop"}


def other_modes(calls: Calls) -> Iterable[Finding]:
    """Who does not ask for feedback gets none, and is refused all the same."""
    for case in CASES:
        native = calls.direct.send(calls.sent(case.method, case.document, mode=None))
        for mode in ("none", "traditional", "verbose"):
            result = calls.through(call := calls.sent(case.method, case.document, mode=mode))
            if result.feedback is not None:
                sentence = f"{case.title[0].upper()}{case.title[1:]} gets feedback in the mode {mode}."
                yield calls.finding("SRF-COR-08", sentence, call, None, dict(result.feedback))
            if (result.code, reasons(result)) != (native.code, reasons(native)):
                sentence = f"In the mode {mode}, {case.title} is refused otherwise."
                sides = ([result.code, *sorted(reasons(result))] for result in (native, result))
                yield calls.finding("SRF-COR-09", sentence, call, *sides)


def none_honoured(calls: Calls) -> Iterable[Finding]:
    """In the mode none everything is the upstream's, byte by byte; a word nobody knows is as none said."""
    for case in CASES:
        call = calls.sent(case.method, case.document, mode="none")
        direct = calls.direct.send(calls.sent(case.method, case.document, mode="none"))
        through = calls.target.send(call)
        if direct.trailing != through.trailing:
            sentence = f"With recovery-feedback: none, the trailers of a refusal ({case.title}) are not the upstream's."
            expected, actual = ([one.hex() for one in side.details] for side in (direct, through))
            yield calls.finding("SRF-NEG-01", sentence, call, expected, actual)


def unknown_words(calls: Calls) -> Iterable[Finding]:
    """A mode that there is not is as if nothing was asked for."""
    for case in CASES[:3]:
        plain = calls.through(calls.sent(case.method, case.document, mode=None))
        for word in ("loud", "", "reflective!"):
            result = calls.through(call := calls.sent(case.method, case.document, mode=word))
            if (plain.code, _without_loop(plain.feedback)) != (result.code, _without_loop(result.feedback)):
                sentence = f"The metadata recovery-feedback: {word} means nothing, and still changes the answer."
                expected, actual = _without_loop(plain.feedback), _without_loop(result.feedback)
                yield calls.finding("SRF-NEG-05", sentence, call, expected, actual)


def mended(calls: Calls) -> Iterable[Finding]:
    """What a reader makes of the feedback is not refused for the same reason again."""
    for attempt in tried(calls):
        if attempt.got.feedback is not None and attempt.got.code:
            yield from _repair_findings(calls, attempt)


def _repair_findings(calls: Calls, attempt: Attempt) -> Iterator[Finding]:
    case, sent = attempt.case, attempt.sent
    try:
        reading = apply(dict(attempt.got.feedback or {}), request_document(sent), confirm=True)
    except ReaderError as problem:
        yield calls.finding(
            "SRF-COR-14", f"For {case.title} a reader cannot read the feedback.", sent, None, str(problem)
        )
        return
    expected = {"next": Next, "terminal": Terminal, "ask": NeedsInput}.get(case.leads)
    if expected is not None and not isinstance(reading, expected):
        sentence = f"For {case.title} a reader of the feedback is led elsewhere."
        yield calls.finding("SRF-COR-14", sentence, sent, case.leads, _led(reading))
    if not isinstance(reading, Next):
        return
    try:
        after = calls.direct.send(following(sent, reading))
    except (json_format.ParseError, TypeError, ValueError) as problem:
        sentence = f"For {case.title} the feedback leads to what is no message of the method."
        yield calls.finding("SRF-OPS-05", sentence, sent, "a message of its type", f"{reading.request.body}: {problem}")
        return
    again = (reasons(after) & reasons(attempt.got)) - case.unanswerable
    if again or (after.code and not case.unanswerable and case.leads != "anything"):
        sentence = f"What the feedback makes of {case.title} is refused again."
        yield calls.finding("SRF-COR-14", sentence, sent, "OK", [after.code, after.message, *sorted(reasons(after))])


def _led(outcome: Next | Terminal | NeedsInput) -> Json:
    match outcome:
        case Next():
            return {"next": outcome.request.body}
        case Terminal():
            return {"terminal": outcome.action}
        case _:
            return {"ask": outcome.reason}


def intent_flagged(calls: Calls) -> Iterable[Finding]:
    """Less, or over what somebody else wrote: that is not what was asked for."""
    for attempt in tried(calls):
        suggestions: Json = (attempt.got.feedback or {}).get("suggestions", [])
        edits = [s for s in suggestions if patch_of(s) or s.get("parameters")]
        if (
            attempt.case.flagged
            and len(edits) >= attempt.case.errors
            and not any((s.get("safety") or {}).get("changes_intent") for s in edits)
        ):
            sentence = (
                f"For {attempt.case.title} another value is suggested than was asked for, without a word about it."
            )
            yield calls.finding("SRF-OPS-09", sentence, attempt.sent, {"changes_intent": True}, edits[0].get("safety"))


def numbers_typed(calls: Calls) -> Iterable[Finding]:
    """Integers are integers, and those of 64 bits text, wherever a message is edited."""
    for sent, result in _annotated(calls):
        method: Any = grpc_shop.METHODS[sent.method]
        for index, suggestion in enumerate((result.feedback or {}).get("suggestions", ())):
            places = [("/body", suggestion.get("parameters", {}))]
            places += [(str(op.get("path")), op["value"]) for op in patch_of(suggestion) if "value" in op]
            for pointer, value in places:
                for place, expected, actual in _mistyped(method.input_type, pointer, value):
                    sentence = f"Suggestion {index} has another type at {place} than canonical proto-JSON."
                    yield calls.finding("SRF-GRP-05", sentence, sent, expected, actual)


def _mistyped(message: Any, pointer: str, value: Json) -> Iterator[tuple[str, str, Json]]:
    """Yield places whose number is not what its field says."""
    steps = pointer.split("/")[1:]
    if steps[:1] != ["body"]:
        return
    field = None
    for step in steps[1:]:
        if step.isdecimal() or step == "-":
            continue  # an element is what its list is
        if message is None or not (field := _field(message, step)):
            return
        message = field.message_type
    yield from _walked(message, field, pointer, value)


def _walked(message: Any, field: Any, place: str, value: Json) -> Iterator[tuple[str, str, Json]]:
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _walked(message, field, f"{place}/{index}", inner)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if message is not None and (descriptor := _field(message, name)):
                yield from _walked(descriptor.message_type, descriptor, f"{place}/{name}", inner)
    elif field is not None and value is not None:
        if field.type in _LONG and not (isinstance(value, str) and value.removeprefix("-").isdecimal()):
            yield place, "an integer as text", value
        elif field.type in _SHORT and (isinstance(value, bool) or not isinstance(value, int)):
            yield place, "an integer", repr(value)


def _field(message: Any, name: str) -> Any:
    return next((field for field in message.fields if name in (field.json_name, field.name)), None)


def _exhausted(seconds: int) -> Any:
    wait = known.RetryInfo(retry_delay=duration_pb2.Duration(seconds=seconds))
    return refusal(8, "rate limit exceeded", wait)


def waits_mirrored(calls: Calls) -> Iterable[Finding]:
    """RetryInfo is what the feedback says of waiting, and nobody is told to write twice."""
    annotated_count = 0
    for name, seconds in (("GetOrder", 7), ("CreateOrder", 7), ("WatchOrder", 61)):
        call = calls.sent(name, {"name": "orders/1"})
        result = calls.through(call, _exhausted(seconds))
        if result.feedback is None:
            continue
        annotated_count += 1
        retry: Json = result.feedback.get("retry") or {}
        after = retry.get("after_seconds")
        if result.feedback.get("recovery") != "terminal" and after != seconds:
            sentence = "The refusal says in RetryInfo when to come back; the feedback says something else."
            yield calls.finding("SRF-RTY-01", sentence, call, seconds, after)
        if call.method not in _READING and retry.get("same_request") is True:
            sentence = "The feedback says to repeat a call that writes: it may happen twice."
            yield calls.finding("SRF-RTY-02", sentence, call, {"same_request": False}, dict(retry))
    if not annotated_count:
        raise NotApplicable("nothing is said about calls that are refused for their number")


def failed_look_ups(calls: Calls) -> Iterable[Finding]:
    """Where the look-up that a suggestion needs is refused, the native refusal comes."""
    # An order that is not there any more when it is looked for: the shop refuses, and so does every look-up.
    stale = grpc_shop.error_info("STALE_VERSION", order="orders/77")
    large = grpc_shop.error_info("REFUND_TOO_LARGE", order="orders/77")
    for sent, answer in (
        (calls.sent("UpdateOrder", {"name": "orders/77", "version": "2"}), refusal(10, "changed", stale)),
        (calls.sent("RefundOrder", {"order": "orders/77", "amountCents": "9"}), refusal(9, "too much", large)),
    ):
        pair = calls.both(sent, answer)
        for part, expected, actual in differences(pair):
            if part in ("code", "message"):
                sentence = f"Nothing can be looked up for a refusal, and its {part} changes."
                yield calls.finding("SRF-TRN-08", sentence, sent, expected, actual)


def vectors(calls: Calls) -> Iterable[Finding]:
    """What the vectors of this profile say natively leads a reader to what they allow, where anything is said."""
    for exchange in vector.exchange("grpc"):
        message = grpc_shop.request(exchange.request.method, exchange.request.body or {})
        call = calls.signed(GrpcCall(exchange.request.method, (message,)))
        details = [_detail(document) for document in exchange.answer.get("details", ())]
        result = calls.through(call, refusal(exchange.answer["code"], exchange.answer["message"], *details))
        if result.feedback is None:
            continue
        # How a number is written is SRF-GRP-05's matter; here it counts where it leads.
        if problem := vector.leads_to(exchange.allowed, _whole(result.feedback), exchange.request):
            sentence = f"{exchange.id}: {problem}."
            yield calls.finding(
                "SRF-COR-14", sentence, call, [dict(way) for way in exchange.allowed], dict(result.feedback)
            )


def _whole(value: Json) -> Json:
    """Return JSON with 500.0 written as 500."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case Mapping():
            return {name: _whole(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_whole(inner) for inner in value]
        case _:
            return value


def _detail(document: Mapping[str, Json]) -> Any:
    kind = getattr(known, str(document["@type"]).rpartition(".")[2])
    return json_format.ParseDict({name: value for name, value in document.items() if name != "@type"}, kind())


_ORDER: Final = {"currency": "EUR", "items": [{"sku": "tea-gren", "quantity": 50}]}
_SECRETS: Final = ("corr-token-4f1e9a77", "corr-key-80b3cd25", "corr-field-c61d02ee")
_IDENTIFIER: Final = re.compile(r"\w{1,64}", re.ASCII)
_ROUNDS: Final = 4
_TURNS: Final = 4
"""A payload goes to every fourth place, the next one to others: in the end each place has had ten of them."""


def no_word_obeyed(calls: Calls) -> Iterable[Finding]:
    """Payloads in messages, details, names of fields and metadata: none of them in the feedback."""
    annotated_count = 0
    for number, payload in enumerate(payloads()):
        text, marks = payload["text"], payload["markers"]
        if _IDENTIFIER.fullmatch(text):
            continue  # a name may be repeated as one
        for label, answer in [*_poisoned(text)][number % _TURNS :: _TURNS]:
            result = calls.through(call := calls.sent("CreateOrder", _ORDER), answer)
            if result.feedback is None:
                continue
            annotated_count += 1
            whole = json.dumps(result.feedback, ensure_ascii=False)
            if any(mark in whole for mark in marks):
                sentence = f"Text that the upstream put into {label} stands in the feedback."
                yield calls.finding("SRF-SEC-01", sentence, call, "none of it", dict(result.feedback))
            if names := [name for _, text in texts(result.feedback) for name in hidden(text)]:
                sentence = f"Characters that nobody sees came from {label} into the feedback."
                yield calls.finding("SRF-SEC-02", sentence, call, "visible characters", names)
    if not annotated_count:
        raise NotApplicable("no refusal with free text gets feedback")


def _poisoned(text: str) -> Iterator[tuple[str, Answer]]:
    plain = text.encode().decode("ascii", "ignore").translate({number: None for number in range(32)}).strip()
    for place in listed("injection", "calls"):
        said = with_text(place, text)
        trailing = tuple((key, text.encode() if key.endswith("-bin") else plain) for key, _ in said.get("trailing", ()))
        if "details" in said:
            details = map(_detail, said["details"])
            yield place["name"], refusal(said["code"], said["message"], *details, trailing=trailing)
        else:
            yield place["name"], Answer(said["code"], said["message"])


def secrets_stay(calls: Calls) -> Iterable[Finding]:
    """Credentials in metadata, and a secret field, even where the refusal is about it."""
    token, key, field = _SECRETS
    places = ("items[0].sku", "access_token", "accessToken", "")
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


def look_ups(calls: Calls) -> Iterable[Finding]:
    """What the subject asks on its own, it asks as the caller, and it only reads."""
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


def no_oracle(calls: Calls) -> Iterable[Finding]:
    """What the caller may not list is not told him by way of feedback."""

    def closed(received: Received) -> Answer:
        if received.method == path("CreateOrder"):
            return _unsold(received)
        return Answer(7, "the products are none of your business")

    result = calls.through(call := calls.sent("CreateOrder", _ORDER), closed)
    whole = json.dumps(dict(result.feedback or {}), ensure_ascii=False)
    if leaked := [name for name in PRODUCTS if name in whole]:
        sentence = "The caller may not list the products, and the feedback names some."
        yield calls.finding("SRF-SEC-06", sentence, call, [], leaked)


def loops_end(calls: Calls) -> Iterable[Finding]:
    """A caller who does what he is told, and is refused for the same reason, hears by the fourth time that it ends."""
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
