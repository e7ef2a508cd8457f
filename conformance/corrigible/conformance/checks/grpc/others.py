"""Check: a small message that decompresses to a very large one delays no other call (SRF-TRN-13)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from corrigible.conformance.checks.support.small_calls import LONGEST, STRAIGHT, SmallCalls, at_its_best, small_calls
from corrigible.conformance.reference import grpc_shop
from corrigible.conformance.reference.grpc_upstream import Answer
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.grpc import GrpcCall, GrpcClient, GrpcResult
from corrigible.conformance.validators.finding import Finding
from corrigible.schema.exchange import Json

from .call import PREFERENCE, Calls, calling, named

_LARGE: Final = 48 << 20
_DEADLINE: Final = 4
_REFUSED: Final = {"customerEmail": "Ada@Example.com", "items": [{"sku": "mug-blue", "quantity": 1}]}


@contextmanager
def _small_calls(subject: Subject, calls: Calls) -> Iterator[SmallCalls]:
    """Make small calls all the while, through the subject and straight to the upstream."""
    method = grpc_shop.path("CreateOrder")
    caller = (("authorization", subject.caller()[1]), (PREFERENCE, "verbose"))
    small = GrpcCall(method, (grpc_shop.request(method, _REFUSED),), caller)
    with GrpcClient(calls.target.address) as target, GrpcClient(calls.upstream.address) as direct:
        expected = named(direct.send(small).code)

        def call(noted: SmallCalls) -> None:
            for name, client in (("a small call", target), (STRAIGHT, direct)):
                result = client.send(small, timeout=LONGEST)
                noted.note(name, result.seconds, named(result.code), expected)

        with small_calls(call) as noted:
            yield noted


def others(subject: Subject) -> Iterable[Finding]:
    """Three messages of some kilobytes that unpack to very much: they may be refused, and nobody waits for them."""
    large = b"\x12" + _varint(_LARGE) + b"a" * _LARGE
    with calling(subject) as calls:
        call = GrpcCall(grpc_shop.path("CreateOrder"), (large,), compressed=True)
        scripted = calls.scripted(calls.signed(call), Answer(3, "the order cannot be placed"))
        small = calls.sent("ListProducts", {})

        def finding(sentence: str, expected: Json, actual: Json) -> Finding:
            return calls.finding("SRF-TRN-13", sentence, small, expected, actual)

        def measure() -> tuple[SmallCalls, GrpcResult]:
            with _small_calls(subject, calls) as noted:
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
