"""The adapter of the recipe API."""

from __future__ import annotations

from typing import Final

from corrigible.adapters.base import Adapter

from .format import RECIPE
from .operations import OPERATIONS

ADAPTER: Final = Adapter(
    name="recipe",
    formats=(RECIPE,),
    operations=OPERATIONS,
    refuses_with_success=frozenset(OPERATIONS.names),
    native_mode=True,
)
