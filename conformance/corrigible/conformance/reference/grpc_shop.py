"""The reference API over gRPC: its messages, its state, and what it refuses.

Knows: shop.proto, google.rpc details. Does not know: grpc, calls, checks, feedback.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from google.protobuf import descriptor_pool, json_format, message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from corrigible.schema.exchange import Json

DESCRIPTORS: Final = Path(__file__).with_name("shop.binpb")
SERVICE: Final = "shop.v1.Shop"
DOMAIN: Final = "shop.example"
PRODUCTS: Final[Mapping[str, int]] = {"tea-green": 450, "tea-black": 400, "mug-blue": 1200}
MOST: Final = 10
"""Of one product in an order."""
_STAFF_CENTS: Final = 100_000
"""A refund from here on is for the staff."""


def _read_pool() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    for file in FileDescriptorSet.FromString(DESCRIPTORS.read_bytes()).file:
        pool.Add(file)
    return pool


POOL: Final = _read_pool()
METHODS: Final[Mapping[str, Any]] = {
    f"/{SERVICE}/{method.name}": method for method in POOL.FindServiceByName(SERVICE).methods
}


def path(name: str) -> str:
    """Return the full name of a method of the shop."""
    return f"/{SERVICE}/{name}"


def request(method: str, document: Json) -> bytes:
    """Return a method's request from proto-JSON. Raises ParseError where it is no such message."""
    return _parse_message(METHODS[method].input_type, document).SerializeToString()


def request_document(method: str, data: bytes) -> Json:
    """Return a method's request as proto-JSON. Raises KeyError for an unknown method, DecodeError for odd bytes."""
    kind: Any = message_factory.GetMessageClass(METHODS[method].input_type)
    return json_format.MessageToDict(kind.FromString(data), descriptor_pool=POOL)


def reply_document(method: str, data: bytes) -> Json:
    """Return a method's reply as proto-JSON."""
    kind: Any = message_factory.GetMessageClass(METHODS[method].output_type)
    return json_format.MessageToDict(kind.FromString(data), descriptor_pool=POOL)


def _parse_message(descriptor: Any, document: Json) -> Message:
    return json_format.ParseDict(document, message_factory.GetMessageClass(descriptor)(), descriptor_pool=POOL)


def _kind(name: str) -> Any:
    return message_factory.GetMessageClass(POOL.FindMessageTypeByName(f"shop.v1.{name}"))


class Refused(Exception):
    """The shop says no."""

    def __init__(self, code: int, message: str, *details: Message) -> None:
        super().__init__(message)
        self.code, self.message, self.details = code, message, details

    @property
    def status(self) -> bytes:
        """The google.rpc.Status that goes into the trailers."""
        return status_bytes(self.code, self.message, *self.details)


def status_bytes(code: int, message: str, *details: Message) -> bytes:
    """Return a google.rpc.Status with these details."""
    status = status_pb2.Status(code=code, message=message)
    for detail in details:
        status.details.add().Pack(detail)
    encoded: bytes = status.SerializeToString()
    return encoded


class Violation(NamedTuple):
    field: str
    reason: str
    description: str


def bad_request(*violations: Violation) -> Message:
    """Return the detail that names fields."""
    made: Message = error_details_pb2.BadRequest(
        field_violations=[
            error_details_pb2.BadRequest.FieldViolation(field=one.field, description=one.description, reason=one.reason)
            for one in violations
        ]
    )
    return made


def error_info(reason: str, **metadata: str) -> Message:
    """Return the detail that gives a reason a program can read."""
    made: Message = error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN, metadata=metadata)
    return made


def _opening() -> dict[str, Any]:
    """Return the orders that every caller finds."""
    order = _kind("Order")
    item = [{"sku": "mug-blue", "quantity": 2}]
    documents: list[dict[str, Json]] = [
        {"name": "orders/1", "version": "3", "totalCents": "3000", "refundedCents": "700"},
        {"name": "orders/2", "version": "9007199254740995", "totalCents": "2400", "refundedCents": "2400"},
    ]
    whole = ({"customerEmail": "ada@example.com", "currency": "EUR", "items": item, **one} for one in documents)
    return {one["name"]: json_format.ParseDict(one, order(), descriptor_pool=POOL) for one in whole}


@dataclass(slots=True)
class Shop:
    """What one caller has."""

    orders: dict[str, Any] = field(default_factory=_opening)

    def call(self, method: str, data: bytes) -> list[bytes]:
        """Return the replies to one message. Raises Refused."""
        name = method.rpartition("/")[2]
        message: Any = message_factory.GetMessageClass(METHODS[method].input_type).FromString(data)
        match name:
            case "CreateOrder" | "NegotiateOrders":
                replies = [self._create(message)]
            case "GetOrder":
                replies = [self._order(message.name, "name")]
            case "UpdateOrder":
                replies = [self._update(message)]
            case "RefundOrder":
                replies = [self._refund(message)]
            case "ListProducts":
                listed = [_kind("Product")(sku=sku, price_cents=cents) for sku, cents in PRODUCTS.items()]
                replies = [_kind("ListProductsResponse")(products=listed)]
            case "WatchOrder":
                replies = [self._order(message.name, "name")] * 2
            case _:
                raise ValueError(f"{name} takes a stream")
        return [reply.SerializeToString() for reply in replies]

    def imported(self, messages: list[bytes]) -> bytes:
        """Place all orders, or none. Raises Refused."""
        before = dict(self.orders)
        try:
            for data in messages:
                self._create(_kind("Order").FromString(data))
        except Refused:
            self.orders = before
            raise
        summary: bytes = _kind("ImportSummary")(imported=len(messages)).SerializeToString()
        return summary

    def _create(self, order: Any) -> Any:
        if violations := list(_violations(order)):
            raise Refused(3, "the order cannot be placed", bad_request(*violations))
        new_order = _kind("Order")()
        new_order.CopyFrom(order)
        new_order.name = order.name or f"orders/{len(self.orders) + 1}"
        if new_order.name in self.orders:
            raise Refused(6, f"{new_order.name} is there already", error_info("ORDER_EXISTS", order=new_order.name))
        new_order.version, new_order.total_cents = 1, sum(PRODUCTS[item.sku] * item.quantity for item in order.items)
        new_order.ClearField("access_token")
        self.orders[new_order.name] = new_order
        return new_order

    def _order(self, name: str, named_in: str) -> Any:
        if not name.startswith("orders/"):
            violation = Violation(named_in, "NOT_AN_ORDER_NAME", "must begin with orders/")
            raise Refused(3, "that is no name of an order", bad_request(violation))
        if name not in self.orders:
            raise Refused(5, "there is no such order", error_info("ORDER_NOT_FOUND", order=name))
        return self.orders[name]

    def _update(self, order: Any) -> Any:
        stored = self._order(order.name, "name")
        if order.version != stored.version:
            raise Refused(10, "the order has changed meanwhile", error_info("STALE_VERSION", order=order.name))
        if violations := list(_violations(order)):
            raise Refused(3, "the order cannot be changed", bad_request(*violations))
        new_order = _kind("Order")()
        new_order.CopyFrom(order)
        new_order.version = stored.version + 1
        new_order.ClearField("access_token")
        self.orders[order.name] = new_order
        return new_order

    def _refund(self, refund: Any) -> Any:
        order = self._order(refund.order, "order")
        left = order.total_cents - order.refunded_cents
        if refund.amount_cents >= _STAFF_CENTS:
            raise Refused(7, "only the staff may refund so much", error_info("STAFF_ONLY"))
        if not left:
            raise Refused(9, "nothing is left to refund", error_info("REFUNDED_IN_FULL", order=order.name))
        if refund.amount_cents > left:
            raise Refused(9, "more than is left", error_info("REFUND_TOO_LARGE", order=order.name))
        order.refunded_cents += refund.amount_cents
        return refund


def _violations(order: Any) -> list[Violation]:
    violations = []
    if order.customer_email != order.customer_email.lower():
        violations.append(Violation("customer_email", "EMAIL_NOT_LOWER", "must be in lower case"))
    if not order.currency:
        violations.append(Violation("currency", "CURRENCY_MISSING", "must be given"))
    if not order.items:
        violations.append(Violation("items", "NO_ITEMS", "must not be empty"))
    for index, item in enumerate(order.items):
        if item.sku not in PRODUCTS:
            violations.append(Violation(f"items[{index}].sku", "UNKNOWN_PRODUCT", "there is no such product"))
        if not 1 <= item.quantity <= MOST:
            violations.append(Violation(f"items[{index}].quantity", "QUANTITY_OUT_OF_RANGE", f"must be 1 to {MOST}"))
    return violations
