"""Short forms of values that everybody writes: the ending of a file's name for what the file holds.

Only these: any other abbreviation may be a word of its own. Both directions count, and case does not.

Knows: two texts. Does not know: requests, schemas.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_PAIRS: Final = (
    ("htm", "html"),
    ("jpg", "jpeg"),
    ("js", "javascript"),
    ("md", "markdown"),
    ("mpg", "mpeg"),
    ("py", "python"),
    ("tif", "tiff"),
    ("ts", "typescript"),
    ("txt", "text"),
    ("yml", "yaml"),
)
_OTHER: Final = {**dict(_PAIRS), **{long: short for short, long in _PAIRS}}
_LONGEST: Final = 16


def is_short_value(text: str, other: str) -> bool:
    """Whether one of two texts is the short form of the other: `md` and `markdown`, `.yml` and `YAML`."""
    if len(text) > _LONGEST or len(other) > _LONGEST:
        return False
    one, two = _plain(text), _plain(other)
    return _OTHER.get(one) == two


def written_otherwise(text: str, values: Iterable[str]) -> str:
    """Return the only one of some values of which a text is the short form, or the long one; empty for several."""
    found = [one for one in values if is_short_value(text, one)]
    return found[0] if len(found) == 1 else ""


def _plain(text: str) -> str:
    return text.strip().removeprefix(".").casefold()
