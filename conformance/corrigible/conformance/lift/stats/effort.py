"""The effort of success: calls, retries, tokens; and how often agents recovered from a first error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from corrigible.conformance.lift.log.record import Episode

from .answer_size import answer_tokens
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
    """Attempts after the first refusal or success, of all episodes: mean over tasks, tasks resampled."""
    by_attempt: tuple[int, ...]
    """Successes that took 1, 2, ... attempts."""
    n: int
    tokens: int | None
    """As billed, of all episodes; None: there is no bill."""
    tokens_per_success: float | None
    """All tokens, those of failures too, for each success."""
    answer_tokens: float | None = None
    """Of the first refused answer, as the arm shows it: mean over tasks."""


def effort(agent: str, arm: str, episodes: Sequence[Episode], *, seed: int) -> Effort:
    """Return what one cell took. Errors are no observations."""
    observed = [episode for episode in episodes if episode.outcome != "error"]
    rejected = [episode for episode in observed if (made_calls := calls(episode)) and not made_calls[0].accepted]
    won = [episode for episode in observed if episode.outcome == "success"]
    counts = Counter(episode.attempts for episode in won)
    billed = [episode.spent for episode in observed if episode.spent is not None]
    whole = len(billed) == len(observed) and bool(billed)
    return Effort(
        agent,
        arm,
        len(rejected),
        wilson(Counts(sum(episode.outcome == "success" for episode in rejected), len(rejected))),
        _over_tasks(won, 0, seed),
        _over_tasks(observed, 0 if any(episode.start == "refusal" for episode in observed) else 1, seed),
        tuple(counts[n] for n in range(1, max((episode.attempts for episode in observed), default=0) + 1)),
        len(observed),
        sum(usage.input + usage.output for usage in billed) if whole else None,
        tokens_per_success(observations(observed), arm) if whole else None,
        answer_tokens(observed),
    )


def efforts(group: Group, *, seed: int) -> list[Effort]:
    """Return the effort of every agent and arm."""
    return [effort(agent, arm, inside, seed=seed) for agent, arm, inside in group.cells()]


def _over_tasks(episodes: Sequence[Episode], less: int, seed: int) -> Estimate:
    tasks = split(episodes, name_of).values()
    means = [fmean(max(episode.attempts - less, 0) for episode in inside) for inside in tasks]
    return bootstrapped_mean(means, seed=seed)
