"""The rights of Acme's callers, read from `policy.yaml`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict


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
