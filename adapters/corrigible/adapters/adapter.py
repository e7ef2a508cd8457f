"""What is specific to one API: its dialects, its operations, where it refuses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json

from .operation import Operations


class Format(Protocol):
    """A native error dialect. It locates facts and never judges."""

    @property
    def name(self) -> str: ...

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        """Return what the answer complains about, or nothing where it does not speak this dialect."""
        ...


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
    """From an operation's name to what its description says, the `spec` of expressions."""
