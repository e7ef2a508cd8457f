"""google.rpc.Status: over gRPC, and as the JSON of its gateways (grpc-gateway, Google APIs, Connect).

Source: google/rpc/status.proto, error_details.proto, code.proto; buf/validate/validate.proto (Violations).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from corrigible.rules.pointer import MISSING, escape, resolve
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json

CODES: Final = (
    *("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS"),
    *("PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED"),
    *("INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"),
)
"""By number."""

_DURATION: Final = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)s")
_STEP: Final = re.compile(r"\[(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|([^\[\]\"']*))\]|([^.\[\]]+)")
_PARTS: Final = {
    "badrequest": "BadRequest",
    "badrequestfieldviolation": "BadRequest.FieldViolation",  # packed by itself by misbehaving servers
    "preconditionfailure": "PreconditionFailure",
    "quotafailure": "QuotaFailure",
    "errorinfo": "ErrorInfo",
    "retryinfo": "RetryInfo",
    "resourceinfo": "ResourceInfo",
    "violations": "Violations",
    "help": "Help",
    "localizedmessage": "LocalizedMessage",
}


class GoogleRpcFormat:
    """Reads a status and its well-known details."""

    name = "google.rpc"

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        status = _status(body)
        if status is None:
            return ()
        code, message, details = status
        native: dict[str, Json] = {"status_code": code, "top": message}
        placed: list[Violation] = []
        for detail in details:
            kind = _kind(detail)
            placed += _violations(kind, detail, code, exchange)
            native.update(_facts(kind, detail))
        if not placed:
            return [Violation(code=native.get("reason") or code, message=message, type=code, native=native)]
        return [one._replace(native={**native, **one.native}) for one in placed]


def _status(body: Json) -> tuple[str, str, list[Mapping[str, Json]]] | None:
    """Return the code's name, the message and the details; None where the body is no status."""
    inner = body.get("error") if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping) else body
    if not isinstance(inner, Mapping):
        return None
    details = inner.get("details")
    message = inner.get("message")
    code = inner.get("status") if isinstance(inner.get("status"), str) else inner.get("code")
    if isinstance(code, int) and not isinstance(code, bool) and 0 < code < len(CODES):
        code = CODES[code]
    if not isinstance(code, str) or code.upper() not in CODES or not isinstance(message, str | None):
        return None
    listed = [one for one in details if isinstance(one, Mapping)] if isinstance(details, list) else []
    return code.upper(), message or "", listed


def _kind(detail: Mapping[str, Json]) -> str:
    """Return which well-known message a detail is, however its type is written (`google.rpc.badrequest-bin`)."""
    said = str(detail.get("@type") or detail.get("type") or "").rpartition("/")[2].removesuffix("-bin")
    name = said.removeprefix("google.rpc.").replace("_", "").replace(".", "").lower()
    return _PARTS.get(name.removeprefix("bufvalidate"), "")


def _members(detail: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return a detail's members; Connect has them under `debug`."""
    debug = detail.get("debug")
    return debug if isinstance(debug, Mapping) else detail


def _violations(kind: str, detail: Mapping[str, Json], code: str, exchange: Exchange) -> Iterator[Violation]:
    said = _members(detail)
    match kind:
        case "BadRequest" | "BadRequest.FieldViolation":
            for one in _maps(said.get("fieldViolations") or said.get("field_violations") or [said]):
                field = str(one.get("field") or "")
                if field or one.get("description"):
                    yield Violation(
                        code=str(one.get("reason") or code),
                        message=str(one.get("description") or ""),
                        pointer=pointer_of_field(field, exchange),
                        type=code,
                        param=field,
                    )
        case "PreconditionFailure" | "QuotaFailure":
            for one in _maps(said.get("violations")):
                yield Violation(
                    code=str(one.get("type") or one.get("quotaId") or code),
                    message=str(one.get("description") or ""),
                    type=code,
                    param=str(one.get("subject") or ""),
                    native={"detail": kind, **_kept(one)},
                )
        case "Violations":
            for one in _maps(said.get("violations")):
                yield _broken(one, code, exchange)


def _broken(said: Mapping[str, Json], code: str, exchange: Exchange) -> Violation:
    """Read one violation of protovalidate: its field is a path of elements."""
    field = said.get("field")
    steps = _maps(field.get("elements")) if isinstance(field, Mapping) else []
    pointer = "/body" if steps else ""
    for step in steps:
        pointer = _member(pointer, str(step.get("fieldName") or step.get("field_name") or ""), exchange)
        for name in ("index", "stringKey", "intKey", "uintKey", "boolKey"):
            if name in step:
                pointer += "/" + escape(str(step[name]).lower() if name == "boolKey" else str(step[name]))
    rule = str(said.get("ruleId") or said.get("rule_id") or said.get("constraintId") or "")
    for_key = said.get("forKey") is True or said.get("for_key") is True
    return Violation(
        code=rule or code,
        message=str(said.get("message") or ""),
        pointer=pointer,
        constraint=rule,
        type=code,
        param=pointer.removeprefix("/body/").replace("/", "."),
        native={"detail": "Violations", "for_key": for_key},
    )


def _facts(kind: str, detail: Mapping[str, Json]) -> dict[str, Json]:
    said = _members(detail)
    match kind:
        case "ErrorInfo":
            return {name: said[name] for name in ("reason", "domain", "metadata") if name in said}
        case "RetryInfo":
            delay = _DURATION.fullmatch(str(said.get("retryDelay") or said.get("retry_delay") or ""))
            return {"retry_delay": float(delay[1])} if delay else {}
        case "ResourceInfo":
            return {"resource": _kept(said)}
        case "Help":
            return {"links": [one["url"] for one in _maps(said.get("links")) if isinstance(one.get("url"), str)]}
        case _:
            return {}


def _kept(said: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in said.items() if not name.startswith("@")}


def _maps(value: Any) -> list[Mapping[str, Json]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def pointer_of_field(field: str, exchange: Exchange) -> str:
    """Turn `parent.items[1].sku`, `labels["a.b"]` or `items.1.sku` into a pointer into the message; empty for none."""
    if not field or len(field) > _LONGEST or not isinstance(exchange.request.body, Mapping | None):
        return ""
    pointer, end = "/body", 0
    for found in _STEP.finditer(field):
        if field[end : found.start()].strip(".") or any(mark in found[0] for mark in " \n"):
            return ""  # prose, no path
        end = found.end()
        key = next((part for part in found.groups()[:3] if part is not None), None)
        pointer = f"{pointer}/{escape(key)}" if key is not None else _member(pointer, found[4], exchange)
    return pointer if not field[end:].strip(".") else ""


_LONGEST: Final = 512


def _member(parent: str, name: str, exchange: Exchange) -> str:
    """Return where a field is: proto-JSON writes `unit_price` as `unitPrice`, and what was sent decides."""
    camel = re.sub(r"_([a-z0-9])", lambda found: found[1].upper(), name)
    document = {"body": exchange.request.body}
    for spelled in (camel, name):
        if resolve(document, f"{parent}/{escape(spelled)}") is not MISSING:
            return f"{parent}/{escape(spelled)}"
    return f"{parent}/{escape(camel)}"
