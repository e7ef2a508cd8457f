"""What Go's `time.ParseDuration` says of a text that it cannot read: it is about that text, and nothing is missing.

`time: unknown unit " hour" in duration "1 hour"`. Before Go 1.15 there were no quotes.
"""

from __future__ import annotations

import re
from typing import Final

_MARK: Final = "time: "
_LONGEST: Final = 2000
_UNREAD: Final = re.compile(
    r"""\btime: (?:invalid duration|missing unit in duration|unknown unit "?[^"\n]{1,100}"? in duration) ["\w.+-]"""
)


def is_unread_duration(message: str) -> bool:
    """Whether a message says that a text is no length of time."""
    return _MARK in message[:_LONGEST] and _UNREAD.search(message[:_LONGEST]) is not None
