"""Makes text from a subject harmless for terminals, XML and HTML."""

from __future__ import annotations

import re
from typing import Final

_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)


def visible(text: str) -> str:
    """Return text with every control, bidi, zero-width and XML-illegal character written out as its number."""
    return _UNSEEN.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def one_line(text: str, longest: int = 300) -> str:
    """Return text on one line, cut where it gets long."""
    line = " ".join(visible(text).split())
    return line if len(line) <= longest else f"{line[: longest - 3]}..."
