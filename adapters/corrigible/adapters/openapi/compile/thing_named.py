"""What a parameter names, as its description says in words: `key` for "Name of the encryption key to use"."""

from __future__ import annotations

import re
from typing import Final

from corrigible.schema.exchange import Json

_READ: Final = 200
"""Letters of a description that are looked at."""
_NAMED: Final = re.compile(
    r"(?:the |an? )?(?:unique )?(?:name|id|identifier|uuid|slug) of (?:the |an? |this )?(?:[a-z][\w-]{0,40} ){0,3}?"
    r"(?P<thing>[a-z][a-z-]{1,40})"
    r"(?=[.,;:]| ?\(|\s*$"
    r"| (?:to|that|which|for|in|of|on|from|with|whose|being|you|this|the|as|by|under|is|must|should)\b)",
    re.IGNORECASE,
)


def thing_named(description: Json) -> str:
    """Return the noun of what is named, in lower case; empty where a description does not begin with that."""
    told = _NAMED.match(description[:_READ].strip()) if isinstance(description, str) else None
    return "" if told is None else told["thing"].lower()
