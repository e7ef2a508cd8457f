"""Whether the text of a refusal says that the caller is too fast, whatever its status is: then it is read as a 429.

Only what says so of the caller counts: `Slow down.`, `Rate limit exceeded`, `You are posting too quickly`. That there
are too many of something in the request, such as calls of a batch, does not end with time.

Knows: texts of errors. Does not know: statuses, rules, how long to wait.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from corrigible.rules.violation import Violation

TOO_MANY_REQUESTS: Final = 429
MAY_BE_ABOUT_PACE: Final = frozenset({400, 422})
"""Statuses that some servers give to who is too fast: of others there are rules, or they say something else."""
_READ: Final = 300
_TOO_FAST: Final = re.compile(
    r"(?i)(?:^|[.!;,:] )(?:please )?slow down\b(?=\W*(?:$|[.!]|and (?:try|retry)))"
    r"|\b(?:you(?: are|'re)|requests (?:are|were)|you have been|you've been) (?:[\w'-]+ ){0,4}"
    r"too (?:quickly|fast|frequently|often)\b(?!-)"
    r"|\brate[ -]?limit(?: (?:has been|was|is))? (?:exceeded|reached|hit)\b"
    r"|\b(?:exceed(?:ed|s|ing)?|reached|hit) (?:the |your |its |our |an? )?(?:api |request )?rate[ -]?limits?\b"
    r"|^\W*(?:error: )?too many requests(?=\W*$|[.,;!] | from (?:this|your) (?:ip|address|client)\b)"
)


def is_too_fast(errors: Sequence[Violation]) -> bool:
    """Whether all that is told of the request is that it came too soon; an error with a place is about a value."""
    return bool(errors) and all(not one.pointer and _TOO_FAST.search(one.message[:_READ]) for one in errors)
