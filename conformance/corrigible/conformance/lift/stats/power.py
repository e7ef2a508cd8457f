"""How many tasks a comparison needs. Repeats of a task add little; tasks are what counts.

Source: Connor 1987, sample size for McNemar's test: pairs, the difference sought, the share of discordant pairs.
"""

from __future__ import annotations

import math
from typing import Final

import scipy  # its parts take a second to import: only who computes with them waits

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
