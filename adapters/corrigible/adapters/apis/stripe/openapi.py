"""Stripe's own description of its requests."""

from __future__ import annotations

import functools
from importlib.resources import files

from corrigible.adapters.openapi.description import Description, read


@functools.cache
def description() -> Description:
    """Read Stripe's description; `corrigible.adapters.openapi.generate` makes `description.bin`."""
    return read(files(__package__).joinpath("description.bin").read_bytes())
