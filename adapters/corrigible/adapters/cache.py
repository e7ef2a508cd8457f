"""The cache folder of this distribution, into which sandboxes and descriptions go, one process at a time."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_COMPLETE = ".complete"


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return `$CORRIGIBLE_CACHE`, else `corrigible` in the user's cache folder."""
    if chosen := environ.get("CORRIGIBLE_CACHE"):
        return Path(chosen)
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "corrigible"


def fingerprint(*parts: bytes) -> str:
    """Name an install by everything that decides its content."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:12]


def installed(name: str, install: Callable[[Path], None], *, cache: Path | None = None) -> Path:
    """Return the folder `name` of the cache, running `install` on an empty one unless that was done before.

    An install that was cut off leaves no mark, and is done again.
    """
    root = cache_folder() if cache is None else cache
    folder = root / name
    root.mkdir(parents=True, exist_ok=True)
    with _exclusive(root / f"{name}.lock"):
        if not (folder / _COMPLETE).exists():
            if folder.exists():
                shutil.rmtree(folder)
            folder.mkdir()
            install(folder)
            (folder / _COMPLETE).touch()
    return folder


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # freed when the file is closed, even by a crash
        yield
