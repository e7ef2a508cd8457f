"""The adapters of this distribution, in one list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Final

from corrigible.adapters.formats.a2a_errors import A2A, CALLS
from corrigible.adapters.formats.generic import GenericFormat
from corrigible.adapters.formats.google_rpc import GoogleRpcFormat
from corrigible.adapters.formats.graphql_errors import GRAPHQL
from corrigible.adapters.formats.wrapped_calls import MCP

from .base import Adapter

_FOLDERS: Final[Mapping[str, str]] = {
    "recipe": "demo.recipe",
    "acme": "demo.acme",
    "stripe": "apis.stripe",
    "github": "apis.github",
    "kubernetes": "apis.kubernetes",
    "etcd": "apis.etcd",
}
"""An adapter is imported when it is asked for: most processes serve one API."""
ADAPTERS: Final = tuple(_FOLDERS)


def _is_json_post(method: str, path: str, headers: Mapping[str, str]) -> bool:
    """GraphQL and MCP take calls as JSON in a POST, and refuse in the JSON of an answer with status 200."""
    return method == "POST" and headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


def _may_be_graphql(method: str, path: str, headers: Mapping[str, str]) -> bool:
    return method == "GET" or _is_json_post(method, path, headers)


_DIALECTS: Final[Mapping[str, Adapter]] = {
    "graphql": Adapter(name="graphql", formats=(GRAPHQL,), may_refuse=_may_be_graphql, placement="graphql"),
    "a2a": Adapter("a2a", (A2A,), may_refuse=_is_json_post, placement="mcp", description=lambda: CALLS),
    "mcp": Adapter(name="mcp", formats=(MCP,), may_refuse=_is_json_post, placement="mcp"),
}
"""By the `dialect` of a pack: APIs that answer inside an envelope, whoever made them."""


def adapter_for(name: str, dialect: str | None = None) -> Adapter:
    """Return the adapter of that name, or a generic one that reads the common error shapes.

    `dialect` is `a2a`, `graphql` or `mcp` where all answers of the API are of that kind.
    """
    if dialect is not None:
        return replace(_DIALECTS[dialect], name=name)
    if name in _FOLDERS:
        adapter: Adapter = import_module(f"corrigible.adapters.{_FOLDERS[name]}.adapter").ADAPTER
        return adapter
    return Adapter(name=name, formats=(GoogleRpcFormat(reads_prose=True), GenericFormat()), tells_places_loosely=True)
