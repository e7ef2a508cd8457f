"""What stands at another level, or in another part of a request, than where it is declared: it is moved there.

| sent                             | declared                                 | what is sent                          |
|----------------------------------|------------------------------------------|---------------------------------------|
| `{"type": "DONE"}`               | `state: {"type": ...}`, required         | `{"state": {"type": "DONE"}}`         |
| `{"book": {"title": "T"}}`       | `title`, required                        | `{"title": "T"}`                      |
| `{"user": "ops", "level": "3"}`  | `data`, required, of any names           | `{"data": {...}}`, once confirmed     |
| `[1]`                            | `items`, required, a list                | `{"items": [1]}`                      |
| `[1, 2, 3]`                      | a list of lists                          | `[[1, 2, 3]]`: it is the only row     |
| `["a", "b"]`                     | a list of lists                          | asked: which values belong together   |
| `{"limit": 5}` as the body       | `limit` of the query, and no body        | `?limit=5`                            |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from corrigible.rules.budget import spend
from corrigible.rules.engine.guarded_patch import PatchError, guarded
from corrigible.rules.functions.builtin import Operation
from corrigible.rules.pointer import MISSING, escape, resolve, segments, value_at
from corrigible.rules.safety.decisive import is_decisive, word_set, words
from corrigible.rules.safety.nearness import is_same
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Request

from .first_violation import first_violation
from .json_schema import ALTERNATIVES, Schema, members, types
from .schema_violation import SchemaViolation
from .suggestion import Proposal, Suggestion, ask, confirmed, edit, guards, is_secret

REQUIRED: Final = "x-required"
"""In the schema of what is declared beside a member: the names of those that must be there."""
MISPLACED: Final = "misplaced"
"""The keyword of an undeclared member that may stay, where an object beside it declares it."""
NO_BODY: Final = "x-no-body"
"""In a schema of a parameter: its operation takes no body."""
ALL_DECLARED: Final = "x-all-declared"
"""In a schema of a parameter, with `NO_BODY`: each member of the body that was sent is a parameter, and fits it."""
NOT_OF_BODY: Final = "x-not-of-body"
"""In a schema of a parameter: the members that the body of its operation has, where it has no others."""
IN_QUERY: Final = "x-in-query"
"""In a schema of methods: the only one takes in its query what was sent as body."""

GENERAL_NAMES: Final = word_set("id name type kind title description status state value key code")
"""Names that every thing has: at another level they are another thing's."""
_HOLDERS: Final = word_set("data input inputs params parameters arguments args payload variables attributes")
"""Last words of names under which an API takes an object that somebody else has defined."""
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
    is_first: bool
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
        is_certain = name in _required(outer) - GENERAL_NAMES
        move = [(violation.pointer, f"{above}/{last}")]
        return _move(violation, request, move, is_certain=is_certain, is_complete=name not in GENERAL_NAMES)
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
    return _move(
        violation,
        request,
        [(f"{parent}/{escape(one)}", f"{place}/{escape(one)}") for one in together],
        made,
        is_certain=has_all and ((bool(needed & own) and is_wanted) or is_all),
        is_first=together[0] == name,
        is_complete=name not in GENERAL_NAMES and has_all,
    )


def _strange(violation: SchemaViolation, request: Request) -> dict[str, Json]:
    """Return the few undeclared members beside a missing one; none where the object has no place in a JSON body."""
    present = value_at(request, violation.pointer.rpartition("/")[0])
    if not violation.pointer.startswith("/body/") or not isinstance(present, Mapping) or request.form:
        return {}
    strange = {name: value for name, value in present.items() if name not in violation.siblings}
    return strange if len(strange) <= _MOST else {}


def wrapped(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return the move of all undeclared members into the missing object beside them, where they are what it takes.

    `{"type": "COMPLETED"}` becomes `{"state": {"type": "COMPLETED"}}`, or `{"states": [{"type": "COMPLETED"}]}` where
    a list of such objects is missing.
    """
    inner = _strange(violation, request)
    item = violation.schema.get("items") if types(violation.schema) == ("array",) else None
    schema = item if isinstance(item, Mapping) else violation.schema
    if not inner or segments(violation.pointer)[-1] in inner or not _declares(schema, inner):
        return None
    place = violation.pointer
    made: list[Operation] = [{"op": "add", "path": place, "value": {} if item is None else [{}]}]
    if item is not None:
        place = f"{place}/0"
        made.append({"op": "test", "path": place, "value": {}})
    return _moved_inside(violation, request, inner, place, made)


def into_free_map(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return the move of all undeclared members into the missing object that takes any names, once that is confirmed.

    Nothing declares these members there: one of them may be meant for something else, and an object may be the missing
    one under another name.
    """
    schema, inner, name = violation.schema, _strange(violation, request), segments(violation.pointer)[-1]
    if not inner or not violation.siblings or any(isinstance(value, Mapping | list) for value in inner.values()):
        return None
    # What alone would go into what takes any value may be that value, under another name.
    takes_anything = not types(schema) and schema.keys() <= {"description", "title", "nullable"}
    is_any = takes_anything and len(inner) > 1 and not _HOLDERS.isdisjoint(words(name)[-1:])
    is_map = types(schema) == ("object",) and schema.get("additionalProperties") is not False
    if not is_any and not (is_map and _NAMING_MEMBERS.isdisjoint(schema)):
        return None
    present = value_at(request, violation.pointer.rpartition("/")[0])
    if _required(violation.parent_schema) - present.keys() - {name} or first_violation(inner, schema) is not None:
        return None
    made: list[Operation] = [{"op": "add", "path": violation.pointer, "value": {}}]
    return _moved_inside(violation, request, inner, violation.pointer, made, guess=_IF_IT_BELONGS)


def into_missing(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return the move of an undeclared member, with all like it, into a missing object that must be beside it."""
    parent, declared = violation.pointer.rpartition("/")[0], members(violation.schema)
    present = value_at(request, parent)
    for name in _required(violation.schema) - present.keys() if declared and isinstance(present, Mapping) else ():
        place = f"{parent}/{escape(name)}"
        missing = SchemaViolation(place, "required", declared.get(name, {}), siblings=violation.siblings)
        if (suggestion := wrapped(missing, request)) is not None:
            return suggestion
    return None


def unwrapped(parent: str, around: Schema | None, violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return the move of an object out of its only, undeclared member, where it is what belongs around the member.

    `{"book": {"title": "T"}}` becomes `{"title": "T"}`. The member may be declared if what is declared is no object.
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
    edited = _move(violation, request, [(f"{parent}/{escape(str(name))}", parent)], is_certain=True)
    return None if edited is None else edited.suggestion


def list_wrapped(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return the body that is a list under the name of the list that is missed: `[1]` becomes `{"items": [1]}`."""
    name, items = segments(violation.pointer)[-1], request.body
    if violation.pointer.count("/") != 2 or not violation.pointer.startswith("/body/") or not isinstance(items, list):
        return None
    if types(violation.schema) != ("array",) or not _required(violation.parent_schema) <= {name}:
        return None
    if not items or first_violation(items, violation.schema) is not None:
        return None
    ops: list[Operation] = [{"op": "test", "path": "/body", "value": items}]
    ops.append({"op": "replace", "path": "/body", "value": {name: items}})
    return edit(violation, request, ops, "Send the list under the name that the server misses.")


def under_empty(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return the move of an undeclared member into the one before it that is null or empty, once that is confirmed.

    So YAML is read that is not indented: `resources:` above `requests: {...}`. What is declared there takes it.
    """
    parent, name = violation.pointer.rpartition("/")[0], segments(violation.pointer)[-1]
    present = value_at(request, parent)
    if not violation.pointer.startswith("/body/") or not isinstance(present, Mapping) or request.form:
        return None
    before = list(present)[: list(present).index(name)][-1:]
    if not before or present[before[0]] not in (None, {}) or not isinstance(present[name], Mapping):
        return None
    schema, place = members(violation.schema).get(before[0], {}), f"{parent}/{escape(before[0])}"
    if types(schema) and "object" not in types(schema):
        return None
    if members(schema) and not _takes(schema, name, present[name], {}, request):
        return None
    made: list[Operation] = [{"op": "add", "path": place, "value": {}}]
    return _moved_inside(violation, request, [name], place, made, guess=_IF_IT_BELONGS)


def named_place(violation: SchemaViolation) -> list[str] | None:
    """Return the steps below a declared member that an undeclared name spells: `address.city`, `address[city]`."""
    steps = [one for one in re.split(r"[.\[\]]+", segments(violation.pointer)[-1]) if one]
    is_inside = len(steps) > 1 and steps[0] in violation.siblings and violation.pointer.startswith("/body")
    return steps if is_inside else None


def into_named(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return the move of a member to the place below a declared one that its name spells; confirmed if undeclared."""
    parent, steps = violation.pointer.rpartition("/")[0], named_place(violation)
    if steps is None or any(step.isdecimal() for step in steps):
        return None
    place, schema, made = parent, violation.schema, list[Operation]()
    for step in steps[:-1]:
        place, schema = f"{place}/{escape(step)}", members(schema).get(step, {})
        there = value_at(request, place)
        made += [{"op": "add", "path": place, "value": {}}] if there is MISSING else []
        if not (there is MISSING or isinstance(there, Mapping)) or "object" not in (types(schema) or ("object",)):
            return None
    place, schema = f"{place}/{escape(steps[-1])}", members(schema).get(steps[-1], {})
    value = value_at(request, violation.pointer)
    if value_at(request, place) is not MISSING or first_violation(value, schema, text=request.form) is not None:
        return None
    move = _move(violation, request, [(violation.pointer, place)], made, is_certain=True)
    if move is None:
        return None
    return move.suggestion if schema else confirmed(move.suggestion)


def _moved_inside(
    violation: SchemaViolation,
    request: Request,
    names: Iterable[str],
    place: str,
    made: list[Operation],
    guess: str = "",
) -> Suggestion | None:
    parent = violation.pointer.rpartition("/")[0]
    moves = [(f"{parent}/{escape(name)}", f"{place}/{escape(name)}") for name in names]
    edited = _move(violation, request, moves, made, is_certain=not guess, guess=guess)
    return None if edited is None else edited.suggestion


def _move(
    violation: SchemaViolation,
    request: Request,
    moves: list[tuple[str, str]],
    made: Sequence[Operation] = (),
    *,
    is_certain: bool,
    is_first: bool = True,
    is_complete: bool = True,
    guess: str = "",
) -> MemberMove | None:
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
    # The server's complaint speaks for moving what is misplaced, where its name means one thing and nothing is missed.
    asks = bool(guess) or (violation.keyword == MISPLACED and not (is_first and (is_certain or is_complete)))
    asks = asks or any(is_decisive(segments(source)[-1], request) for source, _ in moves)
    suggestion = edit(violation, request, [*tests, *ops], guess or _ONE_LEVEL, requires_confirmation=asks)
    return MemberMove(suggestion, is_certain, is_first)


def _declares(schema: Schema, inner: Mapping[str, Json]) -> bool:
    """Whether an object, or one form of it, declares all of some members, and misses none that it requires."""
    forms = [schema, *(form for word in ALTERNATIVES for form in schema.get(word) or () if isinstance(form, Mapping))]
    return first_violation(inner, schema) is None and any(
        inner.keys() <= members(form).keys()
        and _required(form) <= inner.keys()
        and first_violation(inner, form) is None
        for form in forms
    )


def _objects(schema: Schema) -> list[tuple[str, Schema]]:
    """Return the members that are objects with members of their own, by name."""
    found: list[tuple[str, Schema]] = []
    for name, inner in members(schema).items():
        branches = [inner, *(one for one in inner.get("anyOf") or () if isinstance(one, Mapping))]
        objects = [branch for branch in branches if isinstance(branch.get("properties"), Mapping)]
        if len(objects) == 1 and "object" in (types(objects[0]) or ("object",)):
            found.append((name, objects[0]))
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


# Lists of lists


_MOST_VALUES: Final = 256
"""Values that are repeated in an answer."""
_DEEPEST: Final = 4


def list_of_lists(violation: SchemaViolation, request: Request) -> Proposal | None:
    """Return the list around all lists that the place of a violation is in; None where it is not about such a place.

    A list around each single value would have as many rows as values, which nobody writes by forgetting a level.
    """
    around, _, index = violation.pointer.rpartition("/")
    row = value_at(request, around) if around.startswith("/body/") and index.isdecimal() else None
    if violation.keyword != "type" or types(violation.schema) != ("array",) or request.form:
        return None
    if not isinstance(row, list) or len(row) < 2 or any(isinstance(one, list | dict) or one is None for one in row):
        return None
    schema: Schema = {"type": "array", "items": violation.schema}
    place, depth = around, 1
    while depth < _DEEPEST and (outer := _list_around(place, request)):
        place, depth, schema = outer, depth + 1, {"type": "array", "items": schema}
    whole = value_at(request, place)
    found = violation._replace(pointer=place, schema=schema, value=whole)
    is_known = _is_of_numbers(whole, depth) and first_violation([whole], schema) is None
    if not is_known or is_secret(place, whole):
        return ask(found, request, "Send lists inside a list: say which of the values belong together.")
    ops: list[Operation] = [{"op": "test", "path": place, "value": whole}]
    ops.append({"op": "replace", "path": place, "value": [whole]})
    message = "Send the numbers as the only one of the lists that are expected."
    # What is not said of a row may be that it is a pair.
    is_guess = depth > 1 or "items" not in violation.schema
    return Proposal([edit(found, request, ops, message, requires_confirmation=is_guess)])


def _list_around(place: str, request: Request) -> str:
    """Return the place of the list that the list at a place is an element of, empty where it is none."""
    outer, _, index = place.rpartition("/")
    is_element = index.isdecimal() and outer.startswith("/body/")
    return outer if is_element and isinstance(value_at(request, outer), list) else ""


def _is_of_numbers(value: Json, depth: int) -> bool:
    """Whether a value is a list, as deep as it has to be, of few numbers and nothing else."""
    values: list[Json] = [value]
    for _ in range(depth):
        if not all(isinstance(one, list) for one in values):
            return False
        values = [inner for one in values for inner in one]
        spend(len(values))
        if len(values) > _MOST_VALUES:
            return False
    return all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)


# From the body into the query


def into_query(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return the move of members of the body into the query, where the one that is missed there is among them."""
    place, *names = segments(violation.pointer)
    body = request.body
    if place != "query" or len(names) != 1 or not isinstance(body, Mapping):
        return None
    known, called = violation.schema.get(NOT_OF_BODY), [str(one) for one in body if is_same(str(one), names[0])]
    if known is not None:
        if request.form or len(called) != 1 or called[0] in known or any(is_same(one, names[0]) for one in known):
            return None
        return _out_of_body(violation, request, names[0], called[0])
    if violation.schema.get(NO_BODY) is not True:
        return None
    if violation.schema.get(ALL_DECLARED) is True and names[0] in body:
        moved = {str(name): value for name, value in body.items()}
        ops = _into_query(request, moved)
        return edit(violation, request, ops, "Send all of it in the query: this operation takes no body.")
    moved = _for_query(request)
    if len(called) != 1 or len(moved) != 1 or first_violation(body[called[0]], violation.schema, text=True) is not None:
        return None
    ops = _into_query(request, {names[0]: moved[called[0]]})
    return edit(violation, request, ops, "Send it in the query: this operation takes no body.")


def _out_of_body(violation: SchemaViolation, request: Request, name: str, called: str) -> Suggestion | None:
    """Return the move of a member of the body that is called like a missing parameter, and that the body has not."""
    source, value = f"/body/{escape(called)}", request.body[called]
    if not _is_plain(value) or is_secret(source, value):
        return None
    if first_violation(scalar_text(value), violation.schema, text=True) is not None:
        return None
    ops: list[Operation] = [{"op": "test", "path": source, "value": value}]
    ops += [*_added_to_query(request, {name: value}), {"op": "remove", "path": source}]
    return edit(violation, request, ops, "Send it in the query: the body has no such member.")


def read_by_query(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return GET with the members of the body in the query, where that is the only method, and takes them all."""
    moved = _for_query(request)
    if violation.schema.get(IN_QUERY) is not True or not moved:
        return None
    ops: list[Operation] = [{"op": "test", "path": "/method", "value": request.method}]
    ops += [{"op": "replace", "path": "/method", "value": "GET"}, *_into_query(request, moved)]
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


def _for_query(request: Request) -> dict[str, Json]:
    """Return the members of a body that a query can hold, none where one of them cannot go there."""
    body = request.body if are_parameters(request.body) else {}
    if any(is_secret(f"/body/{escape(str(name))}", value) or name in request.query for name, value in body.items()):
        return {}
    return {str(name): value for name, value in body.items()}


def _added_to_query(request: Request, moved: Mapping[str, Json]) -> list[Operation]:
    texts: dict[str, Json] = {name: scalar_text(value) for name, value in moved.items()}
    if not request.query:
        return [{"op": "add", "path": "/query", "value": texts}]
    return [{"op": "add", "path": f"/query/{escape(name)}", "value": text} for name, text in texts.items()]


def _into_query(request: Request, moved: Mapping[str, Json]) -> list[Operation]:
    """Return the operations that send members in the query, and no body, nor the media type of one."""
    ops: list[Operation] = [{"op": "test", "path": "/body", "value": request.body}, *_added_to_query(request, moved)]
    ops.append({"op": "remove", "path": "/body"})
    return [*ops, {"op": "remove", "path": "/headers/content-type"}] if "content-type" in request.headers else ops
