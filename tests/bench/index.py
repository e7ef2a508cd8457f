"""How long a catalogue of APIs takes to index, and a query of it. Run by `make bench`. Times, never a test."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from corrigible.adapters.mapping.operation import ApiDocument
from corrigible.adapters.mapping.store import SqliteIndex, write_sqlite
from tests._support.catalogue import QUERIES, many

from .results import Goal, record

_ROUNDS = 9


def main() -> None:
    goals = []
    with tempfile.TemporaryDirectory() as folder:
        for count, bound in ((1_000, 5.0), (50_000, 250.0)):
            began = time.process_time()
            write_sqlite(Path(folder, f"{count}.index"), [ApiDocument("many", "", "", "", "", many(count))])
            goals.append(Goal(f"index {count} operations, s", time.process_time() - began, bound, at_least=False))
        index = SqliteIndex(Path(folder, "50000.index"))
        taken = {}
        for text in QUERIES:
            times = []
            for _ in range(_ROUNDS):
                began = time.process_time()
                index.search(text, 10)
                times.append(time.process_time() - began)
            taken[text] = sorted(times)[_ROUNDS // 2] * 1000
        index.close()
    goals.append(Goal("a query of 50,000 operations, ms, at most", max(taken.values()), 10.0, at_least=False))
    record("index", {"query_ms": taken}, goals)


if __name__ == "__main__":
    main()
