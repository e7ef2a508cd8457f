"""Statistics against published figures and against truth that is known because it was made."""

from __future__ import annotations

import math
from itertools import product
from operator import mul

import numpy as np
import pytest

from corrigible.conformance.lift import reproduction
from corrigible.conformance.lift.stats.estimate import (
    Counts,
    Observation,
    Paired,
    bootstrapped_mean,
    clustered_difference,
    clustering,
    counts,
    detectable,
    equivalence,
    fisher,
    holm,
    mcnemar,
    newcombe,
    paired,
    power_of,
    sign_flip,
    task_differences,
    tasks_needed,
    token_ratio,
    tokens_per_success,
    wilson,
)
from tests._support.rows import rows

R, V, T = "reflective", "verbose", "traditional"


@pytest.mark.parametrize(
    ("model", "rates"),
    [
        ("claude-haiku-4-5", (10.0, 60.0, 96.7)),
        ("claude-sonnet-4-6", (16.7, 46.7, 86.7)),
        ("gpt-4o-mini", (20.0, 50.0, 63.3)),
    ],
)
def test_table_2_of_the_paper(model: str, rates: tuple[float, ...]) -> None:
    cells = reproduction.RECIPE[model]
    found = [wilson(cells[arm]).value for arm in reproduction.ARMS]
    assert [round(100 * (rate or 0), 1) for rate in found] == list(rates)


@rows(
    ("model", "pair", "odds", "p"),
    [
        ("claude-haiku-4-5", (R, T), 261.0, 2.4e-12),
        ("claude-haiku-4-5", (R, V), 19.3, 0.0011),
        ("claude-haiku-4-5", (V, T), 13.5, 9.4e-5),
        ("claude-sonnet-4-6", (R, T), 32.5, 7.0e-8),
        ("claude-sonnet-4-6", (R, V), 7.4, 0.0022),
        ("claude-sonnet-4-6", (V, T), 4.4, 0.025),
        ("gpt-4o-mini", (R, T), 6.9, 0.0014),
        ("gpt-4o-mini", (R, V), 1.7, 0.435),
        ("gpt-4o-mini", (V, T), 4.0, 0.029),
    ],
)
def test_table_4_of_the_paper(model: str, pair: tuple[str, str], odds: float, p: float) -> None:
    cells = reproduction.RECIPE[model]
    found_odds, found_p = fisher(cells[pair[0]], cells[pair[1]])
    assert found_odds == pytest.approx(odds, abs=0.05)
    digits = len(f"{p:e}".split("e")[0].rstrip("0").replace(".", ""))
    assert float(f"{found_p:.{digits - 1}e}") == p


def test_the_acme_intervals_of_the_paper() -> None:
    found = {arm: wilson(cell) for arm, cell in reproduction.ACME.items()}
    printed = {T: (45.6, 35.7, 55.8), V: (47.8, 37.8, 58.0), R: (100.0, 95.9, 100.0)}
    for arm, figures in printed.items():
        one = found[arm]
        assert [round(100 * (figure or 0), 1) for figure in (one.value, one.low, one.high)] == list(figures)
    assert fisher(reproduction.ACME[T], reproduction.ACME[R])[1] == pytest.approx(3.75e-19, rel=0.01)
    assert fisher(reproduction.ACME[V], reproduction.ACME[R])[1] == pytest.approx(3.64e-18, rel=0.01)
    assert fisher(reproduction.ACME[T], reproduction.ACME[V])[1] == pytest.approx(0.881, abs=0.001)


def test_the_tasks_of_the_paper_add_up_to_its_cells() -> None:
    for position, arm in enumerate(reproduction.ARMS):
        cells = sum(model[arm].successes for model in reproduction.RECIPE.values())
        assert sum(task[position] for task in reproduction.RECIPE_TASKS.values()) == cells


def test_by_task_the_lift_of_the_paper_is_as_large_and_much_less_certain() -> None:
    observations = reproduction.recipe_observations()
    found = clustered_difference(observations, R, V)
    assert found.estimate.value == pytest.approx(0.30)
    assert found.estimate.low == pytest.approx(0.10, abs=0.02)
    assert found.estimate.high == pytest.approx(0.52, abs=0.02)
    assert (found.p, found.exact) == (0.03125, True)
    effective = {}
    for arm in (R, V):
        groups = [
            [one.success for one in observations if (one.task, one.arm) == (task, arm)]
            for task in reproduction.RECIPE_TASKS
        ]
        alike = clustering(groups)
        assert alike is not None
        effective[arm] = round(alike.effective_n)
    assert effective == {R: 27, V: 17}


def test_newcombes_own_example() -> None:
    """Newcombe 1998, Improved confidence intervals for the difference between paired proportions, table III."""
    found = newcombe(Paired(20, 12, 2, 16))
    assert found.value == pytest.approx(0.20)
    assert found.low == pytest.approx(0.0562, abs=5e-5)
    assert found.high == pytest.approx(0.3290, abs=5e-4)


def test_mcnemar_sees_only_pairs_that_disagree() -> None:
    assert mcnemar(Paired(50, 8, 1, 3)) == pytest.approx(0.0390625)
    assert mcnemar(Paired(5, 8, 1, 300)) == pytest.approx(0.0390625)
    assert mcnemar(Paired(10, 0, 0, 10)) == 1.0


def test_sign_flips_are_counted_where_rates_are_fractions_and_drawn_otherwise() -> None:
    assert sign_flip([1.0, 1.0, 1.0, 1.0, 1.0]) == (2 / 32, True)
    assert sign_flip([0.0, 0.0]) == (1.0, True)
    assert sign_flip([0.3]) == (1.0, True)
    p, exact = sign_flip([0.5] * 30)
    assert exact and p == pytest.approx(2 / 2**30)
    some = [1 / 3, -2 / 3, 1 / 2, 1.0, -1 / 4]
    sums = [abs(sum(map(mul, some, signs))) for signs in product((1, -1), repeat=len(some))]
    p, exact = sign_flip(some)
    assert exact and p == pytest.approx(sum(one >= sums[0] - 1e-9 for one in sums) / len(sums))
    odd = [0.123457 + n / 1009 for n in range(30)]
    p, exact = sign_flip(odd)
    assert not exact and p < 0.001
    assert sign_flip(odd) == (p, exact)


def test_repeats_of_one_task_do_not_make_the_interval_narrow() -> None:
    """Ten tasks, each all or nothing: forty repeats say no more than one."""
    once = [Observation(f"t{i}", arm, "a", 0, arm == R or i < 5) for i in range(10) for arm in (R, V)]
    often = [Observation(one.task, one.arm, one.agent, seed, one.success) for one in once for seed in range(40)]
    assert clustered_difference(once, R, V) == clustered_difference(often, R, V)


def test_the_clustered_interval_covers_a_known_difference() -> None:
    """300 made experiments of 24 tasks with a true difference of 0.2: about 95 of 100 intervals hold it."""
    rng = np.random.default_rng(7)
    held = 0
    for number in range(300):
        ease = rng.beta(0.7, 0.7, size=24) * 0.8
        observations = [
            Observation(f"t{task}", arm, "a", seed, bool(rng.random() < ease[task] + (0.2 if arm == R else 0.0)))
            for task in range(24)
            for arm in (R, V)
            for seed in range(5)
        ]
        differences = list(task_differences(observations, R, V).values())
        found = bootstrapped_mean(tuple(differences), seed=number, resamples=1000)
        assert found.low is not None and found.high is not None
        held += found.low <= 0.2 <= found.high
    assert 0.90 <= held / 300 <= 0.985


def test_too_little_is_said_to_be_too_little() -> None:
    alone = [Observation("t", R, "a", 0, True), Observation("t", V, "a", 0, False)]
    found = clustered_difference(alone, R, V)
    assert (found.estimate.value, found.estimate.low, found.p) == (1.0, None, None)
    assert clustered_difference([], R, V).estimate.value is None
    assert wilson(Counts(0, 0)).value is None
    assert newcombe(Paired(0, 0, 0, 0)).value is None
    assert equivalence(alone, R, V, margin=0.1) is None
    assert clustering([[True], [False]]) is None


def test_pairs_are_made_of_the_same_task_agent_and_seed() -> None:
    observations = [
        Observation("t1", R, "a", 0, True),
        Observation("t1", V, "a", 0, False),
        Observation("t1", R, "a", 1, True),
        Observation("t1", V, "b", 1, True),
        Observation("t2", R, "a", 0, True),
        Observation("t2", V, "a", 0, True),
    ]
    assert paired(observations, R, V) == Paired(1, 1, 0, 0)
    assert counts(observations, R) == Counts(3, 3)


def test_each_seed_makes_a_pair_of_its_own() -> None:
    observations = [Observation("t1", arm, "a", seed, (arm == R) == (seed < 2)) for arm in (R, V) for seed in range(3)]
    assert paired(observations, R, V) == Paired(both=0, first_only=2, second_only=1, neither=0)


def test_tokens_of_failures_are_paid_too() -> None:
    observations = [
        Observation("t1", R, "a", 0, True, tokens=100),
        Observation("t2", R, "a", 0, False, tokens=300),
        Observation("t1", V, "a", 0, True, tokens=800),
        Observation("t2", V, "a", 0, True, tokens=400),
    ]
    assert tokens_per_success(observations, R) == 400
    found = token_ratio(observations, V, R)
    assert found.value == pytest.approx(1.5)
    assert found.low is not None and found.high is not None and found.low <= 1.5 <= found.high
    assert tokens_per_success([Observation("t1", R, "a", 0, True)], R) is None


def test_a_tie_needs_proof_too() -> None:
    tied = [
        Observation(f"t{task}", arm, "a", seed, (task + seed + (arm == R)) % 4 > 0)
        for task in range(40)
        for arm in (R, V)
        for seed in range(4)
    ]
    assert (equivalence(tied, R, V, margin=0.1) or 0) < 0.05
    few = [one for one in tied if one.task in ("t0", "t1", "t2") and one.seed == 0]
    assert (equivalence(few, R, V, margin=0.1) or 0) > 0.05


def test_holm_never_makes_a_p_smaller_and_keeps_their_order() -> None:
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06})
    assert holm({}) == {}


def test_more_tasks_and_not_more_repeats() -> None:
    assert tasks_needed(0.30, 0.40) == 33
    assert tasks_needed(0.15, 0.30) == 103
    assert power_of(33, 0.30, 0.40) == pytest.approx(0.80, abs=0.02)
    found = detectable(33, 0.40)
    assert found is not None and math.isclose(found, 0.30, abs_tol=0.005)
    assert detectable(3, 0.2) is None
    with pytest.raises(ValueError, match="discordance"):
        tasks_needed(0.5, 0.2)


@rows(("difference", "discordance"), [(0.3, 0.4), (0.15, 0.3), (0.5, 0.6)])
@rows("power", [0.8, 0.95])
def test_the_tasks_that_are_needed_show_the_difference_and_one_less_does_not(
    difference: float, discordance: float, power: float
) -> None:
    tasks = tasks_needed(difference, discordance, power=power)
    assert power_of(tasks, difference, discordance) >= power > power_of(tasks - 1, difference, discordance)
    found = detectable(tasks, discordance, power=power)
    assert found is not None and found <= difference
    assert power_of(tasks, found, discordance) == pytest.approx(power)


@pytest.mark.parametrize("tasks", [1, 4])
def test_where_every_task_that_differs_is_won_enough_of_them_show_it_for_sure(tasks: int) -> None:
    assert power_of(tasks, 1, 1) == (1.0 if tasks == 4 else 0.0)


@rows(
    ("figures", "more", "problem"),
    [
        ((0, 0.4), {}, "a difference of 0"),
        ((1.1, 1.2), {}, "a difference of 1.1"),
        ((0.5, 1.1), {}, "a discordance of 1.1"),
        ((0.3, 0.4), {"alpha": 0.0}, "alpha and power"),
        ((0.3, 0.4), {"alpha": 1.0}, "alpha and power"),
        ((0.3, 0.4), {"power": 0.0}, "alpha and power"),
        ((0.3, 0.4), {"power": 1.0}, "alpha and power"),
    ],
)
def test_figures_that_cannot_be(figures: tuple[float, float], more: dict[str, float], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        tasks_needed(*figures, **more)


def test_without_tasks_nothing_is_seen() -> None:
    with pytest.raises(ValueError, match="0 tasks"):
        power_of(0, 0.3, 0.4)
