"""The adapters of this distribution, in one list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from corrigible.adapters.apis.etcd.adapter import ADAPTER as ETCD
from corrigible.adapters.apis.github.adapter import ADAPTER as GITHUB
from corrigible.adapters.apis.kubernetes.adapter import ADAPTER as KUBERNETES
from corrigible.adapters.apis.stripe.adapter import ADAPTER as STRIPE
from corrigible.adapters.demo.acme.adapter import ADAPTER as ACME
from corrigible.adapters.demo.recipe.adapter import ADAPTER as RECIPE
from corrigible.adapters.formats.generic import GenericFormat
from corrigible.adapters.formats.google_rpc import GoogleRpcFormat
from corrigible.adapters.formats.graphql import GRAPHQL
from corrigible.adapters.formats.mcp import MCP

from .base import Adapter

ADAPTERS: Final[tuple[Adapter, ...]] = (RECIPE, ACME, STRIPE, GITHUB, KUBERNETES, ETCD)


def _is_json_post(method: str, path: str, headers: Mapping[str, str]) -> bool:
    """GraphQL and MCP take calls as JSON in a POST, and refuse in the JSON of an answer with status 200."""
    return method == "POST" and headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


_DIALECTS: Final[Mapping[str, Adapter]] = {
    "graphql": Adapter(name="graphql", formats=(GRAPHQL,), may_refuse=_is_json_post, placement="graphql"),
    "mcp": Adapter(name="mcp", formats=(MCP,), may_refuse=_is_json_post, placement="mcp"),
}
"""By the `dialect` of a pack: APIs that answer inside an envelope, whoever made them."""


def adapter_for(name: str, dialect: str | None = None) -> Adapter:
    """Return the adapter of that name, or a generic one that reads the common error shapes.

    `dialect` is `graphql` or `mcp` where all answers of the API are of that kind.
    """
    if dialect is not None:
        return replace(_DIALECTS[dialect], name=name)
    for adapter in ADAPTERS:
        if adapter.name == name:
            return adapter
    return Adapter(name=name, formats=(GoogleRpcFormat(), GenericFormat()))
