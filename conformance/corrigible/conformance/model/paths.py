"""Paths: of the suite's data files, and of requests by their template."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import re2

SUITE: Final = Path(__file__).resolve().parent.parent
"""The folder that `{suite}` in a config file stands for."""
VECTORS: Final = SUITE / "vectors"


def path_pattern(template: str) -> Any:
    """Return what the paths of a template match. RE2 needs linear time, however many braces one segment has.

    Raises re2.error for a template that is too long.
    """
    return re2.compile(re.sub(r"\\\{[^{}]*\\\}", "([^/]+)", re.escape(template)))
