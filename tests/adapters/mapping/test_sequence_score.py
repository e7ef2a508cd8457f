"""Metrics of sequences, by examples that were computed by hand."""

from __future__ import annotations

import pytest

from corrigible.adapters.mapping.evaluation import Averages, score_sequences
from corrigible.rules.safety.nearness import common_length
from tests._support.rows import rows


@rows(
    ("generated", "right", "sets", "order"),
    [
        ("abc", "abc", (1, 1), (1, 1)),
        ("cba", "abc", (1, 1), (1 / 3, 1 / 3)),
        ("abd", "abc", (2 / 3, 2 / 3), (2 / 3, 2 / 3)),
        ("xabc", "abc", (3 / 4, 1), (3 / 4, 1)),
        ("ac", "abc", (1, 2 / 3), (1, 2 / 3)),
        ("aab", "ab", (1, 1), (2 / 3, 1)),  # twice the same call: one in the set, one too many in the sequence
        ("", "ab", (0, 0), (0, 0)),
        ("xy", "ab", (0, 0), (0, 0)),
    ],
)
def test_one_example(generated: str, right: str, sets: tuple[float, float], order: tuple[float, float]) -> None:
    found = score_sequences([(generated, right)])
    assert found.sets is not None and found.order is not None
    assert (found.sets.precision, found.sets.recall) == pytest.approx(sets)
    assert (found.order.precision, found.order.recall) == pytest.approx(order)


def test_shares_are_averaged_over_examples_and_f1_is_of_the_averages() -> None:
    found = score_sequences([("ab", "ab"), ("abcd", "ab"), ("x", "abcd"), ("ignored", "")])
    assert found.examples == 3
    assert found.sets is not None
    assert (found.sets.precision, found.sets.recall) == pytest.approx(((1 + 0.5 + 0) / 3, (1 + 1 + 0) / 3))
    assert found.sets.f1 == pytest.approx(2 * 0.5 * (2 / 3) / (0.5 + 2 / 3))


@rows(
    ("precision", "recall", "f1"),
    [
        *((0.2208, 0.1904, 0.2045), (0.2803, 0.2735, 0.2769), (0.0964, 0.0875, 0.0917), (0.1579, 0.1904, 0.1726)),
        *((0.1650, 0.1422, 0.1528), (0.2332, 0.2276, 0.2303), (0.0771, 0.0700, 0.0734), (0.1143, 0.1379, 0.1250)),
    ],
)
def test_the_f1_of_the_papers_table_follows_from_its_averages(precision: float, recall: float, f1: float) -> None:
    assert Averages(precision, recall).f1 == pytest.approx(f1, abs=1e-4)  # all three have four digits there


def test_nothing_to_score_is_no_score() -> None:
    assert score_sequences([("ab", "")]).sets is None


@pytest.mark.parametrize(
    ("one", "other", "length"), [("abcbdab", "bdcaba", 4), ("", "a", 0), ("aaa", "aa", 2), ("abc", "cab", 2)]
)
def test_the_longest_common_subsequence(one: str, other: str, length: int) -> None:
    assert common_length(one, other) == common_length(other, one) == length
