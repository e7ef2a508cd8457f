"""Busy connections read one after the other, and leave room for everybody else's exchanges in between."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import pairwise

BUSY, TURNS, ROUNDS = 8, 5, 4


def test_many_busy_connections_hold_the_others_no_longer_than_one() -> None:
    from corrigible.proxy.mitm.connection import ReadQueue

    rounds: list[str] = [""]
    """Who read in which round of the event loop."""

    async def busy(queue: ReadQueue, name: str) -> None:
        for _ in range(TURNS):
            await queue.turn()
            assert rounds[-1] == "", "two of them in one round"
            rounds[-1] = name

    async def count() -> None:
        while True:
            await asyncio.sleep(0)
            rounds.append("")

    async def run() -> None:
        queue, counting = ReadQueue(), asyncio.create_task(count())
        await asyncio.gather(*(busy(queue, f"connection {number}") for number in range(BUSY)))
        counting.cancel()

    asyncio.run(run())
    read = [at for at, name in enumerate(rounds) if name]
    assert min(after - before for before, after in pairwise(read)) >= ROUNDS
    assert set(Counter(rounds[at] for at in read).values()) == {TURNS}
    assert len({rounds[at] for at in read[:BUSY]}) == BUSY  # in turn
