"""What the text of an error states: which of several complaints it has, and what each says of the value at its place.

Knows: one error, the rows of wordings. Does not know: requests, where a place is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from corrigible.rules.pointer import to_pointer
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind, Said, read

from .keywords import keyword_of, stated_keywords
from .message.complaint import told_state

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
    told = [one for one in said if one.kind is Kind.MISSING or (one.kind is Kind.UNKNOWN and _is_of_a_name(one))]
    lists_names = any(one.kind is Kind.UNKNOWN and one.slots.get("options") for one in told)
    if not keyword and (lists_names or not stated) and told and len({one.kind for one in told}) == 1:
        fields = dict.fromkeys(field for one in told for field in one.slots.get("field", ()))
        keyword = _KEYWORDS[told[0].kind]
        if len(fields) > 1 and not error.pointer:
            for field in fields:
                yield error._replace(constraint=keyword, param=field)
            return
    yield error._replace(constraint=keyword, stated=stated)


def _is_of_a_name(said: Said) -> bool:
    """Whether what is unknown is a name: the sentence names it, or no more. A word to use instead may be a value."""
    return bool(said.slots.get("field")) or said.row.endswith(_ALONE)


_ALONE: Final = ".alone"


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
    kinds = {one.kind for one in read(message).said}
    return next((code for kind, code in _CODES.items() if kind in kinds), "")


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


def names_no_cause(message: str) -> bool:
    """Whether all that a text says is that something went wrong, as runtimes do of an exception that nobody caught."""
    return {one.row.partition(".")[2] for one in read(message).said} == {"fault.own"}


def is_of_route(message: str) -> bool:
    """Whether a text says that there is no such method or path."""
    return bool(read(message).of(Kind.ROUTE))
