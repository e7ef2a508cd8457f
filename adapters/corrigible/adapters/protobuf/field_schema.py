"""One value of a message as JSON Schema of its canonical proto-JSON, protovalidate's constraints included.

Sources: protobuf.dev "ProtoJSON Format"; buf/validate/validate.proto.

Constraints on fields beyond their types: protovalidate, its predecessor, and google.api.field_behavior.
Sources: buf/validate/validate.proto; envoyproxy/protoc-gen-validate validate.proto; google/api/field_behavior.proto.

Violations of a message in proto-JSON: types, and the constraints of its descriptors.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple

from google.protobuf import descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import FieldDescriptor

from corrigible.rules.budget import spend
from corrigible.rules.pointer import MISSING, escape
from corrigible.rules.schema_repair.first_violation import first_violation
from corrigible.rules.schema_repair.json_schema import literal_pattern
from corrigible.rules.schema_repair.repair import AS_TEXT
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.values import PREFIX
from corrigible.schema.exchange import Json

Rules = Mapping[str, Json]

_IF_SET: Final = frozenset(
    {"IGNORE_IF_ZERO_VALUE", "IGNORE_IF_UNPOPULATED", "IGNORE_IF_DEFAULT_VALUE", "IGNORE_EMPTY", "IGNORE_DEFAULT"}
)
"""What the versions of protovalidate call it when a rule does not look at a field with its default."""


def gateway_paths(pool: descriptor_pool.DescriptorPool, methods: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield `POST /v1/things` and its method, where a gateway takes the message itself (google.api.http)."""
    try:
        http: Any = pool.FindExtensionByName("google.api.http")
        kind: Any = message_factory.GetMessageClass(pool.FindMessageTypeByName("google.protobuf.MethodOptions"))
    except KeyError:
        return
    for method in methods:
        described: Any = pool.FindMethodByName(method[1:].replace("/", "."))
        options = kind.FromString(described.GetOptions().SerializeToString())
        if not options.HasExtension(http):
            continue
        main = options.Extensions[http]
        for rule in (main, *main.additional_bindings):
            verb = rule.WhichOneof("pattern") or ""
            path = getattr(rule, verb, "") if verb in ("post", "put", "patch") else ""
            if path and rule.body == "*" and "{" not in path:
                yield f"{verb.upper()} {path}", method


def is_never_judged(rules: Rules) -> bool:
    return rules.get("ignore") == "IGNORE_ALWAYS" or rules.get("skipped") is True


def is_judged_if_set(rules: Rules) -> bool:
    return rules.get("ignore") in _IF_SET or rules.get("ignoreEmpty") is True


class Constraints:
    """Reads options with the pool's own definition of them; nothing where it has none."""

    def __init__(self, pool: descriptor_pool.DescriptorPool) -> None:
        self._pool = pool
        self._field = self._extension("buf.validate.field", "FieldOptions")
        self._oneof = self._extension("buf.validate.oneof", "OneofOptions")
        self._message = self._extension("buf.validate.message", "MessageOptions")
        self._older_field = self._extension("validate.rules", "FieldOptions")
        self._older_oneof = self._extension("validate.required", "OneofOptions")
        self._behavior = self._extension("google.api.field_behavior", "FieldOptions")
        self._known: dict[Any, Rules] = {}

    def of_field(self, field: Any) -> Rules:
        key = field.full_name
        if key not in self._known:
            self._known[key] = self._read_field(field)
        return self._known[key]

    def of_message(self, message: Any) -> Rules:
        rules = self._option(message, self._message)
        return rules if isinstance(rules, Mapping) else {}

    def is_required(self, oneof: Any) -> bool:
        """Whether one member of a `oneof` has to be set."""
        option = self._option(oneof, self._oneof)
        return (isinstance(option, Mapping) and option.get("required") is True) or self._option(
            oneof, self._older_oneof
        ) is True

    def _read_field(self, field: Any) -> Rules:
        rules = self._option(field, self._field)
        if isinstance(rules, Mapping):
            return rules
        older = self._option(field, self._older_field)
        if isinstance(older, Mapping):
            return _as_newer(older)
        behavior = self._option(field, self._behavior)
        # A number or a boolean of a field without presence may deliberately have its default.
        tells = field.has_presence or field.is_repeated or field.cpp_type == field.CPPTYPE_STRING
        return {"required": True} if tells and isinstance(behavior, list) and _REQUIRED in behavior else {}

    def _extension(self, name: str, options: str) -> tuple[Any, Any] | None:
        try:
            extension: Any = self._pool.FindExtensionByName(name)
            kind: Any = message_factory.GetMessageClass(self._pool.FindMessageTypeByName(f"google.protobuf.{options}"))
        except KeyError:
            return None
        return kind, extension

    def _option(self, described: Any, extension: tuple[Any, Any] | None) -> Json:
        """Return an option of something described as JSON, None where it has none."""
        if extension is None or not described.has_options:
            return None
        kind, field = extension
        options = kind.FromString(described.GetOptions().SerializeToString())
        value = options.Extensions[field]
        if field.is_repeated:
            return list(value)
        if not options.HasExtension(field):
            return None
        if field.message_type is None:
            return value
        return json_format.MessageToDict(value, descriptor_pool=self._pool)


_REQUIRED: Final = 2
"""google.api.FieldBehavior.REQUIRED"""


def _as_newer(rules: Mapping[str, Json]) -> Rules:
    """Translate rules of protoc-gen-validate into those of protovalidate."""
    out = {name: value for name, value in rules.items() if name != "message"}
    own = [value for value in rules.values() if isinstance(value, Mapping)]
    if any(value.get("required") is True for value in own):
        out["required"] = True
    if any(value.get("skip") is True for value in own):
        out["ignore"] = "IGNORE_ALWAYS"
    elif any(value.get("ignoreEmpty") is True for value in own):
        out["ignore"] = "IGNORE_IF_ZERO_VALUE"
    return out


Schema = dict[str, Json]

_SIGNED: Final = {
    **dict.fromkeys((FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_SFIXED32), 31),
    **dict.fromkeys((FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_SINT64, FieldDescriptor.TYPE_SFIXED64), 63),
}
_UNSIGNED: Final = {
    **dict.fromkeys((FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32), 32),
    **dict.fromkeys((FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64), 64),
}
_RANGE: Final = {"lt": "exclusiveMaximum", "lte": "maximum", "gt": "exclusiveMinimum", "gte": "minimum"}
_FORMATS: Final = {
    **{name: name for name in ("email", "hostname", "ipv4", "ipv6", "uri", "uuid", "tuuid")},
    "uriRef": "uri-reference",
}
_V4: Final = r"(?:\d{1,3}\.){3}\d{1,3}"
_V6: Final = r"[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*"
_HOST: Final = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.?"
_PATTERNS: Final = {
    "ipWithPrefixlen": rf"^(?:{_V4}/(?:3[0-2]|[12]?\d)|{_V6}/(?:12[0-8]|1[01]\d|\d?\d))$",
    "ipv4WithPrefixlen": rf"^{_V4}/(?:3[0-2]|[12]?\d)$",
    "ipv6WithPrefixlen": rf"^{_V6}/(?:12[0-8]|1[01]\d|\d?\d)$",
    "ipPrefix": rf"^(?:{_V4}/(?:3[0-2]|[12]?\d)|{_V6}/(?:12[0-8]|1[01]\d|\d?\d))$",
    "ipv4Prefix": rf"^{_V4}/(?:3[0-2]|[12]?\d)$",
    "ipv6Prefix": rf"^{_V6}/(?:12[0-8]|1[01]\d|\d?\d)$",
    "hostAndPort": rf"^(?:{_HOST}|\[{_V6}\]):(?:0|[1-9]\d{{0,4}})$",
    "ulid": "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$",
    "protobufFqn": r"^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$",
    "protobufDotFqn": r"^\.[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$",
}
"""Formats that JSON Schema lacks. A fitting text may still be refused; none that is refused here is allowed."""
_EITHER: Final = {"ip": ("ipv4", "ipv6"), "address": ("hostname", "ipv4", "ipv6")}
_HEADERS: Final = {
    # https://datatracker.ietf.org/doc/html/rfc7230#section-3.2, as protovalidate writes it; loose, then strict
    ("KNOWN_REGEX_HTTP_HEADER_NAME", False): r"^[^\x00\n\r]+$",
    ("KNOWN_REGEX_HTTP_HEADER_NAME", True): r"^:?[0-9a-zA-Z!#$%&'*+\-.^_|~`]+$",
    ("KNOWN_REGEX_HTTP_HEADER_VALUE", False): r"^[^\x00\n\r]*$",
    ("KNOWN_REGEX_HTTP_HEADER_VALUE", True): r"^[^\x00-\x08\x0A-\x1F\x7F]*$",
}
_NUMBERS: Final = (
    *("int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64"),
    *("float", "double"),
)
WRAPPED: Final = {
    "google.protobuf.StringValue": FieldDescriptor.TYPE_STRING,
    "google.protobuf.BytesValue": FieldDescriptor.TYPE_BYTES,
    "google.protobuf.BoolValue": FieldDescriptor.TYPE_BOOL,
    "google.protobuf.Int32Value": FieldDescriptor.TYPE_INT32,
    "google.protobuf.Int64Value": FieldDescriptor.TYPE_INT64,
    "google.protobuf.UInt32Value": FieldDescriptor.TYPE_UINT32,
    "google.protobuf.UInt64Value": FieldDescriptor.TYPE_UINT64,
    "google.protobuf.FloatValue": FieldDescriptor.TYPE_FLOAT,
    "google.protobuf.DoubleValue": FieldDescriptor.TYPE_DOUBLE,
}
_WELL_KNOWN: Final[Mapping[str, Schema]] = {
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
    "google.protobuf.Duration": {"type": "string", "pattern": r"^-?[0-9]{1,12}(?:\.[0-9]{1,9})?s$"},
    "google.protobuf.FieldMask": {"type": "string"},
    "google.protobuf.Struct": {"type": "object"},
    "google.protobuf.ListValue": {"type": "array"},
    "google.protobuf.Value": {},
    "google.protobuf.Any": {"type": "object"},
    "google.protobuf.Empty": {"type": "object"},
}


def is_map(field: Any) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def kind_of(field: Any) -> int:
    """Return a field's type; of a wrapper the type of what it wraps."""
    wrapped = WRAPPED.get(field.message_type.full_name) if field.message_type is not None else None
    return int(field.type if wrapped is None else wrapped)


def is_opaque(field: Any) -> bool:
    """Whether the fields of a field's message are not those of its JSON."""
    return field.message_type is not None and field.message_type.full_name.startswith("google.protobuf.")


def field_schema(field: Any, rules: Rules) -> Schema:
    """Return the schema of a whole field; a message in it is any object."""
    if is_map(field):
        limits = rules.get("map", {})
        value = field.message_type.fields_by_name["value"]
        return {"type": "object", "additionalProperties": value_schema(value, limits.get("values", {}))} | _sized(
            limits, "Pairs", "Properties"
        )
    if field.is_repeated:
        limits = rules.get("repeated", {})
        schema = {"type": "array", "items": value_schema(field, limits.get("items", {}))} | _sized(
            limits, "Items", "Items"
        )
        return schema | ({"uniqueItems": True} if limits.get("unique") is True else {})
    return value_schema(field, rules)


def value_schema(field: Any, rules: Rules) -> Schema:
    """Return the schema of one value of a field: of a repeated one an element's."""
    kind = kind_of(field)
    if kind in _SIGNED:
        return _integer(-(2 ** _SIGNED[kind]), 2 ** _SIGNED[kind] - 1, rules)
    if kind in _UNSIGNED:
        return _integer(0, 2 ** _UNSIGNED[kind] - 1, rules)
    match kind:
        case FieldDescriptor.TYPE_DOUBLE | FieldDescriptor.TYPE_FLOAT:
            return _number({"type": "number"}, rules)
        case FieldDescriptor.TYPE_BOOL:
            return {"type": "boolean"} | _constants(rules.get("bool", {}))
        case FieldDescriptor.TYPE_STRING:
            return {"type": "string"} | _string(rules.get("string", {}))
        case FieldDescriptor.TYPE_BYTES:
            return {"type": "string", "format": "byte"} | _constants(rules.get("bytes", {}))
        case FieldDescriptor.TYPE_ENUM:
            return enumeration(field.enum_type, rules.get("enum", {}))
        case _:
            return dict(_WELL_KNOWN.get(field.message_type.full_name, {"type": "object"}))


def _sized(rules: Rules, other_word: str, ours: str) -> Schema:
    return {f"{end}{ours}": int(rules[f"{end}{other_word}"]) for end in ("min", "max") if f"{end}{other_word}" in rules}


def _constants(rules: Rules) -> Schema:
    out: Schema = {"const": rules["const"]} if "const" in rules else {}
    if rules.get("in"):
        out |= _closed(rules["in"])
    if rules.get("notIn"):
        out["not"] = {"enum": rules["notIn"]}
    return out


def _integer(least: int, most: int, rules: Rules) -> Schema:
    schema: Schema = {"type": "integer", "minimum": least, "maximum": most}
    return _number(schema | ({AS_TEXT: True} if most >= 2**63 - 1 else {}), rules)


def _number(schema: Schema, by_type: Rules) -> Schema:
    rules: Rules = next((by_type[kind] for kind in _NUMBERS if isinstance(by_type.get(kind), Mapping)), {})
    out: Schema = {**schema, **{name: _exact(value) for name, value in _constants(rules).items()}}
    bounds = {keyword: _exact(rules[name]) for name, keyword in _RANGE.items() if name in rules}
    low = bounds.get("exclusiveMinimum", bounds.get("minimum"))
    high = bounds.get("exclusiveMaximum", bounds.get("maximum"))
    if isinstance(low, int | float) and isinstance(high, int | float) and low >= high:
        # "outside of": beyond one or the other
        ends = [{name: bounds[name]} for name in bounds if "Maximum" in name or name == "maximum"]
        ends += [{name: bounds[name]} for name in bounds if "Minimum" in name or name == "minimum"]
        return {**out, "anyOf": [{**schema, **end} for end in ends]}
    return {**out, **bounds}


def _exact(value: Json) -> Json:
    """Return 64-bit numbers, which proto-JSON writes as texts, as numbers."""
    if isinstance(value, list):
        return [_exact(number) for number in value]
    if isinstance(value, Mapping):
        return {name: _exact(inner) for name, inner in value.items()}
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?\d+", value) else value


def _string(rules: Rules) -> Schema:
    out = _constants(rules)
    for name, keyword in (("minLen", "minLength"), ("maxLen", "maxLength")):
        if name in rules:
            out[keyword] = int(rules[name])
    if "len" in rules:
        out |= {"minLength": int(rules["len"]), "maxLength": int(rules["len"])}
    patterns = [rules["pattern"]] if isinstance(rules.get("pattern"), str) else []
    patterns += [
        shape.format(literal_pattern(rules[name]))
        for name, shape in (("prefix", "^{}"), ("suffix", "{}$"), ("contains", "{}"))
        if isinstance(rules.get(name), str)
    ]
    patterns += [pattern for name, pattern in _PATTERNS.items() if _is_on(rules.get(name))]
    header = _HEADERS.get((str(rules.get("wellKnownRegex")), rules.get("strict") is not False))
    patterns += [header] if header is not None else []
    if patterns:
        out["pattern"] = patterns[0]
    if len(patterns) > 1:
        out["allOf"] = [{"pattern": pattern} for pattern in patterns[1:]]
    if isinstance(rules.get("notContains"), str):
        unwanted: list[Json] = [{"pattern": literal_pattern(rules["notContains"])}]
        unwanted += [out["not"]] if "not" in out else []
        out["not"] = {"anyOf": unwanted}
    for name, form in _FORMATS.items():
        if rules.get(name) is True:
            out["format"] = form
    for name, forms in _EITHER.items():
        if rules.get(name) is True:
            out["anyOf"] = [{"type": "string", "format": form} for form in forms]
    return out


def _is_on(value: Json) -> bool:
    """Whether a rule is switched on: `true`, or a version number."""
    return value is True or (isinstance(value, int) and value > 0)


def enumeration(kind: Any, rules: Rules) -> Schema:
    """Return the names of an enumeration that rules allow."""
    if kind.full_name == "google.protobuf.NullValue":
        return {"type": "null"}
    allowed = [value.number for value in kind.values]
    if "const" in rules:
        allowed = [rules["const"]]
    if rules.get("in"):
        allowed = [number for number in allowed if number in rules["in"]]
    allowed = [number for number in allowed if number not in rules.get("notIn", ())]
    names = [kind.values_by_number[number].name for number in allowed if number in kind.values_by_number]
    words = list(zip(*(value.name.split("_")[:-1] for value in kind.values), strict=False))
    shared = [same[0] for same in itertools.takewhile(lambda each: len(set(each)) == 1, words)]
    begins = {PREFIX: "_".join(shared)} if shared and len(kind.values) > 1 else {}
    return {"type": "string"} | _closed(list(dict.fromkeys(names))) | begins


def _closed(values: list[Json]) -> Schema:
    """Return the schema of a closed list, a constant for a single value."""
    return {"const": values[0]} if len(values) == 1 else {"enum": values}


def measured(value: str, rules: Rules) -> Schema:
    """Return the limits of a text in UTF-8 bytes as limits of this text in characters."""
    out: Schema = {}
    low, high = (rules.get(name, rules.get("lenBytes")) for name in ("minBytes", "maxBytes"))
    size = len(value.encode())
    if low is not None and size < int(low):
        out["minLength"] = len(value) + 1
    if high is not None and size > int(high):
        out["maxLength"] = len(value.encode()[: int(high)].decode(errors="ignore"))
    return out


def _broken_bytes(kind: int, value: str, by_type: Rules) -> str | None:
    """Return the keyword that bytes in base64 break, which no schema says; None where they fit as far as is known."""
    if kind != FieldDescriptor.TYPE_BYTES:
        return None
    rules = by_type.get("bytes", {})
    try:
        data = base64.b64decode(value.replace("-", "+").replace("_", "/") + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return "format"
    size = len(data)
    least, most = (int(rules.get(name, rules.get("len", otherwise))) for name, otherwise in _SIZES)
    if size < least or size > most:
        return "minLength" if size < least else "maxLength"
    fixed = [_raw(rules.get(name)) for name in ("prefix", "suffix", "contains")]
    if not (data.startswith(fixed[0]) and data.endswith(fixed[1]) and fixed[2] in data):
        return "not"
    sizes = [length for name, length in _ADDRESSES.items() if rules.get(name) is True]
    return "not" if sizes and all(size not in length for length in sizes) else None


_SIZES: Final = (("minLen", 0), ("maxLen", 2**63))
_ADDRESSES: Final = {"ip": (4, 16), "ipv4": (4,), "ipv6": (16,), "uuid": (16,)}


def _raw(value: Json) -> bytes:
    return base64.b64decode(value) if isinstance(value, str) else b""


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
                broken = _broken_bytes(kind_of(field), default, rules)
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
            keyword = first_violation(subject_value, limits) or _broken_bytes(kind, subject_value, rules)
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
    if isinstance(value, str) and kind in _ALL_NUMBERS:
        if re.fullmatch(r"-?\d{1,20}", value):
            return int(value)
        if kind in _FLOATS and re.fullmatch(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?", value):
            return float(value)
    return value


_FLOATS: Final = (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE)
_ALL_NUMBERS: Final = frozenset((*_FLOATS, *_SIGNED, *_UNSIGNED))


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
