"""What stands at another level, or in another part of a request, than where it is declared: it is moved there.

| sent                             | declared                                 | what is sent                          |
|----------------------------------|------------------------------------------|---------------------------------------|
| `{"type": "DONE"}`               | `state: {"type": ...}`, required         | `{"state": {"type": "DONE"}}`         |
| `{"book": {"title": "T"}}`       | `title`, required                        | `{"title": "T"}`                      |
| `{"user": "ops", "level": "3"}`  | `data`, required, of any names           | `{"data": {...}}`, once confirmed     |
| `{"limit": 5}` as the body       | `limit` of the query, and no body        | `?limit=5`                            |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.rules.engine.guarded_patch import PatchError, guarded
from corrigible.rules.functions.builtin import Operation
from corrigible.rules.pointer import MISSING, escape, resolve, segments, value_at
from corrigible.rules.safety.decisive import is_decisive
from corrigible.rules.safety.nearness import is_plural, is_same, nearest
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Request

from .first_violation import first_violation
from .json_schema import ALTERNATIVES, Schema, members, types
from .schema_violation import WORDS, SchemaViolation, is_called
from .suggestion import Suggestion, edit, guards, is_secret

REQUIRED: Final = "x-required"
"""In the schema of what is declared beside a member: the names of those that must be there."""
MISPLACED: Final = "misplaced"
"""The keyword of an undeclared member that may stay, where an object beside it declares it."""
NOT_OF_BODY: Final = "x-not-of-body"
"""In a schema of a parameter: the members that the body of its operation has; none where all of a body may move."""

IN_QUERY: Final = "x-in-query"
"""In a schema of methods: the only one takes in its query what was sent as body."""


GENERAL_NAMES: Final = WORDS["general"]
_NAMING_MEMBERS: Final = frozenset(
    {"properties", "patternProperties", "propertyNames", "required", "allOf", *ALTERNATIVES, "const", "enum"}
)
_MOST: Final = 16
"""Members that go to another level together."""
_ONE_LEVEL: Final = "Send the value where the description has it, one level away."
_IF_IT_BELONGS: Final = "Send what has no place of its own inside the object that has nothing, if it belongs there."


class MemberMove(NamedTuple):
    suggestion: Suggestion
    is_certain: bool
    """Whether the description misses there what was sent here: else the same name may mean something else there."""
    is_first: bool = True
    """Whether this member is the first of those that move together: the others need no suggestion."""


# One level up or down


def move_member(violation: SchemaViolation, request: Request) -> MemberMove | None:
    """Return the move of an undeclared member to the only place one level away that declares it; None without one."""
    parent, _, last = violation.pointer.rpartition("/")
    name, present = segments(violation.pointer)[-1], value_at(request, parent)
    if not violation.pointer.startswith("/body/") or not isinstance(present, Mapping):
        return None
    if is_secret(violation.pointer, present[name]):
        return None
    inside = {
        holder: inner
        for holder, inner in _objects(violation.schema)
        if _takes(inner, name, present[name], present.get(holder), request)
    }
    above, outer = parent.rpartition("/")[0], violation.outer_schema
    outside = value_at(request, above) if outer is not None and above else MISSING
    up = isinstance(outside, Mapping) and _takes(outer or {}, name, present[name], outside, request)
    if len(inside) + up != 1:
        return None
    if up:
        is_certain, is_other = name in _required(outer) - GENERAL_NAMES, name in GENERAL_NAMES
        asks = violation.keyword == MISPLACED and is_other
        moved = _move(violation, request, [(violation.pointer, f"{above}/{last}")], asks=asks)
        return None if moved is None else MemberMove(moved, is_certain)
    ((holder, schema),) = inside.items()
    return _moved_into(violation, request, name, present, holder, schema)


def _moved_into(
    violation: SchemaViolation, request: Request, name: str, present: Mapping[str, Json], holder: str, schema: Schema
) -> MemberMove | None:
    """Return the move of a member into an object beside it, with all others that belong there where it is missing."""
    parent, there = violation.pointer.rpartition("/")[0], present.get(holder)
    strange = [one for one in present if one not in violation.siblings]
    together = [name] if there is not None else [one for one in present if one == name or one in strange]
    together = [one for one in together if one == name or _takes(schema, one, present[one], there, request)][:_MOST]
    needed, own = _required(schema), {*together} - GENERAL_NAMES
    has_all = needed <= {*together, *(there if isinstance(there, Mapping) else ())}
    is_wanted = there is not None or len(needed & own) > 1 or holder in _required(violation.schema)
    # Several members that all belong into the one object that declares them: none of them is another thing's.
    is_all = there is None and {*strange} <= {*together} and len(own) > 1
    place = f"{parent}/{escape(holder)}"
    made: list[Operation] = [] if there is not None else [{"op": "add", "path": place, "value": {}}]
    is_certain, is_first = has_all and ((bool(needed & own) and is_wanted) or is_all), together[0] == name
    # The server's complaint speaks for moving what is misplaced, where its name means one thing and nothing is missed.
    is_plain = is_first and (is_certain or (name not in GENERAL_NAMES and has_all))
    moves = _moves(violation, together, place)
    moved = _move(violation, request, moves, made, asks=violation.keyword == MISPLACED and not is_plain)
    return None if moved is None else MemberMove(moved, is_certain, is_first)


def _strange(violation: SchemaViolation, request: Request) -> dict[str, Json]:
    """Return the few undeclared members beside a missing one; none where the object has no place in a JSON body."""
    present = value_at(request, violation.pointer.rpartition("/")[0])
    if not violation.pointer.startswith("/body/") or not isinstance(present, Mapping) or request.form:
        return {}
    strange = {name: value for name, value in present.items() if name not in violation.siblings}
    return strange if len(strange) <= _MOST else {}


def into_missing(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return the move of all undeclared members into the missing object beside them, where they are what it takes.

    `{"type": "COMPLETED"}` becomes `{"state": {"type": "COMPLETED"}}`, or `{"states": [{"type": "COMPLETED"}]}` where
    a list of such objects is missing. Into an object that takes any names they go once that is confirmed: one of them
    may be meant for something else.
    """
    inner = _strange(violation, request)
    item = violation.schema.get("items") if types(violation.schema) == ("array",) else None
    schema = item if isinstance(item, Mapping) else violation.schema
    is_free = not _declares(schema, inner)
    if not inner or segments(violation.pointer)[-1] in inner or (is_free and not _takes_any(violation, inner, request)):
        return None
    place = violation.pointer
    made: list[Operation] = [{"op": "add", "path": place, "value": {} if item is None else [{}]}]
    if item is not None:
        place = f"{place}/0"
        made.append({"op": "test", "path": place, "value": {}})
    message = _IF_IT_BELONGS if is_free else _ONE_LEVEL
    return _move(violation, request, _moves(violation, inner, place), made, asks=is_free, message=message)


def _takes_any(violation: SchemaViolation, inner: Mapping[str, Json], request: Request) -> bool:
    """Whether a missing object takes any names, and some members are not the object under another name."""
    schema, name = violation.schema, segments(violation.pointer)[-1]
    if not violation.siblings or any(isinstance(value, Mapping | list) for value in inner.values()):
        return False
    # What alone would go into what takes any value may be that value, under another name.
    takes_anything = not types(schema) and schema.keys() <= {"description", "title", "nullable"}
    is_any = takes_anything and len(inner) > 1 and is_called(name, "holders")
    is_map = types(schema) == ("object",) and schema.get("additionalProperties") is not False
    if not is_any and not (is_map and _NAMING_MEMBERS.isdisjoint(schema)):
        return False
    present = value_at(request, violation.pointer.rpartition("/")[0])
    free = [one for one in violation.siblings if one not in present]
    is_slip = any(nearest(one, free) for one in inner)  # it belongs where it is
    lacks_more = bool(_required(violation.parent_schema) - present.keys() - {name})
    return not is_slip and not lacks_more and first_violation(inner, schema) is None


def unwrapped(parent: str, around: Schema | None, violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return the move of an object out of its only, undeclared member, where it is what belongs around the member.

    `{"book": {"title": "T"}}` becomes `{"title": "T"}`. The member may be declared if what is declared is no object.
    Once it is confirmed, where the member is called like nothing in the path: a `template` of books is no book.
    """
    present = value_at(request, parent)
    if around is None or not parent.startswith("/body") or not isinstance(present, Mapping) or request.form:
        return None
    ((name, inner),) = present.items() if len(present) == 1 else ((None, None),)
    declared = members(around)
    if not isinstance(inner, Mapping) or not declared or not inner.keys() <= declared.keys():
        return None
    if name in declared and (not types(declared[str(name)]) or "object" in types(declared[str(name)])):
        return None
    needed = _required(around) | ({segments(violation.pointer)[-1]} if violation.keyword == "required" else set())
    if not needed or not needed <= inner.keys() or first_violation(inner, around) is not None:
        return None
    is_said = is_called(str(name), "holders") or is_in_path(str(name), request)
    return _move(violation, request, [(f"{parent}/{escape(str(name))}", parent)], asks=not is_said)


def is_in_path(name: str, request: Request) -> bool:
    """Whether a name is that of what the path is about: `issue` of `/issues`."""
    parts = (part.partition(".")[0] for part in request.path.split("/") if part)
    return any(is_same(name, one) or is_plural(name, one) for one in parts)


def _moves(violation: SchemaViolation, names: Iterable[str], place: str) -> list[tuple[str, str]]:
    parent = violation.pointer.rpartition("/")[0]
    return [(f"{parent}/{escape(name)}", f"{place}/{escape(name)}") for name in names]


def _move(
    violation: SchemaViolation,
    request: Request,
    moves: list[tuple[str, str]],
    made: Sequence[Operation] = (),
    *,
    asks: bool = False,
    message: str = _ONE_LEVEL,
) -> Suggestion | None:
    document = request.document()
    tests: list[Operation] = []
    ops: list[Operation] = [*made]
    try:
        for source, target in moves:
            # `move` fails where the member is gone; the test is for members inside a list.
            tests += [guard for guard in guards(document, source, resolve(document, source)) if guard not in tests]
            ops.append({"op": "move", "from": source, "path": target})
        guarded(document, [*tests, *ops])
    except PatchError:
        return None
    asks = asks or any(is_decisive(segments(source)[-1], request) for source, _ in moves)
    return edit(violation, request, [*tests, *ops], message, requires_confirmation=asks)


def _declares(schema: Schema, inner: Mapping[str, Json]) -> bool:
    """Whether an object declares all of some members, and takes them together."""
    return bool(inner) and inner.keys() <= members(schema).keys() and first_violation(inner, schema) is None


def _objects(schema: Schema) -> list[tuple[str, Schema]]:
    """Return the members that are objects with members of their own, by name."""
    found: list[tuple[str, Schema]] = []
    for name, inner in members(schema).items():
        branches = [inner, *(one for one in inner.get("anyOf") or () if isinstance(one, Mapping))]
        objects = [one for one in branches if members(one) and "object" in (types(one) or ("object",))]
        found += [(name, objects[0])] if len(objects) == 1 else []
    return found


def _takes(schema: Schema, name: str, value: Json, existing: Json, request: Request) -> bool:
    """Whether an object declares a member that is not there yet, and takes the value as it is."""
    inner = members(schema).get(name)
    if inner is None or value is None or not isinstance(existing, Mapping | None):
        return False
    return name not in (existing or {}) and first_violation(value, inner, text=request.form) is None


def _required(schema: Schema | None) -> frozenset[str]:
    names = (schema or {}).get(REQUIRED, (schema or {}).get("required"))
    return frozenset(str(name) for name in names) if isinstance(names, list | tuple) else frozenset()


# From the body into the query


def into_query(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return the move of a member of the body into the query, where it is missed, with all where no body is taken."""
    place, *names = segments(violation.pointer)
    known, body = violation.schema.get(NOT_OF_BODY), request.body
    if place != "query" or len(names) != 1 or known is None or not isinstance(body, Mapping) or request.form:
        return None
    called = [name for name in body if is_same(name, names[0]) and name not in known]
    if len(called) != 1 or first_violation(scalar_text(body[called[0]]), violation.schema, text=True) is not None:
        return None
    moved = {names[0] if name == called[0] else name: body[name] for name in (called if known else body)}
    ops = _into_query(request, moved)
    if not known:
        return _without_body(violation, request, ops, "Send it in the query: this operation takes no body.")
    source = f"/body/{escape(called[0])}"
    ops = [{"op": "test", "path": source, "value": body[called[0]]}, *ops, {"op": "remove", "path": source}]
    return edit(violation, request, ops, "Send it in the query: the body has no such member.") if len(ops) > 2 else None


def read_by_query(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return GET with the members of the body in the query, where that is the only method, and takes them all."""
    if violation.schema.get(IN_QUERY) is not True or not isinstance(request.body, Mapping):
        return None
    ops: list[Operation] = [{"op": "test", "path": "/method", "value": request.method}]
    ops.append({"op": "replace", "path": "/method", "value": "GET"})
    message = "Use GET, the only method of this path, with what was sent in the query."
    return _without_body(violation, request, [*ops, *_into_query(request, request.body)], message)


def _into_query(request: Request, moved: Mapping[str, Json]) -> list[Operation]:
    """Return the operations that add members to the query; none where one of them cannot go there."""
    is_fitting = len(moved) <= _MOST and moved.keys().isdisjoint(request.query)
    if not is_fitting or not all(
        _is_plain(one) and not is_secret(f"/query/{name}", one) for name, one in moved.items()
    ):
        return []
    texts: dict[str, Json] = {name: scalar_text(value) for name, value in moved.items()}
    if not request.query:
        return [{"op": "add", "path": "/query", "value": texts}]
    return [{"op": "add", "path": f"/query/{escape(name)}", "value": text} for name, text in texts.items()]


def _without_body(
    violation: SchemaViolation, request: Request, ops: list[Operation], message: str
) -> Suggestion | None:
    """Return the request with operations that add to its query, without its body and the media type of that."""
    if not ops or ops[-1]["op"] != "add":
        return None
    ops = [{"op": "test", "path": "/body", "value": request.body}, *ops, {"op": "remove", "path": "/body"}]
    ops += [{"op": "remove", "path": "/headers/content-type"}] if "content-type" in request.headers else []
    action = "USE_ALTERNATIVE_ENDPOINT" if any(op["path"] == "/method" for op in ops) else "MODIFY_PARAMS"
    return edit(violation, request, ops, message, action=action)


def _is_plain(value: Json) -> bool:
    return isinstance(value, str | int | float)
