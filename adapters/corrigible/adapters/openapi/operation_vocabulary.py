"""The vocabulary of an operation: every declared member and parameter, down to a depth."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from corrigible.adapters.openapi.request.operation_checks import OperationChecker
from corrigible.adapters.openapi.schema.schema_path import declared
from corrigible.adapters.vocabulary import ANY, DEEPEST, MOST, Path, Vocabulary
from corrigible.rules.schema_repair.json_schema import Schema, choices, parts
from corrigible.schema.exchange import Json

_MOST_CHOICES: Final = 64


def vocabulary(checks: OperationChecker) -> Vocabulary:
    """Return the declared places of an operation, the outermost first."""
    root = checks.root({})
    listed: dict[Path, tuple[Json, ...]] = {}
    for place, parameters in (("query", checks.query), ("headers", checks.headers), ("path", checks.path)):
        for one in parameters:
            name = one["name"].lower() if place == "headers" else one["name"]
            listed |= dict(_inside((place, name), one["schema"], root, MOST))
    schema, _ = checks.body_schema()
    if schema is not None:
        listed |= dict(_inside(("body",), schema, checks.root(schema), MOST))
    return Vocabulary(tuple(listed), tuple((path, values) for path, values in listed.items() if values))


def _inside(path: Path, schema: Json, root: Schema, most: int) -> Iterator[tuple[Path, tuple[Json, ...]]]:
    """Yield a place and all below it with the values that each allows, level by level."""
    waiting = deque([(path, [schema])])
    while waiting and most > 0:
        here, schemas = waiting.popleft()
        most -= 1
        all_parts = [part for one in schemas for part in parts(one, root)]
        allowed = [value for part in all_parts for value in choices(part) if value is not None]
        yield here, tuple(allowed) if len(allowed) <= _MOST_CHOICES else ()
        if len(here) > DEEPEST:
            continue
        for name, inner in declared(schemas, root).items():
            if isinstance(inner, dict):
                waiting.append(((*here, name), [inner]))
        below = [
            part[key]
            for part in all_parts
            for key in ("items", "additionalProperties")
            if isinstance(part.get(key), dict)
        ]
        if below:
            waiting.append(((*here, ANY), below))
