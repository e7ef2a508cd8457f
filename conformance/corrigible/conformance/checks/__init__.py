"""Every check there is, by what it is about. A list in one place beats a hunt."""

from __future__ import annotations

from typing import Final

from corrigible.conformance.checks import consumer, pack
from corrigible.conformance.checks.bindings import kubernetes
from corrigible.conformance.checks.http import core, generated, second_judge, trust
from corrigible.conformance.checks.transparency import annotated, exposure
from corrigible.conformance.suite.subject import Check

from .bindings import graphql, mcp, problem, recipe
from .grpc import catalogue as grpc
from .transparency import catalogue as transparency
from .transparency import hostile_http2 as http2

CHECKS: Final[tuple[Check, ...]] = (
    *transparency.CHECKS,
    *exposure.CHECKS,
    *http2.CHECKS,
    *annotated.CHECKS,
    *core.CHECKS,
    *core.DIALECTS,
    *core.OPERATIONS,
    *core.RETRIES,
    *trust.CHECKS,
    *trust.LINKED,
    *generated.CHECKS,
    *second_judge.CHECKS,
    *grpc.CHECKS,
    *kubernetes.CHECKS,
    *kubernetes.RELAYED,
    *kubernetes.WEBHOOK_CHECKS,
    *recipe.CHECKS,
    *problem.CHECKS,
    *graphql.CHECKS,
    *mcp.CHECKS,
    *consumer.CHECKS,
    *pack.CHECKS,
    *pack.LEAKS,
)
