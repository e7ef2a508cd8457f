"""Members one level too high or too low: a move to the only near place that declares their name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.rules.engine.guarded_patch import PatchError, guarded
from corrigible.rules.functions.edits import Operation
from corrigible.rules.pointer import MISSING, escape, resolve, segments, value_at
from corrigible.rules.safety.decisive import is_decisive, words
from corrigible.schema.exchange import Json, Request

from .first_violation import first_violation
from .json_schema import ALTERNATIVES, Schema, types
from .schema_violation import SchemaViolation
from .suggestion import Suggestion, edit, guards, is_secret

REQUIRED: Final = "x-required"
"""In the schema of what is declared beside a member: the names of those that must be there."""

MISPLACED: Final = "misplaced"
"""The keyword of an undeclared member that may stay, where an object beside it declares it."""

_MOST: Final = 16
"""Members that go to another level together."""


GENERAL_NAMES: Final = frozenset(
    {"id", "name", "type", "kind", "title", "description", "status", "state", "value", "key", "code"}
)
"""Names that every thing has: at another level they are another thing's."""


class MemberMove(NamedTuple):
    suggestion: Suggestion
    is_certain: bool
    """Whether the description misses there what was sent here: else the same name may mean something else there."""
    is_first: bool
    """Whether this member is the first of those that move together: the others need no suggestion."""


def move_member(violation: SchemaViolation, request: Request) -> MemberMove | None:
    """Return the move of an undeclared member to the only place one level away that declares it; None without one."""
    parent, _, last = violation.pointer.rpartition("/")
    name = segments(violation.pointer)[-1]
    document = request.document()
    present = resolve(document, parent)
    if (
        not violation.pointer.startswith("/body/")
        or not isinstance(present, Mapping)
        or is_secret(violation.pointer, present[name])
    ):
        return None
    inside = [
        holder
        for holder, inner in _objects(violation.schema)
        if _takes(inner, name, present[name], present.get(holder), request)
    ]
    above = parent.rpartition("/")[0]
    outside = resolve(document, above) if violation.outer_schema is not None and above else MISSING
    up = isinstance(outside, Mapping) and _takes(violation.outer_schema or {}, name, present[name], outside, request)
    if len(inside) + up != 1:
        return None
    if up:
        return _edited(
            violation,
            request,
            [(violation.pointer, f"{above}/{last}")],
            is_certain=name in _required(violation.outer_schema) - GENERAL_NAMES,
            is_complete=name not in GENERAL_NAMES,
        )
    target = inside[0]
    schema = dict(_objects(violation.schema))[target]
    there = present.get(target)
    declared = {*violation.siblings}
    together = [
        one
        for one in present
        if one == name or (one not in declared and there is None and _takes(schema, one, present[one], there, request))
    ][:_MOST]
    needed = _required(schema)
    have = {*together, *(there if isinstance(there, Mapping) else ())}
    complete = bool((needed - GENERAL_NAMES) & {*together}) and needed <= have
    wanted = (
        there is not None or len((needed - GENERAL_NAMES) & {*together}) > 1 or target in _required(violation.schema)
    )
    # Several members that all belong into the one object that declares them: none of them is another thing's.
    alone = there is None and _are_all(together, present, declared)
    several = alone and needed <= have and len({*together} - GENERAL_NAMES) > 1
    place = f"{parent}/{escape(target)}"
    made: list[Operation] = [] if there is not None else [{"op": "add", "path": place, "value": {}}]
    moves = [(f"{parent}/{escape(one)}", f"{place}/{escape(one)}") for one in together]
    return _edited(
        violation,
        request,
        moves,
        made,
        is_certain=(complete and wanted) or several,
        is_first=together[0] == name,
        is_complete=name not in GENERAL_NAMES and needed <= have,
    )


def wrapped(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return the move of all undeclared members into the missing object beside them, where they are what it takes.

    `{"type": "COMPLETED"}` becomes `{"state": {"type": "COMPLETED"}}`, or `{"states": [{"type": "COMPLETED"}]}` where
    a list of such objects is missing.
    """
    parent = violation.pointer.rpartition("/")[0]
    present = value_at(request, parent)
    if not violation.pointer.startswith("/body/") or not isinstance(present, Mapping) or request.form:
        return None
    inner = {name: value for name, value in present.items() if name not in violation.siblings}
    if not inner or len(inner) > _MOST or segments(violation.pointer)[-1] in inner:
        return None
    item = violation.schema.get("items") if types(violation.schema) == ("array",) else None
    schema = item if isinstance(item, Mapping) else violation.schema
    if not _declares(schema, inner) or first_violation(inner, schema) is not None:
        return None
    place, made = violation.pointer, list[Operation]()
    if item is None:
        made = [{"op": "add", "path": place, "value": {}}]
    else:
        made = [{"op": "add", "path": place, "value": [{}]}, {"op": "test", "path": f"{place}/0", "value": {}}]
        place = f"{place}/0"
    moves = [(f"{parent}/{escape(name)}", f"{place}/{escape(name)}") for name in inner]
    edited = _edited(violation, request, moves, made, is_certain=True)
    return None if edited is None else edited.suggestion


def into_free_map(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return the move of all undeclared members into the missing object that takes any names, once that is confirmed.

    `{"user": "ops", "level": "3"}` becomes `{"data": {"user": "ops", "level": "3"}}`. Nothing declares these members
    there: one of them may be meant for something else, and an object may be the missing one under another name.
    """
    parent = violation.pointer.rpartition("/")[0]
    present = value_at(request, parent)
    if not violation.pointer.startswith("/body/") or not isinstance(present, Mapping) or request.form:
        return None
    inner = {name: value for name, value in present.items() if name not in violation.siblings}
    # What alone would go into what takes any value may be that value, under another name.
    is_holder = not _HOLDERS.isdisjoint(words(segments(violation.pointer)[-1])[-1:])
    is_any = len(inner) > 1 and is_holder and _says_nothing(violation.schema)
    if not violation.siblings or not (is_any or _is_free_map(violation.schema)):
        return None
    if not 0 < len(inner) <= _MOST or any(isinstance(value, Mapping | list) for value in inner.values()):
        return None
    missing = _required(violation.parent_schema) - present.keys() - {segments(violation.pointer)[-1]}
    if missing or first_violation(inner, violation.schema) is not None:
        return None
    moves = [(f"{parent}/{escape(name)}", f"{violation.pointer}/{escape(name)}") for name in inner]
    made: list[Operation] = [{"op": "add", "path": violation.pointer, "value": {}}]
    edited = _edited(violation, request, moves, made, is_certain=False, guess=_IF_IT_BELONGS)
    return None if edited is None else edited.suggestion


def _is_free_map(schema: Schema) -> bool:
    """Whether a schema is that of an object of any names, and says no more of them than what their values are."""
    is_object = types(schema) == ("object",) and schema.get("additionalProperties") is not False
    return is_object and _NAMING_MEMBERS.isdisjoint(schema)


def _says_nothing(schema: Schema) -> bool:
    """Whether a schema takes any value."""
    return not types(schema) and schema.keys() <= {"description", "title", "nullable"}


_HOLDERS: Final = frozenset(
    {"data", "input", "inputs", "params", "parameters", "arguments", "args", "payload", "variables", "attributes"}
)
"""Last words of names under which an API takes an object that somebody else has defined."""
_IF_IT_BELONGS: Final = "Send what has no place of its own inside the object that is missing, if it belongs there."
_NAMING_MEMBERS: Final = frozenset(
    {"properties", "patternProperties", "propertyNames", "required", "allOf", *ALTERNATIVES, "const", "enum"}
)


def into_missing(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return the move of an undeclared member, with all like it, into a missing object that must be beside it."""
    parent, around = violation.pointer.rpartition("/")[0], violation.schema
    present, properties = value_at(request, parent), around.get("properties")
    if not isinstance(present, Mapping) or not isinstance(properties, Mapping):
        return None
    for name in _required(around) - present.keys():
        inner = properties.get(name)
        missing = SchemaViolation(
            f"{parent}/{escape(name)}", "required", inner if isinstance(inner, Mapping) else {}, MISSING
        )
        if (suggestion := wrapped(missing._replace(siblings=violation.siblings), request)) is not None:
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
    properties = around.get("properties")
    if not isinstance(inner, Mapping) or not isinstance(properties, Mapping) or not inner.keys() <= properties.keys():
        return None
    declared = properties.get(name)
    if isinstance(declared, Mapping) and (not types(declared) or "object" in types(declared)):
        return None
    missed = {segments(violation.pointer)[-1]} if violation.keyword == "required" else set[str]()
    needed = _required(around) | missed
    if not needed or not needed <= inner.keys() or first_violation(inner, around) is not None:
        return None
    edited = _edited(violation, request, [(f"{parent}/{escape(str(name))}", parent)], is_certain=True)
    return None if edited is None else edited.suggestion


def out_of_wrapper(declared: Collection[str], missed: Collection[str], request: Request) -> Suggestion | None:
    """Return the move of an object out of its only, undeclared member, where the server misses what is in it.

    The server says that it found nothing under these names: whether the values are what it takes is not known yet.
    """
    present = request.body
    if not isinstance(present, Mapping) or len(present) != 1 or request.form:
        return None
    ((name, inner),) = present.items()
    if name in declared or not isinstance(inner, Mapping) or not inner.keys() <= {*declared}:
        return None
    if all(inner.get(one) in (None, "", [], {}) for one in missed):
        return None
    place = f"/body/{escape(name)}"
    violation = SchemaViolation(place, "additionalProperties", {}, inner)
    edited = _edited(violation, request, [(place, "/body")], is_certain=True)
    return None if edited is None else edited.suggestion


def list_wrapped(violation: SchemaViolation, request: Request) -> Suggestion | None:
    """Return the body that is a list under the name of the list that is missed: `[1]` becomes `{"items": [1]}`."""
    around, name = violation.parent_schema or {}, segments(violation.pointer)[-1]
    items = request.body
    if violation.pointer.count("/") != 2 or not violation.pointer.startswith("/body/") or not isinstance(items, list):
        return None
    if types(violation.schema) != ("array",) or not _required(around) <= {name}:
        return None
    if not items or first_violation(items, violation.schema) is not None:
        return None
    ops: list[Operation] = [{"op": "test", "path": "/body", "value": items}]
    ops.append({"op": "replace", "path": "/body", "value": {name: items}})
    return edit(violation, request, ops, "Send the list under the name that the server misses.")


def _are_all(names: Sequence[str], present: Mapping[str, Json], declared: set[str]) -> bool:
    """Whether these are all the undeclared members of an object."""
    return all(name in names or name in declared for name in present)


def _declares(schema: Schema, members: Mapping[str, Json]) -> bool:
    """Whether an object, or one form of it, declares all of some members, and misses none that it requires."""
    forms = [schema, *(form for word in ALTERNATIVES for form in schema.get(word) or ())]
    return any(
        isinstance(form, Mapping)
        and isinstance(form.get("properties"), Mapping)
        and members.keys() <= form["properties"].keys()
        and _required(form) <= members.keys()
        and first_violation(members, form) is None
        for form in forms
    )


def _edited(
    violation: SchemaViolation,
    request: Request,
    moves: list[tuple[str, str]],
    operations: list[Operation] | None = None,
    *,
    is_certain: bool,
    is_first: bool = True,
    is_complete: bool = True,
    guess: str = "",
) -> MemberMove | None:
    document = request.document()
    tests: list[Operation] = []
    ops: list[Operation] = [*(operations or ())]
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
    message = guess or "Send the value where the description has it, one level away."
    return MemberMove(
        edit(violation, request, [*tests, *ops], message, requires_confirmation=asks), is_certain, is_first
    )


def _objects(schema: Schema) -> list[tuple[str, Schema]]:
    """Return the members that are objects with members of their own, by name."""
    properties = schema.get("properties")
    objects_by_name: list[tuple[str, Schema]] = []
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        branches = [inner, *(inner.get("anyOf") or ())] if isinstance(inner, Mapping) else []
        objects = [
            branch
            for branch in branches
            if isinstance(branch, Mapping) and isinstance(branch.get("properties"), Mapping)
        ]
        if len(objects) == 1 and "object" in (types(objects[0]) or ("object",)):
            objects_by_name.append((str(name), objects[0]))
    return objects_by_name


def _takes(schema: Schema, name: str, value: Json, existing: Json, request: Request) -> bool:
    """Whether an object declares a member that is not there yet, and takes the value as it is."""
    properties = schema.get("properties")
    if (
        not isinstance(properties, Mapping)
        or name not in properties
        or not (existing is None or isinstance(existing, Mapping))
    ):
        return False
    inner = properties[name]
    if (isinstance(existing, Mapping) and name in existing) or not isinstance(inner, Mapping) or value is None:
        return False
    return first_violation(value, inner, text=request.form) is None


def _required(schema: Schema | None) -> frozenset[str]:
    names = (schema or {}).get(REQUIRED, (schema or {}).get("required"))
    return frozenset(str(name) for name in names) if isinstance(names, list | tuple) else frozenset()
