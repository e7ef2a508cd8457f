"""google.rpc.Status: over gRPC, and as the JSON of its gateways (grpc-gateway, Google APIs, Connect).

Sources: google/rpc/status.proto, error_details.proto, code.proto; buf/validate/validate.proto (Violations);
twitchtv.github.io/twirp "Errors"; connectrpc.com "Protocol reference".
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from corrigible.rules.pointer import MISSING, escape, resolve, value_at
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Protocol

from corrigible.adapters.reader.statement import complete
from .keywords import fit_keywords
from .message.limits import limits_in
from .message.told_code import written_code

CODES: Final = (
    *("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS"),
    *("PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED"),
    *("INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"),
)
"""By number."""

ABOUT_THE_REQUEST: Final = frozenset(
    {"INVALID_ARGUMENT", "OUT_OF_RANGE", "NOT_FOUND", "ALREADY_EXISTS", "UNKNOWN", "INTERNAL"}
)
"""Codes whose text may name a place of the request; UNKNOWN and INTERNAL are what servers send that choose none."""

_NO_CODE: Final = frozenset({"UNKNOWN", "INTERNAL"})
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

    def __init__(self, *, reads_prose: bool = False) -> None:
        """`reads_prose` for APIs whose sentences nobody knows: places and limits are read from the text, too."""
        self._reads_prose = reads_prose

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        errors = self._read(exchange, body)
        if not self._reads_prose:
            return errors
        return [
            one
            for error in errors
            for one in (_of_prose(error, exchange) if error.type in ABOUT_THE_REQUEST else [error])
        ]

    def _read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        status = _status(body)
        if status is None:
            return ()
        code, written, message, details = status
        native: dict[str, Json] = {"status_code": code, "top": message}
        placed: list[Violation] = []
        for detail in details:
            kind = _detail_kind(detail)
            members = _detail_members(detail)
            placed += _violations(kind, members, code, exchange)
            native.update(_facts(kind, members))
        placed = placed or [
            Violation(
                field_message.rule or code,
                field_message.message,
                pointer_of_field(field_message.field, exchange),
                field_message.rule,
                code,
                field_message.field,
            )
            for field_message in field_messages(message)
        ]
        if not placed:
            placed = [Violation(code=native.get("reason") or code, message=message, type=code)]
        spelling: dict[str, Json] = {"written_code": written} if written != code else {}
        return [
            one._replace(native={**native, **(spelling if one.code == code else {}), **one.native}) for one in placed
        ]


def _of_prose(error: Violation, exchange: Exchange) -> list[Violation]:
    """Return an error with what its text says."""
    if error.native.get("detail") == "Violations" or (error.pointer and field_messages(str(error.native["top"]))):
        return [_with_rule(error, exchange)]
    if (inner := _text_inside(error.message)) and not error.pointer:
        error = error._replace(message=inner)
    if not error.pointer:
        error = error._replace(message=_PLURAL.sub("s", _TAGS.sub("", error.message, count=1)))
    if error.type in _NO_CODE and (code := written_code(error.message)):
        error = error._replace(type=code)  # what reads the text leaves it out
    out = complete(error._replace(code=""))
    if len(out) == 1 and _is_about_two(out[0], error, exchange):
        return [error]
    return [one._replace(code=one.code or error.code) for one in out]


def _text_inside(message: str) -> str:
    """Return the sentence of a message that is a JSON object, or has it in quotes, as services print exceptions."""
    if (printed := _PRINTED.search(message[:_LONGEST_TEXT])) is not None:
        return printed["text"]
    if message[:1] != "{" or len(message) > _LONGEST_TEXT:
        return ""
    try:
        document = orjson.loads(message)
    except orjson.JSONDecodeError:
        return ""
    texts = [document[name] for name in _SENTENCES if isinstance(document.get(name), str)]
    return texts[0] if texts else ""


_PRINTED: Final = re.compile(
    r"\b(?i:exception|error)\b.{0,200}\b(?i:err(?:or)?_?(?:msg|message)) ?[=:] ?\"(?P<text>[^\"\n]{3,500})\"\W*$"
)
"""An exception with where it was thrown, and then what it says."""
_TAGS: Final = re.compile(r"(?:\[[^\[\]\n]{1,80}: ?[^\[\]\n]{1,80}\] )+(?=\S)")
"""What logs have before a sentence: `[request id: 7] `."""
_PLURAL: Final = re.compile(r"(?<=[a-z])\(s\)")
_SENTENCES: Final = ("message", "detail", "error_description", "msg", "error", "reason", "description")


def _with_rule(error: Violation, exchange: Exchange) -> Violation:
    """Return an error of a validator with what its rule states. Descriptors have the rule; OpenAPI seldom does."""
    keyword = _RULES.get(error.constraint.rpartition(".")[2])
    if exchange.request.protocol is Protocol.GRPC or keyword is None:
        return error
    stated = {name: limit for name, limit in limits_in(error.message).items() if name in keyword}
    if isinstance(listed := stated.pop("enum", None), list) and len(listed) == 1:
        stated["const"] = listed[0]
    return error._replace(stated=fit_keywords(stated, value_at(exchange.request, error.pointer)))


_BOUNDS: Final = {"gte": "minimum", "gt": "exclusiveMinimum", "lte": "maximum", "lt": "exclusiveMaximum"}
_RULES: Final[Mapping[str, tuple[str, ...]]] = {
    "const": ("enum",),
    **{rule: (keyword,) for rule, keyword in _BOUNDS.items()},
    **{f"{low}_{high}": (_BOUNDS[low], _BOUNDS[high]) for low in ("gt", "gte") for high in ("lt", "lte")},
    **dict.fromkeys(("min_len", "max_len", "min_bytes", "max_bytes", "len"), ("minLength", "maxLength")),
    **dict.fromkeys(("min_items", "max_items"), ("minItems", "maxItems")),
}
"""By the last part of a rule's id: the keywords that its message may state."""


def _is_about_two(read: Violation, error: Violation, exchange: Exchange) -> bool:
    """Whether a text that only mentions members mentions two: `end must be after start`."""
    body = exchange.request.body
    if error.pointer or not read.pointer or read.constraint or read.stated or not isinstance(body, dict):
        return False
    words = set(re.findall(r"\w+", error.message[:_LONGEST_TEXT]))
    return len(words & {str(name) for name in body}) > 1


def _status(body: Json) -> tuple[str, str, str, list[Mapping[str, Json]]] | None:
    """Return the code's name, the code as it is written, message and details; None where the body is no status."""
    if isinstance(body, list) and len(body) == 1:
        body = body[0]  # a stream that ended before its first message, as gateways write it
    inner = body.get("error") if isinstance(body, dict) and isinstance(body.get("error"), dict) else body
    if not isinstance(inner, dict):
        return None
    details = inner.get("details")
    message = inner.get("message", inner.get("msg"))
    code = inner.get("status") if isinstance(inner.get("status"), str) else inner.get("code")
    written = str(code)
    if isinstance(code, int) and not isinstance(code, bool) and 0 < code < len(CODES):
        code = CODES[code]
    if not isinstance(code, str) or not isinstance(message, str | None):
        return None
    code = "CANCELLED" if code == "canceled" else code.upper()
    if code not in CODES:
        return None
    listed: list[Mapping[str, Json]] = (
        [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []
    )
    meta = inner.get("meta")
    if isinstance(meta, dict) and isinstance(meta.get("argument"), str):  # Twirp
        listed.append({"@type": "google.rpc.BadRequest.FieldViolation", "field": meta["argument"]})
    return code, written, message or "", listed


def _detail_kind(detail: Mapping[str, Json]) -> str:
    """Return which well-known message a detail is, however its type is written (`google.rpc.badrequest-bin`)."""
    members = _detail_type(detail).removesuffix("-bin")
    name = members.removeprefix("google.rpc.").replace("_", "").replace(".", "").lower()
    return _PARTS.get(name.removeprefix("bufvalidate"), "")


def _detail_members(detail: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return a detail's members; Connect has them under `debug`, or only their bytes."""
    debug, value = detail.get("debug"), detail.get("value")
    if isinstance(debug, dict):
        return debug
    if isinstance(value, str):
        try:
            data = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
        except (binascii.Error, ValueError):
            return detail
        from corrigible.adapters.protobuf.error_details import decoded  # protobuf takes 3 MB: few APIs send bytes

        return decoded(_detail_type(detail), data) or detail
    return detail


def _detail_type(detail: Mapping[str, Json]) -> str:
    return str(detail.get("@type") or detail.get("type") or "").rpartition("/")[2]


def _violations(kind: str, members: Mapping[str, Json], code: str, exchange: Exchange) -> Iterator[Violation]:
    match kind:
        case "BadRequest" | "BadRequest.FieldViolation":
            for violation in _maps(members.get("fieldViolations") or members.get("field_violations") or [members]):
                field = str(violation.get("field") or "")
                if field or violation.get("description"):
                    yield Violation(
                        code=str(violation.get("reason") or code),
                        message=str(violation.get("description") or ""),
                        pointer=pointer_of_field(field, exchange),
                        type=code,
                        param=field,
                    )
        case "PreconditionFailure" | "QuotaFailure":
            for violation in _maps(members.get("violations")):
                yield Violation(
                    code=str(violation.get("type") or violation.get("quotaId") or code),
                    message=str(violation.get("description") or ""),
                    type=code,
                    param=str(violation.get("subject") or ""),
                    native={"detail": kind, **_kept_members(violation)},
                )
        case "Violations":
            for violation in _maps(members.get("violations")):
                yield _broken(violation, code, exchange)


def _broken(members: Mapping[str, Json], code: str, exchange: Exchange) -> Violation:
    """Read one violation of protovalidate: its field is a path of elements."""
    field = members.get("field")
    steps = _maps(field.get("elements")) if isinstance(field, dict) else []
    pointer = "/body" if steps else ""
    for step in steps:
        pointer = _member(pointer, str(step.get("fieldName") or step.get("field_name") or ""), exchange)
        if _is_oneof(step) and exchange.request.protocol is Protocol.HTTP:
            pointer = pointer.rpartition("/")[0]
        for name in ("index", "stringKey", "intKey", "uintKey", "boolKey"):
            if name in step:
                pointer += "/" + escape(str(step[name]).lower() if name == "boolKey" else str(step[name]))
    dotted = pointer.removeprefix("/body/").replace("/", ".")
    if exchange.request.body is None and dotted in exchange.request.query:
        pointer = f"/query/{escape(dotted)}"  # a gateway's parameter for a field of a field
    older = members.get("fieldPath") or members.get("field_path")
    if not steps and isinstance(older, str):
        pointer = pointer_of_field(older, exchange)
    rule = str(members.get("ruleId") or members.get("rule_id") or members.get("constraintId") or "")
    for_key = members.get("forKey") is True or members.get("for_key") is True
    return Violation(
        code=rule or code,
        message=str(members.get("message") or ""),
        pointer=pointer,
        constraint=rule,
        type=code,
        param=pointer.removeprefix("/body/").replace("/", "."),
        native={"detail": "Violations", "for_key": for_key},
    )


def _is_oneof(step: Mapping[str, Json]) -> bool:
    """Whether a step is the name of a oneof, which has no number: in JSON there are only its members."""
    return not (step.get("fieldNumber") or step.get("field_number"))


def _facts(kind: str, members: Mapping[str, Json]) -> dict[str, Json]:
    match kind:
        case "ErrorInfo":
            return {name: members[name] for name in ("reason", "domain", "metadata") if name in members}
        case "RetryInfo":
            delay = _DURATION.fullmatch(str(members.get("retryDelay") or members.get("retry_delay") or ""))
            return {"retry_delay": float(delay[1])} if delay else {}
        case "ResourceInfo":
            return {"resource": _kept_members(members)}
        case "Help":
            return {"links": [link["url"] for link in _maps(members.get("links")) if isinstance(link.get("url"), str)]}
        case _:
            return {}


class FieldMessage(NamedTuple):
    """The part of a message that is about one field, where the message has a known form."""

    field: str
    message: str
    rule: str = ""


_NAMED: Final = re.compile(
    r"^(?:validation errors?:)?[ \t]*(?:- )?"
    r"(?P<field>[A-Za-z_][\w.]*(?:\[[^\[\]\n]{0,80}\][\w.]*)*): "
    r"(?P<message>[^\n]{1,500}?)(?: \[(?P<rule>[a-z_][\w./]*)\])?$",
    re.MULTILINE,
)
_INVALID: Final = re.compile(r"invalid [A-Z]\w*\.([A-Z]\w*(?:\[[^\[\]]{0,80}\])?): ")


def field_messages(message: str) -> list[FieldMessage]:
    """Return the fields that a message names as protovalidate or protoc-gen-validate do; none where it is prose."""
    if message.startswith(("validation error:", "validation errors:")):
        return [
            FieldMessage(match["field"], match["message"], match["rule"] or "") for match in _NAMED.finditer(message)
        ]
    out: list[FieldMessage] = []
    for part in re.split(r"; (?=invalid [A-Z]\w*\.)", message) if message.startswith("invalid ") else ():
        # "invalid Order.Item: embedded message failed validation | caused by: invalid Item.UnitPrice: value must"
        path = [match[1] for match in _INVALID.finditer(part)]
        if path:
            field = ".".join(name[0].lower() + name[1:] for name in path)
            out.append(FieldMessage(field, part.rpartition(f"{path[-1]}: ")[2].partition(" | caused by: ")[0]))
    return out


def _kept_members(members: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in members.items() if not name.startswith("@")}


def _maps(value: Any) -> list[Mapping[str, Json]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def pointer_of_field(field: str, exchange: Exchange) -> str:
    """Turn `parent.items[1].sku`, `labels["a.b"]` or `items.1.sku` into a pointer into the message; empty for none."""
    if not field or len(field) > _LONGEST or not isinstance(exchange.request.body, dict | None):
        return ""
    pointer, end = "/body", 0
    field = _below_request(field, exchange)
    for match in _STEP.finditer(field):
        if field[end : match.start()].strip(".") or any(mark in match[0] for mark in " \n"):
            return ""  # prose, no path
        end = match.end()
        key = next((part for part in match.groups()[:3] if part is not None), None)
        if not _NAME.fullmatch(match[4] if key is None else key) and not _is_present(
            pointer, key or match[4], exchange
        ):
            return ""  # no name, and none that the caller uses
        pointer = f"{pointer}/{escape(key)}" if key is not None else _member(pointer, match[4], exchange)
    return pointer if not field[end:].strip(".") else ""


def _below_request(field: str, exchange: Exchange) -> str:
    """Leave out the name of the request itself, where a path begins with that: `request.email`."""
    head, _, rest = field.partition(".")
    body = exchange.request.body
    if not rest or not isinstance(body, dict) or not re.fullmatch(r"(?i)\w*(?:request|req|input|message|body)", head):
        return field
    return field if any(name in body for name in _spellings(head)) else rest


_LONGEST_TEXT: Final = 2000
_LONGEST: Final = 512
_NAME: Final = re.compile(r"(?!.*//)[\w$*@+./-]{0,128}", re.ASCII)


def _is_present(parent: str, name: str, exchange: Exchange) -> bool:
    return resolve({"body": exchange.request.body}, f"{parent}/{escape(name)}") is not MISSING


def _member(parent: str, name: str, exchange: Exchange) -> str:
    """Return where a field is: proto-JSON writes `unit_price` as `unitPrice`, and what was sent decides."""
    document = {"body": exchange.request.body}
    for spelled in _spellings(name):
        if resolve(document, f"{parent}/{escape(spelled)}") is not MISSING:
            return f"{parent}/{escape(spelled)}"
    return f"{parent}/{escape(_spellings(name)[0])}"


def _spellings(name: str) -> tuple[str, str]:
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name), name
