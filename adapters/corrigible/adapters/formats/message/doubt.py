"""Whether a sentence may be about something else than a state, whatever words of states it has.

Knows: one sentence. Does not know: requests, reasons, what follows.
"""

from __future__ import annotations

import re
from typing import Final

from .pattern_list import PatternList

_READ: Final = 300
"""Characters of a message that are read: what is told later is seldom the reason."""
_DOUBTFUL: Final = PatternList(
    r"\b(?:fields?|param(?:eter)?s?|propert(?:y|ies)|attributes?|arguments?|columns?|keys?|options?|headers?|filters?"
    r"|values?|format|json|body|payload|syntax|characters?|length|size|integer|string|number(?! of)|empty|blank|null"
    r"|itself)\b|\binvalid\b(?! (?:\w+ )?(?:state|status|phase)\b)|\b(?:missing|unknown|unsupported|not provided"
    r"|not specified|required)\b"
    r"|\b(?:at once|but got|expected|flags? only|provide|specify|specified|both|one of|greater|less|between"
    r"|at (?:least|most)|instead|boolean|(?:choose|select|use|try|give|pick|send) (?:another|a different))\b"
    r"|\b(?:supported|allowed|valid|available|accepted) (?:[\w-]+ )?(?:are|is)?:|\blist of\b|\b(?:are"
    r"|is) not (?:supported|allowed) in the\b|\w=\w"
    r"|\b(?:ensure|make sure|check (?:that|the|your)|(?:the same|this|that) (?:name|e?mail|identifier|id|slug"
    r"|title|username))\b"
)
"""Words of sentences about what the caller wrote: what is meant by the rest is not sure."""
_OF_EXISTENCE: Final = PatternList(
    r"\b(?:not (?:be )?found|could not find|not exist|no such|non[ -]?exist\w*|no [\w ]{1,60} found)\b"
    r"|n't (?:exist|find)\b|\balready (?:exists?|in use|taken|used|registered|been (?:taken|used|registered))\b"
    r"|\bused by (?:an)?other (?:user|one)\b"
)
"""Words of sentences about what exists, or does not: another value may do."""
_PASSING: Final = PatternList(
    r"\b(?:try|send it|submit it) again\b|\bretry\b|\bplease wait\b|\btemporar(?:y|ily)\b|\bat the moment\b"
    r"|\brate limit|\b(?:timed? ?out|internal (?:server )?error)\b"
)
"""Words of sentences about what may pass by itself, or about a fault: the same request may do later."""
_MEMBER: Final = re.compile(r"(?<![\w'\"`./:-])(?:[a-z]+_[a-z_]+|[a-z]+[A-Z][A-Za-z]+)(?![\w'\"`./:-])")
"""A name as members have it: `target_scope`."""


def sentence(message: str) -> str:
    """Return the part of a message that is read."""
    return message[:_READ].strip().replace("\u2019", "'")


def is_doubtful(text: str, *, is_plain: bool = False) -> bool:
    """Whether a sentence may be about a value that was sent, about what exists, or about what passes."""
    if _PASSING.search(text) is not None or _OF_EXISTENCE.search(text) is not None:
        return True
    return not is_plain and (_DOUBTFUL.search(text) is not None or _MEMBER.search(text) is not None)
