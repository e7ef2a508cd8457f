"""What it costs to be there: help, the first line of a proxy, the time until it serves, and its memory. Never a test.

Run by `make bench`. Times are seconds of CPU, user and system: those by the clock depend on who else computes. The
memory is that of all processes of a proxy, Envoy among them, with one pack and one description after some refusals of
which no two are alike: PSS, so that pages that processes share count once.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from corrigible.adapters.sandbox.server import free_port
from corrigible.conformance.model.yaml_file import SUITE

from .refusals import callers, refusing
from .results import Goal, record
from .side_by_side.peers import cpu_seconds
from .soak import ENGINES, memory, tree
from .traffic import BIN, arguments

REFUSALS: Final = 300
MOST_SECONDS: Final = 0.3
MOST_MIB: Final = 143.0
"""150 MB."""
_SETTLED: Final = 1.0
"""Seconds after the last refusal."""


class Started(NamedTuple):
    """What one proxy cost."""

    first_line: float
    """Seconds of CPU until the first line."""
    ready: float
    """Seconds of CPU until it serves, of all its processes."""
    mib: float


def help_seconds(*words: str) -> float:
    """Return the seconds of CPU that a command takes to print its help."""
    before = os.times()
    subprocess.run([f"{BIN}/corrigible", *words, "--help"], stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


@contextmanager
def _proxy(engine: str, upstream: int, port: int) -> Iterator[subprocess.Popen[str]]:
    reference = Path(SUITE, "reference")
    words = [f"{BIN}/corrigible", "proxy", "--engine", engine, "--listen", f"127.0.0.1:{port}"]
    words += ["--upstream", f"http://127.0.0.1:{upstream}", "--pack", str(reference / "pack")]
    words += ["--spec", str(reference / "openapi.yaml")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=60)


def started(engine: str) -> Started:
    """Start a proxy, have it refused, and end it."""
    port = free_port()
    with refusing() as upstream, _proxy(engine, upstream, port) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stderr.readline()
        first = cpu_seconds(process.pid)
        process.stdout.readline()
        ready = sum(map(cpu_seconds, tree(process.pid)))
        threading.Thread(target=process.stderr.read, daemon=True).start()  # it must not fill up
        seen: list[bool] = []
        callers(port, lambda: len(seen) >= REFUSALS, seen.append, 5)
        time.sleep(_SETTLED)
        return Started(first, ready, memory(process.pid))


def main() -> int:
    args = arguments(__doc__)
    turns = range(args.turns)
    helped = {
        f"corrigible {' '.join([*command, '--help'])}": statistics.median(help_seconds(*command) for _ in turns)
        for command in ((), ("proxy",), ("pack",))
    }
    for line, seconds in helped.items():
        print(f"{line:>28} {seconds:6.2f} s of CPU")
    found: dict[str, Started] = {}
    for engine in ENGINES:
        each = [started(engine) for _ in turns]
        found[engine] = Started(*(statistics.median(values) for values in zip(*each, strict=True)))
        first, ready, mib = found[engine]
        print(f"{engine:>28} {first:6.2f} s of CPU to the first line, {ready:.2f} until it serves, {mib:.0f} MiB")
    goals = [Goal(f"{line}, seconds", seconds, MOST_SECONDS, at_least=False) for line, seconds in helped.items()][:2]
    for engine, cost in found.items():
        goals.append(Goal(f"first line, {engine}, seconds", cost.first_line, MOST_SECONDS, at_least=False))
        goals.append(Goal(f"memory, {engine}, MiB", cost.mib, MOST_MIB, at_least=False))
    record("start", {"help": helped, "proxies": {name: cost._asdict() for name, cost in found.items()}}, goals)
    return 0


if __name__ == "__main__":
    sys.exit(main())
