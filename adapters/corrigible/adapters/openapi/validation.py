"""Formal errors of a description, found by openapi-spec-validator where it is installed (extra `spec`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote

from corrigible.rules.errors import AuthoringError, Place, did_you_mean
from corrigible.rules.language.yaml_source import Source, read_source
from corrigible.rules.pointer import MISSING, escape, resolve, to_pointer
from corrigible.schema.exchange import Json

from .source_files import SourceFiles, is_swagger2

Trail = tuple[str | int, ...]

_OF_NAMES: Final = frozenset(
    {
        *("properties", "patternProperties", "schemas", "$defs", "definitions", "responses", "parameters", "headers"),
        *("callbacks", "links", "paths", "examples", "requestBodies", "securitySchemes", "dependentSchemas", "content"),
        *("variables", "encoding", "pathItems", "webhooks"),
    }
)
"""Members whose own members are names that an author chose."""
_DATA: Final = frozenset({"example", "value", "default", "enum", "const", "mapping"})
"""Members that hold values: a `$ref` in them is no reference."""


class BrokenReference(NamedTuple):
    """A `$ref` that cannot be followed."""

    file: Path
    trail: Trail
    """The members and indexes that lead to the object with the `$ref`."""
    problem: str

    @property
    def pointer(self) -> str:
        return to_pointer(list(map(str, self.trail)))


def broken_references(files: SourceFiles) -> list[BrokenReference]:
    """Return the `$ref`s that lead nowhere or to what is never read, of a description and all that it refers to."""
    broken: list[BrokenReference] = []
    waiting, seen = [files.path], {files.path}
    while waiting:
        file = waiting.pop(0)
        document = _document(files, file)
        for trail, reference in references(document):
            place, _, fragment = reference.partition("#")
            target = file
            if place:
                if not files.may_read(place, file):
                    problem = f"$ref {reference}: not read: only files in the description's folder or below are"
                    broken.append(BrokenReference(file, trail, problem))
                    continue
                target = file.parent / unquote(place)
            if problem := _problem(files, target, unquote(fragment), reference):
                broken.append(BrokenReference(file, trail, problem))
            elif target not in seen:
                seen.add(target)
                waiting.append(target)
    return broken


def references(document: Json) -> Iterator[tuple[Trail, str]]:
    """Yield each `$ref` of a document with the trail to the object that has it, in the order of the document."""
    waiting: list[tuple[Trail, Json, bool]] = [((), document, False)]
    while waiting:
        trail, node, has_names = waiting.pop()
        below: list[tuple[Trail, Json, bool]] = []
        if isinstance(node, Mapping):
            if not has_names and isinstance(reference := node.get("$ref"), str):
                yield trail, reference
            for name, inner in node.items():
                if has_names or not (name in _DATA or str(name).startswith("x-")):
                    below.append(((*trail, name), inner, not has_names and name in _OF_NAMES))
        elif isinstance(node, list):
            below = [((*trail, index), inner, False) for index, inner in enumerate(node)]
        waiting += reversed(below)


def without_broken(document: Json, broken: list[BrokenReference], file: Path) -> Json:
    """Return a document in which nothing stands for each of its references that lead nowhere."""
    trails = {one.trail for one in broken if one.file == file}

    def copied(node: Json, trail: Trail) -> Json:
        if trail in trails:
            return {}
        if isinstance(node, Mapping):
            return {name: copied(inner, (*trail, name)) for name, inner in node.items()}
        return [copied(inner, (*trail, at)) for at, inner in enumerate(node)] if isinstance(node, list) else node

    return copied(document, ()) if trails else document


def _document(files: SourceFiles, file: Path) -> Json:
    return files.native if file == files.path else files.document_of(file)


def _problem(files: SourceFiles, file: Path, pointer: str, reference: str) -> str:
    """Return why a reference cannot be followed, empty where it can."""
    try:
        document = _document(files, file)
    except AuthoringError as problem:
        return f"$ref {reference}: {problem.problem}"
    if not pointer:
        return ""
    if not pointer.startswith("/"):
        return f"$ref {reference}: only JSON pointers (#/...) are followed"
    if resolve(document, pointer) is not MISSING:
        return ""
    around, _, name = pointer.rpartition("/")
    beside = resolve(document, around) if around else document
    names = [escape(str(one)) for one in beside] if isinstance(beside, Mapping) else []
    return f"$ref {reference} leads nowhere{did_you_mean(name, names)}"


_LARGEST: Final = 256 * 1024
"""Bytes: the check takes ten seconds on a large one."""
_MOST: Final = 10
_LONGEST: Final = 200
_MOST_REFERENCES: Final = 200
_LONGEST_WITH_LINES: Final = 2 << 20
"""Bytes: to find the lines of a larger file takes too long."""


def problems(files: SourceFiles) -> list[str] | None:
    """Return what is wrong, each with file, line and pointer; None where only references were looked at."""
    broken = broken_references(files)
    lines = _Lines()
    told = [lines.told(one.file, one.trail, one.problem) for one in broken[:_MOST_REFERENCES]]
    if len(broken) > _MOST_REFERENCES:
        told.append(f"{files.path}: {len(broken) - _MOST_REFERENCES} more such $refs")
    formal = _formal_errors(files, broken)
    if formal is None:
        return told or None
    return [*told, *(lines.told(files.path, trail, message) for trail, message in formal)]


def _formal_errors(files: SourceFiles, broken: list[BrokenReference]) -> list[tuple[Trail, str]] | None:
    """Return the errors of the description's own file, with their places; None where they were not looked for."""
    path, document = files.path, files.native
    if path.stat().st_size > _LARGEST or not isinstance(document, dict) or any(one.file != path for one in broken):
        return None
    try:
        from jsonschema_path import SchemaPath
        from openapi_spec_validator import OpenAPIV2SpecValidator, OpenAPIV30SpecValidator, OpenAPIV31SpecValidator
    except ImportError:
        return None
    of_3 = OpenAPIV30SpecValidator if str(document.get("openapi")).startswith("3.0") else OpenAPIV31SpecValidator
    of_version = OpenAPIV2SpecValidator if is_swagger2(document) else of_3
    try:
        # What a file that was read refers to is read by us as well, never by the library: it would fetch.
        handlers = dict.fromkeys(("<all_urls>", "http", "https", "file"), files.read)
        checked = without_broken(document, broken, path)  # it stops at the first reference that leads nowhere
        whole = SchemaPath.from_dict(checked, base_uri=path.resolve().as_uri(), handlers=handlers)
        missing, places = {one.trail for one in broken}, _Places(checked)
        errors = (
            (places.trail([*error.absolute_path], error.instance), error.message.partition("\n")[0])
            for error in of_version(whole).iter_errors()
        )
        return list(dict.fromkeys(islice((one for one in errors if one[0] not in missing), _MOST)))  # some come twice
    except Exception as problem:  # it stumbles over what it does not expect, and a warning is all it could give
        return [((), f"cannot be checked further: {type(problem).__name__}: {problem}")]


class _Places:
    """Finds where errors are: those inside schemas are told from the schema, not from the document."""

    def __init__(self, document: Json) -> None:
        self._document = document
        self._told: Counter[str] = Counter()

    def trail(self, told: Sequence[str | int], value: Json) -> Trail:
        """Return the place of an error about a value; of several that are told alike, one after the other."""
        if not told or resolve(self._document, to_pointer(list(map(str, told)))) is not MISSING:
            return _as_written(self._document, told)
        end = tuple(map(str, told))
        alike = [
            trail
            for trail, inner in _values(self._document)
            if tuple(map(str, trail[-len(end) :])) == end and inner == value
        ]
        key = f"{end} {value!r}"
        self._told[key] += 1
        return alike[(self._told[key] - 1) % len(alike)] if alike else ()


def _as_written(document: Json, told: Sequence[str | int]) -> Trail:
    """Return a trail with texts for members and numbers for elements: the library has numbers for `400`."""
    trail: list[str | int] = []
    for step in told:
        trail.append(int(step) if isinstance(document, list) else str(step))
        document = resolve(document, to_pointer([str(step)]))
    return tuple(trail)


def _values(document: Json) -> Iterator[tuple[Trail, Json]]:
    waiting: list[tuple[Trail, Json]] = [((), document)]
    while waiting:
        trail, node = waiting.pop()
        yield trail, node
        inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        waiting += reversed([((*trail, step), value) for step, value in inner])


class _Lines:
    """Finds the lines of places; each file is read once."""

    def __init__(self) -> None:
        self._sources: dict[Path, Source | None] = {}

    def told(self, file: Path, trail: Trail, message: str) -> str:
        """Return a message with file, line and pointer."""
        if file not in self._sources:
            self._sources[file] = self._source(file)
        source = self._sources[file]
        place: Place = Place(file, 0) if source is None else source.place(trail)
        pointer = to_pointer(list(map(str, trail)))
        return f"{place}: {pointer}: {_short(message)}" if pointer else f"{place}: {_short(message)}"

    def _source(self, file: Path) -> Source | None:
        try:
            # JSON is YAML, and this reader keeps lines
            return read_source(file) if file.stat().st_size <= _LONGEST_WITH_LINES else None
        except (AuthoringError, OSError):
            return None


def _short(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
