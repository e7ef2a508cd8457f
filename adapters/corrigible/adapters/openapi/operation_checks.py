"""One operation's constraints, compiled, and what a request breaks of them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from corrigible.rules.budget import spend
from corrigible.rules.pointer import MISSING, escape, resolve, resolve_segments, segments, to_pointer, value_at
from corrigible.rules.safety.json_text import repaired_json
from corrigible.rules.safety.nearness import in_brackets, is_same, is_slip, nearest
from corrigible.rules.schema_repair.body import CONTENT, text_schema
from corrigible.rules.schema_repair.json_schema import Schema, all_types, choices, parts, read
from corrigible.rules.schema_repair.levels import REQUIRED
from corrigible.rules.schema_repair.schema_violation import DeclaredPlace, Place, SchemaViolation
from corrigible.rules.schema_repair.values import repair_value
from corrigible.schema.document import parameter_segments
from corrigible.schema.exchange import Json, Request

from .schema_checks import Path, SchemaChecker, Spot
from .schema_path import declared, small

JSON: Final = "json"
"""In the place of a delimiter: the value was sent as JSON text."""
_DELIMITERS: Final = {"form": ",", "spaceDelimited": " ", "pipeDelimited": "|"}


class Sent(NamedTuple):
    """One declared parameter as it was sent."""

    value: Json
    """Of the type of its schema."""
    names: Mapping[str, str]
    """From a place inside the value (`/gte`) to the name it was sent by (`created[gte]`)."""
    joined: str = ""
    """The delimiter of the elements, where they were sent as one text."""
    text: Json = MISSING
    """What was sent, where it is JSON text."""
    is_valid: bool = True
    """False where the text is nearly JSON: `value` is what it holds."""
    head: str = ""
    """The name before the brackets, where an object was sent as `created[gte]`."""


def query_object(
    query: Mapping[str, Json], declared: Sequence[Mapping[str, Any]], root: Schema
) -> tuple[dict[str, Sent], list[str]]:
    """Return the declared parameters that were sent, and the names sent that are none of them."""
    left = dict(query)
    sent: dict[str, Sent] = {}
    spend(len(left) + len(declared))
    heads: dict[str, list[str]] = {}
    """The names sent with brackets, by the part before the brackets."""
    for name in left:
        head, bracket, _ = name.partition("[")
        if bracket:
            heads.setdefault(head, []).append(name)
    for one in declared:
        parameter = _sent(one, left, heads, root)
        if parameter is not None:
            sent[one["name"]] = parameter
    if not left:
        return sent, []
    free = {
        name
        for parameter in declared
        if parameter.get("explode", True) and parameter.get("style", "form") == "form"
        for part in parts(parameter["schema"], root)
        for name in part.get("properties", ())
    }
    return sent, [name for name in left if name not in free]


def delimiter_of(parameter: Mapping[str, Any]) -> str:
    """Return what separates the elements of a list in one text; empty where each is sent by itself."""
    style = parameter.get("style", "form")
    joined = style != "form" or parameter.get("explode") is False
    return _DELIMITERS.get(style, ",") if joined else ""


def _sent(
    parameter: Mapping[str, Any], left: dict[str, Json], heads: Mapping[str, list[str]], root: Schema
) -> Sent | None:
    name, schema = parameter["name"], parameter["schema"]
    style = parameter.get("style", "form")
    head = name.removesuffix("[]")
    bracketed = heads.get(head, ())
    if style == "deepObject" or head != name or any(sent in left for sent in bracketed):
        inside = {sent: left[sent] for sent in bracketed if sent in left and sent not in (name, head)}
        if inside or (name.endswith("[]") and name in left):
            return _bracketed(head, {**inside, **({name: left[name]} if name in left else {})}, left, schema, root)
    if name not in left:
        return None
    value = left.pop(name)
    place = {"": name}
    if parameter.get(JSON):
        return _json(value, place)
    if parameter.get("allowEmptyValue") and value == "":
        return Sent(MISSING, place)
    if "array" in all_types(schema, root) and isinstance(value, str):
        delimiter = delimiter_of(parameter) or ("," if _names_choices(value, schema, root) else "")
        if delimiter and delimiter in value:
            return Sent(read(value.split(delimiter), [schema], root), place, delimiter)
        return Sent(read(value, [schema], root, single=style != "deepObject"), place)
    return Sent(read(value, [schema], root), place)


def _names_choices(text: str, schema: Schema, root: Schema) -> bool:
    """Whether a text lists values of a closed list with commas, one of them wrong.

    Many servers split such a text, though their description says that each element is sent by itself.
    """
    if "," not in text:
        return False
    choices = {
        str(choice)
        for part in parts(schema, root)
        if isinstance(part.get("items"), dict)
        for item in parts(part["items"], root)
        for choice in item.get("enum", ())
    }
    known = [element in choices for element in text.split(",")]
    return any(known) and not all(known) and not any("," in choice for choice in choices)


def _json(value: Json, place: Mapping[str, str]) -> Sent:
    """Read a value that is sent as JSON text; what is not even nearly JSON stays text."""
    if not isinstance(value, str):
        return Sent(value, place, JSON, value)
    try:
        return Sent(orjson.loads(value), place, JSON, value)
    except orjson.JSONDecodeError:
        held = repaired_json(value)
        is_read = isinstance(held, dict | list)
        return Sent(held if is_read else value, place, JSON, value, is_valid=not is_read)


def _bracketed(head: str, inside: Mapping[str, Json], left: dict[str, Json], schema: Json, root: Schema) -> Sent:
    """Read `created[gte]=1`, `expand[]=a` and `expand[0]=a`."""
    array = "array" in all_types(schema, root)
    out: Any = [] if array else {}
    names: dict[str, str] = {"": next(iter(inside))}
    for sent, value in inside.items():
        left.pop(sent, None)
        segments = parameter_segments(sent)[1:]
        if array:
            for element in value if isinstance(value, list) else [value]:
                names[f"/{len(out)}"] = sent
                out.append(element)
            continue
        node = out
        for part in segments[:-1]:
            node = node.setdefault(part, {}) if isinstance(node, dict) else {}
        if isinstance(node, dict) and segments:
            node[segments[-1]] = value
        names[to_pointer(segments)] = sent
    return Sent(read(out, [schema], root), names, head="" if array else head)


def query_locate(query: Mapping[str, Json], sent: Mapping[str, Sent], path: Path) -> Spot:
    """Return the place in the request document of a place inside the declared parameters."""
    if not path:
        return Spot("/query", dict(query))
    name = str(path[0])
    parameter = sent.get(name)
    if parameter is None:
        return Spot(f"/query/{escape(name)}", query.get(name, MISSING))
    rest = list(path[1:])
    if parameter.joined == JSON and isinstance(parameter.text, str) and parameter.value is not parameter.text:
        inside = to_pointer(rest)
        return Spot(f"/query/{escape(parameter.names[''])}{inside}", resolve(parameter.value, inside))
    wire_name = parameter.head + "".join(f"[{part}]" for part in rest)
    if parameter.head and rest and (resolve(parameter.value, to_pointer(rest)) is MISSING) and wire_name not in query:
        return Spot(f"/query/{escape(wire_name)}", MISSING)
    while True:
        place = to_pointer(rest)
        if place in parameter.names:
            used = parameter.names[place]
            break
        if not rest:
            used = name
            break
        rest.pop()
    pointer = f"/query/{escape(used)}"
    further = to_pointer(path[1 + len(rest) :])
    inner = resolve(query.get(used), further) if further else MISSING
    if inner is not MISSING:
        return Spot(pointer + further, inner)
    if isinstance(query.get(used), list) and path[1:] and str(path[-1]).isdecimal():
        listed, index = query[used], int(path[-1])
        if index < len(listed):
            return Spot(f"{pointer}/{index}", listed[index])
    return Spot(pointer, query.get(used, MISSING))


_NOT_CHECKED: Final = frozenset({"accept", "content-type", "authorization"})
_PREFERENCES: Final = "prefer"
"""RFC 7240 section 2: preferences that a server does not know are ignored, so no value of it is wrong."""
_CREDENTIAL: Final = re.compile(
    r"auth|cookie|secret|password|signature|credential|(?:api|private|access|csrf)[-_]?(?:key|token)|-token$"
)
_MOST_UNKNOWN: Final = 64
_OF_NAMES: Final = ("additionalProperties", "unevaluatedProperties", "required")
_FORM: Final = "application/x-www-form-urlencoded"


class OperationChecker:
    """Checks the requests of one operation. Schemas are compiled on first need."""

    def __init__(self, record: Mapping[str, Any], definitions: Mapping[str, Json]) -> None:
        self.record = record
        self._definitions = definitions
        self._checkers: dict[str, SchemaChecker | None] = {}
        by_place: dict[str, list[Mapping[str, Any]]] = {"path": [], "query": [], "header": []}
        for one in record.get("parameters", ()):
            by_place[one["in"]].append(one)
        self.path, self.query, self.headers = by_place["path"], by_place["query"], by_place["header"]
        self._requires_query = any(one.get("required") for one in self.query)

    def schema_violations(self, request: Request, values: Mapping[str, str]) -> Iterator[SchemaViolation]:
        """Yield what a request breaks; `values` are its path parameters."""
        yield from self._of_path(values)
        yield from self._of_query(request)
        yield from self._of_headers(request)
        yield from self._of_body(request)

    def misspelt(self, request: Request, pointer: str) -> SchemaViolation | None:
        """Return the violation of an undeclared member at a pointer, whether or not the description allows it."""
        place, *path = segments(pointer)
        if value_at(request, pointer) is MISSING:
            return None
        if place == "body" and path and (checker := self._body_checker(request)) is not None:
            return checker.misspelt(path, lambda where: _in_body(request, where))
        if place == "query" and len(path) == 1:
            names = tuple(one["name"] for one in self.query)
            if names and path[0].partition("[")[0] not in {name.partition("[")[0] for name in names}:
                return self._unknown_parameter(request, path[0], names)
        return None

    def takes_query(self, name: str) -> bool:
        """Return whether a query parameter of this name is declared, or one whose members are sent by any name."""
        if any(one["name"] == name for one in self.query):
            return True
        root = self.root({})
        free = (one for one in self.query if one.get("explode", True) and one.get("style", "form") == "form")
        return any(
            name in part.get("properties", ()) or part.get("additionalProperties", False) is not False
            for one in free
            for part in parts(one["schema"], root)
        )

    def listed_words(self) -> Iterator[str]:
        """Yield the values of parameters that take a list of some of them, such as the fields to return."""
        root = self.root({})
        for one in self.query:
            for part in parts(one["schema"], root):
                yield from (value for value in choices(part.get("items") or {}) if isinstance(value, str))

    def declared_place(self, request: Request, pointer: str) -> DeclaredPlace:
        """Return what is declared at a place of the body, or of a parameter of the query or a header."""
        place, *path = segments(pointer)
        if place == "body" and (checker := self._body_checker(request)) is not None:
            return checker.declared_place(path)
        listed = {"query": self.query, "headers": self.headers}.get(place, [])
        root = self.root({})
        if not path or not listed:
            return DeclaredPlace({})
        name = path[0].lower() if place == "headers" else path[0]
        known = {one["name"].lower() if place == "headers" else one["name"]: one for one in listed}
        schema = small(known[name]["schema"], root) if name in known and len(path) == 1 else {}
        if schema and known[name].get(JSON):
            schema = text_schema(schema)
        closed = {
            "type": "object",
            "properties": {one: small(known[one]["schema"], root, 1) for one in known},
            "additionalProperties": False,
            REQUIRED: [one for one in known if known[one].get("required")],
        }
        return DeclaredPlace(schema, tuple(known), closed)

    def misspellings(self, request: Request) -> Iterator[SchemaViolation]:
        """Yield undeclared members, allowed as such, that are nearly called like a declared one that is not there."""
        checker = self._body_checker(request)
        if checker is not None and isinstance(request.body, Mapping | list):
            yield from checker.misspellings(request.body, lambda path: _in_body(request, path))

    def misplaced_members(self, request: Request) -> Iterator[SchemaViolation]:
        """Yield undeclared members, allowed as such, that only an object beside them declares."""
        checker = self._body_checker(request)
        if checker is not None and isinstance(request.body, Mapping | list):
            yield from checker.misplaced_members(request.body, lambda path: _in_body(request, path))

    def body_schema(self, request: Request | None = None) -> tuple[Json, Mapping[str, Any]]:
        """Return the schema of the body a request has, or of the usual one, and how its members are encoded."""
        media: Mapping[str, Any] = self.record.get("body", {}).get("media", {})
        documented = media.get(_media(media, request) or "")
        return (None, {}) if documented is None else (documented["schema"], documented.get("encoding", {}))

    @functools.cached_property
    def body_schemas(self) -> Mapping[str, Json]:
        """The documented media types, each with its self-contained schema."""
        media: Mapping[str, Any] = self.record.get("body", {}).get("media", {})
        return {name: self.root(documented["schema"]) for name, documented in media.items()}

    def root(self, schema: Json) -> dict[str, Json]:
        """Return a schema with all it refers to."""
        inner = schema if isinstance(schema, dict) else {} if schema is not False else {"not": {}}
        return {**inner, "$defs": self._definitions} if self._definitions else dict(inner)

    def compiles(self, name: str, schema: Json) -> bool:
        """Whether a schema can be judged by; `name` is its part of the request."""
        return self._checker(name, schema) is not None

    def _checker(self, name: str, schema: Json) -> SchemaChecker | None:
        if name not in self._checkers:
            try:
                self._checkers[name] = SchemaChecker(self.root(schema))
            except ValueError:
                self._checkers[name] = None  # a schema that cannot be compiled refuses nothing
        return self._checkers[name]

    def _of_path(self, values: Mapping[str, str]) -> Iterator[SchemaViolation]:
        for one in self.path:
            text = values.get(one["name"])
            if text is not None and one.get("style", "simple") == "simple":
                yield from self._of_text(f"path {one['name']}", one["schema"], Spot("/path", text))

    def _of_text(self, name: str, schema: Json, spot: Spot) -> Iterator[SchemaViolation]:
        """Yield what the text of a parameter breaks; commas join the elements of an array."""
        checker = self._checker(name, schema)
        if checker is not None:
            value = spot.value.split(",") if "array" in all_types(schema, checker.schema) else spot.value
            yield from checker.schema_violations(read(value, [schema], checker.schema), lambda _: spot)

    def _of_query(self, request: Request) -> Iterator[SchemaViolation]:
        if not request.query and not self._requires_query:
            return
        checker = self._query_checker
        if checker is None:
            return
        names = tuple([one["name"] for one in self.query])
        sent, unknown = query_object(request.query, self.query, checker.schema)
        instance = {name: parameter.value for name, parameter in sent.items() if parameter.value is not MISSING}
        absent = [name for name in names if name not in sent]
        inside = [one for one in absent if "[" in one.removesuffix("[]")]
        bracketed = [*inside, *self._inside(absent, checker.schema)]
        absent = [one for one in absent if one not in inside]
        for name in unknown[:_MOST_UNKNOWN]:
            head, bracket, _ = name.partition("[")
            if meant := in_brackets(name, bracketed):
                yield self._unknown_parameter(request, name, (meant,))
                continue
            near = nearest(name, bracketed) if bracketed else []
            if len(near) == 1 and (is_same(name, near[0]) or (bracket and is_slip(name, near[0]))):
                yield self._unknown_parameter(request, name, (near[0],))
                continue
            near = nearest(head, absent)
            if len(near) == 1:
                ending = name[len(head) :] if bracket else ""
                yield self._unknown_parameter(request, name, tuple(one + ending for one in names))
        in_texts: dict[str, list[SchemaViolation]] = {
            name: [] for name, parameter in sent.items() if not parameter.is_valid
        }
        empty = {name for name, parameter in sent.items() if parameter.value is MISSING}
        for violation in checker.schema_violations(instance, lambda path: query_locate(request.query, sent, path)):
            name = segments(violation.pointer)[1] if violation.pointer.count("/") > 1 else ""
            if violation.keyword == "required" and name in empty:
                continue
            parameter = sent.get(name) or sent.get(name.partition("[")[0])
            if parameter is not None and parameter.joined == JSON:
                in_texts.setdefault(name, []).append(violation)
                continue
            yield _rejoined(violation, parameter, checker)
        for name, violations in in_texts.items():
            yield _of_json_text(name, sent[name], violations, checker)

    @functools.cached_property
    def _query_checker(self) -> SchemaChecker | None:
        schema = {
            "type": "object",
            "properties": {one["name"]: one["schema"] for one in self.query if not one.get("opaque")},
            "required": [one["name"] for one in self.query if one.get("required")],
        }
        return self._checker("query", schema)

    def _inside(self, names: Sequence[str], root: Schema) -> Iterator[str]:
        """Yield the members of parameters that are sent as `created[gte]`."""
        for one in self.query:
            if one["name"] in names and one.get("style") == "deepObject":
                yield from (f"{one['name']}[{inner}]" for inner in declared([one["schema"]], root))

    def _unknown_parameter(self, request: Request, name: str, names: tuple[str, ...]) -> SchemaViolation:
        root = self.root({})
        schema = {
            "type": "object",
            "properties": {one["name"]: small(one["schema"], root, 1) for one in self.query},
            "additionalProperties": False,
        }
        return SchemaViolation(
            f"/query/{escape(name)}", "additionalProperties", schema, request.query.get(name, MISSING), names
        )

    def _of_headers(self, request: Request) -> Iterator[SchemaViolation]:
        for one in self.headers:
            name = one["name"].lower()
            if is_credential(name):
                continue
            pointer, text = f"/headers/{escape(name)}", request.headers.get(name)
            if text is None and one.get("required"):
                yield SchemaViolation(pointer, "required", small(one["schema"], self.root({})))
            elif text is not None and name != _PREFERENCES and not one.get("json") and not one.get("opaque"):
                yield from self._of_text(f"header {name}", one["schema"], Spot(pointer, text))

    def _body_checker(self, request: Request) -> SchemaChecker | None:
        return self._body_content(request)[0]

    def _body_content(self, request: Request) -> tuple[SchemaChecker | None, Mapping[str, Any]]:
        """Return what checks the body that a request has, and what is documented of its media type."""
        media: Mapping[str, Any] = self.record.get("body", {}).get("media", {})
        chosen = _media(media, request)
        return (
            (None, {}) if chosen is None else (self._checker(f"body {chosen}", media[chosen]["schema"]), media[chosen])
        )

    def _of_body(self, request: Request) -> Iterator[SchemaViolation]:
        checker, documented = self._body_content(request)
        if checker is None:
            return
        body = request.body
        if body is None:
            needed = any(part.get("required") for part in parts(checker.schema, checker.schema, alternatives=False))
            if needed or self.record["body"].get("required"):
                yield SchemaViolation("/body", "required", small(checker.schema, checker.schema))
            return
        if isinstance(body, str) and "string" not in all_types(checker.schema, checker.schema):
            return  # text that could not be decoded: what it would be is not known
        if request.form:
            body = _form(body, checker, documented.get("encoding", {}))
        for violation in checker.schema_violations(body, lambda path: _in_body(request, path)):
            if violation.keyword in _OF_NAMES or not (
                bool(request.files) and not request.files.isdisjoint(segments(violation.pointer)[1:2])
            ):
                yield violation  # the content of a file is not at hand


def is_credential(header: str) -> bool:
    """Whether a header, in lower case, is never judged: a credential, or one that describes the body."""
    return header in _NOT_CHECKED or _CREDENTIAL.search(header) is not None


def _media(media: Mapping[str, Any], request: Request | None) -> str | None:
    """Return the documented media type whose schema a request's body is checked against."""
    content_type = "" if request is None else request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request is not None and request.form:
        kind = content_type or _FORM
        return kind if kind in media else None
    if content_type in media:
        return content_type
    if "patch+json" in content_type or (content_type and "json" not in content_type and "yaml" not in content_type):
        return None  # another format than any that is documented
    usual = [name for name in media if name == "application/json"] or [name for name in media if name.endswith("+json")]
    usual = usual or [name for name in media if name in ("*/*", "application/*")]
    if not usual and request is None:
        usual = list(media)
    return next((name for name in usual if "patch+json" not in name or request is None), None)


def _form(body: Json, checker: SchemaChecker, encoding: Mapping[str, Any]) -> Json:
    if not isinstance(body, dict):
        return body
    return {
        name: value
        if name in checker.any_text and isinstance(value, str)
        else read(value, checker.member(name), checker.schema, single=_is_single(encoding.get(name)))
        for name, value in body.items()
    }


def _is_single(encoding: Mapping[str, Any] | None) -> bool:
    """Whether one text in the place of an array is an array of one."""
    return encoding is None or encoding.get("style") != "deepObject"


def _in_body(request: Request, path: Path) -> Spot:
    """Return the place of a part of the checked body; what was read out of one text has the place of the text."""
    here = [str(step) for step in path]
    value = resolve_segments(request.body, here)
    while value is MISSING and here:
        around = resolve_segments(request.body, here[:-1])
        if around is not MISSING and not isinstance(around, str):
            break
        here.pop()
        value = around
    return Spot("/body" + to_pointer(here), value)


def _rejoined(violation: SchemaViolation, sent: Sent | None, checker: SchemaChecker) -> SchemaViolation:
    """Turn a violation inside a text into one of the text: for a wrong element of `a,b,c`, list the fitting texts.

    Members of an object that was sent as `created[gte]` are named like that.
    """
    if sent is not None and sent.head and violation.keyword == "additionalProperties":
        outside, bracket, _ = segments(violation.pointer)[1].rpartition("[")
        return violation._replace(siblings=tuple(f"{outside}[{one}]" for one in violation.siblings if bracket))
    if sent is None or not sent.joined:
        return violation
    name = segments(violation.pointer)[1]
    if violation.pointer.count("/") != 2 or not isinstance(violation.value, str):
        return violation
    listed, choices = violation.value.split(sent.joined), violation.schema.get("enum", [violation.schema.get("const")])
    wrong = [index for index, element in enumerate(listed) if element not in map(str, choices)]
    if violation.keyword not in ("enum", "const") or len(wrong) != 1:
        return violation._replace(keyword="items", schema=small(checker.schema["properties"][name], checker.schema))
    left = [str(choice) for choice in choices if str(choice) not in listed]
    # Nearness is that of the element: whole texts are alike, whatever one of their elements is.
    near = repair_value("enum", listed[wrong[0]], {"enum": left}, Place())
    if not near:
        return violation._replace(keyword="items", schema=small(checker.schema["properties"][name], checker.schema))
    whole = [sent.joined.join([*listed[: wrong[0]], str(one.value), *listed[wrong[0] + 1 :]]) for one in near]
    return violation._replace(keyword="enum", schema={"type": "string", "enum": whole})


def _of_json_text(
    name: str, sent: Sent, violations: Sequence[SchemaViolation], checker: SchemaChecker
) -> SchemaViolation:
    """Return the violations inside a parameter that is sent as JSON text as one of the text."""
    place = f"/query/{escape(sent.names[''])}"
    inside = []
    for violation in violations if sent.value is not sent.text else ():
        rest = violation.pointer.removeprefix(place)
        outer = violation.outer_schema if rest.count("/") > 1 else None
        inside.append(violation._replace(pointer=f"/body{rest}", outer_schema=outer))
    schema = text_schema(small(checker.schema["properties"][name], checker.schema))
    return SchemaViolation(place, CONTENT, schema, sent.text, inside=tuple(inside))
