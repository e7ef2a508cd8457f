"""What the commands that serve have in common: an address, and an argument that makes no sense."""

from __future__ import annotations

from typing import NamedTuple


class UsageError(Exception):
    """An argument makes no sense. The message is the one line the user sees."""


class Address(NamedTuple):
    """Where to listen."""

    host: str
    port: int
