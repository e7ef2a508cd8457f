"""What can go wrong with a sandbox: its tools are missing, its install failed, or its server died."""

from __future__ import annotations

from corrigible.rules.errors import CorrigibleError


class SandboxError(CorrigibleError):
    """A sandbox could not be installed or started; the message tells the user what to do."""


def last_lines(text: str, count: int = 12) -> str:
    """Return the end of a tool's output, indented, as it is shown under an error."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(f"    {line}" for line in lines[-count:]) or "    (it printed nothing)"
