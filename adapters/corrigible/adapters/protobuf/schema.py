"""Messages as JSON Schema of their canonical proto-JSON, protovalidate's constraints included.

Sources: protobuf.dev "ProtoJSON Format"; buf/validate/validate.proto.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from google.protobuf import descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import FieldDescriptor

from corrigible.schema.exchange import Json

Schema = dict[str, Json]

_SIGNED: Final = {
    **dict.fromkeys((FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_SFIXED32), 31),
    **dict.fromkeys((FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_SINT64, FieldDescriptor.TYPE_SFIXED64), 63),
}
_UNSIGNED: Final = {
    **dict.fromkeys((FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32), 32),
    **dict.fromkeys((FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64), 64),
}
# What proto-JSON writes otherwise than as an object of its fields.
_WELL_KNOWN: Final[Mapping[str, Schema]] = {
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
    "google.protobuf.Duration": {"type": "string", "pattern": r"^-?[0-9]{1,12}(\.[0-9]{1,9})?s$"},
    "google.protobuf.FieldMask": {"type": "string"},
    "google.protobuf.Struct": {"type": "object"},
    "google.protobuf.ListValue": {"type": "array"},
    "google.protobuf.Value": {},
    "google.protobuf.Any": {"type": "object"},
    "google.protobuf.Empty": {"type": "object", "additionalProperties": False},
    **{f"google.protobuf.{kind}Value": {"type": "string"} for kind in ("String", "Bytes")},
    **{f"google.protobuf.{kind}Value": {"type": "integer"} for kind in ("Int32", "Int64", "UInt32", "UInt64")},
    **{f"google.protobuf.{kind}Value": {"type": "number"} for kind in ("Float", "Double")},
    "google.protobuf.BoolValue": {"type": "boolean"},
}
_PLAIN: Final = {"const": "const", "in": "enum"}
_NUMBER: Final = {"lt": "exclusiveMaximum", "lte": "maximum", "gt": "exclusiveMinimum", "gte": "minimum"}
_STRING: Final = {"minLen": "minLength", "maxLen": "maxLength", "pattern": "pattern"}
_FORMATS: Final = {
    **{name: name for name in ("email", "hostname", "ipv4", "ipv6", "uri", "uuid", "ip", "address")},
    "uriRef": "uri-reference",
}


class Schemas:
    """The schemas of the messages of one pool, made on first need; messages refer to each other by `$ref`."""

    def __init__(self, pool: descriptor_pool.DescriptorPool) -> None:
        self._pool = pool
        self._constraints = _Constraints(pool)

    def of(self, message: Any) -> Schema:
        """Return the schema of a message, with all it refers to under `$defs`."""
        defs: dict[str, Schema] = {}
        waiting = [message]
        while waiting:
            here = waiting.pop()
            if here.full_name not in defs:
                defs[here.full_name], needed = self._message(here)
                waiting += needed
        return {"$ref": f"#/$defs/{message.full_name}", "$defs": defs}

    def is_ignored(self, field: Any) -> bool:
        """Whether constraints do not look at a field as long as it has its default."""
        return _is_ignored(self._constraints.of_field(field))

    def _message(self, message: Any) -> tuple[Schema, list[Any]]:
        properties: dict[str, Schema] = {}
        required: list[str] = []
        needed: list[Any] = []
        for field in message.fields:
            said = self._constraints.of_field(field)
            properties[field.json_name] = self._field(field, said, needed)
            if said.get("required") is True and not _is_ignored(said):
                required.append(field.json_name)
        schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
        choices = [
            {"anyOf": [{"required": [field.json_name]} for field in oneof.fields]}
            for oneof in message.oneofs
            if self._constraints.of_oneof(oneof).get("required") is True
        ]
        if required:
            schema["required"] = required
        if choices:
            schema["allOf"] = choices
        return schema, needed

    def _field(self, field: Any, said: Mapping[str, Json], needed: list[Any]) -> Schema:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            rules = said.get("map", {})
            value = field.message_type.fields_by_name["value"]
            schema: Schema = {
                "type": "object",
                "additionalProperties": self._one(value, rules.get("values", {}), needed),
            }
            keys = _string(rules.get("keys", {}).get("string", {}))
            return schema | _sized(rules, "Pairs", "Properties") | ({"propertyNames": keys} if keys else {})
        if field.is_repeated:
            rules = said.get("repeated", {})
            schema = {"type": "array", "items": self._one(field, rules.get("items", {}), needed)}
            return schema | _sized(rules, "Items", "Items") | ({"uniqueItems": True} if rules.get("unique") else {})
        return self._one(field, said, needed)

    def _one(self, field: Any, said: Mapping[str, Json], needed: list[Any]) -> Schema:
        kind = field.type
        if kind in _SIGNED:
            bits = _SIGNED[kind]
            return {"type": "integer", "minimum": -(2**bits), "maximum": 2**bits - 1} | _number(said)
        if kind in _UNSIGNED:
            return {"type": "integer", "minimum": 0, "maximum": 2 ** _UNSIGNED[kind] - 1} | _number(said)
        match kind:
            case FieldDescriptor.TYPE_DOUBLE | FieldDescriptor.TYPE_FLOAT:
                return {"type": "number"} | _number(said)
            case FieldDescriptor.TYPE_BOOL:
                return {"type": "boolean"} | _constants(said.get("bool", {}))
            case FieldDescriptor.TYPE_STRING:
                return {"type": "string"} | _string(said.get("string", {}))
            case FieldDescriptor.TYPE_BYTES:
                return {"type": "string", "contentEncoding": "base64"}
            case FieldDescriptor.TYPE_ENUM:
                return _enumeration(field.enum_type, said.get("enum", {}))
            case _:
                known = _WELL_KNOWN.get(field.message_type.full_name)
                if known is not None:
                    return dict(known)
                needed.append(field.message_type)
                return {"$ref": f"#/$defs/{field.message_type.full_name}"}


def _sized(rules: Mapping[str, Json], theirs: str, ours: str) -> Schema:
    return {f"{end}{ours}": int(rules[f"{end}{theirs}"]) for end in ("min", "max") if f"{end}{theirs}" in rules}


def _constants(rules: Mapping[str, Json]) -> Schema:
    return {keyword: rules[name] for name, keyword in _PLAIN.items() if name in rules}


def _number(said: Mapping[str, Json]) -> Schema:
    rules: Mapping[str, Json] = next((said[kind] for kind in _NUMBERS if isinstance(said.get(kind), Mapping)), {})
    out: Schema = {}
    for name, keyword in (_NUMBER | _PLAIN).items():
        if name in rules:
            value = rules[name]
            out[keyword] = [_plain(one) for one in value] if isinstance(value, list) else _plain(value)
    if "exclusiveMinimum" in out or "exclusiveMaximum" in out:
        low, high = out.get("exclusiveMinimum", out.get("minimum")), out.get("exclusiveMaximum", out.get("maximum"))
        if low is not None and high is not None and low >= high:
            return {}  # "outside of": no range that JSON Schema says in one
    return out


_NUMBERS: Final = (
    *("int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64"),
    *("float", "double"),
)


def _plain(value: Json) -> Json:
    """Return a 64-bit number, which proto-JSON writes as a text, as a number."""
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?\d+", value) else value


def _string(rules: Mapping[str, Json]) -> Schema:
    out = _constants(rules)
    out |= {keyword: rules[name] for name, keyword in _STRING.items() if name in rules}
    out |= {keyword: int(out[keyword]) for keyword in ("minLength", "maxLength") if keyword in out}
    if "len" in rules:
        out |= {"minLength": int(rules["len"]), "maxLength": int(rules["len"])}
    for name, form in _FORMATS.items():
        if rules.get(name) is True:
            out["format"] = form
    if "pattern" not in out:
        ends = {"prefix": "^{}", "suffix": "{}$", "contains": "{}"}
        for name, pattern in ends.items():
            if isinstance(rules.get(name), str):
                out["pattern"] = pattern.format(re.escape(rules[name]))
    if rules.get("notIn"):
        out["not"] = {"enum": rules["notIn"]}
    return out


def _enumeration(kind: Any, rules: Mapping[str, Json]) -> Schema:
    if kind.full_name == "google.protobuf.NullValue":
        return {"type": "null"}
    allowed = [value.number for value in kind.values]
    if "const" in rules:
        allowed = [rules["const"]]
    if rules.get("in"):
        allowed = [number for number in allowed if number in rules["in"]]
    allowed = [number for number in allowed if number not in rules.get("notIn", ())]
    return {
        "type": "string",
        "enum": [kind.values_by_number[number].name for number in allowed if number in kind.values_by_number],
    }


def _is_ignored(said: Mapping[str, Json]) -> bool:
    return said.get("ignore") in ("IGNORE_ALWAYS", "IGNORE_IF_ZERO_VALUE")


class _Constraints:
    """Reads protovalidate's options with the pool's own definition of them; nothing where it has none."""

    def __init__(self, pool: descriptor_pool.DescriptorPool) -> None:
        self._pool = pool
        self._field = self._extension("field", "FieldOptions")
        self._oneof = self._extension("oneof", "OneofOptions")

    def _extension(self, name: str, options: str) -> tuple[Any, Any] | None:
        try:
            extension: Any = self._pool.FindExtensionByName(f"buf.validate.{name}")
            kind: Any = message_factory.GetMessageClass(self._pool.FindMessageTypeByName(f"google.protobuf.{options}"))
        except KeyError:
            return None
        return kind, extension

    def of_field(self, field: Any) -> Mapping[str, Json]:
        return self._said(field, self._field)

    def of_oneof(self, oneof: Any) -> Mapping[str, Json]:
        return self._said(oneof, self._oneof)

    def _said(self, described: Any, known: tuple[Any, Any] | None) -> Mapping[str, Json]:
        if known is None:
            return {}
        kind, extension = known
        options = kind.FromString(described.GetOptions().SerializeToString())
        if not options.HasExtension(extension):
            return {}
        said: Mapping[str, Json] = json_format.MessageToDict(options.Extensions[extension], descriptor_pool=self._pool)
        return said
