"""What two objects have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corrigible.rules.budget import spend
from corrigible.rules.functions.builtin import includes


def differing(have: Any, want: Any) -> list[str]:
    """Return the names of the members of `want` that `have` lacks or has with another value, sorted.

    Values are compared as `includes` does: members inside `want` only, scalars by their text. Where `have` is no
    object, every member of `want` differs.
    """
    if not isinstance(want, Mapping):
        raise ValueError("want is no object")
    spend(len(want))
    there = have if isinstance(have, Mapping) else {}
    return sorted(name for name, value in want.items() if not (name in there and includes(there[name], value)))
