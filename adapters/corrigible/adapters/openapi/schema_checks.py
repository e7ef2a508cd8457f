"""Violations of a schema: the validator's errors, of alternatives those of the nearest one.

Bounds of checking a request: its cost is computed before the work.
A validator returns every error with a copy of its value, and errors of alternatives with copies of the values inside:
errors are therefore computed for a small enough request.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import jsonschema_rs

from corrigible.rules.budget import Exhausted, count_values, spend
from corrigible.rules.pointer import MISSING, escape, resolve_segments
from corrigible.rules.safety.nearness import is_same, is_slip, nearest
from corrigible.rules.schema_repair.first_violation import compile_validator, first_violation
from corrigible.rules.schema_repair.json_schema import ALTERNATIVES, SELECTS, Schema, member, parts, takes_any_text
from corrigible.rules.schema_repair.levels import GENERAL_NAMES, MISPLACED, REQUIRED
from corrigible.rules.schema_repair.names import may_limit
from corrigible.rules.schema_repair.schema_violation import MOST, DeclaredPlace, SchemaViolation
from corrigible.schema.cache import remembered
from corrigible.schema.exchange import Json

from .schema_path import at, declared, is_unset, small, target


def candidate_branches(schema: Json, branches: Sequence[Json], instance: Json, root: Schema) -> list[int]:
    """Return the alternatives in question: the one that a discriminating member names, else all that set a value."""
    chosen = _named_branch(schema, instance)
    if chosen is not None:
        return [chosen]
    left = [index for index in range(len(branches)) if not is_unset(target(branches[index], root))]
    left = left or list(range(len(branches)))
    if not isinstance(instance, Mapping):
        return left
    members = {index: declared([branches[index]], root) for index in left}
    for name, value in instance.items():
        if isinstance(value, Mapping | list) or not any(name in inner for inner in members.values()):
            continue
        allowed = {index: closed_list(members[index].get(name), root) for index in left}
        agreeing = [index for index, listed in allowed.items() if listed is not None and value in listed]
        if agreeing and any(listed is not None and value not in listed for listed in allowed.values()):
            left = [index for index in left if allowed[index] is None or index in agreeing]
    return left


def _named_branch(schema: Json, instance: Json) -> int | None:
    discriminator = schema.get("discriminator") if isinstance(schema, Mapping) else None
    if discriminator is None or not isinstance(instance, Mapping):
        return None
    value = instance.get(discriminator["propertyName"])
    branch = discriminator["branches"].get(value) if isinstance(value, str) else None
    return branch if isinstance(branch, int) else None


def closed_list(schema: Json, root: Schema) -> list[Json] | None:
    """Return the closed list of values of a member, None where it has none."""
    if not isinstance(schema, Mapping):
        return None
    resolved = target(schema, root)
    listed = [resolved["const"]] if "const" in resolved else resolved.get("enum")
    return listed if isinstance(listed, list) else None


def distance(errors: Sequence[jsonschema_rs.ValidationError], depth: int) -> tuple[bool, int]:
    """Return how far an alternative is: another type altogether is farthest, then the number of members at fault."""
    another, faults = False, set[object]()
    for error in errors:
        kind: Any = error.kind
        inside = error.instance_path[depth:]
        if inside:
            faults.add(inside[0])
        elif kind.name in ("additionalProperties", "unevaluatedProperties"):
            faults.update(kind.unexpected)
        else:
            another = another or kind.name == "type"
            faults.add(kind.property if kind.name == "required" else (kind.name,))
    return another, len(faults)


def complete(alternative: dict[str, Json], names: Mapping[str, Json], root: Schema) -> dict[str, Json]:
    """Add the schemas of members that an alternative requires and the schema around it declares."""
    needed = [name for name in alternative.get("required", ()) if name in names]
    if not needed:
        return alternative
    members = {name: small(names[name], root, 1) for name in needed}
    return {**alternative, "properties": {**members, **alternative.get("properties", {})}}


LARGE: Final = 128
"""Values. Of a larger request misspelt and misplaced members that are allowed are not looked for."""
_MOST_CHECKED: Final = 4096
"""Values. Of a larger request nothing is said: each error holds a copy of what it is about."""
_MOST_ERRORS: Final = 2 * MOST
HIGHEST_PRICE: Final = 20_000
_IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
_BESIDE: Final = frozenset(_IN_PLACE)


def written_out(schema: Schema) -> int:
    """Return how many values a schema holds with every reference written out, and no more than `HIGHEST_PRICE`.

    A value of a request is compared with no more schemas than that.
    """
    definitions = schema.get("$defs", {})
    count = 0
    waiting: list[Json] = [{name: inner for name, inner in schema.items() if name != "$defs"}]
    while waiting and count < HIGHEST_PRICE:
        here = waiting.pop()
        count += 1
        if isinstance(here, dict):
            waiting += here.values()
            if "$ref" in here:
                waiting.append(definitions.get(str(here["$ref"]).rpartition("/")[2]))
        elif isinstance(here, list):
            waiting += here
    return count


def price(instance: Json, schema: Schema) -> int:
    """Return how many comparisons of values with schemas it takes to collect errors. Raises Exhausted: too many.

    Alternatives that lead back to themselves are walked into again and again: their prices add up at every level, and
    here they are only added.
    """
    known: dict[tuple[int, int], int] = {}
    definitions = schema.get("$defs", {})

    def of(here: Json, value: Json) -> int:
        if not isinstance(here, dict):
            return 1
        key = (id(here), id(value))
        if key in known:
            return known[key]
        known[key] = 0
        spend()
        count = 1
        if "$ref" in here:
            count += of(definitions.get(str(here["$ref"]).rpartition("/")[2]), value)
        for word in () if _BESIDE.isdisjoint(here) else _IN_PLACE:
            inner = here.get(word)
            if inner is None:
                continue
            for one in inner if isinstance(inner, list) else inner.values() if word == "dependentSchemas" else (inner,):
                count += of(one, value)
        if isinstance(value, dict):
            members, others = here.get("properties", {}), here.get("additionalProperties")
            patterns = here.get("patternProperties", {}).values()
            for name, inner in value.items():
                if name in members:
                    count += of(members[name], inner)
                elif others is not None:
                    count += of(others, inner)
                for one in patterns:
                    count += of(one, inner)
        elif isinstance(value, list):
            ahead = here.get("prefixItems", ())
            for index, inner in enumerate(value):
                if index < len(ahead):
                    count += of(ahead[index], inner)
                elif "items" in here:
                    count += of(here["items"], inner)
                if "contains" in here:
                    count += of(here["contains"], inner)
        known[key] = count
        if count > HIGHEST_PRICE:
            raise Exhausted(f"nested alternatives: more than {HIGHEST_PRICE:,} comparisons")
        return count

    return of(schema, instance)


_KEPT_PLACES: Final = 32 << 10
"""Bytes of places, as counted: callers write names in them that no description has."""
_OF_A_PLACE: Final = 512
_VALUES_A_STEP: Final = 8
_AN_ERROR: Final = 15
"""Steps for one error, and one more for so many values beside it: each error holds a copy of them."""
_VALUES_OF_AN_ERROR: Final = 6
_MOST_VALUES: Final = 100
"""Values that tell the forms of an object apart."""
_MOST_RESPELT: Final = 16
"""Undeclared members of one object that are held against those that are missing."""
Path = Sequence[str | int]


class Spot(NamedTuple):
    """The place in the request document of a place in the checked instance."""

    pointer: str
    value: Json


Locate = Callable[[Path], Spot]


class _Object(NamedTuple):
    """What is declared at one place."""

    members: Mapping[str, Json]
    closed: Mapping[str, Json]
    """A small schema that allows no others."""


_by_place: Final = remembered(
    _KEPT_PLACES, lambda path, _: _OF_A_PLACE + sum(len(step) if type(step) is str else 0 for step in path[0])
)


class SchemaChecker:
    """One compiled schema."""

    def __init__(self, schema: Schema) -> None:
        """Raises ValueError where the schema is none that can be compiled."""
        self.schema = schema
        self._validator = compile_validator(schema)
        self._places = _by_place(self._object)
        self._broken_schemas = _by_place(self._broken_schema)
        self._declared_places = _by_place(self._declared_place)

    def member(self, name: str) -> list[Json]:
        """Return the schemas of a member of the whole instance."""
        schemas = self._members.get(name)
        return member([self.schema], name, self.schema) if schemas is None else schemas

    @functools.cached_property
    def _members(self) -> dict[str, list[Json]]:
        """The schemas of each member that is declared by its name."""
        return {name: member([self.schema], name, self.schema) for name in declared([self.schema], self.schema)}

    @functools.cached_property
    def _size(self) -> int:
        return written_out(self.schema)

    @functools.cached_property
    def any_text(self) -> frozenset[str]:
        """The declared members that take any text as it is."""
        return frozenset(name for name, schemas in self._members.items() if takes_any_text(schemas, self.schema))

    def schema_violations(self, instance: Json, locate: Locate) -> list[SchemaViolation]:
        """Return what the instance breaks, misspelt names first."""
        size = count_values(instance, _MOST_CHECKED + 1)
        spend(2 + size // _VALUES_A_STEP)
        if self._validator.is_valid(instance) or size > _MOST_CHECKED:
            return []
        spend(size if size * self._size <= HIGHEST_PRICE else price(instance, self.schema))
        errors = list(islice(self._validator.iter_errors(instance), _MOST_ERRORS))
        copies = (resolve_segments(instance, [str(step) for step in error.instance_path]) for error in errors)
        spend(sum(_AN_ERROR + count_values(one, LARGE) // _VALUES_OF_AN_ERROR for one in copies))
        found = list(islice((one for error in errors for one in self._of(error, locate)), MOST))
        violations = [one._replace(value=MISSING) if one.keyword == "required" else one for one in found]
        violations = [*self._respelt(violations, instance, locate), *violations]
        return sorted(violations, key=lambda violation: violation.keyword != "additionalProperties")

    def misspelt(self, path: Path, locate: Locate) -> SchemaViolation | None:
        """Return the violation of an undeclared member beside declared ones, whether or not it is allowed."""
        names = self._declared(path[:-1]).members
        return self._unknown(path, locate) if names and str(path[-1]) not in names else None

    def declared_place(self, path: Path) -> DeclaredPlace:
        """Return what is declared at a place and around it."""
        return self._declared_places(tuple(map(str, path)))

    def _declared_place(self, path: tuple[str, ...]) -> DeclaredPlace:
        schemas = at(self.schema, path)
        schema: dict[str, Json] = {}
        for one in reversed(schemas):
            schema |= small(one, self.schema)
        if not path:
            return DeclaredPlace(schema)
        around = self._declared(path[:-1])
        outer = self._outer(path)
        return DeclaredPlace(schema, tuple(around.members), around.closed if around.members else None, outer)

    def misspellings(self, instance: Json, locate: Locate) -> Iterator[SchemaViolation]:
        """Yield undeclared members that are nearly called like one declared member that is not there."""
        if count_values(instance, LARGE + 1) > LARGE:
            return
        for path, members in _objects(instance, ()):
            names = self._declared(path).members
            free = [one for one in names if one not in members]
            strange = [name for name in members if name not in names] if free else []
            for name in strange[:_MOST_RESPELT]:
                near = nearest(name, free)
                if len(near) == 1 and (is_slip(name, near[0]) or is_same(name, near[0])):
                    yield self._unknown([*path, name], locate)

    def misplaced_members(self, instance: Json, locate: Locate) -> Iterator[SchemaViolation]:
        """Yield undeclared members that one object declares for which there is a place beside them."""
        if count_values(instance, LARGE + 1) > LARGE:
            return
        for path, members in _objects(instance, ()):
            names = self._declared(path).members
            strange = [name for name in members if name not in names] if names else []
            for name in strange[:_MOST_RESPELT]:
                if name in GENERAL_NAMES or may_limit(name):
                    continue  # it may mean something else there, or do more
                spend(len(names))
                holders = [one for one in names if name in self._declared([*path, one]).members]
                if len(holders) == 1 and not nearest(name, [one for one in names if one not in members]):
                    yield self._unknown([*path, name], locate)._replace(keyword=MISPLACED)

    def _outer(self, path: Path) -> Schema | None:
        return self._declared(path[:-2]).closed if len(path) > 1 and not str(path[-2]).isdecimal() else None

    def _declared(self, path: Path) -> _Object:
        """Return what is declared at a place; all elements of an array are one place."""
        return self._places(tuple("0" if str(part).isdecimal() else str(part) for part in path))

    def _object(self, path: tuple[str, ...]) -> _Object:
        schemas = at(self.schema, path)
        properties = declared(schemas, self.schema)
        members = {name: inner for name, inner in properties.items() if inner is not False}
        spend(len(members) * _A_MEMBER)
        required = [
            name for schema in schemas for part in parts(schema, self.schema) for name in part.get("required", ())
        ]
        closed = {
            "type": "object",
            "properties": {name: _beside(inner, self.schema) for name, inner in members.items()},
            "additionalProperties": False,
            REQUIRED: required,
        }
        return _Object(members, closed)

    def _respelt(
        self, violations: Sequence[SchemaViolation], instance: Json, locate: Locate
    ) -> Iterator[SchemaViolation]:
        """Yield undeclared members, allowed as such, that are nearly called like a missing one."""
        missing = {violation.pointer for violation in violations if violation.keyword == "required"}
        unknown = {violation.pointer for violation in violations if violation.keyword == "additionalProperties"}
        parents = {pointer.rpartition("/")[0] for pointer in missing}
        for path, members in _objects(instance, ()) if missing else ():
            here = locate(path).pointer
            if here not in parents:
                continue
            names = self._declared(path).members
            absent = [name for name in names if _below(here, name) in missing]
            free = [one for one in names if one not in members] if absent else []
            strange = islice((name for name in members if name not in names), _MOST_RESPELT)
            for name in strange if absent else ():
                # What is near to none of those that are missing need not be compared with the others.
                near = nearest(name, free) if nearest(name, absent) else []
                if len(near) == 1 and near[0] in absent and _below(here, name) not in unknown:
                    yield self._unknown([*path, name], locate)

    def _of(self, error: jsonschema_rs.ValidationError, locate: Locate) -> Iterator[SchemaViolation]:
        kind: Any = error.kind  # its members depend on its name
        path = error.instance_path
        name: str = kind.name
        if name in ("anyOf", "oneOf"):
            yield from self._alternatives(error, locate)
        elif name == "required":
            yield self._missing([*path, kind.property], locate)
        elif name in ("additionalProperties", "unevaluatedProperties"):
            names = self._declared(path).members
            for unexpected in kind.unexpected[:MOST]:
                if name == "additionalProperties" or unexpected not in names:
                    yield self._unknown([*path, unexpected], locate)
        elif name == "falseSchema" and path and isinstance(path[-1], int):
            spot = locate(path[:-1])
            yield SchemaViolation(spot.pointer, "maxItems", {"type": "array", "maxItems": path[-1]}, spot.value)
        elif name == "falseSchema":
            yield self._unknown(path, locate)
        else:
            spot = locate(path)
            broken = SchemaViolation(
                spot.pointer, name, self._broken_schemas(tuple(error.schema_path[:-1])), spot.value
            )
            is_beside = name == "format" and len(path) > 0 and isinstance(path[-1], str)
            yield broken._replace(parent_schema=self._declared(path[:-1]).closed) if is_beside else broken

    def _missing(self, path: Path, locate: Locate) -> SchemaViolation:
        inner = small(self._declared(path[:-1]).members.get(str(path[-1]), {}), self.schema)
        spot = locate(path)
        around = self._declared(path[:-1])
        names = tuple(around.members)
        return SchemaViolation(spot.pointer, "required", inner, spot.value, names, parent_schema=around.closed)

    def _unknown(self, path: Path, locate: Locate) -> SchemaViolation:
        spot = locate(path)
        around = self._declared(path[:-1])
        return SchemaViolation(
            spot.pointer, "additionalProperties", around.closed, spot.value, tuple(around.members), self._outer(path)
        )

    def _broken_schema(self, path: tuple[str | int, ...]) -> dict[str, Json]:
        return small(self._walked(path), self.schema)

    def _walked(self, path: Path) -> Json:
        node: Any = self.schema
        for part in path:
            node = node[int(part)] if isinstance(node, list) else node[str(part)]
        return node

    def _alternatives(self, error: jsonschema_rs.ValidationError, locate: Locate) -> Iterator[SchemaViolation]:
        schema = self._walked(error.schema_path[:-1])
        branches = self._walked(error.schema_path)
        kind: Any = error.kind
        contexts: list[list[jsonschema_rs.ValidationError]] = kind.context
        if not all(contexts):
            return  # several of `oneOf` hold: a request that fits twice is not wrong
        unnamed = self._unnamed(schema, error, locate)
        if unnamed is not None:
            yield unnamed
            return
        left = candidate_branches(schema, branches, error.instance, self.schema)
        distances = {index: distance(contexts[index], len(error.instance_path)) for index in left}
        best = [index for index in left if distances[index] == min(distances.values())]
        if len(best) > 1:
            best = self._prefer_array(best, branches, error.instance) or best
        if len(best) == 1:
            for inner in contexts[best[0]]:
                selecting = self._selecting(inner, error, [branches[index] for index in left], locate)
                yield from self._of(inner, locate) if selecting is None else (selecting,)
            return
        together = self._enumerated([contexts[index] for index in best], len(error.instance_path), locate)
        if together is not None:
            yield together
            return
        spot = locate(error.instance_path)
        names = self._declared(error.instance_path).members
        alternatives = [complete(small(branches[index], self.schema), names, self.schema) for index in best]
        yield SchemaViolation(spot.pointer, "anyOf", {"anyOf": alternatives}, spot.value)

    def _selecting(
        self,
        inner: jsonschema_rs.ValidationError,
        error: jsonschema_rs.ValidationError,
        branches: Sequence[Json],
        locate: Locate,
    ) -> SchemaViolation | None:
        """Return the violation of a member of whose values each alternative takes its own: all of them can be meant."""
        path = inner.instance_path
        if inner.kind.name not in ("enum", "const") or len(path) != len(error.instance_path) + 1:
            return None
        listed = [closed_list(declared([one], self.schema).get(str(path[-1])), self.schema) for one in branches]
        known = [values for values in listed if values is not None]
        every = [value for values in known for value in values[:_MOST_VALUES]]
        if len(known) < len(branches) or len(known) < 2 or len(every) > _MOST_VALUES:
            return None
        if len({*map(repr, every)}) < len(every):
            return None
        spot = locate(path)
        return SchemaViolation(spot.pointer, "enum", {"enum": every, SELECTS: True}, spot.value)

    def _unnamed(self, schema: Schema, error: jsonschema_rs.ValidationError, locate: Locate) -> SchemaViolation | None:
        """Return the violation of a discriminating member that names no alternative."""
        discriminator = schema.get("discriminator")
        if discriminator is None or not isinstance(error.instance, Mapping):
            return None
        name, values = discriminator["propertyName"], list(discriminator["branches"])
        if error.instance.get(name) in values:
            return None
        around = self._declared(error.instance_path)
        if name not in error.instance:
            pointer = locate([*error.instance_path, name]).pointer
            return SchemaViolation(
                pointer, "required", {"type": "string", "enum": values}, MISSING, tuple(around.members)
            )
        spot = locate([*error.instance_path, name])
        return SchemaViolation(spot.pointer, "enum", {"type": "string", "enum": values, SELECTS: True}, spot.value)

    def _enumerated(
        self, contexts: Sequence[Sequence[jsonschema_rs.ValidationError]], depth: int, locate: Locate
    ) -> SchemaViolation | None:
        """Fold alternatives into one list of values, where a closed list at one and the same place is what refuses.

        `depth` is that of the alternatives: below it the value tells them apart.
        """
        if len({tuple(error.instance_path) for errors in contexts for error in errors}) != 1:
            return None
        values: list[Json] = []
        for errors in contexts:
            closed = [error for error in errors if error.kind.name in ("enum", "const")]
            if not closed:
                return None
            schema = self._walked(closed[0].schema_path[:-1])
            values += [schema["const"]] if "const" in schema else schema["enum"]
        path = contexts[0][0].instance_path
        spot, selects = locate(path), {SELECTS: True} if len(path) > depth else {}
        return SchemaViolation(spot.pointer, "enum", {"enum": list(dict.fromkeys(values)), **selects}, spot.value)

    def _prefer_array(self, best: list[int], branches: Sequence[Json], value: Json) -> list[int]:
        """Of alternatives that refuse a scalar by its type, prefer the array that would hold it as its one element."""
        if isinstance(value, list | dict):
            return []
        return [
            index
            for index in best
            if (inner := target(branches[index], self.schema)).get("type") == "array"
            and isinstance(inner.get("items"), Mapping)
            and first_violation(value, small(inner["items"], self.schema)) is None
        ]


def _below(pointer: str, name: str | int) -> str:
    return f"{pointer}/{escape(str(name))}"


_MOST_FORMS: Final = 4
_A_MEMBER: Final = 2
"""Steps for a small schema of a declared member."""


def _beside(schema: Json, root: Schema) -> dict[str, Json]:
    """Return a small schema of a declared member; of one with a few forms, the members of each form.

    Of a list it has the members of the elements.
    """
    out = small(schema, root, 1)
    if "items" in out:
        out["items"] = small(target(schema, root).get("items", True), root, 1)
    for key in ALTERNATIVES:
        branches = target(schema, root).get(key) if isinstance(schema, Mapping) else None
        if isinstance(branches, list) and len(branches) <= _MOST_FORMS:
            out.pop(key, None)
            out["anyOf"] = [small(branch, root, 1) for branch in branches]
    return out


def _objects(value: Json, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Json]]]:
    if isinstance(value, Mapping):
        yield path, value
        for name, inner in value.items():
            yield from _objects(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _objects(inner, (*path, index))
