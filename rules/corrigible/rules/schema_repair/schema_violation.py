"""One place where a request breaks the description of its operation, and what is known of that place."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Final, NamedTuple

from corrigible.rules.pointer import MISSING, segments
from corrigible.rules.safety.decisive import words
from corrigible.schema.exchange import Json, Request

from .json_schema import Schema

_TABLES: Final[Mapping[str, Any]] = tomllib.loads(files(__package__).joinpath("tables.toml").read_text("utf-8"))
SAID: Final[Mapping[str, Sequence[str]]] = {
    keyword: said for keywords, said in _TABLES["diagnoses"].items() for keyword in keywords.split()
}
"""By keyword: what is wrong, its code, perhaps how a message begins that gives another value."""
WORDS: Final[Mapping[str, frozenset[str]]] = {
    kind: frozenset(listed.split()) for kind, listed in _TABLES["words"].items()
}

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
    """Of a missing member and of one in another format: the object that it belongs into, closed."""
    inside: tuple[SchemaViolation, ...] = ()
    """Of a text that holds JSON: what is wrong inside it, with pointers as though what it holds were the body."""


class DeclaredPlace(NamedTuple):
    """What a description declares at one place of a request, whether or not anything is sent there."""

    schema: Schema
    """Self-contained; empty where the description does not declare the place."""
    siblings: tuple[str, ...] = ()
    """The names that are declared in the object around it, its own included."""
    parent_schema: Schema | None = None
    """The object around it, closed; `x-required` (levels.REQUIRED) names the members that must be there."""
    outer_schema: Schema | None = None
    """The members that are declared one level above that object."""


class Place(NamedTuple):
    """What matters about the place of a value for how it may be repaired."""

    name: str = ""
    text: bool = False
    """Scalars are text on the wire."""
    reads: bool = False
    """The call only reads."""
    wraps: bool = True
    """A list can be distinguished from one value there (it cannot in a query)."""
    whole: bool = False
    """It is the whole body."""
    exact: bool = True
    """The text of a fraction there is the text that was sent."""


def place_of(pointer: str, request: Request) -> Place:
    """Return the facts of a value's place."""
    part, *names = segments(pointer) or [""]
    while names and names[-1].isdecimal():
        names.pop()
    return Place(
        name=names[-1] if names else "",
        text=part in ("query", "headers", "path") or (part == "body" and request.form),
        reads=request.method in ("GET", "HEAD"),
        wraps=part == "body",
        whole=pointer == "/body",
        exact=not request.has_other_numbers,
    )


def is_called(name: str, *kinds: str) -> bool:
    """Whether the last word of a name is one of some kinds."""
    return any(word in WORDS[kind] for word in words(name)[-1:] for kind in kinds)
