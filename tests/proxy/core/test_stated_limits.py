"""What the answer states about a place is in the schema of the question about that place, without a description too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Exchange, Request

WritePack = Callable[..., Path]
ITEM = {
    "type": "less_than_equal",
    "loc": ["body", "quantity"],
    "msg": "Input should be less than or equal to 100",
    "ctx": {"le": 100},
}


def asked(packs: list[Path]) -> dict[str, Any]:
    request = Request("POST", "/orders", body={"quantity": 250, "other": 1})
    body = json.dumps({"detail": [ITEM]}).encode()
    exchange = Exchange(request, 422, {"content-type": "application/json"}, body)
    decision = run_with_lookups_sync(build_engine(packs).decide(exchange), lambda _: LookupAnswer(0))
    assert isinstance(decision, Annotate)
    placeholders = decision.feedback["suggestions"][0]["placeholders"]
    return {one["pointer"]: one["schema"] for one in placeholders}
