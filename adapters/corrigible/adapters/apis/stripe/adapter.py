"""The Stripe adapter."""

from __future__ import annotations

from importlib.resources import files

from corrigible.adapters.base import Adapter
from corrigible.adapters.operation import Operations

from .format import GATEWAY, STRIPE
from .openapi import description

ADAPTER = Adapter(
    name="stripe",
    formats=(STRIPE, GATEWAY),  # the second reads the errors of validating gateways in front of it
    operations=Operations.load(files(__package__).joinpath("operations.yaml").read_text("utf-8")),
    description=description,
)
