"""Where an exchange is not as the description says: one of the two is wrong, the description or the server.

Two judges of JSON have to agree, the schemas as they are compiled here and openapi-core: of what only one of them finds
nothing is said. A call is looked at where the API took it. No value of a body is in what is found: names of members are
those of the description, or look like names that programmers give.

Knows: descriptions, messages. Does not know: HTTP, who called, how often.
"""

from __future__ import annotations

import functools
import json
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from google.protobuf import message_factory
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from corrigible.adapters.openapi.load import load
from corrigible.adapters.openapi.schema_checks import SchemaChecker, Spot
from corrigible.adapters.openapi.schema_path import at, declared
from corrigible.adapters.openapi.schema_translator import Schemas
from corrigible.adapters.openapi.source_files import SourceFiles
from corrigible.adapters.protobuf.descriptors import load as load_descriptors
from corrigible.rules.pointer import resolve_segments, segments, to_pointer
from corrigible.rules.schema_repair.body import is_json
from corrigible.rules.schema_repair.json_schema import Schema, kind_of, parts, types
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Json, Request

_KINDS: Final = {"required": "missing", "type": "type", "additionalProperties": "undocumented_member"}
"""By keyword; of all others it is `value`."""
_OF_LENGTH: Final = frozenset({"minItems", "maxItems", "contains", "minContains", "maxContains", "uniqueItems"})
_MOST: Final = 64
"""What is found of one exchange."""
_ELEMENTS: Final = 8
"""Of each list that are looked at."""
_KEPT: Final = 64
"""Schemas of answers that stay compiled."""
_NAME: Final = re.compile(r"[A-Za-z_$@][A-Za-z_$.-]*[0-9]{0,3}")
_LONGEST: Final = 40
_MEDIA_TYPE: Final = re.compile(r"[\w.+-]{1,40}/[\w.+-]{1,60}")
_TEXTS: Final = {
    "required": "is missing, and described as required",
    **dict.fromkeys(("enum", "const"), "has a value that the description does not list"),
    **dict.fromkeys(("anyOf", "oneOf"), "has none of the described forms"),
    "additionalProperties": "is not described",
}


class Drift(NamedTuple):
    """One respect in which an exchange is not as described."""

    kind: str
    side: str
    """`call` or `answer`."""
    place: str
    """As programs write it, for all elements of a list: `items[].amount`. Empty for the whole."""
    text: str
    """A sentence without its end."""


def _drift(kind: str, side: str, place: str, text: str) -> Drift:
    return Drift(kind, side, place, f"`{place}` of the {side} {text}" if place else f"The {side} {text}")


class Judged(NamedTuple):
    operation: str
    drifts: Sequence[Drift]


class OpenApiJudge:
    """Judges exchanges by one description."""

    def __init__(self, path: Path, base: str = "") -> None:
        """Raises AuthoringError where it is none, ImportError without openapi-core."""
        from jsonschema_path import SchemaPath
        from openapi_core.validation import schemas

        self._files, self._description = SourceFiles(path), load(path, base=base)
        self._is_old = str(self._files.document.get("openapi")).startswith("3.0")
        self._checkers = functools.lru_cache(_KEPT)(self._compiled)
        handlers = dict.fromkeys(("<all_urls>", "http", "https", "file"), self._files.read)  # nothing is fetched
        self._whole: Any = SchemaPath.from_dict(
            self._files.document, base_uri=path.resolve().as_uri(), handlers=handlers
        )
        of_old = (schemas.oas30_read_schema_validators_factory, schemas.oas30_write_schema_validators_factory)
        factories = of_old if self._is_old else (schemas.oas31_schema_validators_factory,) * 2
        self._factories: Mapping[str, Any] = dict(zip(("answer", "call"), factories, strict=True))

    def judged(self, request: Request, status: int, media: str, body: bytes | None) -> Judged | None:
        """Return what is not as described, None where no operation is. A `body` of None is one that cannot be there."""
        match = self._description.operations.find(request.method, request.path)
        checks = self._description.checker(match[0]) if match is not None else None
        if match is None or checks is None:
            return None
        way = ("paths", checks.record["path"], checks.record["method"].lower())
        calls = self._of_call(way, request, match[0]) if 200 <= status < 300 else ()
        found = islice(chain(self._of_answer(way, status, media, body), calls), _MOST)
        return Judged(match[0], list(dict.fromkeys(found)))

    def _of_answer(self, way: tuple[str, ...], status: int, media: str, body: bytes | None) -> Iterator[Drift]:
        responses = self._reached((*way, "responses"))[0]
        keys = {str(one).upper(): one for one in responses}
        key = next((keys[one] for one in (str(status), f"{status // 100}XX", "DEFAULT") if one in keys), None)
        if key is None and keys:
            yield _drift("undocumented_status", "answer", "", f"has the status {status}, which is not described")
        content = self._reached((*way, "responses", key or "", "content"))[0]
        if body is None or not content:
            return  # the description does not speak of a body
        described = _described_media(content, media)
        if not body:
            yield _drift("missing", "answer", "", "has no body, and one is described")
        elif described is None:
            said = media if _MEDIA_TYPE.fullmatch(media) else "of its body"
            yield _drift("undocumented_media_type", "answer", "", f"has the type {said}, which is not described")
        elif is_json(media):
            try:
                value = json.loads(body)
            except (ValueError, RecursionError):
                yield _drift("type", "answer", "", "has a body that is not JSON")
            else:
                yield from self._of_body((*way, "responses", str(key), "content", described, "schema"), value, "answer")

    def _of_call(self, way: tuple[str, ...], request: Request, name: str) -> Iterator[Drift]:
        for one in self._description.schema_violations(request, name):
            part, *steps = segments(one.pointer) or [""]
            if part != "body" or request.form:
                yield _broken(one, "call", ".".join([part, *map(_written, steps)]))
        way = (*way, "requestBody", "content")
        media = str(request.headers.get("content-type", "")).partition(";")[0]
        described = _described_media(self._reached(way)[0], media)
        if described is not None and is_json(media):
            yield from self._of_body((*way, described, "schema"), request.body, "call")

    def _of_body(self, way: tuple[str, ...], body: Json, side: str) -> Iterator[Drift]:
        checker, value = self._checkers(way, side), _cut(body)
        if checker is None:
            return
        found = checker.schema_violations(value, functools.partial(_spot, value))
        said = self._second_places(way, value, side) if found else ()
        for one in found:
            steps = segments(one.pointer)
            if one.keyword not in _OF_LENGTH and _agree(steps, said):
                yield _broken(one, side, _place(steps, value, checker.schema, is_named=one.keyword == "required"))
        for path in _undocumented(value, checker.schema):
            place = _place(path, value, checker.schema, is_named=True)
            yield _drift("undocumented_member", side, place, _TEXTS["additionalProperties"])

    def _reached(self, way: Sequence[str]) -> tuple[Mapping[str, Any], Path]:
        """Return the object at the end of a way through the description, references resolved, and its file."""
        node: Json = self._files.document
        file = self._files.path
        for step in way:
            node, file = self._files.dereferenced(node.get(step) if isinstance(node, Mapping) else {}, file)
        return node if isinstance(node, Mapping) else {}, file

    def _compiled(self, way: tuple[str, ...], side: str) -> SchemaChecker | None:
        media, file = self._reached(way[:-1])
        hides = "writeOnly" if side == "answer" else "readOnly"
        schemas = Schemas(self._files, nullable=self._is_old, hides=hides, is_open=True)
        try:
            schema = schemas.translated(media.get("schema"), file)
            inner = schema if isinstance(schema, dict) else {}
            return SchemaChecker({**inner, "$defs": {f"s{at}": one for at, one in enumerate(schemas.definitions)}})
        except ValueError:
            return None

    def _second_places(self, way: Sequence[str], value: Json, side: str) -> Sequence[list[str]]:
        """Return the places at which a value breaks the schema at the end of a way, as openapi-core sees it."""
        try:
            schema = functools.reduce(operator.truediv, way, self._whole)
            errors = self._factories[side].create(self._whole, schema).validator.iter_errors(value)
            return [list(map(str, one.absolute_path)) for one in islice(errors, _MOST)]
        except Exception:  # what it cannot read it raises as anything
            return ()


def _spot(value: Json, path: Sequence[str | int]) -> Spot:
    steps = list(map(str, path))
    return Spot(to_pointer(steps), resolve_segments(value, steps))


def _agree(steps: Sequence[str], said: Sequence[list[str]]) -> bool:
    """Whether the second judge finds something at a place, around it or below."""
    return any(all(one == other for one, other in zip(steps, place, strict=False)) for place in said)


def _described_media(content: Mapping[str, Json], media: str) -> str | None:
    """Return the described media type that an answer's is: itself, else the narrowest range around it."""
    named = {str(one).partition(";")[0].strip().lower(): str(one) for one in content}
    ranges = sorted((one for one in named if "*" in one and fnmatchcase(media.lower(), one)), key=len, reverse=True)
    return next((named[one] for one in (media.lower(), *ranges) if one in named), None)


def _cut(value: Json) -> Json:
    """Return a value with the first elements of each list."""
    if isinstance(value, list):
        return [_cut(one) for one in value[:_ELEMENTS]]
    return {name: _cut(inner) for name, inner in value.items()} if isinstance(value, dict) else value


def _undocumented(value: Json, root: Schema) -> Iterator[list[str]]:
    """Yield the places of members that no schema of their object declares: where one does, and none allows others."""
    waiting: list[tuple[list[str], Json]] = [([], value)]
    while waiting:
        path, here = waiting.pop()
        schemas = at(root, path)
        names = declared(schemas, root) if isinstance(here, dict) else {}
        is_closed = bool(names) and not any(_takes_any(part) for one in schemas for part in parts(one, root))
        members = here.items() if isinstance(here, dict) else enumerate(here) if isinstance(here, list) else ()
        for name, inner in members:
            if is_closed and name not in names:
                yield [*path, str(name)]
            else:
                waiting.append(([*path, str(name)], inner))


_OF_OTHERS: Final = ("additionalProperties", "patternProperties", "unevaluatedProperties")
_FURTHER: Final = ("properties", "$ref", "allOf", "anyOf", "oneOf")


def _takes_any(part: Schema) -> bool:
    """Whether a schema says of an object that it may have further members, or says nothing of its members."""
    if any(part.get(key, False) is not False for key in _OF_OTHERS):
        return True
    return not any(key in part for key in _FURTHER) and ("type" not in part or "object" in types(part))


def _place(steps: Sequence[str], value: Json, root: Schema, *, is_named: bool) -> str:
    """Return a place as programs write it. The name in a map is the caller's own, and becomes `*`.

    `is_named`: the last name is one that the description requires, or that a program gave.
    """
    written = ""
    for index, step in enumerate(steps):
        if isinstance(resolve_segments(value, list(steps[:index])), list):
            written += "[]"
        elif (is_named and index == len(steps) - 1) or step in declared(at(root, steps[:index]), root):
            written += f".{_written(step)}"
        else:
            written += ".*"
    return written.lstrip(".")


def _written(name: str) -> str:
    return name if len(name) <= _LONGEST and _NAME.fullmatch(name) else "*"


def _broken(violation: SchemaViolation, side: str, place: str) -> Drift:
    keyword, schema = violation.keyword, violation.schema
    text = _TEXTS.get(keyword) or f"is not as described: {schema.get('format') if keyword == 'format' else keyword}"
    if keyword == "type":
        text = f"is {kind_of(violation.value)}, and described as {' or '.join(sorted(types(schema)))}"
    return _drift(_KINDS.get(keyword, "value"), side, place, text)


class ProtobufJudge:
    """Judges calls of methods that take one message and give one, by descriptors."""

    def __init__(self, path: Path) -> None:
        """Raises AuthoringError where they are none."""
        self._methods = load_descriptors(path).methods

    def judged(self, call: tuple[str, bytes, bytes]) -> Judged:
        """Return in what request and answer of a method are not as described."""
        method, request, answer = call
        kinds = self._methods[method]
        messages = ((kinds.response_type, answer, "answer"), (kinds.request_type, request, "call"))
        found = islice(chain.from_iterable(_of_message(*one) for one in messages), _MOST)
        return Judged(method[1:], list(dict.fromkeys(found)))


def _of_message(kind: Any, data: bytes, side: str) -> Iterator[Drift]:
    try:
        waiting = [("", message_factory.GetMessageClass(kind).FromString(data))]
    except DecodeError:
        yield _drift("type", side, "", f"is no message of the type {kind.full_name}")
        return
    while waiting:
        place, here = waiting.pop()
        unknown: Any = UnknownFieldSet(here)
        for field in unknown:  # a field of another type is taken for unknown, too
            known = here.DESCRIPTOR.fields_by_number.get(field.field_number)
            name = f"{place}{known.name if known is not None else field.field_number}"
            kinds = ("undocumented_member", "is not described") if known is None else ("type", "is of another type")
            yield _drift(kinds[0], side, name, kinds[1])
        for known, value in here.ListFields():
            is_map = known.message_type is not None and known.message_type.GetOptions().map_entry
            values = [value] if not known.is_repeated else [] if is_map else [*value][:_ELEMENTS]
            name = f"{place}{known.name}{'[]' if known.is_repeated else ''}"
            if known.enum_type is not None and any(one not in known.enum_type.values_by_number for one in values):
                yield _drift("value", side, name, _TEXTS["enum"])
            elif known.message_type is not None:
                waiting += [(f"{name}.", one) for one in values]
