"""The compiled form of a description: an index, and records of operations and shared schemas, read on demand.

corrigible-openapi <format>\n
<length of the index, 8 bytes><index: JSON><records: JSON, each at the offset that the index names>
"""

from __future__ import annotations

import mmap
import os
import subprocess
import threading
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from corrigible.schema.exchange import Json

FORMAT = 5
"""Another number for every change of what is compiled: what others have in their caches is then made anew."""
_MAGIC = f"corrigible-openapi {FORMAT}\n".encode()
_LENGTH = 8


class NotCompiled(ValueError):
    """These bytes are no compiled description of this format."""


def encode_compiled(index: Mapping[str, Json], operations: Mapping[str, Json], definitions: Sequence[Json]) -> bytes:
    """Return the file's content."""
    records = bytearray()

    def place(record: Json) -> tuple[int, int]:
        data = orjson.dumps(record)
        records.extend(data)
        return len(records) - len(data), len(data)

    whole = {
        **index,
        "records": {name: place(record) for name, record in operations.items()},
        "definitions": [place(record) for record in definitions],
    }
    head = orjson.dumps(whole)
    return _MAGIC + len(head).to_bytes(_LENGTH, "big") + head + bytes(records)


class CompiledFile:
    """A compiled description. Only its index is in memory."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        """Raises NotCompiled where the bytes are something else, or cut off."""
        start = len(_MAGIC) + _LENGTH
        if data[: len(_MAGIC)] != _MAGIC:
            raise NotCompiled("not a compiled description of this format")
        length = int.from_bytes(data[len(_MAGIC) : start], "big")
        try:
            self.index: dict[str, Any] = orjson.loads(data[start : start + length])
        except orjson.JSONDecodeError:
            raise NotCompiled("the index is damaged") from None
        self._data = data
        self._start = start + length
        try:
            places = [*self.index["records"].values(), *self.index["definitions"]]
            end = self._start + max((at + size for at, size in places), default=0)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise NotCompiled("the index is none") from None
        if end > len(data):
            raise NotCompiled("cut off")

    @classmethod
    def open(cls, path: Path) -> CompiledFile:
        """Map a file. Raises NotCompiled, or OSError where it cannot be read."""
        with path.open("rb") as file:
            try:
                return cls(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            except ValueError as problem:  # an empty file cannot be mapped
                raise NotCompiled(str(problem)) from None

    def operation(self, name: str) -> Json:
        """Return the record of an operation, None where there is none."""
        place = self.index["records"].get(name)
        return None if place is None else self._record(*place)

    def definition(self, number: int) -> Json:
        return self._record(*self.index["definitions"][number])

    def _record(self, at: int, size: int) -> Json:
        start = self._start + at
        return orjson.loads(self._data[start : start + size])


def compress(data: bytes) -> bytes:
    """Compress a compiled description for the package."""
    return zlib.compress(data, 9)


def decompress(data: bytes) -> bytes:
    """Undo `compress`. Raises NotCompiled if the bytes are something else."""
    try:
        return zlib.decompress(data)
    except zlib.error:
        raise NotCompiled("not a compiled description") from None


_SECONDS: Final = 120
_BYTES: Final = 4 << 30


def run_child(command: Sequence[str], option: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command that calls `confine` with what `option` names: a pipe, open as long as this process lives."""
    write_end, read_end = os.pipe()
    try:
        return subprocess.run(
            [*command, option, str(write_end)],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            pass_fds=[write_end],
            check=False,
        )
    finally:
        os.close(write_end)
        os.close(read_end)


def confine(pipe: int) -> None:
    """End this process when the other end of a pipe is closed, and limit its time and memory."""
    threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()
    try:
        import resource
    except ImportError:  # no POSIX
        return
    for limit, most in ((resource.RLIMIT_CPU, _SECONDS), (resource.RLIMIT_AS, _BYTES)):
        hard = resource.getrlimit(limit)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (most, most))


def _end_with(pipe: int) -> None:
    os.read(pipe, 1)
    os._exit(1)
