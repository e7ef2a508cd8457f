"""Episodes as statistics see them, and estimates with intervals: clustered by task, and simple ones for comparison.

Sources: Newcombe 1998 (method 10), Wilson 1927, McNemar 1947, Holm 1979, Schuirmann 1987 (TOST), Connor 1987 (sample
size for McNemar's test). Why tasks are resampled and not episodes: repeats of a task are alike (see `design_effect`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from statistics import fmean
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import scipy  # its parts take a second to import: only who computes with them waits


@dataclass(frozen=True, slots=True)
class Observation:
    """How one episode ended. One that crashed is no observation."""

    task: str
    arm: str
    agent: str
    seed: int
    success: bool
    attempts: int = 1
    tokens: int | None = None
    """As billed by the provider; None where there is none."""


class Counts(NamedTuple):
    """k successes in n episodes."""

    successes: int
    trials: int


class Paired(NamedTuple):
    """The two arms of the same (task, agent, seed): how often both, only one or neither succeeded."""

    both: int
    first_only: int
    second_only: int
    neither: int

    @property
    def n(self) -> int:
        return sum(self)


def counts(observations: Iterable[Observation], arm: str) -> Counts:
    """Count the successes of an arm."""
    successes = [observation.success for observation in observations if observation.arm == arm]
    return Counts(sum(successes), len(successes))


def paired(observations: Iterable[Observation], first: str, second: str) -> Paired:
    """Put the episodes of two arms side by side. What one arm alone has is left out."""
    by_key: dict[tuple[str, str, int], dict[str, bool]] = {}
    for observation in observations:
        if observation.arm in (first, second):
            by_key.setdefault((observation.task, observation.agent, observation.seed), {})[observation.arm] = (
                observation.success
            )
    table = [0, 0, 0, 0]
    for arms in by_key.values():
        if len(arms) == 2:
            table[2 * (not arms[first]) + (not arms[second])] += 1
    return Paired(*table)


def by_task(observations: Iterable[Observation]) -> dict[str, list[Observation]]:
    """Return the one partition that every interval and every test uses: a cluster is a task."""
    return split(observations, lambda observation: observation.task)


_Grouped = TypeVar("_Grouped")


def split(parts: Iterable[_Grouped], by: Callable[[_Grouped], str]) -> dict[str, list[_Grouped]]:
    """Return episodes, or what is known of each, grouped by a key and sorted by it."""
    groups: dict[str, list[_Grouped]] = {}
    for one in parts:
        groups.setdefault(by(one), []).append(one)
    return dict(sorted(groups.items()))


def task_differences(observations: Iterable[Observation], first: str, second: str) -> dict[str, float]:
    """Return, for each task that both arms tried, the success rate of the first less that of the second."""
    out: dict[str, float] = {}
    for task, inside in by_task(observations).items():
        rates = [[observation.success for observation in inside if observation.arm == arm] for arm in (first, second)]
        if all(rates):
            out[task] = fmean(rates[0]) - fmean(rates[1])
    return out


RESAMPLES: Final = 10_000
_LARGEST_DENOMINATOR: Final = 420
"""Of differences whose sign-flips are counted: rates over up to seven seeds have one below that, and many more do."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval; None where there is too little to say."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    """Of what was resampled or counted: tasks, pairs or episodes."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One arm less another, over tasks."""

    estimate: Estimate
    p: float | None
    """Two-sided sign-flip test over tasks."""
    exact: bool
    """All sign-flips were counted."""


def clustered_difference(
    observations: Sequence[Observation], first: str, second: str, *, seed: int = 0, resamples: int = RESAMPLES
) -> Difference:
    """Return the mean over tasks of their differences: bootstrap over tasks, sign-flip test over tasks."""
    differences = tuple(task_differences(observations, first, second).values())
    estimate = bootstrapped_mean(differences, seed=seed, resamples=resamples)
    return Difference(estimate, *(sign_flip(differences, seed=seed) if len(differences) > 1 else (None, False)))


@cache
def bootstrapped_mean(values: tuple[float, ...], *, seed: int = 0, resamples: int = RESAMPLES) -> Estimate:
    """Return the mean with the interval between the 2.5th and 97.5th percentile of resampled means."""
    array, n = np.array(values), len(values)
    if n < 2:
        return Estimate(float(array[0]) if n else None, None, None, n)
    rng = np.random.default_rng(seed)
    low, high = np.percentile(array[rng.integers(0, n, size=(resamples, n))].mean(axis=1), [2.5, 97.5])
    return Estimate(float(array.mean()), float(low), float(high), n)


def sign_flip(differences: npt.ArrayLike, *, seed: int = 0) -> tuple[float, bool]:
    """Return the two-sided p of the mean under flips of sign, and whether all of them were counted.

    Rates are fractions, so the sums that flips reach are few: all 2^n flips are counted by their sum, for any n.
    Where differences have no common denominator that is small, flips are drawn.
    """
    values = np.asarray(differences, dtype=float)
    moved = values[values != 0]
    if not len(moved):
        return 1.0, True
    for denominator in range(1, _LARGEST_DENOMINATOR + 1):
        whole = np.abs(np.rint(moved * denominator))
        if np.allclose(np.abs(moved) * denominator, whole, rtol=0, atol=1e-9):
            return _counted_flips([int(sample) for sample in whole], abs(round(float(moved.sum()) * denominator))), True
    test_result = scipy.stats.permutation_test(
        [moved],
        np.mean,
        permutation_type="samples",
        n_resamples=99_999,
        vectorized=True,
        rng=np.random.default_rng(seed),
    )
    return float(test_result.pvalue), False


def _counted_flips(sizes: Sequence[int], observed_sum: int) -> float:
    """Return the share of flips whose sum is as far from zero as the one reached, or farther."""
    total = sum(sizes)
    chance = np.zeros(2 * total + 1)
    chance[total] = 1.0
    for size in sizes:
        chance = (np.roll(chance, size) + np.roll(chance, -size)) / 2  # no sum leaves the array: nothing wraps round
    return float(min(chance[: total - observed_sum + 1].sum() + chance[total + observed_sum :].sum(), 1.0))


@cache  # tables have few different cells
def wilson(count: Counts) -> Estimate:
    """Return a proportion with its Wilson interval."""
    if not count.trials:
        return Estimate(None, None, None, 0)
    interval = scipy.stats.binomtest(count.successes, count.trials).proportion_ci(method="wilson")
    return Estimate(count.successes / count.trials, float(interval.low), float(interval.high), count.trials)


def mcnemar(table: Paired) -> float:
    """Return the exact two-sided p of McNemar's test."""
    discordant = table.first_only + table.second_only
    return float(scipy.stats.binomtest(table.first_only, discordant, 0.5).pvalue) if discordant else 1.0


def newcombe(table: Paired) -> Estimate:
    """Return the difference of paired proportions, with Newcombe's interval (method 10)."""
    n = table.n
    if not n:
        return Estimate(None, None, None, 0)
    a, b, c, d = table
    first, second = wilson(Counts(a + b, n)), wilson(Counts(a + c, n))
    assert first.value is not None and first.low is not None and first.high is not None
    assert second.value is not None and second.low is not None and second.high is not None
    product = (a + b) * (c + d) * (a + c) * (b + d)
    cross = a * d - b * c
    corrected = max(cross - n / 2, 0) if cross > 0 else cross  # the continuity correction that makes it method 10
    phi = corrected / math.sqrt(product) if product else 0.0
    down = (first.value - first.low, second.high - second.value)
    up = (first.high - first.value, second.value - second.low)
    difference = first.value - second.value

    def half(x: float, y: float) -> float:
        return math.sqrt(max(0.0, x * x - 2 * phi * x * y + y * y))

    return Estimate(difference, difference - half(*down), difference + half(*up), n)


def fisher(first: Counts, second: Counts) -> tuple[float | None, float]:
    """Return the odds ratio of the first (None: unbounded or undefined) and Fisher's exact two-sided p.

    It takes every episode for independent, as the paper does; repeats of a task are not.
    """
    table = [[first.successes, first.trials - first.successes], [second.successes, second.trials - second.successes]]
    p = float(scipy.stats.fisher_exact(np.array(table)).pvalue)
    below = table[0][1] * table[1][0]
    return (table[0][0] * table[1][1] / below if below else None), p


def holm(values: Mapping[str, float]) -> dict[str, float]:
    """Return the p of every comparison of a family, adjusted by Holm's method."""
    names = sorted(values, key=lambda name: values[name])
    steps = (min((len(names) - index) * values[name], 1.0) for index, name in enumerate(names))
    adjusted = dict(zip(names, accumulate(steps, max), strict=True))
    return {name: adjusted[name] for name in values}


def equivalence(observations: Sequence[Observation], first: str, second: str, *, margin: float) -> float | None:
    """Return the p of two one-sided t-tests over tasks: small means that the arms differ by less than the margin."""
    differences = list(task_differences(observations, first, second).values())
    if len(set(differences)) < 2:
        return None  # tasks that all came out alike have no spread, and few of them prove nothing
    above = scipy.stats.ttest_1samp(differences, -margin, alternative="greater").pvalue
    below = scipy.stats.ttest_1samp(differences, margin, alternative="less").pvalue
    return float(max(above, below))


def tokens_per_success(observations: Sequence[Observation], arm: str) -> float | None:
    """Return all tokens of an arm, those of failures too, for each success; None without a success or a bill."""
    matching = [observation for observation in observations if observation.arm == arm]
    successes = sum(observation.success for observation in matching)
    if not successes or any(observation.tokens is None for observation in matching):
        return None
    return sum(observation.tokens or 0 for observation in matching) / successes


def token_ratio(
    observations: Sequence[Observation], first: str, second: str, *, seed: int = 0, resamples: int = RESAMPLES
) -> Estimate:
    """Return the tokens per success of one arm over those of another; tasks are resampled.

    A draw without a success in one of the arms has no ratio: it counts as infinite, or as zero.
    """
    clusters = [
        inside
        for inside in by_task(observations).values()
        if {first, second} <= {observation.arm for observation in inside}
    ]
    upper, lower = (
        tokens_per_success([observation for inside in clusters for observation in inside], arm)
        for arm in (first, second)
    )
    if upper is None or lower is None or len(clusters) < 2:
        return Estimate(upper / lower if upper is not None and lower else None, None, None, len(clusters))
    sums = np.array(
        [
            [
                total
                for arm in (first, second)
                for total in (
                    sum(observation.tokens or 0 for observation in inside if observation.arm == arm),
                    sum(observation.success for observation in inside if observation.arm == arm),
                )
            ]
            for inside in clusters
        ],
        dtype=float,
    )
    rng = np.random.default_rng(seed)
    drawn = sums[rng.integers(0, len(clusters), size=(resamples, len(clusters)))].sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (drawn[:, 0] / drawn[:, 1]) / (drawn[:, 2] / drawn[:, 3])
    low, high = np.percentile(ratios[~np.isnan(ratios)], [2.5, 97.5], method="nearest")
    return Estimate(upper / lower, float(low), float(high), len(clusters))


@dataclass(frozen=True, slots=True)
class Clustering:
    """How alike the repeats of a task are, and what that leaves of n."""

    icc: float
    """Intraclass correlation, one-way analysis of variance."""
    design_effect: float
    effective_n: float
    n: int


def clustering(groups: Sequence[Sequence[bool]]) -> Clustering | None:
    """Return what clustering does to n episodes of k tasks. None where tasks were tried once, or all went alike."""
    n = sum(len(group) for group in groups)
    k = len(groups)
    if k < 2 or n <= k:
        return None
    grand = fmean(value for group in groups for value in group)
    between = sum(len(g) * (fmean(g) - grand) ** 2 for g in groups) / (k - 1)
    within = sum((value - fmean(g)) ** 2 for g in groups for value in g) / (n - k)
    size = (n - sum(len(g) ** 2 for g in groups) / n) / (k - 1)
    spread = between + (size - 1) * within
    if spread == 0:
        return None
    icc = (between - within) / spread
    effect = 1 + (n / k - 1) * max(icc, 0.0)
    return Clustering(icc, effect, n / effect, n)


_EXACT: Final = 1e-12
"""How near to the smallest difference is near enough."""


def tasks_needed(difference: float, discordance: float, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """Return the number of tasks, one pair each.

    `difference` is the gain in success rate (0.3 for 30 points), `discordance` the share of tasks where only one of
    the arms succeeds; it cannot be less than the difference. Raises ValueError on figures that cannot be.
    """
    _check(difference, discordance, alpha, power)
    z, y = float(scipy.stats.norm.isf(alpha / 2)), float(scipy.stats.norm.isf(1 - power))
    n = (z * math.sqrt(discordance) + y * math.sqrt(discordance - difference**2)) ** 2 / difference**2
    return math.ceil(n)


def power_of(tasks: int, difference: float, discordance: float, *, alpha: float = 0.05) -> float:
    """Return the chance to see such a difference with so many tasks."""
    _check(difference, discordance, alpha, 0.5)
    if tasks < 1:
        raise ValueError(f"{tasks} tasks: there must be at least one")
    spread = math.sqrt(discordance - difference**2)
    reach = difference * math.sqrt(tasks) - float(scipy.stats.norm.isf(alpha / 2)) * math.sqrt(discordance)
    return 1.0 if spread == 0 and reach > 0 else float(scipy.stats.norm.cdf(reach / spread)) if spread else 0.0


def detectable(tasks: int, discordance: float, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """Return the smallest difference that so many tasks show with that power; None where none does."""
    low, high = 0.0, discordance
    if power_of(tasks, high, discordance, alpha=alpha) < power:
        return None
    while high - low > _EXACT:
        middle = (low + high) / 2
        is_detectable = power_of(tasks, middle, discordance, alpha=alpha) >= power
        low, high = (low, middle) if is_detectable else (middle, high)
    return high


def _check(difference: float, discordance: float, alpha: float, power: float) -> None:
    if not 0 < difference <= 1:
        raise ValueError(f"a difference of {difference}: give a share between 0 and 1, 0.3 for 30 points")
    if not difference <= discordance <= 1:
        raise ValueError(f"a discordance of {discordance}: between the difference, {difference}, and 1")
    if not (0 < alpha < 1 and 0 < power < 1):
        raise ValueError("alpha and power are between 0 and 1")
