"""Envoy's log line of an exchange, and the entry that it becomes.

Knows: the operators of Envoy's access log, entries. Does not know: processes, who reads entries.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any, Final

from corrigible.proxy.access_log.entry import Entry

from .local_replies import REQUEST_LATE
from .told_entry import with_told

FORMAT: Final[Mapping[str, str]] = {
    "started": "%START_TIME(%s.%6f)%",
    "milliseconds": "%DURATION%",
    "method": "%REQ(:METHOD)%",
    "path": "%REQ(:PATH)%",
    "target": "%DYNAMIC_METADATA(corrigible:target)%",
    "status": "%RESPONSE_CODE%",
    "grpc": "%GRPC_STATUS_NUMBER%",
    "message": "%RESP(grpc-message)%",
    "flags": "%RESPONSE_FLAGS%",
    "details": "%RESPONSE_CODE_DETAILS%",
    "failure": "%UPSTREAM_TRANSPORT_FAILURE_REASON%",
    "type": "%RESP(content-type)%",
    "length": "%RESP(content-length)%",
    "prefer": "%REQ(prefer)%",
    "traceparent": "%REQ(traceparent)%",
    "reason": "%DYNAMIC_METADATA(corrigible:reason)%",
    "entry": "%DYNAMIC_METADATA(corrigible:entry)%",
}
_FAILURES: Final = {
    "UF": "no connection to the upstream",
    "UH": "no connection to the upstream",
    "UC": "the upstream closed the connection without an answer",
    "UR": "the upstream closed the connection without an answer",
    "UPE": "the upstream's answer is not valid HTTP",
    "UT": "the upstream did not answer in time",
}
_LATE: Final = dict.fromkeys(("request_header_timeout", "request_overall_timeout"), REQUEST_LATE)
_CALLER_GONE: Final = frozenset({"DC", "DR"})
_HTTP: Final = {1: 499, 2: 500, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 10: 409, 11: 400, 12: 501} | {
    13: 500,
    14: 503,
    15: 500,
    16: 401,
}
"""google/rpc/code.proto, "HTTP Mapping"."""
_NAMES: Final = (
    "CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED "
    "RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS "
    "UNAUTHENTICATED"
)
_CODES: Final = dict(enumerate(_NAMES.split(), 1))


def fields_of(line: bytes) -> dict[str, Any]:
    """Return the members of a line; those that Envoy has no value for are left out. Raises ValueError."""
    document = json.loads(line)
    if not isinstance(document, dict):
        raise ValueError("not an object")
    return {name: value for name, value in document.items() if value not in (None, "-", "")}


def entry_of(fields: Mapping[str, Any], *, is_grpc: bool = False) -> Entry:
    """Return the entry of an exchange. Raises ValueError if the line is not of this format."""
    status = int(fields.get("status", 0)) or None
    code = int(fields.get("grpc", 0)) if is_grpc else 0
    if code:
        status = _HTTP.get(code, 500)
    flags = str(fields.get("flags", "")).split(",")
    if "SI" in flags and status == 504:
        flags.append("UT")
    failure = next((text for flag, text in _FAILURES.items() if flag in flags), None)
    if failure is not None and fields.get("failure"):
        failure = f"{failure}: {fields['failure']}"
    is_gone = not _CALLER_GONE.isdisjoint(flags)
    late = _LATE.get(str(fields.get("details"))) if status == 408 else None
    entry = Entry(
        time=float(fields["started"]),
        id="" if "entry" in fields else uuid.uuid4().hex,  # a corrector tells its own
        method="GRPC" if is_grpc else str(fields.get("method", "")),
        path=str(fields.get("target") or fields.get("path", "")),
        status=None if is_gone or failure is not None else status,
        outcome="failed" if is_gone or failure is not None else "untouched",
        milliseconds=float(fields.get("milliseconds", 0)),
        reason=late or fields.get("reason"),
        error="the caller went away" if is_gone else None,
        code=_CODES.get(code),
        failure=failure,
        traceparent=fields.get("traceparent"),
    )
    return with_told(entry, fields["entry"]) if "entry" in fields else entry
