"""The rights of Acme's callers, read from `policy.yaml`, and the judgement of a refund or of an answer to a dispute.

The judgement is pure: facts in, a refusal out. Its stages follow each other: one repair may uncover the next error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from . import request
from .account import Account, Dispute, Payment, days
from .request import Complaint, Refused, refuse


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Limits(_Part):
    """What one role may refund, in minor units."""

    without_approval: int
    most: int
    per_day: int


class Reason(_Part):
    """When a reason for a refund counts."""

    days: int
    most: int | None = None
    note: bool = False


class Policy(_Part):
    """The whole policy."""

    version: int
    currencies: dict[str, int]
    roles: dict[str, Limits]
    reasons: dict[str, Reason]
    whole_only: tuple[str, ...]
    disputes: dict[str, tuple[str, ...]]
    approval_hours: int

    @property
    def evidence(self) -> frozenset[str]:
        """Every kind of evidence that some bank requires."""
        return frozenset(member for evidence in self.disputes.values() for member in evidence)

    def document(self, role: str, already_refunded: int) -> dict[str, Any]:
        """Return the policy as one caller may read it."""
        limits = self.roles.get(role)
        refunds = None if limits is None else {**limits.model_dump(), "left_today": limits.per_day - already_refunded}
        reasons = [{"code": code, **reason.model_dump()} for code, reason in self.reasons.items()]
        document = self.model_dump(mode="json", include={"version", "currencies", "whole_only", "disputes"})
        return {**document, "reasons": reasons, "role": role, "refunds": refunds}


@cache
def policy() -> Policy:
    """Return the policy that ships with the service."""
    return Policy.model_validate(yaml.safe_load(files(__package__).joinpath("policy.yaml").read_text("utf-8")))


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that decide on a refund, beside the request."""

    account: Account
    policy: Policy
    role: str
    now: datetime
    refundable: int
    """What the processor could still refund of the payment."""


def judge_refund(refund: request.Refund, payment: Payment, facts: Facts) -> None:
    """Raises Refused where the refund must not be made."""
    _state(payment, facts)
    for stage in (_particulars, _lines, _amount):
        complaints = tuple(stage(refund, payment, facts))
        if complaints:
            raise Refused(422, *complaints)
    _limits(refund, payment, facts)


def _state(payment: Payment, facts: Facts) -> None:
    dispute = facts.account.disputes.get(payment.dispute or "")
    if dispute is not None and dispute.status in ("needs_response", "under_review"):
        raise refuse(409, "payment_disputed", "The customer's bank disputes this payment.", "payment")
    if dispute is not None and dispute.status in ("lost", "accepted"):
        raise refuse(409, "payment_charged_back", "The bank has returned the money of this payment.", "payment")
    if facts.refundable == 0:
        raise refuse(409, "payment_refunded", "This payment has been refunded.", "payment")


def _particulars(refund: request.Refund, payment: Payment, facts: Facts) -> Iterator[Complaint]:
    if refund.currency != payment.currency:
        yield Complaint("currency_mismatch", "The payment was made in another currency.", "currency")
    reason = facts.policy.reasons.get(refund.reason)
    if reason is None:
        yield Complaint("reason_unknown", "This is no reason that the policy knows.", "reason")
        return
    if facts.now > payment.paid_at + days(reason.days):
        yield Complaint("window_closed", "The payment is too old for a refund with this reason.", "payment")
    if reason.note and not refund.note:
        yield Complaint("note_required", "A refund with this reason has to be explained.", "note")


def _lines(refund: request.Refund, payment: Payment, facts: Facts) -> Iterator[Complaint]:
    sold = {line.sku: line for line in payment.lines}
    good = True
    for index, line in enumerate(refund.lines or ()):
        place = f"lines[{index}]"
        if line.sku not in sold:
            good = False
            yield Complaint("line_unknown", "The payment has no line of this kind.", f"{place}.sku")
        elif line.quantity > sold[line.sku].quantity - sold[line.sku].returned:
            good = False
            message = "More of this comes back than the customer still has."
            yield Complaint("line_quantity_exceeded", message, f"{place}.quantity")
    if good and refund.lines and refund.amount != line_total(payment, refund.lines):
        yield Complaint("amount_not_of_lines", "The amount is not what the lines come to.", "amount")


def line_total(payment: Payment, lines: list[request.Returned]) -> int:
    """Return what lines that a payment has come to."""
    prices = {line.sku: line.unit_amount for line in payment.lines}
    return sum(prices[line.sku] * line.quantity for line in lines)


def _amount(refund: request.Refund, payment: Payment, facts: Facts) -> Iterator[Complaint]:
    if refund.amount > facts.refundable:
        message = "The amount is larger than what can still be refunded of the payment."
        yield Complaint("amount_exceeds_refundable", message, "amount")
    elif payment.kind in facts.policy.whole_only and refund.amount < facts.refundable:
        yield Complaint("partial_not_allowed", "What was bought cannot be refunded in part.", "amount")
    most = facts.policy.reasons[refund.reason].most
    if most is not None and refund.amount > most:
        yield Complaint("reason_limit_exceeded", "The amount is too large for a refund with this reason.", "amount")


def _limits(refund: request.Refund, payment: Payment, facts: Facts) -> None:
    limits = facts.policy.roles[facts.role]
    if refund.amount > limits.most:
        raise refuse(403, "role_limit_exceeded", "A refund of this size is not for this role to make.", "amount")
    if refund.amount + facts.account.spent(facts.role, facts.now.date()) > limits.per_day:
        raise refuse(
            403, "daily_limit_exceeded", "The refund goes beyond what this role may refund in a day.", "amount"
        )
    if refund.amount <= limits.without_approval:
        return
    if refund.approval is None:
        raise refuse(403, "approval_required", "A refund of this size has to be approved.", "approval")
    approval = facts.account.approvals.get(refund.approval)
    if (
        approval is None
        or approval.payment != payment.id
        or approval.status == "used"
        or approval.amount < refund.amount
    ):
        raise refuse(403, "approval_unusable", "The approval is not for this refund.", "approval")
    if approval.status != "granted" or approval.expires_at < facts.now:
        raise refuse(403, "approval_not_granted", "The approval does not stand.", "approval")


def judge_evidence(answer: request.Answered, dispute: Dispute, now: datetime) -> None:
    """Raises Refused where the bank would not, or must not, get this answer."""
    if dispute.status in ("won", "lost", "accepted"):
        raise refuse(409, "dispute_closed", "The dispute has been decided.")
    if dispute.status == "under_review":
        raise refuse(409, "evidence_submitted", "Evidence for this dispute is with the bank.")
    if now > dispute.due_by:
        raise refuse(409, "evidence_overdue", "The bank no longer takes evidence for this dispute.")
    if answer.version is not None and answer.version != dispute.version:
        raise refuse(409, "version_conflict", "The dispute has changed since it was read.", "version")
    evidence = answer.evidence.model_dump(exclude_none=True)
    surplus = [
        Complaint("evidence_not_applicable", "The bank takes no such evidence in this dispute.", f"evidence.{name}")
        for name in evidence
        if name not in dispute.wanted
    ]
    missing = [
        Complaint("evidence_missing", f"The bank wants to see {name.replace('_', ' ')}.", f"evidence.{name}")
        for name in dispute.wanted
        if name not in evidence
    ]
    if surplus or missing:
        raise Refused(422, *surplus, *missing)
