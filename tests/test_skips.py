"""A skip that is not in the list of those allowed fails the run of CI."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = {
    "test_one.py": "import pytest\ndef test_one():\n    pytest.skip('no emulator here: the network is down')\n",
    "test_fixture.py": "import pytest\n@pytest.fixture\ndef server():\n    pytest.skip('x')\ndef test(server): pass\n",
    "test_module.py": "import pytest\npytest.importorskip('corrigible.nothing', exc_type=ImportError)\n",
    "test_passes.py": "def test(): pass\n",
    "test_mark.py": "import pytest\n@pytest.mark.skipif(True, reason='not today')\ndef test(): pass\n",
}


@pytest.mark.parametrize(
    ("option", "summary"),
    [("--tb=short", "1 passed, 4 skipped"), ("--allowed-skips-only", "1 failed, 1 passed, 3 errors")],
)
def test_skips_that_are_not_listed_fail(tmp_path: Path, option: str, summary: str) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    plugin = ["-p", "tests._support.skips", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml")]
    command = [sys.executable, "-m", "pytest", *plugin, "--continue-on-collection-errors", option, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert summary in done.stdout, done.stdout
    assert done.stdout.count("does not allow it: ") >= 4 * ("error" in summary)
