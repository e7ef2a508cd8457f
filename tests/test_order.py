"""Files that are run first are there, and come first; a run in which a test fails says how to have its order again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests._support.order import LONG, pytest_collection_modifyitems

ROOT = Path(__file__).parents[1]
EIGHT = """
import pathlib, pytest

@pytest.mark.parametrize("number", range(8))
def test_eight(number):
    with open(pathlib.Path(__file__).with_name("ran.txt"), "a") as file:
        file.write(str(number))
    assert number != 3
"""


def test_every_long_file_is_there() -> None:
    assert [file for file in LONG if not (ROOT / file).is_file()] == []


def test_long_files_come_first_and_tests_keep_their_order() -> None:
    names = ["tests/test_a.py::one", f"{LONG[1]}::two", f"{LONG[1]}::three", f"{LONG[0]}::four", "tests/b.py::five"]
    items: list[Any] = [SimpleNamespace(nodeid=name) for name in names]
    pytest_collection_modifyitems(items)
    assert [item.nodeid.partition("::")[2] for item in items] == ["four", "two", "three", "one", "five"]


def test_a_failure_tells_how_to_have_the_same_order_again(tmp_path: Path) -> None:
    (tmp_path / "test_eight.py").write_text(EIGHT, "utf-8")
    used = ("tests._support.order", "xdist", "randomly", "timeout", "no:cacheprovider")
    plugins = [*(f"-p{name}" for name in used), "-c", str(ROOT / "pyproject.toml")]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the others take longer to start

    def order(*options: str) -> tuple[str, str]:
        words = [sys.executable, "-m", "pytest", *plugins, *options, str(tmp_path)]
        done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        (seed,) = re.findall(r"^the same order again: OPTIONS=(--randomly-seed=\d+)$", done.stdout, re.MULTILINE)
        ran = (tmp_path / "ran.txt").read_text("utf-8")
        (tmp_path / "ran.txt").unlink()
        return ran, seed

    first, seed = order("--numprocesses=2", "--dist=loadfile", "--no-loadscope-reorder")
    assert order(seed) == (first, seed)
    assert sorted(first) == list("01234567")
