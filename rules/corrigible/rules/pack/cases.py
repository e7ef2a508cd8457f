"""Cases: the evidence beside a rule. Reading them, and comparing what was claimed with what was said.

The operation that a request names in a header, in its body or in its query, as its pack says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from corrigible.rules.errors import AuthoringError, Place, gather
from corrigible.rules.language.file_model import checked
from corrigible.rules.language.pack_model import OperationText
from corrigible.rules.language.rule_model import CaseText
from corrigible.rules.language.yaml_source import Source, read_source
from corrigible.rules.pointer import resolve
from corrigible.schema.exchange import Exchange, Json, Protocol, Request, protocol_of

from .error_mapping import Part


@dataclass(frozen=True, slots=True)
class Case:
    rule: str
    """The last part of the rule's id, from the file's name."""
    text: CaseText
    exchange: Exchange
    place: Place


def case_file(rule_file: Path) -> Path:
    return rule_file.with_suffix("").with_suffix(".cases.yaml")


def load_cases(rule_file: Path) -> tuple[Case, ...]:
    """Read the cases beside a rule; none where the file is missing. Raises AuthoringError with lines."""
    path = case_file(rule_file)
    if not path.exists():
        return ()
    source = read_source(path)
    if not isinstance(source.data, list):
        raise AuthoringError(Place(path), "expected a list of cases")
    cases: list[Case] = []
    errors: list[AuthoringError] = []
    for index, data in enumerate(source.data):
        try:
            text = checked(CaseText, source, data, (index,))
            cases.append(Case(rule_file.stem, text, _exchange(source, text, index), source.place((index,))))
        except AuthoringError as error:
            errors.append(error)
    if (found := gather(errors)) is not None:
        raise found
    return tuple(cases)


def _exchange(source: Source, text: CaseText, index: int) -> Exchange:
    response, body = text.response, None
    if response.body_file is not None:
        try:
            body = (source.path.parent / response.body_file).read_bytes()
        except OSError as problem:
            message = f"{response.body_file} cannot be read: {problem.strerror}"
            raise source.error((index, "response", "body_file"), message) from None
    return exchange_of(text, body, f"case-{index}")


def exchange_of(text: CaseText, body: bytes | None, name: str) -> Exchange:
    """Return the exchange of a case; `body` is that of the answer where it is in a file of its own."""
    asked, response = text.request, text.response
    headers = {"content-type": "application/json", **{k.lower(): v for k, v in response.headers.items()}}
    request = Request(
        asked.method if protocol_of(asked.method) is Protocol.GRPC else asked.method.upper(),  # a gRPC method is a name
        asked.path,
        asked.query,
        {k.lower(): v for k, v in asked.headers.items()},
        asked.body,
        asked.form,
    )
    content = orjson.dumps(response.body) if body is None else body
    return Exchange(request, response.status, headers, content, name, text.started, text.elapsed)


def differences(claimed: Any, actual: Json, path: str = "") -> Iterator[str]:
    """Yield what differs. Of maps the claimed members count, lists are compared element by element."""
    if isinstance(claimed, Mapping):
        if not isinstance(actual, Mapping):
            yield f"{path or '/'}: expected a map, got {actual!r}"
            return
        for name, inner in claimed.items():
            if name in actual:
                yield from differences(inner, actual[name], f"{path}/{name}")
            elif inner is not None:
                yield f"{path}/{name}: absent, expected {inner!r}"
    elif isinstance(claimed, list):
        if not isinstance(actual, list) or len(claimed) != len(actual):
            yield f"{path}: expected {len(claimed)} elements, got {actual!r}"
            return
        for index, (claimed_item, other) in enumerate(zip(claimed, actual, strict=True)):
            yield from differences(claimed_item, other, f"{path}/{index}")
    elif claimed != actual or isinstance(claimed, bool) != isinstance(actual, bool):
        yield f"{path}: expected {claimed!r}, got {actual!r}"


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
