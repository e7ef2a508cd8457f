"""What a text complains of, where that is no value of the request: a right, a state, a limit.

The rows of wordings read the text. Here is decided which of the kinds that it has is meant, and when it is doubtful.

Knows: what rows read of one text. Does not know: requests, what is answered.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from corrigible.rules.safety.nearness import letters
from corrigible.rules.wordings import Kind, Reading, Said, read

OF_STATE: Final = (
    Kind.CREDENTIALS,
    Kind.RIGHT,
    Kind.LIMIT,
    Kind.FEATURE,
    Kind.IN_USE,
    Kind.STATE,
    Kind.FIXED,
)
"""Kinds for which no value of the request is to blame, the plainest first."""
_ORDER: Final = (*OF_STATE, Kind.EXISTS, Kind.ABSENT)
_PLAIN: Final = frozenset({Kind.CREDENTIALS, Kind.RIGHT})
_OF_VALUES: Final = frozenset(
    {Kind.MISSING, Kind.UNKNOWN, Kind.VALUE, Kind.MALFORMED, Kind.MEDIA_TYPE, Kind.TOGETHER, Kind.APART}
)
_NAMING_SLOTS: Final = ("field", "value", "instead", "options")
_OF_A_VALUE: Final = (".circular", ".size", ".cannot-more")
"""Rows that speak of a value that was sent, whatever their kind is."""
_WEAK: Final = (
    ".cannot",
    ".cannot-do",
    ".cannot-since",
    ".identical",
    ".not-implemented",
    ".not-enough",
    ".nothing-there",
)
"""Rows that are said of values and of faults as well: where nothing else is said, nothing is claimed."""

_OF_NOBODY: Final = ".not-allowed-alone"
"""The row that says of nothing in particular that it is not allowed: a value that was sent may be meant."""
_IS_SO_ALREADY: Final = ".already"
_IS_DOWN: Final = ".down"
_FEWEST_WORDS: Final = 2
_NOT_SET_UP: Final = ".no-x-found"
"""The row of what is not there, or is not configured."""


def complaint(reading: Reading, known: Collection[str] | None = None, *, is_bare: bool = False) -> Kind | None:
    """Return what a text complains of; None where that is doubtful, or a value.

    Where it speaks as well of what was sent, all but the plainest complaints are doubtful: another value may do. That
    it does is believed of names and values that are `known`, or of any where nothing is known. Of a request that is
    `is_bare` something may be missing that has no name in it.
    """
    kinds = {one.kind for one in reading.said if _is_claim(one, is_bare=is_bare)}
    kind = next((one for one in _ORDER if one in kinds), None)
    if kind is None or (kind not in _PLAIN and len(reading.text.split()) < _FEWEST_WORDS):
        return None
    for one in reading.said:
        named = {letters(name) for slot in _NAMING_SLOTS for name in one.slots.get(slot, ())}
        is_known = known is None or not named.isdisjoint(known) or (not named and one.kind is not Kind.MISSING)
        is_of_value = one.kind in _OF_VALUES and (is_known or (one.kind is Kind.MISSING and is_bare and bool(named)))
        is_plain = kind is Kind.RIGHT or (kind is Kind.CREDENTIALS and one.kind is not Kind.VALUE)
        if not is_plain and (is_of_value or one.row.endswith(_OF_A_VALUE)):
            return None
        is_absent = one.kind is Kind.ABSENT and "thing" in one.slots and not one.row.endswith(_NOT_SET_UP)
        is_fault = _is_of_the_moment(one) and kind in (Kind.STATE, Kind.FIXED, Kind.EXISTS, Kind.LIMIT)
        if one.kind is not kind and (is_absent or is_fault):
            return None
    return kind


def _is_of_the_moment(said: Said) -> bool:
    """Whether a row says that something failed, or may do later: of a thing that is down that is its state."""
    return said.kind is Kind.PACE or (said.kind is Kind.FAULT and not said.row.endswith(_IS_DOWN))


def _is_claim(said: Said, *, is_bare: bool) -> bool:
    """Whether a row says by itself what is complained of."""
    if said.kind is Kind.EXISTS:
        return said.row.endswith(_IS_SO_ALREADY)
    if said.row.endswith(_OF_NOBODY):
        return is_bare
    return not said.row.endswith((*_OF_A_VALUE, *_WEAK))


def told_state(message: str) -> Kind | None:
    """Return the kind of state, right or limit that a text speaks of; None where it speaks of something else."""
    kind = complaint(read(message))
    return kind if kind in OF_STATE else None


_HELD: Final = (Kind.EXISTS, Kind.IN_USE, Kind.LIMIT, Kind.PACE, Kind.STALE)
