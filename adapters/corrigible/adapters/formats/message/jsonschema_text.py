"""The text of an error of Python's jsonschema: the sentence, the schema that failed, and the value that it failed on.

    'email' is a required property

    Failed validating 'required' in schema['properties']['user']:
        {'type': 'object', 'required': ['email'], 'properties': {'email': {'type': 'string'}}}

    On instance['user']:
        {'name': 'ann'}

What was validated may be only a part of the request: the value tells which.

Knows: one text. Does not know: requests, formats.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from corrigible.schema.exchange import Json

from .literals import whole_literal

_SHAPE: Final = re.compile(
    r"(?P<sentence>[^\n]{1,1000})\n\n"
    r"Failed validating '(?P<keyword>[A-Za-z$]{1,40})' in [\w ]{0,40}schema[^\n]{0,400}:\n"
    r"(?P<schema>.{1,3000}?)\n\nOn [\w ]{0,40}instance(?P<path>[^\n]{0,400}):\n(?P<value>.{1,3000})",
    re.DOTALL,
)
_STEP: Final = re.compile(r"\['(?P<name>[^'\]]{1,120})'\]|\[(?P<index>\d{1,6})\]")


class JsonschemaError(NamedTuple):
    """What a text of jsonschema says."""

    sentence: str
    keyword: str
    path: tuple[str, ...]
    """Of the value, in what was validated."""
    schema: Mapping[str, Json]
    """Empty where it was printed in part only."""
    value: Json
    """What failed; MISSING where it was printed in part only."""


def read_jsonschema(text: str) -> JsonschemaError | None:
    """Return what a text of jsonschema says, None for any other text."""
    shape = _SHAPE.match(text) if "Failed validating" in text else None
    if shape is None:
        return None
    path = tuple(step["name"] or step["index"] for step in _STEP.finditer(shape["path"]))
    schema = whole_literal(shape["schema"])
    value = whole_literal(shape["value"])
    return JsonschemaError(
        shape["sentence"], shape["keyword"], path, schema if isinstance(schema, Mapping) else {}, value
    )
