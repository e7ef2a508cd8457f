"""What a sentence about a state is about: what the path names, the API as a whole, or something that was sent.

"The coupon has expired" says nothing of an order: with another coupon it may pass. "The order is closed" does.

| the sentence has                                     | it is about      |
|------------------------------------------------------|------------------|
| the name of a member that was sent                   | that value       |
| "the selected", "the given"                          | a value          |
| a word of the path, or a name in it                  | that resource    |
| a word for the API, the plan, or a limit             | the API          |
| no noun: "Already closed"                            | that resource    |
| another noun, beside a body                          | a value          |
| another noun, and nothing in the body                | that resource    |

Knows: sentences, requests. Does not know: which reasons there are, descriptions, what follows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final
from urllib.parse import unquote

from corrigible.adapters.formats.message.state_wording import is_state_word
from corrigible.rules.budget import spend
from corrigible.rules.pointer import segments
from corrigible.rules.safety.decisive import words
from corrigible.schema.exchange import Request

from .absent_thing import refers
from .state_reader import repeats, values_in

_WORD: Final = re.compile(r"\b[a-z][a-z'-]*[a-z]\b")
_MOST_VALUES: Final = 100
_SHORTEST: Final = 3
_CHOSEN: Final = re.compile(
    r"(?i)\b(?:selected|chosen|requested|given|specified|provided|supplied|desired|entered)"
    r" (?!operation|action|resource|method|endpoint|function|feature|api|state|status)[a-z]"
)
_THIS: Final = re.compile(r"(?i)\b(?:this|that|these|those) ([a-z][a-z-]*[a-z])\b")
_OF_THE_API: Final = re.compile(
    r"api|server|service|system|platform|instance|installation|deployment|database|cluster|backend|hardware|kernel"
    r"|tenant|organi[sz]ation|workspace|licen[cs]e|plan|subscription|edition|feature|functionality|module|plugin"
    r"|extension|quota|limit|storage|disk|memory|capacity|operation|action|request|endpoint|access|permission"
    r"|privilege|login|configuration|setting|administrator"
)
_YOURS: Final = re.compile(r"(?i)\byour (?:[\w-]+ )?(?:account|project|team|site|environment|user)\b")
_NO_NOUN: Final = re.compile(
    r"an|the|this|that|these|those|its?|they|is|are|was|were|has|have|had|been?|being|not?|longer|already|yet|still"
    r"|currently|to|for|of|in|on|by|at|and|or|can|cannot|may|must|with|from|as|while|because|since|until|there|now|any"
    r"|more|only|never|\w+n't|can't|does|do|did|so|up|out|set-?up"
)
_VAGUE: Final = frozenset({"id", "name", "type", "value", "data", "item", "key", "statu", "state"})
"""Words in names of members that tell no thing."""


def value_refused(text: str, request: Request, names: Collection[str], *, is_of_rights: bool = False) -> str | None:
    """Return the place of what a sentence is about, if that may be a value that was sent; None where it is not.

    `names` are what stands for variables in the path. The place is the whole body or query where the sentence does not
    tell which value; of a single value that was sent it is that one.
    """
    place = _value_refused(text, request, names, is_of_rights=is_of_rights)
    if place not in ("/body", "/query"):
        return place
    only = list(islice((one for one in _sent(request) if one.startswith(f"{place}/")), 2))
    return only[0] if len(only) == 1 else place


def _value_refused(text: str, request: Request, names: Collection[str], *, is_of_rights: bool) -> str | None:
    found = [_singular(word) for word in _WORD.findall(text.lower())]
    of_path = _of_path(request, text, names)
    if _CALLER.search(text) is not None and (other := _only_reference(request)):
        return other  # another one than whoever calls
    told = _members_told(found, request, of_path)
    part = "/body" if request.body is not None else "/query"
    if told and not is_of_rights:
        return told[0] if len(told) == 1 else part
    if request.body is None:
        return None
    about_path = not of_path.isdisjoint(found) or _repeats_a_name(text, request)
    if is_of_rights:
        others = {_singular(match[1].lower()) for match in _THIS.finditer(text)} - of_path
        others = {one for one in others if _OF_THE_API.fullmatch(one) is None}
        return part if (others or _CHOSEN.search(text)) and not about_path else None
    if _CHOSEN.search(text) is not None:
        return part
    if about_path or _YOURS.search(text) is not None or any(_OF_THE_API.fullmatch(word) for word in found):
        return None
    return part if any(map(_may_be_noun, found)) else None


_CALLER: Final = re.compile(r"(?i)\b(?:yourself|themselves|themself|oneself)\b")


def _only_reference(request: Request) -> str:
    """Return the place of the only value of the body that refers to something; empty where there are several."""
    places = [place for place, value in values_in(request.body, "/body") if refers(place, value)]
    return places[0] if len(places) == 1 else ""


def _members_told(found: Iterable[str], request: Request, of_path: frozenset[str]) -> list[str]:
    """Return the places of values whose names a sentence has as words, those of the path left out."""
    told, known = set(found), []
    for place in _sent(request):
        name = next((part for part in reversed(segments(place)) if not part.isdecimal()), "")
        parts = {_singular(word) for word in words(name) if len(word) >= _SHORTEST} - _VAGUE
        if parts and parts <= told and not parts <= of_path:
            known.append(place)
    return known


def _sent(request: Request) -> Iterator[str]:
    for value, part in ((request.body, "/body"), (dict(request.query), "/query")):
        places = [place for place, _ in islice(values_in(value, part), _MOST_VALUES)]
        spend(len(places))
        yield from places


def _of_path(request: Request, text: str, names: Collection[str]) -> frozenset[str]:
    """Return the words of a path, in the singular.

    Of a collection only the plural is the path's, unless the path goes on with the name of one: `POST /orders` and
    `POST /orders/archive` have in their bodies which order is meant.
    """
    parts = [unquote(part) for part in request.path.split("/") if part]
    known: set[str] = set()
    for at, part in enumerate(parts):
        if part in names:
            continue
        many = [word for word in words(part) if len(word) >= _SHORTEST]
        is_of_one = at + 1 < len(parts) and parts[at + 1] in names
        told = [word for word in many if is_of_one or _singular(word) == word or re.search(rf"(?i)\b{word}\b", text)]
        known |= {_singular(word) for word in told}
    return frozenset(known)


def _repeats_a_name(text: str, request: Request) -> bool:
    parts: Sequence[str] = request.path.strip("/").split("/")
    return any(any(mark.isdigit() for mark in part) and repeats(text, part) for part in parts)


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > _SHORTEST else word


def _may_be_noun(word: str) -> bool:
    is_ending = word.endswith(("ed", "ing", "ly", "able", "ible"))
    return not is_ending and _NO_NOUN.fullmatch(word) is None and not is_state_word(word)
