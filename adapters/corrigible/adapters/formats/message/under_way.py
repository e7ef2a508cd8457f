"""Sentences about something that is being done: the same request may do when that has ended.

| the sentence                          | ends by itself                     |
|---------------------------------------|------------------------------------|
| "Another import is in progress"       | yes                                |
| "The project is being deployed"       | yes                                |
| "The order is locked by another user" | yes                                |
| "The order is locked"                 | nobody knows: somebody may want it |
| "The container is running"            | no: it is meant to                 |

Knows: one sentence. Does not know: requests, headers, what follows.
"""

from __future__ import annotations

from typing import Final

from .doubt import sentence
from .pattern_list import PatternList

_UNDER_WAY: Final = PatternList(
    r"\b(?:is|are|was|already|currently|still) (?:already |currently |still )*in progress\b(?! or\b)|\bin progress\W*$"
    r"|\b(?:is|are) (?:currently |still |already |now )*being (?!used|referenced|managed|required|needed)\w{3,}ed\b"
    r"(?! by\b)"
    r"|\b(?:is|are) (?:currently|still) "
    r"(?!running|using|missing|pending|exist|point|wait|depend|refer|hav|hold|bel|being)\w{2,}ing\b(?! or already\b)"
    r"|\b(?:in|under) maintenance\b|\b(?:is|are) busy\b"
    r"|\bnot (?:yet ready|ready yet)\b(?! to accept\b)"
    r"|\b(?:service|server|system|cluster|database) is not (?:yet )?ready\b"
    r"|\blocked by (?:another|a different|some(?:one| other))\b"
    r"|\banother [\w -]{1,60} (?:is|are) (?:already |currently |still )*(?:running|active|executing|queued)\b"
)
"""Words for something that ends by itself."""


def is_under_way(message: str) -> bool:
    """Whether a message says that something else is being done."""
    return _UNDER_WAY.search(sentence(message)) is not None
