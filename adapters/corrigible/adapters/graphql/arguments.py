"""The arguments of one field as the body of a call: judged by JSON Schema as any other, and edited where they stand.

A value is a literal of the document, a variable, or a literal with variables in it. An edit of the call becomes one of
the variable or of the literal's node. What is asked for in a literal becomes a variable.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from typing import Any, Final, NamedTuple

import graphql as g

from corrigible.adapters.base import Described
from corrigible.adapters.formats.statement import has_word
from corrigible.adapters.openapi.description import facts, vocabulary
from corrigible.adapters.openapi.operation_checks import OperationChecker
from corrigible.adapters.operation import Operations, Vocabulary
from corrigible.rules.pointer import MISSING, escape, segments
from corrigible.rules.schema_repair.first_violation import first_violation
from corrigible.rules.schema_repair.schema_violation import DeclaredPlace, SchemaViolation
from corrigible.rules.schema_repair.values import ONLY_ASKED
from corrigible.schema.document import Leaf, leaves, scalar_text
from corrigible.schema.edit import NotApplicable, apply_operation
from corrigible.schema.exchange import Json, Request

from .document import Document
from .splice import Splice, removed, span

_SCALARS: Final[Mapping[str, Mapping[str, Json]]] = {
    "Int": {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1, ONLY_ASKED: True},
    "Float": {"type": "number"},
    "String": {"type": "string"},
    "Boolean": {"type": "boolean"},
    "ID": {"type": ["string", "integer"]},
}
_NOT_NULL: Final[Mapping[str, Json]] = {"not": {"type": "null"}}
"""What is known of a custom scalar."""
_MEDIA: Final = "application/json"
_MOST_VALUES: Final = 200
_SHORT: Final = 2


def json_schema(kind: Any) -> dict[str, Json]:
    """Return the JSON Schema of a type of input; its objects are `definitions`. Of other scalars nothing is known."""
    if not g.is_non_null_type(kind):
        return _or_null(json_schema(g.GraphQLNonNull(kind)))
    kind = kind.of_type
    if g.is_list_type(kind):
        return {"type": "array", "items": json_schema(kind.of_type)}
    if g.is_enum_type(kind):
        return {"type": "string", "enum": list(kind.values)}
    if g.is_input_object_type(kind):
        return {"$ref": f"#/$defs/{kind.name}"}
    return dict(_SCALARS.get(kind.name, _NOT_NULL))


def _or_null(schema: dict[str, Json]) -> dict[str, Json]:
    if schema == _NOT_NULL:
        return {}
    if "$ref" in schema:
        return {"$ref": f"{schema['$ref']}?"}
    out = dict(schema)
    if "type" in out:
        out["type"] = [*(out["type"] if isinstance(out["type"], list) else [out["type"]]), "null"]
    return {**out, "enum": [*out["enum"], None]} if isinstance(out.get("enum"), list) else out


def definitions(schema: g.GraphQLSchema) -> dict[str, Json]:
    """Return the input objects of a schema as JSON Schemas by name, and each with null allowed as `Name?`."""
    out: dict[str, Json] = {}
    for name, one in schema.type_map.items():
        if g.is_input_object_type(one):
            made: dict[str, Json] = {"type": "object", **_members(one.fields, g.is_required_input_field)}
            made |= {"minProperties": 1, "maxProperties": 1} if one.is_one_of else {}
            out |= {name: made, f"{name}?": {**made, "type": ["object", "null"]}}
    return out


def _members(fields: Mapping[str, Any], is_required: Any) -> dict[str, Json]:
    return {
        "properties": {name: json_schema(one.type) for name, one in fields.items()},
        "required": [name for name, one in fields.items() if is_required(one)],
        "additionalProperties": False,
    }


def needed(schema: Json, defined: Mapping[str, Json]) -> dict[str, Json]:
    """Return the definitions that a schema refers to, and those that these refer to."""
    out: dict[str, Json] = {}
    waiting = [schema]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            name = str(here.get("$ref", "")).rpartition("/")[2]
            if name in defined and name not in out:
                out[name] = defined[name]
                waiting.append(defined[name])
            waiting += here.values()
        elif isinstance(here, list):
            waiting += here
    return out


class Arguments(Described):
    """The description of one call: the only operation is a field with its arguments, or all variables."""

    def __init__(self, name: str, schema: dict[str, Json], defined: Mapping[str, Json]) -> None:
        media = {"required": True, "media": {_MEDIA: {"schema": {"type": "object", **schema}}}}
        self.name, self._checker = name, OperationChecker({"body": media}, needed(schema, defined))

    @property
    def operations(self) -> Operations:
        return Operations({f"{method} /{self.name}": self.name for method in ("GET", "POST")})

    def schema_violations(self, request: Request, operation: str, at: str = "") -> Sequence[SchemaViolation]:
        found = [one for one in self._checker.schema_violations(request, {}) if not _is_one_for_list(one)]
        return [one for one in found if f"{one.pointer}/".startswith(f"{at}/")]

    def declared_place(self, request: Request, operation: str, pointer: str) -> DeclaredPlace:
        return self._checker.declared_place(request, pointer)

    def vocabulary(self, operation: str, body: Json = None) -> Vocabulary:
        return vocabulary(self._checker)

    def facts(self, operation: str) -> Json:
        return facts(self._checker)

    def body_schemas(self, operation: str) -> Mapping[str, Json]:
        return self._checker.body_schemas


def _is_one_for_list(violation: SchemaViolation) -> bool:
    """Whether a single value stands where a list is expected, as it may (GraphQL specification, section 3.11)."""
    inner = violation.schema.get("items")
    is_list = violation.keyword == "type" and violation.schema.get("type") in ("array", ["array", "null"])
    return is_list and isinstance(inner, dict) and first_violation(violation.value, inner) is None


def of_field(definition: g.GraphQLField, name: str, defined: Mapping[str, Json]) -> Arguments:
    return Arguments(name, _members(definition.args, g.is_required_argument), defined)


def of_variables(
    operation: g.OperationDefinitionNode, schema: g.GraphQLSchema, defined: Mapping[str, Json]
) -> Arguments:
    """Return the description of the variables of an operation."""
    kinds: dict[str, Any] = {}
    required = list[str]()
    for one in operation.variable_definitions or ():
        kind = g.type_from_ast(schema, one.type)
        if g.is_input_type(kind):
            kinds[one.variable.name.value] = json_schema(kind)
            required += [one.variable.name.value] if g.is_non_null_type(kind) and one.default_value is None else []
    return Arguments("variables", {"properties": kinds, "required": required}, defined)


def literal(node: Any, variables: Mapping[str, Json] | None = None) -> Json:
    """Return the value of a literal as JSON, and of a variable what was sent; MISSING where nothing was."""
    match node:
        case g.VariableNode():
            return (variables or {}).get(node.name.value, MISSING)
        case g.ListValueNode():
            found = [literal(one, variables) for one in node.values]
            return [None if one is MISSING else one for one in found]
        case g.ObjectValueNode():
            pairs = [(one.name.value, literal(one.value, variables)) for one in node.fields]
            return {name: value for name, value in pairs if value is not MISSING}
        case g.IntValueNode():
            return int(node.value)
        case g.FloatValueNode():
            return float(node.value)
        case g.StringValueNode() | g.BooleanValueNode() | g.EnumValueNode():
            return node.value
    return None


def after(document: dict[str, Json], ops: Sequence[Mapping[str, Any]]) -> Any:
    """Return a document after operations on it; None where one cannot be done."""
    try:
        return reduce(apply_operation, ops, document)
    except NotApplicable:
        return None


class Edited(NamedTuple):
    """What an edit of a call comes to in the request."""

    splices: tuple[Splice, ...] = ()
    ops: tuple[dict[str, Json], ...] = ()
    """Operations on variables."""
    asked: tuple[tuple[str, Mapping[str, Json]], ...] = ()
    """Places of variables that are asked for, each with its schema."""


class Call:
    """One field of a document with its arguments."""

    def __init__(self, document: Document, node: Any, variables: Mapping[str, Json], base: str) -> None:
        """`node` is a field or a directive, `base` is where the variables are in the request document."""
        self._document, self._base, self._variables = document, base, variables
        context = document.contexts[id(node)]
        self.node, self.name = node, f"{context.parent}.{node.name.value}"
        self.definition: Any = context.definition
        body = {one.name.value: literal(one.value, variables) for one in node.arguments or ()}
        self.body = {name: value for name, value in body.items() if value is not MISSING}

    def request(self) -> Request:
        method = "GET" if self._document.kind == "query" else "POST"
        return Request(method, f"/{self.name}", headers={"content-type": _MEDIA}, body=self.body)

    def values(self) -> Iterator[Leaf]:
        """Yield the values that are sent, as far as they are looked at."""
        return itertools.islice(leaves(self.body, "/body"), _MOST_VALUES)

    def is_repeated_in(self, message: str) -> bool:
        """Whether a message has a value as a word of its own."""
        return any(has_word(message, scalar_text(one.value)) for one in self.values())

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of what is sent."""
        return frozenset(name for one in self.values() for name in segments(one.pointer)[1:])

    def is_named_in(self, message: str) -> bool:
        """Whether a message has the name of what is sent as a word of its own."""
        text = message.replace(".", " ")
        return any(len(one) > _SHORT and has_word(text, one) for one in self.names)

    def told_by(self, said: Collection[str]) -> str:
        """Return the only value that a text is about by what all of GraphQL call it: a cursor, or nothing at an id."""
        names = ("after", "before") if "cursor" in said else ("id",) if {*said} == {"not", "found"} else ()
        found = [one.pointer for one in self.values() if segments(one.pointer)[-1] in names]
        return found[0] if len(found) == 1 else ""

    def place(self, pointer: str) -> tuple[Any, str]:
        """Return the node that a place of the call leads to; of a variable its place in the request. Neither: None."""
        held: Any = self.node
        names = segments(pointer)[1:]
        for at, name in enumerate(names):
            members = held.arguments or () if held is self.node else getattr(held, "fields", ())
            found = next((one.value for one in members if one.name.value == name), None)
            if isinstance(held, g.ListValueNode) and name.isdecimal() and int(name) < len(held.values):
                found = held.values[int(name)]
            if isinstance(found, g.VariableNode):
                rest = "".join(f"/{escape(one)}" for one in names[at + 1 :])
                return None, f"{self._base}/{escape(found.name.value)}{rest}"
            if found is None:
                return None, ""
            held = found
        return held, ""

    def outward(self, suggestion: Mapping[str, Any]) -> Edited | None:
        """Return what a suggestion for the call comes to in the request; None where it cannot be said."""
        splices, ops = list[Splice](), list[dict[str, Json]]()
        asked: list[tuple[str, Mapping[str, Json]]] = []
        for op in suggestion.get("patch", ()):
            made = self._operation(op) if str(op["path"]).startswith("/body/") else None
            if made is None:
                return None if "placeholders" in suggestion else self._rewritten(suggestion["patch"])
            splices += made[0]
            ops += made[1]
        for one in suggestion.get("placeholders", ()):
            is_inside = str(one["pointer"]).startswith("/body/")
            lifted = self._lifted(str(one["pointer"]), one["schema"]) if is_inside else None
            if lifted is None:
                return None
            splices += lifted.splices
            asked += lifted.asked
        return Edited(tuple(splices), tuple(ops), tuple(asked))

    def _rewritten(self, ops: Sequence[Mapping[str, Any]]) -> Edited | None:
        """Return the arguments that an edit of several nodes changes, written anew; None where more would change."""
        body = (after({"body": self.body}, ops) or {}).get("body", {})
        named = {one.name.value: one.value for one in self.node.arguments or ()}
        changed = {name: one for name, one in named.items() if body.get(name) != self.body.get(name)}
        same = (g.parse_value(self._literal(self.body.get(name), f"/body/{name}")) for name in changed)
        texts = [*map(g.print_ast, changed.values())]
        if body.keys() != self.body.keys() or "$" in str(texts) or [*map(g.print_ast, same)] != texts:
            return None
        written = [(*span(one), self._literal(body[name], f"/body/{name}")) for name, one in changed.items()]
        return Edited(tuple(written))

    def _operation(self, op: Mapping[str, Any]) -> tuple[list[Splice], list[dict[str, Json]]] | None:
        path = str(op["path"])
        node, place = self.place(path)
        above, above_place = self.place(path.rpartition("/")[0])
        if above_place or (place and op["op"] not in ("move", "remove")):
            source = self.place(str(op["from"]))[1] if "from" in op else ""
            if "from" in op and not source:
                return None
            target = place or f"{above_place}/{path.rpartition('/')[2]}"
            return [], [{**op, "path": target, **({"from": source} if source else {})}]
        if op["op"] == "test":
            return [], []
        if op["op"] == "replace" and node is not None:
            return [(*span(node), self._literal(op["value"], path))], []
        if op["op"] == "add" and node is None and above is not None:
            splice = self._added(above, segments(path)[-1], self._literal(op["value"], path))
            return None if splice is None else ([splice], [])
        if op["op"] == "move" and str(op["from"]).rpartition("/")[0] == path.rpartition("/")[0] and above is not None:
            old = segments(str(op["from"]))[-1]
            named = [one for one in self._held(above) if one.name.value == old]
            return ([(*span(named[0].name), segments(path)[-1])], []) if len(named) == 1 else None
        if op["op"] == "remove" and above is not None and not isinstance(above, g.ListValueNode):
            named = [one for one in self._held(above) if one.name.value == segments(path)[-1]]
            is_only = len(self._held(above)) == 1 and above is self.node
            return None if is_only or not named else ([removed(named[0], self._document.text)], [])
        return None

    def _held(self, node: Any) -> Sequence[Any]:
        return node.arguments or () if node is self.node else getattr(node, "fields", ())

    def _added(self, above: Any, name: str, text: str) -> Splice | None:
        held = self._held(above)
        if held:
            end = span(held[-1])[1]
            return end, end, f", {name}: {text}"
        if isinstance(above, g.ObjectValueNode):
            return (*span(above), f"{{{name}: {text}}}")
        end = span(self.node.name)[1]
        return (end, end, f"({name}: {text})") if above is self.node else None

    def _lifted(self, pointer: str, schema: Mapping[str, Json]) -> Edited | None:
        """Return the edit that puts a variable where a value is asked for."""
        node, place = self.place(pointer)
        above, above_place = self.place(pointer.rpartition("/")[0])
        name = segments(pointer)[-1] if segments(pointer) else ""
        if place or above_place:
            return Edited(asked=((place or f"{above_place}/{escape(name)}", schema),))
        kind, operations = self._type(pointer), self._document.operations
        if kind is None or len(operations) != 1 or above is None:
            return None
        variable = self._document.new_variable(name if not name.isdecimal() else "value")
        splice = (*span(node), f"${variable}") if node is not None else self._added(above, name, f"${variable}")
        if splice is None:
            return None
        splices = (splice, *self._document.declaring(operations[0], variable, kind))
        return Edited(splices, asked=((f"{self._base}/{variable}", schema),))

    def _type(self, pointer: str) -> Any:
        """Return the type of a place of the call."""
        kind: Any = None
        for at, name in enumerate(segments(pointer)[1:]):
            inner = g.get_nullable_type(kind)
            members = self.definition.args if at == 0 else getattr(inner, "fields", {})
            kind = inner.of_type if g.is_list_type(inner) else getattr(members.get(name), "type", None)
            if kind is None:
                return None
        return kind

    def _literal(self, value: Json, pointer: str) -> str:
        return printed(value, self._type(pointer))


class Variables(Call):
    """All variables of an operation, as the arguments of one call."""

    def __init__(self, document: Document, variables: Mapping[str, Json], base: str) -> None:
        self._document, self._base, self._variables = document, base, variables
        self.name, self.body = "variables", dict(variables)

    def place(self, pointer: str) -> tuple[Any, str]:
        return None, self._base + pointer.removeprefix("/body")


def printed(value: Json, kind: Any) -> str:
    """Return a literal of a type: words of an enum have no quotes, names of fields neither."""
    inner = g.get_nullable_type(kind) if kind is not None else None
    if isinstance(value, dict):
        members = getattr(inner, "fields", {})
        pairs = [f"{name}: {printed(one, getattr(members.get(name), 'type', None))}" for name, one in value.items()]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        element = inner.of_type if g.is_list_type(inner) else inner
        return f"[{', '.join(printed(one, element) for one in value)}]"
    if isinstance(value, str) and inner is not None and g.is_enum_type(g.get_named_type(inner)):
        return value
    return json.dumps(value, ensure_ascii=False)
