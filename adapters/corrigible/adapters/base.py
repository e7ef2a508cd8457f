"""What is specific to one API: its dialects, its operations, where it refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from corrigible.rules.schema_repair.schema_violation import DeclaredPlace, SchemaViolation
from corrigible.rules.schema_repair.suggestion import Repair
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request

from .operation import Operations, Vocabulary


class Format(Protocol):
    """A native error dialect. It locates facts and never judges."""

    @property
    def name(self) -> str: ...

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        """Return the errors of an answer as violations, nothing where it is of another dialect."""
        ...


class InnerCall(NamedTuple):
    """A call inside of a request that holds several, as a request of its own that was refused."""

    exchange: Exchange
    body: Json
    """The answer to it."""
    description: Described
    outward: Callable[[Mapping[str, Json]], dict[str, Json] | None]
    """From a suggestion for the call to one for the request; None where the request cannot say it."""


class Described(Protocol):
    """The part of an API's description that constrains requests."""

    @property
    def operations(self) -> Operations: ...

    def schema_violations(self, request: Request, operation: str, at: str = "") -> Sequence[SchemaViolation]:
        """Return every place where a request is not what its operation takes; with `at` those at or below a place."""
        return ()

    def body_schemas(self, operation: str) -> Mapping[str, Json]:
        """Return the media types of an operation's body, in lower case, each with its schema."""
        return {}

    def produced(self, operation: str) -> Sequence[str]:
        """Return the media types of an operation's documented successes, in lower case."""
        return ()

    def declared_place(self, request: Request, operation: str, pointer: str) -> DeclaredPlace:
        """Return what the description declares at a place of a request."""
        return DeclaredPlace({})

    def misspellings(self, request: Request, operation: str) -> Sequence[SchemaViolation]:
        """Return undeclared members, allowed as such, that are nearly called like a declared one that is not there."""
        return ()

    def misplaced_members(self, request: Request, operation: str) -> Sequence[SchemaViolation]:
        """Return undeclared members, allowed as such, that only an object beside them declares."""
        return ()

    def misspelt_words(self, request: Request, message: str) -> Sequence[SchemaViolation]:
        """Return the word of the query that a message repeats and that is nearly called like a field."""
        return ()

    def written_paths(self, method: str, path: str) -> SchemaViolation | None:
        """Return other paths of the same operation: below the servers' base paths, with or without the last slash."""
        return None

    def nearest_operation(self, request: Request) -> SchemaViolation | None:
        """Return what is wrong with a method and path that name no operation, with the near ones."""
        return None

    def vocabulary(self, operation: str, body: Json = None) -> Vocabulary:
        """Return the names and closed choices that an operation declares; nothing where it is unknown.

        Where a body is given, names that no object of it can have may be left out.
        """
        return Vocabulary()

    def facts(self, operation: str) -> Json:
        """Return `{required, properties}` of an operation's body or query, the `spec` of expressions."""
        return {}


@runtime_checkable
class DescribesDocuments(Described, Protocol):
    """A description of requests whose calls stand in a document of their own, such as GraphQL."""

    @property
    def dialect(self) -> str:
        """The dialect of all answers of the API."""
        ...

    def mended(self, request: Request, errors: Sequence[Violation], group: str) -> Repair | None:
        """Return what mends a request; None where its document and values are not what is wrong."""
        ...

    def cautioned(
        self, request: Request, errors: Sequence[Violation], body: Json, suggestions: Sequence[dict[str, Any]]
    ) -> Sequence[dict[str, Any]]:
        """Return suggestions as they are after a request of which a part may have been done."""
        ...

    def inner_call(self, exchange: Exchange, error: Violation) -> InnerCall | None:
        """Return the call of a document that an error is about."""
        ...


class Undescribed(Described):
    """The description of an API of which nothing is described: what answers state is all there is."""

    @property
    def operations(self) -> Operations:
        return Operations({})


Call = tuple[str, ...]
"""The key of one call of an API, as the adapter writes it."""


class Calls(NamedTuple):
    """The calls that a request may be."""

    calls: tuple[Call, ...]
    uid: str = ""
    """What the API calls this one question about a call; empty for the call itself."""


@dataclass(frozen=True, slots=True)
class Adapter:
    name: str
    """Also the name of the pack it goes with."""
    formats: tuple[Format, ...]
    operations: Operations = field(default_factory=lambda: Operations({}))
    refuses_with_success: frozenset[str] = frozenset()
    """Operations whose 2xx JSON answers may be refusals."""
    native_mode: bool = False
    """The API itself understands `?mode=`, so it is not stripped."""
    facts: Callable[[str], Json] | None = None
    """From an operation's name to the facts of its description, the `spec` of expressions."""
    description: Callable[[], Described] | None = None
    """The description that ships with the adapter, read on first need."""
    descriptors: Callable[[], bytes] | None = None
    """The FileDescriptorSet that ships with the adapter of a gRPC API."""
    unwrap: Callable[[Exchange], Exchange | None] | None = None
    """Re-expresses an exchange that carries another one, such as an AdmissionReview; None where it does not."""
    may_refuse: Callable[[str, str, Mapping[str, str]], bool] | None = None
    """Whether a 2xx answer to this method, path and these lower-case headers may be a refusal all the same."""
    placement: Literal["member", "kubernetes", "graphql", "mcp"] = "member"
    """The place of feedback in an answer."""
    calls: Callable[[Request], Calls] | None = None
    """The key of the call that a request makes, the same on both sides of an API server that calls webhooks."""
    tells_places_loosely: bool = False
    """The places that its formats read are as the server told them: each is looked for in the request."""
