"""Repairs inside a text that holds JSON, such as a query parameter: the text is written anew.

What the text holds is repaired as though it were the body. Questions are about the whole text, with the schema of what
is asked inside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson

from corrigible.rules.budget import spend
from corrigible.rules.engine.guarded_patch import PatchError
from corrigible.rules.pointer import MISSING, escape, segments, value_at
from corrigible.rules.safety.decisive import words
from corrigible.rules.safety.json_text import fault, repaired_json
from corrigible.rules.violation import Violation
from corrigible.schema.edit import after_edit
from corrigible.schema.exchange import Json, Protocol, Request

from .declared_place import DeclaredPlace
from .json_schema import Schema
from .rewriting import may_be_repeated
from .schema_violation import SchemaViolation
from .stated import stated_violation
from .suggestion import Proposal, Suggestion, ask, edit, guarded_edit, options
from .told_in_prose import HELD
from .trim_schema import trim_schema

CONTENT: Final = "contentSchema"
"""A text holds JSON that does not fit, or that is none. The schema has `contentSchema`: the schema of what it holds."""
_ABOUT_JSON: Final = re.compile(
    r"(?i)\bjson|\bpars(?:e|ed|er|ing)\b|\bsyntax|\bmalformed\b|\bde(?:code|coding|serializ\w+)\b"
    r"|\bunexpected (?:token|character|end)|\bproperty name\b|\bunterminated\b"
)
_READ: Final = 2000
"""Letters of a message that are looked at."""
_MEDIA: Final = "application/json"
Propose = Callable[[SchemaViolation, Request, str], Proposal | None]


def proposed(violation: SchemaViolation, request: Request, group: str, propose: Propose) -> Proposal:
    """Return the text with what is wrong inside it repaired; `propose` is for one violation inside."""
    text = violation.value
    if not isinstance(text, str):
        return _question(violation, request)
    held = repaired_json(text)
    if isinstance(words := _words_of(violation, text, held), list):
        held = words
    elif held is not MISSING and not isinstance(held, list) and not violation.inside and _held(violation) == _A_LIST:
        return _question(violation, request)
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


def broken_text(error: Violation, request: Request) -> SchemaViolation | None:
    """Return the parameter of a query that begins like JSON and is none, where an error about it speaks of JSON.

    A parameter may have a notation of its own that begins like JSON: without a word about JSON it is left alone. A
    field of a form is one, too, if the error names it: any text of a form may begin so.
    """
    if not _ABOUT_JSON.search(error.message[:_READ]):
        return None
    fields = request.body if request.form and isinstance(request.body, Mapping) else {}
    places = {f"/query/{escape(name)}": text for name, text in request.query.items()}
    places |= {place: text for name, text in fields.items() if (place := f"/body/{escape(name)}") == error.pointer}
    broken = [
        (place, text)
        for place, text in places.items()
        if isinstance(text, str) and text.lstrip()[:1] in ("{", "[") and fault(text) is not None
    ]
    if len(broken) != 1 or error.pointer not in ("", broken[0][0]):
        return None
    return SchemaViolation(broken[0][0], CONTENT, text_schema({}), broken[0][1])


def told_inside(error: Violation, request: Request, schema: Schema) -> SchemaViolation | None:
    """Return the parameter whose text is a JSON object, where an error states what a member inside it has to be.

    `sort.order` of `?sort={"by":"name","order":"asc"}`
    """
    place, name, *others = [*segments(error.pointer), "", ""]
    inner = [one for one in re.split(r"[.\[\]]+", error.param) if one]
    if place != "query" or any(others) or inner[:1] != [name] or len(inner) < 2 or not error.stated:
        return None
    text = value_at(request, error.pointer)
    held = repaired_json(text) if isinstance(text, str) and text.lstrip()[:1] == "{" else MISSING
    if not isinstance(held, Mapping):
        return None
    declared: Json = schema
    for step in inner[1:]:
        members = declared.get("properties") if isinstance(declared, Mapping) else None
        declared = members.get(step) if isinstance(members, Mapping) else None
    around = DeclaredPlace(declared if isinstance(declared, Mapping) else {})
    told = error.at("/body" + "".join(f"/{escape(one)}" for one in inner[1:]), error.constraint, error.stated)
    found = stated_violation(told, replace(request, query={}, headers={}, body=held, form=False), around)
    if found is None or found.keyword == "required":
        return None
    return SchemaViolation(error.pointer, CONTENT, text_schema(schema), text, inside=(found,))


def unlisted_text(error: Violation, request: Request, schema: Schema) -> SchemaViolation | None:
    """Return the text at the place of an error that is no JSON list, where the description and the error want one."""
    if schema.get(HELD) != "array" or not _ABOUT_JSON.search(error.message[:_READ]):
        return None
    text = value_at(request, error.pointer)
    if not isinstance(text, str) or isinstance(repaired_json(text), list):
        return None
    return SchemaViolation(error.pointer, CONTENT, text_schema(_A_LIST), text)


def _words_of(violation: SchemaViolation, text: str, held: Json) -> list[Json] | None:
    """Return the list that a text should hold, of which it is the only element, or has all without the marks."""
    if _held(violation) != _A_LIST:
        return None
    if isinstance(held, str):
        return [held]
    if held is not MISSING or len(text) > _LONGEST_LIST or _WORDS.fullmatch(text) is None:
        return None
    return [*text.split(",")]


_A_LIST: Final[Schema] = {"type": "array"}
_A_WORD: Final = r"(?!(?:true|false|null)\b)[A-Za-z_][\w.:/-]*"
_WORDS: Final = re.compile(rf"{_A_WORD}(?:,{_A_WORD})*")
"""Words between commas that are nothing else in JSON."""
_LONGEST_LIST: Final = 1000


def broken_member(error: Violation, request: Request) -> SchemaViolation | None:
    """Return the only text of a gRPC message that is no JSON, where an error says what decoders of JSON say."""
    told = _DECODER.search(error.message[:_READ])
    if request.protocol is not Protocol.GRPC or told is None:
        return None
    broken = [(place, text, where) for place, text in _texts(request.body) if (where := fault(text)) is not None]
    if told["line"] is not None:
        at = int(told["line"]), int(told["column"])
        broken = [one for one in broken if (one[2].line, one[2].column) == at] or broken
    broken = [one for one in broken if _NAMING.isdisjoint(words(one[0].rpartition("/")[2]))]
    if len(broken) != 1:
        return None
    return SchemaViolation(broken[0][0], CONTENT, text_schema({}), broken[0][1])


_DECODER: Final = re.compile(
    r"(?:Expecting (?:value|property name[^:\n]{0,40}|'[,:]' delimiter)|Extra data|Unterminated string starting at"
    r"|Invalid control character at|Invalid \\[^:\n]{0,20}|Illegal trailing comma[^:\n]{0,30})"
    r": line (?P<line>\d{1,6}) column (?P<column>\d{1,6})"
    r"|\binvalid character .{1,8} (?:looking for|after|in)\b|\bunexpected end of JSON\b|\bUnexpected token\b.{1,40}JSON"
    r"|\bnot valid JSON\b|\bUnrecognized token\b|\bUnexpected character \("
    r"|\bwas expecting (?:double-quote|comma|a valid)\b"
    r"|\b(?:expected [^\n]{1,30}|trailing (?:comma|characters)|key must be a string|EOF while parsing an? \w{1,10})"
    r" at line \d{1,6} column \d{1,6}"
)
"""Of Python, Go, JavaScript, Jackson and serde."""
_NAMING: Final = frozenset({"id", "ids", "name", "key", "uuid", "parent"})
_MOST_TEXTS: Final = 100


def _texts(body: Json) -> list[tuple[str, str]]:
    """Return the texts of a message that are not empty, the outermost first."""
    found: list[tuple[str, str]] = []
    waiting: list[tuple[str, Json]] = [("/body", body)]
    while waiting and len(found) < _MOST_TEXTS:
        place, value = waiting.pop(0)
        spend()
        if isinstance(value, str) and value:
            found.append((place, value))
        elif isinstance(value, Mapping):
            waiting += [(f"{place}/{escape(str(name))}", inner) for name, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{place}/{index}", inner) for index, inner in enumerate(value)]
    return found


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
