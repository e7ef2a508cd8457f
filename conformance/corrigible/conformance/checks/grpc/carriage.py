"""Checks: calls of all four kinds, their metadata, status, details and deadlines pass unchanged in both directions.

Feedback stays within the size limits, and a small message that decompresses to a very large one delays no other call.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import Message
from google.rpc import error_details_pb2 as details_pb2

from corrigible.conformance.checks.grpc.call import (
    PREFERENCE,
    Calls,
    Pair,
    differences,
    named,
    shown,
    shown_messages,
)
from corrigible.conformance.checks.support.known_error import LONGEST, STRAIGHT, SmallCalls, at_its_best, small_calls
from corrigible.conformance.model.background import awaited, pause
from corrigible.conformance.reference import grpc_shop
from corrigible.conformance.reference.grpc_shop import SERVICE, Violation, bad_request, error_info, status_bytes
from corrigible.conformance.reference.grpc_upstream import HEALTH, REFLECTION, Answer, refusal
from corrigible.conformance.transport.grpc import DETAILS, OURS, GrpcCall, GrpcClient, GrpcResult, Metadata
from corrigible.conformance.transport.http1 import CASE
from corrigible.conformance.validators.finding import ABSENT, Finding
from corrigible.schema.exchange import Json

_METADATA: Final[Metadata] = (
    ("x-twice", "one"),
    ("x-twice", "two"),
    ("x-raw-bin", b"\x00\xff\x80"),
    ("x-raw-bin", b""),
    ("x-text", 'a,b; c="d"'),
    ("x-last", "z"),
)
_ORDER: Final = {"customerEmail": "ada@example.com", "currency": "EUR", "items": [{"sku": "mug-blue", "quantity": 1}]}
_LONG: Final = b"\x0a\x03abc" + b"\x42\x80\x80\x40" + b"q" * (1 << 20)
"""An order of a mebibyte."""
_KINDS: Final = (
    ("unary", "CreateOrder", 1, 1),
    ("server-streaming", "WatchOrder", 1, 40),
    ("client-streaming", "ImportOrders", 40, 1),
    ("bidirectional", "NegotiateOrders", 40, 40),
)
"""With how many messages there and back."""
_SOON: Final = 3.0
"""Seconds."""


def _kind(name: str, count: int) -> GrpcCall:
    return GrpcCall(f"/{SERVICE}/{name}", tuple(b"\x0a" + bytes([n]) + b"n" * n for n in range(count)))


def successes_kept(calls: Calls) -> Iterable[Finding]:
    """All four kinds, with metadata; nothing, little and much; compressed."""
    tried = [
        (
            f"a {kind} call",
            _kind(name, upstream_form),
            Answer(messages=_replies(back), initial=_METADATA, trailing=_METADATA),
        )
        for kind, name, upstream_form, back in _KINDS
    ]
    unary = GrpcCall(f"/{SERVICE}/CreateOrder", (_LONG,))
    tried += [
        ("a reply without a byte", _kind("CreateOrder", 1), Answer(messages=(b"",))),
        ("a stream without a message", _kind("WatchOrder", 1), Answer()),
        ("a mebibyte each way", unary, Answer(messages=(_LONG,))),
        (
            "compressed messages",
            GrpcCall(unary.method, (_LONG,), compressed=True),
            Answer(echo=True, compressed=True),
        ),
    ]
    for label, sent, answer in tried:
        pair = calls.both(calls.signed(sent), answer)
        for part, expected, actual in differences(pair):
            yield calls.finding("SRF-TRN-01", f"Of {label} that went well, the {part} changed.", sent, expected, actual)


def _replies(count: int) -> tuple[bytes, ...]:
    return tuple(b"\x0a" + bytes([n % 100]) + b"r" * (n % 100) for n in range(count))


def feedback_only_on_refusals(calls: Calls) -> Iterable[Finding]:
    """A call that went well says nothing about recovery."""
    result = calls.through(call := calls.sent("CreateOrder", _ORDER))
    if result.code == 0 and result.details:
        sentence = "A call that went well has feedback in its trailers."
        yield calls.finding("SRF-COR-07", sentence, call, [], [detail.hex() for detail in result.details])


def every_kind(calls: Calls) -> Iterable[Finding]:
    """Refusals of all four kinds: at once, behind headers, behind messages, while the caller still sends."""
    for kind, name, there, back in _KINDS:
        sent = _kind(name, there)
        early = (("x-early", "1"),)
        answers = {
            "at once": Answer(9, "enough", read=0),
            "behind headers": Answer(9, "enough", initial=early, headers_first=True),
            "after reading all": refusal(9, "enough", error_info("ANY")),
        }
        if back > 1:
            answers["behind messages"] = refusal(9, "enough", error_info("ANY"), messages=_replies(3))
        if there > 1:
            answers["while the caller sends"] = Answer(9, "enough", read=2)
        for label, answer in answers.items():
            pair = calls.both(calls.signed(sent), answer)
            for part, expected, actual in differences(pair):
                if part in ("code", "message", "messages"):
                    sentence = f"A {kind} call that is refused {label} ends with another {part}."
                    yield calls.finding("SRF-GRP-04", sentence, sent, expected, actual)
    yield from _feedback_for_every_kind(calls)


def _feedback_for_every_kind(calls: Calls) -> Iterator[Finding]:
    """One message is one request, whatever kind of call carries it."""
    unknown = {**_ORDER, "items": [{"sku": "tea-gren", "quantity": 1}]}
    live = (
        ("unary", calls.sent("CreateOrder", unknown)),
        ("server-streaming", calls.sent("WatchOrder", {"name": "1"})),
        ("client-streaming", calls.sent("ImportOrders", unknown)),
        ("bidirectional", calls.sent("NegotiateOrders", unknown)),
    )
    for kind, sent in live:
        result = calls.through(sent)
        if result.code == 3 and result.feedback is None:
            sentence = f"A {kind} call of one message is refused for a known reason, and no feedback comes."
            yield calls.finding("SRF-GRP-04", sentence, sent, "feedback", ABSENT)
    violation = bad_request(Violation("name", "NOT_AN_ORDER_NAME", "must begin with orders/"))
    for label, answer in {
        "behind headers": refusal(3, "no", violation, headers_first=True, initial=(("x-early", "1"),)),
        "behind messages": refusal(3, "no", violation, messages=_replies(2)),
    }.items():
        result = calls.through(sent := calls.sent("WatchOrder", {"name": "1"}), answer)
        if result.code == 3 and result.feedback is None:
            sentence = f"A refusal {label} is known, and no feedback comes."
            yield calls.finding("SRF-GRP-04", sentence, sent, "feedback", ABSENT)


def unlisted_pass(calls: Calls) -> Iterable[Finding]:
    """Services that no description mentions: the upstream's are served, and only it says what it has not."""
    refusal_answer = refusal(5, "no such thing", error_info("ANY"))
    tried = {
        "a call that goes well": Answer(messages=(b"\x08\x01",), trailing=(("x-mine", "1"),)),
        "a stream": Answer(messages=_replies(5), initial=(("x-mine", "1"),)),
        "a refusal": refusal_answer,
    }
    for label, answer in tried.items():
        for method in ("/unlisted.v1.Thing/Do", f"/{SERVICE}/Unlisted"):
            call = calls.signed(GrpcCall(method, (b"\x0a\x01x",)), mode="none")
            pair = calls.both(call, answer)
            for part, expected, actual in differences(pair):
                if part != "grpc-status-details-bin":
                    sentence = f"{method} is in no description; of {label} the {part} changed."
                    yield calls.finding("SRF-GRP-06", sentence, call, expected, actual)
            if pair.received is None:
                sentence = f"{method} is in no description, and never reached the upstream."
                yield calls.finding("SRF-GRP-06", sentence, call, "the call", ABSENT)
    for method in ("/unlisted.v1.Thing/Nothing", f"/{SERVICE}/Nothing"):
        call = calls.signed(GrpcCall(method, (b"",)), mode="none")
        direct, through = calls.direct.send(call), calls.target.send(call)
        if (direct.code, direct.message) != (through.code, through.message):
            sentence = f"The upstream has no {method}; what it says of that is not what arrives."
            sides = ([named(result.code), result.message] for result in (direct, through))
            yield calls.finding("SRF-GRP-06", sentence, call, *sides)


def metadata_kept(calls: Calls) -> Iterable[Finding]:
    """Names, values, bytes, repetition and order, in headers and trailers of refusals."""
    answers = {
        "trailers alone": refusal(9, "no", error_info("ANY"), trailing=_METADATA),
        "headers and trailers": refusal(9, "no", error_info("ANY"), initial=_METADATA, trailing=_METADATA),
        "trailers behind messages": refusal(9, "no", messages=(b"",), trailing=_METADATA),
    }
    for label, answer in answers.items():
        pair = calls.both(calls.sent("WatchOrder", {"name": "1"}), answer)
        for part, expected, actual in differences(pair):
            if part in ("headers (initial metadata)", "trailing metadata"):
                sentence = f"The {part} of a refusal that is {label} changed."
                yield calls.finding("SRF-GRP-07", sentence, pair.sent, expected, actual)


def requests_kept(calls: Calls) -> Iterable[Finding]:
    """What reaches the upstream is what was sent, metadata and messages."""
    for kind, name, there, back in _KINDS:
        call = calls.signed(_kind(name, there)).adding(*_METADATA)
        pair = calls.both(call, Answer(messages=_replies(back)))
        if pair.received is None or pair.direct_received is None:
            yield calls.finding("SRF-TRN-12", f"A {kind} call never reached the upstream.", call, "the call", ABSENT)
            continue
        expected, actual = _own_metadata(pair.direct_received.metadata), _own_metadata(pair.received.metadata)
        missing = [entry for entry in expected if entry not in actual]
        entries = [entry for entry in actual if entry in expected]
        if missing or entries != expected:
            sentence = f"The metadata of a {kind} call reaches the upstream changed."
            yield calls.finding("SRF-TRN-12", sentence, call, shown(tuple(expected)), shown(tuple(actual)))
        if pair.direct_received.messages != pair.received.messages:
            sentence = f"The messages of a {kind} call reach the upstream changed."
            sides = (
                shown_messages(tuple(entry_received.messages))
                for entry_received in (pair.direct_received, pair.received)
            )
            yield calls.finding("SRF-TRN-12", sentence, call, *sides)


def _own_metadata(metadata: Metadata) -> list[tuple[str, str | bytes]]:
    return [entry for entry in metadata if entry[0] not in ("user-agent", PREFERENCE)]


def preference_forwarded(calls: Calls) -> Iterable[Finding]:
    """What a caller asks for reaches the upstream, which may write feedback itself."""
    for mode in ("none", "verbose", "reflective"):
        call = calls.scripted(calls.sent("CreateOrder", _ORDER, mode=mode), Answer(messages=(b"",)))
        calls.target.send(call)
        received = calls.upstream.received(str(call.value(CASE)))
        value = received[0].value(PREFERENCE) if received else None
        if value != mode:
            sentence = f"The metadata {PREFERENCE}: {mode} of the caller does not reach the upstream."
            yield calls.finding("SRF-NEG-04", sentence, call, mode, value)


def streams_flow(calls: Calls) -> Iterable[Finding]:
    """A message is passed on when it comes, not when the stream ends."""
    release = threading.Event()
    answer = Answer(messages=(b"\x0a\x01a", b"\x0a\x01b"), hold=release)
    call = calls.scripted(calls.sent("WatchOrder", {"name": "orders/1"}), answer)
    if _first(calls, call, iter(call.messages), release) is None:
        sentence = f"The first message of a stream is not there {_SOON:.0f} seconds after the upstream sent it."
        yield calls.finding("SRF-TRN-09", sentence, call, "a message", ABSENT)
    more = threading.Event()

    def talking() -> Iterator[bytes]:
        yield b"\x0a\x01a"
        awaited(more, _SOON + 1)

    call = calls.scripted(calls.sent("NegotiateOrders", {"name": "a"}), Answer(echo=True))
    if _first(calls, call, talking(), more) is None:
        sentence = "In a bidirectional call nothing comes back while the caller has not ended his stream."
        yield calls.finding("SRF-TRN-09", sentence, call, "a message", ABSENT)


def _first(calls: Calls, sent: GrpcCall, requests: Iterator[bytes], then: threading.Event) -> bytes | None:
    """Return the first message, None where it does not come soon. Whoever waits behind it may go on."""
    call = calls.target.open(sent, requests, _SOON)
    try:
        first: bytes = next(call)
        return first
    except (grpc.RpcError, StopIteration):
        return None
    finally:
        then.set()
        with suppress(grpc.RpcError):
            list(call)


def deadlines_pass(calls: Calls) -> Iterable[Finding]:
    """The upstream knows how long the caller waits, and hears when that is over."""
    sent = calls.scripted(calls.sent("WatchOrder", {"name": "orders/1"}), Answer(pause=_SOON + 5))
    result = calls.target.send(sent, timeout=0.5)
    received = calls.upstream.received(str(sent.value(CASE)))
    if result.code != 4:
        sentence = "A call past its deadline ends otherwise."
        yield calls.finding("SRF-GRP-07", sentence, sent, "DEADLINE_EXCEEDED", named(result.code))
    if not received:
        yield calls.finding(
            "SRF-GRP-07", "A call with a deadline never reached the upstream.", sent, "the call", ABSENT
        )
        return
    if received[0].remaining is None or received[0].remaining > 0.6:
        sentence = "The deadline of a call does not reach the upstream."
        yield calls.finding("SRF-GRP-07", sentence, sent, "<= 0.6 seconds", received[0].remaining)
    if not awaited(received[0].cancelled, _SOON):
        sentence = "The upstream goes on with a call whose deadline is over."
        yield calls.finding("SRF-GRP-07", sentence, sent, "the end of the call", ABSENT)
    free = calls.scripted(calls.sent("WatchOrder", {"name": "orders/1"}), Answer())
    call = calls.target.open(free, iter(free.messages), None)
    giving_up = threading.Timer(_SOON, call.cancel)
    giving_up.start()
    with suppress(grpc.RpcError):
        list(call)
    giving_up.cancel()
    unlimited = calls.upstream.received(str(free.value(CASE)))
    if unlimited and unlimited[0].remaining is not None:
        sentence = "A call without a deadline has one when it reaches the upstream."
        yield calls.finding("SRF-GRP-07", sentence, free, None, unlimited[0].remaining)


def cancellation_passes(calls: Calls) -> Iterable[Finding]:
    """The upstream hears that a caller gave up."""
    sent = calls.scripted(calls.sent("WatchOrder", {"name": "orders/1"}), Answer(pause=_SOON + 5))
    call = calls.target.open(sent, iter(sent.messages), 20.0)
    received = _arrived(calls, str(sent.value(CASE)))
    call.cancel()
    if received is None:
        yield calls.finding("SRF-GRP-07", "A call never reached the upstream.", sent, "the call", ABSENT)
    elif not awaited(received.cancelled, _SOON):
        sentence = f"A caller gave up; {_SOON:.0f} seconds later the upstream does not know."
        yield calls.finding("SRF-GRP-07", sentence, sent, "the end of the call", ABSENT)


def _arrived(calls: Calls, case: str) -> Any:
    until = time.monotonic() + _SOON
    while time.monotonic() < until:
        arrived = calls.upstream.received(case)
        if arrived and awaited(arrived[0].begun, _SOON):
            return arrived[0]
        pause(0.01)
    return None


def health_and_reflection(calls: Calls) -> Iterable[Finding]:
    """What tools ask a server first is answered by the upstream."""
    from grpc_reflection.v1alpha import reflection_pb2 as asked

    listing = asked.ServerReflectionRequest(list_services="").SerializeToString()
    by_name = asked.ServerReflectionRequest(file_containing_symbol=SERVICE).SerializeToString()
    tried = (
        ("health", GrpcCall(HEALTH, (b"",))),
        ("the health of a service that is not there", GrpcCall(HEALTH, (b"\x0a\x04nope",))),
        ("reflection", GrpcCall(REFLECTION, (listing, by_name))),
    )
    for label, sent in tried:
        sent = calls.signed(sent, mode="none")
        direct, through = calls.direct.send(sent), calls.target.send(sent)
        if _comparable(direct) != _comparable(through):
            sentence = f"Asked for {label}, the subject answers otherwise than the upstream."
            yield calls.finding("SRF-GRP-07", sentence, sent, _comparable(direct), _comparable(through))


def _comparable(result: GrpcResult) -> list[object]:
    return [named(result.code), result.message, shown_messages(result.messages)]


MOST_ADDED: Final = 4096
MOST_TRAILERS: Final = 8000
_MODES: Final = ("none", "reflective")
_MESSAGES: Final = (
    "",
    "why",
    "100% sure, %41 is no letter",
    "zwei Zeilen\nund Umlaute: ä ✓ \U0001f642\t",
    "w" * 2000,
)
_SIZES: Final = (0, 512, 1024, 2048, 3072, 3584, 4096, 5120, 6144, 7168, 7680, 8192, 16384, 65536)
_USUAL_SIZES: Final = (0, 1024, 2048, 3072, 4096, 5120, 6144, 7168)
"""Of native details that clients with the usual limits take for sure."""
_WRONG_FIELD: Final = Violation("name", "NOT_AN_ORDER_NAME", "must begin with orders/")


def _send_scripted(calls: Calls, answer: Answer, *, mode: str = "reflective") -> Pair:
    return calls.both(calls.sent("WatchOrder", {"name": "1"}, mode=mode), answer)


def status_kept(calls: Calls) -> Iterable[Finding]:
    """Every code with every spelling of a message: trailers alone, behind headers, behind messages."""
    for code in range(1, 17):
        text = _MESSAGES[code % len(_MESSAGES)]
        answers = {
            "that is trailers alone": Answer(code, text),
            "behind headers": Answer(code, text, headers_first=True, initial=(("x-early", "1"),)),
            "behind a message": Answer(code, text, messages=(b"\x0a\x01a",)),
            "with details": refusal(code, text, error_info("ANY")),
        }
        for label, answer in answers.items():
            yield from _code_and_message(calls, _send_scripted(calls, answer), label)
    for text in _MESSAGES:
        yield from _code_and_message(calls, _send_scripted(calls, Answer(5, text)), "with a message of any letters")


def _code_and_message(calls: Calls, pair: Pair, label: str) -> Iterator[Finding]:
    for part, expected, actual in differences(pair):
        if part in ("code", "message"):
            sentence = f"The {part} of a refusal {label} is not the upstream's."
            yield calls.finding("SRF-GRP-01", sentence, pair.sent, expected, actual)


def details_kept(calls: Calls) -> Iterable[Finding]:
    """Details of known and unknown kinds, many, twice the same, and none at all."""
    for label, details in _native_details():
        for mode in _MODES:
            pair = _send_scripted(calls, refusal(3, "no", *details), mode=mode)
            yield from _details(calls, pair, label)
    for code, text in ((3, "no"), (7, "not you")):
        pair = _send_scripted(calls, Answer(code, text))
        status = pair.through.status
        if status is not None and (status.code, status.message) != (code, text):
            told = {"code": status.code, "message": status.message}
            sentence = "Where the upstream sends no details, the status in ours says something else than the call."
            yield calls.finding("SRF-GRP-02", sentence, pair.sent, {"code": code, "message": text}, told)


def _native_details() -> Iterator[tuple[str, list[Message]]]:
    odd = any_pb2.Any(type_url="type.example/acme.v1.Unheard", value=b"\x0a\x03abc\xff")
    retry = details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=3))
    help_ = details_pb2.Help(links=[details_pb2.Help.Link(description="d", url="https://shop.example/help")])
    bad = bad_request(_WRONG_FIELD)
    yield "one detail", [bad]
    yield "details of a kind that nobody knows", [odd, bad]
    yield "several details", [help_, error_info("ANY", a="b"), bad, retry, details_pb2.DebugInfo(detail="d")]
    yield "the same detail twice", [bad, bad]


def _details(calls: Calls, pair: Pair, label: str) -> Iterator[Finding]:
    native, whole = pair.direct.status, pair.through.status
    if native is None or pair.direct.code != pair.through.code:
        return  # another check's business
    if whole is None:
        sentence = f"The status of a refusal with {label} is gone, or cannot be read any more."
        yield calls.finding("SRF-GRP-02", sentence, pair.sent, _types(native), None)
        return
    count = len(native.details)
    is_kept = [_bytes(detail) for detail in whole.details[:count]] == [_bytes(detail) for detail in native.details]
    if not is_kept:
        sentence = f"Of a refusal with {label}, the upstream's own do not come first, whole and in their order."
        yield calls.finding("SRF-GRP-02", sentence, pair.sent, _types(native), _types(whole))
    elif (whole.code, whole.message) != (native.code, native.message):
        sentence = f"The status around {label} has another code or message."
        yield calls.finding(
            "SRF-GRP-02", sentence, pair.sent, [native.code, native.message], [whole.code, whole.message]
        )
    elif [detail.type_url.rpartition("/")[2] for detail in whole.details[count:]] not in ([], [OURS]):
        sentence = f"Behind {label} stands something else than one feedback."
        yield calls.finding("SRF-GRP-02", sentence, pair.sent, [*_types(native), OURS], _types(whole))


def _bytes(detail: Any) -> tuple[str, bytes]:
    return detail.type_url, detail.value


def _types(status: Any) -> Json:
    return [f"{detail.type_url} ({len(detail.value)} bytes)" for detail in status.details]


def room_kept(calls: Calls) -> Iterable[Finding]:
    """Native details of every size: little is added, and never past what clients take."""
    for size in _SIZES:
        pair = _send_scripted(calls, _sized(size))
        yield from _room(calls, pair, f"native details of about {size} bytes")
    items = [{"sku": f"unheard-{number}", "quantity": 99} for number in range(40)]
    call = calls.sent("CreateOrder", {"customerEmail": "A@EXAMPLE.COM", "items": items})
    pair = Pair(call, calls.direct.send(call), calls.target.send(call), None, None)
    yield from _room(calls, pair, "some eighty complaints at once")
    with (
        GrpcClient(calls.upstream.address, usual=True) as direct,
        GrpcClient(calls.target.address, usual=True) as target,
    ):
        for size in _USUAL_SIZES:
            call = calls.scripted(calls.sent("WatchOrder", {"name": "1"}), _sized(size))
            plain, result = direct.send(call), target.send(call)
            if plain.code == 3 and result.code != 3:
                sentence = (
                    f"A client with the usual limits loses the status that stands beside details of {size} bytes."
                )
                yield calls.finding(
                    "SRF-GRP-03", sentence, call, named(plain.code), f"{named(result.code)}: {result.message}"
                )


def _sized(size: int) -> Answer:
    filler = [details_pb2.DebugInfo(detail="d" * size)] if size else []
    return refusal(3, "that is no name of an order", bad_request(_WRONG_FIELD), *filler)


def _room(calls: Calls, pair: Pair, label: str) -> Iterator[Finding]:
    native, result = pair.direct, pair.through
    size = _weight(result) - _weight(native) if result.status is not None else 0
    if size > MOST_ADDED:
        sentence = f"Beside {label}, more is added than {MOST_ADDED} bytes."
        yield calls.finding("SRF-GRP-03", sentence, pair.sent, f"<= {MOST_ADDED}", size)
    if native.size > MOST_TRAILERS and result.size > native.size:
        sentence = f"Beside {label} there is no room, and still something is added."
        yield calls.finding("SRF-GRP-03", sentence, pair.sent, native.size, result.size)
    elif native.size <= MOST_TRAILERS < result.size:
        sentence = f"With {label}, the trailers grow past {MOST_TRAILERS} bytes, beyond which clients lose the status."
        yield calls.finding("SRF-GRP-03", sentence, pair.sent, f"<= {MOST_TRAILERS}", result.size)


def _weight(result: GrpcResult) -> int:
    return sum(
        len(detail.SerializeToString()) for detail in (result.status.details if result.status is not None else ())
    )


def unread_refusals_kept(calls: Calls) -> Iterable[Finding]:
    """Details that are no status, or another one's: nothing may be added to them."""
    odd: tuple[tuple[str, Answer], ...] = (
        ("bytes that are no status", Answer(3, "no", ((DETAILS, b"\x0a\xff\xff\xff\x7f"),))),
        ("the status of another code", Answer(3, "no", ((DETAILS, status_bytes(5, "no", error_info("ANY"))),))),
        ("two of them", Answer(3, "no", ((DETAILS, status_bytes(3, "a")), (DETAILS, status_bytes(3, "b"))))),
    )
    for label, answer in odd:
        for mode in _MODES:
            pair = _send_scripted(calls, answer, mode=mode)
            if pair.direct.details != pair.through.details:
                sentence = f"Where grpc-status-details-bin is {label}, it is to pass as it came."
                expected, actual = ([detail.hex() for detail in side.details] for side in (pair.direct, pair.through))
                yield calls.finding("SRF-TRN-02", sentence, pair.sent, expected, actual)


def own_feedback_kept(calls: Calls) -> Iterable[Finding]:
    """If an upstream sends feedback itself, the subject adds none."""
    from corrigible.schema.convert import to_proto
    from corrigible.schema.feedback import parse

    own = to_proto(
        parse(
            {
                "type": "recovery_guidance",
                "message": "The upstream's own words.",
                "recovery": "terminal",
                "suggestions": [{"action": "NO_RECOVERY_AVAILABLE", "parameters": {}}],
            }
        )
    )
    for details in ([own], [bad_request(_WRONG_FIELD), own]):
        pair = _send_scripted(calls, refusal(3, "that is no name of an order", *details))
        native, whole = pair.direct.status, pair.through.status
        if whole is None or [*map(_bytes, whole.details)] != [*map(_bytes, native.details)]:
            sentence = "The upstream sends feedback of its own; it is changed, or another one stands beside it."
            actual = _types(whole) if whole is not None else None
            yield calls.finding("SRF-TRN-07", sentence, pair.sent, _types(native), actual)


_LARGE: Final = 48 << 20
_DEADLINE: Final = 4
_REFUSED: Final = {"customerEmail": "Ada@Example.com", "items": [{"sku": "mug-blue", "quantity": 1}]}


@contextmanager
def _small_calls(calls: Calls) -> Iterator[SmallCalls]:
    """Make small calls all the while, through the subject and straight to the upstream."""
    method = grpc_shop.path("CreateOrder")
    caller = (("authorization", calls.subject.caller()[1]), (PREFERENCE, "verbose"))
    small = GrpcCall(method, (grpc_shop.request(method, _REFUSED),), caller)
    with GrpcClient(calls.target.address) as target, GrpcClient(calls.upstream.address) as direct:
        expected = named(direct.send(small).code)

        def call(noted: SmallCalls) -> None:
            for name, client in (("a small call", target), (STRAIGHT, direct)):
                result = client.send(small, timeout=LONGEST)
                noted.note(name, result.seconds, named(result.code), expected)

        with small_calls(call) as noted:
            yield noted


def others(calls: Calls) -> Iterable[Finding]:
    """Three messages of some kilobytes that unpack to very much: they may be refused, and nobody waits for them."""
    large = b"\x12" + _varint(_LARGE) + b"a" * _LARGE
    call = GrpcCall(grpc_shop.path("CreateOrder"), (large,), compressed=True)
    scripted = calls.scripted(calls.signed(call), Answer(3, "the order cannot be placed"))
    small = calls.sent("ListProducts", {})

    def finding(sentence: str, expected: Json, actual: Json) -> Finding:
        return calls.finding("SRF-TRN-13", sentence, small, expected, actual)

    def measure() -> tuple[SmallCalls, GrpcResult]:
        with _small_calls(calls) as noted:
            return noted, calls.target.send(scripted, timeout=LONGEST)

    for _ in range(3):
        noted, result = at_its_best(measure)
        if result.code == _DEADLINE:
            sentence = "A message that unpacks to 48 MiB has no answer in ten seconds."
            expected = "an answer, or a refusal"
            yield calls.finding("SRF-TRN-13", sentence, GrpcCall(call.method), expected, named(result.code))
        yield from noted.findings("sends a message that unpacks to 48 MiB", finding)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])
