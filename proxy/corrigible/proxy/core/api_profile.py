"""An API that we know something about, and which of them a request belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

import orjson

from corrigible.adapters.base import Adapter, Described, Undescribed
from corrigible.adapters.formats.generic import GenericFormat
from corrigible.adapters.mapping.map_index import Maps
from corrigible.adapters.reader.locate import locate_errors
from corrigible.adapters.reader.scorer import reasons
from corrigible.rules.engine.evaluate import RuleIndex
from corrigible.rules.language.rule import Branch, Rule
from corrigible.rules.pack.load import Pack
from corrigible.rules.schema_repair.schema_violation import DeclaredPlace
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Protocol, Request


@dataclass(frozen=True)
class ApiProfile:
    """An API we know something about: its adapter, its rules, its description."""

    adapter: Adapter
    pack: Pack
    index: RuleIndex
    description: Described | None = None
    """The API's own, where one was given to the proxy; before the one that ships with the adapter."""
    maps: Maps | None = None
    """Which of its operations can do what another one does."""

    @cached_property
    def described(self) -> Described | None:
        if self.description is None and self.adapter.description is not None:
            return self.adapter.description()
        return None if isinstance(self.description, Undescribed) else self.description

    @property
    def refuses_with_success(self) -> frozenset[str]:
        """Operations whose 2xx answers may be refusals."""
        error = self.pack.error
        return self.adapter.refuses_with_success | (frozenset() if error is None else error.refusing_operations)

    def may_refuse_with_success(self, head: Request) -> bool:
        """Whether a 2xx answer to a request, whose body is not at hand, may be a refusal."""
        named = "" if self.pack.operation is None else self.pack.operation.of_head(head)
        if named is None:
            return True
        match = None if named else self.adapter.operations.find(head.method, head.path)
        return (match[0] if match is not None else named) in self.refuses_with_success


class MatchedOperation(NamedTuple):
    """The operation that a request belongs to."""

    profile: ApiProfile
    operation: str
    """Empty where the profile names none for it."""
    params: Mapping[str, str]
    is_wrapped: bool = False
    """The exchange carried another one, and the upstream is not the API that this one is about: no look-ups."""


class RefusalCase(NamedTuple):
    """One refusal as one API profile reads it: what every later stage works on."""

    exchange: Exchange
    """Of an exchange that carried another one, the one inside."""
    match: MatchedOperation
    body: Json
    """The native answer, parsed; None where it is no JSON, so that it takes no member."""
    text: Json
    """The part of it that is read: of long texts the beginning. XML is read as objects, lists and texts."""
    errors: Sequence[Violation]

    @property
    def profile(self) -> ApiProfile:
        return self.match.profile

    @property
    def pack(self) -> Pack:
        return self.match.profile.pack

    @property
    def request(self) -> Request:
        return self.exchange.request

    @property
    def description(self) -> Described:
        """What is described of the API; an empty description of one of which nothing is."""
        described = self.profile.described
        return _UNDESCRIBED if described is None else described

    def declared_place(self, place: str) -> DeclaredPlace:
        """Return what the description has for a place, and around it; nothing where it lacks the operation."""
        operation = self.match.operation
        return self.description.declared_place(self.request, operation, place) if operation else DeclaredPlace({})

    def candidates(self) -> Iterator[Rule]:
        """Yield the rules whose `match` holds for an error, whatever rule is asked first."""
        for error in self.errors:
            yield from self.profile.index.candidates(self.match.operation, self.exchange.status, error)


_UNDESCRIBED: Final = Undescribed()


@dataclass(slots=True)
class Explanation:
    """Why each rule matched or did not, for people."""

    reading: list[str] = field(default_factory=list)
    """What was read of the exchange."""
    errors: list[Violation] = field(default_factory=list)
    """The errors that were read, of each profile that read the answer."""
    candidates: set[str] = field(default_factory=set)
    """The rules whose `match` holds for one of these errors, by their ids."""
    lines: list[str] = field(default_factory=list)
    branches: set[tuple[str, Branch]] = field(default_factory=set)
    """The entries under `suggest` that gave something, with their rule."""
    undeclared_losses: list[str] = field(default_factory=list)
    """Pointers to values that edits take from the request though their author says that the intent stays."""

    def read(self, match: MatchedOperation, text: Json, errors: Sequence[Violation], *, is_json: bool) -> None:
        """Say what was read: the operation, an answer that is no JSON, each error as rules see it."""
        self.errors += errors
        self.reading.append(f"operation: {match.operation or 'unknown'} (pack {match.profile.pack.name})")
        if not is_json:
            self.reading.append(f"answer, as it is read: {_shortened(orjson.dumps(text).decode())}")
        for number, error in enumerate(errors):
            self.reading.append(f"errors[{number}], as rules see it under `error`:")
            for name, value in error.scope().items():
                if value or name in _ALWAYS_SHOWN:
                    self.reading.append(f"  {name}: {_shortened(orjson.dumps(value).decode())}")
            for place in error.likely[:_MOST_SHOWN]:
                why = ", ".join(reasons(place.why, _MOST_REASONS))
                self.reading.append(f"  likely at {place.pointer}: {place.probability:.2f}, by {why}")
        if not errors:
            self.reading.append("errors: none were found in the answer")


_ALWAYS_SHOWN = ("code", "message", "pointer", "param")
_LONGEST_LINE = 500
_MOST_SHOWN = 3
_MOST_REASONS = 6


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}..."


def match_operation(profiles: Sequence[ApiProfile], request: Request) -> MatchedOperation | None:
    """Return the operation of a request; the first profile with an unnamed operation where none knows it.

    None without profiles.
    """
    for profile in profiles:
        match = match_with(profile, request)
        if match.operation:
            return match
    return MatchedOperation(profiles[0], "", {}) if profiles else None


def match_with(profile: ApiProfile, request: Request, *, is_wrapped: bool = False) -> MatchedOperation:
    """Return the operation of a request by one profile: the one that the request names, else that of its path.

    A gRPC method is its own operation: `/package.Service/Method` is `package.Service/Method`.
    """
    if request.protocol is Protocol.GRPC:
        return MatchedOperation(profile, request.method[1:], {}, is_wrapped)
    operation, params = profile.adapter.operations.find(request.method, request.path) or ("", {})
    if profile.pack.operation is not None:
        operation = profile.pack.operation.of(request) or operation
    return MatchedOperation(profile, operation, params, is_wrapped)


def parse_errors(match: MatchedOperation, exchange: Exchange, body: Json) -> Sequence[Violation]:
    """Return the errors that the first matching format of a profile finds in an answer, at places of the request.

    An answer without content is one error to an API without formats of its own.
    """
    adapter = match.profile.adapter
    if exchange.status < 400 and not _is_refusal(match, body):
        return ()
    for native_format in adapter.formats:
        errors = native_format.read(exchange, body)
        if errors:
            if not adapter.tells_places_loosely:
                return errors
            return locate_errors(errors, exchange, body, match.profile.described, match.operation, match.params)
    is_unsaid = body is None or (exchange.status == 401 and not isinstance(body, str))
    if exchange.status >= 400 and (is_unsaid or isinstance(body, str)) and _is_plain(match.profile):
        return (Violation(message=body if isinstance(body, str) else ""),)
    return ()


def _is_refusal(match: MatchedOperation, body: Json) -> bool:
    """Whether a success may be a refusal: where the pack names a condition, only where it holds."""
    pack, adapter = match.profile.pack, match.profile.adapter
    mapping = pack.error if pack.text.dialect is None else None  # of calls in an envelope it is about what is inside
    if mapping is None or not mapping.refusals or match.operation in adapter.refuses_with_success:
        return True
    return mapping.refuses(match.operation, body)


def _is_plain(profile: ApiProfile) -> bool:
    return any(native_format.name == GenericFormat.name for native_format in profile.adapter.formats)
