"""Repairs of a body as a whole: its media type, its charset, its coding, and JSON that is none.

A body is only written anew where that loses nothing: a form as JSON of the described types, JSON without a comma too
many. What the caller has to write anew is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from corrigible.rules.functions.edits import Operation
from corrigible.rules.pointer import MISSING
from corrigible.rules.safety.json_text import JsonFault, closed_json, fault, repaired_json
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Request

from .first_violation import first_violation, is_fully_checked
from .json_schema import Schema, member, types
from .patch_kind import MERGE_PATCH, as_json_patch, as_merge_patch, is_json_patch, is_json_patch_media
from .repair import Repair
from .rewriting import may_be_repeated
from .schema_violation import SchemaViolation
from .suggestion import Proposal, Suggestion, ask, edit
from .trim_schema import trim_schema
from .wire_text import read

MALFORMED: Final = "contentJson"
"""The body is a text, and should be JSON. The schema is that of the body."""
TEXT: Final = "jsonText"
"""The body is JSON, and a text where something else is expected. The schema is that of the body."""
MALFORMED_XML: Final = "contentXml"
"""The body is XML that is not well-formed. The schema has the `line` and the `column`."""
MEDIA_TYPE: Final = "contentMediaType"
"""The media type is none that is taken. The schema has those that are: `enum`, and in `properties` what each takes."""
DESCRIBED: Final = "x-described"
"""In that schema: those of the media types that an answer lists which the description has, too."""
CHARSET: Final = "contentCharset"
"""The media type is taken, in another charset."""
CODING: Final = "contentEncoding"
"""The body is not compressed as its header says, or in a coding that is not taken."""
BOUNDARY: Final = "contentBoundary"
"""A multipart body under a media type that does not name its boundary. The schema has the right media type: `const`."""
FORM: Final = "application/x-www-form-urlencoded"
_CONTENT_TYPE: Final = "/headers/content-type"
_OCTETS: Final = "application/octet-stream"
"""What any content may be called."""


class _Converted(NamedTuple):
    media: str
    body: Json
    """MISSING where the body stays."""
    schema: Schema


def repair_body(violation: SchemaViolation, request: Request, group: str) -> Repair:
    """Return the suggestions for a body that cannot be read as it was sent."""
    match violation.keyword:
        case "contentJson":
            return _malformed(violation, request)
        case "jsonText":
            return _text(violation, request)
        case "contentXml":
            where = f"line {violation.schema['line']}, column {violation.schema['column']}"
            question = _agent(
                ask(violation, request, f"Send well-formed XML. Look at {where}.", schema={"type": "string"})
            )
            return _repair(question, f"The body is no well-formed XML: {where}.", "MALFORMED_XML")
        case "contentMediaType":
            diagnosis = "The server does not take a body of this media type."
            return _repair(_of_media_type(violation, request), diagnosis, "UNSUPPORTED_MEDIA_TYPE")
        case "contentBoundary":
            diagnosis = "The Content-Type of the multipart body does not name the boundary that the body has."
            return _repair(_of_boundary(violation, request), diagnosis, "MULTIPART_BOUNDARY")
        case "contentCharset":
            return _repair(_of_charset(violation, request), "The body is not in UTF-8.", "UNSUPPORTED_CHARSET")
        case _:
            diagnosis = "The body is not in the coding that its header says, or the server does not take that coding."
            return _repair(_of_coding(violation, request), diagnosis, "UNSUPPORTED_CONTENT_ENCODING")


def _repair(proposal: Proposal, diagnosis: str, code: str) -> Repair:
    return Repair(tuple(proposal.suggestions), proposal.type, diagnosis, code, proposal.recovery)


def _malformed(violation: SchemaViolation, request: Request) -> Repair:
    text = str(violation.value)
    where = fault(text)
    diagnosis = "The body is no valid JSON."
    if where is not None:
        diagnosis = f"The body is no valid JSON: line {where.line}, column {where.column}."
    value = repaired_json(text)
    if where is None and isinstance(value, dict | list) and "\ufffd" not in text:
        message = "Send the JSON itself, not a text that holds it."
        diagnosis = "The body is a text that holds JSON."
    else:
        message = "Send the same values as valid JSON."
    readable = isinstance(value, dict | list) and "\ufffd" not in text
    if readable and may_be_repeated(value):
        ops: list[Operation] = [{"op": "replace", "path": "/body", "value": value}]
        proposal = Proposal([edit(violation, request, ops, message, verified=_verified(value, violation.schema))])
    else:
        if "\ufffd" in text:
            message = "Send the body as JSON in UTF-8."
        elif where is not None and readable and _is_after_comma(text, where):
            message = f"Send the same text without the comma before line {where.line}, column {where.column}."
        elif where is not None:
            message = f"Send valid JSON. At line {where.line}, column {where.column} {where.expected} is expected."
        else:
            message = "Send valid JSON."
        places = [("/body", trim_schema(violation.schema))]
        proposal = _agent(ask(violation, request, message, places=places))
        if (closed := _closed(violation, request, text)) is not None:
            proposal = Proposal([closed, *proposal.suggestions])
    return _repair(proposal, diagnosis, "MALFORMED_JSON")


def _closed(violation: SchemaViolation, request: Request, text: str) -> Suggestion | None:
    """Return the body with what closes it, if only that is missing: it may have been cut, so it is confirmed."""
    closed = closed_json(text) if "\ufffd" not in text else None
    if closed is None or not may_be_repeated(closed.value):
        return None
    ops: list[Operation] = [{"op": "replace", "path": "/body", "value": closed.value}]
    message = f"Send the same values with {closed.closers} at the end, if nothing else was to follow."
    verified = _verified(closed.value, violation.schema)
    return edit(violation, request, ops, message, requires_confirmation=True, verified=verified)


def _text(violation: SchemaViolation, request: Request) -> Repair:
    wanted = " or ".join(_NAMES.get(kind, kind) for kind in types(violation.schema))
    places = [("/body", trim_schema(violation.schema))]
    proposal = _agent(ask(violation, request, f"Send {wanted} as the body, not a text.", places=places))
    return _repair(proposal, f"The body is valid JSON, but a text. The operation takes {wanted}.", "WRONG_BODY_TYPE")


_NAMES: Final = {"object": "an object", "array": "a list", "integer": "an integer", "number": "a number"} | {
    "boolean": "true or false"
}


def _is_after_comma(text: str, where: JsonFault) -> bool:
    """Whether a text ends an object or a list behind a comma there: who holds a secret in it can leave that out."""
    lines = text.split("\n")[: where.line]
    before = "\n".join([*lines[:-1], lines[-1][: where.column - 1]])
    return before.rstrip().endswith(",") and lines[-1][where.column - 1 : where.column] in ("}", "]")


def _of_media_type(violation: SchemaViolation, request: Request) -> Proposal:
    taken = [str(one) for one in violation.schema["enum"]]
    schemas = violation.schema.get("properties") or {}
    fits = [one for media in taken if (one := _converted(request, media, schemas.get(media))) is not None]
    chosen = next((one for one in fits if one.media == "application/json"), fits[0] if len(fits) == 1 else None)
    same = [one for one in fits if one.body is MISSING]
    if chosen is None and len(same) == 1:
        chosen = same[0]
    described = violation.schema.get(DESCRIBED)
    if chosen is None and isinstance(described, list) and len(described) == 1:
        chosen = next((one for one in same if one.media == described[0]), None)
    if chosen is None:
        types = [one.media for one in fits] or taken
        message = "Send the body in a media type that the server takes."
        return _agent(ask(violation, request, message, schema={"type": "string", "enum": types}))
    ops: list[Operation] = [{"op": "add", "path": _CONTENT_TYPE, "value": chosen.media}]
    if chosen.body is MISSING or (request.body is chosen.body and not may_be_repeated(chosen.body)):
        message = "Send the same body under the media type that the server takes."
        return Proposal([edit(violation, request, ops, message)])
    values = "Send the same values in the media type that the server takes."
    if not may_be_repeated(chosen.body) or not may_be_repeated(request.body):
        if chosen.media == FORM and chosen.body == request.body:  # all texts: the document stays, no secret is repeated
            return Proposal([edit(violation, request, ops, values)])
        message = "Send the same body in the media type that the server takes."
        return _agent(ask(violation, request, message, schema={"type": "string", "enum": [chosen.media]}))
    ops.append({"op": "replace", "path": "/body", "value": chosen.body})
    verified = _verified(chosen.body, chosen.schema)
    return Proposal([edit(violation, request, ops, values, verified=verified)])


def _converted(request: Request, media: str, schema: Json) -> _Converted | None:
    """Return the body as one of a media type, None where something would be lost or has to be guessed."""
    schema = schema if isinstance(schema, Mapping) else {}
    body = request.body
    if request.files:
        return None  # their content is not at hand
    if media == FORM:
        if not isinstance(body, Mapping) or any(not _fits_form(value, request) for value in body.values()):
            return None
        if request.form:
            return _Converted(media, MISSING, schema)  # as a multipart body it holds the same texts
        return _Converted(media, {name: scalar_text(value) for name, value in body.items()}, schema)
    if media == _OCTETS and isinstance(body, str):
        return _Converted(media, MISSING, schema)
    if not is_json(media):
        return None
    if isinstance(body, str):
        body = repaired_json(body)
    if not isinstance(body, dict | list):
        return None
    is_patch = is_json_patch_media(media)
    if is_patch and isinstance(body, dict):
        patch = as_json_patch(body) if request.method == "PATCH" and not request.form else None
        return None if patch is None else _Converted(media, patch, schema)
    if not is_patch and is_json_patch(body) and request.method == "PATCH":
        merge = as_merge_patch(body)
        return None if merge is None or "array" in types(schema) else _Converted(media, merge, schema)
    if isinstance(body, list) and media == MERGE_PATCH:
        return None
    if is_patch and not is_json_patch(body):
        return None
    if not request.form or isinstance(body, list):
        return _Converted(media, MISSING if request.body is body and _is_sent_as_json(request) else body, schema)
    if any("[" in name for name in body):
        return None  # a name that has no place in an object
    typed = {name: read(value, member([schema], name, schema), schema) for name, value in body.items()}
    return _Converted(media, typed, schema)


def _fits_form(value: Json, request: Request) -> bool:
    """Whether a form holds a value: a form has no null and no objects, and a list only as a text that is sent often."""
    if isinstance(value, list):
        return request.form and all(isinstance(item, str) for item in value)
    return value is not None and not isinstance(value, dict)


def _is_sent_as_json(request: Request) -> bool:
    """Whether the caller holds the body as JSON: under another media type it may be a text to it."""
    return is_json(request.headers.get("content-type", "").partition(";")[0].strip().lower())


def is_json(media: str) -> bool:
    """Whether a media type, without its parameters, is JSON."""
    return media == "application/json" or media.endswith("+json") or is_json_patch_media(media)


def _of_boundary(violation: SchemaViolation, request: Request) -> Proposal:
    message = "Let the HTTP client write the Content-Type of a multipart body: it knows the boundary."
    media = violation.schema.get("const")
    if not isinstance(media, str):
        return _agent(ask(violation, request, message, schema={"type": "string", "pattern": "boundary="}))
    ops: list[Operation] = [{"op": "replace", "path": _CONTENT_TYPE, "value": media}]
    return Proposal([edit(violation, request, ops, message)])


def _of_charset(violation: SchemaViolation, request: Request) -> Proposal:
    media = str(violation.value).partition(";")[0].strip()
    ops: list[Operation] = [{"op": "add", "path": _CONTENT_TYPE, "value": media}]
    return Proposal([edit(violation, request, ops, "Send the same body in UTF-8, and say no other charset.")])


def _of_coding(violation: SchemaViolation, request: Request) -> Proposal:
    if violation.value is MISSING:
        message = "Say that the body is compressed, or send it uncompressed."
        return _agent(ask(violation, request, message, schema=violation.schema))
    ops: list[Operation] = [{"op": "remove", "path": violation.pointer}]
    return Proposal([edit(violation, request, ops, "Send the same body uncompressed, and say no coding.")])


def _agent(proposal: Proposal) -> Proposal:
    """Return a question for what the agent itself may write: it is about the form, not about the facts."""
    for suggestion in proposal.suggestions:
        for placeholder in suggestion["placeholders"]:
            placeholder["ask"] = "agent"
    return proposal


def _verified(value: Json, schema: Schema) -> bool | None:
    return is_fully_checked(schema) and first_violation(value, schema) is None if schema else None
