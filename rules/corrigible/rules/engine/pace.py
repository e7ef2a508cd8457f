"""How soon, and how, a request may be repeated."""

from __future__ import annotations

from collections.abc import Mapping

from corrigible.schema.exchange import Json

_LONGEST_WAIT = 10**9


def is_wait(seconds: Json) -> bool:
    """Whether it is a number of seconds to come: headers may say anything."""
    return type(seconds) in (int, float) and 0 <= seconds <= _LONGEST_WAIT


def slower(one: Mapping[str, Json] | None, other: Mapping[str, Json]) -> dict[str, Json]:
    """Fold two paces into the more careful one."""
    if one is None:
        return dict(other)
    longer = float(other.get("after_seconds") or 0) > float(one.get("after_seconds") or 0)
    out = dict(other if longer else one)
    out["same_request"] = bool(one.get("same_request") and other.get("same_request"))
    if "new" in (one.get("idempotency_key"), other.get("idempotency_key")):
        out["idempotency_key"] = "new"
    return out
