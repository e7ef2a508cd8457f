"""What makes one request another one, as operations of RFC 6902."""

from __future__ import annotations

from collections.abc import Iterator

from corrigible.rules.budget import spend
from corrigible.rules.pointer import escape
from corrigible.schema.document import header_problem, is_method, is_path
from corrigible.schema.edit import same_json
from corrigible.schema.exchange import Json, Request


def is_sendable(before: Request, after: Request) -> bool:
    """Whether readers take a request that was made of another one: its method or path, and the headers that changed."""
    changed = {name: value for name, value in after.headers.items() if before.headers.get(name) != value}
    is_named = is_method(after.method) and (after.path == before.path or is_path(after.path))
    return is_named and header_problem(changed) is None


def edit_operations(before: Request, after: Request, *, skip_path: bool = False) -> list[dict[str, Json]]:
    """Return the operations of RFC 6902 that make one request another one, behind tests of method and path."""
    ops: list[dict[str, Json]] = []
    for place, old, new in (("/method", before.method, after.method), ("/path", before.path, after.path)):
        if old or new:
            ops.append({"op": "test", "path": place, "value": old})
        if old != new and not (skip_path and place == "/path"):
            ops.append({"op": "replace", "path": place, "value": new})
    for place, old_part, new_part in (
        ("/query", dict(before.query), dict(after.query)),
        ("/headers", dict(before.headers), dict(after.headers)),
        ("/body", before.body, after.body),
    ):
        ops += _differences(place, old_part, new_part)
    return ops


def _differences(place: str, old: Json, new: Json) -> Iterator[dict[str, Json]]:
    spend()
    if same_json(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for name in old:
            if name not in new:
                yield {"op": "remove", "path": f"{place}/{escape(name)}"}
        for name, value in new.items():
            inner = f"{place}/{escape(name)}"
            if name not in old:
                yield {"op": "add", "path": inner, "value": value}
            else:
                yield from _differences(inner, old[name], value)
    elif old is None and place == "/body":
        yield {"op": "add", "path": place, "value": new}
    elif new is None and place == "/body":
        yield {"op": "replace", "path": place, "value": None}
    else:
        yield {"op": "replace", "path": place, "value": new}
