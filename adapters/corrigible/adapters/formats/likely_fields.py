"""The few fields of a gRPC call that a sentence may be about which names none of them as it is called.

| the sentence                         | may be about                                                          |
|--------------------------------------|-----------------------------------------------------------------------|
| `Name cannot be empty`               | the field that was not sent and shares most words: `name_of_exam`     |
| `missing box_id in chunks`           | the same, be it inside of a message that was sent                     |
| `Bad UUID`, `Invalid ID format`      | what was sent, if that is no more than a few values                   |
| `Division by zero`                   | the number that was not sent: it is zero then                         |
| nothing, with NOT_FOUND              | what was sent that identifies something                               |

That is no proof: it is good for a question. Of more than a few fields nothing follows.

Knows: one sentence, what was sent, what the method declares. Does not know: codes, rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from corrigible.adapters.vocabulary import ANY, Vocabulary
from corrigible.rules.budget import spend
from corrigible.rules.pointer import MISSING, to_pointer, value_at
from corrigible.rules.safety.decisive import words
from corrigible.schema.exchange import Json, Request

from .message.sent_values import SentValue, value_mentioned

FEW: Final = 3
_READ: Final = 500
_MOST: Final = 80
"""Fields that are compared with a sentence."""
_COMPARED_A_STEP: Final = 4
_LACK: Final = re.compile(
    r"(?i)\b(?:missing|required?|requires|mandatory|empty|blank|null|nil|without|expected|needs?|lacks?|absent"
    r"|(?:must|should|please) (?:specify|provide|supply|set|give|have|contain|include|define|pass)"
    r"|(?:not|n't|must be|should be|be|no \w[\w ]{0,60}) (?:been )?(?:set|specified|provided|given|supplied|present"
    r"|passed|sent|defined|included|filled)"
    r"|zero|positive|at least (?:one|1)\b|unspecified)\b"
    # Portuguese and Spanish, German, French, Russian, Chinese, Korean
    r"|obrigat[oó]ri|obligatori|requerid|erforderlich|fehlt|manquant|requis|обязател|必填|必须|不能为空|缺少|필수"
)
"""Words of sentences about what was not sent. In proto3 a number that was not sent is zero."""
_OF_ZERO: Final = re.compile(r"(?i)\b(?:zero|positive|0|nonzero)\b")
_UNNAMING: Final = frozenset(
    {"description", "reason", "comment", "message", "note", "limit", "size", "offset", "count", "timeout", "content"}
    | {"data", "time", "view", "mode", "page", "value", "payload", "text", "body", "format", "filter", "amount"}
    | {"quantity", "force", "mask", "options", "labels", "metadata", "type", "kind", "status", "version", "token"}
)
"""Last words of the names of fields that identify nothing."""
_IDENTIFYING: Final = frozenset(
    {"id", "ids", "uuid", "uid", "guid", "name", "names", "key", "identifier", "ref", "reference", "handle", "slug"}
    | {"path", "code", "number", "address", "username", "email", "parent", "uri", "url"}
)
_ANYTHING: Final = frozenset(
    {"the", "a", "an", "is", "are", "was", "be", "not", "no", "in", "on", "of", "to", "for", "and", "or", "with", "it"}
    | {"invalid", "must", "cannot", "can", "does", "has", "have", "request", "error", "failed", "value", "field"}
    | {"type", "name", "id", "key", "missing", "empty", "required", "please", "should", "specified", "provided", "set"}
    | {"this", "that", "at", "by", "from", "already", "found", "exist", "exists", "server", "grpc", "code", "bad"}
)
"""Words that any sentence may have, whatever it is about."""


class _Field(NamedTuple):
    pointer: str
    words: tuple[str, ...]
    value: Json
    """None where it was not sent."""


def likely_fields(
    message: str, request: Request, vocabulary: Vocabulary, sent: Sequence[SentValue], *, has_words: bool = False
) -> list[str]:
    """Return the places that a sentence about values may be about: those that share most words with it, else all few.

    A sentence about what was not sent is about a field that was not. With `has_words` nothing but its words counts,
    unless a single value was sent.
    """
    unset = list(islice(_unset(request, vocabulary), _MOST))
    given = list(islice(_given(sent), _MOST))
    spend((len(unset) + len(given)) // _COMPARED_A_STEP + 1)
    if spelled := _spelled_out(message, [*unset, *given]):
        return spelled
    if mentioned := value_mentioned(message, [one for one in sent if one.path[-1:] != ("",)], any_text=True):
        return [mentioned]
    told = _words_of(message)
    is_lack = _LACK.search(_OF_CALL.sub(" ", message[:_READ]).replace("_", " ")) is not None
    for fields in (unset, given) if is_lack else (given, unset if given else ()):
        if about := _sharing(told, fields):
            return about
    if has_words:
        return [given[0].pointer] if len(given) == 1 and not is_lack else []
    if not is_lack:
        few = given or unset
    elif _OF_ZERO.search(message) is not None:
        few = [*given, *unset]
    else:
        few = [one for one in given if one.value == ""] or unset
    return [one.pointer for one in few] if len(few) <= FEW else []


def _spelled_out(message: str, fields: Sequence[_Field]) -> list[str]:
    """Return the only field whose name of several words a sentence has as it is written in code: `box_id`, `boxId`.

    A name may stand beside letters of other languages.
    """
    names = {one.lower() for one in _IN_CODE.findall(message[:_READ])}
    if not names:
        return []
    found = [one.pointer for one in fields if "_".join(one.words) in names or "".join(one.words) in names]
    return found if len(found) == 1 else []


_IN_CODE: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+", re.ASCII)


def likely_names(message: str, sent: Sequence[SentValue]) -> list[str]:
    """Return the places of what was sent that may identify the thing which a sentence says is not there."""
    given = [one for one in islice(_given(sent), _MOST) if isinstance(one.value, str | int) and one.value != ""]
    given = [one for one in given if not isinstance(one.value, bool)]
    spend(len(given) // _COMPARED_A_STEP + 1)
    naming = [one for one in given if one.words[-1:] and one.words[-1] not in _UNNAMING]
    told = _words_of(message)
    if not message.strip() and len(naming) > 1:
        return []  # any of them may be meant
    if about := _sharing(told, naming):
        return about
    identifying = [one for one in naming if not _IDENTIFYING.isdisjoint(one.words[-1:])]
    for few in (identifying, naming, given if not naming else []):
        if few:
            return [one.pointer for one in few] if len(few) <= FEW else []
    return []


def _words_of(message: str) -> frozenset[str]:
    text = message[:_READ]
    text = text if _CODE.fullmatch(text) else _CODE.sub(" ", text)
    told = {word.lower() for one in _WORD.findall(text) for word in words(one)}
    return frozenset(told | {word.removesuffix("s") for word in told}) - _ANYTHING


_CODE: Final = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
"""A code has words of its own: `[PARSE_EMPTY_STATEMENT]`; of a message that is nothing else they are all there is."""
_OF_CALL: Final = re.compile(r"\bmissing \d+ required (?:positional|keyword-only) arguments?\b")
"""What Python says of its own functions."""
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*")


def _sharing(told: frozenset[str], fields: Sequence[_Field]) -> list[str]:
    """Return the fields whose names have the most words of a sentence; nothing where those are too many."""
    counts = {one.pointer: sum(word in told or word.removesuffix("s") in told for word in one.words) for one in fields}
    most = max(counts.values(), default=0)
    about = [place for place, count in counts.items() if count == most] if most else []
    whole = [one.pointer for one in fields if one.pointer in about and len(one.words) == most]
    about = whole or about
    return about if len(about) <= FEW else []


def _given(sent: Sequence[SentValue]) -> Iterator[_Field]:
    """Yield what was sent, without the messages around it: texts, numbers, lists of them, maps."""
    for one in sent:
        if one.text_place or len(one.path) < 2 or one.path[0] != "body" or one.path[-1].isdecimal():
            continue
        if isinstance(one.value, Mapping) or (isinstance(one.value, list) and any(map(_is_message, one.value))):
            continue
        yield _Field(one.pointer, words(one.path[-1]), one.value)


def _is_message(value: Json) -> bool:
    return isinstance(value, Mapping)


def _unset(request: Request, vocabulary: Vocabulary) -> Iterator[_Field]:
    """Yield the declared fields that were not sent, of the request and of messages that were."""
    for path in vocabulary.places:
        if path[0] != "body" or ANY in path or len(path) < 2:
            continue
        place = to_pointer(path)
        if value_at(request, place) is not MISSING:
            continue
        around = value_at(request, to_pointer(path[:-1])) if len(path) > 2 else {}
        if isinstance(around, Mapping):
            yield _Field(place, words(path[-1]), None)
