"""The place of what an error calls by its label, or by what it refers to: `Author must exist` is about `author_id`.

| what is told                  | the member       | how it is found                                        |
|-------------------------------|------------------|--------------------------------------------------------|
| `Author`, `author`            | `author_id`      | the only one that is called so, with a last word more  |
| `Parent id`                   | `parent`         | the one of that name without the last word             |
| `Due on`                      | `due_date`       | the only one with the most of its words: for a question |

Knows: labels, the request, what its operation declares. Does not know: formats, what is suggested.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from corrigible.adapters.formats.message.sent_values import SentValue, fold
from corrigible.adapters.vocabulary import Vocabulary
from corrigible.rules.budget import spend
from corrigible.rules.safety.decisive import words
from corrigible.schema.exchange import Request

from .place_by_path import find_missing
from .sent_places import COMPARED_A_STEP

_ENDINGS: Final = ("id", "ids", "uuid", "key", "slug", "ref", "code")
"""Last words of names of members that refer to something."""
_LABEL: Final = re.compile(
    r"(?P<name>[^\W\d_][\w'%-]{0,40}(?: [\w'%-]{1,40}){0,4}?|% \w{1,40})"
    r" (?:is|are|has|have|does|do|must|should|can|cannot|can't|may|needs|doesn't|isn't|hasn't)\b"
)
_UNTOLD: Final = frozenset({"id", "ids", "of", "the", "to", "a", "an", "field", "value", "in", "on", "for", "by"})
ABOUT_RIGHTS: Final = re.compile(
    r"(?i)credential|authori[sz]|authenti|logged in|sign(?:ed)? in|permi(?:t|ss)|denied|forbidden"
    r"|\b(?:allowed|able|entitled) to|access|subscri"
)
"""Words of sentences about what the caller may do: "User is not allowed to ..." is not about `user_id`."""
_SHORTEST: Final = 3
_STEM: Final = 5
_MOST: Final = 60
"""Members that are compared with a label."""


def place_of_reference(
    name: str, message: str, request: Request, vocabulary: Vocabulary, sent: Sequence[SentValue]
) -> str:
    """Return the only member that refers to what a message names, sent or else declared; empty where there is none."""
    if ABOUT_RIGHTS.search(message) is not None:
        return ""
    names = list(_referring(name))
    spend(len(sent) // COMPARED_A_STEP)
    there = {one.pointer for one in sent if one.path and one.path[0] == "body" and one.folded[-1] in names}
    if there:
        return next(iter(there)) if len(there) == 1 else ""
    absent = {place for one in names if (place := find_missing("body", [one], request, vocabulary))}
    return next(iter(absent)) if len(absent) == 1 else ""


def place_of_identifier(name: str, request: Request, vocabulary: Vocabulary, sent: Sequence[SentValue]) -> str:
    """Return the member that a message calls by its kind and the word for an identifier: `Parent id` of `parent`.

    Of an object the identifier may be meant: that one has more.
    """
    told = words(name.replace(" ", "_"))
    if len(told) < 2 or told[-1] not in _ENDINGS:
        return ""
    member = "_".join(told[:-1])
    spend(len(sent) // COMPARED_A_STEP)
    there = [one for one in sent if len(one.path) == 2 and one.path[0] == "body" and one.folded[-1] == fold(member)]
    if there:
        return there[0].pointer if len(there) == 1 and isinstance(there[0].value, str | int) else ""
    return find_missing("body", [member], request, vocabulary) or ""


def _referring(name: str) -> Iterator[str]:
    """Yield the folded names of members that may refer to what a label names."""
    plain = fold(name.replace(" ", "_"))
    for one in dict.fromkeys((plain, plain.removesuffix("s"))):
        yield from (one + ending for ending in _ENDINGS)


def has_label(message: str) -> bool:
    """Whether a sentence begins with what may be the label of a member, whatever that is called."""
    return _LABEL.match(message) is not None and ABOUT_RIGHTS.search(message) is None


def place_like_label(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only value of the body whose name shares the most words with the label that begins a sentence.

    That is no proof: it is good for a question.
    """
    label = _LABEL.match(message)
    told = [word for word in words(label["name"]) if word not in _UNTOLD] if label is not None else []
    if not told:
        return ""
    values = (one for one in sent if one.path and one.path[0] == "body" and not isinstance(one.value, Mapping))
    likeness: dict[str, int] = {}
    for one in islice(values, _MOST):
        spend()
        name = words(one.path[-1])
        likeness[one.pointer] = sum(max((_alike(word, other) for other in name), default=0) for word in told)
    most = max(likeness.values(), default=0)
    like = [place for place, count in likeness.items() if count == most]
    return like[0] if most and len(like) == 1 else ""


def is_alike(word: str, other: str) -> bool:
    """Whether a word is another one, or another form of it: `compressor` and `compression`."""
    return _alike(word, other) > 0


def _alike(word: str, other: str) -> int:
    """Return 2 for the same word, 1 for another form of it: `assignee` and `assigned`, `email` and `mail`."""
    if other in _UNTOLD or min(len(word), len(other)) < _SHORTEST:
        return 0
    if word == other or word == f"{other}s" or other == f"{word}s":
        return 2
    shorter, longer = sorted((word, other), key=len)
    is_part = len(shorter) > _SHORTEST and (longer.startswith(shorter) or longer.endswith(shorter))
    return 1 if is_part or word[:_STEM] == other[:_STEM] else 0
