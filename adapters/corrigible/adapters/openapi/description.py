"""What is known of an API from its OpenAPI description: its operations, and where a request breaks them."""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from corrigible.adapters.operation import ANY, DEEPEST, MOST, NOTHING, Operations, Path, Vocabulary
from corrigible.rules.schema_repair.body import text_schema
from corrigible.rules.schema_repair.json_schema import Schema, choices, parts
from corrigible.rules.schema_repair.schema_violation import DeclaredPlace, SchemaViolation
from corrigible.schema.exchange import Json, Request

from .compiled_file import CompiledFile, decompress
from .operation_checks import JSON, OperationChecker
from .related_reads import RelatedReads
from .schema_path import declared, is_unset, target
from .suggest_operation import OperationSuggester, misspelt_words

_KEPT: Final = (
    *("type", "enum", "const", "format", "pattern", "default", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
)
_DEPTH: Final = 3
_MOST_STEPS: Final = 8


def facts(checks: OperationChecker) -> dict[str, Json]:
    """Return `{required, properties}` of the body; of the query where there is no body."""
    schema, _ = checks.body_schema()
    if schema is not None:
        root = checks.root(schema)
        body = _object(root, root, _DEPTH)
        if body.get("properties"):
            return {"required": body.get("required", []), "properties": body["properties"]}
    if not checks.query:
        return {}
    root = checks.root({})
    return {
        "required": [parameter["name"] for parameter in checks.query if parameter.get("required")],
        "properties": {parameter["name"]: _of_parameter(parameter, root) for parameter in checks.query},
    }


def member_names(checks: OperationChecker) -> list[str]:
    """Return the names of the properties that `facts` has."""
    schema, _ = checks.body_schema()
    members = declared([checks.root(schema)], checks.root(schema)) if schema is not None else {}
    return list(members) or [parameter["name"] for parameter in checks.query]


def _of_parameter(parameter: Mapping[str, Any], root: Schema) -> dict[str, Json]:
    schema = _schema(parameter["schema"], root, _DEPTH - 1)
    return text_schema(schema) if parameter.get(JSON) else schema


def _object(schema: Schema, root: Schema, depth: int) -> dict[str, Json]:
    out: dict[str, Any] = {"type": "object"}
    required = [name for part in parts(schema, root, alternatives=False) for name in part.get("required", ())]
    if required:
        out["required"] = sorted(set(required))
    members = declared([schema], root) if depth else {}
    if members:
        out["properties"] = {name: _schema(inner, root, depth - 1) for name, inner in members.items()}
    return out


def _schema(schema: Json, root: Schema, depth: int, inside: int = 0) -> dict[str, Json]:
    """Return the facts of a schema. Of alternatives the first is taken, with the types of all.

    `inside` counts steps into alternatives and elements: they are no deeper, but may lead back to where they began.
    """
    if not isinstance(schema, Mapping) or inside > _MOST_STEPS:
        return {}
    here = target(schema, root)
    alternatives = [target(inner, root) for key in ("anyOf", "oneOf") for inner in here.get(key) or ()]
    real = [inner for inner in alternatives if not is_unset(inner)]
    if real and "properties" not in here:
        types = list(dict.fromkeys(kind for inner in real for kind in _types(inner, root)))
        first = _schema(real[0], root, depth, inside + 1)
        return first if len(types) < 2 else {**first, "type": types}
    if any("properties" in part for part in parts(here, root)) or _types(here, root) == ["object"]:
        return _object(here, root, depth)
    out: dict[str, Json] = {}
    for part in parts(here, root, alternatives=False):
        out |= {key: part[key] for key in _KEPT if key in part and key not in out}
    if "enum" in out:
        out["enum"] = [value for value in out["enum"] if value not in ("", None)]
    if isinstance(out.get("type"), list):
        kinds = [kind for kind in out["type"] if kind != "null"]
        out["type"] = kinds[0] if len(kinds) == 1 else kinds
    if "items" in here and depth > 0:
        out["items"] = _schema(here["items"], root, depth, inside + 1)
    return out


def _types(schema: Schema, root: Schema) -> list[str]:
    for part in parts(schema, root, alternatives=False):
        kinds = part.get("type")
        if kinds is not None:
            return [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
        if "properties" in part:
            return ["object"]
    return []


_MOST_CHOICES: Final = 64


def vocabulary(checks: OperationChecker) -> Vocabulary:
    """Return the declared places of an operation, the outermost first."""
    root = checks.root({})
    listed: dict[Path, tuple[Json, ...]] = {}
    for place, parameters in (("query", checks.query), ("headers", checks.headers), ("path", checks.path)):
        for one in parameters:
            name = one["name"].lower() if place == "headers" else one["name"]
            listed |= dict(_inside((place, name), one["schema"], root, MOST))
    schema, _ = checks.body_schema()
    if schema is not None:
        listed |= dict(_inside(("body",), schema, checks.root(schema), MOST))
    return Vocabulary(tuple(listed), tuple((path, values) for path, values in listed.items() if values))


def _inside(path: Path, schema: Json, root: Schema, most: int) -> Iterator[tuple[Path, tuple[Json, ...]]]:
    """Yield a place and all below it with the values that each allows, level by level."""
    waiting = deque([(path, [schema])])
    while waiting and most > 0:
        here, schemas = waiting.popleft()
        most -= 1
        all_parts = [part for one in schemas for part in parts(one, root)]
        allowed = [value for part in all_parts for value in choices(part) if value is not None]
        yield here, tuple(allowed) if len(allowed) <= _MOST_CHOICES else ()
        if len(here) > DEEPEST:
            continue
        for name, inner in declared(schemas, root).items():
            if isinstance(inner, dict):
                waiting.append(((*here, name), [inner]))
        below = [
            part[key]
            for part in all_parts
            for key in ("items", "additionalProperties")
            if isinstance(part.get(key), dict)
        ]
        if below:
            waiting.append(((*here, ANY), below))


_KEPT_OPERATIONS = 64
"""How many operations stay compiled: some hundred kilobytes each."""


class Description:
    """A compiled description. Records of operations are read, and their schemas compiled, on first need."""

    def __init__(self, stored: CompiledFile, *bases: str) -> None:
        """`bases` are paths below which requests have all of its paths, too."""
        self._stored = stored
        self._bases = tuple(base for base in bases if base)
        self.title: str = stored.index["title"]
        self.version: str = stored.index["version"]
        self.problems: tuple[str, ...] = tuple(stored.index["problems"] or ())
        """What is formally wrong with the description, each with file and line, where that was looked at."""
        self.converted: str = stored.index.get("converted", "")
        """What the description was before it was converted to OpenAPI 3, empty where it was not."""
        self._last: tuple[tuple[Request, str, tuple[SchemaViolation, ...]], ...] = ()
        """The last results, of a request and of its repair: each error of one answer needs them, for its own place."""
        self._checks = functools.lru_cache(maxsize=_KEPT_OPERATIONS)(self._compiled)
        self._facts = functools.lru_cache(maxsize=_KEPT_OPERATIONS)(self._read_facts)
        self._vocabulary = functools.lru_cache(maxsize=_KEPT_OPERATIONS)(self._read_vocabulary)

    @functools.cached_property
    def operations(self) -> Operations:
        described = operations = Operations(self._stored.index["operations"])
        for base in self._bases:
            operations = operations.merged_with(described.with_prefix(base))
        return operations

    def schema_violations(self, request: Request, operation: str, at: str = "") -> tuple[SchemaViolation, ...]:
        """Return the violations of a request, misspelt names before missing members.

        `at`, a pointer that an error names, limits them to that place and below. An undeclared member there is then a
        violation even where the description allows undeclared members.
        """
        checks = self._checks(operation)
        if checks is None:
            return ()
        cached = next((entry for entry in self._last if entry[0] is request and entry[1] == operation), None)
        if cached is None:
            match = self.operations.find(request.method, request.path)
            values = match[1] if match is not None and match[0] == operation else {}
            violations = tuple(
                [self._or_misspelt_path(request, violation) for violation in checks.schema_violations(request, values)]
            )
            cached = (request, operation, violations)
        else:
            violations = cached[2]
        self._last = (cached, *[entry for entry in self._last if entry is not cached][:1])
        if not at:
            return violations
        about = tuple(
            violation for violation in violations if (violation.pointer == at or violation.pointer.startswith(f"{at}/"))
        )
        if not about and (misspelt := checks.misspelt(request, at)) is not None:
            return (misspelt,)
        return about

    def declared_place(self, request: Request, operation: str, pointer: str) -> DeclaredPlace:
        """Return what the description declares at a place of a request."""
        checks = self._checks(operation)
        return DeclaredPlace({}) if checks is None else checks.declared_place(request, pointer)

    def misspellings(self, request: Request, operation: str) -> tuple[SchemaViolation, ...]:
        """Return undeclared members, allowed as such, that are nearly called like a declared one that is not there."""
        checks = self._checks(operation)
        return () if checks is None else tuple(checks.misspellings(request))

    def misplaced_members(self, request: Request, operation: str) -> tuple[SchemaViolation, ...]:
        """Return undeclared members, allowed as such, that only an object beside them declares."""
        checks = self._checks(operation)
        return () if checks is None else tuple(checks.misplaced_members(request))

    def misspelt_words(self, request: Request, message: str) -> tuple[SchemaViolation, ...]:
        """Return the word of the query that a message is about and that is nearly called like a field.

        Fields are members of the bodies that the path takes, and what a parameter with a list of them allows.
        """
        if not request.query:
            return ()
        names: dict[str, None] = {}
        for method, path in itertools.product(("POST", "PUT", "PATCH"), (request.path, f"{request.path}/0")):
            match = self.operations.find(method, path)
            facts_of_body = self.facts(match[0]) if match is not None else {}
            members = facts_of_body.get("properties", {})
            for inner in (members, *(one.get("properties", {}) for one in members.values() if len(members) == 1)):
                names.update(dict.fromkeys(inner))
        match = self.operations.find(request.method, request.path)
        checks = self._checks(match[0]) if match is not None else None
        names.update(dict.fromkeys(checks.listed_words() if checks is not None else ()))
        return tuple(misspelt_words(request.query, tuple(names), message))

    def written_paths(self, method: str, path: str) -> SchemaViolation | None:
        """Return other paths of the same operation: below the servers' base paths, with or without the last slash."""
        return self._suggester.written_paths(method, path)

    def vocabulary(self, operation: str, body: Json = None) -> Vocabulary:
        """Return the names and closed choices that an operation declares; nothing where it is unknown."""
        return self._vocabulary(operation)

    def body_schemas(self, operation: str) -> Mapping[str, Json]:
        """Return the media types of an operation's body, in lower case, each with its schema."""
        checks = self._checks(operation)
        return {} if checks is None else checks.body_schemas

    def produced(self, operation: str) -> Sequence[str]:
        """Return the media types of an operation's documented successes, in lower case."""
        return tuple((self._stored.operation(operation) or {}).get("produces", ()))

    def facts(self, operation: str) -> Json:
        """Return `{required, properties}` of an operation's body, else of its query; `{}` where nothing is known."""
        return self._facts(operation)

    def checker(self, operation: str) -> OperationChecker | None:
        """Return what judges the requests of an operation, None where the description has no such operation."""
        return self._checks(operation)

    def declares(self, operation: str, name: str) -> bool:
        """Return whether an operation has a query parameter of this name, or takes any name."""
        checks = self._checks(operation)
        return checks is not None and checks.takes_query(name)

    def nearest_operation(self, request: Request) -> SchemaViolation | None:
        """Return near paths, or other methods of the same path, for a request that names no operation."""
        return self._suggester.nearest(request.method, request.path)

    def refusals(self, operation: str) -> dict[str, tuple[str, ...]]:
        """Return the documented statuses of refusals, each with the error codes that its schema lists."""
        record = self._stored.operation(operation) or {}
        lists = self._stored.index["codes"]
        return {
            status: () if place is None else tuple(lists[place]) for status, place in record.get("refusals", {}).items()
        }

    def _or_misspelt_path(self, request: Request, violation: SchemaViolation) -> SchemaViolation:
        """Take a parameter of the path that does not fit for a misspelt path, where another path is near."""
        if violation.pointer != "/path" or not isinstance(violation.value, str):
            return violation
        return self._suggester.alternatives(request.method, request.path, violation.value) or violation

    @functools.cached_property
    def related_reads(self) -> RelatedReads:
        """The reads that show the state which a refused call ran into."""
        return RelatedReads(self.operations, self._needs_query)

    def _needs_query(self, operation: str) -> bool:
        record = self._stored.operation(operation) or {}
        return any(one.get("required") and one["in"] != "path" for one in record.get("parameters", ()))

    @functools.cached_property
    def _suggester(self) -> OperationSuggester:
        return OperationSuggester(self.operations)

    def _compiled(self, operation: str) -> OperationChecker | None:
        record: Mapping[str, Any] | None = self._stored.operation(operation)
        if record is None:
            return None
        return OperationChecker(record, {f"s{number}": self._stored.definition(number) for number in record["uses"]})

    def _read_vocabulary(self, operation: str) -> Vocabulary:
        checks = self._checks(operation)
        return NOTHING if checks is None else vocabulary(checks)

    def _read_facts(self, operation: str) -> Json:
        checks = self._checks(operation)
        return {} if checks is None else facts(checks)


def read(data: bytes) -> Description:
    """Read a description that `write` made. Raises NotCompiled where the bytes are something else."""
    return Description(CompiledFile(decompress(data)))
