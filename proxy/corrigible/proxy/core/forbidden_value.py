"""The value that a 403 is about, where the answer proves it: else the refusal is for somebody who may decide.

RFC 9110, section 15.5.4: "a request might be forbidden for reasons unrelated to the credentials". The text is believed
to give such a reason only if each of its words is accounted for:

| a word                                                   | is accounted for as                               |
|----------------------------------------------------------|---------------------------------------------------|
| of the name of the member, or of its value               | what is wrong                                     |
| of the path, if it is of nobody                          | what the request is about                         |
| of the table below                                       | the grammar of a fault: "is not allowed", "past"  |
| any other: a role, a person, a plan, another language    | nothing: the text may be about who asks           |

So no list of roles is needed, and a text that nobody has foreseen is no proof. Three kinds of values are never asked
for, whatever a text says: numbers (an amount that somebody else may well spend), what tells who asks or on whose
behalf, and identifiers of things, which may be somebody else's. That a name is taken already is said of any value.

Knows: texts of an answer, what was sent. Does not know: rules, descriptions, which API it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from corrigible.rules.budget import spend
from corrigible.rules.pointer import segments, value_at
from corrigible.rules.safety.decisive import IDENTITY, MONEY, PERMISSION, WORDS, word_set, words
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Request

from .state_reader import values_in

_MOST: Final = 60
"""Values, and texts of an answer, that are looked at: of more nothing is proved."""
_LONGEST: Final = 300
"""Letters of a text, or of a value, that is compared."""
_GRAMMAR: Final = word_set(
    "a an the this that these it its is are was were be been being isn aren wasn has have had does do did doesn t s"
    " and or nor but in on at of with as than no not non cannot can must should already yet either any"
    " value values field fields attribute attributes property properties parameter parameters member argument name"
    " names word words character characters letter letters digit digits text string file extension type format pattern"
    " date time body query input url uri scheme list entry item item's sorry error please"
)
"""Words that hold a sentence together, or say what kind of thing a member is."""
_FAULTS: Final = word_set(
    "allowed permitted supported valid invalid incorrect wrong illegal malformed unknown unrecognized unrecognised"
    " reserved banned prohibited disallowed unsupported deprecated contain contains containing include includes start"
    " starts starting begin begins beginning end ends ending lie lies past future before after earlier later long"
    " longer short shorter empty blank null duplicate unique match matches mismatch spaces whitespace"
    " exist exists taken uppercase lowercase"
)
"""Words for what may be wrong with a value. Verbs of what somebody does (`change`, `delete`) are none of them."""
_PHRASES: Final = re.compile(r"(?i)\b(?P<fixed>read[- ]?only|immutable)\b|\bfor internal use\b")
_TAKEN: Final = re.compile(
    r"(?i)\b(?:already (?:exists?|(?:been )?taken|(?:is )?in use)|exists already)\b|\bexists\W*$"
)
_DECREED: Final = word_set("allowed permitted reserved banned prohibited disallowed")
"""Faults that somebody decrees: for whom is not said. Such a text has to quote what it is about, which is no agent."""
_QUOTED: Final = re.compile(r"['\"`“]([^'\"`“”\n]{1,60})['\"`”]|(?<!\S)(\.[A-Za-z0-9]{1,8})(?!\w)")
"""Between quotes, or the end of a file's name."""
_AGENT: Final = re.compile(r"(?:er|or|ee|by|ist|ian|ant)s?$")
_OF_NOBODY: Final = word_set("forbidden error failed failure validation bad request http status code 403")
"""Words of the titles of errors."""
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_MARKUP: Final = re.compile(r"<[a-z/][^<>]{0,40}>")
_PERSONS: Final = IDENTITY | PERMISSION
_IDENTIFIERS: Final = word_set("id ids uuid guid key keys token secret ref reference href")
_ABOUT_CALLERS: Final = word_set(
    "identity actor caller user approver approval approved signature password plan group team member agent client"
)


class _Sent(NamedTuple):
    place: str
    name: tuple[str, ...]
    value: Json


def forbidden_value(request: Request, errors: Sequence[Violation], answer: Json) -> str:
    """Return the place of the only value that a 403 is about; empty where that is not certain."""
    if len(errors) != 1 or _names_rights(answer):
        return ""
    error, sent = errors[0], list(islice(_sent(request), _MOST + 1))
    texts = list(islice(_texts(answer), _MOST + 1))
    if not error.message or len(error.message) > _LONGEST or max(len(sent), len(texts)) > _MOST:
        return ""
    spend(len(sent) + len(texts))
    text = _MARKUP.sub(" ", error.message)
    found = _words(text)
    repeated = [one for one in sent if _is_repeated(one.value, text)]
    if _TAKEN.search(text) is not None and len({one.place for one in repeated}) == 1:
        return repeated[0].place
    named = [one for one in sent if one.name and _has_name(found, one.name)]
    both = [one for one in named if one in repeated]
    blamed = both or named or repeated or [one for one in sent if one.place == error.pointer]
    phrase = _PHRASES.search(text)
    is_fixed = phrase is not None and phrase["fixed"] is not None
    if len(blamed) != 1 or not _may_be_asked(blamed[0], request, is_fixed=is_fixed):
        return ""
    if error.pointer.startswith(("/body/", "/query/")) and error.pointer != blamed[0].place:
        return ""
    known = _GRAMMAR | _FAULTS | {*blamed[0].name, *_words(_text(blamed[0].value)), *_path_words(request)}
    is_fault = not _FAULTS.isdisjoint(found) or phrase is not None
    if not is_fault or not known.issuperset(_words(_PHRASES.sub(" ", text))):
        return ""
    if _FAULTS.isdisjoint(set(found) - _DECREED) and phrase is None and not _is_decreed(blamed[0].name, text):
        return ""
    known |= _OF_NOBODY
    is_told = all(known.issuperset(_words(_PHRASES.sub(" ", _MARKUP.sub(" ", one)))) for one in texts)
    return blamed[0].place if is_told else ""


def _sent(request: Request) -> Iterator[_Sent]:
    for value, part in ((request.body, "/body"), (dict(request.query), "/query")):
        for place, inner in values_in(value, part):
            names = [one for one in segments(place)[1:] if not one.isdecimal()]
            yield _Sent(place, words(names[-1]) if names else (), inner)


def _may_be_asked(one: _Sent, request: Request, *, is_fixed: bool) -> bool:
    """Whether another value may be asked for: a text that says neither how much, nor who asks, nor whose it is.

    Of what is fixed no other number is asked for: it is left out.
    """
    names = {word for part in segments(one.place)[1:] for word in words(part)}
    value = value_at(request, one.place)
    is_number = not isinstance(value, str) or re.fullmatch(r"\W*\d[\d.,' ]*(?:[A-Z]{3}|\W)?", value.strip()) is not None
    guarded = (WORDS | MONEY | _ABOUT_CALLERS) - {"label", "labels"}
    return (is_fixed or not is_number) and names.isdisjoint(guarded) and _IDENTIFIERS.isdisjoint(one.name[-1:])


def _path_words(request: Request) -> set[str]:
    """Return the words of the path, in both numbers, that are no word for somebody."""
    here = {word for part in request.path.split("/") for word in words(part)}
    here |= {word.removesuffix("s") for word in here}
    return {one for word in here if word not in _PERSONS for one in (word, f"{word}s")} - _PERSONS


def _is_repeated(value: Json, text: str) -> bool:
    """Whether a text has a value, or has a part of it between quotes or as the end of a file's name."""
    if not isinstance(value, str) or not 2 < len(value) <= _LONGEST:
        return False
    low, folded = value.lower(), text.lower()
    if re.search(rf"(?<!\w){re.escape(low)}(?!\w)", folded) is not None:
        return True
    return any((one or end) in low for one, end in _QUOTED.findall(folded))


def _is_decreed(name: tuple[str, ...], text: str) -> bool:
    return _QUOTED.search(text) is not None and _AGENT.search(name[-1] if name else "") is None


def _has_name(found: Sequence[str], name: tuple[str, ...]) -> bool:
    """Whether words of a text are those of a name, in its order and side by side."""
    size = len(name)
    return any(tuple(found[at : at + size]) == name for at in range(len(found) - size + 1))


def _words(text: str) -> list[str]:
    """Return the words of a text, those inside of a name by themselves."""
    return [inner.lower() for word in _WORD.findall(text) for inner in (words(word) or (word,))]


def _text(value: Json) -> str:
    return value[:_LONGEST] if isinstance(value, str) else ""


def _texts(answer: Json) -> Iterator[str]:
    """Yield what an answer says in more than one word, wherever it does."""
    inner: Iterable[Json] = (
        answer.values() if isinstance(answer, Mapping) else answer if isinstance(answer, list) else ()
    )
    for one in inner:
        yield from _texts(one)
    if isinstance(answer, str) and " " in answer.strip():
        yield answer[: _LONGEST * 4]


def _names_rights(answer: Json) -> bool:
    """Whether a member of an answer is called by a word for who may do something: `required_role`."""
    if isinstance(answer, Mapping):
        return any(not PERMISSION.isdisjoint(words(str(one))) for one in answer) or any(
            map(_names_rights, answer.values())
        )
    return isinstance(answer, list) and any(map(_names_rights, answer))
