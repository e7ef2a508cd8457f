"""Text of others on a terminal: control characters are shown, not executed.

Answers, recordings, packs and descriptions may hold sequences that move the cursor, set titles or turn text around.
What a stream of `shown_on` writes is spelled as JSON spells it (`\\u001b`), so that JSON stays what it is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO, cast

_UNSEEN: Final = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
_COLOURS: Final = re.compile("(\u001b\\[(?:0|1|2|3[1-7]|9[0-7])?m)")
"""What this project's own reports use."""


def printable(text: str, *, colours: bool = False) -> str:
    """Return a text with all invisible characters escaped. Line ends and tabs stay."""
    if not colours:
        return _UNSEEN.sub(_escaped, text)
    parts = _COLOURS.split(text)
    return "".join(part if index % 2 else _UNSEEN.sub(_escaped, part) for index, part in enumerate(parts))


def without_unseen(text: str) -> str:
    """Return a text without its invisible characters: for quotations, in which an escape would be a word of others."""
    return _UNSEEN.sub("", text)


def _escaped(match: re.Match[str]) -> str:
    data = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[at]:02x}{data[at + 1]:02x}" for at in range(0, len(data), 2))


class _Shown:
    """Wraps a stream; writes only printable text to it."""

    def __init__(self, stream: TextIO, colours: bool) -> None:
        self._stream, self._colours = stream, colours

    def write(self, text: str) -> int:
        self._stream.write(printable(text, colours=self._colours))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def shown_on(*names: str, colours: bool = False) -> Iterator[None]:
    """Make streams of `sys` (`stdout`, `stderr`) write only printable text. `colours` keeps our own colours."""
    before = {name: getattr(sys, name) for name in names}
    for name, stream in before.items():
        setattr(sys, name, cast(TextIO, _Shown(stream, colours)))
    try:
        yield
    finally:
        for name, stream in before.items():
            setattr(sys, name, stream)


__all__ = ["printable", "shown_on", "without_unseen"]
