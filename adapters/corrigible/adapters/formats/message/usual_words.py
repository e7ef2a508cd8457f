"""The text of an error in the words that most APIs use, so that each pattern need not know all of them.

`needs to be` is `must be`, `was not supplied` is `is required`, `could not be located` is `not found`, guillemets are
quotes, and a code that is all of a text, `USER_NOT_FOUND` or `handle_taken`, is a sentence. What stands in quotes is
never changed: it is what was sent, or a name.

Knows: one text. Does not know: requests, what the text is about.
"""

from __future__ import annotations

import functools
import re
from typing import Final

from .pattern_list import PatternList

_READ: Final = 2000
_CLAUSE_ENDS: Final = (
    r"(?=\s*(?:[.,:;!)\]]|$|(?:for|in|to|when|if|by|as|with|and|or|but|here|because|unless|on|at|from)\b))"
)
_SAID: Final = (
    r"(?=\s*(?:[.,:;!)\]]|$|(?:for|when|if|and|or|but|because|unless|here)\b|(?:in|on|by|with)"
    r" (?:the|this|your|an?) (?:\w+ )?(?:body|query|request|headers?|path|call|payload|caller|client|user)\b))"
)
"""The same for what was given: `given as text` and `passed to a shelf` go on."""
_NAMED: Final = r"(?:field|property|parameter|attribute|option|column|argument|filter|member|key)"
_GIVEN: Final = r"(?:provided|supplied|given|passed|specified|sent|included|entered|filled in|submitted)"
_GIVE: Final = r"(?:send|give|provide|supply|set)"
_IS: Final = r"(?:is|are|was|were|has been|have been|had been)"
_NO: Final = r"(?:not| not|n't)"
_MUST: Final = r"(?:ha(?:s|ve)(?: got)? to|needs? to|ought to|shall|must|should)"
_CHANGE: Final = r"(?:delete|remove|update|change|modify|rename|create|add|set|use|move|edit|start|stop|combine)"
_PUT_SO: Final = (  # validators whose sentences are read as they are
    r"(?:integer|number|string|text|boolean|date|time|datetime|timedelta|uuid|ur[il]|e-?mail|ip|list|mapping|dict|tuple"
    r"|choice|value|float|decimal|json|base64)\b"
)
_OF_LOG_IN: Final = (
    r"(?:user ?names?|passwords?|passcodes?|credentials?|log-?ins?|tokens?|keys?|codes?|pins?|signatures?|mails?)\b"
)
_BEGINS: Final = r"(?<![\w ] )"
"""Where a sentence begins, or a part of it behind a colon."""

_USUAL: Final = (
    (rf"{_MUST} (?:always )?be {_GIVEN}{_SAID}", "is required"),
    (rf"(?:{_IS}|has|have){_NO}(?: been)? {_GIVEN}{_SAID}", "is required"),
    (
        rf"{_IS} (?:mandatory|compulsory|obligatory|needed|omitted|left out|forgotten|absent){_CLAUSE_ENDS}",
        "is required",
    ),
    (rf"(?:can|could|may|must|should){_NO} be (?:omitted|left out|skipped|missing){_CLAUSE_ENDS}", "is required"),
    (rf"you (?:left out|forgot|omitted|did{_NO} {_GIVE})(?: to {_GIVE})?(?: (?:the|a|an))?\b", "missing"),
    (rf"{_BEGINS}absent(?= [\w'\"`])", "missing"),
    (r"(?:ha(?:s|ve)(?: got)?|needs?|ought) to(?= [a-z])", "must"),
    (r"(?:is|are) (?:supposed|expected|meant|obliged) to(?= (?:not )?(?:be|have|contain|match)\b)", "must"),
    (r"shall(?= (?:not )?(?:be|have|contain)\b)", "must"),
    (
        rf"(?:could|can|was|were|is|are){_NO} (?:be )?(?:located|traced|known|registered)"
        rf"(?: (?:here|(?:to|in) (?:us|(?:the|this) (?:system|server))))?{_CLAUSE_ENDS}",
        "not found",
    ),
    (
        r"(?:is|are) missing (?:from|in) (?:the|this|our) (?:system|server|database|registry|catalog(?:ue)?)\b",
        "not found",
    ),
    (rf"(?:(?:we|i) )?(?:(?:could|can){_NO}|(?:was |were |are |is )?unable to|failed to) locate\b", "could not find"),
    (rf"(?:is|are|was|were){_NO} (?:recogni[sz]ed|understood){_CLAUSE_ENDS}", "is unknown"),
    # Jackson's and Zod's sentences about unrecognized names are read as they are.
    (rf"(?:unrecogni[sz]ed(?! (?:name|{_NAMED}))|unfamiliar|unidentified)(?= [\w'\"`])", "unknown"),
    (rf"(?:there is )?no(?: such)? {_NAMED} (?:called|named|with the name|by the name(?: of)?)\b", "unknown {named}"),
    (rf"no such {_NAMED}(?= [\w'\"`])", "unknown {named}"),
    (r"(?:unacceptable|inadmissible|improper)(?= [\w'\"`:(])", "invalid"),
    (rf"(?:is|are) (?:unacceptable|inadmissible|improper){_CLAUSE_ENDS}", "is invalid"),
    (rf"incorrect(?= (?!{_OF_LOG_IN}|(?:two|padding)\b)[\w'\"`])", "invalid"),
    (rf"{_BEGINS}(?:is )?not an? (?:valid|legal|acceptable|correct)(?= (?!{_PUT_SO})\w)", "invalid"),
    (
        rf"(?:{_IS} already (?:created|registered|present|there)"
        rf"|ha(?:s|ve) already been (?:created|registered|added|defined|declared)(?: before)?|exists already)"
        rf"{_CLAUSE_ENDS}",
        "already exists",
    ),
    (
        r"(?:may|should) not(?= be (?:blank|empty|null|nil|none|changed|modified|deleted|updated|removed|combined)\b)",
        "cannot",
    ),
    (rf"may not(?= {_CHANGE}\b)", "cannot"),
    (rf"{_BEGINS}unable to(?= {_CHANGE}\b)", "cannot"),
    (r"(?:it(?: is|'s)|is|are) (?:impossible|not possible) to\b", "cannot"),
    (rf"(?:disallowed|prohibited){_CLAUSE_ENDS}", "not allowed"),
)
"""What means the same as words that all patterns know. What a pattern reads as it is written is not here."""
_OPEN: Final = (
    "\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}\N{LEFT DOUBLE QUOTATION MARK}\N{DOUBLE LOW-9 QUOTATION MARK}"
)
_OPEN_SINGLE: Final = "\N{LEFT SINGLE QUOTATION MARK}\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}"
_CLOSE: Final = (
    "\N{RIGHT-POINTING DOUBLE ANGLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}\N{LEFT DOUBLE QUOTATION MARK}"
)
_APOSTROPHE: Final = "\N{RIGHT SINGLE QUOTATION MARK}"
_CLOSE_SINGLE: Final = _APOSTROPHE + "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
_MARKS: Final = _OPEN + _OPEN_SINGLE + _CLOSE + _CLOSE_SINGLE
_MARKED: Final = re.compile(
    rf"[{_OPEN}](?P<double>[^{_OPEN}{_CLOSE}\"\n]{{1,200}})[{_CLOSE}]"
    rf"|[{_OPEN_SINGLE}](?P<single>[^{_MARKS}'\n]{{1,200}})[{_CLOSE_SINGLE}](?!\w)"
    rf"|(?<=\w)(?P<apostrophe>{_APOSTROPHE})(?=\w)"
)
_CODE: Final = re.compile(
    r"(?P<capitals>[A-Z]{2,}(?:_[A-Z0-9]+){1,9})"
    r"|(?:\[\[)?(?:[A-Za-z]{2,20}[.:]){0,2}(?P<key>(?=[\w-]*(?:invalid|unknown|missing|required|taken|exist|found|conflict"
    r"|duplicate|locked|already|expired|limit|exceed|paused|closed|unsupported|insufficient|cannot|cant|(?:not|too|no)[_-]))"
    r"[a-z]+(?:[_-][a-z0-9]+){1,9}|[A-Z]{2,}(?:_[A-Z0-9]+){1,9})(?:\]\])?",
    re.ASCII,
)
"""A code in capitals, or the key of a text: `handle_taken`, `error.order_closed`, `[[error:already-following]]`.

No name of a member has such words, or only by chance.
"""
_KEPT: Final = r"\"[^\"\n]{0,200}\"|(?<!\w)'[^'\n]{0,200}'(?!\w)|`[^`\n]{0,200}`"
_NOUN: Final = re.compile(_NAMED, re.IGNORECASE)
_PATTERNS: Final = PatternList(*(rf"\b(?:{pattern})" for pattern, _ in _USUAL))


def in_usual_words(message: str) -> str:
    """Return a text with usual words for those that mean the same."""
    if len(message) > _READ:
        return message
    if " " not in message and (code := _CODE.fullmatch(message)) is not None:
        message = re.sub("[_-]", " ", code["capitals"] or code["key"]).lower()
    if not message.isascii():
        message = _MARKED.sub(_with_plain_marks, message)
    numbers = _PATTERNS.candidates(message)
    return _any_of(tuple(numbers)).sub(_with_usual_words, message) if numbers else message


def _with_plain_marks(match: re.Match[str]) -> str:
    if match["apostrophe"]:
        return "'"
    return f'"{match["double"]}"' if match["double"] else f"'{match['single']}'"


@functools.lru_cache(maxsize=64)
def _any_of(numbers: tuple[int, ...]) -> re.Pattern[str]:
    """Return what finds some of the patterns, and before them what is quoted."""
    found = "|".join(f"(?P<u{number}>{_USUAL[number][0]})" for number in numbers)
    return re.compile(rf"{_KEPT}|\b(?:{found})", re.IGNORECASE)


def _with_usual_words(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind is None:  # in quotes
        return match[0]
    words = _USUAL[int(kind[1:])][1]
    if "{named}" in words and (noun := _NOUN.search(match[0])) is not None:
        words = words.replace("{named}", noun[0].lower())
    return words[0].upper() + words[1:] if match[0][:1].isupper() else words
