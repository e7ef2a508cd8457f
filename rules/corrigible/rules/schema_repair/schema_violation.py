"""One place where a request breaks the description of its operation."""

from __future__ import annotations

from typing import Final, NamedTuple

from corrigible.rules.pointer import MISSING
from corrigible.schema.exchange import Json

from .json_schema import Schema

MOST: Final = 64
"""Violations that are computed of one request: where there are as many, there may be more."""


class SchemaViolation(NamedTuple):
    """One constraint of a description that one place of a request breaks."""

    pointer: str
    """RFC 6901 into the request document; of a missing member its own place."""
    keyword: str
    """The JSON Schema keyword; `path` or `method` where the request names no operation, `around` where its path goes on
    below a known one, `base` where the description writes the operation's path in another way, `reference` where there
    is nothing under a name in its path, `blank` where the server takes an empty value for a missing one,
    `misplaced` where an object beside an undeclared member declares it."""
    schema: Schema
    """The schema of the place, resolved and self-contained."""
    value: Json = MISSING
    siblings: tuple[str, ...] = ()
    """The member names that are declared beside it, for a misspelt one."""
    outer_schema: Schema | None = None
    """Of an undeclared member: the members that are declared one level above it."""
    parent_schema: Schema | None = None
    """Of a missing member: the object that it belongs into, closed."""
    inside: tuple[SchemaViolation, ...] = ()
    """Of a text that holds JSON: what is wrong inside it, with pointers as though what it holds were the body."""
