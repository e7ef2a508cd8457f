"""What the text of an error states: its complaints, what each says of the value at its place, what it is about.

The rows of wordings read the text. Here is decided which of the kinds that it has is meant, and when it is doubtful.

Knows: one error, the rows of wordings. Does not know: requests, where a place is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from corrigible.rules.pointer import to_pointer
from corrigible.rules.safety.nearness import letters
from corrigible.rules.violation import LikelyPlace, Violation
from corrigible.rules.wordings import Kind, Reading, Said, read

from .keywords import keyword_of, stated_keywords

_MOST: Final = 16
"""Complaints of one text."""
_KEYWORDS: Final[Mapping[Kind, str]] = {Kind.MISSING: "required", Kind.UNKNOWN: "additionalProperties"}


def complete(error: Violation) -> list[Violation]:
    """Return an error with what its text states, once for each complaint of a text that has several."""
    texts = _complaints(error.message)
    if len(texts) == 1:
        return list(_stated(error))
    return [one for text in texts for one in _stated(error._replace(message=text, printed=error.written_text))][:_MOST]


def _complaints(message: str) -> Sequence[str]:
    """Return the parts of a text that each name a field of their own; else the whole."""
    for separator in ("\n", "; ", ", "):
        parts = [part.strip(" -*\u2022\t\r") for part in message.split(separator) if part.strip()]
        if 1 < len(parts) <= _MOST:
            named = [
                frozenset(field for one in read(part).said for field in one.slots.get("field", ())) for part in parts
            ]
            if all(named) and len(set(named)) == len(named):
                return parts
    return [message]


def _stated(error: Violation) -> Iterator[Violation]:
    if not error.pointer and (header := _header_missed(error.message)):
        error = error._replace(pointer=to_pointer(("headers", header.lower())), constraint="required")
    keyword = error.constraint or keyword_of(error.code)
    said = read(error.message).said
    stated = dict(error.stated) or stated_keywords(
        error.code, keyword, {"type": error.type, **error.native}, error.message
    )
    # What is unknown is a name where the sentence names it, or says no more: a word to use instead may be a value.
    names = [one for one in said if one.slots.get("field") or one.row.endswith(".alone")]
    told = [one for one in said if one.kind is Kind.MISSING or (one.kind is Kind.UNKNOWN and one in names)]
    lists_names = any(one.kind is Kind.UNKNOWN and one.slots.get("options") for one in told)
    if not keyword and (lists_names or not stated) and told and len({one.kind for one in told}) == 1:
        fields = dict.fromkeys(field for one in told for field in one.slots.get("field", ()))
        keyword = _KEYWORDS[told[0].kind]
        if len(fields) > 1 and not error.pointer:
            for field in fields:
                yield error._replace(constraint=keyword, param=field)
            return
    yield error._replace(constraint=keyword, stated=stated)


def _header_missed(message: str) -> str:
    """Return the first header that a text says is missing: by its name, or by the word beside the name."""
    for one in read(message).of(Kind.MISSING):
        for name in one.slots.get("field", ())[:1]:
            beside = rf"(?i)\bheaders?:? ['\"`]?{re.escape(name)}\b|\b{re.escape(name)}['\"`]? header\b"
            if _OF_A_HEADER.fullmatch(name) is not None or re.search(beside, message) is not None:
                return name
    return ""


_OF_A_HEADER: Final = re.compile(r"[Xx](?:-\w+)+|[A-Z]\w*(?:-[A-Z]\w*)+")
"""Names that are written as headers are."""


_CODES: Final[Mapping[Kind, str]] = {
    Kind.ABSENT: "NOT_FOUND",
    Kind.EXISTS: "ALREADY_EXISTS",
    **dict.fromkeys(
        (Kind.MISSING, Kind.UNKNOWN, Kind.VALUE, Kind.MALFORMED, Kind.TOGETHER, Kind.APART), "INVALID_ARGUMENT"
    ),
}
"""The codes of google.rpc that kinds of complaints stand for: those that are about the request."""


def code_said(message: str) -> str:
    """Return the code that a complaint about a request stands for; empty where a text may be about something else."""
    return _code_of({one.kind for one in read(message).said})


def _code_of(kinds: Collection[Kind]) -> str:
    return next((code for kind, code in _CODES.items() if kind in kinds), "")


CODES_OF_STATES: Final = frozenset({"FAILED_PRECONDITION", "ABORTED"})
"""Codes of google.rpc that say of no value that it is wrong. Some servers send them for values all the same."""


def code_of_value(message: str, place: LikelyPlace) -> str:
    """Return the code that a complaint about a value stands for, of a refusal whose code stands for a state.

    It is empty where the text may be about a state. What is not offered is a value where the text repeats that.
    """
    reading = read(message)
    rows = [one for one in reading.said if not one.row.endswith((*_WEAK, *_OF_STATES_TOO))]
    kinds = {one.kind for one in rows}
    if Kind.FEATURE in kinds <= {Kind.FEATURE, Kind.VALUE} and "value" in place.why:
        return "INVALID_ARGUMENT"
    is_state = not kinds.isdisjoint((*OF_STATE, Kind.EXISTS, Kind.STALE))
    return "" if is_state and not (place.is_told and Kind.ABSENT in kinds) else _code_of(kinds)


def is_fault(message: str) -> bool:
    """Whether all that a text says is that a service failed by itself, or that its program has a value of no use."""
    said = read(message).said
    kinds = {one.kind for one in said}
    is_unnamed = not any("field" in one.slots or "value" in one.slots for one in said)
    return kinds == {Kind.FAULT} or (kinds == {Kind.FAULT, Kind.VALUE} and is_unnamed)


def is_of_state(message: str) -> bool:
    """Whether a text says that a right, a state or a limit is in the way, and of nothing that it is not there."""
    return told_state(message) is not None and not read(message).of(Kind.ABSENT)


def is_down(message: str) -> bool:
    """Whether a text says that what a service needs is away or failed: whatever else it says is about that."""
    return any(one.row.endswith(".down") for one in read(message).of(Kind.FAULT))


def is_all(message: str, row: str) -> bool:
    """Whether a row, in whatever language, reads all that is read of a text: `fault.own` names no cause."""
    return {one.row.partition(".")[2] for one in read(message).said} == {row}


def is_of_route(message: str) -> bool:
    """Whether a text says that there is no such method or path."""
    return bool(read(message).of(Kind.ROUTE))


# Rights, states and limits: no value of the request is to blame


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
_OF_STATES_TOO: Final = (".must-be-unknown",)
"""Rows that are said of values and of states: `must be empty`, `must be running`."""
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


# Words around a value


def has_word(text: str, value: str) -> bool:
    """Whether a text has a value that is not empty as a word of its own."""
    if not value or value not in text:
        return False
    return re.search(rf"(?<![\w.-]){re.escape(value)}(?![\w-]|\.\w)", text) is not None
