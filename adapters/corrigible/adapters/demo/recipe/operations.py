"""The operations of the recipe API and where they are."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from corrigible.adapters.operation import Operations

OPERATIONS: Final = Operations.load(files(__package__).joinpath("operations.yaml").read_text(encoding="utf-8"))

PATHS: Final = {name: key.partition(" ")[2] for key, name in OPERATIONS.templates.items()}
"""Path by operation; both are POST."""
