"""Puts feedback into answers that are envelopes: in the errors of GraphQL, in JSON-RPC errors and tool results.

None of them has room for members of ours beside their own, so that verbose mode adds nothing.

Feedback in the JSON that gateways make of a gRPC status: one more of its `details`, with an `@type`.

Source: google/rpc/status.proto; AIP-193 ("error": {"code", "message", "status", "details"}); grpc-gateway's errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from corrigible.proxy.core.decision import Annotate
from corrigible.rules.violation import Violation
from corrigible.schema.carrier import find
from corrigible.schema.exchange import Json

from .json_splice import MEMBER, splice

_NAME = MEMBER.encode()


def in_graphql(native: bytes, decision: Annotate) -> bytes | None:
    """Put what is suggested about each error into its extensions."""
    parsed = decision.body
    if not isinstance(parsed, dict) or find(parsed) is not None:
        return None
    additions: dict[str, list[bytes]] = {}
    places = _errors(parsed)
    for at, feedback in _each(decision, len(places)):
        error = parsed["errors"][places[at]]
        piece = _piece(_NAME, orjson.dumps(feedback))
        if isinstance(error.get("extensions"), dict):
            additions[f"/errors/{places[at]}/extensions"] = [piece]
        elif "extensions" not in error:
            additions[f"/errors/{places[at]}"] = [_piece(b"extensions", b"{" + piece + b"}")]
    return splice(native, parsed, additions) if additions else None


def _errors(parsed: Mapping[str, Any]) -> list[int]:
    """Return which of the errors are such: the format reads these, in this order."""
    errors = parsed["errors"]
    return [i for i, error in enumerate(errors) if isinstance(error, dict) and isinstance(error.get("message"), str)]


def _each(decision: Annotate, errors: int) -> Iterator[tuple[int, Mapping[str, Json]]]:
    """Yield the feedback of each error, by its number: with the suggestions that edit or ask for what it names.

    What is terminal, or names nothing that an error does, goes to the first one.
    """
    feedback = orjson.loads(decision.encoded)
    per_error: dict[int, list[Json]] = {}
    for suggestion in feedback["suggestions"]:
        per_error.setdefault(_about(suggestion, decision.errors[:errors]), []).append(suggestion)
    for number, some in sorted(per_error.items()):
        yield number, {**feedback, "suggestions": some}


def _about(suggestion: Mapping[str, Json], violations: Sequence[Violation]) -> int:
    paths = [str(edit["path"]) for edit in suggestion.get("patch", ())]
    paths += [str(placeholder["pointer"]) for placeholder in suggestion.get("placeholders", ())]
    for number, violation in enumerate(violations):
        if violation.pointer and any(f"{path}/".startswith(f"{violation.pointer}/") for path in paths):
            return number
    return 0


def in_mcp(native: bytes, decision: Annotate) -> bytes | None:
    """Put feedback into the data of a JSON-RPC error, or behind the content of a tool result as text."""
    parsed = decision.body
    if not isinstance(parsed, dict) or find(parsed) is not None:
        return None
    member = _piece(_NAME, decision.encoded)
    error, result = parsed.get("error"), parsed.get("result")
    if isinstance(error, dict):
        data = error.get("data", {})
        if not isinstance(data, dict):
            return None
        if "data" in error:
            return splice(native, parsed, {"/error/data": [member]})
        return splice(native, parsed, {"/error": [_piece(b"data", b"{" + member + b"}")]})
    if isinstance(result, dict) and isinstance(result.get("content"), list):
        text = (b"{" + member + b"}").decode()
        return splice(native, parsed, {"/result/content": [orjson.dumps({"type": "text", "text": text})]})
    return None


def _piece(name: bytes, value: bytes) -> bytes:
    return b'"' + name + b'":' + value


_TYPE = "type.googleapis.com/"


def details_of(parsed: Mapping[str, Json]) -> str | None:
    """Return where the details of a status in JSON are, None where the answer is none."""
    for pointer, status in (("/error", parsed.get("error")), ("", parsed)):
        if not isinstance(status, dict) or not isinstance(status.get("message"), str):
            continue
        details = status.get("details")
        typed = isinstance(details, list) and all(isinstance(detail, dict) and "@type" in detail for detail in details)
        if typed and isinstance(status.get("code"), int):
            return f"{pointer}/details"
    return None


def detail(feedback: Mapping[str, Json]) -> bytes:
    """Return feedback as an Any in proto-JSON: what a client that knows the message can read back into one."""
    from google.protobuf import json_format  # 10 ms to import, for answers that few upstreams give

    from corrigible.schema.convert import to_proto
    from corrigible.schema.feedback import parse

    message = to_proto(parse(feedback))
    return orjson.dumps({"@type": _TYPE + message.DESCRIPTOR.full_name, **json_format.MessageToDict(message)})
