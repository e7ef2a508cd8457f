"""The limits of time in pyproject.toml end a test whose child does not want to end, and Ctrl-C reaches children."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
STUBBORN = """
import subprocess, sys

SLEEPER = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print(flush=True); time.sleep(600)"

def test_waits():
    with subprocess.Popen([sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE) as process:
        process.stdout.read()

def test_goes_on():
    pass
"""
INTERRUPTED = """
import signal, subprocess, sys
import tests.conftest

def test_is_interrupted():
    process = subprocess.Popen([sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in process.communicate()[1]
"""


def run_ignoring_interrupts(file: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    file.write_text(text, "utf-8")
    plugin = ["-p", "tests._support.time_limit", "-p", "no:cacheprovider"]
    words = [sys.executable, "-m", "pytest", *plugin, "-c", str(ROOT / "pyproject.toml"), *options, str(file)]
    ignoring = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *words]
    return subprocess.run(ignoring, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_child_that_ignores_interrupts_is_killed_and_the_run_goes_on(tmp_path: Path) -> None:
    done = run_ignoring_interrupts(tmp_path / "test_stubborn.py", STUBBORN, "--timeout=1")
    assert "1 failed, 1 passed" in done.stdout
    assert "Timeout (>1.0s)" in done.stdout


def test_children_can_be_interrupted_where_the_run_itself_cannot(tmp_path: Path) -> None:
    done = run_ignoring_interrupts(tmp_path / "test_interrupted.py", INTERRUPTED)
    assert done.returncode == 0, done.stdout
