"""Errors of the Agent2Agent protocol 1.0: JSON-RPC whose `error.data` is a list of messages of google.rpc.

Source: the A2A specification, section 9.5. What is refused is the call inside: `params` is its body, and the error a
status of google.rpc with the list as its details.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson

from corrigible.adapters.base import InnerCall, Undescribed
from corrigible.rules.schema_repair.suggestion import Repair
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request

_PLACE: Final = "/body/params"
_REFUSED: Final[Mapping[str, tuple[int, int]]] = {
    **dict.fromkeys(("-32700", "-32600", "-32602"), (400, 3)),
    "-32603": (500, 13),
}
"""By the code of JSON-RPC: the status of HTTP and the code of google.rpc that say the same. Others are about state."""
_STATE: Final = (400, 9)
_NO_METHOD: Final = "-32601"


class A2aFormat:
    """`{"jsonrpc": "2.0", "error": {"code", "message", "data": [{"@type", ...}]}}`."""

    name = "a2a"

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        match body:
            case {"jsonrpc": _, "error": {"code": int() as code, "message": str() as message} as error}:
                data = error.get("data")
                details = [one for one in data if isinstance(one, dict)] if isinstance(data, list) else []
                reason = next((one["reason"] for one in details if isinstance(one.get("reason"), str)), "")
                return [Violation(str(code), message, type=reason, native={"details": details})]
        return ()


class A2aCalls(Undescribed):
    """What is known of every A2A server: a request is a call with parameters."""

    @property
    def dialect(self) -> str:
        return "a2a"

    def mended(self, request: Request, errors: Sequence[Violation], group: str) -> Repair | None:
        return None

    def cautioned(
        self, request: Request, errors: Sequence[Violation], body: Json, suggestions: Sequence[dict[str, Any]]
    ) -> Sequence[dict[str, Any]]:
        return suggestions

    def inner_call(self, exchange: Exchange, error: Violation) -> InnerCall | None:
        match exchange.request.body:
            case {"method": str() as method, "params": dict() as params} if error.code != _NO_METHOD:
                status, code = _REFUSED.get(error.code, _STATE)
                told = {"code": code, "message": _text(error), "details": error.native.get("details")}
                request = Request("POST", f"/{method}", body=params)
                headers = {"content-type": "application/json"}
                inner = replace(exchange, request=request, status=status, headers=headers, body=orjson.dumps(told))
                return InnerCall(inner, told, Undescribed(), _outward)
        return None


def _text(error: Violation) -> str:
    """Return the message of an error, with the only sentence that its ErrorInfo has beside it."""
    details = error.native.get("details")
    facts = [one.get("metadata") for one in details if isinstance(one, dict)] if isinstance(details, list) else []
    values = [value for one in facts if isinstance(one, dict) for value in one.values()]
    sentences = [one for one in values if isinstance(one, str) and " " in one.strip()]
    return f"{error.message}: {sentences[0]}" if len(sentences) == 1 else error.message


def _outward(suggestion: Mapping[str, Any]) -> dict[str, Json] | None:
    """Return a suggestion about the parameters as one about the request."""
    if suggestion.get("steps"):
        return None
    out = {**suggestion, "parameters": {}} if suggestion.get("patch") else dict(suggestion)
    for name, keys in (("patch", ("path", "from")), ("placeholders", ("pointer",))):
        if name in out:
            moved = [
                {key: one[key].replace("/body", _PLACE, 1) if key in keys else one[key] for key in one}
                for one in suggestion[name]
            ]
            if not all(str(one[key]).startswith(_PLACE) for one in moved for key in keys if key in one):
                return None
            out[name] = moved
    return out


A2A: Final = A2aFormat()
CALLS: Final = A2aCalls()
