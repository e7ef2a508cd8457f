"""Every check there is, by what it is about. A list in one place beats a hunt."""

from __future__ import annotations

from typing import Final

from corrigible.conformance.check import Check

from . import (
    audit,
    consumer,
    core,
    dialect,
    exposure,
    generated,
    graphql,
    grpc,
    http2,
    kubernetes,
    linked,
    mcp,
    negotiation,
    operations,
    pack,
    problem,
    recipe,
    relayed,
    retry,
    transparency,
    trust,
    webhook,
)

CHECKS: Final[tuple[Check, ...]] = (
    *transparency.CHECKS,
    *exposure.CHECKS,
    *http2.CHECKS,
    *negotiation.CHECKS,
    *core.CHECKS,
    *dialect.CHECKS,
    *operations.CHECKS,
    *retry.CHECKS,
    *trust.CHECKS,
    *linked.CHECKS,
    *generated.CHECKS,
    *grpc.CHECKS,
    *kubernetes.CHECKS,
    *relayed.CHECKS,
    *webhook.CHECKS,
    *recipe.CHECKS,
    *problem.CHECKS,
    *graphql.CHECKS,
    *mcp.CHECKS,
    *consumer.CHECKS,
    *pack.CHECKS,
    *audit.CHECKS,
)
