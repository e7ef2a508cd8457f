"""Texts that say their place in a form of their own, as a table: where the place stands, where the sentence.

| who | example |
|---|---|
| Fastify | `body/items/0/n must be integer, body/name must be string` |
| Spring | `Required request parameter 'q' for method parameter type String is not present` |
| pydantic's own text | `items.0.n\\n  Input should be a valid integer [type=int_parsing, input_value=...` |
| GraphQL, of a variable | `Variable "$in" got invalid value "x" at "in.items[0].n"; Int cannot represent ...` |
| Slack and others, at the end | `failed to match all allowed schemas [json-pointer:/blocks/1/accessory]` |

These patterns and `OF_PART` are the only ones that the envelope applies to a text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Final, NamedTuple

from corrigible.rules.pointer import MISSING, to_pointer, value_at
from corrigible.schema.exchange import Request

from .pointers import member_pointer, part_of, pointer, steps

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
        mark=" [type=",
        pattern=re.compile(
            r"^(?P<place>[\w.\[\]-]{1,200})\n {2}(?P<text>[^\n]{1,400}?) \[type=(?P<rule>\w{1,60}), input_value=",
            re.MULTILINE,
        ),
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
        if told and (shape.between is None or all(one.keyword for one in told)):
            return told
    return []


def _told(shape: TextShape, found: re.Match[str], text: str, request: Request) -> Told:
    groups = found.groupdict()
    place, sentence = groups.get("place"), groups.get("text") or text
    parts = steps(place) if place else [groups["name"]] if groups.get("name") else []
    part = part_of(groups.get("part") or shape.part)
    told = shape.around + to_pointer(parts) if shape.around else pointer(parts, request, place=part)
    for pattern, keyword in shape.steps:
        if (more := pattern.search(text)) is not None:
            name = next((one for one in more.groups() if one), "")
            return Told(told + to_pointer([name] if name else []), sentence, keyword)
    keyword = shape.keyword or keyword_of_sentence(sentence)
    return Told(member_pointer(told, sentence, keyword, request), sentence, keyword, groups.get("rule") or "")


_AJV: Final[Mapping[tuple[str, ...], str]] = {
    ("must have required property",): "required",
    ("must NOT have additional properties",): "additionalProperties",
    ("must be equal to one of the allowed values",): "enum",
    ("must be equal to constant",): "const",
    ("must match pattern",): "pattern",
    ("must match format",): "format",
    ("must be >= ",): "minimum",
    ("must be <= ",): "maximum",
    ("must be > ",): "exclusiveMinimum",
    ("must be < ",): "exclusiveMaximum",
    ("must be multiple of",): "multipleOf",
    ("must NOT have fewer than", " char"): "minLength",
    ("must NOT have more than", " char"): "maxLength",
    ("must NOT have fewer than", " items"): "minItems",
    ("must NOT have more than", " items"): "maxItems",
    ("must NOT have duplicate items",): "uniqueItems",
    ("must match a schema in anyOf",): "anyOf",
    ("must match exactly one schema in oneOf",): "oneOf",
    **{(f"must be {name}",): "type" for name in ("string", "number", "integer", "boolean", "object", "array", "null")},
}
"""What the sentences of Ajv have in them, by keyword."""


def keyword_of_sentence(message: str) -> str:
    """Return the keyword whose message of Ajv's this is, empty where it is none."""
    if message == "is read-only":
        return "readOnly"
    text = message[:_READ]
    return next((keyword for parts, keyword in _AJV.items() if all(part in text for part in parts)), "")
