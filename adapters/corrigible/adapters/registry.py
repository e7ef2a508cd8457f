"""Every API this distribution knows. A list in one place beats a hunt."""

from __future__ import annotations

from dataclasses import replace

from corrigible.adapters.apis.enveloped import ENVELOPED
from corrigible.adapters.apis.etcd.adapter import ADAPTER as ETCD
from corrigible.adapters.apis.github.adapter import ADAPTER as GITHUB
from corrigible.adapters.apis.kubernetes.adapter import ADAPTER as KUBERNETES
from corrigible.adapters.apis.stripe.adapter import ADAPTER as STRIPE
from corrigible.adapters.demo.acme.adapter import ADAPTER as ACME
from corrigible.adapters.demo.recipe.adapter import ADAPTER as RECIPE
from corrigible.adapters.formats.generic import GenericFormat
from corrigible.adapters.formats.google_rpc import GoogleRpcFormat

from .base import Adapter

ADAPTERS: tuple[Adapter, ...] = (RECIPE, ACME, STRIPE, GITHUB, KUBERNETES, ETCD)


def adapter_for(name: str, dialect: str | None = None) -> Adapter:
    """Return the adapter of that name, or one that reads the common error shapes for an API nobody here knows.

    `dialect` says that all its answers are of one kind: `graphql` or `mcp`.
    """
    if dialect is not None:
        return replace(ENVELOPED[dialect], name=name)
    for adapter in ADAPTERS:
        if adapter.name == name:
            return adapter
    return Adapter(name=name, formats=(GoogleRpcFormat(), GenericFormat()))
