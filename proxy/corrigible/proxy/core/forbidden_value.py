"""The value that a 403 is about, where the description proves it: else the refusal is for somebody who may decide.

RFC 9110, section 15.5.4: "a request might be forbidden for reasons unrelated to the credentials". That is believed
only if the description refuses the same value, whoever sends it, or lets nobody write it, and each word of the answer,
its codes and names too, is accounted for:

| a word                                                | is accounted for as                                       |
|-------------------------------------------------------|-----------------------------------------------------------|
| of the name of the member, or of its value            | what is wrong                                             |
| of a fault: "not allowed", "invalid", "characters"    | a fault, which the description has to find as well        |
| of grammar, and of titles of errors                   | nothing                                                   |
| any other: a role, a person, a plan, another language | nothing: the text may be about who asks                   |

So no list of roles is needed, and a text that nobody has foreseen is no proof. Never asked for, whatever a text says:
amounts, what tells who asks or on whose behalf, what proves that, and identifiers.

Knows: an answer, what was sent, whether the description refuses it. Does not know: rules, which API it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from corrigible.rules.budget import spend
from corrigible.rules.pointer import segments, value_at
from corrigible.rules.safety.decisive import MONEY, WORDS, word_set, words
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import Repair, ask, is_secret
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Request

from .state_reader import repeats, values_in

_MOST: Final = 60
"""Values, and texts of an answer, that are looked at: of more nothing is proved."""
_LONGEST: Final = 300
"""Letters of a text, or of a value, that is compared."""
_KNOWN: Final = word_set(
    "a an the this that these it its it's is are was were be been being isn't aren't wasn't has have had does do did"
    " doesn't don't and or nor but in on at of with as than no not non cannot can must should already yet either any"
    " value values field fields attribute attributes property properties parameter parameters member argument name"
    " names word words text string file type format pattern date time body query input url uri list entry item sorry"
    " error please"
    " malformed contain contains containing include includes start starts end ends past future earlier later empty"
    " blank null duplicate unique spaces whitespace uppercase lowercase character characters letter letters digit"
    " digits extension read only readonly immutable"
    " allowed permitted supported valid invalid incorrect wrong illegal unknown unrecognized unrecognised reserved"
    " banned prohibited disallowed unsupported deprecated lie lies before after long longer short shorter match matches"
    " mismatch"
)
"""Words that hold a sentence together, say what kind of thing a member is, or that something is wrong with it."""
_ENVELOPE: Final = word_set(
    "error errors message messages detail details title status code type reason description msg field fields param"
    " parameter pointer loc location path source success ok timestamp id request trace instance url docs documentation"
    " link links help info domain service"
)
"""Words of the names that errors are written under."""
_ASIDE: Final = word_set("timestamp id path instance url docs documentation link links help domain service")
"""Last words of names under which nothing is said about the fault."""
_OF_NOBODY: Final = word_set(
    "forbidden error errors failed failure validation bad request http status code 403 api exception"
)
"""Words of the titles of errors."""
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_NO_PROBLEM: Final = re.compile(r"about:blank|https?://[a-z]{1,20}\.(?:ietf|rfc-editor)\.org/\S*")
"""Types of problems that say no more than the status (RFC 9457, section 4.2.1)."""
_MARKUP: Final = re.compile(r"<[a-z/][^<>]{0,40}>")
_IDENTIFIERS: Final = word_set("id ids uuid guid key keys token secret ref reference href")
_GUARDED: Final = (WORDS | MONEY) - {"label", "labels"} | word_set(
    "identity actor caller approver approval approved signature password plan group team member agent client"
    " pin otp code passcode passphrase captcha csrf nonce jwt bearer authorization certificate license licence session"
    " credential credentials answer hmac quota limit employee staff person worker manager supervisor author sender"
    " editor voter signer guest subject impersonate behalf"
)
_PROOF_NEEDED: Final = re.compile(
    r"(?i)^(?:www-authenticate|proxy-authenticate|retry-after|x-.*(?:scope|role|permission|plan)s?)$"
)
"""Headers that say which right is missing, or that a limit is reached."""


class _Sent(NamedTuple):
    place: str
    name: tuple[str, ...]
    value: Json


def forbidden_value(
    request: Request, errors: Sequence[Violation], answer: Json, headers: Iterable[str], refuses: Callable[[str], bool]
) -> str:
    """Return the place of the only value that a 403 is about; empty where that is not proved.

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
    named = [one for one in sent if one.name and _has_name(found, one.name)]
    repeated = [one for one in sent if isinstance(one.value, str) and len(one.value) > 2 and repeats(text, one.value)]
    blamed = named or repeated or [one for one in sent if one.place == error.pointer]
    if len(blamed) != 1 or (error.pointer.startswith(("/body/", "/query/")) and error.pointer != blamed[0].place):
        return ""
    one = blamed[0]
    known = _KNOWN | {*one.name, *_words(one.value[:_LONGEST] if isinstance(one.value, str) else "")}
    is_explained = known.issuperset(found) and _are_known(answer, known | _OF_NOBODY)
    return one.place if is_explained and _may_be_asked(one, request) and refuses(one.place) else ""


def refused_as_it_is(request: Request, place: str) -> Repair:
    """Ask for another value at the place that a 403 is proved to be about."""
    message = "The server says what is wrong with this value; it is no matter of permission. Give another one."
    violation = SchemaViolation(place, "value", {}, value_at(request, place))
    question = ask(violation, request, message)
    for one in question.suggestions[0]["placeholders"]:
        one["ask"] = "agent"
    diagnosis = "The server refuses a value of the request, and names it; it is no matter of permission."
    return Repair(tuple(question.suggestions), question.type, diagnosis, "REFUSED_AS_IT_IS", question.recovery)


def _sent(request: Request) -> Iterator[_Sent]:
    for value, part in ((request.body, "/body"), (dict(request.query), "/query")):
        for place, inner in values_in(value, part):
            names = [one for one in segments(place)[1:] if not one.isdecimal()]
            yield _Sent(place, words(names[-1]) if names else (), inner)


def _may_be_asked(one: _Sent, request: Request) -> bool:
    """Whether another value may be asked for: one that says neither who asks, nor how much, nor whose it is."""
    value = value_at(request, one.place)
    is_open = not is_secret(one.place, value) and not may_not_be_asked(one.place)
    return is_open and _IDENTIFIERS.isdisjoint(one.name[-1:])


def may_not_be_asked(place: str) -> bool:
    """Whether the names of a place say how much, who asks, whose it is, or what proves that."""
    return not _GUARDED.isdisjoint({word for part in segments(place)[1:] for word in words(part)})


def _has_name(found: Sequence[str], name: tuple[str, ...]) -> bool:
    """Whether words of a text are those of a name, in its order and side by side."""
    size = len(name)
    return any(tuple(found[at : at + size]) == name for at in range(len(found) - size + 1))


def _words(text: str) -> list[str]:
    """Return the words of a text, those inside of a name by themselves."""
    return [inner.lower() for word in _WORD.findall(text) for inner in (words(word) or (word,))]


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
