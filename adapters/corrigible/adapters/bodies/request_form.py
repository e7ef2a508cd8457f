"""What is wrong with the form of a request's body: media type, charset, coding, JSON that is none.

Knows: media types, which of them an operation takes. Does not know: values, why a server refused.

Of an XML body is read whether it is well-formed. Documents with a document type are not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.rules.budget import spend
from corrigible.rules.pointer import MISSING
from corrigible.rules.safety.json_text import repaired_json
from corrigible.rules.schema_repair.body import (
    BOUNDARY,
    CHARSET,
    CODING,
    FORM,
    MALFORMED,
    MALFORMED_XML,
    MEDIA_TYPE,
    TEXT,
    is_json,
)
from corrigible.rules.schema_repair.json_schema import types
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Json, Request

_BYTES_A_STEP: Final = 256
_ENCODING: Final = re.compile(r"\s*<\?xml[^>]{0,200}encoding=[\"'](?!utf-?8[\"']|us-ascii[\"'])", re.IGNORECASE)


class Fault(NamedTuple):
    """Where a document is not well-formed."""

    line: int
    column: int


class _Unread(Exception):
    """The document is none that is read."""


def is_xml(media: str) -> bool:
    return media in ("application/xml", "text/xml") or media.endswith("+xml")


def xml_fault(text: str) -> Fault | None:
    """Return where a document is broken; None where it is not, or is not read."""
    if "\ufffd" in text or _ENCODING.match(text) is not None:
        return None  # its octets are not at hand
    spend(1 + len(text) // _BYTES_A_STEP)
    from xml.parsers import expat  # 1 MB, which few APIs need

    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise _Unread

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as problem:
        return Fault(problem.lineno, problem.offset + 1)
    except (_Unread, ValueError):
        return None
    return None


_CHARSET: Final = re.compile(r"(?i);\s*charset\s*=\s*\"?([\w.:-]{1,40})")
MULTIPART: Final = "multipart/form-data"
_CONTENT_TYPE: Final = "/headers/content-type"
_BOUNDARY: Final = "boundary="
_OCTETS: Final = "application/octet-stream"
_OPENING: Final = re.compile(r"--([\w'()+,./:=?-]{1,70})\r?\n(?i:content-disposition):")
_GZIP: Final = ("\x1f\ufffd", "\x1f\x8b")
"""How gzip begins where it is read as text."""


def body_form_violation(
    request: Request, documented: Mapping[str, Json], accepted: Sequence[str] = (), *, is_refused: bool = False
) -> SchemaViolation | None:
    """Return what is wrong with the form of a body, None where nothing is or there is no body.

    `documented` has the media types of the operation, each with its schema; `accepted` are those that the answer itself
    lists: they beat the description. `is_refused` says that the server did not take the media type that was sent: plain
    octets are then one as any other.
    """
    body = request.body
    if body is None:
        return None
    header = request.headers.get("content-type", "")
    media = header.partition(";")[0].strip().lower() or (FORM if request.form else "")
    if isinstance(body, str) and body.startswith(_GZIP) and "content-encoding" not in request.headers:
        return SchemaViolation("/headers/content-encoding", CODING, {"type": "string", "enum": ["gzip"]})
    if "content-encoding" in request.headers and isinstance(body, str) and _begins_json(body):
        # What was compressed as its header says is no text any more.
        return SchemaViolation("/headers/content-encoding", CODING, {}, request.headers["content-encoding"])
    if media == MULTIPART and isinstance(body, str):
        opening = _OPENING.match(body)
        closed = opening is not None and body.rstrip().endswith(f"--{opening[1]}--")
        if opening is None or not closed:
            return None if _BOUNDARY in header else SchemaViolation(_CONTENT_TYPE, BOUNDARY, {}, header)
        named = {"const": f"{MULTIPART}; boundary={opening[1]}"}
        return None if header == named["const"] else SchemaViolation(_CONTENT_TYPE, BOUNDARY, named, header)
    if is_json_as_form(request) and (jsons := {name: one for name, one in documented.items() if is_json(name)}):
        return SchemaViolation(_CONTENT_TYPE, MEDIA_TYPE, {"enum": [*jsons], "properties": jsons}, media)
    taken = [*accepted] or [*documented]
    is_strict = is_refused and isinstance(body, str) and media != _OCTETS
    if taken and not any(_includes(one, media) and not (is_strict and one == _OCTETS) for one in taken):
        schemas = {name: documented[name] for name in taken if name in documented}
        if accepted:
            usual = next((schema for name, schema in documented.items() if is_json(name)), None)
            schemas |= {name: usual for name in taken if is_json(name) and name not in schemas and usual is not None}
        sent: Json = media or MISSING
        return SchemaViolation("/headers/content-type", MEDIA_TYPE, {"enum": taken, "properties": schemas}, sent)
    charset = _CHARSET.search(header)
    if charset is not None and charset[1].lower() not in ("utf-8", "utf8", "us-ascii") and not isinstance(body, str):
        return SchemaViolation("/headers/content-type", CHARSET, {}, header)
    if isinstance(body, str) and is_xml(media) and (fault := xml_fault(body)) is not None:
        return SchemaViolation("/body", MALFORMED_XML, fault._asdict(), body)
    if isinstance(body, str) and is_json(media):
        schema = documented.get(media, next((one for name, one in documented.items() if is_json(name)), {}))
        is_json_inside = _begins_json(body) and isinstance(repaired_json(body), dict | list)
        if request.is_json_text and not is_json_inside:
            is_wrong = isinstance(schema, Mapping) and bool(types(schema)) and not _takes_text(schema)
            return SchemaViolation("/body", TEXT, schema, body) if is_wrong else None
        if _begins_json(body) or not _takes_text(schema):
            return SchemaViolation("/body", MALFORMED, schema if isinstance(schema, Mapping) else {}, body)
    return None


def is_json_as_form(request: Request) -> bool:
    """Whether a body is a JSON object or a list under the media type of forms, which some clients have by default."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return media == FORM and not request.form and isinstance(request.body, dict | list)


def _begins_json(text: str) -> bool:
    return text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[")


def _takes_text(schema: Json) -> bool:
    return isinstance(schema, Mapping) and "string" in (schema.get("type"), *(schema.get("type") or ()))


def _includes(taken: str, media: str) -> bool:
    """Whether a media type that is taken, or a range of them, includes another. Plain octets may be a file of any."""
    if taken in ("*/*", _OCTETS, media):
        return True
    kind, _, rest = taken.partition("/")
    return rest == "*" and media.startswith(f"{kind}/")
