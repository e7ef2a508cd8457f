"""How an API writes its errors, as its pack says: compiled once, and what it finds in an answer.

Knows: plain JSON data, headers. Does not know: requests, which status an answer has, why a server refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from corrigible.rules.language.pack_model import ErrorFields, ErrorText, FieldText, PartText
from corrigible.rules.pointer import MISSING, index_in, segments, to_pointer
from corrigible.schema.document import parameter_segments
from corrigible.schema.exchange import Json

_MOST: Final = 64
"""Elements of a list, and errors of an answer, that are read."""
EVERY: Final = "*"


class MappedError(NamedTuple):
    """One error as the mapping found it."""

    code: str
    message: str
    type: str
    pointer: str
    """Into the request document, empty where no place was told."""
    native: Mapping[str, Json]
    """The plain members beside them."""


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a text that counts."""

    after: str
    before: str
    strip_prefix: str

    @classmethod
    def of(cls, text: PartText) -> Part:
        return cls(text.after or "", text.before or "", text.strip_prefix or "")

    def extract(self, text: str) -> str:
        if self.before:
            text = text.partition(self.before)[0]
        if self.after:
            text = text.rpartition(self.after)[2]
        return text.removeprefix(self.strip_prefix) if self.strip_prefix else text


@dataclass(frozen=True, slots=True)
class FieldSource:
    """Where one text stands."""

    header: str
    """In lower case; empty for a text of the body."""
    path: tuple[str, ...]
    part: Part

    def text(self, body: Json, headers: Mapping[str, str]) -> str:
        """Return the first text that is there, empty for none."""
        if self.header:
            return self.part.extract(headers.get(self.header, "")).strip()
        for value in values_at(body, self.path):
            for one in value if isinstance(value, list) else (value,):
                if isinstance(one, str | int | float) and not isinstance(one, bool):
                    text = self.part.extract(str(one)).strip()
                    if text:
                        return text
        return ""


@dataclass(frozen=True, slots=True)
class FieldSources:
    """Where an error keeps what it says."""

    code: tuple[FieldSource, ...]
    message: tuple[FieldSource, ...]
    type: tuple[FieldSource, ...]
    place: tuple[FieldSource, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A success that is a refusal."""

    operations: frozenset[str]
    paths: tuple[tuple[str, ...], ...]
    equals: Json
    """`MISSING` where any value but null will do."""
    begins: str | None = None

    def holds(self, operation: str, body: Json) -> bool:
        if self.operations.isdisjoint((operation, EVERY)):
            return False
        return any(self._is_told_by(value) for path in self.paths for value in values_at(body, path))

    def _is_told_by(self, value: Json) -> bool:
        if self.begins is not None:
            return isinstance(value, str) and value.startswith(self.begins)
        if self.equals is MISSING:
            return value is not None
        return type(value) is type(self.equals) and bool(value == self.equals)


@dataclass(frozen=True, slots=True)
class ErrorMapping:
    fields: FieldSources
    each: tuple[str, ...]
    """The path of the list of errors, empty without one."""
    detail: FieldSources | None
    style: str
    root: str
    media_types: frozenset[str]
    refusals: tuple[Refusal, ...]

    @property
    def refusing_operations(self) -> frozenset[str]:
        return frozenset().union(*(one.operations for one in self.refusals))

    def refuses(self, operation: str, body: Json) -> bool:
        """Whether a success of this operation is a refusal."""
        return any(one.holds(operation, body) for one in self.refusals)

    def errors(self, body: Json, headers: Mapping[str, str]) -> Sequence[MappedError]:
        """Return the errors of an answer, none where it holds nothing of what the mapping names.

        `headers` have lower-case names. An error of the list has the code, message and type of the whole where it has
        none of its own.
        """
        whole = self._error(self.fields, body, headers)
        details: list[MappedError] = []
        if self.detail is not None:
            for element in values_at(body, self.each):
                one = self._error(self.detail, element, headers)
                if one.code or one.message or one.pointer:
                    details.append(_completed(one, whole))
                if len(details) == _MOST:
                    break
        if details:
            return details
        return [whole] if whole.code or whole.message else []

    def _error(self, sources: FieldSources, body: Json, headers: Mapping[str, str]) -> MappedError:
        texts = [_first(one, body, headers) for one in (sources.code, sources.message, sources.type, sources.place)]
        native = body if isinstance(body, dict) else {}
        plain = {name: value for name, value in native.items() if isinstance(value, str | int | float | bool)}
        return MappedError(texts[0], texts[1], texts[2], self._pointer(texts[3]), plain)

    def _pointer(self, place: str) -> str:
        if not place:
            return ""
        match self.style:
            case "pointer":
                parts = segments(place.removeprefix("#")) if place.startswith(("/", "#/")) else [place]
            case "bracketed":
                parts = parameter_segments(place)
            case _:
                parts = [part for part in place.replace("[", ".").replace("]", "").split(".") if part not in ("", "$")]
        return self.root + to_pointer(parts)


def compile_error(text: ErrorText) -> ErrorMapping:
    refusals = [
        Refusal(
            frozenset(one.operations),
            tuple(map(path_of, one.pointer)),
            MISSING if one.exists else one.equals,
            one.begins,
        )
        for one in text.refused
    ]
    return ErrorMapping(
        _sources(text),
        () if text.details is None else path_of(text.details.each),
        None if text.details is None else _sources(text.details),
        text.style,
        text.place_root.rstrip("/"),
        frozenset(text.media_types),
        tuple(refusals),
    )


def path_of(pointer: str) -> tuple[str, ...]:
    return tuple(segments(pointer))


def values_at(value: Json, path: Sequence[str]) -> Iterator[Json]:
    """Yield the values at a path; `*` is every element of a list, and an object in its place is the only element.

    Names are also found as XML is read: `Code` is `code`.
    """
    if not path:
        yield value
        return
    name, rest = path[0], path[1:]
    if name == EVERY:
        elements: Sequence[Any] = value[:_MOST] if isinstance(value, list) else (value,)
        for element in elements:
            if element is not None:
                yield from values_at(element, rest)
    elif isinstance(value, dict):
        key = name if name in value else name[:1].lower() + name[1:]
        if key in value:
            yield from values_at(value[key], rest)
    elif isinstance(value, list) and (index := index_in(name, value)) >= 0:
        yield from values_at(value[index], rest)


def _sources(text: ErrorFields) -> FieldSources:
    return FieldSources(*(tuple(map(_source, one)) for one in (text.code, text.message, text.type, text.place)))


def _source(text: FieldText) -> FieldSource:
    return FieldSource((text.header or "").lower(), path_of(text.pointer or ""), Part.of(text))


def _first(sources: Sequence[FieldSource], body: Json, headers: Mapping[str, str]) -> str:
    return next((text for one in sources if (text := one.text(body, headers))), "")


def _completed(detail: MappedError, whole: MappedError) -> MappedError:
    return MappedError(
        detail.code or whole.code,
        detail.message or whole.message,
        detail.type or whole.type,
        detail.pointer,
        {**whole.native, **detail.native},
    )
