"""How far annotators agree: Cohen's kappa of each two, over the proposals that both judged.

Source: J. Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological Measurement 20 (1960).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from .annotation import Annotation, latest


class Agreement(NamedTuple):
    """Two annotators."""

    one: str
    other: str
    shared: int
    """Proposals that both judged."""
    same: int
    """Those of which both say the same."""
    kappa: float | None
    """None where chance alone would make them agree on everything, or nothing is shared."""


def agreements(annotations: Iterable[Annotation]) -> list[Agreement]:
    """Return the agreement of each two annotators on the verdicts, by name."""
    verdicts: dict[str, dict[str, str]] = {}
    for (annotator, key), one in latest(annotations).items():
        verdicts.setdefault(annotator, {})[key] = one.verdict
    out = []
    for one_name, other_name in combinations(sorted(verdicts), 2):
        first, second = verdicts[one_name], verdicts[other_name]
        pairs = [(first[key], second[key]) for key in first if key in second]
        out.append(Agreement(one_name, other_name, len(pairs), sum(a == b for a, b in pairs), cohens_kappa(pairs)))
    return out


def cohens_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Return (observed - expected) / (1 - expected) agreement; None where that is not defined."""
    count = len(pairs)
    if not count:
        return None
    observed = sum(a == b for a, b in pairs) / count
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    expected = sum(first[category] * second[category] for category in first) / count**2
    return None if expected == 1 else (observed - expected) / (1 - expected)
