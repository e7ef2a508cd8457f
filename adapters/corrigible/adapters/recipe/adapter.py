"""The recipe API, as the proxy knows it."""

from __future__ import annotations

from typing import Final

from corrigible.adapters.adapter import Adapter
from corrigible.adapters.formats.recipe import RECIPE

from .operation import OPERATIONS

ADAPTER: Final = Adapter(
    name="recipe",
    formats=(RECIPE,),
    operations=OPERATIONS,
    refuses_with_success=frozenset(OPERATIONS.names),
    native_mode=True,
)
