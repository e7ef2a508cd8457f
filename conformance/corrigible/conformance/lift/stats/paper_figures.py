"""The counts of "Structure Beats Verbosity for AI Agent Recovery" (https://arxiv.org/html/2606.05037), as printed.

Table 2 gives the cells; 5.3.3, 5.4.1 and 6.2 give the tasks, pooled over three models. Of adv_ctx_003 and
adv_ctx_004 the paper says two things (5.4.1 against 6.2.5): the totals of table 2, and the list of tasks where
Traditional is above zero, fit 5.4.1 only, and fix adv_ctx_004, which has no figure of its own.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from .observation import Counts, Observation

ARMS: Final = ("traditional", "verbose", "reflective")

RECIPE: Final = {
    "claude-haiku-4-5": {"traditional": Counts(3, 30), "verbose": Counts(18, 30), "reflective": Counts(29, 30)},
    "claude-sonnet-4-6": {"traditional": Counts(5, 30), "verbose": Counts(14, 30), "reflective": Counts(26, 30)},
    "gpt-4o-mini": {"traditional": Counts(6, 30), "verbose": Counts(15, 30), "reflective": Counts(19, 30)},
}
"""Table 2."""

TOKENS_PER_SUCCESS: Final = {
    "claude-haiku-4-5": {"traditional": 26_603, "verbose": 3_597, "reflective": 2_049},
    "claude-sonnet-4-6": {"traditional": 19_237, "verbose": 5_387, "reflective": 2_504},
    "gpt-4o-mini": {"traditional": 9_471, "verbose": 3_548, "reflective": 3_665},
}
"""Table 3, as billed by the providers."""

EFFICIENCY: Final = {
    "claude-haiku-4-5": (1.76, 1.05, 3.09),
    "claude-sonnet-4-6": (2.15, 1.26, 3.99),
    "gpt-4o-mini": (0.97, 0.47, 2.11),
}
"""Table 3: tokens per success of Verbose over those of Reflective, with the paper's bootstrap over attempts."""

FACTORS: Final = {"claude-haiku-4-5": 1.8, "claude-sonnet-4-6": 2.2, "gpt-4o-mini": 1.0}
"""Table 1: the same factors, as it rounds them."""
MODEL_SWAP: Final = 200
"""Table 1: GPT-4 to gpt-4o-mini, "illustrative", by vendors' prices that the paper does not print."""

ACME: Final = {"traditional": Counts(41, 90), "verbose": Counts(43, 90), "reflective": Counts(90, 90)}
"""5.5.3, three models together."""

RECIPE_TASKS: Final = {
    # task: traditional, verbose, reflective of nine attempts each
    "adv_ctx_001": (3, 1, 9),
    "adv_ctx_002": (2, 6, 9),
    "adv_ctx_003": (0, 0, 3),
    "adv_ctx_004": (3, 7, 9),
    "adv_ctx_005": (6, 9, 9),
    "adv_cascade_001": (0, 3, 8),
    "adv_combo_001": (0, 0, 7),
    "adv_scale_001": (0, 8, 6),
    "adv_scale_002": (0, 4, 5),
    "adv_scale_003": (0, 9, 9),
}
ATTEMPTS: Final = 9


def recipe_observations() -> list[Observation]:
    """Return the pooled task counts as observations. Which of the nine succeeded is not known, and not needed."""
    return [
        Observation(task, arm, "pooled", attempt, attempt < successes)
        for task, figures in RECIPE_TASKS.items()
        for arm, successes in zip(ARMS, figures, strict=True)
        for attempt in range(ATTEMPTS)
    ]


def attempt_tokens(model: str, arm: str) -> float:
    """Return the mean tokens of an attempt: what table 3 says of a success, times the successes of table 2."""
    cell = RECIPE[model][arm]
    return TOKENS_PER_SUCCESS[model][arm] * cell.successes / cell.trials


def efficiency(model: str) -> float:
    """Return tokens per success of verbose over those of reflective, by table 3."""
    tokens = TOKENS_PER_SUCCESS[model]
    return tokens["verbose"] / tokens["reflective"]


def efficiency_by_counts(model: str, *, seed: int = 0, resamples: int = 10_000) -> tuple[float, float, float]:
    """Return the efficiency factor and a bootstrap interval in which every attempt costs the mean of its cell.

    The paper prints no tokens of attempts. So the spread of tokens is left out, and that of successes alone is in it.
    """
    rng = np.random.default_rng(seed)
    cells = [RECIPE[model][arm] for arm in ("verbose", "reflective")]
    drawn = [np.maximum(rng.binomial(c.trials, c.successes / c.trials, resamples), 1) / c.trials for c in cells]
    verbose, reflective = (attempt_tokens(model, arm) for arm in ("verbose", "reflective"))
    low, high = np.percentile((verbose / drawn[0]) / (reflective / drawn[1]), [2.5, 97.5])
    return efficiency(model), float(low), float(high)
