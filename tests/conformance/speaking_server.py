"""A GraphQL API and an MCP server that return feedback themselves: the vectors' responses.

Nobody has to write rules for them, so they show that the checks of these two profiles can be passed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

from corrigible.conformance.model.vector import Exchange, exchange
from corrigible.conformance.reference.upstream import Received, Script, answer
from corrigible.conformance.transport.http1 import request_document
from corrigible.schema.exchange import Json
from corrigible.schema.feedback import MEMBER

PROFILES: Final = ("graphql", "mcp")
_NO_SUCH: Final = answer(404, {"message": "this server knows the requests of the vectors only"})


class Speaking:
    """Answers the requests of the vectors of one profile as they say, with feedback that they allow."""

    def __init__(self, profile: str) -> None:
        place = {"graphql": _in_extensions, "mcp": _in_result}[profile]
        self._answers = {
            _key(vector.request.document()): answer(
                vector.answer["status"], place(_copied(vector.answer["body"]), list(_said(vector)))
            )
            for vector in exchange(profile)
        }

    def __call__(self, received: Received) -> Script:
        return self._answers.get(_key(request_document(received.sent).document()), _NO_SUCH)


def _key(document: Mapping[str, Json]) -> str:
    return json.dumps([document["method"], document["path"], document["body"]], sort_keys=True)


def _copied(value: Json) -> Any:
    return json.loads(json.dumps(value))


_PLAIN: Final[Mapping[str, Json]] = {"parameters": {}, "evidence": {"kind": "spec", "pointer": "/"}}


def _said(vector: Exchange) -> Iterator[dict[str, Json]]:
    """Yield the suggestions that lead to the first next request of a vector, one for each edit; else a question."""
    following = next((way["next"] for way in vector.allowed if "next" in way), None)
    if following is not None:
        for pointer, old, new in _edits({"body": vector.request.body}, {"body": following["body"]}):
            patch = [{"op": "test", "path": pointer, "value": old}, {"op": "replace", "path": pointer, "value": new}]
            yield {"action": "MODIFY_PARAMS", "message": "Send this value.", **_PLAIN, "patch": patch}
    elif any(way.get("needs_input") for way in vector.allowed):
        asked = [{"pointer": "/body", "ask": "user", "schema": {"type": "object"}}]
        yield {
            "action": "MODIFY_PARAMS",
            "message": "Ask for what is missing.",
            **_PLAIN,
            "applicability": "HAS_PLACEHOLDERS",
            "placeholders": asked,
        }


def _edits(old: Json, new: Json, pointer: str = "") -> Iterator[tuple[str, Json, Json]]:
    """Yield each place where two documents of the same shape differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name, value in old.items():
            yield from _edits(value, new.get(name), f"{pointer}/{name}")
    elif old != new or type(old) is not type(new):
        yield pointer, old, new


def _feedback(suggestions: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    return {"type": "recovery_guidance", "message": "A value is wrong or missing.", "suggestions": list(suggestions)}


def _in_extensions(body: dict[str, Any], suggestions: list[dict[str, Json]]) -> Json:
    """Give each error the suggestion about it, in their order."""
    for error, suggestion in zip_longest(body["errors"], suggestions):
        if error is not None and suggestion is not None:
            error.setdefault("extensions", {})[MEMBER] = _feedback([suggestion])
    return body


def _in_result(body: dict[str, Any], suggestions: list[dict[str, Json]]) -> Json:
    if not suggestions:
        return body
    if "error" in body:
        body["error"].setdefault("data", {})[MEMBER] = _feedback(suggestions)
    else:
        body["result"]["content"].append({"type": "text", "text": json.dumps({MEMBER: _feedback(suggestions)})})
    return body
