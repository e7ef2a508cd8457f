"""Members of a body that belong into the query: the body of the operation has none such, or a path has one method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from corrigible.rules.functions.edits import Operation
from corrigible.rules.pointer import escape, segments
from corrigible.rules.safety.nearness import is_same
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Request

from .first_violation import first_violation
from .json_schema import Schema
from .schema_violation import SchemaViolation
from .suggestion import Suggestion, edit, is_secret

NO_BODY: Final = "x-no-body"
"""In a schema of a parameter: its operation takes no body."""
ALL_DECLARED: Final = "x-all-declared"
"""In a schema of a parameter, with `NO_BODY`: each member of the body that was sent is a parameter, and fits it."""
NOT_OF_BODY: Final = "x-not-of-body"
"""In a schema of a parameter: the members that the body of its operation has, where it has no others."""
IN_QUERY: Final = "x-in-query"
"""In a schema of methods: the only one takes in its query what was sent as body."""
_MEDIA_TYPE: Final = "/headers/content-type"
"""It is that of a body."""
_MOST: Final = 16


def into_query(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return the move of members of the body into the query, where the one that is missed there is among them."""
    place, *names = segments(violation.pointer)
    if place != "query" or len(names) != 1:
        return None
    if (known := violation.schema.get(NOT_OF_BODY)) is not None:
        return _out_of_body(violation, request, names[0], known)
    if violation.schema.get(NO_BODY) is not True:
        return None
    if violation.schema.get(ALL_DECLARED) is True and isinstance(request.body, Mapping) and names[0] in request.body:
        ops = _operations(request, {str(name): value for name, value in request.body.items()})
        return edit(violation, request, ops, "Send all of it in the query: this operation takes no body.")
    moved = _moved(request)
    same = [name for name in moved if is_same(name, names[0])]
    if len(same) != 1 or len(moved) != 1 or first_violation(moved[same[0]], violation.schema, text=True) is not None:
        return None
    ops = _operations(request, {names[0]: moved[same[0]]})
    return edit(violation, request, ops, "Send it in the query: this operation takes no body.")


def _out_of_body(violation: SchemaViolation, request: Request, name: str, known: Sequence[str]) -> Suggestion | None:
    """Return the move of the only undeclared member of a body that is called like a missing parameter."""
    body = request.body
    if not isinstance(body, Mapping) or request.form:
        return None
    called = [str(one) for one in body if is_same(str(one), name)]
    if len(called) != 1 or called[0] in known or any(is_same(one, name) for one in known):
        return None
    source, value = f"/body/{escape(called[0])}", body[called[0]]
    if not _is_plain(value) or is_secret(source, value):
        return None
    if first_violation(scalar_text(value), violation.schema, text=True) is not None:
        return None
    ops: list[Operation] = [{"op": "test", "path": source, "value": value}]
    if request.query:
        ops.append({"op": "add", "path": violation.pointer, "value": scalar_text(value)})
    else:
        ops.append({"op": "add", "path": "/query", "value": {name: scalar_text(value)}})
    ops.append({"op": "remove", "path": source})
    return edit(violation, request, ops, "Send it in the query: the body has no such member.")


def read_by_query(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return GET with the members of the body in the query, where that is the only method, and takes them all."""
    moved = _moved(request)
    if violation.schema.get(IN_QUERY) is not True or not moved:
        return None
    ops: list[Operation] = [
        {"op": "test", "path": "/method", "value": request.method},
        {"op": "replace", "path": "/method", "value": "GET"},
        *_operations(request, moved),
    ]
    message = "Use GET, the only method of this path, with what was sent in the query."
    return edit(violation, replace(request, method="GET"), ops, message, action="USE_ALTERNATIVE_ENDPOINT")


def are_parameters(body: Json) -> bool:
    """Whether a body is an object of few plain values, as a query can hold."""
    return isinstance(body, Mapping) and 0 < len(body) <= _MOST and all(map(_is_plain, body.values()))


def are_moved(request: Request, parameters: Mapping[str, Schema]) -> bool:
    """Whether each member of a body is one of some parameters that were not sent in the query, and fits it as text."""
    body = request.body
    if not isinstance(body, Mapping) or not 0 < len(body) <= _MOST or request.form:
        return False
    return all(
        isinstance(value, str | int | float)
        and name in parameters
        and name not in request.query
        and not is_secret(f"/body/{escape(str(name))}", value)
        and first_violation(scalar_text(value), parameters[name], text=True) is None
        for name, value in body.items()
    )


def _is_plain(value: Json) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _moved(request: Request) -> dict[str, Json]:
    body = request.body
    if not isinstance(body, Mapping) or not are_parameters(body):
        return {}
    if any(is_secret(f"/body/{escape(str(name))}", value) or name in request.query for name, value in body.items()):
        return {}
    return {str(name): value for name, value in body.items()}


def _operations(request: Request, moved: Mapping[str, Json]) -> list[Operation]:
    ops: list[Operation] = [{"op": "test", "path": "/body", "value": request.body}]
    if not request.query:
        added: dict[str, Json] = {name: scalar_text(value) for name, value in moved.items()}
        ops.append({"op": "add", "path": "/query", "value": added})
    else:
        ops += [
            {"op": "add", "path": f"/query/{escape(name)}", "value": scalar_text(value)}
            for name, value in moved.items()
        ]
    ops.append({"op": "remove", "path": "/body"})
    return [*ops, {"op": "remove", "path": _MEDIA_TYPE}] if "content-type" in request.headers else ops
