"""Repairs of a body as a whole, of a text that holds JSON, and of the media type of the answer.

A body is only written anew where that loses nothing: a form as JSON of the described types, JSON without a comma too
many. What the caller has to write anew is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import orjson

from corrigible.rules.functions.builtin import Operation
from corrigible.rules.pointer import MISSING
from corrigible.rules.safety.json_text import closed_json, fault, repaired_json
from corrigible.schema.document import scalar_text
from corrigible.schema.edit import after_edit
from corrigible.schema.exchange import Json, Request

from .first_violation import first_violation, is_fully_checked
from .json_schema import Schema, member, read, trim_schema, types
from .schema_violation import SAID, SchemaViolation
from .suggestion import (
    Proposal,
    Repair,
    Suggestion,
    ask,
    edit,
    guarded_edit,
    guarded_ops,
    may_be_repeated,
    options,
    repair_of,
)

MALFORMED: Final = "contentJson"
"""The body is a text, and should be JSON. The schema is that of the body."""
TEXT: Final = "jsonText"
"""The body is JSON, and a text where something else is expected. The schema is that of the body."""
MALFORMED_XML: Final = "contentXml"
"""The body is XML that is not well-formed. The schema has the `line` and the `column`."""
MEDIA_TYPE: Final = "contentMediaType"
"""The media type is none that is taken. The schema has those that are: `enum`, and in `properties` what each takes."""
CHARSET: Final = "contentCharset"
"""The media type is taken, in another charset."""
CODING: Final = "contentEncoding"
"""The body is not compressed as its header says, or in a coding that is not taken."""
BOUNDARY: Final = "contentBoundary"
"""A multipart body under a media type that does not name its boundary. The schema has the right media type: `const`."""
CONTENT: Final = "contentSchema"
"""A text holds JSON that does not fit, or that is none. The schema has `contentSchema`: the schema of what it holds."""

FORM: Final = "application/x-www-form-urlencoded"
JSON: Final = "application/json"
JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
ACCEPT: Final = "/headers/accept"
_CONTENT_TYPE: Final = "/headers/content-type"
_OCTETS: Final = "application/octet-stream"
"""What any content may be called."""
_NAMED: Final = re.compile(r"[^/]+/(?:.*[.-])?json-patch(?:\+json)?")
_IDEMPOTENT: Final = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
_MOST: Final = 5
_NAMES: Final = {"object": "an object", "array": "a list", "integer": "an integer", "number": "a number"} | {
    "boolean": "true or false"
}


def repair_body(violation: SchemaViolation, request: Request, group: str) -> Repair:
    """Return the suggestions for a body that cannot be read as it was sent."""
    diagnosis, code, message = SAID[violation.keyword]
    schema, about = violation.schema, ""
    match violation.keyword:
        case "contentJson":
            return _malformed(violation, request)
        case "contentMediaType":
            proposal = _of_media_type(violation, request)
        case "jsonText":
            about = " or ".join(_NAMES.get(kind, kind) for kind in types(schema))
            proposal = _of_body(violation, request, message.format(about))
        case "contentXml":
            about = f"line {schema['line']}, column {schema['column']}"
            proposal = ask(violation, request, message.format(about), schema={"type": "string"}, whom="agent")
        case "contentBoundary" if isinstance(media := schema.get("const"), str):
            proposal = _typed(violation, request, media, message)
        case "contentBoundary":
            boundary: Schema = {"type": "string", "pattern": "boundary="}
            proposal = ask(violation, request, message, schema=boundary, whom="agent")
        case "contentCharset":
            proposal = _typed(violation, request, str(violation.value).partition(";")[0].strip(), message)
        case _ if violation.value is MISSING:
            message = "Say that the body is compressed, or send it uncompressed."
            proposal = ask(violation, request, message, schema=schema, whom="agent")
        case _:
            proposal = Proposal([edit(violation, request, [{"op": "remove", "path": violation.pointer}], message)])
    return repair_of(proposal, diagnosis.format(about), code)


def _malformed(violation: SchemaViolation, request: Request) -> Repair:
    text = str(violation.value)
    where, value = fault(text), repaired_json(text)
    is_utf8 = "\ufffd" not in text
    readable = isinstance(value, dict | list) and is_utf8
    diagnosis, code, message = SAID[MALFORMED]
    if where is not None:
        diagnosis = f"The body is no valid JSON: line {where.line}, column {where.column}."
    elif readable:
        diagnosis = "The body is a text that holds JSON."
    if readable and may_be_repeated(value):
        message = message if where else "Send the JSON itself, not a text that holds it."
        ops: list[Operation] = [{"op": "replace", "path": "/body", "value": value}]
        proposal = Proposal([edit(violation, request, ops, message, verified=_verified(value, violation.schema))])
    else:
        proposal = _of_body(violation, request, _valid(text) if is_utf8 else "Send the body as JSON in UTF-8.")
        if is_utf8 and (closed := _closed(violation, request, text)) is not None:
            proposal = Proposal([closed, *proposal.suggestions])
    return repair_of(proposal, diagnosis, code)


def _of_body(violation: SchemaViolation, request: Request, message: str) -> Proposal:
    """Return the question for the whole body, which the agent itself may write."""
    return ask(violation, request, message, places=[("/body", trim_schema(violation.schema))], whom="agent")


def _valid(text: str) -> str:
    """Return what is said of a text that is no JSON."""
    where = fault(text)
    more = f" At line {where.line}, column {where.column} {where.expected} is expected." if where is not None else ""
    return f"Send valid JSON.{more}"


def _closed(violation: SchemaViolation, request: Request, text: str) -> Suggestion | None:
    """Return the body with what closes it, if only that is missing: it may have been cut, so it is confirmed."""
    closed = closed_json(text)
    if closed is None or not may_be_repeated(closed.value):
        return None
    ops: list[Operation] = [{"op": "replace", "path": "/body", "value": closed.value}]
    message = f"Send the same values with {closed.closers} at the end, if nothing else was to follow."
    verified = _verified(closed.value, violation.schema)
    return edit(violation, request, ops, message, requires_confirmation=True, verified=verified)


def _verified(value: Json, schema: Schema) -> bool | None:
    return is_fully_checked(schema) and first_violation(value, schema) is None if schema else None


def _typed(violation: SchemaViolation, request: Request, media: str, message: str) -> Proposal:
    return Proposal([edit(violation, request, [{"op": "add", "path": _CONTENT_TYPE, "value": media}], message)])


# Media types


class _Converted(NamedTuple):
    media: str
    body: Json
    """MISSING where the body stays."""
    schema: Schema


def is_json(media: str) -> bool:
    """Whether a media type, without its parameters, is JSON."""
    return media == JSON or media.endswith("+json") or is_json_patch_media(media)


def is_json_patch_media(media: str) -> bool:
    """Whether a media type, without its parameters, is RFC 6902's, or one that an API calls by that name."""
    return media == JSON_PATCH or _NAMED.fullmatch(media) is not None


def _of_media_type(violation: SchemaViolation, request: Request) -> Proposal:
    taken = [str(one) for one in violation.schema["enum"]]
    schemas = violation.schema.get("properties") or {}
    fits = [one for media in taken if (one := _converted(request, media, schemas.get(media))) is not None]
    same = [one for one in fits if one.body is MISSING]
    # JSON before the only one that fits, before the only one for the same body.
    ranked = ([one for one in fits if one.media == JSON][:1], fits, same)
    chosen = next((one[0] for one in ranked if len(one) == 1), None)
    if chosen is None:
        media_types: list[Json] = [one.media for one in fits] or [*taken]
        message = "Send the body in a media type that the server takes."
        return ask(violation, request, message, schema={"type": "string", "enum": media_types}, whom="agent")
    if chosen.body is MISSING or (request.body is chosen.body and not may_be_repeated(chosen.body)):
        message = "Send the same body under the media type that the server takes."
        return _typed(violation, request, chosen.media, message)
    values = "Send the same values in the media type that the server takes."
    if not may_be_repeated(chosen.body) or not may_be_repeated(request.body):
        if chosen.media == FORM and chosen.body == request.body:  # all texts: the document stays, no secret is repeated
            return _typed(violation, request, chosen.media, values)
        message = "Send the same body in the media type that the server takes."
        return ask(violation, request, message, schema={"type": "string", "enum": [chosen.media]}, whom="agent")
    ops: list[Operation] = [{"op": "add", "path": _CONTENT_TYPE, "value": chosen.media}]
    ops.append({"op": "replace", "path": "/body", "value": chosen.body})
    return Proposal([edit(violation, request, ops, values, verified=_verified(chosen.body, chosen.schema))])


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
    body = repaired_json(body) if isinstance(body, str) else body
    if not is_json(media) or not isinstance(body, dict | list):
        return None
    is_patch = is_json_patch(body)
    is_other_patch = not is_patch if is_json_patch_media(media) else is_patch and request.method == "PATCH"
    if is_other_patch or (isinstance(body, list) and media == MERGE_PATCH):
        return None
    if not request.form or isinstance(body, list):
        # Whether the caller holds the body as JSON: under another media type it may be a text to it.
        is_kept = request.body is body and is_json(
            request.headers.get("content-type", "").partition(";")[0].strip().lower()
        )
        return _Converted(media, MISSING if is_kept else body, schema)
    if any("[" in name for name in body):
        return None  # a name that has no place in an object
    typed = {name: read(value, member([schema], name, schema), schema) for name, value in body.items()}
    return _Converted(media, typed, schema)


def _fits_form(value: Json, request: Request) -> bool:
    """Whether a form holds a value: a form has no null and no objects, and a list only as a text that is sent often."""
    if isinstance(value, list):
        return request.form and all(isinstance(item, str) for item in value)
    return value is not None and not isinstance(value, dict)


def is_json_patch(body: Json) -> bool:
    """Whether a body is a list of operations."""
    return (
        isinstance(body, list)
        and bool(body)
        and all(isinstance(one, Mapping) and isinstance(one.get("path"), str) and "op" in one for one in body)
    )


def repair_accept(violation: SchemaViolation, request: Request, group: str) -> Repair:
    """Return the suggestions for an `Accept` that was refused. `enum` of the schema has what is produced.

    Another media type is another answer than was asked for, so the intent changes. Servers may find out what they
    cannot answer only when all is done: a call that is not idempotent is sent again only by who confirms it.
    """
    produced = [str(one) for one in violation.schema["enum"]]
    plain = [one for one in produced if is_json(one)]
    others = [] if len(plain) == 1 else [one for one in produced if one not in plain]
    may_be_done = request.method not in _IDEMPOTENT
    edits = []
    for media in [*plain, *others][:_MOST]:
        ops = guarded_edit(request, ACCEPT, violation.value, {"op": "replace", "path": ACCEPT, "value": media})
        message = f"Accept {media}, which this operation produces."
        message += " Look first whether the call was carried out." if may_be_done else ""
        edits.append(edit(violation, request, ops, message, changes_intent=True, requires_confirmation=may_be_done))
    proposal = Proposal(edits) if len(edits) == 1 else options(edits, group)
    return repair_of(proposal, *SAID["accept"])


# Texts that hold JSON


Propose = Callable[[SchemaViolation, Request, str], Proposal | None]
_REWRITE: Final = "Send the same JSON with its members and values put right."


def repair_inside(violation: SchemaViolation, request: Request, group: str, propose: Propose) -> Proposal:
    """Return a text that holds JSON, such as a parameter, with what is wrong inside it repaired.

    What the text holds is repaired as though it were the body, by `propose`. Questions are about the whole text.
    """
    text = violation.value
    held = repaired_json(text) if isinstance(text, str) else None
    schema = text_schema(trim_schema(content if isinstance(content := violation.schema.get(CONTENT), Mapping) else {}))
    if held is MISSING:
        return ask(violation, request, _valid(str(text)), schema=schema, whom="agent")
    inner = replace(request, query={}, headers={}, body=held, form=False)
    edits: list[Suggestion] = []
    after = inner
    for one in violation.inside:
        proposal = propose(one, after, group)
        suggestions = [] if proposal is None else proposal.suggestions
        is_edit = len(suggestions) == 1 and "patch" in suggestions[0] and "group" not in suggestions[0]
        if is_edit and (edited := after_edit(suggestions[0], after)) is not None:
            after = edited
            edits.append(suggestions[0])
    folded = _folded(edits, after, violation, request) if edits or not violation.inside else None
    if folded is None or not isinstance(text, str):
        return ask(violation, request, "Give JSON that is allowed there.", schema=schema)
    return Proposal([folded])


def _folded(
    edits: Sequence[Suggestion], after: Request, violation: SchemaViolation, request: Request
) -> Suggestion | None:
    """Return edits inside a text, after which it holds a body, as one edit of the text."""
    if not may_be_repeated(after.body):
        return None
    operation: Operation = {"op": "replace", "path": violation.pointer, "value": orjson.dumps(after.body).decode()}
    ops = guarded_ops(request, violation.pointer, violation.value, operation)
    if not ops:
        return None
    safety: Sequence[Mapping[str, Any]] = [one["safety"] for one in edits]
    return edit(
        violation,
        request,
        ops,
        str(edits[0]["message"]) if len(edits) == 1 else _REWRITE if edits else SAID[MALFORMED][2],
        changes_intent=any(one["changes_intent"] for one in safety),
        requires_confirmation=any(one.get("requires_confirmation") for one in safety),
    )


def text_schema(held: Schema) -> dict[str, Json]:
    """Return the schema of a text that holds JSON of a schema."""
    return {"type": "string", "contentMediaType": JSON, CONTENT: dict(held)}
