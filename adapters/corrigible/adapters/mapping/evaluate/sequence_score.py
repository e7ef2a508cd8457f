"""Precision, recall and F1 of sequences of calls, as sets and in order.

As in "API Mapping using Self Reflection in Large Language Models", section 4: precision is the share of the generated
calls that are in the ground truth, recall the share of the ground truth that was generated, both for each example, then
averaged; F1 is the harmonic mean of the two averages (its table 2: 0.2208 and 0.1904 give 0.2045). A set has a call
once. The paper does not say what the metrics of order count; here it is the longest common subsequence, so that what
is right but in the wrong place counts less, and a missing call does not make those after it wrong.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True, slots=True)
class Averages:
    """Over all examples."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """Of the averages, as the paper's table has it; 0 where both are."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


@dataclass(frozen=True, slots=True)
class SequenceScore:
    """Of some examples; None where there are none."""

    examples: int
    sets: Averages | None
    order: Averages | None


def score_sequences(pairs: Iterable[tuple[Sequence[Hashable], Sequence[Hashable]]]) -> SequenceScore:
    """Score pairs of a generated sequence and the right one. Examples without a right sequence are left out.

    Who generates nothing has a precision of 0 there: an average over fewer examples would reward silence.
    """
    listed = [(generated, right) for generated, right in pairs if right]
    if not listed:
        return SequenceScore(0, None, None)
    sets = [(len(set(generated) & set(right)), len(set(generated)), len(set(right))) for generated, right in listed]
    order = [(common_length(generated, right), len(generated), len(right)) for generated, right in listed]
    return SequenceScore(len(listed), _averages(sets), _averages(order))


def _averages(counts: Sequence[tuple[int, int, int]]) -> Averages:
    precision = fmean(found / generated if generated else 0.0 for found, generated, _ in counts)
    return Averages(precision, fmean(found / right for found, _, right in counts))


def common_length(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """Return the length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for here in one:
        above, row = row, [0]
        for at, there in enumerate(other):
            row.append(above[at] + 1 if here == there else max(above[at + 1], row[at]))
    return row[-1]
