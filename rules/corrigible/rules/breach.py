"""One place where a request breaks the description of its operation, and whether a value fits a schema.

Knows: JSON Schema's assertions on one small, resolved schema. Does not know: where a description comes from.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal, InvalidOperation
from typing import Any, Final, NamedTuple

import re2

from corrigible.schema.exchange import Json

from . import spelling
from .pointer import MISSING

Schema = Mapping[str, Json]


class Breach(NamedTuple):
    """What one constraint of a description says about one place of a request."""

    pointer: str
    """RFC 6901 into the request document; of a missing member its own place."""
    keyword: str
    """The JSON Schema keyword, or `path` or `method` where no operation is meant."""
    schema: Schema
    """The schema of the place, resolved and self-contained."""
    value: Json = MISSING
    siblings: tuple[str, ...] = ()
    """The member names that are declared beside it, for a misspelt one."""


def types(schema: Schema) -> tuple[str, ...]:
    """Return the types a schema allows, none where it does not say; `nullable` of OpenAPI 3.0 adds null."""
    said = schema.get("type")
    named = (said,) if isinstance(said, str) else tuple(said) if isinstance(said, Sequence) else ()
    return (*named, "null") if named and schema.get("nullable") is True and "null" not in named else named


def choices(schema: Schema) -> tuple[Json, ...]:
    """Return the closed list of values that a schema allows, empty where it has none."""
    if "const" in schema:
        return (schema["const"],)
    listed = schema.get("enum")
    return tuple(listed) if isinstance(listed, list) else ()


def fault(value: Json, schema: Schema, *, text: bool = False) -> str | None:
    """Return the first keyword that a value breaks, None where it fits.

    `text`: scalars are text on the wire (forms, queries), so "5" is an integer there. A keyword that is not known here
    never holds against a value: `judged` tells whether there was any.
    """
    if not _is_any(value, types(schema), text=text):
        return "type"
    for keyword, breaks in _ASSERTIONS:
        if keyword in schema and breaks(value, schema[keyword], schema, text):
            return keyword
    return None


def judged(schema: Schema) -> bool:
    """Whether everything that a schema asserts is something that `fault` looks at."""
    return _judged(schema, 0)


def _judged(schema: Json, depth: int) -> bool:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return isinstance(schema, bool)
    known = all(keyword in _KNOWN or keyword.startswith("x-") for keyword in schema)
    if not known or schema.get("format", "") not in _FORMATS_JUDGED:
        return False
    inner: list[Json] = [*schema.get("properties", {}).values()]
    inner += [part for name in ("items", "additionalProperties", "not") if (part := schema.get(name)) is not None]
    inner += [part for name in ("anyOf", "oneOf", "allOf") for part in schema.get(name, ())]
    return all(_judged(part, depth + 1) for part in inner)


def _is_any(value: Json, allowed: Sequence[str], *, text: bool) -> bool:
    return not allowed or any(_is(value, kind, text=text) for kind in allowed)


def _is(value: Json, kind: str, *, text: bool) -> bool:
    if text and isinstance(value, str):
        value = spelling.typed(value, kind)
    match kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "string":
            return isinstance(value, str) or (text and isinstance(value, int | float))
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, Mapping)
        case _:
            return True


def number(value: Json) -> Decimal | None:
    """Return a number, or the number a text spells, exactly; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        out = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return out if out.is_finite() and abs(out.adjusted()) <= _LARGEST else None


_LARGEST: Final = 40
"""Digits before or after the point: a text of ten letters can spell a number that fills the memory."""

_EXACT: Final = Context(prec=2 * _LARGEST + 20)


def same(one: Json, other: Json, *, text: bool = False) -> bool:
    """JSON equality: 1 equals 1.0, true equals neither; where scalars are text, also by their text."""
    if text and not isinstance(one, dict | list) and not isinstance(other, dict | list):
        return spelling.text(one) == spelling.text(other)
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return (type(one) is type(other) and bool(one == other)) or (_plain(one) and _plain(other) and bool(one == other))


def _plain(value: Json) -> bool:
    return isinstance(value, int | float)


def matches(pattern: str, value: str) -> bool | None:
    """Whether an ECMA 262 pattern is found in a text, None where RE2 cannot tell."""
    compiled = _compiled(pattern)
    return None if compiled is None else compiled.search(value) is not None


@functools.lru_cache(maxsize=512)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern.replace(r"\/", "/"), options)
    except re2.error:
        return None


def _number_breaks(test: Callable[[Decimal, Decimal], bool]) -> Callable[..., bool]:
    def breaks(value: Json, limit: Json, schema: Schema, text: bool) -> bool:
        if isinstance(value, str) and not (text and {"integer", "number"} & {*types(schema)}):
            return False
        have, most = number(value), number(limit)
        return have is not None and most is not None and test(have, most)

    return breaks


def _breaks_minimum(value: Json, limit: Json, schema: Schema, text: bool) -> bool:
    strict = schema.get("exclusiveMinimum") is True
    return _number_breaks(Decimal.__le__ if strict else Decimal.__lt__)(value, limit, schema, text)


def _breaks_maximum(value: Json, limit: Json, schema: Schema, text: bool) -> bool:
    strict = schema.get("exclusiveMaximum") is True
    return _number_breaks(Decimal.__ge__ if strict else Decimal.__gt__)(value, limit, schema, text)


def _breaks_pattern(value: Json, pattern: Json, schema: Schema, text: bool) -> bool:
    return isinstance(value, str) and isinstance(pattern, str) and matches(pattern, value) is False


def _breaks_format(value: Json, name: Json, schema: Schema, text: bool) -> bool:
    return isinstance(value, str) and isinstance(name, str) and spelling.is_format(value, name) is False


def _breaks_items(value: Json, items: Json, schema: Schema, text: bool) -> bool:
    if not isinstance(value, list) or not isinstance(items, Mapping):
        return False
    return any(fault(item, items, text=text) is not None for item in value)


def _breaks_properties(value: Json, properties: Json, schema: Schema, text: bool) -> bool:
    if not isinstance(value, Mapping) or not isinstance(properties, Mapping):
        return False
    return any(
        name in value and isinstance(inner, Mapping) and fault(value[name], inner, text=text) is not None
        for name, inner in properties.items()
    )


def _breaks_additional(value: Json, inner: Json, schema: Schema, text: bool) -> bool:
    if not isinstance(value, Mapping):
        return False
    others = [value[name] for name in value if name not in schema.get("properties", {})]
    if isinstance(inner, Mapping):
        return any(fault(other, inner, text=text) is not None for other in others)
    return inner is False and bool(others) and "patternProperties" not in schema


def _fits(value: Json, schemas: Json, text: bool) -> list[bool]:
    return [not isinstance(inner, Mapping) or fault(value, inner, text=text) is None for inner in schemas or ()]


def _is_judged_to_fit(value: Json, schema: Json, text: bool) -> bool:
    """Whether a value certainly has what `not` forbids."""
    return isinstance(schema, Mapping) and judged(schema) and fault(value, schema, text=text) is None


def duplicates(items: Sequence[Json], *, text: bool = False) -> list[int]:
    """Return the indexes of the elements that stand in the list already."""
    return [i for i, item in enumerate(items) if any(same(item, earlier, text=text) for earlier in items[:i])]


_Assertion = Callable[[Any, Any, Schema, bool], bool]

_ASSERTIONS: Final[tuple[tuple[str, _Assertion], ...]] = (
    ("enum", lambda value, listed, schema, text: not any(same(value, one, text=text) for one in listed)),
    ("const", lambda value, one, schema, text: not same(value, one, text=text)),
    ("minimum", _breaks_minimum),
    ("maximum", _breaks_maximum),
    ("exclusiveMinimum", _number_breaks(Decimal.__le__)),
    ("exclusiveMaximum", _number_breaks(Decimal.__ge__)),
    ("multipleOf", _number_breaks(lambda have, step: step > 0 and _EXACT.remainder(have, step) != 0)),
    ("minLength", lambda value, least, schema, text: isinstance(value, str) and len(value) < least),
    ("maxLength", lambda value, most, schema, text: isinstance(value, str) and len(value) > most),
    ("pattern", _breaks_pattern),
    ("format", _breaks_format),
    ("minItems", lambda value, least, schema, text: isinstance(value, list) and len(value) < least),
    ("maxItems", lambda value, most, schema, text: isinstance(value, list) and len(value) > most),
    ("uniqueItems", lambda value, on, schema, text: on is True and isinstance(value, list) and bool(duplicates(value))),
    ("items", _breaks_items),
    ("required", lambda value, names, schema, text: isinstance(value, Mapping) and not {*names} <= {*value}),
    ("properties", _breaks_properties),
    ("additionalProperties", _breaks_additional),
    ("allOf", lambda value, parts, schema, text: not all(_fits(value, parts, text))),
    ("anyOf", lambda value, parts, schema, text: not any(_fits(value, parts, text))),
    ("oneOf", lambda value, parts, schema, text: sum(_fits(value, parts, text)) != 1),
    ("not", lambda value, inner, schema, text: _is_judged_to_fit(value, inner, text)),
)

_SAYS_NOTHING: Final = (
    *("type", "nullable", "title", "description", "default", "example", "examples", "deprecated", "readOnly"),
    *(
        "writeOnly",
        "externalDocs",
        "xml",
        "$comment",
        "maxProperties",
        "minProperties",
        "style",
        "explode",
        "contentType",
    ),
)
_KNOWN: Final = frozenset(
    {keyword for keyword, _ in _ASSERTIONS} | {*_SAYS_NOTHING} - {"maxProperties", "minProperties"}
)
_FORMATS_JUDGED: Final = spelling.FORMATS | {
    "",
    "int32",
    "int64",
    "float",
    "double",
    "unix-time",
    "password",
    "decimal",
}
_DEEPEST: Final = 8
