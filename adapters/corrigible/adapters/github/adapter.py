"""What Corrigible knows about GitHub."""

from __future__ import annotations

from corrigible.adapters.adapter import Adapter
from corrigible.adapters.formats.github import GATEWAY, GITHUB

from .description import description, operations

ADAPTER = Adapter(
    name="github",
    formats=(GITHUB, GATEWAY),  # the second reads what validating gateways in front of it say
    operations=operations(),
    description=description,
)
