"""Precision, recall and F1 from counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """Counts of what was proposed. `right` of `proposed` are right; `wanted` is how many there are to find."""

    right: int
    proposed: int
    wanted: int

    @property
    def precision(self) -> float | None:
        """None where nothing was proposed: no share of nothing."""
        return self.right / self.proposed if self.proposed else None

    @property
    def recall(self) -> float | None:
        return self.right / self.wanted if self.wanted else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of both; 0 where nothing is right."""
        if not self.proposed or not self.wanted:
            return None
        return 2 * self.right / (self.proposed + self.wanted)

    def __add__(self, other: Share) -> Share:
        return Share(self.right + other.right, self.proposed + other.proposed, self.wanted + other.wanted)


NOTHING = Share(0, 0, 0)
