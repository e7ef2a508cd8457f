"""A bar for people who wait: episodes, time left, tokens, cost. Not there in CI, in files and in pipes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from corrigible.conformance.lift.log.record import Episode

from .worker_pool import RunProgress, Told


@contextmanager
def progress(total: int) -> Iterator[Told]:
    """Hand out a function that is told of every episode that ended."""
    if not sys.stderr.isatty() or os.environ.get("CI"):
        yield lambda totals, episode: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting servers", total=total)

        def heard(totals: RunProgress, episode: Episode | None) -> None:
            bar.update(task, completed=totals.before + totals.done, description=_line(totals, episode))

        yield heard


def _line(totals: RunProgress, episode: Episode | None) -> str:
    counts = [f"{totals.outcomes[name]} {name}" for name in ("success", "failure", "error") if totals.outcomes[name]]
    if totals.tokens:
        counts.append(f"{totals.tokens} tokens")
    if totals.cost:
        counts.append(f"cost {totals.cost:.2f}")
    if totals.feedback_harms:
        counts.append(f"{len(totals.feedback_harms)} HARM")
    now = f"  {episode.domain}/{episode.task}" if episode is not None else ""
    return ", ".join(counts) + now
