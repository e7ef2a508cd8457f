"""The GitHub adapter."""

from __future__ import annotations

from corrigible.adapters.base import Adapter

from .format import GATEWAY, GITHUB
from .openapi import description, operations

ADAPTER = Adapter(
    name="github",
    formats=(GITHUB, GATEWAY),  # the second reads the errors of validating gateways in front of it
    operations=operations(),
    description=description,
)
