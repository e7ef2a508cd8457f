"""A progress bar on terminals: episodes, time left, tokens, cost. None in CI, files and pipes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from corrigible.conformance.lift.log.record import Episode

from .worker_pool import OnProgress, RunProgress


@contextmanager
def progress(total: int) -> Iterator[OnProgress]:
    """Yield a function to call after every episode."""
    if not sys.stderr.isatty() or os.environ.get("CI"):
        yield lambda state, episode: None
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

        def update(state: RunProgress, episode: Episode | None) -> None:
            bar.update(task, completed=state.before + state.done, description=_line(state, episode))

        yield update


def _line(state: RunProgress, episode: Episode | None) -> str:
    counts = [f"{state.outcomes[name]} {name}" for name in ("success", "failure", "error") if state.outcomes[name]]
    if state.tokens:
        counts.append(f"{state.tokens} tokens")
    if state.cost:
        counts.append(f"cost {state.cost:.2f}")
    if state.feedback_harms:
        counts.append(f"{len(state.feedback_harms)} HARM")
    now = f"  {episode.domain}/{episode.task}" if episode is not None else ""
    return ", ".join(counts) + now
