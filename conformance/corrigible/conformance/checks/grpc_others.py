"""Check: what is packed small and is large stops nobody else, over gRPC as well (SRF-TRN-13)."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from ..check import Finding
from ..grpc_wire import GrpcSent, GrpcWire
from ..reference import grpc_shop
from ..reference.grpc_upstream import Answer
from ..subject import Subject
from .grpc_call import PREFERENCE, Calls, calling, named

MOST: Final = 1.0
"""Seconds that a small call may take at the worst, beyond what it takes without the subject."""
LONGEST: Final = 10.0
_LARGE: Final = 48 << 20
_DEADLINE: Final = 4
_REFUSED: Final = {"customerEmail": "Ada@Example.com", "items": [{"sku": "mug-blue", "quantity": 1}]}


@dataclass(slots=True)
class _Worst:
    seconds: dict[str, float] = field(default_factory=dict)
    codes: dict[str, set[int]] = field(default_factory=dict)


@contextmanager
def _others(subject: Subject, calls: Calls) -> Iterator[_Worst]:
    """Let somebody make small calls all the while, through the subject and straight to the upstream."""
    worst, over = _Worst(), threading.Event()
    method = grpc_shop.path("CreateOrder")
    message = grpc_shop.request(method, _REFUSED)
    who = (("authorization", subject.caller()[1]), (PREFERENCE, "verbose"))
    sent = GrpcSent(method, (message,), who)

    def call() -> None:
        with GrpcWire(calls.target.address) as target, GrpcWire(calls.upstream.address) as direct:
            while not over.is_set():
                for name, wire in (("through", target), ("straight", direct)):
                    got = wire.send(sent, timeout=LONGEST)
                    worst.seconds[name] = max(worst.seconds.get(name, 0.0), got.seconds)
                    worst.codes.setdefault(name, set()).add(got.code)
                over.wait(0.01)

    thread = threading.Thread(target=call, name="others", daemon=True)
    thread.start()
    try:
        yield worst
    finally:
        over.set()
        thread.join(2 * LONGEST)


def bombs_stop_nobody(subject: Subject) -> Iterable[Finding]:
    """Three messages of some kilobytes that unpack to very much: they may be refused, and nobody waits for them."""
    large = b"\x12" + _varint(_LARGE) + b"a" * _LARGE
    with calling(subject) as calls:
        sent = GrpcSent(grpc_shop.path("CreateOrder"), (large,), compressed=True)
        scripted = calls.scripted(calls.signed(sent), Answer(3, "the order cannot be placed"))
        for _ in range(3):
            with _others(subject, calls) as worst:
                got = calls.target.send(scripted, timeout=LONGEST)
            if got.code == _DEADLINE:
                said = "A message that unpacks to 48 MiB has no answer in ten seconds."
                yield calls.finding(
                    "SRF-TRN-13", said, GrpcSent(sent.method), "an answer, or a refusal", named(got.code)
                )
            yield from _held_up(calls, worst)


def _held_up(calls: Calls, worst: _Worst) -> Iterator[Finding]:
    small = calls.sent("ListProducts", {})
    took, aside = worst.seconds.get("through", 0.0), worst.seconds.get("straight", 0.0)
    if worst.codes.get("through") != worst.codes.get("straight"):
        said = "While somebody sends a message that unpacks to 48 MiB, small calls of others end otherwise."
        codes = [named(code) for code in sorted(worst.codes.get("through", ()))]
        yield calls.finding(
            "SRF-TRN-13", said, small, [named(c) for c in sorted(worst.codes.get("straight", ()))], codes
        )
    if took - aside > MOST:
        said = f"While somebody sends a message that unpacks to 48 MiB, a small call takes others {took:.1f} s."
        yield calls.finding("SRF-TRN-13", said, small, f"{MOST:g} s more than {aside:.2f} s", f"{took:.2f} s")


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])
