"""The file that annotations go to: each is on the disk before the answer says that it is kept.

Knows: one file, lines, locks. Does not know: what a line says.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType

try:
    import fcntl
except ImportError:  # Windows: nobody keeps a second process from the file
    fcntl = None  # type: ignore[assignment]

from corrigible.rules.errors import CorrigibleError


class JournalInUse(CorrigibleError):
    """Another process writes to the file."""


class Journal:
    """An open file of lines. Lines are only added."""

    def __init__(self, path: Path) -> None:
        """Open it, and make it where it is not there. Raises JournalInUse and OSError."""
        self.path = path
        self._lock = threading.Lock()
        is_new = not path.exists()
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._drop_torn_line()
            if is_new:
                _sync_folder(path.parent)
        except BlockingIOError:
            os.close(self._file)
            raise JournalInUse(f"{path}: another process writes to it") from None
        except BaseException:
            os.close(self._file)
            raise

    def _drop_torn_line(self) -> None:
        """Cut a last line without its end: its writer was ended before it could say that the line is kept."""
        data = self.path.read_bytes()
        if data and not data.endswith(b"\n"):
            os.ftruncate(self._file, data.rfind(b"\n") + 1)
            os.fsync(self._file)

    def add(self, line: str) -> None:
        """Write a line, and return when it is on the disk. Raises OSError, and then the file is as it was."""
        data = f"{line}\n".encode()
        with self._lock:
            size = os.fstat(self._file).st_size
            try:
                written = os.write(self._file, data)
                if written != len(data):
                    raise OSError("the disk took only a part of it")
                os.fsync(self._file)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._file, size)
                raise

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
