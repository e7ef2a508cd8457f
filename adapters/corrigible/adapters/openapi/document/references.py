"""The `$ref`s of a description that lead nowhere, each with its place.

Knows: where OpenAPI has references, and where a `$ref` is data. Does not know: lines, what else is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote

from corrigible.rules.errors import AuthoringError, suggest_spelling
from corrigible.rules.pointer import MISSING, escape, resolve, to_pointer
from corrigible.schema.exchange import Json

from .source_files import SourceFiles

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
    return f"$ref {reference} leads nowhere{suggest_spelling(name, names)}"
