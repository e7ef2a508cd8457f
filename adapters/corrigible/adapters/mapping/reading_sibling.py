"""A read that is made by POST beside it: `GET /flow_runs` where the API has `POST /flow_runs/filter`.

Made from the description alone, for one request. Knows: names of operations, what the sibling takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from corrigible.adapters.operation import Operations
from corrigible.rules.budget import spend
from corrigible.schema.exchange import Json, Request

from .mapping import Equivalence, Evidence, FieldMapping, OperationMapping, OperationName

WORDS: Final = ("filter", "search", "query", "list")
"""Last segments of paths whose POST reads many of what the path before names."""
_CONVERSIONS: Final = {
    "string": "",
    "integer": "to integer",
    "number": "to number",
    "boolean": "to boolean",
    "array": "to list",
}


def sibling_path(operations: Operations, request: Request) -> str:
    """Return the path of the sibling of a read, as it is written; empty without one."""
    if request.method != "GET" or request.body is not None or operations.ends_of_posts.isdisjoint(WORDS):
        return ""
    plain = request.path.rstrip("/")
    spend(len(WORDS))
    for word in WORDS:
        if word not in operations.ends_of_posts:
            continue
        path = f"{plain}/{word}"
        match = operations.find("POST", path)
        if match is not None and word not in match[1].values():
            return path
    return ""


def reading_sibling(request: Request, path: str, facts: Json) -> OperationMapping:
    """Return the mapping to a sibling; `facts` are `{required, properties}` of what it takes.

    What the query names goes into the body where the sibling has a member of that name and kind.
    """
    properties = facts.get("properties", {}) if isinstance(facts, Mapping) else {}
    required = facts.get("required", ()) if isinstance(facts, Mapping) else ()
    arguments = []
    for name in request.query:
        schema = properties.get(name)
        conversion = _CONVERSIONS.get(_kind(schema)) if isinstance(schema, Mapping) else None
        if conversion is not None:
            arguments.append(FieldMapping(source=f"/query/{name}", target=f"/body/{name}", conversion=conversion))
    return OperationMapping(
        source=OperationName(api="", method="GET", path=request.path),
        target=OperationName(api="", method="POST", path=path),
        equivalence=Equivalence.SAME_WITH_CONVERSION,
        score=0.5,
        arguments=tuple(arguments),
        needed=tuple(f"/body/{name}" for name in required),
        evidence=(Evidence(kind="path", score=0.5, note="the description has the one beside the other"),),
    )


def _kind(schema: Mapping[str, Json]) -> str:
    """Return JSON Schema's word for what a member takes, without null; empty where it may be several."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        kinds = [one for one in kinds if one != "null"]
        return str(kinds[0]) if len(kinds) == 1 else ""
    if kinds is None:
        choices = [one for name in ("anyOf", "oneOf") for one in schema.get(name, ()) if isinstance(one, Mapping)]
        inner = {_kind(one) for one in choices if one.get("type") != "null"}
        return inner.pop() if len(inner) == 1 else ""
    return str(kinds)
