"""Checks: calls of all four kinds, their metadata, deadlines and cancellation pass unchanged in both directions."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

import grpc

from corrigible.conformance.model.background import awaited, pause
from corrigible.conformance.reference.grpc_shop import SERVICE, Violation, bad_request, error_info
from corrigible.conformance.reference.grpc_upstream import HEALTH, REFLECTION, Answer, refusal
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.grpc import GrpcCall, GrpcResult, Metadata
from corrigible.conformance.transport.http1 import CASE
from corrigible.conformance.validators.finding import ABSENT, Finding

from .call import PREFERENCE, Calls, calling, differences, named, shown, shown_messages

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


def successes_kept(subject: Subject) -> Iterable[Finding]:
    """All four kinds, with metadata; nothing, little and much; compressed."""
    with calling(subject) as calls:
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
                yield calls.finding(
                    "SRF-TRN-01", f"Of {label} that went well, the {part} changed.", sent, expected, actual
                )


def _replies(count: int) -> tuple[bytes, ...]:
    return tuple(b"\x0a" + bytes([n % 100]) + b"r" * (n % 100) for n in range(count))


def feedback_only_on_refusals(subject: Subject) -> Iterable[Finding]:
    """A call that went well says nothing about recovery."""
    with calling(subject) as calls:
        result = calls.through(call := calls.sent("CreateOrder", _ORDER))
        if result.code == 0 and result.details:
            sentence = "A call that went well has feedback in its trailers."
            yield calls.finding("SRF-COR-07", sentence, call, [], [detail.hex() for detail in result.details])


def every_kind(subject: Subject) -> Iterable[Finding]:
    """Refusals of all four kinds: at once, behind headers, behind messages, while the caller still sends."""
    with calling(subject) as calls:
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


def unlisted_pass(subject: Subject) -> Iterable[Finding]:
    """Services that no description mentions: the upstream's are served, and only it says what it has not."""
    with calling(subject) as calls:
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


def metadata_kept(subject: Subject) -> Iterable[Finding]:
    """Names, values, bytes, repetition and order, in headers and trailers of refusals."""
    with calling(subject) as calls:
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


def requests_kept(subject: Subject) -> Iterable[Finding]:
    """What reaches the upstream is what was sent, metadata and messages."""
    with calling(subject) as calls:
        for kind, name, there, back in _KINDS:
            call = calls.signed(_kind(name, there)).adding(*_METADATA)
            pair = calls.both(call, Answer(messages=_replies(back)))
            if pair.received is None or pair.direct_received is None:
                yield calls.finding(
                    "SRF-TRN-12", f"A {kind} call never reached the upstream.", call, "the call", ABSENT
                )
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


def preference_forwarded(subject: Subject) -> Iterable[Finding]:
    """What a caller asks for reaches the upstream, which may write feedback itself."""
    with calling(subject) as calls:
        for mode in ("none", "verbose", "reflective"):
            call = calls.scripted(calls.sent("CreateOrder", _ORDER, mode=mode), Answer(messages=(b"",)))
            calls.target.send(call)
            received = calls.upstream.received(str(call.value(CASE)))
            value = received[0].value(PREFERENCE) if received else None
            if value != mode:
                sentence = f"The metadata {PREFERENCE}: {mode} of the caller does not reach the upstream."
                yield calls.finding("SRF-NEG-04", sentence, call, mode, value)


def streams_flow(subject: Subject) -> Iterable[Finding]:
    """A message is passed on when it comes, not when the stream ends."""
    with calling(subject) as calls:
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


def deadlines_pass(subject: Subject) -> Iterable[Finding]:
    """The upstream knows how long the caller waits, and hears when that is over."""
    with calling(subject) as calls:
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


def cancellation_passes(subject: Subject) -> Iterable[Finding]:
    """The upstream hears that a caller gave up."""
    with calling(subject) as calls:
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


def health_and_reflection(subject: Subject) -> Iterable[Finding]:
    """What tools ask a server first is answered by the upstream."""
    from grpc_reflection.v1alpha import reflection_pb2 as asked

    listing = asked.ServerReflectionRequest(list_services="").SerializeToString()
    by_name = asked.ServerReflectionRequest(file_containing_symbol=SERVICE).SerializeToString()
    tried = (
        ("health", GrpcCall(HEALTH, (b"",))),
        ("the health of a service that is not there", GrpcCall(HEALTH, (b"\x0a\x04nope",))),
        ("reflection", GrpcCall(REFLECTION, (listing, by_name))),
    )
    with calling(subject) as calls:
        for label, sent in tried:
            sent = calls.signed(sent, mode="none")
            direct, through = calls.direct.send(sent), calls.target.send(sent)
            if _comparable(direct) != _comparable(through):
                sentence = f"Asked for {label}, the subject answers otherwise than the upstream."
                yield calls.finding("SRF-GRP-07", sentence, sent, _comparable(direct), _comparable(through))


def _comparable(result: GrpcResult) -> list[object]:
    return [named(result.code), result.message, shown_messages(result.messages)]
