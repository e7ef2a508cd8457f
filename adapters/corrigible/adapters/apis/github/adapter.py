"""What Corrigible knows about GitHub."""

from __future__ import annotations

from corrigible.adapters.base import Adapter

from .description import description, operations
from .format import GATEWAY, GITHUB

ADAPTER = Adapter(
    name="github",
    formats=(GITHUB, GATEWAY),  # the second reads what validating gateways in front of it say
    operations=operations(),
    description=description,
)
