"""The status that a refusal should have had by its text: many servers answer mistakes of callers with 500 or 412.

Such an answer is read as if its status were 400, and one that only says that the caller is too fast as 429. What a
server says of itself (a crash, a time-out, another machine) is none of the request's. 412 is about a condition in the
headers of the request (RFC 9110, section 13): where none was sent, nor the text is about a version, it says that an
argument is wrong.

Knows: texts of errors, statuses. Does not know: descriptions, rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from corrigible.adapters.formats.sent_places import sent_places
from corrigible.adapters.formats.statement import is_fault
from corrigible.adapters.reader.evidence import tells_of_nothing
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind, read
from corrigible.schema.exchange import Exchange, Protocol, Request

from .request_at_fault import BAD_REQUEST, SERVER_FAULT

_READ: Final = 1000
"""Letters of a message that are looked at."""
_OF_THE_REQUEST: Final = re.compile(
    r"(?i)\b(?:invalid|illegal|malformed|unsupported|unrecogni[sz]ed|unknown|reserved|mutually exclusive)\b"
    r"|\bnot (?:an? )?(?:\w{1,20} )?(?:valid|allowed|permitted|supported|recogni[sz]ed|known|found)\b"
    r"|\b(?:must|should|required|mandatory|simultaneously)\b"
    r"|\b(?:cannot|can ?not|may not) be (?!parsed|read|opened|loaded|saved|written|reached|processed)|\bcan only\b"
    r"|\balready (?:exists?|in use|used|taken|associated)\b|\b(?:is|name) (?:being used|in use|taken)\b"
    r"|\bno such\b|\b(?:does ?n[o']t|do not) exist\b|\bno \w+ with\b|\bnot in (?:the )?(?:subnet|range|list)\b"
    r"|\bjson: cannot unmarshal\b|\berror converting value\b|\bunexpected EOF\b"
)
_OF_WHAT_IS_REPEATED: Final = re.compile(
    r"(?i)\bis (?:not )?an? (?:directory|folder|file)\b|\bexpect(?:s|ed) .{1,80}\bbut (?:got|received|found)\b"
    r"|\bbut\b.{1,80}\b(?:was|were) (?:queried|requested|given|sent|provided|specified|supplied)\b"
    r"|\binput validation failed\b"
)
"""The same, if something that was sent is repeated: a server may expect something of another one as well."""
_OF_THE_SERVER: Final = re.compile(
    r"(?i)exception|traceback|\b(?:(?<!literal )null|nil|none|undefined|internal|panic\w*|tim(?:ed|e)[ -]?out|deadline"
    r"|connect\w*|refused|unreachable|remote|socket|tls|certificate|handshake|permission denied"
    r"|no such (?:host|device|process|file)|operation not permitted|not implemented|database|sql\w*|syscall|stack"
    r"|out of memory|no space|disk|broken pipe|unhandled|unexpected error|crash\w*|deadlock|lock(?:ed)?)\b"
    r"|\[errno|\bstatus (?:code )?\d{3}\b"
)
"""Words of faults that no request is to blame for, or is not known to be."""
_ABSENT: Final = re.compile(r"(?i)\bnot found\b|\bno such\b|\b(?:does ?n[o']t|do not) exist\b")
"""What is not there may be the server's own where a text repeats nothing that was sent."""
_ERRNO: Final = re.compile(r"(?i):\s*invalid argument\s*$")
"""How systems and libraries end any of their texts: it says nothing of what was sent."""
_NAMES: Final = re.compile(r"\b\w+(?:\.\w+)+|\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'")
"""Names of types and members, and what was sent: they may have any word of a server."""
_PRECONDITION_FAILED: Final = 412
_CONDITIONS: Final = frozenset({"if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range"})
_OF_A_VERSION: Final = re.compile(
    r"(?i)\bpre-?conditions?\b|\bif-(?:none-)?match\b|\be-?tags?\b|\b(?:version|revision|generation)s?\b"
    r"|\b(?:been|was|were|is|are|has|have) (?:since |concurrently )?(?:modified|changed|updated|edited)\b"
    r"|\bconditions? (?:[\w()-]+ ){0,8}?(?:not (?:be )?met|not hold|failed|unmet)\b"
    r"|\b(?:stale|outdated|out of date|concurren\w+|conflict\w*)\b"
)
"""What the text of a condition that failed is about: some servers take the condition from the body or the query."""
_ADDRESS: Final = re.compile(r"\w://")
_JSON: Final = re.compile(r"(?i)\bdecod\w*|\bjson\b|\bunmarshal\w*|\bpayload\b|\bbody\b")


_TOO_MANY_REQUESTS: Final = 429
_TOO_FAST: Final = ".too-fast"
"""The row that says so of the caller: too many of something in one request do not end with time."""
_MAY_BE_ABOUT_PACE: Final = frozenset({400, 422})
"""Statuses that some servers give to who is too fast: of others there are rules, or they say something else."""


def _is_too_fast(errors: Sequence[Violation]) -> bool:
    """Whether all that is told of the request is that it came too soon; an error with a place is about a value."""
    return all(
        not one.pointer and any(said.row.endswith(_TOO_FAST) for said in read(one.message).of(Kind.PACE))
        for one in errors
    )


def told_fault(exchange: Exchange, errors: Sequence[Violation]) -> Exchange | None:
    """Return the exchange with the status that its text is about; None where that is the one it has, or unclear."""
    if exchange.request.protocol is not Protocol.HTTP or not errors:
        return None
    if exchange.status in _MAY_BE_ABOUT_PACE:
        return replace(exchange, status=_TOO_MANY_REQUESTS) if _is_too_fast(errors) else None
    if exchange.status == _PRECONDITION_FAILED:
        return None if _is_conditional(exchange, errors) else replace(exchange, status=BAD_REQUEST)
    if exchange.status != SERVER_FAULT:
        return None
    # What is looked for under no name was not sent.
    texts = [one.message[:_READ].strip() for one in errors if not tells_of_nothing(one.message, exchange.request)]
    texts = [_ERRNO.sub("", one) for one in texts]
    repeating = [one for one in texts if _OF_WHAT_IS_REPEATED.search(one) is not None]
    is_told = all(_OF_THE_REQUEST.search(one) is not None or one in repeating or _is_unread(one) for one in texts)
    if not is_told or any(map(_is_of_the_server, texts)) or any(is_fault(one.message) for one in errors):
        return None
    doubtful = [one for one in texts if _ABSENT.search(one) is not None or one in repeating]
    if doubtful and not _repeat_sent(doubtful, exchange.request):
        return None
    return replace(exchange, status=BAD_REQUEST)


def _is_conditional(exchange: Exchange, errors: Sequence[Violation]) -> bool:
    """Whether a 412 may be about a condition: one was sent, or a text is about a version, or there is no text."""
    if not _CONDITIONS.isdisjoint(name.lower() for name in exchange.request.headers):
        return True
    texts = [one.message[:_READ] for one in errors]
    return not any(texts) or any(_OF_A_VERSION.search(one) is not None for one in texts)


def _is_of_the_server(text: str) -> bool:
    return _ADDRESS.search(text) is not None or _OF_THE_SERVER.search(_NAMES.sub(" ", text)) is not None


def _repeat_sent(texts: Sequence[str], request: Request) -> bool:
    """Whether each text repeats something of what was sent beside the path."""
    sent = [one.value for one in sent_places(request) if isinstance(one.value, str) and one.value]
    return all(any(one in text for one in sent) for text in texts)


def _is_unread(text: str) -> bool:
    """Whether a text says that JSON was not understood, as parsers put it: `invalid character`, `EOF`."""
    return _JSON.search(text) is not None and re.search(r"\bEOF\s*$", text) is not None
