"""Vectors of operations in a database, compared one by one: exact, and quick enough for some hundred thousand."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from corrigible.schema.extra import install_line

from .seam import StoreError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TABLE = "CREATE TABLE IF NOT EXISTS vectors (id INTEGER PRIMARY KEY, data BLOB NOT NULL)"


class VectorTable:
    """The table `vectors`; in memory from the first search on."""

    address = ""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._loaded: tuple[NDArray[np.int64], NDArray[np.float32]] | None = None

    def write(self, rows: Sequence[tuple[int, str, Sequence[float]]]) -> None:
        np = _numpy()
        self._database.execute(_TABLE)
        packed = ((number, np.asarray(vector, np.float32).tobytes()) for number, _, vector in rows)
        self._database.executemany("INSERT INTO vectors VALUES (?, ?)", packed)

    def nearest(self, vector: Sequence[float], limit: int, api: str) -> list[tuple[int, float]]:
        np = _numpy()
        if self._loaded is None:
            rows = self._database.execute("SELECT id, data FROM vectors ORDER BY id").fetchall()
            matrix = np.frombuffer(b"".join(data for _, data in rows), np.float32).reshape(len(rows), -1)
            self._loaded = np.array([number for number, _ in rows], np.int64), matrix
        numbers, matrix = self._loaded
        asked = np.asarray(vector, np.float32)
        if len(asked) != matrix.shape[1]:
            raise StoreError(f"a vector of {len(asked)} numbers cannot be compared with those of {matrix.shape[1]}")
        scores = matrix @ asked
        if api:
            rows = self._database.execute("SELECT id FROM operations WHERE api = ?", (api,)).fetchall()
            among = np.isin(numbers, [number for (number,) in rows])
            numbers, scores = numbers[among], scores[among]
        count = min(limit, len(scores))
        if not count:
            return []
        best = np.argpartition(-scores, count - 1)[:count]
        order = sorted(best, key=lambda at: (-scores[at], numbers[at]))
        return [(int(numbers[at]), round(float(scores[at]), 6)) for at in order]


def _numpy() -> ModuleType:
    try:
        import numpy
    except ImportError:
        raise StoreError(f"vectors need numpy: {install_line('map')}") from None
    return numpy
