"""A bar for people who wait. Not there in CI, in files and in pipes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..record import Entry


@contextmanager
def progress(total: int) -> Iterator[Callable[[Entry], None]]:
    """Hand out a function that is told of every check that ended."""
    if not sys.stderr.isatty() or os.environ.get("CI"):
        yield lambda entry: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=total)
        failed = 0

        def heard(entry: Entry) -> None:
            nonlocal failed
            failed += entry.bad and not entry.advice
            bar.update(task, advance=1, description=f"{failed} failed  {entry.name}" if failed else entry.name)

        yield heard
