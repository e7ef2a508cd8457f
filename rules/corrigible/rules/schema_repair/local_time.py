"""Times that a description wants in a time zone of its own: none is made up for them, and none is put behind them.

`The date the post was published, in the site's timezone.` of a `date-time`: what RFC 3339 lacks in
`2026/03/01 10:00:00` is not lacking there, and with a `Z` it would be another time.

Knows: sentences of descriptions, times. Does not know: where the caller is.
"""

from __future__ import annotations

from typing import Final

from corrigible.rules.safety.spelling import Spelling, moments
from corrigible.schema.exchange import Json

from .json_schema import Schema

LOCAL: Final = "x-local-time"
"""In a schema of a time: its description wants it without an offset."""


def local_times(value: Json, schema: Schema) -> list[Spelling] | None:
    """Return a time without an offset as RFC 3339 writes it, still without one; None where no local time is wanted.

    Nothing is returned for what is written so already: what it lacks is not known.
    """
    if LOCAL not in schema or schema.get("format") != "date-time" or not isinstance(value, str):
        return None
    meant = moments(value)
    if not meant or any(one.zoned for one in meant):
        return None
    if len(meant) > 1 or not meant[0].timed:
        return []
    written = meant[0].when.replace(tzinfo=None).isoformat()
    return [] if written == value else [Spelling(written)]
