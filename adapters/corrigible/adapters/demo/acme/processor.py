"""The money: charges and refunds at a Stripe-compatible server."""

from __future__ import annotations

from typing import Any

import httpx

from .request import Refused, refuse


class Processor:
    """Calls Stripe's API. Its error texts go to the operator's log, not to Acme's callers."""

    def __init__(self, url: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        headers = {"authorization": "Bearer sk_test_acme0000000000000001"}
        self._client = httpx.AsyncClient(
            base_url=url, headers=headers, timeout=10, trust_env=False, transport=transport
        )
        self._left: dict[str, int] = {}

    async def close(self) -> None:
        await self._client.aclose()

    async def charge(self, amount: int, currency: str) -> str:
        """Take a payment with a test card and return the charge's id."""
        form = {"amount": str(amount), "currency": currency, "source": "tok_visa"}
        charge = str((await self._call("POST", "/v1/charges", form))["id"])
        self._left[charge] = amount
        return charge

    async def refundable(self, charge: str) -> int:
        """Return what can still be refunded of a charge: as counted here, until the processor disagrees."""
        if charge not in self._left:
            document = await self._call("GET", f"/v1/charges/{charge}")
            self._left[charge] = int(document["amount"]) - int(document["amount_refunded"])
        return self._left[charge]

    async def refund(self, charge: str, amount: int) -> str:
        """Refund a part of a charge and return the refund's id."""
        remaining_amount = self._left.pop(charge, None)  # if this fails, the amount is unknown
        refund = await self._call("POST", "/v1/refunds", {"charge": charge, "amount": str(amount)})
        if remaining_amount is not None:
            self._left[charge] = remaining_amount - amount
        return str(refund["id"])

    async def _call(self, method: str, path: str, form: dict[str, str] | None = None) -> Any:
        try:
            response = await self._client.request(method, path, data=form)
            if response.is_success:
                return response.json()
        except (httpx.HTTPError, ValueError):
            raise _unavailable() from None
        raise _unavailable()


def _unavailable() -> Refused:
    return refuse(502, "processor_unavailable", "The payment processor did not do as it was told.")
