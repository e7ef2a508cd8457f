"""The log file: one JSON line per episode, appended and synced, so that a kill loses at most one.

Knows: lines, locks. Does not know: how episodes are played, what they mean. What ran stands in a line before them.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from corrigible.conformance.model.usage_error import UsageError

from .record import FORMAT, Episode, Manifest

LOG: Final = "log.jsonl"
_LOCK: Final = "lock"


@dataclass(frozen=True, slots=True)
class Log:
    """The contents of a log."""

    manifests: tuple[Manifest, ...]
    episodes: tuple[Episode, ...]
    """The last record of every key, in order of first appearance."""
    warnings: tuple[str, ...] = ()

    @property
    def manifest(self) -> Manifest:
        """The one that the last episodes ran under."""
        return self.manifests[-1]


def read(path: Path) -> Log:
    """Read the log of a folder, or a file. A torn last line is dropped and said; any other is an error."""
    file = path / LOG if path.is_dir() else path
    try:
        content = file.read_bytes()
    except OSError as problem:
        raise UsageError(f"{file}: {problem.strerror}: no log of `conformance lift run`") from None
    whole, _, torn = content.rpartition(b"\n")
    warnings = [f"{file}: the last line is torn and does not count: a run was killed there"] if torn else []
    manifests: list[Manifest] = []
    episodes: dict[str, Episode] = {}
    for number, line in enumerate(whole.split(b"\n") if whole else (), start=1):
        try:
            document = json.loads(line)
            if "format" in document:
                if document["format"] != FORMAT:
                    raise UsageError(f"{file}: line {number}: format {document['format']}, and this reads {FORMAT}")
                manifests.append(Manifest.model_validate(document))
            else:
                episode = Episode.model_validate(document)
                episodes[episode.key] = episode
        except (ValueError, TypeError, ValidationError) as problem:
            raise UsageError(f"{file}: line {number} is no line of a log: {str(problem).splitlines()[0]}") from None
    if not manifests:
        raise UsageError(f"{file}: does not say what ran: no log of `conformance lift run`")
    return Log(tuple(manifests), tuple(episodes.values()), tuple(warnings))


class Store:
    """A log that is written. Usable from several threads of one process."""

    def __init__(self, folder: Path, descriptor: int, log: Log | None) -> None:
        self.folder = folder
        self.log = log
        """What was there before."""
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def add(self, entry: Episode | Manifest) -> None:
        """Append one line. When this returns, it is on the disk."""
        # ASCII: half a character, which a model or a server may write, has no UTF-8.
        line = json.dumps(entry.model_dump(mode="json"), separators=(",", ":")).encode() + b"\n"
        with self._lock:
            left = memoryview(line)
            while left:
                left = left[os.write(self._descriptor, left) :]
            os.fsync(self._descriptor)


@contextmanager
def opened(folder: Path) -> Iterator[Store]:
    """Open the log of a folder for one run. Raises UsageError where another run is writing to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as problem:
        raise UsageError(f"{folder}: {problem.strerror}") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(lock, 20, 0).decode("ascii", "replace").strip()
            raise UsageError(f"{folder}: another run writes here{f' (process {holder})' if holder else ''}") from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        descriptor = os.open(folder / LOG, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            log = read(folder) if os.fstat(descriptor).st_size else None
            _drop_torn_line(folder / LOG)
            yield Store(folder, descriptor, log)
        finally:
            os.close(descriptor)
    finally:
        os.close(lock)


def _drop_torn_line(path: Path) -> None:
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        os.truncate(path, content.rfind(b"\n") + 1)
