"""What each operation does, for one caller. Knows: the policy, accounts, the processor. Does not know: HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final, Protocol, TypeVar, get_args

from . import request
from .account import (
    Account,
    Approval,
    Dispute,
    DisputeStatus,
    Line,
    Payment,
    Refund,
    days,
    number,
)
from .policy import Policy
from .policy_check import Facts, judge_evidence, judge_refund, worth
from .processor import Processor
from .refusal import Refused, refuse

Document = dict[str, Any]
Kept = TypeVar("Kept", Payment, Refund, Approval, Dispute)


class Documented(Protocol):
    def document(self) -> Document: ...


@dataclass(frozen=True, slots=True)
class Asked:
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
    """Serves all accounts. Its clock stands still: what is in time today is in time at every run."""

    policy: Policy
    processor: Processor
    now: datetime
    accounts: dict[str, Account] = field(default_factory=dict)

    def account(self, name: str) -> Account:
        """Return the account of that name. It is there from its first call on."""
        return self.accounts.setdefault(name, Account())

    async def perform(self, operation: str, asked: Asked) -> tuple[int, Document]:
        """Return status and body. Raises Refused."""
        call = _CALLS[operation]
        if operation.startswith(("Get", "List", "Quote")):
            return 200, await call(self, asked)
        _permit(operation, asked.role)
        async with asked.account.lock:
            content = sha256(operation.encode() + repr(asked.path).encode() + asked.body).hexdigest()
            before = asked.account.answered.get(asked.key) if asked.key is not None else None
            if before is not None and before[0] != content:
                raise refuse(409, "idempotency_key_reused", "The idempotency key belongs to another request.")
            if before is not None:
                return before[1], before[2]
            document = await call(self, asked)
            status = 201 if operation.startswith(("Create", "Request")) else 200
            if asked.key is not None:
                asked.account.answered[asked.key] = (content, status, document)
            return status, document

    # What is there.

    async def _policy(self, asked: Asked) -> Document:
        return self.policy.document(asked.role, asked.account.spent(asked.role, self.now.date()))

    async def _payment(self, asked: Asked) -> Document:
        return await self._shown(_find(asked.account.payments, asked.path["payment"], "payment"))

    async def _payments(self, asked: Asked) -> Document:
        order = asked.query.get("order")
        chosen = [one for one in asked.account.payments.values() if order in (None, one.order)]
        return {"object": "list", "data": [await self._shown(one) for one in chosen]}

    async def _quote(self, asked: Asked) -> Document:
        payment = _find(asked.account.payments, asked.path["payment"], "payment")
        lines = []
        for one in asked.query.get("lines", "").split(","):
            sku, _, quantity = one.rpartition(":")
            if not quantity.isdecimal() or not any(line.sku == sku for line in payment.lines):
                raise refuse(422, "line_unknown", "The payment has no line of this kind.", "query.lines")
            lines.append(request.Returned(sku=sku, quantity=int(quantity)))
        return {"object": "quote", "amount": worth(payment, lines), "currency": payment.currency}

    async def _refund(self, asked: Asked) -> Document:
        return _find(asked.account.refunds, asked.path["refund"], "refund").document()

    async def _refunds(self, asked: Asked) -> Document:
        return _listed(asked.account.refunds.values(), asked.query)

    async def _approval(self, asked: Asked) -> Document:
        return _find(asked.account.approvals, asked.path["approval"], "approval").document()

    async def _approvals(self, asked: Asked) -> Document:
        return _listed(asked.account.approvals.values(), asked.query)

    async def _dispute(self, asked: Asked) -> Document:
        return _find(asked.account.disputes, asked.path["dispute"], "dispute").document()

    async def _disputes(self, asked: Asked) -> Document:
        return _listed(asked.account.disputes.values(), asked.query)

    async def _shown(self, payment: Payment) -> Document:
        return payment.document(await self.processor.left(payment.charge))

    # What is done.

    async def _make_refund(self, asked: Asked) -> Document:
        wanted = request.read(request.Refund, asked.body)
        account = asked.account
        payment = account.payments.get(wanted.payment)
        if payment is None:
            raise refuse(404, "payment_not_found", "There is no such payment.", "payment")
        left = await self.processor.left(payment.charge)
        judge_refund(wanted, payment, Facts(account, self.policy, asked.role, self.now, left))
        processed = await self.processor.refund(payment.charge, wanted.amount)
        for line in wanted.lines or ():
            next(one for one in payment.lines if one.sku == line.sku).returned += line.quantity
        if wanted.approval in account.approvals and wanted.amount > self.policy.roles[asked.role].without_approval:
            account.approvals[wanted.approval].status = "used"
        told = wanted.model_dump(exclude={"lines"})
        refund = Refund(
            **told, id=number("ref", account.refunds), role=asked.role, made_at=self.now, processor=processed
        )
        account.refunds[refund.id] = refund
        return refund.document()

    async def _request_approval(self, asked: Asked) -> Document:
        wanted = request.read(request.ApprovalWish, asked.body)
        _find(asked.account.payments, wanted.payment, "payment", "payment")
        until = self.now + timedelta(hours=self.policy.approval_hours)
        approval = Approval(number("apr", asked.account.approvals), wanted.payment, wanted.amount, until)
        asked.account.approvals[approval.id] = approval
        return approval.document()

    async def _grant(self, asked: Asked) -> Document:
        approval = _pending(asked)
        approval.status = "granted"
        return approval.document()

    async def _deny(self, asked: Asked) -> Document:
        approval = _pending(asked)
        approval.status = "denied"
        return approval.document()

    async def _answer_dispute(self, asked: Asked) -> Document:
        answered = request.read(request.Answered, asked.body)
        dispute = _find(asked.account.disputes, asked.path["dispute"], "dispute")
        judge_evidence(answered, dispute, self.now)
        dispute.evidence = answered.evidence.model_dump(exclude_none=True)
        dispute.status = "under_review"
        dispute.version += 1
        return dispute.document()

    async def _accept_dispute(self, asked: Asked) -> Document:
        request.read(request.Nothing, asked.body)
        dispute = _find(asked.account.disputes, asked.path["dispute"], "dispute")
        if dispute.status != "needs_response":
            raise refuse(409, "dispute_closed", "The dispute can no longer be accepted.")
        dispute.status = "accepted"
        dispute.version += 1
        return dispute.document()

    # What only tests do.

    async def _sell(self, asked: Asked) -> Document:
        wanted = request.read(request.TestPayment, asked.body)
        lines = [Line(line.sku, line.quantity, line.unit_amount) for line in wanted.lines]
        amount = wanted.amount or sum(line.quantity * line.unit_amount for line in lines)
        if not amount or wanted.currency not in self.policy.currencies:
            raise refuse(422, "parameter_invalid", "A payment has an amount or lines, and a currency of the policy.")
        payment = Payment(
            id=number("pay", asked.account.payments),
            order=wanted.order,
            amount=amount,
            currency=wanted.currency,
            kind=wanted.kind,
            paid_at=self.now - days(wanted.days_ago),
            charge=await self.processor.charge(amount, wanted.currency),
            lines=lines,
        )
        asked.account.payments[payment.id] = payment
        return await self._shown(payment)

    async def _contest(self, asked: Asked) -> Document:
        wanted = request.read(request.TestDispute, asked.body)
        payment = _find(asked.account.payments, wanted.payment, "payment", "payment")
        if wanted.reason not in self.policy.disputes or wanted.status not in get_args(DisputeStatus):
            raise refuse(422, "parameter_invalid", "There are no disputes of this reason and status.")
        dispute = Dispute(
            id=number("dsp", asked.account.disputes),
            payment=payment.id,
            amount=payment.amount,
            reason=wanted.reason,
            status=next(status for status in get_args(DisputeStatus) if status == wanted.status),
            due_by=self.now + days(wanted.due_in_days),
            wanted=self.policy.disputes[wanted.reason],
        )
        asked.account.disputes[dispute.id] = dispute
        payment.dispute = dispute.id
        return dispute.document()

    async def _touch(self, asked: Asked) -> Document:
        dispute = _find(asked.account.disputes, asked.path["dispute"], "dispute")
        dispute.version += 1
        return dispute.document()


_CALLS: Final[Mapping[str, Callable[[RefundService, Asked], Awaitable[Document]]]] = {
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


def _find(kept: Mapping[str, Kept], name: str, kind: str, place: str = "path") -> Kept:
    if name not in kept:
        raise _missing(kind, place)
    return kept[name]


def _missing(kind: str, place: str) -> Refused:
    return refuse(404, f"{kind}_not_found", f"There is no such {kind}.", place)


def _pending(asked: Asked) -> Approval:
    request.read(request.Nothing, asked.body)
    approval = _find(asked.account.approvals, asked.path["approval"], "approval")
    if approval.status != "pending":
        raise refuse(409, "approval_decided", "The approval has been decided.")
    return approval


def _listed(kept: Iterable[Documented], query: Mapping[str, str]) -> Document:
    documents = [one.document() for one in kept]
    payment = query.get("payment")
    return {"object": "list", "data": [one for one in documents if payment in (None, one["payment"])]}
