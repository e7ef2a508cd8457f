"""A fifth of all calls is refused, of 1,000 callers: what that costs the successes of the others.

Run by `make bench`; needs wrk. 800 connections have successes and pause between two of them, 200 have refusals, or
successes instead: the ratio of the two is what refusals cost. All else is as in `tests.bench.side_by_side`.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from corrigible.adapters.sandbox.certificate import make_certificate
from corrigible.adapters.sandbox.server import free_port

from ..results import Goal, record
from ..traffic import arguments
from . import envoys
from .load import Load, WrongAnswer, check, wrk
from .peers import Peer, peers, running
from .tasks import GET, REFUSAL, Task

STEADY, OTHERS = 800, 200
"""Connections."""
PAUSES = {"Envoy": 400, "corrigible, envoy": 400, "corrigible, mitmproxy": 4000}
"""Milliseconds between an answer and the next request, on average: 2,000 and 500 requests a second, or a tenth."""


async def play(peer: Peer, other: Task, seconds: float) -> tuple[Load, Load]:
    """Return the successes of the steady ones, and what the others did meanwhile."""
    port = peer.port("http")
    assert port is not None
    pause = PAUSES[peer.name]
    return await asyncio.gather(
        wrk(port, GET, STEADY, seconds, pause=pause), wrk(port, other, OTHERS, seconds, pause=pause)
    )


async def compare(turns: int, seconds: float, seed: int) -> None:
    cores = sorted(os.sched_getaffinity(0))
    shared, own = (cores[0], cores[1]) if len(cores) > 1 else (None, None)
    rng = random.Random(seed)
    taken: dict[tuple[str, str], list[tuple[Load, Load]]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = free_port()
        api = Peer("direct", {"http": port}, [envoys.command(envoys.api(port), folder, "api")])
        stack.enter_context(running([api], shared))
        group = [peer for peer in peers(folder, make_certificate(folder), port) if peer.name in PAUSES]
        stack.enter_context(running(group, own))
        if shared is not None:
            os.sched_setaffinity(0, {shared})
        for peer in group:
            check(peer, REFUSAL, corrected=peer.name.startswith("corrigible"))
            await play(peer, REFUSAL, 1)
        for turn in range(turns):
            for peer in rng.sample(group, len(group)):
                for other in rng.sample([GET, REFUSAL], 2):
                    taken.setdefault((peer.name, other.name), []).append(await play(peer, other, seconds))
            print(f"turn {turn + 1} of {turns}", file=sys.stderr)
    print(f"{STEADY} connections with successes beside {OTHERS} others; medians over turns")
    print(f"{'':>21} {'the others':>11} {'p50 ms':>8} {'p99 ms':>8} {'x without':>9} {'others/s':>9}")
    ratios: dict[str, float] = {}
    for peer in group:
        without = taken[peer.name, GET.name]
        for other in (GET, REFUSAL):
            mine = taken[peer.name, other.name]
            slower = statistics.median(a.p99 / b.p99 for (a, _), (b, _) in zip(mine, without, strict=True))
            ratios[peer.name] = slower
            print(
                f"{peer.name:>21} {other.name:>11} {statistics.median(a.p50 for a, _ in mine):>8.2f}"
                f" {statistics.median(a.p99 for a, _ in mine):>8.2f} {slower:>9.2f}"
                f" {statistics.median(b.requests for _, b in mine) / seconds:>9.0f}"
            )
    goal = Goal("p99 of successes beside refusals, x without", ratios["corrigible, envoy"], 1.3, at_least=False)
    record("callers", {"p99_x_without": ratios}, [goal])


def main() -> None:
    args = arguments(__doc__)
    if not shutil.which("wrk"):
        print("left out: wrk is not on the path", file=sys.stderr)
        return
    try:
        asyncio.run(compare(args.turns, max(args.seconds, 4.0), args.seed))
    except WrongAnswer as problem:
        sys.exit(str(problem))


if __name__ == "__main__":
    main()
