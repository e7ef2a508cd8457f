"""The code of google.rpc that a text stands for, where a service chose none: Go's plain errors arrive as UNKNOWN.

Knows: one text. Does not know: requests, descriptions. A text is no proof: it is good for a question.
"""

from __future__ import annotations

import re
from typing import Final

from .sent_values import ABSENT

_FAULT: Final = re.compile(
    r"(?i)\b(?:exception|traceback|panic|(?:nil|null) pointer|memory address|stack trace|internal|time(?:d )?[ -]?out"
    r"|deadline|connection|unreachable|deadlock|disk|out of memory|response|upstream"
    r"|stream (?:removed|closed|reset)|grpc-status|http2 header)\b|<class "
)
"""Of a service that failed by itself, whatever else the text says."""
_EXISTS: Final = re.compile(
    r"(?i)\balready (?:exists?|defined|registered|taken|present|been)\b|\bexists\b|\bduplicated?\b"
    r"|\bcan(?:no|')t overwrite\b|\bmust be unique\b|\bunique constraint\b"
)
_REFUSED: Final = re.compile(
    r"(?i)\b(?:invalid|malformed|illegal|undefined|unrecogni[sz]ed|unspecified|(?:un|not )supported"
    r"|not (?:an? )?valid|must|(?:nil|null) (?:request|message|body|payload|argument)"
    r"|unexpected (?:keyword )?(?:argument|field|key|parameter)|expecting value|unexpected end of json"
    r"|for input string|could not be parsed|no enum constant|syntax error|unexpected character"
    r"|can(?:no|')t (?:be )?resolved?|requires \d+ \w+|(?:does not|doesn't) (?:match|have)|has no"
    r"|no \w{1,40} (?:defined|named)|unexpected [\w ]{1,60}: (?:none|null|nil)"
    r"|foreign key constraint|violates \w[\w -]{0,40} constraint"
    r"|too (?:long|short|large|small|many)|out of range|in use|required|empty|missing|bad|wrong"
    r"|can(?:no|')t (?:be|delete|remove|update|change|modify|create|add|set)|may not be)\b"
)
_READ: Final = 500


def told_code(message: str) -> str:
    """Return the code that a complaint about a request stands for; empty where a text may be about something else."""
    if code := written_code(message):
        return code
    text = _CLASS_LINE.sub("", _WRITTEN.sub(" ", message[:_READ]))
    if _ABSENT_EXCEPTION.search(text) is not None:
        return "NOT_FOUND"
    text = _OF_REQUEST.sub("", text)
    if _KEY_ERROR.search(text) is not None or _KEY_ALONE.fullmatch(text.strip()) is not None:
        return "NOT_FOUND"
    if not text or is_fault(text):
        return ""
    if ABSENT.search(text) is not None or _NOT_FOUND.search(text) is not None:
        return "NOT_FOUND"
    if _EXISTS.search(text) is not None:
        return "ALREADY_EXISTS"
    is_refused = _REFUSED.search(text) is not None or _UNREAD.search(text) is not None
    return "INVALID_ARGUMENT" if is_refused else ""


_UNREAD: Final = re.compile(
    r"(?i)\b(?:failed|unable|could not|couldn't|cannot|can't) (?:to )?"
    r"(?:get|open|load|read|resolve|find|locate|parse|decode)\b[\w :-]{0,60}['\"`][^'\"`\n]{0,200}['\"`]"
)
"""What could not be had, in quotes: mostly a name that was sent. A question about it is all that follows."""


def is_fault(message: str) -> bool:
    """Whether a text is about a service that failed by itself, whatever else it says."""
    return _FAULT.search(_CLASS_LINE.sub("", message[:_READ])) is not None


_CLASS_LINE: Final = re.compile(
    r"(?<!\s)(?=[^\S\n]*\n)\s++(?:[a-z]\w*\.){1,12}(?!\w*NotFound)[A-Z][\w$]*(?:Exception|Error)\W*$"
)
"""The class of an exception on a line of its own, below what it says: it tells no more than the code."""


def written_code(message: str) -> str:
    """Return the code that a text has in words, of several the last: what is outside only wraps it."""
    written = ["".join(found) for found in _WRITTEN.findall(message[:_READ])]
    return _SPELLED.get(written[-1].replace("_", "").upper(), "") if written else ""


_SPELLED: Final = {
    one.replace("_", ""): one
    for one in ("INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "FAILED_PRECONDITION", "OUT_OF_RANGE")
}
"""Codes that are about the request, whoever sends them; of others it is not clear whose call they are about."""
_WRITTEN: Final = re.compile(
    r"\b(?:code ?= ?)([A-Z][A-Za-z]+)\b|\b([A-Z]{2,20}(?:_[A-Z]{2,20}){1,2}|INTERNAL|UNKNOWN)(?=:|\W*$)"
)
_ABSENT_EXCEPTION: Final = re.compile(r"\b(?:NoSuchElement|\w{0,40}NotFound)(?:Exception|Error)\b")
_OF_REQUEST: Final = re.compile(
    r"\b(?:[\w.]{1,80}\.)?(?:IllegalArgument|NumberFormat|DateTimeParse|Validation|ConstraintViolation)Exception\b"
)
"""Names of exceptions that are about what was sent, whoever throws them."""
_KEY_ERROR: Final = re.compile(r"\bKeyError\b[^\n]{0,20}['\"]")
"""Python's, of a name that a dict does not have."""
_KEY_ALONE: Final = re.compile(r"'[^'\n]{1,200}'|\"[^\"\n]{1,200}\"")
"""The same where nothing but the text of the exception is left."""
_NOT_FOUND: Final = re.compile(
    r"(?i)\bno rows in result set\b|\b(?:not|isn't|wasn't|aren't) found\b|\b(?:does|do)(?:n't| not) exists?\b"
    r"|\bis not (?:a member|registered|part of)\b"
)
