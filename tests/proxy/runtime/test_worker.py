"""Tasks in processes that hang, crash, grow and talk nonsense: each costs itself, and the next one is done."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests._support.rows import rows
from tests._support.worker_scenarios import SCENARIOS

if sys.platform == "win32":
    pytest.skip("there is no fork", allow_module_level=True)


@pytest.fixture(scope="module")
def said() -> dict[str, str | None]:
    command = [sys.executable, "-m", "tests._support.worker_scenarios"]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    failures: dict[str, str | None] = json.loads(done.stdout)
    return failures


@rows("scenario", [scenario.__name__ for scenario in SCENARIOS])
def test_it_goes_well(scenario: str, said: dict[str, str | None]) -> None:
    assert said[scenario] is None, said[scenario]
