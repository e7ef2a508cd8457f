"""Every check there is, by what it is about. A list in one place beats a hunt."""

from __future__ import annotations

from typing import Final

from corrigible.conformance.suite.check import Check

from .bindings import graphql, mcp, problem, recipe
from .consumer import vectors as consumer
from .grpc import catalogue as grpc
from .http import core, dialect, generated, linked, operations, retry, second_judge, trust
from .kubernetes import api_server as kubernetes
from .kubernetes import relayed, webhook
from .pack import leaks as audit
from .pack import rule_files as pack
from .transparency import catalogue as transparency
from .transparency import exposure, negotiation
from .transparency import hostile_http2 as http2

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
    *second_judge.CHECKS,
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
