"""Where the suite keeps its data files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

SUITE: Final = Path(__file__).resolve().parent.parent
"""The folder that `{suite}` in a config file stands for."""
VECTORS: Final = SUITE / "vectors"
