"""The value that a sentence calls by the words behind its name: "check-and-set parameter" is about `cas`.

Knows: one sentence, what was sent. Does not know: descriptions, rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from .message.sent_values import SentValue

_READ: Final = 500
_MOST: Final = 8
_TERM: Final = re.compile(r"(?<![\w-])[A-Za-z]{1,20}(?:-[A-Za-z]{1,20}){2,4}(?![\w-])")
"""Three words or more with hyphens between them: fewer have the initials of too much."""


def place_by_initials(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only value whose name is the initials of a term that a sentence has; empty where it is not clear."""
    terms = islice(_TERM.finditer(message[:_READ]), _MOST)
    initials = {"".join(word[0] for word in term[0].lower().split("-")) for term in terms}
    named = [one.pointer for one in sent if one.path and str(one.path[-1]).lower() in initials] if initials else []
    return named[0] if len(named) == 1 else ""
