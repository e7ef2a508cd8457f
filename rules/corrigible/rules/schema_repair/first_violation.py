"""Whether a value fits a schema, by jsonschema-rs, also where scalars are text: in forms and queries."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import jsonschema_rs
import orjson

from corrigible.rules.safety import spelling
from corrigible.rules.schema_repair.json_schema import read
from corrigible.schema.cache import remembered
from corrigible.schema.document import leaves
from corrigible.schema.exchange import Json

from .json_schema import Schema

Validator = jsonschema_rs.Draft202012Validator
_PATTERNS: Final = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000)
_KEPT: Final = 2 << 20
"""Bytes of compiled schemas: many hold a value of the request."""
_OF_A_BYTE: Final = 20
"""What a compiled schema takes, for each byte of its text; `_LEAST` besides."""
_LEAST: Final = 2000
_COUNTS: Final = re.compile(rb"\{(\d{1,6})?,?(\d{1,6})?\}")
_OF_A_COPY: Final = 1000


def first_violation(value: Json, schema: Schema, *, text: bool = False) -> str | None:
    """Return the first keyword that a value breaks, None where it fits.

    `text`: scalars are text on the wire (forms, queries), so "5" is an integer there. An invalid schema refuses no
    value, nor does an unknown format: `is_fully_checked` is False for such schemas.
    """
    validator = _validator(schema)
    decoded = read(value, [schema], schema, single=False) if text else value
    if validator is None or validator.is_valid(decoded):
        return None
    broken = {str(error.schema_path[0]) for error in validator.iter_errors(decoded)}
    return min(broken, key=lambda keyword: (_FIRST.get(keyword, len(_FIRST)), keyword))


_FIRST: Final = {keyword: rank for rank, keyword in enumerate(("type", "enum", "const"))}
"""The keyword reported of several: with a wrong type the others are of no use."""


def is_fully_checked(schema: Schema) -> bool:
    """Whether `first_violation` looks at everything that a schema asserts."""
    return _validator(schema) is not None and _FORMATS_JUDGED.issuperset(_formats(schema))


def _formats(schema: Json) -> Iterator[str]:
    """Yield every format that a schema names; limits of a format (`formatMaximum`) are nothing that is looked at."""
    for pointer, value in leaves(schema):
        *around, keyword = pointer.split("/")
        if keyword.startswith("format") and isinstance(value, str) and _VALUES.isdisjoint(around):
            yield value


_VALUES: Final = frozenset({"enum", "const", "default"})


def compile_validator(schema: Schema) -> Validator:
    """Compile a schema with the formats as they are known here. Raises ValueError where it is none.

    Nothing that it refers to is ever fetched, and a pattern that tries too many ways does not match. No message has a
    value: each alternative that a long one breaks would have a copy of it.
    """
    return Validator(
        dict(schema), validate_formats=True, formats=_CHECKS, offline=True, pattern_options=_PATTERNS, mask="value"
    )


def _validator(schema: Schema) -> Validator | None:
    try:
        text = orjson.dumps(schema)
    except TypeError:  # a number of more than 64 bits
        return _compiled(schema)
    return _cached_validator(text)


def _size(arguments: tuple[bytes], _: object) -> int:
    """Return the bytes that a compiled schema takes, nearly. Patterns unfold their counts: `.{1,255}` takes 470 KB."""
    (text,) = arguments
    unfolded = 0
    if b'"pattern' in text:
        unfolded = math.prod(max((1, *map(int, filter(None, counts)))) for counts in _COUNTS.findall(text))
    return _LEAST + _OF_A_BYTE * len(text) + _OF_A_COPY * unfolded


@remembered(_KEPT, _size)
def _cached_validator(text: bytes) -> Validator | None:
    return _compiled(orjson.loads(text))


def _compiled(schema: Schema) -> Validator | None:
    try:
        return compile_validator(schema)
    except ValueError:
        return None


def _check(name: str) -> Callable[[str], bool]:
    return lambda text: spelling.is_format(text, name) is not False


_CHECKS: Final[dict[str, Any]] = {name: _check(name) for name in spelling.FORMATS}
_FORMATS_JUDGED: Final = spelling.FORMATS | {
    *("int32", "int64", "float", "double", "decimal", "unix-time", "password"),
    *("time", "duration", "regex", "json-pointer", "relative-json-pointer", "idn-email", "idn-hostname"),
    *("uri-reference", "uri-template", "iri", "iri-reference"),
}
