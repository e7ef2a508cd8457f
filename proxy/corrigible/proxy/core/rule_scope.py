"""The names that expressions of rules see, of one refusal.

Knows: a refusal, its description. Does not know: rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corrigible.adapters.base import Described
from corrigible.schema.exchange import Exchange, Json

from .api_profile import RefusalCase


def scope_of(case: RefusalCase, description: Described | None) -> dict[str, Any]:
    """Return the names that expressions of rules see."""
    exchange, match, request = case.exchange, case.match, case.request
    facts: Json = None
    if match.operation and match.profile.adapter.facts is not None:
        facts = match.profile.adapter.facts(match.operation)
    elif match.operation and description is not None:
        facts = description.facts(match.operation)
    query, headers = _plain(request.query), _plain(request.headers)
    return {
        "body": request.body if isinstance(request.body, dict) else {},
        "query": query,
        "headers": headers,
        "request": {
            "method": request.method,
            "path": request.path,
            "query": query,
            "headers": headers,
            "body": {} if request.body is None else request.body,
        },
        "response": {"status": exchange.status, "headers": _plain(exchange.headers), "body": case.text},
        "errors": [{**error.scope(), "number": number} for number, error in enumerate(case.errors)],
        "captures": {},
        "tables": _plain(case.pack.tables),
        "params": _plain(match.params),
        "operation": match.operation,
        "spec": facts or {},
    }


def _plain(values: Mapping[str, Json]) -> dict[str, Json]:
    """Return a mapping as expressions take maps: whoever hands in an exchange may have one of another type."""
    return values if type(values) is dict else dict(values)


def told_apart(exchange: Exchange) -> dict[str, Json]:
    """Return what tells an exchange from others that are the same: who looks at it is answered for this one alone."""
    return {"id": exchange.id, "started": exchange.started, "elapsed": exchange.elapsed}
