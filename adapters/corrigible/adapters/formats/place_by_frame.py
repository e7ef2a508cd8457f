"""The place of what a plain sentence complains of as a whole: `Booking status is invalid`, `Name is required`.

People write such sentences by hand, with labels for names. They are read last, where no name and no value is told.

| the sentence                              | means                                                        |
|-------------------------------------------|--------------------------------------------------------------|
| `Invalid booking status`                  | the only thing sent that is called so: `status`              |
| `Name, email and birth date are required` | those of them that are declared and not there: `birth_date`  |
| `Product not found`                       | what refers to it: `productId`, the `{id}` of `/products/`   |
| `A user with this email already exists`   | `email`                                                      |

Knows: one sentence, what was sent, what is declared. Does not know: descriptions, what is suggested.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.adapters.formats.message.sent_values import SentValue, has_word
from corrigible.adapters.vocabulary import ANY, Vocabulary
from corrigible.rules.budget import spend
from corrigible.rules.pointer import MISSING, to_pointer, value_at
from corrigible.rules.safety.decisive import words
from corrigible.schema.exchange import Request

from .place_by_label import ABOUT_RIGHTS

_LONGEST: Final = 240
_A_FRAME: Final = 4
_MOST: Final = 60
"""Things called by a name that a label is compared with."""
_REFERRING: Final = ("id", "ids", "uuid", "key", "slug", "ref", "code", "name")
"""Last words of names of what refers to something."""
_GENERAL: Final = frozenset(
    {
        *("value", "format", "field", "parameter", "param", "property", "argument", "attribute", "input", "string"),
        *("supplied", "provided", "given", "specified", "header", "key", "one", "option", "of", "in", "body", "query"),
        *("request", "payload", "data", "form", "the", "a", "an", "for", "your", "this", "that", "all", "required"),
        *("mandatory", "and", "both", "requested", "selected", "valid"),
    }
)
"""Words of a label that say nothing of which one it is."""
_INTRODUCED: Final = re.compile(
    r"(?i)^\W*(?:(?:\w+ )?(?:error|exception)|bad request|validation (?:error|failed)"
    r"|invalid (?:request|input|parameters?)|unprocessable entity)\b[:. -]+"
)
_LABEL: Final = r"""['"`\[]?[A-Za-z][\w'-]{0,40}(?: [\w'"`\]-]{1,40}){0,4}?['"`\]]?"""
_ITEM: Final = r"""['"`]?[A-Za-z][\w-]{0,40}['"`]?(?: [\w-]{1,40}){0,2}?"""
_LACKING: Final = (
    r"(?:(?:is|are|was|were) )?(?:also |all |both )?(?:required|missing|mandatory|needed|not (?:provided|specified|set"
    r"|given|supplied|present))\b|(?:must|should|has to|have to|needs? to) be (?:provided|specified|set|given|supplied"
    r"|present|filled)\b|(?:must not|cannot|can't|can not|may not|should not) be (?:empty|blank|null)\b"
)
_SEVERAL: Final = re.compile(
    rf"(?i)^(?:both )?(?:the )?(?P<many>{_ITEM}(?:, {_ITEM}){{0,8}}(?:,? (?:and|&) |, ){_ITEM}) (?:{_LACKING})"
)
_EITHER: Final = re.compile(rf"(?i)^(?:missing|no) (?P<many>{_ITEM}(?:(?:, | or | and ){_ITEM}){{1,6}})")
_LACKED: Final = (
    re.compile(rf"(?i)^(?:the |an? )?(?P<name>{_LABEL}) (?:{_LACKING})"),
    re.compile(
        rf"(?i)^(?:missing|no|empty)(?: or (?:invalid|empty))?(?: required)? (?P<name>{_LABEL})"
        r"(?: (?:was |were |is |has been )?(?:provided|specified|given|supplied|set|selected|sent|present|in|from)\b"
        r".{0,80})?$"
    ),
    re.compile(
        r"(?i)^(?:please |you (?:must|need to|have to) )?(?:provide|specify|enter|supply|select|choose|include|post"
        rf"|send) (?:the |an? |your )?(?P<name>{_LABEL})$"
    ),
    re.compile(r"(?i)\b(?:requires|needs) (?:the |an? )?['\"`]?(?P<name>[A-Za-z]\w{1,40})['\"`]?(?: to be set)?$"),
)
_BODY: Final = r"(?:json|body|data|payload|content|input)"
_NO_BODY: Final = re.compile(
    rf"(?i)(?:no|missing|empty)(?: or empty)? (?:(?:json|request|input|post|the) )*{_BODY}"
    r"(?: (?:was |is |were |has been )?(?:provided|given|supplied|sent|found|received|present|in (?:the )?request))?"
    rf"|(?:the )?(?:(?:json|request|input|post) )*{_BODY} (?:is|was|must not be|cannot be|can't be)"
    r" (?:empty|missing|required|null|blank)"
)
"""A sentence that misses the whole body."""
_WRONG_WORD: Final = (
    r"(?:invalid|unknown|unsupported|malformed|bad|wrong|illegal|unrecogni[sz]ed|incorrect|unexpected|expired|stale"
    r"|outdated|duplicate|improper|unavailable|disallowed)"
)
_WRONG: Final = (
    re.compile(
        rf"(?i)^(?:an? |the )?{_WRONG_WORD}(?: or (?:expired|missing|malformed|unknown))? (?:value for |format for )?"
        rf"(?P<name>{_LABEL})(?:[:;,(].{{0,200}})?$"
    ),
    re.compile(
        rf"(?i)^(?:the |this |your )?(?P<name>{_LABEL}) (?:(?:is|are|was|has|have) )?(?:already |no longer |not )?"
        rf"(?:{_WRONG_WORD}|a? ?valid\b|supported|recogni[sz]ed|accepted|acceptable|permitted|expired|mismatch"
        r"|too (?:long|short|large|small|big|high|low|many|few|weak|old|common)|out of (?:\w+\b)?"
        r"|(?:in|must be in) the (?:past|future)|(?:does not|doesn't) match|unique)\b"
    ),
)
_REFERRED: Final = (
    re.compile(
        rf"(?i)^(?:the |this |that |an? )?(?:requested |specified |given )?(?P<name>{_LABEL})"
        r" (?:(?:was|is|does|do|did|could|has|have) )?(?:not (?:be )?found|not exist|n't exist|doesn't exist"
        r"|already exists?|exists?$|already (?:been )?(?:taken|registered|in use|used)|taken|in use)\b"
    ),
    re.compile(
        rf"(?i)^no (?:such |matching )?(?P<name>{_LABEL})(?: (?:was |were |is )?(?:found|exists?)\b.{{0,80}}"
        r"| with (?:that|this|the given) .{1,40})?$"
    ),
)
_IS_ABSENT: Final = re.compile(r"(?i)\b(?:not (?:be )?found|n[o']t exist|^no)\b")
_ANOTHER: Final = re.compile(
    rf"(?i)\b(?:use|choose|try|pick|select|enter|provide) (?:another|a different|a new|a unique|an other)"
    rf" (?P<name>{_LABEL})$"
)
_SAME: Final = re.compile(
    r"(?i)\b(?:with|having|under|for) (?:this|that|the same|same|the given|the specified|such an?)"
    rf" (?P<name>{_LABEL})(?: (?:already|is|has|exists?|was)\b|[.!]?$)"
)
_CODE: Final = re.compile(r"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[a-z][a-z0-9]*(?:[_-][a-z0-9]+){1,5})(?: ?:.*)?$")
"""A sentence that is a code, perhaps with more behind a colon."""
_LACK: Final = re.compile(
    r"(?i)requir|missing|mandatory|need|provide|specif|\bset\b|given|supplied|select|choose|enter|include|post |send "
    r"|empty|blank|null|^no |present|filled"
)
_CUES: Final = re.compile(
    r"(?i)\bno |valid|unknown|support|malform|\bbad |wrong|illegal|recogni|correct|expect|expir|stale|dated|duplicat"
    r"|mismatch|match|too |out of|past|future|unique|found|exist|taken|in use|used|registered|accept|permit|^no |same"
    r"|improper|available|allowed|already"
)


class _Called(NamedTuple):
    """Something with a name."""

    parts: tuple[str, ...]
    pointer: str


def missed_in_frame(
    message: str,
    request: Request,
    vocabulary: Vocabulary,
    sent: Sequence[SentValue],
    path_parameters: Mapping[str, str],
) -> tuple[str, ...]:
    """Return the places of what a sentence misses, those alone that are declared and not there."""
    text = _read(message)
    if not text or _LACK.search(text) is None:
        return ()
    if request.body is None and _NO_BODY.fullmatch(text) is not None:
        return ("/body",) if any(path[0] == "body" for path in vocabulary.places) else ()
    absent = list(_absent(request, vocabulary))
    for pattern in (_SEVERAL, _EITHER):
        if (match := pattern.match(text)) is None:
            continue
        labels = [one for one in re.split(r",? (?:and|or|&) |, ?", match["many"]) if one]
        missed = [_exactly(label, absent) for label in labels]
        here = [*_sent(sent), *_in_path(request.path, path_parameters)][:_MOST]
        if " or " in match["many"] and len([one for one in missed if one]) > 1:
            return ()  # any of them would do
        if any(missed) and all(place or _meant(label, here) for place, label in zip(missed, labels, strict=True)):
            return tuple(dict.fromkeys(filter(None, missed)))
        return ()
    for pattern in _LACKED:
        if (match := pattern.search(text)) is not None:
            if _OF_SEVERAL.search(match["name"]) is not None:
                return ()
            place = _exactly(match["name"], absent)
            if not place and not _exactly(match["name"], _sent(sent)):
                place = _meant(match["name"], absent)
            return (place,) if place else ()
    return ()


_OF_SEVERAL: Final = re.compile(r"(?i)\b(?:either|or|and)\b")


def place_behind_colon(message: str, sent: Sequence[SentValue]) -> str:
    """Return the place that the end of a sentence calls wrong, where the sentence repeats its value before.

    `RRset www.x.org IN AX: unknown type given` repeats two values, and is about the one that it calls `type`.
    """
    before, colon, text = message[:_LONGEST].rstrip(" .!").rpartition(": ")
    if not colon or _CUES.search(text) is None or len(message) > _LONGEST:
        return ""
    for pattern in _WRONG:
        if (match := pattern.search(text)) is not None:
            label = _plain(_label(match["name"]))
            called = [one for one in sent if len(one.path) > 1 and label and words(one.path[-1]) == label]
            told = [one.pointer for one in called if isinstance(one.value, str) and has_word(before, one.value)]
            return _only(told)
    return ""


def place_of_itself(message: str, sent: Sequence[SentValue], path_parameters: Mapping[str, str]) -> str:
    """Return the only member that has the value of the path, where a sentence says that something is its own."""
    if len(message) > _LONGEST or _ITSELF.search(message) is None:
        return ""
    values = {value for value in path_parameters.values() if value}
    return _only(
        one.pointer
        for one in sent
        if one.path[:1] in (("body",), ("query",)) and isinstance(one.value, str | int) and str(one.value) in values
    )


def repeated_element(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only list with equal elements, where a sentence is about a duplicate."""
    if len(message) > _LONGEST or _TWICE.search(message) is None:
        return ""
    lists = (one for one in sent if isinstance(one.value, list) and 1 < len(one.value) <= _MOST)
    return _only(one.pointer for one in lists if any(item in one.value[:at] for at, item in enumerate(one.value)))


_ITSELF: Final = re.compile(r"(?i)\b(?:itself|yourself|himself|themselves|(?:its|your|their) own|the same as)\b")
_TWICE: Final = re.compile(r"(?i)\b(?:duplicate[sd]?|more than once|repeated|twice|not unique|must be unique)\b")


def place_in_frame(
    message: str, request: Request, sent: Sequence[SentValue], path_parameters: Mapping[str, str]
) -> str:
    """Return the only place sent that a plain sentence is about; empty where it may be about several."""
    text = _read(message)
    if not text or _CUES.search(text) is None or any(one.search(text) is not None for one in _LACKED):
        return ""
    here = [*_sent(sent), *_in_path(request.path, path_parameters)][:_MOST]
    for pattern in _WRONG:
        if (match := pattern.search(text)) is not None and (place := _meant(match["name"], here)):
            return place
    for pattern in (_ANOTHER, _SAME, *_REFERRED):
        if (match := pattern.search(text)) is not None:
            place = _meant(match["name"], here)
            if not place and _IS_ABSENT.search(text) is not None:
                place = _referring(match["name"], here)
            if place:
                return place
    return ""


def _read(message: str) -> str:
    """Return the sentence that is read; empty where it is none, too long, or about rights."""
    if not message or len(message) > _LONGEST:
        return ""
    spend(_A_FRAME)
    text = _INTRODUCED.sub("", message.strip()).rstrip(" .!")
    if (code := _CODE.match(text)) is not None:  # `MISSING_LOCAL_ID`, `INVALID_URI : (expected ...)`
        text = re.sub(r"[_-]", " ", code[1]).lower()
    return "" if "\n" in text or ABOUT_RIGHTS.search(text) is not None else text


def _sent(sent: Sequence[SentValue]) -> Iterator[_Called]:
    for one in sent:
        if len(one.path) > 1 and not one.path[-1].isdecimal():
            yield _Called(words(one.path[-1]), one.pointer)


def _in_path(path: str, parameters: Mapping[str, str]) -> Iterator[_Called]:
    """Yield the parameters of a path by their names, and by what stands before them: `user id` of `/users/{id}`."""
    segments = path.split("/")
    for name, value in parameters.items():
        index = segments.index(value) if value in segments else 0
        before = words(segments[index - 1])[-1:] if index > 1 else ()
        noun = tuple(_singular(word) for word in before)
        parts = words(name)
        for called in dict.fromkeys((parts, (*noun, *parts), noun) if noun else (parts,)):
            yield _Called(called, "/path")


def _absent(request: Request, vocabulary: Vocabulary) -> Iterator[_Called]:
    """Yield what is declared and was not sent, or sent empty."""
    for path in vocabulary.places[:_MOST]:
        if len(path) == 2 and path[0] in ("body", "query") and path[1] != ANY:
            there = value_at(request, place := to_pointer(path))
            if there is MISSING or there in ("", None):
                yield _Called(words(path[1]), place)


def _label(text: str) -> tuple[str, ...]:
    quoted = _IN_QUOTES.search(text)
    return words(quoted[1] if quoted is not None else re.sub(r"['\"`\[\]]", " ", text))


_IN_QUOTES: Final = re.compile(r"""['"`]([\w-]{1,40})['"`]""")


def _plain(label: Sequence[str]) -> tuple[str, ...]:
    """Return a label without the words at its ends that say nothing."""
    start, end = 0, len(label)
    while start < end and label[start] in _GENERAL:
        start += 1
    while start < end and label[end - 1] in _GENERAL:
        end -= 1
    return tuple(label[start:end])


def _exactly(text: str, called: Iterable[_Called]) -> str:
    """Return the only thing that is called so."""
    label = _plain(_label(text)) or _label(text)
    return _only(one.pointer for one in called if "".join(one.parts) == "".join(label) and label)


def _meant(text: str, called: Sequence[_Called]) -> str:
    """Return the only thing that a label means: what is called so, else the end of the label, else what ends so.

    `booking status` is `status`, if nothing is called `booking_status`. An `id` is that of the thing that is named.
    """
    label = _label(text)
    plain = _plain(label)
    for told in dict.fromkeys((label, plain)):
        if not told:
            continue
        joined = "".join(told)
        exact = [one.pointer for one in called if "".join(one.parts) == joined]
        if exact:
            return _only([place for place in exact if place != "/path"] or exact)
    if not plain:
        return ""
    plain = _plain(_label(_INSIDE.split(text)[0]))  # `size in schedule` is about a size
    if not plain:
        return ""
    named = [one for one in called if one.parts and one.pointer != "/path"]  # what is around a path names others too
    ends = [one for one in named if plain[-len(one.parts) :] == one.parts]
    longest = max((len(one.parts) for one in ends), default=0)
    if ends:
        return _only(one.pointer for one in ends if len(one.parts) == longest)
    return _only(one.pointer for one in named if len(one.parts) > len(plain) and one.parts[-len(plain) :] == plain)


_INSIDE: Final = re.compile(r" (?:in|on|of|for|within|inside|under|from) ")


def _referring(text: str, called: Sequence[_Called]) -> str:
    """Return the only thing that refers to what a label names: `productId` of `Product`."""
    label = _plain(_label(text))
    if not label:
        return ""
    nouns = {label, label[-1:]}
    for noun in sorted(nouns, key=len, reverse=True):
        found = [one.pointer for one in called if one.parts[:-1] == noun and one.parts[-1] in _REFERRING]
        in_body = [one for one in found if one != "/path"]
        if found:
            return _only(in_body or found)
    return ""


def _only(places: Iterable[str]) -> str:
    found = list(dict.fromkeys(places))
    return found[0] if len(found) == 1 else ""


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word
