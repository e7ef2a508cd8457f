"""google.rpc.Status: over gRPC, and as the JSON of its gateways (grpc-gateway, Google APIs, Connect).

Sources: google/rpc/status.proto, error_details.proto, code.proto; buf/validate/validate.proto (Violations);
twitchtv.github.io/twirp "Errors"; connectrpc.com "Protocol reference".
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.rules.pointer import MISSING, escape, segments, value_at
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Protocol

from .error_shapes import TABLES, names
from .generic import completed
from .members import Members, beside, folded, text
from .pointers import without_foreign_step

CODES: Final = names("codes_of_google")
"""By number."""

ABOUT_THE_REQUEST: Final = frozenset(
    {"INVALID_ARGUMENT", "OUT_OF_RANGE", "NOT_FOUND", "ALREADY_EXISTS", "UNKNOWN", "INTERNAL"}
)
"""Codes whose text may name a place of the request; UNKNOWN and INTERNAL are what servers send that choose none."""


class Detail(NamedTuple):
    """Where a well-known detail keeps what it says: a row of `details` in `shapes.toml`."""

    listed: str = ""
    """The member with its violations; where it is not there, the detail is one itself."""
    code: str = ""
    text: str = "description"
    place: str = ""
    subject: str = ""
    facts: str = ""
    """Members that are facts about the whole refusal."""
    name: str = ""
    """What rules of packs see as `error.detail`."""


DETAILS: Final[Mapping[str, Detail]] = {kind: Detail(**row) for kind, row in TABLES["details"].items()}
_DURATION: Final = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)s")
_STEP: Final = re.compile(r"\[(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|([^\[\]\"']*))\]|([^.\[\]]+)")
_NAME: Final = re.compile(r"(?!.*//)[\w$*@+./-]{0,128}", re.ASCII)
_LONGEST: Final = 512


class _Status(NamedTuple):
    code: str
    written: str
    """The code as it is written."""
    message: str
    details: Sequence[Members]


class GoogleRpcFormat:
    """Reads a status and its well-known details."""

    name = "google.rpc"

    def __init__(self, *, reads_prose: bool = False) -> None:
        """`reads_prose` for APIs whose sentences nobody knows: places and limits are read from the text, too."""
        self._reads_prose = reads_prose

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        status = _status(body)
        if status is None:
            return ()
        errors = _errors(status, exchange)
        if not self._reads_prose or status.code not in ABOUT_THE_REQUEST:
            return errors
        return [one for error in errors for one in _of_prose(error, exchange)]


def _status(body: Json) -> _Status | None:
    """Return the status that an answer is; None where it is none."""
    if isinstance(body, list) and len(body) == 1:
        body = body[0]  # a stream that ended before its first message, as gateways write it
    inner = body.get("error") if isinstance(body, dict) and isinstance(body.get("error"), dict) else body
    if not isinstance(inner, dict):
        return None
    details, meta = inner.get("details"), inner.get("meta")
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
    listed = _objects(details)
    if isinstance(meta, dict) and isinstance(meta.get("argument"), str):  # Twirp
        listed = [*listed, {"@type": "google.rpc.BadRequest.FieldViolation", "field": meta["argument"]}]
    return _Status(code, written, message or "", listed)


def _errors(status: _Status, exchange: Exchange) -> list[Violation]:
    """Return the errors of the details, else the status itself."""
    native: dict[str, Json] = {"status_code": status.code, "top": status.message}
    placed: list[Violation] = []
    around: list[tuple[Members, str]] = []
    for written in status.details:
        kind = _kind(written)
        members = _members(written)
        native.update(_facts(kind, members))
        placed += _violations(kind, members, status.code, exchange)
        around.append((members, "violations"))
    if not placed and status.message == native.get("reason"):
        status = status._replace(message=_text_of(native.get("metadata")) or status.message)
    placed = placed or [Violation(text(native, "reason") or status.code, status.message, type=status.code)]
    native["members"] = beside(around, (status.message,))
    spelling: dict[str, Json] = {"written_code": status.written} if status.written != status.code else {}
    return [
        one._replace(native={**native, **(spelling if one.code == status.code else {}), **one.native}) for one in placed
    ]


def _text_of(metadata: Json) -> str:
    """Return the one sentence in the facts of an ErrorInfo, where the status itself has the reason for a message."""
    facts = metadata.values() if isinstance(metadata, Mapping) else ()
    sentences = [one for one in facts if isinstance(one, str) and " " in one.strip()]
    return sentences[0] if len(sentences) == 1 else ""


def _of_prose(error: Violation, exchange: Exchange) -> list[Violation]:
    """Return an error with what its text says."""
    if error.native.get("detail") == "Violations":
        return [error]
    told = completed([error._replace(code="")], exchange.request)
    return [one._replace(code=one.code or error.code, type=error.type) for one in told]


def _kind(detail: Members) -> str:
    """Return which well-known message a detail is, however its type is written (`google.rpc.badrequest-bin`)."""
    name = _type(detail).removesuffix("-bin").removeprefix("google.rpc.").replace("_", "").replace(".", "").lower()
    return name.removeprefix("bufvalidate")


def _type(detail: Members) -> str:
    return str(detail.get("@type") or detail.get("type") or "").rpartition("/")[2]


def _members(detail: Members) -> Members:
    """Return a detail's members; Connect has them under `debug`, or only their bytes."""
    debug, value = detail.get("debug"), detail.get("value")
    if isinstance(debug, dict):
        return debug
    if isinstance(value, str):
        try:
            data = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
        except (binascii.Error, ValueError):
            return detail
        from corrigible.adapters.protobuf.descriptors import decoded  # protobuf takes 3 MB: few APIs send bytes

        return decoded(_type(detail), data) or detail
    return {name: value for name, value in detail.items() if not name.startswith("@")}


def _facts(kind: str, members: Members) -> dict[str, Json]:
    """Return what a detail says of the whole refusal."""
    told = folded(members)
    facts = {name: told[name] for name in DETAILS.get(kind, Detail()).facts.split() if name in told}
    if kind == "resourceinfo":
        return {"resource": dict(members)}
    if kind == "retryinfo":
        delay = _DURATION.fullmatch(str(facts.get("retrydelay", "")))
        return {"retry_delay": float(delay[1])} if delay else {}
    if kind == "help":
        return {"links": [link["url"] for link in _objects(facts.get("links")) if isinstance(link.get("url"), str)]}
    return facts


def _violations(kind: str, members: Members, code: str, exchange: Exchange) -> Iterator[Violation]:
    row = DETAILS.get(kind, Detail())
    listed = folded(members).get(row.listed)
    for one in (_objects(listed) or ([members] if row.place and not listed else [])) if row.listed else ():
        told = folded(one)
        message, place = text(told, row.text), told.get(row.place)
        own = text(told, *row.code.split()) or code
        if kind == "violations":
            yield _broken(told, own, message, code, exchange)
        elif row.place and (place or message):
            field = str(place or "")
            pointer = without_foreign_step(pointer_of_field(field, exchange), "", exchange.request)
            native = {"told_place": list(segments(pointer)[1:])} if pointer else {}
            yield Violation(own, message, pointer, type=code, param=field, native=native)
        elif not row.place:
            facts = {"detail": row.name, **one}
            yield Violation(own, message, type=code, param=text(told, row.subject), native=facts)


def _broken(told: Members, rule: str, message: str, code: str, exchange: Exchange) -> Violation:
    """Read one violation of protovalidate: its field is a path of elements."""
    field, older = told.get("field"), told.get("fieldpath")
    steps = [folded(step) for step in _objects(field.get("elements"))] if isinstance(field, dict) else []
    pointer = "/body" if steps else ""
    for step in steps:
        pointer = _member(pointer, text(step, "fieldname"), exchange)
        if not step.get("fieldnumber") and exchange.request.protocol is Protocol.HTTP:
            pointer = pointer.rpartition("/")[0]  # a oneof has no number: in JSON there are only its members
        for name in ("index", "stringkey", "intkey", "uintkey", "boolkey"):
            if name in step:
                pointer += "/" + escape(str(step[name]).lower() if name == "boolkey" else str(step[name]))
    dotted = pointer.removeprefix("/body/").replace("/", ".")
    if exchange.request.body is None and dotted in exchange.request.query:
        pointer = f"/query/{escape(dotted)}"  # a gateway's parameter for a field of a field
    if not steps and isinstance(older, str):
        pointer = pointer_of_field(older, exchange)
    return Violation(
        code=rule,
        message=message,
        pointer=pointer,
        constraint=rule if rule != code else "",
        type=code,
        param=pointer.removeprefix("/body/").replace("/", "."),
        native={"detail": DETAILS["violations"].name, "for_key": told.get("forkey") is True},
    )


def _objects(value: Json) -> list[Members]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def pointer_of_field(field: str, exchange: Exchange) -> str:
    """Turn `parent.items[1].sku`, `labels["a.b"]` or `items.1.sku` into a pointer into the message; empty for none."""
    if not field or len(field) > _LONGEST or not isinstance(exchange.request.body, dict | None):
        return ""
    pointer, end = "/body", 0
    for match in _STEP.finditer(field):
        if field[end : match.start()].strip(".") or any(mark in match[0] for mark in " \n"):
            return ""  # prose, no path
        end = match.end()
        key = next((part for part in match.groups()[:3] if part is not None), None)
        name = match[4] if key is None else key
        is_sent = value_at(exchange.request, f"{pointer}/{escape(name)}") is not MISSING
        if not is_sent and not _NAME.fullmatch(name):
            return ""  # no name, and none that the caller uses
        pointer = f"{pointer}/{escape(key)}" if key is not None else _member(pointer, name, exchange)
    return pointer if not field[end:].strip(".") else ""


def _member(parent: str, name: str, exchange: Exchange) -> str:
    """Return where a field is: proto-JSON writes `unit_price` as `unitPrice`, and what was sent decides."""
    spelled = _spellings(name)
    there = [one for one in spelled if value_at(exchange.request, f"{parent}/{escape(one)}") is not MISSING]
    return f"{parent}/{escape((there or spelled)[0])}"


def _spellings(name: str) -> Sequence[str]:
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name), name
