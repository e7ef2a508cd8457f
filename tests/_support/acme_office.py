"""Acme billing in this process, before a stand-in for Stripe that keeps charges and refunds."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import parse_qs

import httpx

from corrigible.adapters.demo.acme.refund_service import Processor
from corrigible.adapters.demo.acme.service import Billing, billing
from corrigible.schema.exchange import Json


@dataclass
class Stripe:
    """As much of Stripe as Acme calls."""

    charges: dict[str, dict[str, Any]] = field(default_factory=dict)
    refunds: list[tuple[str, int]] = field(default_factory=list)
    down: bool = False

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if self.down:
            raise httpx.ConnectError("down", request=request)
        form = {name: values[0] for name, values in parse_qs(request.content.decode()).items()}
        match request.method, request.url.path.split("/")[2:]:
            case "POST", ["charges"]:
                name = f"ch_{len(self.charges)}"
                self.charges[name] = {"id": name, "amount": int(form["amount"]), "amount_refunded": 0}
                return httpx.Response(200, json=self.charges[name])
            case "GET", ["charges", name]:
                return httpx.Response(200, json=self.charges[name])
            case "POST", ["refunds"]:
                charge, amount = self.charges[form["charge"]], int(form["amount"])
                if amount > charge["amount"] - charge["amount_refunded"]:
                    return httpx.Response(400, json={"error": {"message": "Refund amount is greater than left"}})
                charge["amount_refunded"] += amount
                self.refunds.append((charge["id"], amount))
                return httpx.Response(200, json={"id": f"re_{len(self.refunds)}"})
        return httpx.Response(404, json={"error": {"message": "Unrecognized request URL"}})


_ACCOUNTS = count()


class Office:
    """An account of its own."""

    def __init__(self) -> None:
        self.stripe = Stripe()
        self.app: Billing = billing(Processor("http://stripe.test", httpx.MockTransport(self.stripe)))
        self.account = f"t{next(_ACCOUNTS)}"

    def call(
        self, role: str, method: str, path: str, body: Json = None, headers: dict[str, str] | None = None
    ) -> httpx.Response:
        async def call() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                key = {"authorization": f"Bearer acme_test_{self.account}_{role}"}
                return await client.request(method, path, json=body, headers={**key, **(headers or {})})

        return asyncio.run(call())

    def made(self, path: str, role: str = "owner", **body: Json) -> Any:
        """Make something that has to be made."""
        response = self.call(role, "POST", path, body or None)
        assert response.is_success, response.text
        return response.json()

    def payment(self, **body: Json) -> str:
        return str(self.made("/v1/test_helpers/payments", **{"order": "A-1", "amount": 8000, **body})["id"])

    def dispute(self, payment: str, **body: Json) -> str:
        body = {"payment": payment, "reason": "duplicate", **body}
        return str(self.made("/v1/test_helpers/disputes", **body)["id"])

    def approval(self, payment: str, amount: int, *, granted: bool = True) -> str:
        name = str(self.made("/v1/approvals", "agent", payment=payment, amount=amount)["id"])
        if granted:
            self.made(f"/v1/approvals/{name}/grant", "supervisor")
        return name

    def refund(self, role: str = "agent", headers: dict[str, str] | None = None, **body: Json) -> httpx.Response:
        body_sent = {"amount": 1000, "currency": "eur", "reason": "damaged", **body}
        return self.call(role, "POST", "/v1/refunds", body_sent, headers)
