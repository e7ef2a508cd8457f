"""A finished run, read and summed up for the commands that show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corrigible.conformance.lift.log.record import Episode
from corrigible.conformance.lift.log.store import read
from corrigible.conformance.model.usage_error import UsageError
from corrigible.schema.extra import install_line

if TYPE_CHECKING:
    from corrigible.conformance.lift.report.summary import Summary


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """The figures of a log, and the episodes that they are of."""

    summary: Summary
    episodes: Sequence[Episode]


def finished_run(path: Path, primary: tuple[str, str] | None = None) -> FinishedRun:
    """Read the log of a folder, or a file. Raises UsageError where there is none, or nothing to compute with."""
    try:
        from corrigible.conformance.lift.report.summary import summarise
        from corrigible.conformance.lift.stats.group import latest
    except ModuleNotFoundError as problem:
        raise UsageError(f"{problem.name} is not installed: {install_line('conformance,lift')}") from None
    log = read(path)
    if not log.episodes:
        raise UsageError(f"{path}: no episode has ended yet")
    return FinishedRun(summarise(log, primary), latest(log.episodes))
