"""One published figure beside the same figure computed again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

Verdict = Literal["match", "mismatch", "not given"]


@dataclass(frozen=True, slots=True)
class Figure:
    """What was printed, to the digits that were printed, and what its source comes to."""

    name: str
    printed: str
    computed: float | None
    """None: the source gives no counts for it."""
    to: str = ""
    """What it was rounded to, where its digits do not say it: 1e1 for "about 40"."""

    @property
    def verdict(self) -> Verdict:
        if self.computed is None:
            return "not given"
        return "match" if self.rounded == Decimal(self.printed) else "mismatch"

    @property
    def rounded(self) -> Decimal:
        """What was computed, to the digits that were printed."""
        assert self.computed is not None
        return Decimal(repr(self.computed)).quantize(Decimal(self.to or self.printed), ROUND_HALF_UP)

    @property
    def shown(self) -> str:
        """What was computed, in the form of what was printed."""
        if self.computed is None:
            return "-"
        digits = self.printed.partition("e")[0].partition(".")[2]
        return f"{self.rounded:.{len(digits)}e}" if "e" in self.printed else f"{self.rounded:f}"


@dataclass(frozen=True, slots=True)
class Table:
    """Figures that stand together, under the name that their source gives them."""

    title: str
    figures: Sequence[Figure]
    notes: Sequence[str] = field(default=())


def rendered(tables: Sequence[Table]) -> Iterator[str]:
    """Yield the lines that show tables, with one verdict for each figure and one for all."""
    for table in tables:
        yield table.title
        width = max((len(one.name) for one in table.figures), default=0)
        for one in table.figures:
            yield f"  {one.name:<{width}}  printed {one.printed:>8}  computed {one.shown:>8}  {one.verdict}"
        yield from (f"  ({note})" for note in table.notes)
        yield ""
    verdicts = [one.verdict for table in tables for one in table.figures]
    matched, lacking = verdicts.count("match"), verdicts.count("not given")
    said = f"{matched} of {len(verdicts) - lacking} figures match"
    if lacking:
        said += f"; {lacking} cannot be computed from what is printed"
    yield f"{'mismatch' if 'mismatch' in verdicts else 'match'}: {said}"
