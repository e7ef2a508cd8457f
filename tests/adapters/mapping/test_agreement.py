"""Cohen's kappa, against examples worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.mapping.annotation import Annotation, agreements, cohens_kappa
from corrigible.adapters.mapping.mapping import OperationMapping
from tests._support.rows import rows


def pairs(**counts: int) -> list[tuple[str, str]]:
    """Return pairs by their counts: `yn=5` is five times yes by the one and no by the other."""
    return [(name[0], name[1]) for name, count in counts.items() for _ in range(count)]


@rows(
    ("judged", "kappa"),
    [
        (pairs(yy=20, yn=5, ny=10, nn=15), 0.4),  # 0.7 observed, 0.5 by chance
        (pairs(yy=45, yn=15, ny=25, nn=15), (0.60 - 0.54) / 0.46),
        (pairs(yy=25, yn=35, ny=5, nn=35), (0.60 - 0.46) / 0.54),
        (pairs(ac=1, cr=1, ra=1), -0.5),  # never the same, a third by chance
        (pairs(aa=1, cc=1, rr=1), 1.0),
        (pairs(aa=7), None),  # chance alone gives it
        ([], None),
    ],
)
def test_kappa(judged: Any, kappa: float | None) -> None:
    assert cohens_kappa(judged) == (None if kappa is None else pytest.approx(kappa))


def said(annotator: str, path: str, verdict: str) -> Annotation:
    mapping: Any = {
        "source": {"api": "a", "method": "GET", "path": "/s"},
        "target": {"api": "b", "method": "GET", "path": path},
        "equivalence": "same",
        "score": 1.0,
    }
    proposed = OperationMapping.model_validate(mapping)
    document = {"annotator": annotator, "at": "2026-01-01T00:00:00+00:00", "verdict": verdict, "proposed": proposed}
    return Annotation.model_validate(document)


def test_only_what_both_judged_counts_and_of_each_the_last_word() -> None:
    words = [
        *(said("ann", path, "accept") for path in ("/1", "/2", "/3")),
        said("ann", "/3", "reject"),
        *(said("bob", path, "accept") for path in ("/2", "/4")),
        said("bob", "/3", "reject"),
    ]
    (only,) = agreements(words)
    assert (only.one, only.other, only.shared, only.same, only.kappa) == ("ann", "bob", 2, 2, 1.0)


def test_each_two_of_several_are_compared() -> None:
    words = [said(name, "/1", "accept") for name in ("ann", "bob", "cid")]
    assert [(one.one, one.other) for one in agreements(words)] == [("ann", "bob"), ("ann", "cid"), ("bob", "cid")]
