"""One rule of a pack, evaluated for one error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from corrigible.rules.engine.evaluate import RuleEvaluation, RuleResult
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.rules.pack.load import load_pack
from corrigible.schema.exchange import Request

WritePack = Callable[..., Path]


ITEMS = {"items": {"properties": {"id": {"maxLength": 9}}}}


MANIFEST = """\
lookups: ["/v1/things/{id}", /v1/things]
idempotency_header: Idempotency-Key
secret_parameters: [cvc]
actions:
  PICK_BRAND: {base_action: MODIFY_PARAMS, description: Take another brand.}
"""


REQUEST = Request("POST", "/v1/x", body={"thing": "t_1", "amount": 500, "items": [{"id": "a"}], "cvc": "1234"})


KEYED = Request("POST", "/v1/x", headers={"idempotency-key": "k"}, body={"amount": 500})


def consider(
    folder: Path,
    request: Request = REQUEST,
    answers: Mapping[str, LookupAnswer] | None = None,
    notes: list[str] | None = None,
    message: str = "",
) -> tuple[RuleResult | None, list[str]]:
    """Let the only rule of a pack speak; return what it said and the paths it asked for."""
    pack = load_pack(folder)
    (rule,) = pack.rules
    scope: dict[str, Any] = {
        "body": request.body or {},
        "spec": {
            "properties": {"unit": {"type": "string"}, "items": {"items": {"properties": {"id": {"maxLength": 9}}}}}
        },
        "request": {"method": request.method, "path": request.path, "query": request.query, "headers": {}}
        | {"body": request.body or {}},
        "error": {"code": "", "message": message, "pointer": "", "constraint": "", "type": "", "param": ""},
        "captures": {},
        "tables": pack.tables,
        "exchange": {"id": "e1", "started": 0.0},
    }
    asked: list[str] = []
    going = RuleEvaluation(rule, request, scope, pack.settings, "1.", notes).run()
    try:
        wanted = next(going)
        while True:
            assert isinstance(wanted, Lookup)
            asked.append(wanted.path)
            wanted = going.send((answers or {}).get(wanted.path, LookupAnswer(0)))
    except StopIteration as done:
        return done.value, asked


def result(folder: Path, request: Request = REQUEST, **more: Any) -> RuleResult:
    evaluated, _ = consider(folder, request, **more)
    assert evaluated is not None
    return evaluated


def entry(text: str) -> str:
    return f"suggest:\n  - {{message: m, {text}}}\n"


MODIFY = entry("action: MODIFY_PARAMS, parameters: {amount: 300}")
