"""The Python functions that every rule may call, by name.

To add one: a pure function of plain JSON values in a module of this folder, with a generic name, documented parameters
and a test; then its name in `_FUNCTIONS`. It raises ValueError where its arguments make no sense: the rule crashes, and
the native answer passes. Work that grows with its arguments calls `budget.spend`.

Knows: which functions there are. Does not know: rules, the CEL runtime, any API.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .members import differing
from .numerals import seconds, whole_number
from .selection import by_depth, first_fitting, indexes, last_of_each

_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    by_depth,
    differing,
    first_fitting,
    indexes,
    last_of_each,
    seconds,
    whole_number,
)


def repair_functions() -> Mapping[str, Callable[..., Any]]:
    """Return the functions by name."""
    return {one.__name__: one for one in _FUNCTIONS}
