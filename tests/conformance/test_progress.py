"""A bar on a terminal; a line from time to time elsewhere."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from corrigible.conformance.model.outcome import Outcome
from corrigible.conformance.report.terminal import progress

from .made import entry

ROOT = Path(__file__).resolve().parents[2]
SHOWN = """
from corrigible.conformance.report.terminal import progress
from tests.conformance.made import entry
with progress(2) as heard:
    heard(entry("a/x"))
    heard(entry("a/y"))
"""


def test_a_pipe_gets_no_bar_and_a_short_run_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with progress(1) as heard:
        heard(entry("a/x"))
    assert capfd.readouterr() == ("", "")


def test_a_pipe_gets_plain_lines_also_while_a_check_takes_long(capfd: pytest.CaptureFixture[str]) -> None:
    said = ""
    with progress(3, every=0.01) as heard:
        while "0 of 3 checks, 0 failed\n" not in said:
            said += capfd.readouterr().err
        heard(entry("a/x", Outcome.FAILED))
        heard(entry("a/y"))
        while "2 of 3 checks, 1 failed, the last one http-json:a/y\n" not in said:
            said += capfd.readouterr().err
    assert "\x1b" not in said and capfd.readouterr().out == ""


@pytest.mark.parametrize(("ci", "shown"), [(None, True), ("true", False)])
def test_a_terminal_gets_one_outside_ci(ci: str | None, shown: bool) -> None:
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "CI"} | {"TERM": "xterm"}
    environment |= {"CI": ci} if ci else {}
    subprocess.run([sys.executable, "-c", SHOWN], stderr=theirs, env=environment, cwd=ROOT, check=True)
    os.write(theirs, b".")
    said = os.read(ours, 1 << 16)
    os.close(ours)
    os.close(theirs)
    assert (b"http-json:a/" in said) is shown
