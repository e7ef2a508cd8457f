"""The field of a gRPC message that a sentence means without its value: `undefined kind`, `session not found`.

gRPC has no place for the place of a mistake, and a field that is not set has no value that a sentence could repeat.

| the sentence                                   | means                                                        |
|------------------------------------------------|--------------------------------------------------------------|
| `name was not a string`, `change serial id required` | the declared field of that name, be it not sent        |
| `undefined change kind`, `Invalid token `      | the same, behind what is said of it                          |
| `session not found`                            | the only field that refers to a session: `session_id`, `id`  |
| nothing, with ALREADY_EXISTS                   | the only field that has the noun of `CreateViewport`         |
| `depot mismatch: expected a, got b`            | the only field of that noun that holds `b`                   |

Knows: one sentence, what was sent, what the method declares. Does not know: values in sentences, rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.adapters.vocabulary import ANY, Vocabulary
from corrigible.rules.budget import spend
from corrigible.rules.pointer import MISSING, to_pointer, value_at
from corrigible.rules.safety.decisive import IDENTITY, PERMISSION, word_set, words
from corrigible.rules.schema_repair.suggestion import is_secret
from corrigible.schema.exchange import Json, Protocol, Request

from .field_names import nested_missing
from .message.sent_values import SentValue, fold
from .place_by_path import find_missing
from .sent_places import sent_places

_READ: Final = 300
_MOST_WORDS: Final = 6
"""Of what a sentence is about: what is longer is more than a name."""
_IN_BRACKETS: Final = re.compile(r" ?\([^()\n]{0,40}\)(?= \w)")
_SUBJECT: Final = re.compile(
    r"(?i)^\W*(?:[\w ]{1,40}: )?(?:the |a |an )?(?P<phrase>[a-z][\w -]{0,80}?) "
    r"(?:(?:was|is|are|were) (?:not |in|un|missing|required|empty|too)|(?:must|should|may|can(?:not|'t)) |required\b"
    r"|missing\b|cannot be\b|can't be\b|not (?:set|specified|provided|given)\b|has to )"
)
_BLAMED: Final = re.compile(
    r"(?i)\b(?:undefined|unknown|unrecogni[sz]ed|unspecified|invalid|missing|illegal|unsupported|bad|malformed|wrong"
    r"|(?:failed|unable) to (?:parse|decode)"
    r"|empty|required|no|without(?: an?| the)?|specify(?: an?| the)?|provide(?: an?| the)?)"
    r" (?P<phrase>[a-z][\w -]{0,80}?)"
    r"(?: (?:is|was|were|are|given|provided|specified|set|supplied|found)\b|\W*$| ?[:.;(])"
)
_OF_SEVERAL: Final = re.compile(r"(?i)\b(?:either\b.{1,80}\bor\b|(?:exactly|at least|only|just)? ?one of\b)")
"""Sentences about fields of which one is enough."""
_ENUM_WORDS: Final = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
_NOT_GIVEN: Final = re.compile(
    r"(?i)\b(?P<name>[a-z][\w-]{0,60})"
    r" (?:(?:cannot|can't|can not|must not|may not|should not) be (?:null|nil|empty|blank|none)"
    r"|(?:is|was|has|have) (?:not (?:been )?(?:set|provided|specified|given|supplied)|null|nil)\b)"
    r"|\bno (?!such\b)(?P<none>[a-z]\w{0,60}(?: \w{1,40})?) (?:was |is |were )?"
    r"(?:provided|given|specified|set|supplied)\b"
    r"|\bexpected (?P<expected>[a-z]\w{0,60}) to be (?:set|provided|given|specified|present)\b"
)
"""Sentences that say which field was not sent."""
_HAS_NO: Final = re.compile(
    r"(?i)\b(?P<owner>[a-z]\w{0,40}) (?:does not have|doesn't have|has no|needs|lacks)(?: an?| any| its)?"
    r" (?P<name>[a-z]\w{0,60})\W*$"
)
_QUOTED_NAME: Final = re.compile(r"['\"`]([A-Za-z_]\w{0,60})['\"`]")
_NOTHING: Final = re.compile(
    r"(?i)(?:''|\"\"|\bnone|\bnull|\bnil) is not (?:an? )?(?:valid|allowed|known|supported)"
    r" (?P<phrase>[a-z][\w .]{0,80})"
    r"|\b(?:unexpected|unknown|invalid|unsupported|unrecogni[sz]ed) (?P<other>[a-z][\w ]{0,80}): (?:none|null|nil)\W*$"
)
"""Sentences about a value that is none: a field that was not sent."""
_SORTS: Final = (("type",), ("kind",), ("class",))
_NO_MESSAGE: Final = re.compile(r"(?i)\b(?:nil|null|empty|missing) (?:request|message|body|payload|argument)\b")
_ABSENT: Final = re.compile(
    r"(?i)^\W*(?:the |a |an )?(?P<phrase>[a-z][\w -]{0,60}?)  ?(?:\W{2} |['\"`][^'\"`\n]{1,80}['\"`] )?"
    r"(?:(?:was |is |could )?not (?:be )?found|is not (?:a member|registered|part of)|does(?:n't| not) exist"
    r"|is unknown|is absent)\b"
    r"|\b(?:no such|unknown|could not find|couldn't find|cannot find|can't find|unable to find)(?: the| a| an)?"
    r" (?P<behind>[a-z][\w -]{0,60}?)(?:\W*$| ?[:.;(])"
    r"|\b(?P<none>[a-z][\w-]{0,40})[ :]{1,2}(?:not[ _]found|already[ _]exists)\W*$"
)
_REFERENCES: Final = frozenset(
    {"id", "ids", "name", "key", "uuid", "identifier", "ref", "reference", "handle", "token", "slug", "desired"}
)
"""Words of names of fields that identify something."""
_SET_BY_NOW: Final = re.compile(r"(?i)\b(?:undefined|unspecified|unknown|unrecogni[sz]ed)\b")
_ENUM_NAME: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
_NO_CHOICE: Final = re.compile(r"UNDEFINED|UNSPECIFIED|UNKNOWN|UNRECOGNIZED|INVALID|NONE|UNSET")


class _Field(NamedTuple):
    pointer: str
    parts: tuple[str, ...]
    value: Json
    """None where it is not sent."""


def field_named(message: str, request: Request, vocabulary: Vocabulary) -> str:
    """Return the only declared field that a sentence names as what it is about; empty where there is none."""
    text = _IN_BRACKETS.sub("", _ENUM_WORDS.sub("", message[:_READ]))
    if _OF_SEVERAL.search(text) is not None:
        return ""
    fields = list(_fields(request, vocabulary))
    if _NO_MESSAGE.search(text) is not None and not request.body:
        return fields[0].pointer if len(fields) == 1 else ""
    for quoted in _QUOTED_NAME.findall(text)[:_MOST_WORDS]:
        missing = find_missing("body", [quoted], request, vocabulary)
        if missing:
            return missing
    for pattern in (_NOTHING, _SUBJECT, _BLAMED):
        told = pattern.search(text)
        if told is None:
            continue
        phrase = words(next(filter(None, told.groups())))[-_MOST_WORDS:]
        if pattern is _NOTHING:
            phrase = phrase[:-1] if phrase[-1:] in _SORTS and not _declared(phrase, fields) else phrase
        found = [one for one in fields if _ends_in(phrase, one.parts)]
        longest = max((len(one.parts) for one in found), default=0)
        found = [one for one in found if len(one.parts) == longest]
        if len(found) == 1:
            return "" if _is_chosen(found[0].value, text) else found[0].pointer
        if found:
            continue
        place = nested_missing(phrase, request, vocabulary) or _missing_inside(phrase, request, vocabulary)
        if place := place or _longer_named(phrase, fields):
            return place
    return ""


def _longer_named(phrase: Sequence[str], fields: Sequence[_Field]) -> str:
    """Return the only field whose name ends as a phrase does, in two words at least: `retention period`."""
    for count in range(len(phrase), 1, -1):
        tail = tuple(phrase[-count:])
        found = [one.pointer for one in fields if len(one.parts) > count and one.parts[-count:] == tail]
        if found:
            return found[0] if len(found) == 1 else ""
    noun = next((word for word in reversed(phrase) if (word,) not in _SORTS), "")  # `unknown provider kind`
    sent = [one for one in fields if one.parts[-1:] == (noun,) and isinstance(one.value, str) and one.value]
    return sent[0].pointer if len(sent) == 1 and noun not in _REFERENCES else ""


def _declared(phrase: Sequence[str], fields: Sequence[_Field]) -> bool:
    return any(_ends_in(phrase, one.parts) for one in fields)


def _missing_inside(phrase: Sequence[str], request: Request, vocabulary: Vocabulary) -> str:
    """Return the only declared place that was not sent and is called as a phrase ends, the longest name first."""
    for count in range(min(3, len(phrase)), 0, -1):
        name = "".join(phrase[-count:])
        place = find_missing("body", [name], request, vocabulary)
        if place == "" and request.protocol is Protocol.GRPC:
            place = _missing_above(name, request, vocabulary)
        if place != "":
            return place or ""
    return ""


def _missing_above(name: str, request: Request, vocabulary: Vocabulary) -> str:
    """Return the outermost object that was not sent, where the only declared field of a name is inside it."""
    paths = [path for path in vocabulary.places if len(path) > 2 and path[0] == "body" and fold(path[-1]) == fold(name)]
    if len(paths) != 1 or ANY in paths[0]:
        return ""
    for end in range(2, len(paths[0])):
        place = to_pointer(paths[0][:end])
        if value_at(request, place) is MISSING:
            return place
    return ""


def place_of_lack(message: str, request: Request, declared: Callable[[], Vocabulary]) -> str:
    """Return the place of what something does not have: `entity does not have a name`; without the thing, its place."""
    text = _ENUM_WORDS.sub(" ", message[:_READ])
    for told in _NOT_GIVEN.finditer(text):
        if place := _missing_inside(words(next(filter(None, told.groups()))), request, declared()):
            return place
    owned = _HAS_NO.search(text)
    if owned is None:
        return ""
    name, owner, vocabulary = owned["name"], owned["owner"], declared()
    fields = list(_fields(request, vocabulary))
    missing = find_missing("body", [name], request, vocabulary)
    if missing:
        return missing
    noun = words(owner)[-1:]
    whole = [one for one in fields if one.parts == noun]
    if whole and whole[0].value is None:
        return whole[0].pointer
    blank = [one.pointer for one in sent_places(request) if one.path[-1:] == (name,) and one.value == ""]
    return blank[0] if len(blank) == 1 else ""


def _is_chosen(value: Json, text: str) -> bool:
    """Whether a field has one of the names of its enum, so that a sentence about an undefined one misleads."""
    if not isinstance(value, str) or _SET_BY_NOW.search(text) is None:
        return False
    return _ENUM_NAME.fullmatch(value) is not None and _NO_CHOICE.search(value) is None


def reference_named(message: str, method: str, request: Request, vocabulary: Vocabulary, *, exists: bool) -> str:
    """Return the only field that refers to what a sentence says is not there, or is there; empty where several may.

    `method` is the name of the call: what `CreateViewport` finds in its way is a viewport.
    """
    fields = [one for one in _fields(request, vocabulary) if not isinstance(one.value, Mapping | list | bool)]
    told = _ABSENT.search(message[:_READ])
    phrase = words(next(filter(None, told.groups()), "")) if told is not None else ()
    is_general = told is not None and (not phrase or phrase[-1] in _ANY_THING)
    is_general = is_general or _PLAINLY.fullmatch(message.strip()) is not None
    if exists and not phrase and (column := _column(message, request)):
        return column
    if exists and (is_general or not phrase):
        phrase, is_general = words(method)[1:], False
    if phrase and not is_general:
        named = [one for one in fields if _refers_to(one.parts, phrase)]
        if not exists and _is_sent_as_object(phrase[-1], request):
            named = [one for one in named if _is_sent(one)]
        sent = [one for one in named if _is_sent(one)]
        chosen = sent if exists or sent else named
        if len(chosen) == 1:
            return chosen[0].pointer
        if exists and (inner := _identified(phrase[-1], request)):
            return inner
        is_only = not named and not exists and len(fields) == 1 and not _REFERENCES.isdisjoint(fields[0].parts)
        return fields[0].pointer if is_only else ""
    elif message.strip() and not is_general:
        told_words = set(words(message[:_READ]))
        named = [one for one in fields if any(_refers_to(one.parts, (noun,)) for noun in told_words & {*one.parts})]
        return named[0].pointer if len(named) == 1 and _is_sent(named[0]) else ""
    is_locating = not _LOCATING.isdisjoint(words(method)[:1])
    if exists or (is_locating and len([one for one in fields if _is_sent(one)]) > 1):
        return ""
    return _only_reference(fields)


def _is_sent_as_object(noun: str, request: Request) -> bool:
    """Whether an object was sent that is called after a thing: then no field that was left out refers to it."""
    body = request.body if isinstance(request.body, Mapping) else {}
    return any(isinstance(value, Mapping) and words(str(name))[-1:] == (noun,) for name, value in body.items())


def _column(message: str, request: Request) -> str:
    """Return the only text that was sent and whose name is a word of what a database says: `crates_label_key`."""
    told = set(words(message[:_READ])) - _REFERENCES
    found = [one.pointer for one in sent_places(request) if isinstance(one.value, str) and told & {*one.path[-1:]}]
    return found[0] if len(found) == 1 else ""


def _identified(noun: str, request: Request) -> str:
    """Return the only identifier of what is sent under a noun: `/body/crate/id`."""
    body = request.body if isinstance(request.body, Mapping) else {}
    places = [to_pointer(("body", str(name))) for name in body if words(str(name)) == (noun,)]
    found = [inner for place in places if (inner := identifier_in(place, request))]
    return found[0] if len(found) == 1 else ""


def identifier_in(place: str, request: Request) -> str:
    """Return the only identifier of an object that was sent; empty where there is none, or several."""
    thing = value_at(request, place)
    if not isinstance(thing, Mapping):
        return ""
    found = [one for one in ("id", "name", "key", "uuid") if isinstance(thing.get(one), str) and thing[one]]
    return f"{place}/{found[0]}" if len(found) == 1 else ""


_PLAINLY: Final = re.compile(
    r"(?i)\W*(?:(?:it )?(?:was |is )?not found|(?:sql: )?no rows in result set"
    r"|no such (?:element|record|row|item|object|entry))\W*"
)
"""What says that something is not there, and no more."""
_LOCATING: Final = frozenset({"get", "read", "describe", "find", "lookup", "fetch", "delete", "remove"})
"""First words of methods all of whose fields say where something is."""
_ANY_THING: Final = frozenset(
    {
        "record",
        "records",
        "entity",
        "entities",
        "object",
        "objects",
        "item",
        "resource",
        "entry",
        "row",
        "rows",
        "document",
    }
    | {"thing", "element", "it", "instance", "key", "value", "data"}
)
"""Nouns that any service may have for what it keeps."""
_IDENTIFYING: Final = frozenset({"id", "ids", "uuid", "identifier", "handle", "token", "ref", "reference"})


def _only_reference(fields: Sequence[_Field]) -> str:
    """Return the only field that identifies something: of several the one that is sent; without any, the only name."""
    ids = [one for one in fields if not _IDENTIFYING.isdisjoint(one.parts)]
    names = [one for one in fields if not _REFERENCES.isdisjoint(one.parts)]
    sent = [one for one in ids if _is_sent(one)]
    for found in (sent, ids if not sent else [], names if not ids else []):
        if found:
            return found[0].pointer if len(found) == 1 else ""
    return fields[0].pointer if len(fields) == 1 and _is_sent(fields[0]) else ""


def place_of_mismatch(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only place of a value that a sentence says it got where it expected another one.

    Not where it says who calls, or what is allowed: that a caller gives for another one's is no repair. A version that
    has gone on is a state.
    """
    told = _MISMATCH.search(message[:_READ])
    if told is None:
        return ""
    nouns, got = set(words(told["what"])[-_MOST_WORDS:]), told["got"].rstrip(".)]!'\"`")
    spend(len(sent) // _COMPARED_A_STEP)
    found = [one for one in sent if one.path[:1] == ("body",) and not one.text_place and _is_text(one.value, got)]
    found = [one for one in found if not nouns.isdisjoint(_parts_inside(one.path))]
    if len(found) != 1 or not _NOT_ASKED.isdisjoint(_parts_inside(found[0].path)):
        return ""
    return "" if is_secret(found[0].pointer, found[0].value) else found[0].pointer


_COMPARED_A_STEP: Final = 8
_MISMATCH: Final = re.compile(
    r"(?i)(?P<what>\b[^:;\n]{1,80}) (?:mismatch(?:es)?|does not match|doesn't match)\b[^\n]{0,20}?"
    r"\bexpected:? ['\"`]?[^\s'\"`,;]{1,200}['\"`]?[,;]? (?:but )?(?:got|received|was|found):? "
    r"['\"`]?(?P<got>[^\s'\"`,;]{1,200})"
)
_NOT_ASKED: Final = (
    IDENTITY
    | PERMISSION
    | word_set("caller subject actor client session token signature certificate issuer audience nonce origin")
    | word_set("version revision generation etag state status phase")
)


def _is_text(value: Json, text: str) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and bool(text) and str(value) == text


def _parts_inside(path: Sequence[str]) -> set[str]:
    return {word for name in path[1:] for word in words(name)}


def _is_sent(field: _Field) -> bool:
    return field.value not in (None, "")


def _fields(request: Request, vocabulary: Vocabulary) -> Iterator[_Field]:
    """Yield the outermost declared fields."""
    body = request.body if isinstance(request.body, Mapping) else {}
    for path in vocabulary.places:
        if len(path) == 2 and path[0] == "body":
            spend()
            yield _Field(to_pointer(path), words(path[1]), body.get(path[1]))


_BEHIND: Final = frozenset({"field", "value", "parameter", "argument", "seconds", "millis", "ms", "minutes", "bytes"})
"""What a sentence says behind a name: `workflowType field`, `RunTimeoutSeconds`."""


def _ends_in(phrase: Sequence[str], name: Sequence[str]) -> bool:
    """Whether a phrase ends in a name, perhaps with a word such as `id` behind it."""
    if not name:
        return False
    rest = list(phrase)
    while True:
        if tuple(rest[-len(name) :]) == tuple(name):
            return True
        if not rest or (rest[-1] not in _REFERENCES and rest[-1] not in _BEHIND):
            return False
        rest.pop()


def _refers_to(name: Sequence[str], phrase: Sequence[str]) -> bool:
    """Whether a field is called after a thing: `session_id`, `sessionIdDesired` and `placename` after theirs."""
    noun = phrase[-1]
    if tuple(name) == (noun,):
        return True
    if len(name) == 1:
        rest = name[0].removeprefix(noun)
        return rest != name[0] and rest in _REFERENCES
    return noun in name and not _REFERENCES.isdisjoint(name)
