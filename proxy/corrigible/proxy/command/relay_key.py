"""The file with the key that two proxies share, before and behind a Kubernetes API server (SPEC.md 1.15)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from corrigible.proxy.tls_files import WrongFile

_MINIMUM: Final = 32


def read_key(file: Path) -> bytes:
    """Return the key without surrounding white space. Raises WrongFile if it cannot be read or is too short."""
    try:
        key = file.read_bytes().strip()
    except OSError as problem:
        raise WrongFile(f"--relay-key {file}: {(problem.strerror or str(problem)).lower()}") from None
    if len(key) < _MINIMUM:
        raise WrongFile(f"--relay-key {file}: the key has {len(key)} bytes; it needs at least {_MINIMUM}")
    return key
