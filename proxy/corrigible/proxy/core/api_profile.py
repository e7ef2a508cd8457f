"""An API that we know something about, which of them an exchange belongs to, and what its answer complains about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from corrigible.adapters.base import Adapter, Described
from corrigible.rules.engine.index import RuleIndex
from corrigible.rules.pack.load import Pack
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json


@dataclass(frozen=True, slots=True)
class ApiProfile:
    """An API we know something about: how to read it, and what to say."""

    adapter: Adapter
    pack: Pack
    index: RuleIndex
    description: Described | None = None
    """The API's own, where one was given to the proxy; before the one that ships with the adapter."""

    @property
    def described(self) -> Described | None:
        if self.description is None and self.adapter.description is not None:
            return self.adapter.description()
        return self.description


class MatchedOperation(NamedTuple):
    known: ApiProfile
    operation: str
    params: Mapping[str, str]
    presented: bool = False
    """The exchange carried another one, and the upstream is not the API that this one is about: nothing to ask it."""


@dataclass(slots=True)
class Explanation:
    """Why each rule did or did not speak, for people."""

    lines: list[str] = field(default_factory=list)
    unsaid: list[str] = field(default_factory=list)
    """Pointers to values that edits take from the request though their author says that the intent stays."""


def parse_errors(known: ApiProfile, exchange: Exchange, body: Json) -> Sequence[Violation]:
    """Return what the first dialect of an API that reads the answer says."""
    for dialect in known.adapter.formats:
        violations = dialect.read(exchange, body)
        if violations:
            return violations
    return ()
