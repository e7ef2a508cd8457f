"""The counts of "Structure Beats Verbosity for AI Agent Recovery" (https://arxiv.org/html/2606.05037), as printed.

Table 2 gives the cells; 5.3.3, 5.4.1 and 6.2 give the tasks, pooled over three models. Of adv_ctx_003 and
adv_ctx_004 the paper says two things (5.4.1 against 6.2.5): the totals of table 2, and the list of tasks where
Traditional is above zero, fit 5.4.1 only, and fix adv_ctx_004, which has no figure of its own.
"""

from __future__ import annotations

from typing import Final

from .observation import Counts, Observation

ARMS: Final = ("traditional", "verbose", "reflective")

RECIPE: Final = {
    "claude-haiku-4-5": {"traditional": Counts(3, 30), "verbose": Counts(18, 30), "reflective": Counts(29, 30)},
    "claude-sonnet-4-6": {"traditional": Counts(5, 30), "verbose": Counts(14, 30), "reflective": Counts(26, 30)},
    "gpt-4o-mini": {"traditional": Counts(6, 30), "verbose": Counts(15, 30), "reflective": Counts(19, 30)},
}
"""Table 2."""

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
