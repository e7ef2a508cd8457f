"""Feedback in the JSON that gateways make of a gRPC status: one more of its `details`, with an `@type`.

Source: google/rpc/status.proto; AIP-193 ("error": {"code", "message", "status", "details"}); grpc-gateway's errors.
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from corrigible.schema.exchange import Json

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
