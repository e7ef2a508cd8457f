"""Writes reports to files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from corrigible.conformance.model.usage_error import UsageError, did_you_mean
from corrigible.conformance.suite.record import Record, lines

from . import badge, junit, markdown, page, sarif

RENDER: Final[Mapping[str, Callable[[Record], str]]] = {
    "json": lambda record: "".join(lines(record)),
    "html": page.render,
    "junit": junit.render,
    "sarif": sarif.render,
    "md": markdown.render,
    "badge": badge.render,
}


class Wanted(NamedTuple):
    """One report and its file."""

    kind: str
    path: Path


def wanted(arguments: Iterable[str]) -> list[Wanted]:
    """Read `junit=FILE,html=FILE`. Raises UsageError where a kind is unknown or a file cannot be there."""
    reports: list[Wanted] = []
    for argument in arguments:
        for part in argument.split(","):
            kind, _, file = part.strip().partition("=")
            if kind not in RENDER:
                choices = f"{did_you_mean(kind, RENDER)} ({', '.join(RENDER)})"
                raise UsageError(f'--report {part}: no report is called "{kind}"{choices}')
            if not file:
                raise UsageError(f"--report {part}: say where to: {kind}=FILE")
            reports.append(Wanted(kind, Path(file)))
    for kind, path in reports:
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise UsageError(f"--report {kind}={path}: no file can be written there")
    return reports


def write(record: Record, reports: Iterable[Wanted]) -> None:
    """Write reports. Raises UsageError where a file cannot be written."""
    for kind, path in reports:
        try:
            path.write_text(RENDER[kind](record), encoding="utf-8")
        except OSError as problem:
            raise UsageError(f"--report {kind}={path}: {problem.strerror}") from None
