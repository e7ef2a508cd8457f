"""Checks: the upstream's status and details are unchanged, and the feedback stays within the size limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import Message
from google.rpc import error_details_pb2 as details_pb2

from corrigible.conformance.reference.grpc_shop import Violation, bad_request, error_info, status_bytes
from corrigible.conformance.reference.grpc_upstream import Answer, refusal
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.grpc import DETAILS, OURS, GrpcClient, GrpcResult
from corrigible.conformance.validators.finding import Finding
from corrigible.schema.exchange import Json

from .call import Calls, Pair, calling, differences, named

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


def status_kept(subject: Subject) -> Iterable[Finding]:
    """Every code with every spelling of a message: trailers alone, behind headers, behind messages."""
    with calling(subject) as calls:
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


def details_kept(subject: Subject) -> Iterable[Finding]:
    """Details of known and unknown kinds, many, twice the same, and none at all."""
    with calling(subject) as calls:
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


def room_kept(subject: Subject) -> Iterable[Finding]:
    """Native details of every size: little is added, and never past what clients take."""
    with calling(subject) as calls:
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


def unread_refusals_kept(subject: Subject) -> Iterable[Finding]:
    """Details that are no status, or another one's: nothing may be added to them."""
    odd: tuple[tuple[str, Answer], ...] = (
        ("bytes that are no status", Answer(3, "no", ((DETAILS, b"\x0a\xff\xff\xff\x7f"),))),
        ("the status of another code", Answer(3, "no", ((DETAILS, status_bytes(5, "no", error_info("ANY"))),))),
        ("two of them", Answer(3, "no", ((DETAILS, status_bytes(3, "a")), (DETAILS, status_bytes(3, "b"))))),
    )
    with calling(subject) as calls:
        for label, answer in odd:
            for mode in _MODES:
                pair = _send_scripted(calls, answer, mode=mode)
                if pair.direct.details != pair.through.details:
                    sentence = f"Where grpc-status-details-bin is {label}, it is to pass as it came."
                    expected, actual = (
                        [detail.hex() for detail in side.details] for side in (pair.direct, pair.through)
                    )
                    yield calls.finding("SRF-TRN-02", sentence, pair.sent, expected, actual)


def own_feedback_kept(subject: Subject) -> Iterable[Finding]:
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
    with calling(subject) as calls:
        for details in ([own], [bad_request(_WRONG_FIELD), own]):
            pair = _send_scripted(calls, refusal(3, "that is no name of an order", *details))
            native, whole = pair.direct.status, pair.through.status
            if whole is None or [*map(_bytes, whole.details)] != [*map(_bytes, native.details)]:
                sentence = "The upstream sends feedback of its own; it is changed, or another one stands beside it."
                actual = _types(whole) if whole is not None else None
                yield calls.finding("SRF-TRN-07", sentence, pair.sent, _types(native), actual)
