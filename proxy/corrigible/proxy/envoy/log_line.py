"""Envoy's log line of an exchange, and the entry that it becomes. What is not logged, Envoy counts.

Knows: the operators of Envoy's access log, its page of statistics, entries. Does not know: processes, who reads them.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from typing import Any, Final

from corrigible.proxy.access_log.entry import Entry, Verdict
from corrigible.proxy.access_log.statistics import REQUEST_BUCKETS, Times

from .refusal_message import with_told

REQUEST_LATE: Final = "the request took too long"
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
STATS: Final = r"corrigible\.(count|ms)\."
"""What Envoy calls its own numbers of successes."""
COUNT: Final = "corrigible.count."
MILLISECONDS: Final = "corrigible.ms."
PASSED_CLASSES: Final = {"1xx": 100, "2xx": 200, "3xx": 300}
"""Of successes, with their first status."""
_NUMBER: Final = re.compile(
    r"^envoy_corrigible_(?P<kind>count|ms)_(?P<name>\dxx)(?P<part>_bucket|_sum|_count)?\{[^}]*\} (?P<value>\S+)$",
    re.MULTILINE,
)
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


def entry_of(fields: Mapping[str, Any], *, is_grpc: bool = False, api: str = "") -> Entry:
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
        failure = f"{failure}: {str(fields['failure']).replace('_', ' ')}"
    is_gone = not _CALLER_GONE.isdisjoint(flags)
    has_failed = is_gone or failure is not None
    late = _LATE.get(str(fields.get("details"))) if status == 408 else None
    entry = Entry(
        time=float(fields["started"]),
        id="" if "entry" in fields else uuid.uuid4().hex,  # a corrector tells its own
        method="GRPC" if is_grpc else str(fields.get("method", "")),
        path=str(fields.get("target") or fields.get("path", "")),
        status=None if has_failed and (status is None or status >= 400) else status,  # a success broke off
        outcome="failed" if has_failed else "untouched",
        milliseconds=float(fields.get("milliseconds", 0)),
        reason=late or fields.get("reason"),
        error="the caller went away" if is_gone else None,
        code=_CODES.get(code),
        failure=failure,
        traceparent=fields.get("traceparent"),
        api=api,
    )
    return with_told(entry, fields["entry"]) if "entry" in fields else entry


def passed_of(page: str) -> dict[str, Times]:
    """Return the successes that Envoy counted, by class of status: from its page of statistics for Prometheus."""
    found = {name: Times.of(REQUEST_BUCKETS) for name in PASSED_CLASSES}
    totals: dict[str, list[int]] = {name: [] for name in PASSED_CLASSES}
    for match in _NUMBER.finditer(page):
        name, value = match["name"], float(match["value"])
        if name not in found:
            continue
        match match["kind"], match["part"]:
            case "count", None:
                found[name].count = int(value)
            case "ms", "_bucket":
                totals[name].append(int(value))
            case "ms", "_sum":
                found[name].seconds = value / 1000
    for name, total in totals.items():
        if len(total) == len(found[name].classes):
            found[name].classes = [after - before for before, after in zip([0, *total[:-1]], total, strict=True)]
    return found


def passed_class(fields: Mapping[str, Any], entry: Entry, *, is_grpc: bool) -> str | None:
    """Return as what Envoy has counted an exchange among successes that is none: it broke off behind its head."""
    if entry.verdict is Verdict.SUCCESS or "entry" in fields or (is_grpc and str(fields.get("grpc")) != "0"):
        return None
    name = f"{int(fields.get('status', 0)) // 100}xx"
    return name if name in PASSED_CLASSES else None
