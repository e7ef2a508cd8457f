"""The record of one account at Acme: payments, refunds, approvals, disputes. Money itself is at the processor."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Literal

DisputeStatus = Literal["needs_response", "under_review", "won", "lost", "accepted"]


@dataclass(slots=True)
class Line:
    """What was sold, and how much of it came back."""

    sku: str
    quantity: int
    unit_amount: int
    returned: int = 0

    def document(self) -> dict[str, Any]:
        return {
            "sku": self.sku,
            "quantity": self.quantity,
            "unit_amount": self.unit_amount,
            "left": self.quantity - self.returned,
        }


@dataclass(slots=True)
class Payment:
    id: str
    order: str
    amount: int
    currency: str
    kind: str
    paid_at: datetime
    charge: str
    lines: list[Line] = field(default_factory=list)
    dispute: str | None = None

    def document(self, left: int) -> dict[str, Any]:
        """Return the payment as callers read it; `left` is what the processor could still refund."""
        return {
            "id": self.id,
            "object": "payment",
            "order": self.order,
            "amount": self.amount,
            "refunded": self.amount - left,
            "refundable": left,
            "currency": self.currency,
            "kind": self.kind,
            "paid_at": written(self.paid_at),
            "charge": self.charge,
            "dispute": self.dispute,
            "lines": [line.document() for line in self.lines],
        }


@dataclass(frozen=True, slots=True)
class Refund:
    id: str
    payment: str
    amount: int
    currency: str
    reason: str
    note: str | None
    approval: str | None
    role: str
    made_at: datetime
    processor: str

    def document(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "refund",
            "payment": self.payment,
            "amount": self.amount,
            "currency": self.currency,
            "reason": self.reason,
            "note": self.note,
            "approval": self.approval,
            "role": self.role,
            "made_at": written(self.made_at),
            "processor_refund": self.processor,
        }


@dataclass(slots=True)
class Approval:
    """A supervisor's word that one refund may be made."""

    id: str
    payment: str
    amount: int
    expires_at: datetime
    status: Literal["pending", "granted", "denied", "used"] = "pending"

    def document(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "approval",
            "payment": self.payment,
            "amount": self.amount,
            "status": self.status,
            "expires_at": written(self.expires_at),
        }


@dataclass(slots=True)
class Dispute:
    id: str
    payment: str
    amount: int
    reason: str
    status: DisputeStatus
    due_by: datetime
    wanted: tuple[str, ...]
    version: int = 1
    evidence: dict[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "dispute",
            "payment": self.payment,
            "amount": self.amount,
            "reason": self.reason,
            "status": self.status,
            "evidence_due_by": written(self.due_by),
            "evidence_wanted": list(self.wanted),
            "evidence": dict(self.evidence),
            "version": self.version,
        }


@dataclass(slots=True)
class Account:
    """One tenant. Ids count from 1001 in each, so that the same calls give the same answers."""

    payments: dict[str, Payment] = field(default_factory=dict)
    refunds: dict[str, Refund] = field(default_factory=dict)
    approvals: dict[str, Approval] = field(default_factory=dict)
    disputes: dict[str, Dispute] = field(default_factory=dict)
    replies: dict[str, tuple[str, int, dict[str, Any]]] = field(default_factory=dict)
    """By idempotency key: a digest of the request, and the answer."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One change at a time: what is checked still holds when the money moves."""

    def spent(self, role: str, day: date) -> int:
        """Return what a role refunded on a day."""
        return sum(
            refund.amount for refund in self.refunds.values() if refund.role == role and refund.made_at.date() == day
        )


def number(prefix: str, existing: dict[str, Any]) -> str:
    """Return the next id of a kind."""
    return f"{prefix}_{1001 + len(existing)}"


def written(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def days(count: int) -> timedelta:
    return timedelta(days=count)
