"""Run an installer to its end, without output unless it fails."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from .error import SandboxError, last_lines


def run_tool(command: Sequence[str], purpose: str, *, folder: Path | None = None) -> None:
    """Run a command; raise with the last lines it printed when it fails."""
    completed = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if completed.returncode != 0:
        raise SandboxError(f"{purpose} failed with exit status {completed.returncode}:\n{last_lines(completed.stdout)}")
