"""Text of others on a terminal: control characters are shown, not executed.

Answers, recordings, packs and descriptions may hold sequences that move the cursor, set titles or turn text around.
What a stream of `shown_on` writes is spelled as JSON spells it (`\\u001b`), so that JSON stays what it is.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO, cast

_PERHAPS: Final = re.compile(
    "[^\n\t\u0020-\u007e\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0377\u0391-\u03a1\u03b1-\u0482\u048a-\u052f\u3041-\u3096"
    "\u30a0-\u30ff\u4e00-\u9fff\uac00-\ud7a3]"
)
"""All but common letters, which need no look at their category."""
_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks without a form of their own: fillers, the grapheme joiner, the empty braille cell."""
_SELECTORS: Final = ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
_FUTURE_PICTURES: Final = range(0x1F000, 0x1FB00)
"""Emoji that this Python's tables do not have yet (UTS 51: all of this is Extended_Pictographic)."""
_JOINERS: Final = "\u200c\u200d"
_EMOJI_STYLE: Final = "\ufe0f"
_KEYCAP: Final = "\u20e3"
_COLOURS: Final = re.compile("(\u001b\\[(?:0|1|2|3[1-7]|9[0-7])?m)")
"""What this project's own reports use."""


def printable(text: str, *, colours: bool = False) -> str:
    """Return a text with all invisible characters escaped. Line ends and tabs stay."""
    if not colours:
        return _PERHAPS.sub(_escaped, text)
    parts = _COLOURS.split(text)
    return "".join(part if index % 2 else _PERHAPS.sub(_escaped, part) for index, part in enumerate(parts))


def without_unseen(text: str) -> str:
    """Return a text without its invisible characters: for quotations, in which an escape would be a word of others."""
    return _PERHAPS.sub(lambda match: "" if _is_unseen(match) else match[0], text)


def _is_unseen(match: re.Match[str]) -> bool:
    """Whether a character shows nothing: controls, formats, tags, selectors, fillers, what is not assigned.

    Scripts and emoji keep the one that shapes what stands before it.
    """
    character, text, at = match[0], match.string, match.start()
    if character in _JOINERS:
        return not (_is_joined(text[at - 1 : at]) and _is_joined(text[at + 1 : at + 2]))
    if character == _EMOJI_STYLE:
        return not (_is_picture(text[at - 1 : at]) or text[at + 1 : at + 2] == _KEYCAP)
    code = ord(character)
    if any(first <= code <= last for first, last in _SELECTORS) or character in _BLANK:
        return True
    return unicodedata.category(character) in _CATEGORIES and code not in _FUTURE_PICTURES


def _is_joined(character: str) -> bool:
    """Whether a joiner beside it shapes it: a picture, or a letter or mark of a script that joins."""
    if character == _EMOJI_STYLE or _is_picture(character):
        return True
    return "\u0600" <= character < "\u2000" and unicodedata.category(character) in ("Lo", "Mn", "Mc")


def _is_picture(character: str) -> bool:
    if not character > "\u00a8":
        return False
    return unicodedata.category(character) in ("So", "Sk", "Sm") or ord(character) in _FUTURE_PICTURES


def _escaped(match: re.Match[str]) -> str:
    if not _is_unseen(match):
        return match[0]
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
