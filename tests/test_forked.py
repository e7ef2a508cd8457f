"""A forked command is told apart from a started one by nothing but its speed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests._support.waiting import words_of

if sys.platform != "linux" or os.environ.get("CORRIGIBLE_EXEC"):
    pytest.skip("commands are not forked here", allow_module_level=True)

COMMAND = [sys.executable, "-m", "corrigible.proxy.cli"]
SCRIPT = str(Path(sys.executable).parent / "corrigible")
IMPORT = "import sys; from corrigible.proxy.cli import main"
CODE = f"{IMPORT}; sys.exit(main())"
LATE = f"""{IMPORT}
import atexit, threading
atexit.register(print, "last")
threading.Timer(0.1, print, ["later"]).start()
sys.exit("told")
"""
PROXY = [*COMMAND, "proxy", "--upstream", "http://127.0.0.1:9", "--pack", "http", "--listen", "127.0.0.1:0"]
STARTS = f"""{IMPORT}
import os, subprocess
code = "{IMPORT}; import os; print(sys.argv, os.getppid(), os.getcwd(), sys.stdin.read()); sys.exit(7)"
done = subprocess.run([sys.executable, "-c", code, "a"], stdout=-1, text=True, input="typed")
print(done.stdout.replace(str(os.getpid()), "ours"), done.returncode)
"""
SHOWS = """
import os, sys; from corrigible.proxy.cli import main
print(sys.argv, os.getcwd(), sorted(os.environ.items()), [os.path.exists(f'/proc/self/fd/{n}') for n in range(3, 20)])
print(repr(sys.stdin.read()), sys.stdout.encoding, sys.stdout.errors, sys.stdout.line_buffering, __name__)
import signal
print(sys.stderr.errors, sys.stderr.line_buffering, signal.getsignal(signal.SIGINT), file=sys.stderr)
"""


def outcome(words: list[str], **options: Any) -> tuple[int, str, str]:
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    return done.returncode, done.stdout, done.stderr


def started(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, start processes as ever."""
    monkeypatch.setattr("tests._support.waiting.words_of", lambda *command: None)


@pytest.mark.parametrize(
    ("words", "unbuffered"),
    [
        ([SCRIPT, "pack", "test", "nothing-of-this-name"], ""),
        ([sys.executable, "-m", "corrigible.proxy.cli", "pack", "no-such-verb"], ""),
        ([sys.executable, "-m", "corrigible.conformance.cli", "list", "--no-such-option"], ""),
        ([sys.executable, "-m", "corrigible.schema.stdio"], ""),
        ([sys.executable, "-c", STARTS, "sandbox"], ""),
        ([sys.executable, "-c", SHOWS, "a", ""], ""),
        ([sys.executable, "-c", SHOWS], "1"),
        ([sys.executable, "-c", f"{IMPORT}; import os; os.kill(os.getpid(), 15)"], ""),
        ([sys.executable, "-c", LATE], ""),
    ],
)
def test_it_says_the_same(words: list[str], unbuffered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert words_of(words, None) is not None
    environment = {**os.environ, "X": "y", "PYTHONUNBUFFERED": unbuffered}
    options: dict[str, Any] = {"cwd": tmp_path, "env": environment, "input": "typed"}
    forked = outcome(words, **options)
    started(monkeypatch)
    assert forked == outcome(words, **options)


def test_a_traceback_ends_it() -> None:
    status, _, said = outcome([sys.executable, "-c", f"{IMPORT}; 1 / 0"])
    assert status == 1 and said.splitlines()[-1] == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("number", "status", "alone"),
    [(signal.SIGTERM, 0, True), (signal.SIGINT, 0, False), (signal.SIGKILL, -signal.SIGKILL, True)],
)
def test_it_is_a_child_that_takes_signals(number: signal.Signals, status: int, alone: bool) -> None:
    with subprocess.Popen(PROXY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=alone) as process:
        try:
            parent = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[1]
            assert int(parent) == os.getpid()
            assert os.getpgid(process.pid) == (process.pid if alone else os.getpgid(0))
            assert process.stdout is not None
            assert process.stdout.readline().startswith(b"corrigible: ")
            assert process.poll() is None
            process.send_signal(number)
            assert process.wait(30) == status
        finally:
            process.kill()


def test_it_holds_nothing_open_of_ours() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        words = [sys.executable, "-c", f"{IMPORT}; print(*__import__('os').listdir('/proc/self/fd'))"]
        assert sorted(outcome(words)[1].split()) == ["0", "1", "2", "3"]  # 3: the listing itself


def test_orphans_of_others_are_not_adopted() -> None:
    code = "import subprocess; print(subprocess.Popen(['sleep', '60'], stdout=-3, stderr=-3).pid)"
    outcome([*COMMAND, "--version"])
    orphan = int(outcome([sys.executable, "-c", code], stdin=subprocess.DEVNULL)[1])
    try:
        assert Path(f"/proc/{orphan}/stat").read_text().rpartition(")")[2].split()[1] != str(os.getpid())
    finally:
        os.kill(orphan, signal.SIGKILL)


@pytest.mark.parametrize(
    ("name", "value", "shown", "said"),
    [
        ("PYTHONOPTIMIZE", "2", "sys.flags.optimize", "2"),
        ("PYTHONDONTWRITEBYTECODE", "1", "sys.dont_write_bytecode", "True"),
        ("PYTHONDONTWRITEBYTECODE", "", "sys.dont_write_bytecode", "False"),
    ],
)
def test_what_python_reads_at_its_start_is_heeded(name: str, value: str, shown: str, said: str) -> None:
    code = f"{IMPORT}; print({shown})"
    assert outcome([sys.executable, "-c", code], env={**os.environ, name: value})[1] == f"{said}\n"


@pytest.mark.parametrize(
    "words",
    [
        [sys.executable, "-c", "print()"],
        [sys.executable, "-I", "-m", "corrigible.proxy.cli"],
        [sys.executable, "-m", "corrigible.schema.generate"],
        [sys.executable, "-c", f"import sys; sys.modules['grpc'] = None; {CODE}"],
        ["/bin/echo", "-m", "corrigible.proxy.cli"],
        [sys.executable],
        "corrigible proxy",
    ],
)
def test_other_programs_are_started(words: Any) -> None:
    assert words_of(words, None) is None


def test_it_is_forked_again_after_its_server_was_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests._support import waiting

    before = outcome([*COMMAND, "--version"])
    (server,) = waiting.servers
    server.kill()
    assert outcome([*COMMAND, "--version"]) == before
    assert waiting.servers != [server]


def test_it_is_faster() -> None:
    def seconds() -> float:
        before = os.times()
        outcome([*COMMAND, "proxy", "--upstream", "nowhere"])
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    seconds()
    forked = seconds()
    with pytest.MonkeyPatch.context() as patch:
        started(patch)
        assert forked < seconds() / 2
