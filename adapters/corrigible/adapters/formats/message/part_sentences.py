"""Sentences that begin with the part of the request they are about, as servers on Node write them.

| the text                                                        | who writes it                        |
|-----------------------------------------------------------------|--------------------------------------|
| `request/body/nodes/0 must be object, request/query/n must be >= 1` | express-openapi-validator's message |
| `req.body.type is not a known type`                             | handlers, with the expression itself |
| `request.body.data requires property "token"`                   | jsonschema, under a name it was given |

Many servers on express-openapi-validator answer its message only, and leave its list of errors out.

Knows: texts. Does not know: requests, what a sentence says.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_PART: Final = r"(?:body|query|params|headers|cookies)"
_SLASHES: Final = re.compile(
    rf"request/(?P<part>{_PART})(?P<path>(?:/[^\s/,]{{1,200}})*) (?P<sentence>\S.*)", re.DOTALL
)
_BETWEEN_SLASHES: Final = re.compile(rf", (?=request/{_PART}[/ ])")
_STEP: Final = r"(?:\.[A-Za-z_$][\w$-]{0,99}|\[\d{1,6}\]|\[['\"][^'\"\]\n]{1,100}['\"]\])"
_DOTS: Final = re.compile(rf"req(?:uest)?\.(?P<part>{_PART})(?P<path>{_STEP}{{0,30}}) (?P<sentence>\S.*)", re.DOTALL)
_BETWEEN_DOTS: Final = re.compile(rf",\s?(?=req(?:uest)?\.{_PART}[.\[ ])")
_OF_ALL: Final = re.compile(r"must match (?:a|exactly one) schema in (?:anyOf|oneOf)")
"""What is said of a value that takes none of several forms. What is said of it before is about one form each."""
_LONGEST: Final = 2000
_MOST: Final = 32


class PartSentence(NamedTuple):
    """A sentence, and the place that it is about."""

    place: str
    """The part of the request and the path in it, with slashes or as an expression: `body/items/0`, `body.items[0]`."""
    sentence: str


def part_sentences(message: str) -> list[PartSentence]:
    """Return the sentences of a text that name their part of the request, nothing where one does not."""
    if len(message) > _LONGEST or not message.startswith("req"):
        return []
    for whole, between in ((_SLASHES, _BETWEEN_SLASHES), (_DOTS, _BETWEEN_DOTS)):
        matches = [whole.fullmatch(one) for one in between.split(message, _MOST)]
        told = [PartSentence(one["part"] + one["path"], one["sentence"]) for one in matches if one is not None]
        if len(told) == len(matches):
            return _of_whole_values(told)
    return []


def _of_whole_values(told: list[PartSentence]) -> list[PartSentence]:
    """Return the sentences without those that are about one of several forms of a value."""
    wholes = [one.place for one in told if _OF_ALL.search(one.sentence) is not None]
    inside = tuple(f"{whole}{step}" for whole in wholes for step in "/.[")
    return [
        one
        for one in told
        if _OF_ALL.search(one.sentence) is not None or not (one.place in wholes or one.place.startswith(inside))
    ]
