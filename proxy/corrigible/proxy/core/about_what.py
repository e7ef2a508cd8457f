"""What the text of an error may be about, by its words: a form, a lack, a member, a name or a value of a place.

Knows: words of errors, schema violations. Does not know: requests, descriptions.
"""

from __future__ import annotations

import re
from typing import Final

from corrigible.rules.safety.nearness import letters

_ABOUT_FORM: Final = re.compile(
    r"(?i)invalid|unknown|unexpected|unrecogni|unsupported|validat|bad request|malformed|schema|fields?\b|propert|param"
    r"|attribute|argument|member|\bkeys?\b|\b(?:string|number|numeric|integer|boolean|object|list) values?\b"
    r"|could not be processed|json|body|payload|request"
)
ABOUT_ABSENCE: Final = re.compile(
    r"(?i)\b(?:missing|required?|no \S{1,40}(?: \S{1,40}){0,2} (?:specified|provided|given|supplied|set|found)"
    r"|not (?:be )?(?:specified|provided|given|supplied|set|empty)|must be (?:specified|provided|given|supplied|set)"
    r"|can(?:not|'t) be (?:empty|blank)"
    r"|(?:must|please) (?:specify|provide|give|supply))\b"
)
"""Words of complaints about what was not sent: it may have been sent under another name."""
UNKNOWN_MEMBER: Final = re.compile(
    r"(?i)unknown|unexpected|unrecogni|undeclared|undefined|unpermitted|unsupported|extra|additional|forbidden|no such"
    r"|does ?n[o']t exist|read-?only|not (?:allowed|permitted)(?! to\b)"
    r"|not (?:supported|known|defined|expected|recogni)"
    r"|(?:should|must) not (?:be )?(?:exist|set|given|sent|present|specified|provided)"
    r"|(?:invalid|wrong|bad) (?:\w+ )?(?:field|propert|param|key|attribute|member|argument)"
)
"""Words of complaints about a member, whatever its value is."""
_FEW_WORDS: Final = 3


def says_little(message: str) -> bool:
    """Whether a message is a few words without names and values."""
    return len(message.split()) <= _MOST_OF_LITTLE and not any(mark in message for mark in "'\"`0123456789:")


_MOST_OF_LITTLE: Final = 5


def may_be_about_names(message: str) -> bool:
    """Whether a message that names no place may mean that a name is unknown: it says next to nothing, or so."""
    is_short = len(message.split()) < _FEW_WORDS
    return is_short or _ABOUT_FORM.search(message) is not None or ABOUT_ABSENCE.search(message) is not None


def plain_words(message: str) -> str:
    """Return a message with its words apart, names in any spelling alike."""
    return " " + " ".join(letters(word) for word in re.split(r"[^\w$-]+", message)) + " "
