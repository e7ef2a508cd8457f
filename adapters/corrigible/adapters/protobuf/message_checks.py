"""Violations of a message in proto-JSON: types, and the constraints of its descriptors."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple

from google.protobuf.descriptor import FieldDescriptor

from corrigible.rules.budget import spend
from corrigible.rules.pointer import MISSING, escape
from corrigible.rules.schema_repair.first_violation import first_violation
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Json

from .field_schema import (
    Constraints,
    Rules,
    Schema,
    field_schema,
    is_judged_if_set,
    is_map,
    is_never_judged,
    is_opaque,
    kind_of,
    measured,
    octets,
    value_schema,
)

_A_FIELD: Final = 4
"""Steps."""
_MEMBERS_A_STEP: Final = 50


class _Shape(NamedTuple):
    """What all messages of a kind have in common."""

    names: frozenset[str]
    siblings: tuple[str, ...]
    closed: Schema


class MessageChecker:
    """Checks the messages of one pool. A default that breaks a constraint counts as a missing value."""

    def __init__(self, constraints: Constraints) -> None:
        self._constraints = constraints
        self._shapes: dict[str, _Shape] = {}
        self._lacking: dict[tuple[str, bool], Schema | None] = {}
        """The schema of the value to ask for where a field is absent, None where it may be absent."""

    def _shape(self, message: Any) -> _Shape:
        """Return what all messages of a kind have in common; kept, since each element of a list needs it."""
        name = message.full_name
        if name not in self._shapes:
            members = {f.json_name: field_schema(f, self._constraints.of_field(f)) for f in message.fields}
            self._shapes[name] = _Shape(
                frozenset(name for field in message.fields for name in (field.name, field.json_name)),
                tuple(field.json_name for field in message.fields),
                {"type": "object", "properties": members, "additionalProperties": False},
            )
        return self._shapes[name]

    def message(self, message: Any, value: Mapping[str, Json], pointer: str, at: str = "") -> Iterator[SchemaViolation]:
        """Yield the violations of a message at `pointer`; with `at` those at or below a place."""
        names, siblings, closed = self._shape(message)
        spend(len(value) + _A_FIELD * len(siblings))
        for name in value:
            if name not in names and _concerns(place := f"{pointer}/{escape(name)}", at):
                yield SchemaViolation(place, "additionalProperties", closed, value[name], siblings)
        for field in message.fields:
            name = field.name if field.name in value and field.json_name not in value else field.json_name
            place = f"{pointer}/{escape(name)}"
            if _concerns(place, at):
                yield from self._field(field, value.get(name), place, at, siblings)
        yield from self._of_several(message, value, pointer, at)

    def _of_several(self, message: Any, value: Mapping[str, Json], pointer: str, at: str) -> Iterator[SchemaViolation]:
        for oneof in message.oneofs:
            is_required = at == f"{pointer}/{escape(oneof.name)}"
            if (not at or is_required) and self._constraints.is_required(oneof):
                yield from self._at_least_one(list(oneof.fields), value, pointer)
        if at:
            return
        for oneof_rule in self._constraints.of_message(message).get("oneof", ()):
            names = oneof_rule.get("fields", ())
            members = [message.fields_by_name[name] for name in names if name in message.fields_by_name]
            present = [field.json_name for field in members if _is_set(field, value)]
            if len(present) > 1:
                forms = [{"type": "object", "required": [name]} for name in present]
                yield SchemaViolation(pointer, "not", {"type": "object", "oneOf": forms}, dict(value))
            elif oneof_rule.get("required") is True:
                yield from self._at_least_one(members, value, pointer)

    def _at_least_one(self, fields: list[Any], value: Mapping[str, Json], pointer: str) -> Iterator[SchemaViolation]:
        if any(_is_set(field, value) for field in fields):
            return
        forms = [
            {
                "type": "object",
                "properties": {field.json_name: self._missing_schema(field, self._constraints.of_field(field))},
                "required": [field.json_name],
            }
            for field in fields
        ]
        yield SchemaViolation(pointer, "anyOf", {"anyOf": forms}, dict(value))

    def _field(
        self, field: Any, value: Json, place: str, at: str, siblings: tuple[str, ...]
    ) -> Iterator[SchemaViolation]:
        rules = self._constraints.of_field(field)
        if is_never_judged(rules):
            rules = {}
        is_given = value is not None  # in proto-JSON null is no value
        if not is_given or (not field.has_presence and value in ("", 0, False, [], {}, "0")):
            yield from self._absent(field, rules, place, siblings)
            if not is_given:
                return
        if is_map(field):
            yield from self._map(field, value, rules, place, at)
        elif field.is_repeated:
            yield from self._list(field, value, rules, place, at)
        else:
            yield from self._one(field, value, rules, place, at)

    def _missing_schema(self, field: Any, rules: Rules) -> Schema:
        """Return the schema of a field that has to be filled in: a message with its own fields."""
        schema = field_schema(field, rules)
        if is_map(field) or field.message_type is None or is_opaque(field):
            return schema
        inner = {part.json_name: (part, self._constraints.of_field(part)) for part in field.message_type.fields}
        needed = [name for name, (_, limits) in inner.items() if limits.get("required") is True]
        whole: Schema = {
            "type": "object",
            "properties": {name: field_schema(part, limits) for name, (part, limits) in inner.items()},
            **({"required": needed} if needed else {}),
        }
        return {**schema, "items": whole} if field.is_repeated else whole

    def _absent(self, field: Any, rules: Rules, place: str, siblings: tuple[str, ...]) -> Iterator[SchemaViolation]:
        """Yield what a missing value breaks: it is required, or its default is not allowed."""
        key = (field.full_name, bool(rules))  # without rules: they are never to be checked
        if key not in self._lacking:
            self._lacking[key] = self._lacked(field, rules)
        if (missing := self._lacking[key]) is not None:
            yield SchemaViolation(place, "required", missing, MISSING, siblings)

    def _lacked(self, field: Any, rules: Rules) -> Schema | None:
        schema = field_schema(field, rules)
        if rules.get("required") is True and not is_judged_if_set(rules):
            return self._missing_schema(field, rules)
        if not field.has_presence and not is_judged_if_set(rules):
            default: Json = {} if is_map(field) else [] if field.is_repeated else _default(field)
            broken = first_violation(default, schema) or (_broken_pairs(default, schema) if is_map(field) else None)
            if broken is None and isinstance(default, str) and not field.is_repeated:
                broken = _odd(kind_of(field), default, rules)
            if broken is not None:
                # An absent boolean means false: it is not replaced by true.
                return {"type": "boolean"} if schema.get("type") == "boolean" else self._missing_schema(field, rules)
        return None

    def _map(self, field: Any, value: Json, rules: Rules, place: str, at: str) -> Iterator[SchemaViolation]:
        map_rules = rules.get("map", {})
        schema = field_schema(field, rules)
        if not isinstance(value, Mapping):
            yield SchemaViolation(place, "type", schema, value)
            return
        if (pairs := _broken_pairs(value, schema)) is not None and _is_below(place, at):
            yield SchemaViolation(place, pairs, schema, dict(value))
        parts = field.message_type.fields_by_name
        keys = value_schema(parts["key"], map_rules.get("keys", {})) if map_rules.get("keys") else {}
        spend(_A_FIELD * len(value))
        for key, inner in value.items():
            inside = f"{place}/{escape(key)}"
            if not _concerns(inside, at):
                continue
            if keys and _broken_key(key, keys, map_rules["keys"]):
                # Another key is another entry: the whole is in question.
                spend(len(value) // _MEMBERS_A_STEP)
                yield SchemaViolation(place, "propertyNames", {"type": "object", "propertyNames": keys}, dict(value))
            yield from self._one(parts["value"], inner, map_rules.get("values", {}), inside, at)

    def _list(self, field: Any, value: Json, rules: Rules, place: str, at: str) -> Iterator[SchemaViolation]:
        list_rules = rules.get("repeated", {})
        schema = field_schema(field, rules)
        if not isinstance(value, list):
            yield SchemaViolation(place, "type", schema, value)
            return
        if _is_below(place, at):
            for keyword in ("minItems", "maxItems", "uniqueItems"):
                if keyword in schema and first_violation(value, {keyword: schema[keyword]}) is not None:
                    yield SchemaViolation(place, keyword, schema, value)
        spend(_A_FIELD * len(value))
        for index, inner in enumerate(value):
            if _concerns(f"{place}/{index}", at):
                yield from self._one(field, inner, list_rules.get("items", {}), f"{place}/{index}", at)

    def _one(self, field: Any, value: Json, rules: Rules, place: str, at: str) -> Iterator[SchemaViolation]:
        """Yield what one value breaks: a scalar, a message, an element of a list, a value of a map."""
        if field.message_type is not None and not is_opaque(field):
            if isinstance(value, Mapping):
                yield from self.message(field.message_type, value, place, at)
            else:
                yield SchemaViolation(place, "type", {"type": "object"}, value)
            return
        if not _is_below(place, at) or is_never_judged(rules):
            return
        if is_judged_if_set(rules) and value in ("", 0, False, "0"):
            return
        schema = value_schema(field, rules)
        kind = kind_of(field)
        subject_value = _as_constrained(field, kind, value, rules)
        if subject_value is MISSING:
            return
        keyword = first_violation(subject_value, schema)
        if keyword is None and kind == FieldDescriptor.TYPE_MESSAGE:
            keyword, schema = _well_known(field.message_type.full_name, value, rules, schema)
        if keyword is None and isinstance(subject_value, str):
            limits = measured(subject_value, rules.get("string", {})) if kind == FieldDescriptor.TYPE_STRING else {}
            schema = {**schema, **limits}
            keyword = first_violation(subject_value, limits) or _odd(kind, subject_value, rules)
        if keyword is not None:
            yield SchemaViolation(place, keyword, schema, value)


def _concerns(place: str, at: str) -> bool:
    return not at or at == place or at.startswith(f"{place}/") or place.startswith(f"{at}/")


def _is_below(place: str, at: str) -> bool:
    return not at or at == place or place.startswith(f"{at}/")


def _is_set(field: Any, value: Mapping[str, Json]) -> bool:
    value_sent = value.get(field.json_name, value.get(field.name))
    return value_sent is not None and (field.has_presence or value_sent not in ("", 0, False, [], {}, "0"))


def _default(field: Any) -> Json:
    if field.enum_type is not None:
        return str(field.enum_type.values_by_number[0].name) if 0 in field.enum_type.values_by_number else ""
    return "" if isinstance(field.default_value, bytes) else field.default_value


def _broken_pairs(value: Json, schema: Schema) -> str | None:
    size = len(value) if isinstance(value, Mapping) else 0
    if size < schema.get("minProperties", 0):
        return "minProperties"
    return "maxProperties" if size > schema.get("maxProperties", size) else None


def _broken_key(key: str, schema: Schema, rules: Rules) -> bool:
    whole = {**schema, **measured(key, rules.get("string", {}))}
    value: Json = int(key) if schema.get("type") == "integer" and re.fullmatch(r"-?\d{1,20}", key) else key
    return first_violation(value, whole, text=schema.get("type") == "boolean") is not None


def _as_constrained(field: Any, kind: int, value: Json, rules: Rules) -> Json:
    """Return a value as constraints see it: numbers as numbers, enumerations as names; MISSING where none looks."""
    if kind == FieldDescriptor.TYPE_ENUM:
        number = int(value) if isinstance(value, str) and re.fullmatch(r"-?\d{1,10}", value) else value
        if not isinstance(number, int) or isinstance(number, bool):
            return value
        member = field.enum_type.values_by_number.get(number)
        if member is not None:
            return str(member.name)
        enum_rules = rules.get("enum", {})
        closed = any(name in enum_rules for name in ("const", "in")) or enum_rules.get("definedOnly") is True
        return str(number) if closed or number in enum_rules.get("notIn", ()) else MISSING
    if isinstance(value, str) and kind in _NUMBERS:
        if re.fullmatch(r"-?\d{1,20}", value):
            return int(value)
        if kind in _FLOATS and re.fullmatch(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?", value):
            return float(value)
    return value


_FLOATS: Final = (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE)
_NUMBERS: Final = frozenset(
    {
        *_FLOATS,
        *(FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_UINT32),
        *(FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_SINT64),
        *(FieldDescriptor.TYPE_FIXED32, FieldDescriptor.TYPE_FIXED64),
        *(FieldDescriptor.TYPE_SFIXED32, FieldDescriptor.TYPE_SFIXED64),
    }
)


def _odd(kind: int, value: str, rules: Rules) -> str | None:
    """Return the keyword that a text breaks by a rule that is no schema's: about bytes."""
    if kind != FieldDescriptor.TYPE_BYTES:
        return None
    return octets(value, rules.get("bytes", {})) or None


_SECONDS: Final = re.compile(r"-?\d{1,12}(?:\.\d{1,9})?s")


def _well_known(name: str, value: Json, rules: Rules, schema: Schema) -> tuple[str | None, Schema]:
    """Return what a time, a mask or an `Any` breaks. Only a span that is too long or too short has a nearest one."""
    if name == "google.protobuf.Duration" and isinstance(value, str):
        return _duration(value, rules.get("duration", {}), schema)
    if name == "google.protobuf.Timestamp" and isinstance(value, str):
        limits = rules.get("timestamp", {})
        moments = {key: str(limits[key]) for key in _TESTS if key in limits}
        wrong = any(not _TESTS[key](_moment(value), _moment(limit)) for key, limit in moments.items())
        return ("not", schema) if wrong else (None, schema)
    if name == "google.protobuf.Any" and isinstance(value, Mapping):
        return _listed([str(value.get("@type", ""))], rules.get("any", {})), schema
    if name == "google.protobuf.FieldMask" and isinstance(value, str):
        paths = [re.sub(r"[A-Z]", lambda match: f"_{match[0].lower()}", path) for path in value.split(",") if path]
        return _listed(paths, rules.get("fieldMask", {}), parents=True), schema
    return None, schema


def _listed(values: list[str], rules: Rules, *, parents: bool = False) -> str | None:
    spend(len(values) * (len(rules.get("in", ())) + len(rules.get("notIn", ()))))

    def among(value: str, listed: Json) -> bool:
        return any(value == limit or (parents and value.startswith(f"{limit}.")) for limit in listed)

    if rules.get("in") and not all(among(value, rules["in"]) for value in values):
        return "not"
    return "not" if rules.get("notIn") and any(among(value, rules["notIn"]) for value in values) else None


def _duration(value: str, rules: Rules, schema: Schema) -> tuple[str | None, Schema]:
    have = _span(value)
    for key, limit in rules.items():
        if key in ("in", "notIn"):
            inside = any(_span(str(bound)) == have for bound in limit)
            if inside is not (key == "in"):
                return "not", schema | ({"enum": limit} if key == "in" else {})
            continue
        if key not in _TESTS or _TESTS[key](have, _span(str(limit))):
            continue
        least = next((_span(str(rules[keyword])) for keyword in ("gt", "gte") if keyword in rules), Decimal(0))
        if key == "const":
            return "const", schema | {"const": limit}
        if key == "lte" and _span(str(limit)) > max(least, Decimal(0)):
            return "formatMaximum", schema | {"formatMaximum": limit}
        if key == "gte" and have > 0:
            return "formatMinimum", schema | {"formatMinimum": limit}
        return "not", schema
    return None, schema


_TESTS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "const": operator.eq,
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
}


def _span(value: str) -> Decimal:
    return Decimal(value[:-1]) if _SECONDS.fullmatch(value) else Decimal(0)


def _moment(value: str) -> tuple[str, Decimal]:
    """Return a moment of canonical proto-JSON, which is in UTC, as something that can be compared."""
    whole, _, part = value.rstrip("Zz").partition(".")
    return whole, Decimal(f"0.{part}") if part.isdecimal() else Decimal(0)
