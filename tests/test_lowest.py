"""The lowest versions that CI installs are those of pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYPROJECT = """\
[project]
name = "corrigible"
dependencies = ["httpx>=0.27", "plain"]
[project.optional-dependencies]
engine = ["mitmproxy>=11.0.2,<13", "fixed==1.2.3"]
web = ["corrigible[engine]", "page>=3"]
apart = ["corrigible[engine]", "mitmproxy>=12"]
all = ["corrigible[engine,web]"]
"""


def test_lower_bounds_become_pins(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(PYPROJECT, "utf-8")
    command = [sys.executable, str(ROOT / ".ci" / "lowest.py"), str(file)]
    pins = subprocess.check_output(command, text=True).splitlines()
    assert pins == ["httpx==0.27", "mitmproxy==11.0.2", "fixed==1.2.3", "page==3"]  # no bounds of what is apart
