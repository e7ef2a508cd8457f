"""Texts that say their place in a form of their own, as a table: where the place stands, where the sentence.

| who | example |
|---|---|
| Fastify | `body/items/0/n must be integer, body/name must be string` |
| ajv | `data/items/0 must have required property 'n'` |
| Spring | `Required request parameter 'q' for method parameter type String is not present` |
| zod's prettifyError | `✖ Invalid input: expected number, received string\n  → at items[0].n` |
| GitHub | `For 'properties/labels', "bug" is not an array.` |
| voluptuous | `required key not provided @ data['address']['city']` |
| superstruct | `At path: items.0.n -- Expected a number, but received: "a"` |
| everit, Bedrock | `#/tool/schema: extraneous key [definitions] is not permitted` |
| zod, each on its line | `[body.items.0.n] Invalid input: expected number, received string` |
| Effect Schema | `Missing key\n  at ["items"][0]["n"]` |
| serde in axum | `Failed to deserialize the JSON body into the target type: items[0]: missing field `n` at line 1` |
| Go's validator | `Key: 'Order.items[0].n' Error:Field validation for 'n' failed on the 'required' tag` |
| circe | `DecodingFailure at .items[0].n: Int` |
| Echo | `Unmarshal type error: expected=int, got=string, field=n, offset=20` |
| pydantic's own text | `items.0.n\\n  Input should be a valid integer [type=int_parsing, input_value=...` |
| GraphQL, of a variable | `Variable "$in" got invalid value "x" at "in.items[0].n"; Int cannot represent ...` |
| protovalidate, printed | `validation errors:\n - items[1].sku: does not match [string.pattern]` |
| lists of complaints | `Invalid input data:\n- quantity: expected number, received string` |
| a path in a sentence | `must be a list (at /box/sizes)`, `box.sizes: not a list` |
| grpcio and others, fields | `status = INVALID_ARGUMENT, details = "no field x in Order"` |
| Slack and others, at the end | `failed to match all allowed schemas [json-pointer:/blocks/1/accessory]` |
| OpenAI, of a schema that was sent | `In context=('properties', 'site'), 'format' is not permitted` |

These patterns and `OF_PART` are the only ones that the envelope applies to a text.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final, NamedTuple

from corrigible.rules.pointer import MISSING, escape, to_pointer, value_at
from corrigible.schema.exchange import Request

from .pointers import member_pointer, part_of, pointer, steps
from .sent_places import sent_places

_READ: Final = 4000
_MOST: Final = 32
_PART: Final = r"(?:body|querystring|params|headers)"


class Told(NamedTuple):
    """One place that a text tells."""

    pointer: str
    text: str
    """The sentence about it."""
    keyword: str = ""
    """The keyword of JSON Schema that the sentence is about, where its form says that."""
    rule: str = ""
    """The code that stands beside the sentence."""
    element: str = ""
    """What has to be added to a list."""


class TextShape(NamedTuple):
    """How some servers write a place in a text."""

    mark: str
    """What such a text has in it: others are not looked at."""
    pattern: re.Pattern[str]
    """Groups: `place`, or `name` where it is one step; perhaps `part`, `text`, which is else the whole, and `rule`."""
    around: str = ""
    """What the place is in."""
    part: str = ""
    """The part of the request that the place is in where no group says that."""
    keyword: str = ""
    between: re.Pattern[str] | None = None
    """Where one sentence ends and the next begins, each of which the pattern must match; else it may match anywhere."""
    steps: tuple[tuple[re.Pattern[str], str], ...] = ()
    """Patterns that give one more step, with the keyword that each stands for."""


SHAPES: Final = (
    TextShape(
        mark="Required ",
        pattern=re.compile(
            r"^Required (?:request )?(?:(?P<part>header)|(?:query )?parameter) '(?P<name>[\w.\[\]-]{1,80})'"
        ),
        part="query",
        keyword="required",
    ),
    TextShape(
        mark=" must ",
        pattern=re.compile(rf"(?P<part>{_PART})(?P<place>/\S{{0,300}})? (?P<text>must (?s:.+))"),
        between=re.compile(rf", (?={_PART}[/ ])"),
    ),
    TextShape(
        mark=" must ",
        pattern=re.compile(
            r"(?:^|[\s:,(])(?:data)?(?P<place>(?:/[\w.~$@-]{1,80}){1,20}) "
            r"(?P<text>must (?:have required|match (?:pattern|format)|NOT have|be (?:string|number|integer|boolean"
            r"|array|object|null|equal to|[<>]=?)) ?[^\n]{0,400})"
        ),
        steps=((re.compile(r"^must have required property '([^'\n]{1,80})'"), "required"),),
    ),
    TextShape(
        mark=" [type=",
        pattern=re.compile(
            r"^(?P<place>[\w.\[\]-]{1,200})\n {2}(?P<text>[^\n]{1,400}?) \[type=(?P<rule>\w{1,60}), input_value=",
            re.MULTILINE,
        ),
    ),
    TextShape(
        mark="→ at ",
        pattern=re.compile(r"^✖ (?P<text>[^\n]{1,400})\n {0,8}→ at (?P<place>[^\s]{1,200})$", re.MULTILINE),
    ),
    TextShape(
        mark=" @ data[",
        pattern=re.compile(
            r"^(?P<text>[^\n]{1,1000}?) @ data"
            r"(?P<place>(?:\[(?:'[^'\n]{1,80}'|\"[^\"\n]{1,80}\"|\d{1,6})\])+)$"
        ),
    ),
    TextShape(
        mark="For 'properties/",
        pattern=re.compile(r"^For 'properties/(?P<place>[\w/.-]{1,200})', (?P<text>[^\n]{1,400})$", re.MULTILINE),
    ),
    TextShape(
        mark="At path: ",
        pattern=re.compile(r"^At path: (?P<place>[\w.\[\]$-]{1,200}) -- (?P<text>[^\n]{1,1000})"),
    ),
    TextShape(
        mark="] ",
        pattern=re.compile(
            rf"^\[(?P<part>{_PART}|query)\.(?P<place>[\w.-]{{1,200}})\] (?P<text>[^\n]{{1,400}})", re.MULTILINE
        ),
        steps=((re.compile(r", received undefined$"), "required"),),
    ),
    TextShape(
        mark="\n  at [",
        pattern=re.compile(
            r"^(?P<text>\S[^\n]{0,400})\n {2,8}at (?P<place>(?:\[(?:\"[^\"\n]{1,80}\"|\d{1,5})\]){1,10})$", re.MULTILINE
        ),
    ),
    TextShape(
        mark="Failed to deserialize ",
        pattern=re.compile(
            r"Failed to deserialize the JSON (?P<part>body)[^:\n]{0,40}: (?P<place>[A-Za-z_][\w.\[\]-]{0,200}): "
            r"(?P<text>(?:missing|unknown|invalid|duplicate) [^\n]{1,400})"
        ),
    ),
    TextShape(
        mark="Failed to deserialize query string: missing",
        pattern=re.compile(r"query string: missing field `(?P<name>[^`\n]{1,80})`"),
        part="query",
        keyword="required",
    ),
    TextShape(
        mark="Key: '",
        pattern=re.compile(
            r"(?P<text>Key: '\w{1,80}\.(?P<place>[a-z_][\w.\[\]-]{0,199})' Error:Field validation for"
            r" '[^'\n]{1,80}' failed on the '(?P<rule>\w{1,40})' tag)"
        ),
    ),
    TextShape(
        mark="#",
        pattern=re.compile(r"(?:^|[\s:])(?P<place>#(?:/[^\s:]{1,300})?): (?P<text>[^\n]{1,400})", re.MULTILINE),
        around="/body",
    ),
    TextShape(
        mark="DecodingFailure at ",
        pattern=re.compile(r"DecodingFailure at (?P<place>\.[^\s:]{1,200}): (?P<text>[^\n]{1,400})"),
    ),
    TextShape(
        mark=", field=",
        pattern=re.compile(r"^(?P<text>.{1,400}?), field=(?P<place>[\w.\[\]-]{1,200})(?:,|$)"),
    ),
    TextShape(
        mark="json-pointer:",
        pattern=re.compile(r"^(?P<text>[^\n]{1,2000}?) ?[(\[]json-pointer: ?#?(?P<place>/[^\])\s]{0,300})[)\]]\.?$"),
        around="/body",
    ),
    TextShape(
        # graphql-js quotes with ", graphql-core with '; the newest releases of both say "has invalid value".
        mark="Variable ",
        pattern=re.compile(
            r"""^Variable ["']?\$(?P<name>\w{1,80})["']? """
            r"""(?:(?:got|has) invalid value .{0,400}? at ["'](?P<place>[\w.\[\]]{1,200})["']|\S)""",
            re.DOTALL,
        ),
        around="/body/variables",
        steps=(
            (
                re.compile(
                    r"""Field ["']?(?P<a>\w{1,80})["']? of required type .{0,120}? was not provided"""
                    r"""|to include required field ["'](?P<b>\w{1,80})["']"""
                    r"""|of required type .{0,120}? was not provided|of non-null type .{0,120}? to be provided"""
                ),
                "required",
            ),
            (
                re.compile(
                    r"""Field ["'](?P<a>\w{1,80})["'] is not defined by type"""
                    r"""|not to include unknown field ["'](?P<b>\w{1,80})["']"""
                ),
                "additionalProperties",
            ),
        ),
    ),
)


_NAMED_STEP: Final = r"'[^'\n]{0,100}'|\"[^\"\n]{0,100}\"|\d{1,6}|, ?"
_BELOW: Final = TextShape(
    mark="ontext",
    pattern=re.compile(
        rf"\b[Ii]n (?:the )?context ?[=:]? ?[(\[](?P<place>(?:{_NAMED_STEP}){{0,64}})[)\]][,:]? "
        r"(?P<text>[^\n]{1,1000})"
    ),
    steps=(
        (re.compile(r"^['\"`]?([\w$-]{1,80})['\"`]? is not (?:permitted|allowed|supported)"), "additionalProperties"),
        (re.compile(r"^['\"`]?([\w$-]{1,80})['\"`]? is required\b"), "required"),
        (re.compile(r"\bmissing ['\"`]?([\w$-]{1,80})['\"`]?\.?$"), "required"),
    ),
)
_ELEMENT: Final = re.compile(r"\b(?:array|list)\b[^\n]{0,100}\. Missing ['\"`]([^'\"`\n]{1,100})['\"`]")
"""What a list lacks that was sent."""
_STEP_BELOW: Final = re.compile(r"'([^']*)'|\"([^\"]*)\"|(\d+)")


def told_below(message: str, place: str, request: Request) -> Told | None:
    """Return the place that a text tells below the one that its answer names: a path inside a document that was sent.

    The answer may name what holds the document. Of a JSON Schema it is known where it begins.
    """
    found = _BELOW.pattern.search(message[:_READ]) if _BELOW.mark in message else None
    if found is None:
        return None
    path = to_pointer([next(filter(None, one.groups()), "") for one in _STEP_BELOW.finditer(found["place"])])
    below = (one.pointer for one in sent_places(request) if one.pointer.startswith(f"{place}/"))
    holders = (one for one in (place, *below) if value_at(request, one + (path or "/properties")) is not MISSING)
    if (holder := next(holders, None if path else place)) is None:
        return None
    for pattern, keyword in _BELOW.steps:
        if (more := pattern.search(found["text"])) is not None:
            told = f"{holder}{path}/{escape(more[1])}"
            lacking = _ELEMENT.search(found["text"])
            if lacking is not None and isinstance(value_at(request, told), list):
                return Told(f"{told}/-", found["text"], keyword, element=lacking[1])
            return Told(told, found["text"], keyword)
    return Told(holder + path, found["text"])


_PRINTED: Final = re.compile(
    r'\b(?i:(?:err(?:or)?_?)?(?:msg|message|details?|desc|description|reason)) ?= ?"(?P<text>[^"\n]{3,500})"'
)
_LONGEST_REQUEST: Final = 100_000


def printed_text(message: str, request: Request) -> str:
    """Return the sentence of an error that a program printed with its fields; empty where there is none.

    `<_InactiveRpcError of RPC that terminated with: status = INVALID_ARGUMENT, details = "no field x in Order">`. What
    was sent may have such fields, too: a filter.
    """
    found = _PRINTED.search(message[:_READ])
    if found is None or " " not in found["text"]:
        return ""
    sent = f"{request.query}{request.body}"[:_LONGEST_REQUEST]
    return "" if found["text"] in sent else found["text"]


class FieldMessage(NamedTuple):
    """The part of a message that is about one field of a protobuf message."""

    field: str
    text: str
    rule: str = ""


_PROTOVALIDATE: Final = re.compile(
    r"^(?:validation errors?:)?[ \t]*(?:- )?"
    r"(?P<field>[A-Za-z_][\w.]*(?:\[[^\[\]\n]{0,80}\][\w.]*)*): "
    r"(?P<text>[^\n]{1,500}?)(?: \[(?P<rule>[a-z_][\w./]*)\])?$",
    re.MULTILINE,
)
_GEN_VALIDATE: Final = re.compile(r"invalid [A-Z]\w*\.([A-Z]\w*(?:\[[^\[\]]{0,80}\])?): ")


def fields_in(message: str) -> list[FieldMessage]:
    """Return the fields that a message names as protovalidate or protoc-gen-validate do; none where it is prose.

    `invalid Order.Items[1]: embedded message failed validation | caused by: invalid Item.UnitPrice: value must be ...`
    """
    if message.startswith(("validation error:", "validation errors:")):
        found = islice(_PROTOVALIDATE.finditer(message[:_READ]), _MOST)
        return [FieldMessage(one["field"], one["text"], one["rule"] or "") for one in found]
    out: list[FieldMessage] = []
    for part in message[:_READ].split("; invalid ") if message.startswith("invalid ") else ():
        part = part if part.startswith("invalid ") else f"invalid {part}"
        path = [one[1] for one in _GEN_VALIDATE.finditer(part)]
        if path:
            field = ".".join(name[0].lower() + name[1:] for name in path)
            out.append(FieldMessage(field, part.rpartition(f"{path[-1]}: ")[2].partition(" | caused by: ")[0]))
    return out


def told_in(message: str, request: Request) -> list[Told]:
    """Return the places that a text tells in a form of its own; none where it is prose, or about something not sent."""
    text = message[:_READ]
    for shape in SHAPES:
        if shape.mark not in text or (shape.around and value_at(request, shape.around) is MISSING):
            continue
        if shape.between is None:
            found = [*islice(shape.pattern.finditer(text), _MOST)]
        else:
            pieces = [shape.pattern.fullmatch(one) for one in shape.between.split(text, _MOST)]
            found = [one for one in pieces if one is not None]
            found = found if len(found) == len(pieces) else []
        told = [_told(shape, one, text, request) for one in found]
        if told:
            return told
    return []


def _told(shape: TextShape, found: re.Match[str], text: str, request: Request) -> Told:
    groups = found.groupdict()
    place, sentence = groups.get("place"), groups.get("text") or text
    parts = steps(place) if place else [groups["name"]] if groups.get("name") else []
    part = part_of(groups.get("part") or shape.part)
    told = shape.around + to_pointer(parts) if shape.around else pointer(parts, request, place=part)
    for pattern, keyword in shape.steps:
        if (more := pattern.search(sentence)) is not None:
            name = next((one for one in more.groups() if one), "")
            return Told(told + to_pointer([name] if name else []), sentence, keyword)
    told = member_pointer(told, sentence, shape.keyword, request)
    return Told(told, sentence, shape.keyword, groups.get("rule") or "")
