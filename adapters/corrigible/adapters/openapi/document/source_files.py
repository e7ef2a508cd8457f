"""The files of an OpenAPI description, JSON or YAML, and what their `$ref`s point to."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import orjson

from corrigible.rules.errors import AuthoringError, Place
from corrigible.rules.pointer import MISSING, resolve
from corrigible.schema.exchange import Json

from .swagger2 import as_openapi, is_swagger2
from .yaml12 import DEEPEST, read_yaml

_LONGEST_CHAIN = 32


class Found(NamedTuple):
    """A value and its place: references inside it start from that file."""

    value: Json
    file: Path
    pointer: str


class SourceFiles:
    """The description's own file, and those in its folder or below that it refers to.

    Nothing is ever fetched, and no file elsewhere is read: a description may come from a stranger, and what it refers
    to would appear in suggestions.
    """

    def __init__(self, path: Path) -> None:
        """Read the description. Raises AuthoringError with file and line."""
        self.path = path
        self._read: dict[Path, Json] = {}
        self._folder = path.resolve().parent
        self.native = self._document(path)
        """The first document as it is written."""
        self.document = self.native
        """As OpenAPI 3: references lead into this one."""
        if is_swagger2(self.native):
            self.document = self._read[path] = as_openapi(self.native, lambda value: self.dereferenced(value, path)[0])

    def digests(self) -> dict[str, str]:
        """Return the further files that were read, relative to the first, and what was in them."""
        return {os.path.relpath(file, self.path.parent): digest(file) for file in self._read if file != self.path}

    def find(self, reference: Json, file: Path) -> Found | None:
        """Return what a `$ref` points to, through further references; None where it leads nowhere."""
        for _ in range(_LONGEST_CHAIN):
            if not isinstance(reference, str):
                return None
            place, _, fragment = reference.partition("#")
            if place:
                if not self.may_read(place, file):
                    return None
                file = file.parent / unquote(place)
            pointer = unquote(fragment)
            value = self._at(file, pointer)
            if value is MISSING:
                return None
            if not (isinstance(value, Mapping) and "$ref" in value and len(value) == 1):
                return Found(value, file, pointer)
            reference = value["$ref"]
        return None

    def may_read(self, place: str, file: Path) -> bool:
        """Whether the part of a `$ref` before `#` is a file in the folder of the description, or below."""
        if urlsplit(place).scheme or place.startswith("//"):
            return False
        return (file.parent / unquote(place)).resolve().is_relative_to(self._folder)

    def document_of(self, file: Path) -> Json:
        """Return the document of a file that `may_read` allows. Raises AuthoringError where it is none."""
        return self._document(file)

    def read(self, uri: str) -> Json:
        """Return the document of a file URI. Raises AuthoringError where it is not to be read, or is none."""
        split = urlsplit(uri)
        file = Path(unquote(split.path))
        if split.scheme != "file" or not file.resolve().is_relative_to(self._folder):
            raise AuthoringError(
                Place(self.path), f"{uri} is not read: only files in the description's folder or below are"
            )
        return self._document(file)

    def dereferenced(self, value: Json, file: Path) -> tuple[Json, Path]:
        """Return a value, or what it refers to where it is a reference."""
        if isinstance(value, Mapping) and "$ref" in value:
            target = self.find(value["$ref"], file)
            return (target.value, target.file) if target is not None else ({}, file)
        return value, file

    def _at(self, file: Path, pointer: str) -> Json:
        try:
            document = self._document(file)
        except AuthoringError:
            if file == self.path:
                raise
            return MISSING
        return resolve(document, pointer) if not pointer or pointer.startswith("/") else MISSING

    def _document(self, file: Path) -> Json:
        if file not in self._read:
            self._read[file] = self._parsed(file)
        return self._read[file]

    def _parsed(self, file: Path) -> Json:
        if file != self.path and file.exists() and not file.is_file():
            # Reading a pipe that nobody writes to would never end.
            raise _unreadable(file, OSError(errno.EINVAL, "no regular file"))
        try:
            data = file.read_bytes().removeprefix(b"\xef\xbb\xbf")
        except OSError as problem:
            raise _unreadable(file, problem) from None
        if file.suffix == ".json" or data[:1] == b"{":
            try:
                return _not_too_deep(orjson.loads(data), file)
            except orjson.JSONDecodeError as problem:
                if file.suffix == ".json":
                    raise AuthoringError(Place(file, problem.lineno), f"not JSON: {problem.msg}") from None
        return read_yaml(file)


def _not_too_deep(document: Json, file: Path) -> Json:
    """Return a document that may be walked. Raises AuthoringError where it is nested too deep."""
    level = [document]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for node in level
            for inner in (node.values() if isinstance(node, dict) else node)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return document
    raise AuthoringError(Place(file), f"nested deeper than {DEEPEST} levels")


def digest(path: Path) -> str:
    """Name a file by its content. Raises AuthoringError where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as problem:
        raise _unreadable(path, problem) from None


def _unreadable(path: Path, problem: OSError) -> AuthoringError:
    reason = "no such file" if isinstance(problem, FileNotFoundError) else f"cannot be read: {problem.strerror}"
    return AuthoringError(Place(path, 0), reason)
