"""Progress of a run: a bar on a terminal, else a line every few seconds."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from corrigible.conformance.model.background import repeated_beside
from corrigible.conformance.model.outcome import Outcome
from corrigible.conformance.suite.record import Entry

EVERY: Final = 5.0
"""Seconds between two lines. A run that takes less says nothing."""


@contextmanager
def progress(total: int, *, every: float = EVERY) -> Iterator[Callable[[Entry], None]]:
    """Hand out a function that is told of every check that ended."""
    shown = _bar(total) if sys.stderr.isatty() and not os.environ.get("CI") else _lines(total, every)
    with shown as heard:
        yield heard


def _failed(entry: Entry) -> bool:
    return entry.bad and not entry.advice and entry.outcome is not Outcome.NOT_RUN


@contextmanager
def _lines(total: int, every: float) -> Iterator[Callable[[Entry], None]]:
    """Say how far it is from time to time, also while one check takes long."""
    began = time.monotonic()
    done = failed = 0
    last = ""

    def heard(entry: Entry) -> None:
        nonlocal done, failed, last
        done, failed, last = done + 1, failed + _failed(entry), entry.name

    def print_progress() -> None:
        after = f", the last one {last}" if last else ""
        sentence = f"{time.monotonic() - began:5.0f} s  {done} of {total} checks, {failed} failed{after}"
        with suppress(OSError, ValueError):  # nobody reads it any more
            print(sentence, file=sys.stderr, flush=True)

    with repeated_beside(print_progress, first=every, every=every, name="progress"):
        yield heard


@contextmanager
def _bar(total: int) -> Iterator[Callable[[Entry], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=total)
        failed = 0

        def heard(entry: Entry) -> None:
            nonlocal failed
            failed += _failed(entry)
            bar.update(task, advance=1, description=f"{failed} failed  {entry.name}" if failed else entry.name)

        yield heard
