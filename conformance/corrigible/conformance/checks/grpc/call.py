"""Makes calls for the checks of the profile grpc, directly and through the subject, and shows them to people.

Calls that the shop refuses are here with the outcome that each allows. Messages are proto-JSON if the shop knows them,
else hexadecimal. Knows: the two ends, the reference API over gRPC. Does not know: what any check wants to hear.
"""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import grpc
from google.protobuf import json_format
from google.protobuf.message import DecodeError

from corrigible.conformance.checks.support.exchange import of_reference
from corrigible.conformance.model.outcome import CouldNotTell
from corrigible.conformance.reference import grpc_shop
from corrigible.conformance.reference.grpc_upstream import Answer, Answering, GrpcUpstream, Received
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.grpc import GrpcCall, GrpcClient, GrpcResult, Metadata
from corrigible.conformance.transport.http1 import CASE
from corrigible.conformance.validators.finding import ABSENT, Absent, Finding
from corrigible.schema.exchange import Json, Request
from corrigible.schema.reader import Next

_NOT_IN_DOCUMENTS: Final = frozenset(
    {"authorization", "cookie", "proxy-authorization", "recovery-feedback", "recovery-feedback-caller", CASE}
)
_SHOWN: Final = 256
_MOST: Final = 10
"""Messages of one stream that are shown."""


def noting(subject: Subject, who: str) -> Callable[[GrpcCall, GrpcResult], None]:
    """Return what writes a call into the trace of a check."""
    return lambda sent, result: subject.note(who, exchange_text(sent, result))


def exchange_text(call: GrpcCall, result: GrpcResult) -> str:
    """Return a call and how it ended."""
    lines = [f"> {call.method}", *_metadata(call.metadata, "> ")]
    lines += _messages(call.method, call.messages, grpc_shop.request_document)
    lines += ["", *_metadata(result.initial, "< ")]
    lines += _messages(call.method, result.messages, grpc_shop.reply_document)
    lines += [f"< grpc-status: {result.code}", f"< grpc-message: {result.message}", *_metadata(result.trailing, "< ")]
    if result.feedback is not None:
        lines += ["", f"feedback: {json.dumps(result.feedback, indent=2, ensure_ascii=False, default=str)}"]
    return "\n".join(lines)


def _metadata(metadata: Metadata, mark: str) -> list[str]:
    return [f"{mark}{key}: {_bytes(value) if isinstance(value, bytes) else value}" for key, value in metadata]


def _messages(method: str, messages: tuple[bytes, ...], read: Callable[[str, bytes], Json]) -> list[str]:
    lines = []
    for message in messages[:_MOST]:
        try:
            lines.append(json.dumps(read(method, message), ensure_ascii=False))
        except (KeyError, ValueError, DecodeError):
            lines.append(_bytes(message))
    return [*lines, f"... {len(messages) - _MOST} messages more"] if len(messages) > _MOST else lines


def _bytes(value: bytes) -> str:
    return f"({len(value)} bytes) {value[:_SHOWN].hex(' ')}"


def request_document(call: GrpcCall) -> Request:
    """Return the request document of section 2.2 of the contract for what was sent."""
    headers = {key: value for key, value in call.metadata if isinstance(value, str) and key not in _NOT_IN_DOCUMENTS}
    body = grpc_shop.request_document(call.method, call.messages[0]) if len(call.messages) == 1 else None
    return Request(call.method, "", headers=headers, body=body)


def grpcurl(address: str, call: GrpcCall) -> str:
    """Return the command line that makes this call again."""
    words = ["grpcurl", "-plaintext"]
    for key, value in call.metadata:
        words += ["-H", f"{key}: {base64.b64encode(value).decode() if isinstance(value, bytes) else value}"]
    if call.method in grpc_shop.METHODS:
        words += ["-protoset", str(grpc_shop.DESCRIPTORS)]
        try:
            messages = [json.dumps(grpc_shop.request_document(call.method, message)) for message in call.messages]
        except DecodeError:
            messages = []
        words += ["-d", " ".join(messages)]
    return shlex.join([*words, address, call.method.lstrip("/")])


PREFERENCE: Final = "recovery-feedback"
_TIMEOUT: Final = 5.0
_NAMES: Final = {code.value[0]: code.name for code in grpc.StatusCode}


class Pair(NamedTuple):
    """One call answered twice."""

    sent: GrpcCall
    direct: GrpcResult
    through: GrpcResult
    direct_received: Received | None
    """What the upstream got directly."""
    received: Received | None
    """What it got from the subject."""


class Calls:
    """The two ways to call, open."""

    def __init__(self, subject: Subject, upstream: GrpcUpstream, direct: GrpcClient, target: GrpcClient) -> None:
        self.subject, self.upstream, self.direct, self.target = subject, upstream, direct, target

    def sent(self, name: str, *documents: Json, mode: str | None = "reflective", metadata: Metadata = ()) -> GrpcCall:
        """Return a call of the shop by somebody new. `mode` None asks for nothing in particular."""
        method = grpc_shop.path(name)
        messages = tuple(grpc_shop.request(method, document) for document in documents)
        return self.signed(GrpcCall(method, messages, metadata), mode=mode)

    def signed(self, call: GrpcCall, *, mode: str | None = "reflective") -> GrpcCall:
        preference = ((PREFERENCE, mode),) if mode is not None else ()
        return call.adding(("authorization", self.subject.caller()[1]), *preference)

    def through(self, call: GrpcCall, answer: Answer | Answering | None = None, *, timeout: float = 10.0) -> GrpcResult:
        """Call through the subject; the upstream answers as told, or as the shop."""
        if answer is not None:
            call = self.scripted(call, answer)
        return self.target.send(call, timeout=timeout)

    def both(self, call: GrpcCall, answer: Answer | Answering) -> Pair:
        """Make the same call straight to the upstream and through the subject."""
        call = self.scripted(call, answer)
        case = str(call.value(CASE))
        direct = self.direct.send(call)
        before = self.upstream.received(case)
        through = self.target.send(call)
        after = self.upstream.received(case)[len(before) :]
        return Pair(call, direct, through, before[0] if before else None, after[0] if after else None)

    def scripted(self, call: GrpcCall, answer: Answer | Answering) -> GrpcCall:
        """Return the call under a fresh case that is answered so, and whatever else is asked in its caller's name."""
        case = self.subject.case()
        self.upstream.script(case, answer)
        self.upstream.script(str(call.value("authorization")), answer)
        return call.adding((CASE, case))

    def finding(
        self,
        requirement: str,
        sentence: str,
        call: GrpcCall,
        expected: Json | Absent = ABSENT,
        actual: Json | Absent = ABSENT,
    ) -> Finding:
        """Return a finding with the line that makes the call again."""
        return Finding(requirement, sentence, expected, actual, line=grpcurl(self.target.address, call))


@contextmanager
def calling(subject: Subject) -> Iterator[Calls]:
    """Open the two ways. Raises CouldNotTell where one of them is not there."""
    if subject.grpc is None:
        raise CouldNotTell("the subject has no gRPC address: give --grpc HOST:PORT")
    upstream = subject.grpc_upstream
    if not isinstance(upstream, GrpcUpstream):
        raise CouldNotTell("the suite is not behind this subject: the role proxy needs its own gRPC upstream")
    with (
        GrpcClient(upstream.address, listener=noting(subject, "straight to the upstream")) as direct,
        GrpcClient(subject.grpc, listener=noting(subject, "to the subject")) as target,
    ):
        if not target.reachable(_TIMEOUT):
            raise CouldNotTell(f"nobody answers at {subject.grpc}")
        yield Calls(subject, upstream, direct, target)


def named(code: int) -> str:
    """Return the name of a code."""
    return _NAMES.get(code, str(code))


def shown(metadata: Metadata) -> Json:
    """Return metadata as JSON that a person compares: bytes in hexadecimal."""
    return [[key, value.hex() if isinstance(value, bytes) else value] for key, value in metadata]


def shown_messages(messages: tuple[bytes, ...]) -> Json:
    return [f"{len(message)} bytes {message[:32].hex()}" for message in messages]


def differences(pair: Pair) -> Iterator[tuple[str, Json, Json]]:
    """Yield what of an answer is not the upstream's, in words, with both sides."""
    direct, through = pair.direct, pair.through
    if direct.code != through.code:
        yield "code", named(direct.code), named(through.code)
    if direct.message != through.message:
        yield "message", direct.message, through.message
    if direct.messages != through.messages:
        yield "messages", shown_messages(direct.messages), shown_messages(through.messages)
    if direct.initial != through.initial:
        yield "headers (initial metadata)", shown(direct.initial), shown(through.initial)
    if direct.others != through.others:
        yield "trailing metadata", shown(direct.others), shown(through.others)
    if direct.details != through.details:
        yield "grpc-status-details-bin", [d.hex() for d in direct.details], [d.hex() for d in through.details]


Leads = Literal["next", "terminal", "ask", "anything"]


@dataclass(frozen=True, slots=True)
class Case:
    """One call that the shop refuses."""

    title: str
    method: str
    document: Json
    leads: Leads = "next"
    flagged: bool = False
    """What mends it is not what was asked for."""
    errors: int = 1
    """How many complaints the shop has."""
    unanswerable: frozenset[str] = frozenset()
    """Reasons of complaints that only the caller can answer."""


CASES: Final = tuple(
    Case(**{**entry, "unanswerable": frozenset(entry.get("unanswerable", ()))})
    for entry in of_reference("grpc_provocations")
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A case, made as somebody new."""

    case: Case
    sent: GrpcCall
    got: GrpcResult


def tried(calls: Calls) -> Iterator[Attempt]:
    """Make every call through the subject, as the caller of a fresh shop."""
    for case in CASES:
        call = calls.sent(case.method, case.document)
        yield Attempt(case, call, calls.through(call))


def reasons(result: GrpcResult) -> frozenset[str]:
    """Return the shop's words for what is wrong."""
    from google.rpc import error_details_pb2 as known

    found_reasons = set[str]()
    for detail in result.status.details if result.status is not None else ():
        if detail.Is(known.BadRequest.DESCRIPTOR):
            found_reasons |= {
                violation.reason for violation in known.BadRequest.FromString(detail.value).field_violations
            }
        elif detail.Is(known.ErrorInfo.DESCRIPTOR):
            found_reasons.add(known.ErrorInfo.FromString(detail.value).reason)
    return frozenset(found_reasons)


def following(call: GrpcCall, next_request: Next) -> GrpcCall:
    """Return the call that a reader makes next. Raises ParseError where it is none of the shop's."""
    method = (
        next_request.request.method
        if next_request.request.method.startswith("/")
        else f"/{next_request.request.method}"
    )
    if method not in grpc_shop.METHODS:
        raise json_format.ParseError(f"{method} is no method of the shop")
    return GrpcCall(method, (grpc_shop.request(method, next_request.request.body or {}),), call.metadata)
