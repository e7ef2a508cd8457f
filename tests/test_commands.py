"""A command that was forked is told apart from a started one by nothing but its speed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests._support import command
from tests._support.command import run, start
from tests._support.rows import rows

if sys.platform != "linux" or os.environ.get("CORRIGIBLE_EXEC"):
    pytest.skip("commands are not forked here", allow_module_level=True)

LATE = """
import atexit, threading
atexit.register(print, "last")
threading.Timer(0.1, print, ["later"]).start()
sys.exit("told")
"""
SHOWS = """
import os, signal
print(sys.argv[1:], os.getcwd(), sorted(os.environ.items()), os.listdir("/proc/self/fd"), __name__)
print(repr(sys.stdin.read()), sys.stdout.encoding, sys.stdout.errors, sys.stdout.line_buffering)
print(sys.stderr.errors, sys.stderr.line_buffering, signal.getsignal(signal.SIGINT), file=sys.stderr)
sys.exit(7)
"""
PROXY = ["corrigible", "proxy", "--upstream", "http://127.0.0.1:9", "--pack", "http", "--listen", "127.0.0.1:0"]


@rows(
    ("words", "setup"),
    [
        (["corrigible", "pack", "test", "nothing-of-this-name"], ""),
        (["corrigible", "pack", "no-such-verb"], ""),
        (["conformance", "list", "--no-such-option"], ""),
        (["corrigible", "a", ""], SHOWS),
        (["corrigible"], "import os; os.kill(os.getpid(), 15)"),
        (["corrigible"], LATE),
        (["corrigible"], "1 / 0"),
    ],
)
def test_it_says_the_same(words: list[str], setup: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"cwd": tmp_path, "env": {**os.environ, "X": "y"}, "input": "typed"}
    forked = run(words, setup, **options)
    monkeypatch.setattr(command, "_is_plain", lambda child, environment: False)
    as_ever = run(words, setup, **options)
    assert (forked.returncode, forked.stdout) == (as_ever.returncode, as_ever.stdout)
    assert forked.stderr.splitlines()[-1:] == as_ever.stderr.splitlines()[-1:]  # lines of a traceback differ


@pytest.mark.parametrize(
    ("number", "status", "alone"),
    [(signal.SIGTERM, 0, True), (signal.SIGINT, 0, False), (signal.SIGKILL, -signal.SIGKILL, True)],
)
def test_it_is_a_child_that_takes_signals(number: signal.Signals, status: int, alone: bool) -> None:
    with start(PROXY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=alone) as process:
        try:
            parent = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[1]
            assert int(parent) == os.getpid()
            assert os.getpgid(process.pid) == (process.pid if alone else os.getpgid(0))
            assert process.stdout is not None
            assert process.stdout.readline().startswith(b"corrigible: ")
            assert process.poll() is None
            process.send_signal(number)
            assert process.wait(60) == status
        finally:
            process.kill()


def test_it_holds_nothing_open_of_ours() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        shown = run(["corrigible"], "import os; print(*os.listdir('/proc/self/fd')); sys.exit()").stdout
    assert sorted(shown.split()) == ["0", "1", "2", "3"]  # 3: the listing itself


def test_what_python_reads_at_its_start_is_heeded() -> None:
    shows = "print(sys.flags.optimize); sys.exit()"
    assert run(["corrigible"], shows, env={**os.environ, "PYTHONOPTIMIZE": "2"}).stdout == "2\n"


@pytest.mark.nightly  # one process more that imports all: none is killed in a usual run
def test_it_is_forked_again_after_what_forks_was_killed() -> None:
    before = run(["corrigible", "--version"]).stdout
    first = command._waiting()
    first.process.kill()
    first.process.wait()
    assert run(["corrigible", "--version"]).stdout == before
    assert command._waiting() is not first
