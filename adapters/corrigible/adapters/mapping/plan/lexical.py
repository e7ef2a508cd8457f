"""A sequence of calls without a model: the best operation for each thing that an utterance asks for, in its order."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from corrigible.adapters.mapping.store.seam import Hit

Search = Callable[[str, int], Sequence[Hit]]

_CLAUSE: Final = re.compile(
    r"(?<=[.!?;])\s+|,?\s+(?:and\s+)?(?:then|afterwards|after that|finally|also|additionally)\b,?\s*|,\s+and\s+"
    r"|\s+and\s+(?=(?:[a-z]+ly\s+)?[a-z]+\s+(?:the|a|an|all|my|its|their|me|it)\b)",
    re.IGNORECASE,
)
"""Where one wish ends and the next one begins."""
_SHORTEST: Final = 2
"""Words of a wish."""
_WEAK: Final = 0.35
"""A wish whose best operation has less than this share of the best one's score is no wish."""
MOST: Final = 12
"""Calls of a sequence."""


def clauses(utterance: str) -> list[str]:
    """Split what is asked into single wishes."""
    parts = (part.strip(" ,.;!?") for part in _CLAUSE.split(utterance[:4_000]))
    return [part for part in parts if len(part.split()) >= _SHORTEST][: 4 * MOST] or [utterance]


def propose(utterance: str, search: Search) -> list[Hit]:
    """Return the best operation for each wish, each once, in the order of the wishes."""
    best = [hits[0] for clause in clauses(utterance) if (hits := search(clause, 1))]
    strongest = max((hit.score for hit in best), default=0.0)
    chosen: dict[tuple[str, str], Hit] = {}
    for hit in best:
        if hit.score >= _WEAK * strongest:
            chosen.setdefault((hit.operation.api, hit.operation.key), hit)
    return list(chosen.values())[:MOST]
