"""APIs that answer inside an envelope, mostly with status 200: what is common to all of one kind, whoever made them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from corrigible.adapters.base import Adapter
from corrigible.adapters.formats.graphql import GRAPHQL
from corrigible.adapters.formats.mcp import MCP


def _posted(method: str, path: str, headers: Mapping[str, str]) -> bool:
    """Both put questions as JSON in a POST, and refuse in the JSON of the answer."""
    return method == "POST" and headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


ENVELOPED: Final[Mapping[str, Adapter]] = {
    "graphql": Adapter(name="graphql", formats=(GRAPHQL,), may_refuse=_posted, placement="graphql"),
    "mcp": Adapter(name="mcp", formats=(MCP,), may_refuse=_posted, placement="mcp"),
}
"""By the word for them in `dialect` of a pack."""
