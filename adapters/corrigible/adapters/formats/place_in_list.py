"""Elements of lists in sentences of gRPC services: told by their names, or missing.

| the sentence                                       | means                                               |
|----------------------------------------------------|-----------------------------------------------------|
| `unexpected shape for input 'a' for model 'm'`     | `shape` of the element of `inputs` that is called a |
| `unexpected input 'b'`                             | the name of that element                            |
| `missing required input(s) ['b']`                  | the list `inputs`                                   |
| `too many operations in request`                   | the only list of several elements                   |

Knows: one sentence, what was sent, what the method declares. Does not know: values elsewhere, rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final

from corrigible.adapters.vocabulary import ANY, Path, Vocabulary
from corrigible.rules.budget import spend
from corrigible.rules.pointer import to_pointer, value_at
from corrigible.rules.safety.decisive import words
from corrigible.schema.exchange import Request

from .message.sent_values import SentValue, fold

_READ: Final = 500
_MOST: Final = 16
_COMPARED_A_STEP: Final = 8
_NAMING: Final = ("name", "id", "key")
_CALLED: Final = re.compile(
    r"(?i)\b(?P<noun>[a-z][\w-]{1,40})(?: (?P<sort>[a-z]{2,20}))?(?: (?:named|called|with (?:the )?(?:name|id)))?:? "
    r"['\"`](?P<name>[^'\"`\n]{1,100})['\"`]"
)
_QUOTED: Final = re.compile(r"['\"`][^'\"`\n]{0,100}['\"`]")
_UNWANTED: Final = re.compile(
    r"(?i)\b(?:unexpected|unknown|unrecogni[sz]ed|undefined|no such|not (?:found|known|defined|expected)|duplicated?"
    r"|already (?:exists?|defined|used)|does(?:n't| not) exist)\b"
)
_MISSING: Final = re.compile(
    r"(?i)\bmissing (?:the )?(?:required |mandatory )?(?P<noun>[a-z]\w{1,40}):? ?['\"`\[]"
    r"|\bexpected (?:at least |exactly )?\d+ (?P<counted>[a-z]\w{1,40}),? (?:but )?(?:got|received|found) \d"
    r"|\b(?:at least|exactly|only) (?:one|\d+) (?P<least>[a-z]\w{1,40}) (?:is|are|must|should|may|can)\b"
)


def element_told(message: str, sent: Sequence[SentValue], vocabulary: Vocabulary) -> str:
    """Return the only element of a list that a sentence calls by its name, or what the sentence says of it."""
    called = list(islice(_CALLED.finditer(message[:_READ]), _MOST))
    told = {(fold(noun), one["name"]) for one in called for noun in one.group("noun", "sort") if noun}
    if not told:
        return ""
    spend(len(sent) * len(told) // _COMPARED_A_STEP)
    named = [
        one
        for one in sent
        if len(one.path) > 3
        and one.path[-1] in _NAMING
        and one.path[-2].isdecimal()
        and any(str(one.value) == name and _is_list_of(noun, one.folded[-3]) for noun, name in told)
    ]
    if len(named) != 1:
        return ""
    element = to_pointer(named[0].path[:-1])
    rest = set(words(_JOINED.sub("", _QUOTED.sub(" ", message[:_READ]))))
    inside = [one for one in sent if one.path[:-1] == named[0].path[:-1] and one.path[-1] not in _NAMING]
    members = {one.path[-1] for one in inside} | _members_of(named[0].path[:-1], vocabulary)
    parts = sorted(one for one in members if set(words(one)) <= rest or fold(one) in rest)
    if len(parts) == 1:
        return to_pointer((*named[0].path[:-1], parts[0]))
    return named[0].pointer if not parts and _UNWANTED.search(message[:_READ]) is not None else element


def _members_of(element: Path, vocabulary: Vocabulary) -> set[str]:
    """Return the declared members of an element of a list, without its names."""
    spend(len(vocabulary.places) // _COMPARED_A_STEP)
    declared = tuple(ANY if name.isdecimal() else name for name in element)
    return {path[-1] for path in vocabulary.places if path[:-1] == declared and path[-1] not in _NAMING}


_JOINED: Final = re.compile(r"(?<=[a-z])-(?=[a-z])")


def list_told(message: str, request: Request, vocabulary: Vocabulary) -> str:
    """Return the only list of which a sentence says that elements are missing, or how many there may be."""
    nouns = [fold(next(filter(None, one.groups()))) for one in _MISSING.finditer(message[:_READ])][:_MOST]
    if not nouns:
        return ""
    body = request.body if isinstance(request.body, Mapping) else {}
    lists = {path[1] for path in vocabulary.places if len(path) > 2 and path[0] == "body" and path[2] == ANY}
    lists |= {str(name) for name, value in body.items() if isinstance(value, list)}
    spend(len(lists))
    found = [one for one in lists if any(noun == fold(one) or _is_list_of(noun, fold(one)) for noun in nouns)]
    places = [to_pointer(("body", one)) for one in found]
    is_list = len(places) == 1 and not isinstance(value_at(request, places[0]), Mapping | str)
    return places[0] if is_list else ""


def list_too_long(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only list of which a sentence says that it has too many elements: the one of that name, or of several.

    What is counted has to be in the request: of too many requests, or open files, nothing that was sent is to blame.
    """
    told = _TOO_MANY.search(message[:_READ])
    noun = told["what"].split()[-1] if told is not None else ""
    if told is None or noun.lower() in _NO_ELEMENTS:
        return ""
    spend(len(sent) // _COMPARED_A_STEP)
    lists = [one for one in sent if isinstance(one.value, list) and len(one.value) > 1 and not one.text_place]
    lists = [one for one in lists if one.path[:1] == ("body",)]
    named = [one for one in lists if fold(one.path[-1]) == fold(noun)]
    found = named or (lists if told["holder"] else [])
    return found[0].pointer if len(found) == 1 else ""


_TOO_MANY: Final = re.compile(
    r"(?i)\btoo many (?P<what>(?:\w{1,40} ){0,2}?[a-z][\w-]{1,40})"
    r"(?P<holder> (?:in|per) (?:an? |the |one |this |single ){0,2}(?:\w{1,40} )?"
    r"(?:request|batch|call|message|transaction|txn|payload|body)\b)?"
    r"(?(holder)|(?: (?:in|for|of|are|were|given|sent|provided|specified|found|allowed)\b|\W*$|[.,;:(]| \())"
)
_NO_ELEMENTS: Final = frozenset(
    {"attempts", "bytes", "calls", "characters", "connections", "levels", "redirects", "requests", "retries", "times"}
    | {"tokens", "tries", "words", "failures", "errors", "files", "streams", "clients", "sessions"}
)
"""What is counted elsewhere, or inside of a value."""


def _is_list_of(noun: str, name: str) -> bool:
    return name in (f"{noun}s", f"{noun}es", noun) or (noun.endswith("y") and name == f"{noun[:-1]}ies")
