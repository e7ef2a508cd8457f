"""What every store of operations does, and what turns a text into a vector."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from corrigible.adapters.mapping.mapping import ApiOfMap
from corrigible.adapters.mapping.operation import CanonicalOperation
from corrigible.adapters.mapping.words import joined, name_words
from corrigible.rules.errors import CorrigibleError

LEXICAL = "lexical (BM25)"
"""The method that needs no model."""


class StoreError(CorrigibleError):
    """An index cannot be read or written; the message names the file."""


class Embedder(Protocol):
    """Turns texts into vectors of one length."""

    @property
    def name(self) -> str:
        """Return what results name as their method; an index is searched with the embedder that made it."""
        ...

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector of length 1 for each text. Raises StoreError where that fails."""
        ...


@dataclass(frozen=True, slots=True)
class Hit:
    """An operation that was found. Scores of different methods cannot be compared."""

    operation: CanonicalOperation
    score: float
    method: str
    """What found it: `lexical (BM25)`, or the name of an embedder."""


class OperationIndex(Protocol):
    """Operations of many APIs, found by words."""

    @property
    def methods(self) -> tuple[str, ...]:
        """Return how it can be searched, the best first."""
        ...

    def apis(self) -> list[ApiOfMap]: ...

    def operations(self, api: str = "") -> Iterator[CanonicalOperation]:
        """Yield all operations, or those of one API, in the order in which they were added."""
        ...

    def search(self, text: str, limit: int, *, method: str = "", api: str = "") -> list[Hit]:
        """Return the best operations for a text, the best first; ties in the order of adding."""
        ...

    def close(self) -> None: ...


class VectorStore(Protocol):
    """The vectors of an index."""

    @property
    def address(self) -> str:
        """Return what the index keeps of where they are: empty where they are in its own file."""
        ...

    def write(self, rows: Sequence[tuple[int, str, Sequence[float]]]) -> None:
        """Add the vectors of some operations: number, API, vector."""
        ...

    def nearest(self, vector: Sequence[float], limit: int, api: str) -> list[tuple[int, float]]:
        """Return numbers and cosines, the nearest first; `api` empty for all."""
        ...


def indexed_text(operation: CanonicalOperation) -> str:
    """Return what embedders read of an operation: the name in words, the sentences, the names of arguments."""
    names = " ".join(dict.fromkeys(one.name for one in operation.arguments[:40]))
    said = f"{operation.summary} {operation.description}".strip()
    tool = " ".join(operation.tags)
    return f"{joined(name_words(operation.name))}. {said} {tool} {names}".strip()[:2_000]


def unit(vector: Sequence[float]) -> list[float]:
    """Return a vector of length 1; of nothing but zeros, itself."""
    length = math.sqrt(sum(one * one for one in vector))
    return [one / length for one in vector] if length else list(vector)
