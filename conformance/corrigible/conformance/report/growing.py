"""Writes the record while the run goes on: a line for each check as soon as it has ended.

A run that is broken off leaves all lines but the last one, the counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TextIO

from corrigible.conformance.model.usage_error import UsageError
from corrigible.conformance.suite.record import Entry, Footer, Header, line

from .write import Wanted


class Growing:
    """The files of `--report json=FILE`. A context manager."""

    def __init__(self, reports: Iterable[Wanted], head: Header) -> None:
        self._wanted = [report for report in reports if report.kind == "json"]
        self._head = head
        self._files: list[tuple[Wanted, TextIO]] = []

    def __enter__(self) -> Growing:
        for report in self._wanted:
            try:
                self._files.append((report, report.path.open("w", encoding="utf-8")))
            except OSError as problem:
                raise _unwritable(report, problem) from None
        self.add(self._head)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for _, file in self._files:
            file.close()

    def add(self, one: Header | Entry | Footer) -> None:
        """Write a line, and let nothing of it wait in a buffer."""
        for wanted, file in self._files:
            try:
                file.write(line(one))
                file.flush()
            except OSError as problem:
                raise _unwritable(wanted, problem) from None


def _unwritable(report: Wanted, problem: OSError) -> UsageError:
    return UsageError(f"--report {report.kind}={report.path}: {problem.strerror}")
