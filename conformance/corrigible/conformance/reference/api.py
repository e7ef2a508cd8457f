"""The reference API: a small shop that validates, keeps state for each caller, and refuses in two dialects.

`shop(received)` answers what an `Upstream` received. Every caller has a shop of its own, so that checks do not meet.
Knows: its own description and rules. Does not know: feedback, proxies, checks.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

from corrigible.conformance.model.yaml_file import load_yaml
from corrigible.conformance.reference.upstream import Received, Script, answer
from corrigible.conformance.transport.http1 import HttpRequest
from corrigible.conformance.validators.openapi import Breach, Description, Route
from corrigible.schema.exchange import Json

HERE: Final = Path(__file__).parent
SPEC: Final = HERE / "openapi.yaml"
PACK: Final = HERE / "pack"
PROBLEM: Final = "/problem"
"""Below this path refusals are problem documents."""
_MOST_CALLERS: Final = 4096
_APPROVAL_ABOVE: Final = 50_000

DESCRIPTION: Final = Description.load(SPEC)

_SHOP: Final[Mapping[str, Any]] = load_yaml((HERE / "shop.yaml").read_text("utf-8"))
_ITEMS: Final[Mapping[str, Any]] = _SHOP["items"]
_METHODS: Final[Mapping[str, list[str]]] = _SHOP["methods"]


@dataclass(slots=True)
class Stock:
    """What one caller's shop holds."""

    orders: dict[str, dict[str, Json]] = field(
        default_factory=lambda: {
            name: {"id": name, "customer": "cus_ada", "note": "", "gift": False, **deepcopy(order)}
            for name, order in _SHOP["orders"].items()
        }
    )
    refunds: dict[str, dict[str, Json]] = field(default_factory=dict)
    shipments: dict[str, dict[str, Json]] = field(default_factory=dict)
    keys: dict[str, bytes] = field(default_factory=dict)
    """Idempotency keys, and what they came with."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """One fault. `place` is a pointer into the request document."""

    code: str
    message: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Refusal(Exception):
    status: int
    complaints: tuple[Complaint, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One request, read."""

    stock: Stock
    params: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    trial: bool
    """It is only tried: nothing may change."""


class Shop:
    """Shops by caller. Call it with what an upstream received."""

    def __init__(self) -> None:
        self._stocks: OrderedDict[str, Stock] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, received: Received) -> Script:
        status, body, problem = self.respond(received.sent)
        kind = "application/problem+json" if problem and status >= 400 else "application/json"
        return answer(status, body, [("Content-Type", kind)], reason=HTTPStatus(status).phrase)

    def stock(self, caller: str) -> Stock:
        """Return the shop of a caller, as the Authorization header names it."""
        with self._lock:
            if caller not in self._stocks:
                self._stocks[caller] = Stock()
                if len(self._stocks) > _MOST_CALLERS:
                    self._stocks.popitem(last=False)
            return self._stocks[caller]

    def reset(self, caller: str) -> None:
        """Put a caller's shop back to what it was in the beginning."""
        with self._lock:
            self._stocks.pop(caller, None)

    def respond(self, request: HttpRequest) -> tuple[int, Json, bool]:
        """Return status, body, and whether the caller gets problem documents."""
        path, _, query = request.target.partition("?")
        problem = path.startswith(PROBLEM + "/")
        caller = request.header("authorization") or ""
        try:
            status, body = self._served(request, path.removeprefix(PROBLEM) if problem else path, query, caller)
        except Refusal as error:
            status, body = error.status, (_problem if problem else _error)(error)
        return status, body, problem

    def _served(self, request: HttpRequest, path: str, query: str, caller: str) -> tuple[int, Json]:
        route = DESCRIPTION.route(request.method, path)
        if route is None:
            allowed = DESCRIPTION.methods(path)
            if allowed:
                raise _refusal(405, "method_not_allowed", f"{request.method} is not possible here.")
            raise _refusal(404, "route_unknown", "There is nothing at this path.")
        if route.operation == "reset":
            self.reset(caller)
            return 200, {"reset": True}
        pairs = {name: value for name, value in parse_qsl(query, keep_blank_values=True)}
        headers = {name.lower(): value for name, value in request.headers}
        body = _read(request)
        faults = DESCRIPTION.breaches(route, query=pairs, headers=headers, body=body)
        if faults:
            raise Refusal(400, tuple(_complaint(fault) for fault in faults))
        call = Call(self.stock(caller), route.params, pairs, body, pairs.get("dry_run") == "true")
        self._remember(call, headers, request)
        return _OPERATIONS[route.operation](call)

    @staticmethod
    def _remember(call: Call, headers: Mapping[str, str], request: HttpRequest) -> None:
        key = headers.get("idempotency-key")
        if key is None or request.method != "POST":
            return
        if call.stock.keys.get(key, request.body) != request.body:
            raise _refusal(
                409,
                "idempotency_key_reused",
                "This key came with another request before.",
                "/headers/idempotency-key",
            )
        if not call.trial:
            call.stock.keys[key] = request.body


def _read(request: HttpRequest) -> Json:
    if not request.body:
        return None
    try:
        return json.loads(request.body)
    except ValueError:
        raise _refusal(400, "body_unreadable", "The body is no JSON.") from None


def _refusal(status: int, code: str, message: str, place: str = "") -> Refusal:
    return Refusal(status, (Complaint(code, message, place),))


def _complaint(breach: Breach) -> Complaint:
    name = breach.pointer.rpartition("/")[2] or "body"
    return Complaint(
        breach.keyword, f"{name} {_SHOP['messages'].get(breach.keyword, 'is not acceptable')}.", breach.pointer
    )


def _readable_path(pointer: str) -> str:
    """Return a place as people write it: `lines[0].sku`, `labels['desk/name']`."""
    out = ""
    for part in pointer.split("/")[2:]:
        name = part.replace("~1", "/").replace("~0", "~")
        out += f"[{name}]" if name.isdecimal() else f".{name}" if name == part else f"['{name}']"
    return out.lstrip(".")


def _error(refusal: Refusal) -> Json:
    first = refusal.complaints[0]
    if len(refusal.complaints) == 1:
        error: dict[str, Json] = {"code": first.code, "message": first.message}
        return {"error": error | ({"param": _readable_path(first.place)} if first.place else {})}
    listed = [{"code": c.code, "message": c.message, "field": _readable_path(c.place)} for c in refusal.complaints]
    return {"error": {"code": "several_faults", "message": f"{len(listed)} faults.", "errors": listed}}


def _problem(refusal: Refusal) -> Json:
    first = refusal.complaints[0]
    title = first.message if len(refusal.complaints) == 1 else f"{len(refusal.complaints)} faults."
    out: dict[str, Json] = {"type": f"urn:shop:{first.code}", "title": title, "status": refusal.status}
    out["code"] = first.code
    listed: list[Json] = []
    for complaint in refusal.complaints:
        entry: dict[str, Json] = {"code": complaint.code, "detail": complaint.message}
        part, _, name = complaint.place.removeprefix("/").partition("/")
        if part == "body":
            entry["pointer"] = "#" + complaint.place.removeprefix("/body")
        elif part in ("query", "headers"):
            entry |= {"in": part.removesuffix("s"), "name": name}
        listed.append(entry)
    if any(complaint.place for complaint in refusal.complaints):
        out["errors"] = listed
    return out


def _list_items(call: Call) -> tuple[int, Json]:
    wanted_category = call.query.get("category")
    return 200, {"data": [item for item in _ITEMS.values() if wanted_category in (None, item["category"])]}


def _get_item(call: Call) -> tuple[int, Json]:
    item = _ITEMS.get(call.params["item"])
    if item is None:
        raise _refusal(404, "item_unknown", "There is no such item.")
    return 200, item


def _list_methods(call: Call) -> tuple[int, Json]:
    country = call.query.get("country")
    return 200, {"data": [{"name": n, "country": c} for c, m in _METHODS.items() if country in (None, c) for n in m]}


def _list_orders(call: Call) -> tuple[int, Json]:
    wanted_status = call.query.get("status")
    orders = [order for order in call.stock.orders.values() if wanted_status in (None, order["status"])]
    return 200, {"data": orders[: int(call.query.get("limit", "20"))]}


def _search_orders(call: Call) -> tuple[int, Json]:
    return 200, {"data": [order for order in call.stock.orders.values() if _holds(call.body["where"], order)]}


def _holds(condition: Any, order: Mapping[str, Json]) -> bool:
    if "all" in condition:
        return all(_holds(part, order) for part in condition["all"])
    if "any" in condition:
        return any(_holds(part, order) for part in condition["any"])
    return bool(order.get(condition["field"]) == condition["is"])


def _order(call: Call, name: str) -> dict[str, Json]:
    order = call.stock.orders.get(name)
    if order is None:
        raise _refusal(404, "order_unknown", "There is no such order.")
    return order


def _get_order(call: Call) -> tuple[int, Json]:
    return 200, _order(call, unquote(call.params["order"]))


def _create_order(call: Call) -> tuple[int, Json]:
    faults = list(_line_faults(call.body["lines"]))
    shipping = call.body.get("shipping")
    if shipping is not None and shipping["method"] not in _METHODS[shipping["country"]]:
        sentence = "This way of shipping is not possible there."
        faults.append(Complaint("shipping_method_unavailable", sentence, "/body/shipping/method"))
    if faults:
        raise Refusal(422, tuple(faults))
    total = sum(_ITEMS[line["sku"]]["price"] * line["quantity"] for line in call.body["lines"])
    order = {**call.body, "id": f"ord_{len(call.stock.orders) + 1}", "status": "draft", "total": total}
    order |= {"refunded": 0, "version": 1}
    order.pop("payment", None)
    if not call.trial:
        call.stock.orders[order["id"]] = order
    return 201, order


def _line_faults(lines: list[dict[str, Json]]) -> list[Complaint]:
    out = []
    for index, line in enumerate(lines):
        item = _ITEMS.get(line["sku"])
        if item is None:
            out.append(Complaint("sku_unknown", "There is no such item.", f"/body/lines/{index}/sku"))
        elif line["quantity"] > item["stock"]:
            left = item["stock"]
            sentence = f"Only {left} are in stock." if left else "None is in stock."
            out.append(Complaint("out_of_stock", sentence, f"/body/lines/{index}/quantity"))
    return out


def _update_order(call: Call) -> tuple[int, Json]:
    order = _order(call, unquote(call.params["order"]))
    if call.body["version"] != order["version"]:
        raise _refusal(409, "version_conflict", "The order has changed since that version.", "/body/version")
    changed = {**order, **call.body, "version": order["version"] + 1}
    if not call.trial:
        call.stock.orders[order["id"]] = changed
    return 200, changed


def _confirm_order(call: Call) -> tuple[int, Json]:
    order = _order(call, unquote(call.params["order"]))
    if order["status"] != "draft":
        raise _refusal(409, "order_not_draft", "Only a draft can be confirmed.")
    order["status"] = "confirmed"
    return 200, order


def _cancel_order(call: Call) -> tuple[int, Json]:
    order = _order(call, unquote(call.params["order"]))
    if order["status"] == "cancelled":
        raise _refusal(409, "order_cancelled", "The order is cancelled already.")
    if order["status"] == "shipped":
        raise _refusal(409, "order_shipped", "The order has left the house.")
    order["status"] = "cancelled"
    return 200, order


def _create_shipment(call: Call) -> tuple[int, Json]:
    order = _order(call, call.body["order"])
    if order["status"] == "draft":
        raise _refusal(409, "order_not_confirmed", "The order is not confirmed.", "/body/order")
    if order["status"] != "confirmed":
        raise _refusal(409, "order_not_shippable", "The order cannot be shipped.", "/body/order")
    shipment = {"id": f"shp_{len(call.stock.shipments) + 1}", **call.body}
    if not call.trial:
        order["status"] = "shipped"
        call.stock.shipments[shipment["id"]] = shipment
    return 201, shipment


def _list_refunds(call: Call) -> tuple[int, Json]:
    return 200, {"data": list(call.stock.refunds.values())}


def _create_refund(call: Call) -> tuple[int, Json]:
    order = _order(call, call.body["order"])
    if call.body["amount"] > order["total"] - order["refunded"]:
        raise _refusal(422, "amount_too_large", "The amount is larger than what can still be refunded.", "/body/amount")
    if call.body["amount"] > _APPROVAL_ABOVE:
        raise _refusal(403, "approval_required", "A manager has to approve a refund as large as this.")
    refund = {"id": f"ref_{len(call.stock.refunds) + 1}", **call.body}
    if not call.trial:
        order["refunded"] += call.body["amount"]
        call.stock.refunds[refund["id"]] = refund
    return 201, refund


_OPERATIONS: Final[Mapping[str, Callable[[Call], tuple[int, Json]]]] = {
    "listItems": _list_items,
    "getItem": _get_item,
    "listShippingMethods": _list_methods,
    "listOrders": _list_orders,
    "searchOrders": _search_orders,
    "getOrder": _get_order,
    "createOrder": _create_order,
    "updateOrder": _update_order,
    "confirmOrder": _confirm_order,
    "cancelOrder": _cancel_order,
    "createShipment": _create_shipment,
    "listRefunds": _list_refunds,
    "createRefund": _create_refund,
}
__all__ = ["DESCRIPTION", "PACK", "PROBLEM", "SPEC", "Complaint", "Refusal", "Route", "Shop", "Stock"]
