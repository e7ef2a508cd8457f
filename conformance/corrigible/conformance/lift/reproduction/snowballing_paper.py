"""The figures of the paper on "structure snowballing", from the counts it prints."""

from __future__ import annotations

from typing import Final

from corrigible.conformance.lift.hotpot import paper
from corrigible.conformance.lift.hotpot.figures import mcnemar_test
from corrigible.conformance.lift.stats.estimate import newcombe

from .figure import Figure, Table

_TRANSITIONS: Final = (("TT", "27"), ("TF", "23"), ("FT", "11"), ("FF", "39"))
"""Table 2 of its appendix, in percent of the questions."""


def tables() -> list[Table]:
    """Return its figures 1 to 3, and what its counts come to."""
    table = paper.TABLE
    cells = {"TT": table.both, "TF": table.second_only, "FT": table.first_only, "FF": table.neither}
    before, after = table.both + table.second_only, table.both + table.first_only
    difference, test = newcombe(table), mcnemar_test(table)
    assert difference.low is not None and difference.high is not None
    diagnosed = sum(paper.FIRST_DIAGNOSES.values())
    mislabelled = paper.FIRST_DIAGNOSES["FORMATTING_MISMATCH"]
    return [
        Table(
            "Figure 1: from reflection in free text to constrained reflection, percent of the questions",
            [
                Figure("right, free text", "50.0", 100 * before / table.n),
                Figure("right, constrained", "38.0", 100 * after / table.n),
                *(Figure(name, printed, 100 * cells[name] / table.n) for name, printed in _TRANSITIONS),
                Figure("McNemar p, with continuity correction", str(paper.P), test.corrected),
            ],
            (
                f"the exact p is {test.exact:.3f}; the difference is {100 * (after - before) / table.n:.0f} points,"
                f" Newcombe's 95 % interval {100 * difference.low:.0f} to {100 * difference.high:.0f}",
                f"its pools say that the baseline had {paper.POOLS[0]} right, this table {before}: it does not say why",
            ),
        ),
        Table(
            "Figure 2: mean thinking tokens by transition",
            [
                Figure("TF over TT, percent more", "40", 100 * (paper.TOKENS["TF"] / paper.TOKENS["TT"] - 1), "1e1"),
                *(Figure(f"{name}, tokens", f"{tokens:g}", None) for name, tokens in paper.TOKENS.items()),
            ],
            ("FT and FF stand in its figure only, without numbers",),
        ),
        Table(
            "Figure 3: outcomes by the error type that was diagnosed first",
            [
                Figure("FORMATTING_MISMATCH, percent", "96", 100 * mislabelled / diagnosed),
                Figure("RETRIEVAL_FOCUS, percent", "4", 100 * (diagnosed - mislabelled) / diagnosed),
                Figure("death loops", str(paper.DEATH_LOOPS), None),
            ],
            (f"of {table.n - after} failures; which trials they are counted from is not printed",),
        ),
    ]
