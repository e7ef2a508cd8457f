"""`corrigible proxy --engine envoy` as a child process, and the processes below it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from tests._support.command import arguments, start
from tests._support.envoy_proxy import EnvoyBench as Bench

STARTING = "corrigible proxy: starting\n"
JSON = b"Content-Type: application/json\r\n"
REFUSED = Bench.message(b"400 Bad Request", JSON, b'{"error":{"code":"bad","message":"m"}}')
PATIENCE = 60.0
FORKS, CORRECTOR, KEEPER = "corrigible-fork", "corrector", "corrigible-dir"
"""What forks, what corrects, and what removes the folder, as `ps -o comm` shows them."""


@contextmanager
def started(upstream: int, *words: str, before: Sequence[str] = ()) -> Iterator[tuple[subprocess.Popen[str], int]]:
    target = ("--upstream", f"http://127.0.0.1:{upstream}", "--listen", "127.0.0.1:0", "--engine", "envoy")
    command = ["corrigible", "proxy", *target, *words]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*before, *arguments(command)], **pipes) if before else start(command, **pipes) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.match(r"corrigible: https?://127\.0\.0\.1:(\d+) ", line)
            assert found is not None, line + (process.stderr.read() if process.stderr else "")
            yield process, int(found[1])
        finally:
            process.kill()


def children(pid: int) -> dict[int, str]:
    """Return all processes below one, with their command lines."""
    found: dict[int, str] = {}
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                with suppress(OSError):
                    found[child] = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    for child in list(found):
        found |= children(child)
    return found


def called(pid: int, name: str) -> list[int]:
    """Return the living processes below one that have this name."""
    return [child for child in children(pid) if name_of(child) == name and is_alive(child)]


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def envoy_of(pid: int) -> int:
    return next(child for child, command in children(pid).items() if "--config-path" in command)


def corrector_of(pid: int) -> int:
    return called(pid, CORRECTOR)[0]


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def folder_of(pid: int) -> Path:
    words = Path(f"/proc/{envoy_of(pid)}/cmdline").read_bytes().split(b"\0")
    return Path(words[words.index(b"--config-path") + 1].decode()).parent


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def eventually(holds: Callable[[], bool], seconds: float = PATIENCE) -> float:
    """Return after how many seconds something holds."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < seconds
        time.sleep(0.02)
    return time.monotonic() - began


def is_corrected(port: int) -> bool:
    return b"recovery_feedback" in Bench.ask(port, "/bad", "POST", b'{"a":2}', JSON)


def names(pid: int) -> Counter[str]:
    """Return how many processes there are below one, by their names."""
    return Counter(name_of(child) for child in children(pid) if is_alive(child))


def is_killed(pid: int, victim_of: Callable[[int], int]) -> bool:
    """Kill the victim below this process, and return whether there was one: it may end by itself meanwhile."""
    with suppress(LookupError, StopIteration, OSError):
        victim = victim_of(pid)
        if victim in children(pid) and is_alive(victim):
            os.kill(victim, signal.SIGKILL)
            return True
    return False


def is_dead(pid: int) -> bool:
    return not is_alive(pid)


def forker(pid: int) -> int:
    """Return what forked the correctors: they end with it."""
    return parent_of(corrector_of(pid))


def waiting(pid: int) -> int:
    """Return what is to take its place."""
    return next(one for one in called(pid, FORKS) if one != forker(pid))


def keeper(pid: int) -> int:
    return called(pid, KEEPER)[0]


VICTIMS: Final = (corrector_of, forker, waiting, forker, waiting, keeper, keeper)
"""Whoever takes a place can lose it, too."""
