"""Values of a request in a text that quotes nothing: `Shelf upper is not found`, `[man]`, `ID: w-7`.

gRPC has no place for the place of a mistake, so that most servers put the value into the sentence, as it came.

Knows: one text and the values that were sent. Does not know: formats, descriptions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from corrigible.adapters.operation import Path
from corrigible.rules.budget import spend
from corrigible.rules.pointer import to_pointer
from corrigible.rules.safety.decisive import words
from corrigible.schema.exchange import Json

_LONGEST: Final = 2000
_LONGEST_VALUE: Final = 200
_SHORTEST: Final = 2
_MOST_MENTIONS: Final = 16
"""How often a text may have values of a request: where it has more, it is not about one of them."""
_MOST_TRIED: Final = 1000
"""Occurrences of values in a text, those inside longer words included."""
_MOST_NAMES: Final = 16
_OF_PATTERN: Final = 20
"""Steps of compiling a pattern, and searching a text for it."""
_COMPARED_A_STEP: Final = 8
_BEFORE: Final = re.compile(r"(?<![\w./@-])")
_BEFORE_TOLD: Final = re.compile(r"(?<![\w./@-])|(?<=[\[('\"]/)")
"""Some servers keep names as paths and print them so: `(/a b)`."""
_AFTER: Final = re.compile(r"(?![\w/@-]|\.\w)")
_SURROUNDINGS: Final = re.compile(r"(?i)\b(?:in|of|for|from|under|within|on|by) (?:the )?(?:\w+ ){0,2}['\"`\[(]?$")
"""Before a value that only says where something is looked for."""
_IDENTIFYING: Final = re.compile(
    r"(?i)\b(?:with|has|have|having|whose|by) (?:an? |the |this |that |given )?"
    r"(?:id|uuid|guid|key|name|identifier|slug|code)(?: (?:of|is))? ['\"`\[(]?$"
)
"""Before the value of an identifier, whatever else stands there: "No shelf exists with the id of 5"."""
_WHERE: Final = re.compile(r"(?i)\b(?:in|under|within|on|of|for) (?:the )?(?:\w+:? ){0,3}['\"`\[(]?$")
"""Before a value that only says where something was not found, whatever stands before it."""
_PARTICULAR: Final = re.compile(r"(?i)\bwith (?:the )?(?:\w+ ){0,2}['\"`\[(]?$")
_SENTENCE_END: Final = re.compile(r"(?::[\w.-]{1,128})?[\])>'\"]*(?:[.!;,]?\s*$|[.;] )")
"""A version or a port may have been added to the value: `No such book: atlas:2`."""
ABSENT: Final = re.compile(
    r"(?i)\b(?:not found|no such|does ?n.t exist|does not exist|do not exist|unknown(?! unit\b)"
    r"|(?:could(?: ?n.t| not)|can(?:not|.t| not)) (?:be found|find)|(?:unable|failed) to find"
    r"|non-?existent|inexistent|not exist"
    r"|no .{1,60} (?:found|with)|no \w{1,40} (?:match(?:es|ed)?))\b"
)
"""What says that something does not exist."""
_NONE: Final = re.compile(r"(?i)(?:there is |error: )?no [a-z]")
_ENDINGS: Final = frozenset({"id", "name", "key"})
"""Last words of names that a sentence leaves out: `Shelf top` of `shelf_name`."""


class SentValue(NamedTuple):
    """A place of the request."""

    path: Path
    folded: Path
    value: Json
    text_place: str = ""
    """The place of the text that holds it, if it is inside JSON text."""

    @property
    def pointer(self) -> str:
        return self.text_place or to_pointer(self.path)


def says_absent(message: str) -> bool:
    """Whether a text says that something is not there."""
    return ABSENT.search(message[:_LONGEST]) is not None


def surrounds(before: str) -> bool:
    """Whether the words before a value only say where something is looked for."""
    return _SURROUNDINGS.search(before) is not None and _IDENTIFYING.search(before) is None


def fold(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


class _Place(NamedTuple):
    pointer: str
    name: str


class _Mention(NamedTuple):
    """An occurrence of a value in a text, with the places that hold the value."""

    value: str
    before: str
    after: str
    places: Sequence[_Place]


_RESOURCE: Final = re.compile(r"\w/([\w.@-]{1,200})(?![\w/@-])")


def _subjects(message: str, sent: Sequence[SentValue]) -> list[_Mention]:
    return [one for one in _mentions(message, sent) if not _WHERE.search(one.before)]


_WORD: Final = re.compile(r"[A-Za-z]?[a-z]+|[A-Z]+")
_MOST_TOLD: Final = 3


def _has_name(name: Sequence[str], text: str) -> bool:
    """Whether a text in lower case has the words of a name one after the other, the last perhaps in the plural."""
    spend()
    if not name or not all(word in text for word in name):
        return False
    if len(name) == 1:
        return any(start >= 0 for start in _occurrences(name[0], text, _BEFORE_NAME, _AFTER_NAME))
    spend(_OF_PATTERN)
    return re.search(rf"(?<![\w.]){'[ _-]?'.join(map(re.escape, name))}s?(?!\w)", text) is not None


_BEFORE_NAME: Final = re.compile(r"(?<![\w.])")
_AFTER_NAME: Final = re.compile(r"s?(?!\w)")


def _mentions(message: str, sent: Sequence[SentValue]) -> list[_Mention]:
    """Return where a text has values of the request; nothing where it has too many of them."""
    text = message[:_LONGEST]
    holders: dict[str, list[SentValue]] = {}
    for one in sent:
        value = one.value
        if not one.path or isinstance(value, bool) or not isinstance(value, str | int):
            continue
        written = str(value)
        is_digit = len(written) == 1 and written.isdecimal()
        if written in holders or ((is_digit or _SHORTEST <= len(written) <= _LONGEST_VALUE) and written in text):
            holders.setdefault(written, []).append(one)
    out: list[_Mention] = []
    tried = 0
    for written, holding in holders.items():
        places: list[_Place] = []
        for start in _occurrences(written, text, _BEFORE_TOLD):
            tried += 1
            if tried > _MOST_TRIED or len(out) > _MOST_MENTIONS:
                return []
            if start < 0:
                continue
            if not places:
                spend(len(holding) // _COMPARED_A_STEP)
                places = [_Place(one.pointer, one.path[-1]) for one in holding]
            mention = _Mention(written, text[:start], text[start + len(written) :], places)
            out += [mention] if len(written) > 1 else _beside_names([mention])
    return out if len(out) <= _MOST_MENTIONS else []


def _occurrences(value: str, text: str, before: re.Pattern[str], after: re.Pattern[str] = _AFTER) -> Iterator[int]:
    """Yield where a text has a value; -1 for each time that it is part of a longer word."""
    start = text.find(value)
    while start >= 0:
        spend()
        end = start + len(value)
        is_whole = before.match(text, start) is not None and after.match(text, end) is not None
        yield start if is_whole else -1
        start = text.find(value, end if is_whole else start + 1)


def _beside_names(mentions: Sequence[_Mention]) -> list[_Mention]:
    """Return the mentions that stand right behind the name of a place, or the beginning of it, with those places."""
    out: list[_Mention] = []
    for one in mentions:
        spend(len(one.places) // _COMPARED_A_STEP)
        beginning = _JOINT.sub("", one.before.removesuffix("\n")[-_LONGEST_VALUE:])
        together = re.sub(r"[ _-]", "", beginning).lower()
        following = {name: _ends_in_name(name, beginning, together) for name in {place.name for place in one.places}}
        if any(following.values()):
            out.append(one._replace(places=[place for place in one.places if following[place.name]]))
    return out


_JOINT: Final = re.compile(r"(?: ?[:=])? ?['\"`\[(<]*$")
"""Between a name and its value."""


def _ends_in_name(name: str, text: str, together: str) -> bool:
    """Whether a text, given also without what parts its words, ends in a name."""
    parts = words(name)
    spellings = [parts]
    if len(parts) > 1 and parts[-1] in _ENDINGS:
        spellings.append(parts[:-1])
    elif len(parts) > 1:
        spellings.append(parts[-1:])
    if len(parts) > 2:
        spellings.append(parts[-2:])  # `session ID x` of `new_session_id`
    for spelling in spellings:
        if not spelling or not together.endswith("".join(spelling)):
            continue
        spend(_OF_PATTERN)
        pattern = r"[ _-]?".join(map(re.escape, spelling))
        if re.search(rf"(?i)(?<!\w){pattern}$", text):
            return True
    return False


def _pointers(mentions: Sequence[_Mention]) -> list[str]:
    return list(dict.fromkeys(place.pointer for one in mentions for place in one.places))


def _chosen(mentions: Sequence[_Mention]) -> str:
    """Return the one place that is meant, without those that only say where something was looked for."""
    if len(_pointers(mentions)) > 1:
        particular = [one for one in mentions if _PARTICULAR.search(one.before)]
        mentions = particular or [one for one in mentions if not surrounds(one.before)]
    pointers = _pointers(mentions)
    return pointers[0] if len(pointers) == 1 else ""


def has_word(text: str, value: str) -> bool:
    """Whether a text has a value that is not empty as a word of its own."""
    return bool(value) and re.search(rf"(?<![\w.-]){re.escape(value)}(?![\w-]|\.\w)", text) is not None
