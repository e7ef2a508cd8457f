"""The effort of success: calls, retries, tokens; and how often agents recovered from a first error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from corrigible.conformance.lift.log.record import Episode

from .estimate import Estimate, bootstrapped_mean, tokens_per_success, wilson
from .group import Group, calls, name_of, observations, split
from .observation import Counts


@dataclass(frozen=True, slots=True)
class Effort:
    """Of an agent under an arm."""

    agent: str
    arm: str
    refused: int
    """Episodes whose first attempt was refused."""
    recovered: Estimate
    """The share of those that succeeded; Wilson."""
    attempts: Estimate
    """Attempts of those episodes that succeeded: mean over tasks, tasks resampled."""
    retries: Estimate
    """Attempts after the first, of all episodes: mean over tasks, tasks resampled."""
    by_attempt: tuple[int, ...]
    """Successes that took 1, 2, ... attempts."""
    n: int
    tokens: int | None
    """As billed, of all episodes; None: there is no bill."""
    tokens_per_success: float | None
    """All tokens, those of failures too, for each success."""


def effort(agent: str, arm: str, episodes: Sequence[Episode], *, seed: int) -> Effort:
    """Return what one cell took. Errors are no observations."""
    observed = [one for one in episodes if one.outcome != "error"]
    refused = [one for one in observed if (made := calls(one)) and not made[0].accepted]
    won = [one for one in observed if one.outcome == "success"]
    taken = Counter(one.attempts for one in won)
    billed = [one.spent for one in observed if one.spent is not None]
    whole = len(billed) == len(observed) and bool(billed)
    return Effort(
        agent,
        arm,
        len(refused),
        wilson(Counts(sum(one.outcome == "success" for one in refused), len(refused))),
        _over_tasks(won, 0, seed),
        _over_tasks(observed, 1, seed),
        tuple(taken[n] for n in range(1, max((one.attempts for one in observed), default=0) + 1)),
        len(observed),
        sum(one.input + one.output for one in billed) if whole else None,
        tokens_per_success(observations(observed), arm) if whole else None,
    )


def efforts(group: Group, *, seed: int) -> list[Effort]:
    """Return the effort of every agent and arm."""
    return [effort(agent, arm, inside, seed=seed) for agent, arm, inside in group.cells()]


def _over_tasks(episodes: Sequence[Episode], less: int, seed: int) -> Estimate:
    tasks = split(episodes, name_of).values()
    means = [fmean(max(one.attempts - less, 0) for one in inside) for inside in tasks]
    return bootstrapped_mean(means, seed=seed)
