"""Makes calls for the checks of the profile grpc: directly to the suite's upstream, and through the subject.

Knows: the two ends, what a caller asks for. Does not know: what any check wants to hear.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

import grpc

from corrigible.conformance.model.outcome import CouldNotTell
from corrigible.conformance.reference import grpc_shop
from corrigible.conformance.reference.grpc_upstream import Answer, Answering, GrpcUpstream, Received
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.grpc import GrpcCall, GrpcClient, GrpcResult, Metadata
from corrigible.conformance.transport.http1 import CASE
from corrigible.conformance.validators.finding import ABSENT, Absent, Finding
from corrigible.schema.exchange import Json

from .trace import grpcurl, noting

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
