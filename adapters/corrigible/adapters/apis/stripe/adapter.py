"""The Stripe adapter."""

from __future__ import annotations

import functools
from importlib.resources import files

from corrigible.adapters.base import Adapter
from corrigible.adapters.openapi.description import Description, read
from corrigible.adapters.operation import Operations

from .format import GATEWAY, STRIPE


@functools.cache
def description() -> Description:
    """Read Stripe's description; `corrigible.adapters.openapi.generate` makes `description.bin`."""
    return read(files(__package__).joinpath("description.bin").read_bytes())


ADAPTER = Adapter(
    name="stripe",
    formats=(STRIPE, GATEWAY),  # the second reads the errors of validating gateways in front of it
    operations=Operations.load(files(__package__).joinpath("operations.yaml").read_text("utf-8")),
    description=description,
)
