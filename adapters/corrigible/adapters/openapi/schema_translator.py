"""From the schemas of OpenAPI 3.0 and 3.1 to JSON Schema 2020-12 that holds for requests, without the prose.

What is wrong or unknown in a schema is left out: a schema with fewer constraints refuses less.

What its prose and its examples tell of a value becomes annotations:

| prose                                      | what is told                                   |
|--------------------------------------------|------------------------------------------------|
| `When, in the site's timezone`             | that a time has no offset                      |
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from corrigible.rules.schema_repair.first_violation import is_fully_checked
from corrigible.rules.schema_repair.json_schema import Schema
from corrigible.rules.schema_repair.values import LOCAL, SHAPED
from corrigible.schema.exchange import Json

from .source_files import SourceFiles

_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
_NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS: Final = (
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"),
)
_ONE_SCHEMA: Final = (
    *("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"),
    *("unevaluatedProperties", "unevaluatedItems"),
)
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS: Final = ("properties", "patternProperties", "dependentSchemas")
_LONGEST_DEFAULT: Final = 200
_MOST_VALUES: Final = 5000
"""Of an enum that is kept: a longer list could be searched within no time limit, so its values are not judged."""


_RANGE_OF_CLASS: Final = re.compile(r"(\\[wdsWDS])-(?=[^\]])")


def checkable(pattern: str) -> str | None:
    """Return a pattern as the validator can check it in full; None where it cannot.

    JavaScript takes the hyphen of `[\\w-.]` for itself: a class cannot begin a range.
    """
    for written in (pattern, _RANGE_OF_CLASS.sub(r"\1\-", pattern)):
        if is_fully_checked({"pattern": written}):
            return written
    return None


class Schemas:
    """Translates schemas; what they refer to is translated once and named `s0`, `s1`, ... in `definitions`."""

    def __init__(self, files: SourceFiles, *, nullable: bool, hides: str = "readOnly", is_open: bool = False) -> None:
        """`nullable`: the dialect of OpenAPI 3.0, with `nullable` and boolean `exclusiveMinimum`.

        Members marked as `hides` need not be there. `is_open`: that further members are allowed is kept.
        """
        self._hides, self._is_open = hides, is_open
        self.definitions: list[Json] = []
        self._files = files
        self._old = nullable
        self._names: dict[tuple[Path, str], int] = {}
        self._pending: list[tuple[int, Json, Path]] = []

    def translated(self, schema: Json, file: Path) -> Json:
        """Translate one schema, and everything it refers to."""
        out = self._schema(schema, file, frozenset())
        while self._pending:
            number, inner, place = self._pending.pop()
            self.definitions[number] = self._schema(inner, place, frozenset())
        return out

    def places(self) -> list[tuple[Path, str]]:
        """Return the place of each definition: its file, and the pointer in it."""
        return list(self._names)

    def _named(self, reference: Json, file: Path) -> Json:
        target = self._files.find(reference, file)
        if target is None or not isinstance(target.value, Mapping):
            return {}
        key = (target.file, target.pointer)
        if key not in self._names:
            self._names[key] = len(self.definitions)
            self.definitions.append({})
            self._pending.append((self._names[key], target.value, target.file))
        return {"$ref": f"#/$defs/s{self._names[key]}"}

    def _schema(self, node: Json, file: Path, hidden: frozenset[str]) -> Json:
        if not isinstance(node, Mapping):
            return node if isinstance(node, bool) else {}
        if "$ref" in node:
            return self._reference(node, file)
        out: dict[str, Any] = {}
        kinds = self._kinds(node)
        if kinds:
            out["type"] = kinds[0] if len(kinds) == 1 else list(kinds)
        if "string" in kinds and is_shaped(node):
            out[SHAPED] = True
        out.update(told_in_prose(node.get("description"), node))
        hidden |= self._hidden(node, file)
        self._assertions(node, out, hidden)
        for key in _ONE_SCHEMA:
            if isinstance(node.get(key), Mapping | bool):
                out[key] = self._schema(node[key], file, frozenset())
        for key in ("additionalProperties", "unevaluatedProperties", "unevaluatedItems"):
            if out.get(key) in (True, {}) and not self._is_open:
                del out[key]
        for key in _LISTS:
            if isinstance(node.get(key), list) and node[key]:
                out[key] = [self._schema(inner, file, hidden if key == "allOf" else frozenset()) for inner in node[key]]
        for key in _MAPS:
            if isinstance(node.get(key), Mapping):
                out[key] = {
                    name: self._schema(inner, file, frozenset())
                    for name, inner in node[key].items()
                    if key != "patternProperties" or is_fully_checked({"pattern": name})
                }
        self._discriminator(node, out)
        return self._or_null(out) if self._nullable(node) and not kinds else out

    def _reference(self, node: Mapping[str, Json], file: Path) -> Json:
        out: dict[str, Json] = dict(self._named(node["$ref"], file))
        rest = {key: value for key, value in node.items() if key not in ("$ref", "nullable")}
        if self._old:
            rest = {"readOnly": True} if rest.get("readOnly") is True else {}
        out.update(self._schema(rest, file, frozenset()))
        return self._or_null(out) if self._nullable(node) else out

    def _nullable(self, node: Mapping[str, Json]) -> bool:
        return self._old and node.get("nullable") is True

    def _or_null(self, out: dict[str, Json]) -> dict[str, Json]:
        """Allow null beside what a schema without a type of its own allows."""
        asserting = [key for key in out if key not in ("default", "readOnly", SHAPED, LOCAL)]
        if not asserting:
            return out
        for key in ("oneOf", "anyOf"):
            if asserting == [key] or asserting == [key, "discriminator"]:
                return {**out, key: [*out[key], {"type": "null"}]}
        return {"anyOf": [out, {"type": "null"}]}

    def _kinds(self, node: Mapping[str, Json]) -> tuple[str, ...]:
        declared = node.get("type")
        listed = [declared] if isinstance(declared, str) else declared if isinstance(declared, list) else []
        if node.get("format") == "int-or-string" and declared == "string":
            listed = ["string", "integer"]
        kinds = list(dict.fromkeys(listed)) if all(isinstance(declared, str) for declared in listed) else []
        if not kinds or not _TYPES.issuperset(kinds):
            return ()
        return (*kinds, "null") if self._nullable(node) and "null" not in kinds else tuple(kinds)

    def _assertions(self, node: Mapping[str, Json], out: dict[str, Any], hidden: frozenset[str]) -> None:
        values = node.get("enum")
        if isinstance(values, list) and 0 < len(values) <= _MOST_VALUES:
            out["enum"] = [*values, None] if self._nullable(node) and None not in values else list(values)
        for key in ("const", "default"):
            if key in node and (key == "const" or len(str(node[key])) <= _LONGEST_DEFAULT):
                out[key] = node[key]
        for key in _NUMBERS:
            if isinstance(node.get(key), int | float) and not isinstance(node[key], bool):
                out[key] = node[key]
        for end in ("Minimum", "Maximum"):
            if node.get(f"exclusive{end}") is True and end.lower() in out:
                out[f"exclusive{end}"] = out.pop(end.lower())
        if out.get("multipleOf", 1) <= 0:
            del out["multipleOf"]
        for key in _COUNTS:
            if isinstance(node.get(key), int) and not isinstance(node[key], bool) and node[key] >= 0:
                out[key] = node[key]
        if isinstance(node.get("pattern"), str) and (pattern := checkable(node["pattern"])) is not None:
            out["pattern"] = pattern
        if isinstance(node.get("format"), str):
            out["format"] = node["format"]
        for key in ("uniqueItems", "readOnly"):
            if node.get(key) is True:
                out[key] = True
        required = node.get("required")
        if isinstance(required, list):
            names = [name for name in dict.fromkeys(map(str, required)) if name not in hidden]
            if names:
                out["required"] = names
        dependent = node.get("dependentRequired")
        if isinstance(dependent, Mapping) and all(isinstance(names, list) for names in dependent.values()):
            out["dependentRequired"] = {name: list(map(str, names)) for name, names in dependent.items()}

    def _hidden(self, node: Mapping[str, Json], file: Path) -> frozenset[str]:
        """Return the members that only answers have, or only requests (OpenAPI 3.0.3): `required` holds there alone."""
        parts = [node, *(part for part in node.get("allOf") or () if isinstance(part, Mapping))]
        names: set[str] = set()
        for part in parts:
            inside, place = self._files.dereferenced(part, file)
            members = inside.get("properties") if isinstance(inside, Mapping) else None
            for name, inner in members.items() if isinstance(members, Mapping) else ():
                followed = self._files.dereferenced(inner, place)[0]
                if any(isinstance(one, Mapping) and one.get(self._hides) is True for one in (inner, followed)):
                    names.add(name)
        return frozenset(names)

    def _discriminator(self, node: Mapping[str, Json], out: dict[str, Json]) -> None:
        """Keep which value chooses which alternative, by its index."""
        discriminator = node.get("discriminator")
        key = "oneOf" if "oneOf" in out else "anyOf"
        if (
            not isinstance(discriminator, Mapping)
            or key not in out
            or not isinstance(discriminator.get("propertyName"), str)
        ):
            return
        references = [inner.get("$ref") if isinstance(inner, Mapping) else None for inner in node[key]]
        chosen = {str(ref).rpartition("/")[2]: index for index, ref in enumerate(references) if ref}
        mapping = discriminator.get("mapping")
        indexes: dict[str, int] = {}
        for value, target in mapping.items() if isinstance(mapping, Mapping) else ():
            if target in references:
                indexes[str(value)] = references.index(target)
            elif target in chosen:
                indexes[str(value)] = chosen[target]
        # A schema that is mapped goes by that value alone.
        branches = {**{name: index for name, index in chosen.items() if index not in indexes.values()}, **indexes}
        if len(set(branches.values())) == len(node[key]):
            out["discriminator"] = {"propertyName": discriminator["propertyName"], "branches": branches}


# What prose and examples tell of a value, and its schema cannot say or does not


_SHAPE: Final = re.compile(r"[:/@*]")
_LOCAL: Final = re.compile(
    r"(?i)\blocal (?:date|time|date[- ]?time|time ?zone)\b|\bwall[- ]clock\b|\bzone-?less\b"
    r"|\bin the (?:\w{1,30} ){0,2}(?:\w{1,30}(?:'|\u2019)s|site|account|project|server|user|store|shop|tenant"
    r"|organi[sz]ation) (?:local |own |default |configured )?time ?zone\b"
    r"|\bwithout (?:an? )?(?:time ?zone|utc offset|offset)\b"
)
"""Words of a description by which a time is told without its offset."""


def is_shaped(schema: Schema) -> bool:
    """Whether a schema as it is written has only examples of such texts."""
    examples = schema.get("examples")
    shown = [schema.get("example"), *(examples if isinstance(examples, list) else ())]
    texts = [one for one in shown if isinstance(one, str) and one]
    return bool(texts) and all(_SHAPE.search(text) for text in texts)


def told_in_prose(prose: Json, schema: Schema) -> dict[str, Json]:
    """Return the annotations of a schema that its description gives."""
    return {LOCAL: True} if isinstance(prose, str) and told_local(prose, schema) else {}


_READ_OF_TIMES: Final = 400


def told_local(prose: str, schema: Schema) -> bool:
    """Whether the description of a time says that it has no offset of its own."""
    return schema.get("format") == "date-time" and _LOCAL.search(prose[:_READ_OF_TIMES]) is not None
