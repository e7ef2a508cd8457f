"""`--watch`: run a command again whenever one of its files changes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

_PAUSE: Final = 0.3
"""Seconds between two looks at the files."""


def watch(run: Callable[[], int], folders: Sequence[Path]) -> int:
    """Run, and run again after each change below the folders, until the user interrupts. Returns the last status."""
    status = 0
    try:
        while True:
            before = _times(folders)
            status = run()
            sys.stdout.flush()  # a pipe gets it now, not when the command ends
            print(f"-- watching {len(before)} files; Ctrl-C ends", file=sys.stderr, flush=True)
            while _times(folders) == before:
                time.sleep(_PAUSE)
    except KeyboardInterrupt:
        return status


def _times(folders: Sequence[Path]) -> dict[Path, int]:
    """Return when each file was changed; a file may go while we look."""
    times = {}
    for folder in folders:
        for file in sorted(folder.rglob("*")):
            try:
                if file.is_file():
                    times[file] = file.stat().st_mtime_ns
            except OSError:
                continue
    return times
