"""`Accept`: the media ranges that a caller takes, each with its weight (RFC 9110 sections 12.4.2 and 12.5.1).

Knows: media ranges. Does not know: who asks, which types mean what.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_WEIGHT: Final = re.compile(r"\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*", re.IGNORECASE)
_MOST: Final = 64


class MediaRange(NamedTuple):
    """One element of the list."""

    media: str
    """In lower case, without parameters: `application/json`, `text/*`, `*/*`."""
    parameters: tuple[str, ...]
    """Without the weight, as they were written."""
    weight: float
    """0 for what is not taken."""

    @property
    def written(self) -> str:
        """The range without its weight."""
        return ";".join((self.media, *self.parameters))


def media_ranges(accept: str) -> list[MediaRange]:
    """Return the ranges of an `Accept`, in their order; of a very long one the first."""
    out = []
    for one in accept.split(",", _MOST)[:_MOST]:
        media, *parameters = one.split(";")
        if media := media.strip().lower():
            weights = [match for part in parameters if (match := _WEIGHT.fullmatch(part)) is not None]
            kept = tuple(part.strip() for part in parameters if _WEIGHT.fullmatch(part) is None)
            out.append(MediaRange(media, kept, float(weights[0][1]) if weights else 1.0))
    return out


def accepts(accept: str, media: str) -> bool:
    """Whether an `Accept` takes a media type: the most specific range that includes it decides."""
    ranges = media_ranges(accept)
    for range_ in (media, f"{media.partition('/')[0]}/*", "*/*"):
        weights = [one.weight for one in ranges if one.media == range_]
        if weights:
            return max(weights) > 0
    return False
