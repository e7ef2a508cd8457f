"""The value that a 403 is about, where the answer proves it: else the refusal is for somebody who may decide.

RFC 9110, section 15.5.4: "a request might be forbidden for reasons unrelated to the credentials". That is believed
only if each word of the answer, its codes and names too, is accounted for:

| a word                                                | is accounted for as                                       |
|-------------------------------------------------------|-----------------------------------------------------------|
| of the name of the member, or of its value            | what is wrong                                             |
| of form: "characters", "past", "contains"             | a fault that a value has for whoever sends it             |
| of a verdict: "not allowed", "invalid", "is reserved" | a fault, if the description refuses the same value        |
| of grammar, and of titles of errors                   | nothing                                                   |
| any other: a role, a person, a plan, another language | nothing: the text may be about who asks                   |

So no list of roles is needed, and a text that nobody has foreseen is no proof. Never asked for, whatever a text says:
amounts, what tells who asks or on whose behalf, what proves that, and identifiers. That a name exists already is
believed of names alone.

Knows: an answer, what was sent, whether the description refuses it. Does not know: rules, which API it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from corrigible.rules.budget import spend
from corrigible.rules.pointer import segments, value_at
from corrigible.rules.safety.decisive import IDENTITY, MONEY, PERMISSION, WORDS, word_set, words
from corrigible.rules.schema_repair.suggestion import is_secret
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
    " names word words text string file type format pattern date time body query input url uri"
    " list entry item item's sorry error please"
)
"""Words that hold a sentence together, or say what kind of thing a member is."""
_FORM: Final = word_set(
    "malformed"
    " contain contains containing include includes start starts starting begin begins beginning end ends ending"
    " past future earlier later empty blank null duplicate unique spaces whitespace uppercase lowercase character"
    " characters letter letters digit digits extension"
)
"""Words for how a value is written, or when it is: the same for whoever sends it."""
_VERDICTS: Final = word_set(
    "allowed permitted supported valid invalid incorrect wrong illegal unknown unrecognized unrecognised reserved"
    " banned prohibited disallowed unsupported deprecated lie lies before after long longer short shorter match matches"
    " mismatch"
)
"""Words that do not say what is wrong: the answer may be another one for somebody else."""
_FIXED: Final = re.compile(
    r"(?i)\b(?:field|attribute|property|parameter|member)\b.{0,70}\b(?:read[- ]?only|immutable)\b"
)
_INTERNAL: Final = re.compile(r"(?i)\breserved for internal use\W*$")
_TAKEN: Final = word_set("exists exist taken use")
_NAMING: Final = word_set("name filename slug title handle hostname")
"""Last words of members that name what is made. Names of people and accounts are none of them."""
_ENVELOPE: Final = word_set(
    "error errors message messages detail details title status code type reason description msg field fields param"
    " parameter pointer loc location path source success ok timestamp id request trace instance url docs documentation"
    " link links help info domain service"
)
"""Words of the names that errors are written under."""
_ASIDE: Final = word_set("timestamp id path instance url docs documentation link links help domain service")
"""Last words of names under which nothing is said about the fault."""
_QUOTED: Final = re.compile(r"['\"`“]([^'\"`“”\n]{1,60})['\"`”]|(?<!\S)(\.[A-Za-z0-9]{1,8})(?!\w)")
"""Between quotes, or the end of a file's name."""
_OF_NOBODY: Final = word_set(
    "forbidden error errors failed failure validation bad request http status code 403 api exception"
)
"""Words of the titles of errors."""
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_NO_PROBLEM: Final = re.compile(r"about:blank|https?://[a-z]{1,20}\.(?:ietf|rfc-editor)\.org/\S*")
"""Types of problems that say no more than the status (RFC 9457, section 4.2.1)."""
_MARKUP: Final = re.compile(r"<[a-z/][^<>]{0,40}>")
_PERSONS: Final = IDENTITY | PERMISSION
_IDENTIFIERS: Final = word_set("id ids uuid guid key keys token secret ref reference href")
_GUARDED: Final = (WORDS | MONEY) - {"label", "labels"} | word_set(
    "identity actor caller approver approval approved signature password plan group team member agent client"
    " pin otp code passcode passphrase captcha csrf nonce jwt bearer authorization certificate license licence session"
    " credential credentials answer hmac quota limit employee staff person worker manager supervisor author sender"
    " editor voter signer guest subject impersonate behalf"
)
_AMOUNT: Final = re.compile(r"\W*\d[\d.,' ]*\s?[^\W\d_]{0,12}\W{0,2}|(?:[^\W\d_]{0,3}|\W)\s?\d[\d.,' ]*\W{0,2}")
"""A number, also with a unit or a currency. A date has more parts."""
_PROOF_NEEDED: Final = re.compile(r"(?i)^(?:www-authenticate|proxy-authenticate|x-.*(?:scope|role|permission|plan)s?)$")
"""Headers that say which right is missing."""


class _Sent(NamedTuple):
    place: str
    name: tuple[str, ...]
    value: Json


def forbidden_value(
    request: Request, errors: Sequence[Violation], answer: Json, headers: Iterable[str], refuses: Callable[[str], bool]
) -> str:
    """Return the place of the only value that a 403 is about; empty where that is not certain.

    `headers` are the names of the answer's headers. `refuses` says whether the description refuses what a place has.
    """
    if len(errors) != 1 or any(_PROOF_NEEDED.match(one) for one in headers):
        return ""
    error, sent = errors[0], list(islice(_sent(request), _MOST + 1))
    texts = list(islice(_texts(answer), _MOST + 1))
    if not error.message or len(error.message) > _LONGEST or max(map(len, texts), default=0) > _LONGEST * 4:
        return ""
    if max(len(sent), len(texts)) > _MOST:
        return ""
    spend(len(sent) + len(texts))
    text = _MARKUP.sub(" ", error.message)
    found = _words(text)
    repeated = [one for one in sent if _is_repeated(one.value, text)]
    named = [one for one in sent if one.name and _has_name(found, one.name)]
    both = [one for one in named if one in repeated]
    blamed = both or named or repeated or [one for one in sent if one.place == error.pointer]
    if len(blamed) != 1 or (error.pointer.startswith(("/body/", "/query/")) and error.pointer != blamed[0].place):
        return ""
    one, is_fixed = blamed[0], _FIXED.search(text) is not None
    known = _GRAMMAR | _FORM | _VERDICTS | {*one.name, *_words(_text(one.value))}
    if is_fixed:
        known |= {"read", "only", "readonly", "immutable"}
    kind = list(words(request.path.strip("/").rpartition("/")[2]))
    if kind and found[: len(kind)] == kind and request.method == "POST":
        known |= set(kind)  # the sentence is about what is made
    if _INTERNAL.search(text) is not None:
        known |= {"for", "internal", "use"}
    is_taken = one in repeated and not _NAMING.isdisjoint(one.name[-1:]) and _says_taken(found)
    if is_taken:
        known |= _TAKEN | _path_words(request)
    elif not _may_be_asked(one, request, is_fixed=is_fixed):
        return ""
    if not known.issuperset(found) or not _are_known(answer, known | _OF_NOBODY):
        return ""
    is_fault = is_taken or is_fixed or not _FORM.isdisjoint(found)
    return one.place if is_fault or (not _VERDICTS.isdisjoint(found) and refuses(one.place)) else ""


def _says_taken(found: Sequence[str]) -> bool:
    """Whether words say that something is there: `already` or the last word, and no `no`."""
    is_there = found[-1:] in (["exists"], ["taken"]) or ("already" in found and not _TAKEN.isdisjoint(found))
    return is_there and {"no", "not", "non", "cannot"}.isdisjoint(found)


def _sent(request: Request) -> Iterator[_Sent]:
    for value, part in ((request.body, "/body"), (dict(request.query), "/query")):
        for place, inner in values_in(value, part):
            names = [one for one in segments(place)[1:] if not one.isdecimal()]
            yield _Sent(place, words(names[-1]) if names else (), inner)


def _may_be_asked(one: _Sent, request: Request, *, is_fixed: bool) -> bool:
    """Whether another value may be asked for: a text that says neither how much, nor who asks, nor whose it is.

    Of what is fixed no other number is asked for: it is left out.
    """
    value = value_at(request, one.place)
    is_number = not isinstance(value, str) or _AMOUNT.fullmatch(value.strip()) is not None
    return (
        (is_fixed or not is_number)
        and not is_secret(one.place, value)
        and not may_not_be_asked(one.place)
        and _IDENTIFIERS.isdisjoint(one.name[-1:])
    )


def may_not_be_asked(place: str) -> bool:
    """Whether the names of a place say how much, who asks, whose it is, or what proves that."""
    return not _GUARDED.isdisjoint({word for part in segments(place)[1:] for word in words(part)})


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
    """Yield the texts and codes of an answer."""
    inner: Iterable[Json] = (
        answer.values() if isinstance(answer, Mapping) else answer if isinstance(answer, list) else ()
    )
    for one in inner:
        yield from _texts(one)
    if isinstance(answer, str):
        yield answer


def _are_known(answer: Json, known: frozenset[str] | set[str]) -> bool:
    """Whether an answer has no name and no text with a word that is not accounted for."""
    if isinstance(answer, Mapping):
        for name, inner in answer.items():
            parts = words(str(name))
            if not _ENVELOPE.issuperset(parts) and not known.issuperset(parts):
                return False
            if _ASIDE.isdisjoint(parts[-1:]) and not _are_known(inner, known):
                return False
        return True
    if isinstance(answer, list):
        return all(_are_known(one, known) for one in answer)
    if not isinstance(answer, str) or _NO_PROBLEM.fullmatch(answer) is not None:
        return True
    return known.issuperset(_words(_MARKUP.sub(" ", answer)))
