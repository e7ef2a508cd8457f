"""The Stripe adapter."""

from __future__ import annotations

from importlib.resources import files

from corrigible.adapters.adapter import Adapter
from corrigible.adapters.formats.stripe import STRIPE
from corrigible.adapters.operation import Operations

from .facts import facts

ADAPTER = Adapter(
    name="stripe",
    formats=(STRIPE,),
    operations=Operations.load(files(__package__).joinpath("operations.yaml").read_text("utf-8")),
    facts=facts,
)
