"""Check: what is packed small and is large stops nobody else, over gRPC as well (SRF-TRN-13)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from corrigible.conformance.checks.support.worst import LONGEST, STRAIGHT, Worst
from corrigible.conformance.model.background import repeated_beside
from corrigible.conformance.reference import grpc_shop
from corrigible.conformance.reference.grpc_upstream import Answer
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.grpc import GrpcCall, GrpcClient
from corrigible.conformance.validators.finding import Finding

from .call import PREFERENCE, Calls, calling, named

_LARGE: Final = 48 << 20
_DEADLINE: Final = 4
_THROUGH: Final = "through"
_REFUSED: Final = {"customerEmail": "Ada@Example.com", "items": [{"sku": "mug-blue", "quantity": 1}]}


@dataclass(slots=True)
class _Codes(Worst):
    """The slowest small calls, and how they ended."""

    codes: dict[str, set[int]] = field(default_factory=dict)


@contextmanager
def _others(subject: Subject, calls: Calls) -> Iterator[_Codes]:
    """Let somebody make small calls all the while, through the subject and straight to the upstream."""
    worst = _Codes()
    method = grpc_shop.path("CreateOrder")
    message = grpc_shop.request(method, _REFUSED)
    who = (("authorization", subject.caller()[1]), (PREFERENCE, "verbose"))
    sent = GrpcCall(method, (message,), who)

    with GrpcClient(calls.target.address) as target, GrpcClient(calls.upstream.address) as direct:

        def call() -> None:
            for name, wire in ((_THROUGH, target), (STRAIGHT, direct)):
                got = wire.send(sent, timeout=LONGEST)
                worst.note(name, got.seconds)
                worst.codes.setdefault(name, set()).add(got.code)

        with repeated_beside(call, every=0.01, patience=2 * LONGEST, name="others"):
            yield worst


def bombs_stop_nobody(subject: Subject) -> Iterable[Finding]:
    """Three messages of some kilobytes that unpack to very much: they may be refused, and nobody waits for them."""
    large = b"\x12" + _varint(_LARGE) + b"a" * _LARGE
    with calling(subject) as calls:
        sent = GrpcCall(grpc_shop.path("CreateOrder"), (large,), compressed=True)
        scripted = calls.scripted(calls.signed(sent), Answer(3, "the order cannot be placed"))
        for _ in range(3):
            with _others(subject, calls) as worst:
                got = calls.target.send(scripted, timeout=LONGEST)
            if got.code == _DEADLINE:
                said = "A message that unpacks to 48 MiB has no answer in ten seconds."
                yield calls.finding(
                    "SRF-TRN-13", said, GrpcCall(sent.method), "an answer, or a refusal", named(got.code)
                )
            yield from _held_up(calls, worst)


def _held_up(calls: Calls, worst: _Codes) -> Iterator[Finding]:
    small = calls.sent("ListProducts", {})
    through, straight = (sorted(worst.codes.get(name, ())) for name in (_THROUGH, STRAIGHT))
    if through != straight:
        said = "While somebody sends a message that unpacks to 48 MiB, small calls of others end otherwise."
        yield calls.finding("SRF-TRN-13", said, small, list(map(named, straight)), list(map(named, through)))
    for _, took in worst.late():
        said = f"While somebody sends a message that unpacks to 48 MiB, a small call takes others {took:.1f} s."
        yield calls.finding("SRF-TRN-13", said, small, worst.allowed, f"{took:.2f} s")


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])
