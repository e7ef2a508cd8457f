"""A bar for people who wait: episodes, time left, tokens, cost. Not there in CI, in files and in pipes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from corrigible.conformance.lift.log.record import Episode

from .worker_pool import Tally, Told


@contextmanager
def progress(total: int) -> Iterator[Told]:
    """Hand out a function that is told of every episode that ended."""
    if not sys.stderr.isatty() or os.environ.get("CI"):
        yield lambda tally, episode: None
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

        def heard(tally: Tally, episode: Episode | None) -> None:
            bar.update(task, completed=tally.before + tally.done, description=_line(tally, episode))

        yield heard


def _line(tally: Tally, episode: Episode | None) -> str:
    counts = [f"{tally.outcomes[name]} {name}" for name in ("success", "failure", "error") if tally.outcomes[name]]
    if tally.tokens:
        counts.append(f"{tally.tokens} tokens")
    if tally.cost:
        counts.append(f"cost {tally.cost:.2f}")
    if tally.broken_law:
        counts.append(f"{len(tally.broken_law)} HARM")
    now = f"  {episode.domain}/{episode.task}" if episode is not None else ""
    return ", ".join(counts) + now
