"""Constraints on fields beyond their types: protovalidate, its predecessor, and google.api.field_behavior.

Sources: buf/validate/validate.proto; envoyproxy/protoc-gen-validate validate.proto; google/api/field_behavior.proto.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from google.protobuf import descriptor_pool, json_format, message_factory

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
