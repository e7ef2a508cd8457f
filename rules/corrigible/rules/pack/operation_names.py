"""The operation that a request names in a header, in its body or in its query, as its pack says.

Knows: request documents. Does not know: paths of operations, descriptions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from corrigible.rules.language.mapping_model import OperationText
from corrigible.rules.pointer import resolve
from corrigible.schema.exchange import Json, Request

from .error_mapping import Part

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/#-]{0,127}")
"""Callers write the name: it goes into logs and is compared, no more."""


@dataclass(frozen=True, slots=True)
class NameSource:
    where: str
    """`header`, `body` or `query`."""
    name: str
    part: Part

    def value(self, request: Request) -> Json:
        match self.where:
            case "header":
                return request.headers.get(self.name)
            case "query":
                return request.query.get(self.name)
            case _:
                return resolve(request.body, self.name)


@dataclass(frozen=True, slots=True)
class OperationNames:
    sources: tuple[NameSource, ...]
    renamed: Mapping[str, str]
    """What the pack calls an operation, by the name that requests give."""

    def of(self, request: Request) -> str:
        """Return the operation that a request names, empty where it names none."""
        return next((name for one in self.sources if (name := self._named(one, request))), "")

    def of_head(self, request: Request) -> str | None:
        """Return the same for a request whose body is not at hand; None where the body may name it."""
        for one in self.sources:
            if one.where == "body":
                return None
            if name := self._named(one, request):
                return name
        return ""

    def _named(self, source: NameSource, request: Request) -> str:
        value = source.value(request)
        if not isinstance(value, str):
            return ""
        name = source.part.extract(value).strip()
        if name in self.renamed:
            return self.renamed[name]
        return name if _NAME.fullmatch(name) else ""


def compile_operation(texts: Sequence[OperationText], table: Mapping[str, str]) -> OperationNames:
    sources = [
        NameSource("header", one.header.lower(), Part.of(one))
        if one.header is not None
        else NameSource("body", one.body, Part.of(one))
        if one.body is not None
        else NameSource("query", (one.query or "").removeprefix("/"), Part.of(one))
        for one in texts
    ]
    return OperationNames(tuple(sources), {key: name for key, name in table.items() if not is_path(key)})


def is_path(key: str) -> bool:
    """Whether a key of `operations` is a method and a path, and no name."""
    return " /" in key
