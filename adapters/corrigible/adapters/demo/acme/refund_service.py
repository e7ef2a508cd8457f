"""The effect of each operation, for one caller. Knows: the policy, accounts, the processor. Does not know: HTTP.

The money: charges and refunds at a Stripe-compatible server.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final, Protocol, TypeVar, get_args

import httpx

from . import request
from .account import Account, Approval, Dispute, DisputeStatus, Line, Payment, Refund, days, number
from .policy import Facts, Policy, judge_evidence, judge_refund, line_total
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


Document = dict[str, Any]
Kept = TypeVar("Kept", Payment, Refund, Approval, Dispute)


class Documented(Protocol):
    def document(self) -> Document: ...


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """One call, by whom and with what."""

    account: Account
    role: str
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes
    key: str | None = None
    """The idempotency key."""


@dataclass(slots=True)
class RefundService:
    """Serves all accounts. Its clock is fixed, so that deadlines are the same at every run."""

    policy: Policy
    processor: Processor
    now: datetime
    accounts: dict[str, Account] = field(default_factory=dict)

    def account(self, name: str) -> Account:
        """Return the account of that name. It is there from its first call on."""
        return self.accounts.setdefault(name, Account())

    async def perform(self, operation: str, call: ServiceCall) -> tuple[int, Document]:
        """Return status and body. Raises Refused."""
        perform = _OPERATIONS[operation]
        if operation.startswith(("Get", "List", "Quote")):
            return 200, await perform(self, call)
        _permit(operation, call.role)
        async with call.account.lock:
            content = sha256(operation.encode() + repr(call.path).encode() + call.body).hexdigest()
            earlier = call.account.replies.get(call.key) if call.key is not None else None
            if earlier is not None and earlier[0] != content:
                raise refuse(409, "idempotency_key_reused", "The idempotency key belongs to another request.")
            if earlier is not None:
                return earlier[1], earlier[2]
            document = await perform(self, call)
            status = 201 if operation.startswith(("Create", "Request")) else 200
            if call.key is not None:
                call.account.replies[call.key] = (content, status, document)
            return status, document

    # What is there.

    async def _policy(self, call: ServiceCall) -> Document:
        return self.policy.document(call.role, call.account.spent(call.role, self.now.date()))

    async def _payment(self, call: ServiceCall) -> Document:
        return await self._shown(_find(call.account.payments, call.path["payment"], "payment"))

    async def _payments(self, call: ServiceCall) -> Document:
        order = call.query.get("order")
        chosen = [payment for payment in call.account.payments.values() if order in (None, payment.order)]
        return {"object": "list", "data": [await self._shown(payment) for payment in chosen]}

    async def _quote(self, call: ServiceCall) -> Document:
        payment = _find(call.account.payments, call.path["payment"], "payment")
        lines = []
        for line_id in call.query.get("lines", "").split(","):
            sku, _, quantity = line_id.rpartition(":")
            if not quantity.isdecimal() or not any(line.sku == sku for line in payment.lines):
                raise refuse(422, "line_unknown", "The payment has no line of this kind.", "query.lines")
            lines.append(request.Returned(sku=sku, quantity=int(quantity)))
        return {"object": "quote", "amount": line_total(payment, lines), "currency": payment.currency}

    async def _refund(self, call: ServiceCall) -> Document:
        return _find(call.account.refunds, call.path["refund"], "refund").document()

    async def _refunds(self, call: ServiceCall) -> Document:
        return _listed(call.account.refunds.values(), call.query)

    async def _approval(self, call: ServiceCall) -> Document:
        return _find(call.account.approvals, call.path["approval"], "approval").document()

    async def _approvals(self, call: ServiceCall) -> Document:
        return _listed(call.account.approvals.values(), call.query)

    async def _dispute(self, call: ServiceCall) -> Document:
        return _find(call.account.disputes, call.path["dispute"], "dispute").document()

    async def _disputes(self, call: ServiceCall) -> Document:
        return _listed(call.account.disputes.values(), call.query)

    async def _shown(self, payment: Payment) -> Document:
        return payment.document(await self.processor.refundable(payment.charge))

    # What is done.

    async def _make_refund(self, call: ServiceCall) -> Document:
        wish = request.read(request.Refund, call.body)
        account = call.account
        payment = account.payments.get(wish.payment)
        if payment is None:
            raise refuse(404, "payment_not_found", "There is no such payment.", "payment")
        left = await self.processor.refundable(payment.charge)
        judge_refund(wish, payment, Facts(account, self.policy, call.role, self.now, left))
        processed = await self.processor.refund(payment.charge, wish.amount)
        for line in wish.lines or ():
            next(one for one in payment.lines if one.sku == line.sku).returned += line.quantity
        if wish.approval in account.approvals and wish.amount > self.policy.roles[call.role].without_approval:
            account.approvals[wish.approval].status = "used"
        members = wish.model_dump(exclude={"lines"})
        refund = Refund(
            **members, id=number("ref", account.refunds), role=call.role, made_at=self.now, processor=processed
        )
        account.refunds[refund.id] = refund
        return refund.document()

    async def _request_approval(self, call: ServiceCall) -> Document:
        wish = request.read(request.ApprovalWish, call.body)
        _find(call.account.payments, wish.payment, "payment", "payment")
        until = self.now + timedelta(hours=self.policy.approval_hours)
        approval = Approval(number("apr", call.account.approvals), wish.payment, wish.amount, until)
        call.account.approvals[approval.id] = approval
        return approval.document()

    async def _grant(self, call: ServiceCall) -> Document:
        approval = _pending(call)
        approval.status = "granted"
        return approval.document()

    async def _deny(self, call: ServiceCall) -> Document:
        approval = _pending(call)
        approval.status = "denied"
        return approval.document()

    async def _answer_dispute(self, call: ServiceCall) -> Document:
        answer = request.read(request.Answered, call.body)
        dispute = _find(call.account.disputes, call.path["dispute"], "dispute")
        judge_evidence(answer, dispute, self.now)
        dispute.evidence = answer.evidence.model_dump(exclude_none=True)
        dispute.status = "under_review"
        dispute.version += 1
        return dispute.document()

    async def _accept_dispute(self, call: ServiceCall) -> Document:
        request.read(request.Nothing, call.body)
        dispute = _find(call.account.disputes, call.path["dispute"], "dispute")
        if dispute.status != "needs_response":
            raise refuse(409, "dispute_closed", "The dispute can no longer be accepted.")
        dispute.status = "accepted"
        dispute.version += 1
        return dispute.document()

    # What only tests do.

    async def _sell(self, call: ServiceCall) -> Document:
        wish = request.read(request.TestPayment, call.body)
        lines = [Line(line.sku, line.quantity, line.unit_amount) for line in wish.lines]
        amount = wish.amount or sum(line.quantity * line.unit_amount for line in lines)
        if not amount or wish.currency not in self.policy.currencies:
            raise refuse(422, "parameter_invalid", "A payment has an amount or lines, and a currency of the policy.")
        payment = Payment(
            id=number("pay", call.account.payments),
            order=wish.order,
            amount=amount,
            currency=wish.currency,
            kind=wish.kind,
            paid_at=self.now - days(wish.days_ago),
            charge=await self.processor.charge(amount, wish.currency),
            lines=lines,
        )
        call.account.payments[payment.id] = payment
        return await self._shown(payment)

    async def _contest(self, call: ServiceCall) -> Document:
        wish = request.read(request.TestDispute, call.body)
        payment = _find(call.account.payments, wish.payment, "payment", "payment")
        if wish.reason not in self.policy.disputes or wish.status not in get_args(DisputeStatus):
            raise refuse(422, "parameter_invalid", "There are no disputes of this reason and status.")
        dispute = Dispute(
            id=number("dsp", call.account.disputes),
            payment=payment.id,
            amount=payment.amount,
            reason=wish.reason,
            status=next(status for status in get_args(DisputeStatus) if status == wish.status),
            due_by=self.now + days(wish.due_in_days),
            wanted=self.policy.disputes[wish.reason],
        )
        call.account.disputes[dispute.id] = dispute
        payment.dispute = dispute.id
        return dispute.document()

    async def _touch(self, call: ServiceCall) -> Document:
        dispute = _find(call.account.disputes, call.path["dispute"], "dispute")
        dispute.version += 1
        return dispute.document()


_OPERATIONS: Final[Mapping[str, Callable[[RefundService, ServiceCall], Awaitable[Document]]]] = {
    "GetPolicy": RefundService._policy,
    "ListPayments": RefundService._payments,
    "GetPayment": RefundService._payment,
    "QuoteLines": RefundService._quote,
    "ListRefunds": RefundService._refunds,
    "CreateRefund": RefundService._make_refund,
    "GetRefund": RefundService._refund,
    "ListApprovals": RefundService._approvals,
    "RequestApproval": RefundService._request_approval,
    "GetApproval": RefundService._approval,
    "GrantApproval": RefundService._grant,
    "DenyApproval": RefundService._deny,
    "ListDisputes": RefundService._disputes,
    "GetDispute": RefundService._dispute,
    "SubmitEvidence": RefundService._answer_dispute,
    "AcceptDispute": RefundService._accept_dispute,
    "CreateTestPayment": RefundService._sell,
    "CreateTestDispute": RefundService._contest,
    "TouchTestDispute": RefundService._touch,
}

_ROLES: Final[Mapping[str, frozenset[str]]] = {
    "CreateRefund": frozenset({"agent", "supervisor"}),
    "RequestApproval": frozenset({"agent", "supervisor"}),
    "GrantApproval": frozenset({"supervisor"}),
    "DenyApproval": frozenset({"supervisor"}),
    "SubmitEvidence": frozenset({"agent", "supervisor"}),
    "AcceptDispute": frozenset({"supervisor"}),
}
"""Who may do what; test helpers are the owner's."""


def _permit(operation: str, role: str) -> None:
    if role not in _ROLES.get(operation, frozenset({"owner"})):
        raise refuse(403, "role_not_permitted", "This role may not do this.")


def _find(collection: Mapping[str, Kept], name: str, kind: str, place: str = "path") -> Kept:
    if name not in collection:
        raise refuse(404, f"{kind}_not_found", f"There is no such {kind}.", place)
    return collection[name]


def _pending(call: ServiceCall) -> Approval:
    request.read(request.Nothing, call.body)
    approval = _find(call.account.approvals, call.path["approval"], "approval")
    if approval.status != "pending":
        raise refuse(409, "approval_decided", "The approval has been decided.")
    return approval


def _listed(resources: Iterable[Documented], query: Mapping[str, str]) -> Document:
    documents = [resource.document() for resource in resources]
    payment = query.get("payment")
    return {"object": "list", "data": [document for document in documents if payment in (None, document["payment"])]}
