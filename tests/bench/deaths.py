"""How long after the death of each process of the Envoy engine all is as before: corrected answers, all processes.

Run by `make bench`. Each process is killed in turn, those that took a place as well. Times, never a test.
"""

from __future__ import annotations

import os
import signal
import statistics
import tempfile
from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from tests._support.envoy_command import REFUSED, VICTIMS, eventually, is_corrected, is_dead, names, started
from tests._support.envoy_proxy import EnvoyBench as Bench

from .results import Goal, record
from .traffic import arguments

_PACK = "name: apex\ntitle: Apex\nversion: 1.0.0\napi: {name: Apex API}\nlicense: Apache-2.0\n"
_RULE = """\
id: apex.x
title: About x
status: stable
references: [https://a.test]
diagnosis: It is x.
match: {code: bad}
suggest: [{action: MODIFY_PARAMS, message: m, parameters: {a: 1}}]
author: A
date: 2026-01-01
"""


def measure(turns: int) -> list[tuple[str, float]]:
    """Return who died, and after how many seconds all was as before."""
    taken = []
    with tempfile.TemporaryDirectory() as folder, Bench.upstream({"/bad": REFUSED}) as upstream:
        pack = Path(folder, "apex")
        pack.mkdir()
        (pack / "pack.yaml").write_text(_PACK, "utf-8")
        (pack / "x.yaml").write_text(_RULE, "utf-8")
        with started(upstream.port, "--pack", str(pack), "--correctors", "2") as (process, port):
            eventually(partial(is_corrected, port))
            before = names(process.pid)
            for victim_of in VICTIMS * turns:
                victim = victim_of(process.pid)
                os.kill(victim, signal.SIGKILL)
                seconds = eventually(partial(is_as_before, victim, process.pid, port, before))
                taken.append((victim_of.__name__.removesuffix("_of"), seconds))
    return taken


def is_as_before(victim: int, pid: int, port: int, before: Counter[str]) -> bool:
    return is_dead(victim) and names(pid) == before and is_corrected(port)


def report(taken: Iterable[tuple[str, float]]) -> None:
    by_name: dict[str, list[float]] = {}
    for name, seconds in taken:
        by_name.setdefault(name, []).append(seconds)
    print(f"{'killed':>16} {'times':>6} {'median s':>9} {'most s':>7}")
    for name, each in by_name.items():
        print(f"{name:>16} {len(each):>6} {statistics.median(each):>9.2f} {max(each):>7.2f}")
    most = max(max(each) for each in by_name.values())
    record("deaths", {"seconds": by_name}, [Goal("seconds until all is as before, at most", most, 2.0, at_least=False)])


def main() -> None:
    report(measure(arguments(__doc__).turns))


if __name__ == "__main__":
    main()
