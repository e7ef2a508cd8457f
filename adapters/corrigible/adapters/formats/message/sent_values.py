"""Values of a request in a text that quotes nothing: `Shelf upper is not found`, `[man]`, `ID: w-7`.

gRPC has no place for the place of a mistake, so that most servers put the value into the sentence, as it came.

Knows: one text and the values that were sent. Does not know: formats, descriptions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from corrigible.adapters.vocabulary import Path
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
_GIVEN: Final = re.compile(r"[\[(<:=]\s?$")
"""Before a value that a text gives in brackets or behind a colon."""
_VALUE_WORD: Final = re.compile(r"(?i)\b(?:values?|got|received|given|input|parsing|was)[ :]{1,2}['\"]?$")
"""Before a value that a text calls one: `invalid width value 1024`."""
_SENTENCE_END: Final = re.compile(r"(?::[\w.-]{1,128})?[\])>'\"]*(?:[.!;,]?\s*$|[.;] )")
"""A version or a port may have been added to the value: `No such book: atlas:2`."""
ABSENT: Final = re.compile(
    r"(?i)\b(?:not found|no such|does ?n.t exist|does not exist|do not exist|unknown(?! unit\b)"
    r"|(?:could(?: ?n.t| not)|can(?:not|.t| not)) (?:be found|find)|(?:unable|failed) to find"
    r"|non-?existent|inexistent|not exist"
    r"|no .{1,60} (?:found|with)|no \w{1,40} (?:match(?:es|ed)?))\b"
)
"""What says that something does not exist."""
_NOT_READ: Final = re.compile(
    r"(?i)\b(?:error|fail(?:ed|ure)|unable|could ?n.t|could not|cannot|can ?not|can't)(?: (?:in|to|when|while|on))?"
    r" (?:retriev|fetch|load|read|resolv|open|access|reach|locat|look(?:ing)? ?up|get(?:ting)? )"
)
"""What says that what a value refers to could not be had."""
_NONE: Final = re.compile(r"(?i)(?:there is |error: )?no [a-z]")
REFERENCES: Final = frozenset({"id", "ids", "name", "key", "slug", "uuid", "code", "ref", "number"})
"""Last words of names that refer to something."""
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


def says_unread(message: str) -> bool:
    """Whether a text says that what a value refers to is not there, or could not be had."""
    return says_absent(message) or _NOT_READ.search(message[:_LONGEST]) is not None


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


def value_beside_name(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only place whose value stands right behind its name; empty where there is none, or several."""
    mentions = _mentions(message, sent)
    if len(_pointers(mentions)) > 1 and says_absent(message):  # `Room upper does not exist in house green`
        mentions = [one for one in mentions if not _WHERE.search(one.before)]
    return _chosen(_beside_names(mentions))


def absent_subject(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only place whose value a text says is not there: `Feature x not found in feature view y`."""
    if not says_absent(message):
        return ""
    subjects = _subjects(message, sent)
    pointers = _pointers(subjects) or _behind_slashes(message, sent)
    if len(pointers) > 1 and len({one.value for one in subjects}) == 1:  # `identity.name` repeats `username`
        shallowest = min(place.count("/") for place in pointers)
        pointers = [place for place in pointers if place.count("/") == shallowest]
    return pointers[0] if len(pointers) == 1 else ""


def _behind_slashes(message: str, sent: Sequence[SentValue]) -> list[str]:
    """Return the places whose values a text has as the end of a resource's name: `crates/c-9`."""
    names = {match[1] for match in _RESOURCE.finditer(message[:_LONGEST])}
    spend(len(sent) // _COMPARED_A_STEP)
    return list(dict.fromkeys(one.pointer for one in sent if isinstance(one.value, str) and one.value in names))


_RESOURCE: Final = re.compile(r"\w/([\w.@-]{1,200})(?![\w/@-])")


def places_around(message: str, sent: Sequence[SentValue], place: str) -> list[str]:
    """Return the places whose values only say where a text has looked for what is at another one."""
    around = [one for one in _mentions(message, sent) if _WHERE.search(one.before)]
    return [one for one in _pointers(around) if one != place][:_MOST_TOLD]


def places_alike(message: str, sent: Sequence[SentValue], place: str) -> list[str]:
    """Return the deeper places of the value that a text says is not there, where it does not say whose value it is."""
    if value_beside_name(message, sent):
        return []
    deeper = [one for one in _pointers(_subjects(message, sent)) if one.count("/") > place.count("/")]
    return deeper[:_MOST_TOLD]


def is_only_around(message: str, sent: Sequence[SentValue], place: str) -> bool:
    """Whether a text has the value of a place only to say where something is wrong: `for model x`."""
    told = [one for one in _mentions(message, sent) if place in _pointers([one])]
    return bool(told) and all(FOR.search(one.before) for one in told)


def is_label(message: str, sent: Sequence[SentValue], place: str) -> bool:
    """Whether a text has the value of a place only as a label before its sentence: `s1: a URL begins with http`."""
    told = [one for one in _mentions(message, sent) if place in _pointers([one])]
    return bool(told) and all(
        _LABELLED.match(one.after) and (not one.before.strip() or one.before.endswith(": ")) for one in told
    )


_LABELLED: Final = re.compile(r"['\")\]]?: \w+ \w+ \w+")
FOR: Final = re.compile(r"(?i)\b(?:for|in|of|on|within|under) (?:the )?(?:(?!values?\b)\w+:? )?['\"`\[(]?$")
"""Before a value of what something is wrong for."""


def _subjects(message: str, sent: Sequence[SentValue]) -> list[_Mention]:
    return [one for one in _mentions(message, sent) if not _WHERE.search(one.before)]


def value_mentioned(message: str, sent: Sequence[SentValue], *, any_text: bool) -> str:
    """Return the only place whose value a text holds: with `any_text` anywhere, else in brackets or behind a colon."""
    mentions = _mentions(message, sent)
    given = [one for one in mentions if _GIVEN.search(one.before)]
    return _chosen(given) or (_chosen(mentions) if any_text and not given else "")


def values_told(message: str, sent: Sequence[SentValue], *, any_text: bool) -> list[str]:
    """Return the places whose values a text of an HTTP API repeats without quotes; several only beside their names.

    Only values count that are no words of the sentence: with a digit, a mark or a capital inside, or a word behind a
    colon that ends it: `No such book: atlas`. Nothing is told where the text repeats a value of the path.
    """
    text = message[:_LONGEST]
    in_path = [str(one.value) for one in sent if not one.path]
    for value in filter(None, in_path):
        for start in islice(_occurrences(value, text, _BEFORE), _MOST_TRIED):
            if start >= 0 and not surrounds(text[:start]):
                return []
    mentions = _mentions(message, sent)
    plain = [one for one in mentions if _WORD.fullmatch(one.value)]
    particular = [one for one in mentions if not _WORD.fullmatch(one.value)]
    beside_names = _beside_names(particular)
    beside = _pointers(beside_names)
    if 1 < len(beside) <= _MOST_TOLD and len(_pointers(particular)) == len(beside):
        return beside
    given = [one for one in particular if _GIVEN.search(one.before.removesuffix("/")) or _VALUE_WORD.search(one.before)]
    ending = [one for one in plain if one.before.endswith(": ") and _SENTENCE_END.match(one.after)]
    chosen = (
        _chosen(beside_names)
        or _chosen([*given, *ending])
        or (_chosen([one for one in particular if len(one.value) >= _DISTINCT]) if any_text else "")
    )
    return [chosen] if chosen else []


_WORD: Final = re.compile(r"[A-Za-z]?[a-z]+|[A-Z]+")
_MOST_TOLD: Final = 3
_DISTINCT: Final = 3


def reference_in_message(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only place that refers to what a text says does not exist, by the thing that its name is about.

    `Room gren not found` and `no room gren` are about `room_id` where that holds `gren`, and so is `Room not found`
    where nothing in the path can be meant.
    """
    text = message[:_LONGEST]
    if not (ABSENT.search(text) or _NONE.match(text)):
        return ""
    lower = text.lower()
    has_name: dict[tuple[str, ...], bool] = {}
    has_value: dict[str, bool] = {}
    by_value: set[str] = set()
    by_kind: set[str] = set()
    in_path = False
    for one in sent:
        if isinstance(one.value, bool) or not isinstance(one.value, str | int):
            continue
        value = str(one.value)
        if not one.path:
            in_path = True
            if any(start >= 0 and not surrounds(text[:start]) for start in _occurrences_of(value, text)):
                return ""
            continue
        parts = words(one.path[-1])
        stem = parts[:-1] if len(parts) > 1 and parts[-1] in REFERENCES else ()
        name = stem or parts
        if name not in has_name:
            has_name[name] = _has_name(name, lower)
        if not has_name[name]:
            continue
        if value not in has_value:
            has_value[value] = _has_value(value, text)
        if has_value[value]:
            by_value.add(one.pointer)
        elif stem:
            by_kind.add(one.pointer)
    chosen = by_value or (by_kind if not in_path and ABSENT.search(text) else set())
    return next(iter(chosen)) if len(chosen) == 1 else ""


def _has_value(value: str, text: str) -> bool:
    return any(start >= 0 for start in _occurrences_of(value, text))


def _occurrences_of(value: str, text: str) -> Iterator[int]:
    return _occurrences(value, text, _BEFORE_TOLD) if 0 < len(value) <= _LONGEST_VALUE else iter(())


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
