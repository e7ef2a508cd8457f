"""Observations are counted, paired by task, agent and seed, and grouped by task."""

from __future__ import annotations

from corrigible.conformance.lift.stats.estimate import (
    Counts,
    Observation,
    Paired,
    by_task,
    counts,
    paired,
    task_differences,
)
from tests._support.rows import rows

R, V = "reflective", "verbose"


def seen(*rows: str) -> list[Observation]:
    """Read `task arm agent seed +` (a success) or `-`."""
    split = [row.split() for row in rows]
    return [Observation(task, arm, agent, int(seed), sign == "+") for task, arm, agent, seed, sign in split]


@rows(
    ("other", "table"),
    [
        (f"t {V} a 1 -", Paired(0, 1, 0, 0)),
        (f"t {V} a 1 +", Paired(1, 0, 0, 0)),
        (f"t {V} a 2 -", Paired(0, 0, 0, 0)),
        (f"t {V} b 1 -", Paired(0, 0, 0, 0)),
        (f"u {V} a 1 -", Paired(0, 0, 0, 0)),
        ("t none a 1 -", Paired(0, 0, 0, 0)),
    ],
)
def test_a_pair_is_of_one_task_agent_and_seed(other: str, table: Paired) -> None:
    assert paired(seen(f"t {R} a 1 +", other), R, V) == table
    assert paired(seen(other, f"t {R} a 1 +"), R, V) == table


def test_the_table_of_pairs() -> None:
    signs = ["++", "+-", "+-", "-+", "-+", "-+", "--", "--", "--", "--"]
    rows = [f"t {arm} a {n} {sign}" for n, pair in enumerate(signs) for arm, sign in zip((R, V), pair, strict=True)]
    table = paired(seen(*rows), R, V)
    assert (table, table.n) == (Paired(1, 2, 3, 4), 10)


def test_successes_of_an_arm() -> None:
    rows = seen(f"t {R} a 1 +", f"t {R} a 2 -", f"u {R} b 1 +", f"t {V} a 1 -")
    assert (counts(rows, R), counts(rows, V), counts(rows, "none")) == (Counts(2, 3), Counts(0, 1), Counts(0, 0))


def test_a_cluster_is_a_task() -> None:
    rows = seen(f"u {R} a 1 +", f"t {R} a 1 +", f"u {V} b 2 -")
    assert by_task(rows) == {"t": [rows[1]], "u": [rows[0], rows[2]]}
    assert list(by_task(rows)) == ["t", "u"]


def test_the_difference_of_each_task_that_both_arms_tried() -> None:
    rows = seen(f"t {R} a 1 +", f"t {R} a 2 +", f"t {V} a 1 +", f"t {V} a 2 -", f"u {R} a 1 +", "u none a 1 -")
    assert task_differences(rows, R, V) == {"t": 0.5}
    assert task_differences(rows, V, R) == {"t": -0.5}
