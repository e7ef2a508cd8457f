"""The adapter of the recipe API."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from corrigible.adapters.base import Adapter
from corrigible.adapters.operation import Operations

from .format import RECIPE

OPERATIONS: Final = Operations.load(files(__package__).joinpath("operations.yaml").read_text(encoding="utf-8"))

PATHS: Final = {name: key.partition(" ")[2] for key, name in OPERATIONS.templates.items()}
"""Path by operation; both are POST."""

ADAPTER: Final = Adapter(
    name="recipe",
    formats=(RECIPE,),
    operations=OPERATIONS,
    refuses_with_success=frozenset(OPERATIONS.names),
    native_mode=True,
)
