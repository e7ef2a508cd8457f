"""What can go wrong on our side.

* CorrigibleError
  - AuthoringError      a rule, pack, case or table is wrong: fix the line it names
  - RuleFault           a rule crashed while it considered an exchange: the native answer passes

A refusal by the upstream is none of these. It is an `Exchange`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from corrigible.schema.error import did_you_mean as did_you_mean


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file, as an editor understands it."""

    path: Path
    line: int = 1
    """0: the error is about the file itself, or about one that does not exist."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else str(self.path)


class CorrigibleError(Exception):
    """Base of every error this project raises on purpose."""


class AuthoringError(CorrigibleError):
    """A file written by a person is wrong, and says where. `further` holds others found in the same pass."""

    def __init__(
        self, place: Place, problem: str, further: tuple[AuthoringError, ...] = (), *, kind: str = "invalid"
    ) -> None:
        super().__init__("\n".join([f"{place}: {problem}", *map(str, further)]))
        self.place = place
        self.problem = problem
        self.further = further
        self.kind = kind
        """`invalid` for what cannot be used; anything else works, and is to be mended all the same."""

    def all_errors(self) -> tuple[AuthoringError, ...]:
        """Return this error alone, and the ones found with it, in the order of their lines."""
        return (AuthoringError(self.place, self.problem, kind=self.kind), *self.further) if self.further else (self,)


class RuleFault(CorrigibleError):
    """A rule crashed at run time. Never reaches a client."""

    def __init__(self, rule: str, problem: str) -> None:
        super().__init__(f"{rule}: {problem}")
        self.rule = rule


def gather(errors: Iterable[AuthoringError]) -> AuthoringError | None:
    """Fold several authoring errors into one that prints all of them; None where there are none."""
    found = [single for error in errors for single in error.all_errors()]
    if not found:
        return None
    first, *rest = found
    return AuthoringError(first.place, first.problem, tuple(rest), kind=first.kind)
