"""A rule, compiled: what it listens for, what it asks of live state, what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from corrigible.rules.lookup import CALL
from corrigible.rules.pattern import Pattern
from corrigible.schema.exchange import Json

from .expression import Environment, Expression
from .rule_model import PatchText, RetryText

Template = Any
"""A nest of maps and lists whose leaves are Expressions or literals."""

TERMINAL = frozenset({"NO_RECOVERY_AVAILABLE", "ESCALATE", "ALREADY_DONE"})
ACTED = TERMINAL - {"ALREADY_DONE"}
"""Those that say who can act."""
"""Design 3: these three stand alone, with `recovery: terminal`."""


@dataclass(frozen=True, slots=True)
class MatchCriteria:
    """What must hold of a violation before `when` is asked. Empty means anything."""

    operations: tuple[str, ...] = ()
    statuses: tuple[int, ...] = ()
    codes: tuple[str, ...] = ()
    types: frozenset[str] = frozenset()
    params: frozenset[str] = frozenset()
    message: Pattern | None = None

    @property
    def specificity(self) -> int:
        """How narrow this is. Narrower rules are asked first."""
        narrow = (self.operations, self.statuses, self.codes, self.types, self.params, self.message)
        weights = (16, 1, 8, 2, 4, 8)
        return sum(weight for criterion, weight in zip(narrow, weights, strict=True) if criterion)


@dataclass(frozen=True, slots=True)
class LookupSpec:
    """A look-up of a rule."""

    name: str
    path: Expression
    condition: Expression | None
    optional: bool
    message: Template = None
    """Of a gRPC call; None for a GET or a POST."""
    body: Template = None
    """Of a POST, empty for none; None for everything else."""
    headers: tuple[tuple[str, Expression], ...] = ()
    """Names in lower case."""
    needs: frozenset[str] = frozenset()
    """The names of the look-ups whose answers it mentions."""

    @property
    def method(self) -> str:
        if self.body is not None:
            return "POST"
        return "GET" if self.message is None else CALL


@dataclass(frozen=True, slots=True)
class Placeholder:
    pointer: str | Expression
    ask: Literal["user", "agent"]
    schema: Mapping[str, Json] | None
    """None for the one that the API's description has at the pointer."""
    schema_from: Expression | None
    each: Expression | None = None
    name: str = ""
    """With `each` there is one for every element, in scope under this name."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One patch operation; `path`, `source` literal or computed."""

    op: str
    path: str | Expression
    value: Template
    source: str | Expression | None
    written: PatchText


@dataclass(frozen=True, slots=True)
class SuggestionSpec:
    """One suggestion of a rule."""

    condition: Expression | None
    action: str
    base_action: str
    message: str
    differs: Expression | None
    """Gives the names of members in which what is there is not what was sent."""
    actor: str | None
    """Who can act where nothing more can be sent."""
    parameters: Mapping[str, Template]
    edits: tuple[Edit, ...] | Expression | None
    changes: tuple[tuple[str | Expression, Template], ...] | Expression | None
    """Values by pointer or by name of a parameter; the guarded patch is made from them."""
    steps: tuple[Mapping[str, Template], ...]
    applicability: str
    placeholders: tuple[Placeholder, ...]
    changes_intent: bool
    requires_confirmation: bool
    side_effects: str | None
    retry: RetryText | None
    after_seconds: Expression | float | None
    recovery: str | None
    type: str | None


@dataclass(frozen=True, slots=True)
class SuggestionGroup:
    """A group: all of them, or one of them."""

    condition: Expression | None
    relation: Literal["all", "one_of"]
    members: tuple[Entry, ...]
    type: str | None


@dataclass(frozen=True, slots=True)
class SuggestionLoop:
    """One suggestion per element of a list."""

    condition: Expression | None
    relation: Literal["all", "one_of"]
    each: Expression
    name: str
    member: SuggestionSpec
    type: str | None


Entry = SuggestionSpec | SuggestionGroup | SuggestionLoop
Branch = tuple[int, ...]
"""The number of an entry under `suggest`; with that of a member of its group."""


@dataclass(frozen=True, slots=True)
class Rule:
    id: str
    version: str
    """`<id>@<major>`, as evidence names it."""
    title: str
    status: str
    references: tuple[str, ...]
    priority: int
    match: MatchCriteria
    when: Expression | None
    lookups: tuple[LookupSpec, ...]
    lets: tuple[tuple[str, Template], ...]
    entries: tuple[Entry, ...]
    also_resolves: Expression | None
    """The numbers of further complaints that its answer settles."""
    diagnosis: str
    code: str
    """What verbose mode calls this, empty for the native code or the next."""
    verbose_code: str
    """The id's last part in upper snake case."""
    type: str
    names: frozenset[str]
    """The names that look-ups and `let` add to the scope."""
    scope: Environment

    uses: frozenset[str]
    """The names in scope and the functions that its expressions use."""
    tables: frozenset[str] | None
    """The tables that they use, all of them where None."""
    may_guess: bool
    """It asks what is near: what it suggests may be a guess."""

    def branches(self) -> tuple[Branch, ...]:
        """Return what cases have to reach: each entry under `suggest`, and each member of a group that has an `if`."""
        groups = [(number, one) for number, one in enumerate(self.entries) if isinstance(one, SuggestionGroup)]
        members = [
            (number, index)
            for number, group in groups
            for index, member in enumerate(group.members)
            if member.condition is not None
        ]
        return tuple(sorted([*((number,) for number in range(len(self.entries))), *members]))


@dataclass(frozen=True, slots=True)
class PackSettings:
    """The part of pack.yaml that rules are evaluated with."""

    lookups: tuple[tuple[str, ...], ...] = ()
    """Allow-listed path templates, split at `/`."""
    reading_posts: tuple[tuple[str, ...], ...] = ()
    """The same of paths that are read by POST."""
    lookup_headers: tuple[tuple[str, str | None], ...] = ()
    """Headers of look-ups, names in lower case; one without a value has the request's own."""
    idempotency_header: str = ""
    """Lower case; empty where the API has none."""
    secrets: frozenset[str] = frozenset()
    path_members: frozenset[str] = frozenset()
    """Members of look-ups whose values stand for several segments of a path."""
    decisive: frozenset[str] = frozenset()
    """Names of members that are not to be guessed, nor their values, besides those known by their words."""
    tokens: frozenset[str] = frozenset()
    """Members and headers (lower case) that hold a version of what is stored, or an idempotency key."""
