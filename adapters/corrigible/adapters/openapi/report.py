"""What a description lets us judge, operation by operation, and what it does not.

Knows: compiled operations. Does not know: requests, files, how it is printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.rules.schema_repair.json_schema import parts
from corrigible.schema.exchange import Json

from .description import Description, member_names
from .operation_checks import OperationChecker, is_credential

_READ: Final = ("json", "yaml", "x-www-form-urlencoded", "multipart/form-data")
"""What the names of media types hold whose bodies are decoded."""
_MOST_MEMBERS: Final = 200
"""Members of a request whose look-ups are listed."""
_MOST_COMPILED: Final = 50_000
"""Definitions that the schemas of all operations refer to: the schemas after that are not tried."""
_WITHOUT_EFFECT: Final = frozenset({"default", "readOnly", "discriminator", "$defs", "$ref"})
"""Keywords that constrain nothing."""


class Part(NamedTuple):
    """One part of a request that is described."""

    place: str
    """`path`, `query`, `headers` or `body`."""
    name: str
    """Of a parameter its name, of a body its media type."""
    reason: str = ""
    """Why it is not judged; empty where it is."""


class OperationReport(NamedTuple):
    """What can be judged of the requests of one operation."""

    operation: str
    """Method and path, as the description has them."""
    name: str
    parts: tuple[Part, ...]
    lookups: tuple[str, ...]
    """The paths whose GET shows the state that a request of this operation may run into."""
    refusals: Mapping[str, Sequence[str]]
    """The documented statuses, each with the error codes that its schema lists."""


def report(description: Description) -> Iterator[OperationReport]:
    """Yield a report for each operation, in the order of the description."""
    compiled = _Compiled()
    for name in dict.fromkeys(description.operations.names):
        checker = description.checker(name)
        if checker is not None:
            path = f"{checker.record['method']} {checker.record['path']}"
            yield OperationReport(
                path, name, tuple(_parts(checker, compiled)), _lookups(description, name), description.refusals(name)
            )


def _lookups(description: Description, name: str) -> tuple[str, ...]:
    """Return the reads that the proxy may send: of the resource, of its collection, of what members refer to."""
    checker, reads = description.checker(name), description.related_reads
    if checker is None:
        return ()
    method, path = str(checker.record["method"]), str(checker.record["path"]).partition("#")[0]
    found: dict[str, None] = {}
    if (creation := reads.creation(method, path)) is not None:
        found |= {f"{item.base}/{{{item.variable}}}": None for item in creation.items if item.is_readable}
        found |= {creation.collection: None} if creation.collection else {}
    found |= {resource.collection: None for resource in reads.named(method, path) if resource.collection}
    for member in member_names(checker)[:_MOST_MEMBERS]:
        found |= dict.fromkeys(reads.collections(member, method, path))
    return tuple(found)


class _Compiled:
    """Which schemas can be compiled: what several operations refer to is tried once."""

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}
        self._left = _MOST_COMPILED

    def compiles(self, checker: OperationChecker, name: str, schema: Json) -> bool:
        uses = checker.record.get("uses", [])
        key = repr((schema, uses))
        if key not in self._known:
            self._left -= 1 + len(uses)
            self._known[key] = self._left < 0 or checker.compiles(name, schema)
        return self._known[key]


def _parts(checker: OperationChecker, compiled: _Compiled) -> Iterator[Part]:
    for one in checker.path:
        style = one.get("style", "simple")
        yield Part("path", one["name"], _unread(checker, one) or ("" if style == "simple" else f"style {style}"))
    for one in checker.query:
        yield Part("query", one["name"], _unread(checker, one))
    for one in checker.headers:
        never = "a credential, or about the body" if is_credential(str(one["name"]).lower()) else ""
        yield Part("headers", one["name"], never or ("JSON" if one.get("json") else "") or _unread(checker, one))
    media: Mapping[str, Mapping[str, Json]] = checker.record.get("body", {}).get("media", {})
    for name, documented in media.items():
        yield Part("body", name, _unread_body(checker, compiled, name, documented["schema"]))


def _unread(checker: OperationChecker, parameter: Mapping[str, Json]) -> str:
    if parameter.get("opaque"):
        return "in a media type that is not read"
    return "" if _constrains(parameter["schema"], checker) else "any value"


def _unread_body(checker: OperationChecker, compiled: _Compiled, media: str, schema: Json) -> str:
    if not any(kind in media for kind in _READ) and media not in ("*/*", "application/*"):
        return "media type that is not read"
    if not _constrains(schema, checker):
        return "no schema"
    return "" if compiled.compiles(checker, f"body {media}", schema) else "schema that cannot be compiled"


def _constrains(schema: Json, checker: OperationChecker) -> bool:
    if not isinstance(schema, Mapping):
        return schema is False
    return any(not _WITHOUT_EFFECT.issuperset(part) for part in parts(schema, checker.root(schema)))
