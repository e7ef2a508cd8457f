"""Our proxies beside Envoy, mitmdump and Prism, as ratios inside one interleaved run. Times, never a test.

Run by `make bench`. What makes the load and the API (an Envoy that answers of itself) share one core, the proxies have
the other, one of them under load at a time. Peers take turns in shuffled order, and every ratio is taken inside a turn
before the median over turns. CPU per request, of all processes of a peer, is the steadier figure: a rate also depends
on what the other core can do.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from corrigible.adapters.sandbox.certificate import make_certificate
from corrigible.adapters.sandbox.server import free_port

from ..results import Goal, record
from ..traffic import arguments
from . import envoys
from .load import WrongAnswer, check, generator, measure
from .peers import Peer, Sample, peers, running
from .tasks import GET, GET_LARGE, POST, REFUSAL, TASKS, Task

CONNECTIONS = 16
OURS = "corrigible, envoy"


def asked_of(group: Sequence[Peer], task: Task) -> list[Peer]:
    """Return the peers that a task is for."""
    return [peer for peer in group if peer.port(task.wire) is not None]


async def compare(turns: int, seconds: float, seed: int) -> None:
    cores = sorted(os.sched_getaffinity(0))
    shared, own = (cores[0], cores[1]) if len(cores) > 1 else (None, None)
    rng = random.Random(seed)
    tasks = [task for task in TASKS if generator(task) is not None]
    for task in set(TASKS) - set(tasks):
        print(f"without {task.name}: it needs wrk (TLS) or h2load (HTTP/2)", file=sys.stderr)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = free_port()
        api = Peer("direct", {"http": port}, [envoys.command(envoys.api(port), folder, "api")])
        stack.enter_context(running([api], shared))
        group = peers(folder, make_certificate(folder), port)
        stack.enter_context(running(group, own))
        if shared is not None:
            os.sched_setaffinity(0, {shared})
        everybody = [*group, api]
        for task in tasks:
            for peer in asked_of(everybody, task):
                check(peer, task, corrected=peer.name.startswith("corrigible"))
                await measure(peer, task, 4, 1)
        for turn in range(turns):
            for task in tasks:
                present = asked_of(everybody, task)
                for peer in rng.sample(present, len(present)):
                    peer.results.setdefault(task.name, []).append(await measure(peer, task, CONNECTIONS, seconds))
            print(f"turn {turn + 1} of {turns}", file=sys.stderr)
        report(everybody, tasks)
        memory = {peer.name: peer.memory() for peer in group}
        print("\nmemory of all processes after the load, MiB: " + ", ".join(held(peer) for peer in group))
        record("side by side", {"tasks": figures(everybody), "memory_mb": memory}, goals(everybody))


def held(peer: Peer) -> str:
    """Return what the processes of a peer hold, and how many proxies these are: some have one for each port."""
    count = len(peer.commands)
    return f"{peer.name} {peer.memory()} ({count} {'proxy' if count == 1 else 'proxies'})"


def ratio(mine: Sequence[Sample], theirs: Sequence[Sample], of: Callable[[Sample], float]) -> float:
    """Return the median over turns of the ratio inside a turn; 0 where the divisor has none."""
    pairs = [(of(a), of(b)) for a, b in zip(mine, theirs, strict=True)]
    return statistics.median(a / b for a, b in pairs) if all(b for _, b in pairs) else 0.0


def figures(group: Sequence[Peer]) -> dict[str, Any]:
    """Return medians by task and peer."""
    found: dict[str, Any] = {}
    for peer in group:
        for name, samples in peer.results.items():
            columns = {field: statistics.median(getattr(s, field) for s in samples) for field in Sample._fields}
            found.setdefault(name, {})[peer.name] = columns
    return found


def report(group: Sequence[Peer], tasks: Sequence[Task]) -> None:
    plain = group[0]
    print(f"{CONNECTIONS} connections; medians over turns, ratios to Envoy taken inside each turn")
    print(f"{'':>21} {'':>17} {'req/s':>8} {'x Envoy':>8} {'CPU us':>8} {'x Envoy':>8} {'p50 ms':>8} {'p99 ms':>8}")
    for task in tasks:
        for peer in asked_of(group, task):
            mine, theirs = peer.results[task.name], plain.results[task.name]
            p50, p99 = (statistics.median(values) for values in zip(*((s.p50, s.p99) for s in mine), strict=True))
            print(
                f"{peer.name:>21} {task.name:>17} {statistics.median(s.rate for s in mine):>8.0f}"
                f" {ratio(mine, theirs, lambda s: s.rate):>8.2f} {statistics.median(s.cpu for s in mine):>8.1f}"
                f" {ratio(mine, theirs, lambda s: s.cpu):>8.2f} {p50:>8.2f} {p99:>8.2f}"
            )


def goals(group: Sequence[Peer]) -> list[Goal]:
    """Return what the rates of ours on Envoy have to reach."""
    named = {peer.name: peer for peer in group}

    def rate(task: Task, other: str) -> float:
        mine, theirs = named[OURS].results[task.name], named[other].results[task.name]
        return ratio(mine, theirs, lambda s: s.rate)

    wanted = [
        *((task, "Envoy", 0.95) for task in (GET, GET_LARGE)),
        (POST, "Envoy", 0.85),
        (REFUSAL, "Envoy", 0.25),
        (GET, "mitmdump", 20.0),
        *(((GET, "Prism", 10.0), (GET_LARGE, "Prism", 50.0)) if "Prism" in named else ()),
    ]
    return [Goal(f"{task.name}, rate x {other}", rate(task, other), bound) for task, other, bound in wanted]


def main() -> None:
    args = arguments(__doc__)
    if shutil.which("wrk") is None:
        print("wrk is not on the path: this process makes the load, and hides differences", file=sys.stderr)
    try:
        asyncio.run(compare(args.turns, args.seconds, args.seed))
    except WrongAnswer as problem:
        sys.exit(str(problem))


if __name__ == "__main__":
    main()
