"""Calls that the shop refuses, and the outcome that each allows.

Knows: the reference API over gRPC. Does not know: what any proxy makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from google.protobuf import json_format

from corrigible.conformance.reference import grpc_shop
from corrigible.conformance.transport.grpc import GrpcCall, GrpcResult
from corrigible.schema.exchange import Json
from corrigible.schema.reader import Next

from .call import Calls

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


_ITEM: Final = {"sku": "mug-blue", "quantity": 2}
_GOOD: Final = {"customerEmail": "ada@example.com", "currency": "EUR", "items": [_ITEM]}

CASES: Final = (
    Case("a misspelt product", "CreateOrder", {**_GOOD, "items": [_ITEM, {"sku": "tea-gren", "quantity": 1}]}),
    Case("too many of a product", "CreateOrder", {**_GOOD, "items": [{**_ITEM, "quantity": 50}]}, flagged=True),
    Case("capital letters in an address", "CreateOrder", {**_GOOD, "customerEmail": "Ada@Example.com"}),
    Case(
        "three mistakes at once",
        "CreateOrder",
        {
            **_GOOD,
            "customerEmail": "Ada@Example.com",
            "items": [{**_ITEM, "quantity": 99}, {"sku": "tea-gren", "quantity": 1}],
        },
        flagged=True,
        errors=3,
    ),
    Case(
        "two mistakes, one of which only the caller can mend",
        "CreateOrder",
        {"customerEmail": "Ada@Example.com", "items": [_ITEM]},
        errors=2,
        unanswerable=frozenset({"CURRENCY_MISSING"}),
    ),
    Case("no currency", "CreateOrder", {"items": [_ITEM]}, leads="ask"),
    Case("a name that is taken", "CreateOrder", {**_GOOD, "name": "orders/1"}, leads="anything"),
    Case("a version that is stale", "UpdateOrder", {**_GOOD, "name": "orders/1", "version": "2"}, flagged=True),
    Case(
        "a version that is off by one, beyond what a double holds",
        "UpdateOrder",
        {**_GOOD, "name": "orders/2", "version": "9007199254740996"},
        flagged=True,
    ),
    Case("a refund that is too large", "RefundOrder", {"order": "orders/1", "amountCents": "9000"}, flagged=True),
    Case("nothing left to refund", "RefundOrder", {"order": "orders/2", "amountCents": "1"}, leads="terminal"),
    Case("a refund for the staff", "RefundOrder", {"order": "orders/1", "amountCents": "200000"}, leads="terminal"),
    Case("a bare number as a name", "WatchOrder", {"name": "1"}),
    Case("a misspelt product in a stream", "ImportOrders", {**_GOOD, "items": [{"sku": "mug-bleu", "quantity": 1}]}),
    Case("too many in a dialogue", "NegotiateOrders", {**_GOOD, "items": [{**_ITEM, "quantity": 11}]}, flagged=True),
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
