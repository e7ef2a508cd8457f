"""Repairs inside a text that holds JSON, such as a query parameter: the text is written anew.

What the text holds is repaired as though it were the body. Questions are about the whole text, with the schema of what
is asked inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson

from corrigible.rules.engine.guarded_patch import PatchError
from corrigible.rules.pointer import MISSING, segments
from corrigible.rules.safety.json_text import fault, repaired_json
from corrigible.schema.edit import after_edit
from corrigible.schema.exchange import Json, Request

from .json_schema import Schema
from .rewriting import may_be_repeated
from .schema_violation import SchemaViolation
from .suggestion import Proposal, Suggestion, ask, edit, guarded_edit, options
from .trim_schema import trim_schema

CONTENT: Final = "contentSchema"
"""A text holds JSON that does not fit, or that is none. The schema has `contentSchema`: the schema of what it holds."""
_MEDIA: Final = "application/json"
Propose = Callable[[SchemaViolation, Request, str], Proposal | None]


def proposed(violation: SchemaViolation, request: Request, group: str, propose: Propose) -> Proposal:
    """Return the text with what is wrong inside it repaired; `propose` is for one violation inside."""
    text = violation.value
    if not isinstance(text, str):
        return _question(violation, request)
    held = repaired_json(text)
    if held is MISSING:
        return _ask_for_json(violation, request, text)
    inner = replace(request, query={}, headers={}, body=held, form=False)
    if len(violation.inside) == 1:
        proposal = propose(violation.inside[0], inner, group)
        if proposal is not None and len(proposal.suggestions) > 1:
            alternatives = [_folded([each], inner, violation, request) for each in proposal.suggestions]
            folded = [each for each in alternatives if each is not None]
            return options(folded, group)._replace(type=proposal.type) if folded else _question(violation, request)
    edits: list[Suggestion] = []
    asked: list[Mapping[str, Json]] = []
    after = inner
    for one in violation.inside:
        proposal = propose(one, after, group)
        suggestions = [] if proposal is None else proposal.suggestions
        if len(suggestions) == 1 and "patch" in suggestions[0] and "group" not in suggestions[0]:
            edited = after_edit(suggestions[0], after)
            if edited is not None:
                after = edited
                edits.append(suggestions[0])
                continue
        asked += [place for each in suggestions for place in each.get("placeholders", ())]
    if violation.inside and not edits:
        return _question(violation, request, asked)
    return Proposal([_folded(edits, inner, violation, request) or _question(violation, request, asked).suggestions[0]])


def _folded(
    edits: Sequence[Suggestion], inner: Request, violation: SchemaViolation, request: Request
) -> Suggestion | None:
    """Return edits inside a text as one edit of the text; a question inside it as one for the text."""
    after: Request | None = inner
    for one in edits:
        if "patch" not in one:
            return dict(_question(violation, request, one.get("placeholders", ())).suggestions[0])
        after = None if after is None else after_edit(one, after)
    if after is None or not may_be_repeated(after.body):
        return None
    text = orjson.dumps(after.body).decode()
    operation = {"op": "replace", "path": violation.pointer, "value": text}
    try:
        ops = guarded_edit(request, violation.pointer, violation.value, operation)
    except PatchError:
        return None
    safety: Sequence[Mapping[str, Any]] = [one["safety"] for one in edits]
    return edit(
        violation,
        request,
        ops,
        str(edits[0]["message"]) if len(edits) == 1 else _REWRITE if edits else _VALID,
        changes_intent=any(one["changes_intent"] for one in safety),
        requires_confirmation=any(one.get("requires_confirmation") for one in safety),
    )


def _question(violation: SchemaViolation, request: Request, asked: Sequence[Mapping[str, Json]] = ()) -> Proposal:
    """Return the question for the text, with what is asked inside it, else with all that it may hold."""
    held: dict[str, Json] = {}
    for placeholder in asked:
        held = _joined(held, _nested(segments(str(placeholder["pointer"]))[1:], placeholder["schema"]))
    schema = text_schema(held or trim_schema(_held(violation)))
    return ask(violation, request, "Give JSON that is allowed there.", schema=schema)


def _ask_for_json(violation: SchemaViolation, request: Request, text: str) -> Proposal:
    """Return the question for a text that is no JSON: the agent may write it, since it is about the form."""
    where = fault(text)
    message = "Send valid JSON."
    if where is not None:
        message += f" At line {where.line}, column {where.column} {where.expected} is expected."
    proposal = ask(violation, request, message, schema=text_schema(trim_schema(_held(violation))))
    proposal.suggestions[0]["placeholders"][0]["ask"] = "agent"
    return proposal


def _held(violation: SchemaViolation) -> Schema:
    held = violation.schema.get(CONTENT)
    return held if isinstance(held, Mapping) else {}


def text_schema(held: Schema) -> dict[str, Json]:
    """Return the schema of a text that holds JSON of a schema."""
    return {"type": "string", "contentMediaType": _MEDIA, CONTENT: dict(held)}


def _nested(path: Sequence[str], schema: Json) -> dict[str, Json]:
    """Return the schema of a value with one schema at a place inside it."""
    if not path:
        return dict(schema) if isinstance(schema, Mapping) else {}
    name, inner = path[0], _nested(path[1:], schema)
    return {"items": inner} if name.isdecimal() else {"type": "object", "properties": {name: inner}}


def _joined(one: Mapping[str, Json], other: Mapping[str, Json]) -> dict[str, Json]:
    """Return two schemas of the same place as one: that of a member that both have is the first one's."""
    out = {**other, **one}
    both = one.get("properties"), other.get("properties")
    if isinstance(both[0], Mapping) and isinstance(both[1], Mapping):
        names = [name for name in both[0] if name in both[1]]
        out["properties"] = {**both[1], **both[0]} | {name: _joined(both[0][name], both[1][name]) for name in names}
    return out


_REWRITE: Final = "Send the same JSON with its members and values put right."
_VALID: Final = "Send the same values as valid JSON."
