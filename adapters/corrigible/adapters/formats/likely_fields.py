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
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from corrigible.adapters.vocabulary import ANY, Path, Vocabulary
from corrigible.rules.budget import spend
from corrigible.rules.pointer import escape
from corrigible.rules.safety.decisive import words
from corrigible.schema.exchange import Json, Request

from .message.sent_values import SentValue, value_mentioned

FEW: Final = 3
_READ: Final = 500
_MOST: Final = 80
"""Fields that are compared with a sentence."""
_COMPARED_A_STEP: Final = 4
_LACK: Final = re.compile(
    r"(?i)\b(?:missing|required?|requires|mandatory|empty|blank|null|nil|without|needs?|lacks?|absent"
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
_MADE: Final = frozenset({"new", "dest", "destination", "target", "to"})
"""First words of the names of fields that say how what is made will be called."""
_IDENTIFYING: Final = frozenset(
    {
        "id",
        "ids",
        "uuid",
        "uid",
        "guid",
        "name",
        "names",
        "key",
        "identifier",
        "hash",
        "digest",
        "ref",
        "reference",
        "handle",
        "slug",
    }
    | {"path", "code", "number", "address", "username", "email", "parent", "uri", "url"}
)
_VAGUE: Final = frozenset(
    {"the", "a", "an", "is", "are", "was", "be", "not", "no", "in", "on", "of", "to", "for", "and", "or", "with", "it"}
    | {"invalid", "must", "cannot", "can", "does", "has", "have", "request", "error", "failed", "value", "field"}
    | {"this", "that", "at", "by", "from", "already", "found", "exist", "exists", "server", "grpc", "code", "bad"}
    | {"missing", "empty", "required", "please", "should", "specified", "provided", "set", "unknown", "unexpected"}
)
"""Words that any sentence may have, whatever it is about."""
_ANYTHING: Final = _VAGUE | {"type", "name", "id", "key", "kind", "data", "content", "version", "number", "format"}
"""These, and words of the names of very many fields."""


class _Field(NamedTuple):
    pointer: str
    words: tuple[str, ...]
    value: Json
    """None where it was not sent."""
    is_message: bool = False


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
    if mentioned := value_mentioned(message, sent, any_text=True) or _held(message, given):
        return [mentioned]
    told = _words_of(message)
    is_lack = _LACK.search(_OF_CALL.sub(" ", message[:_READ]).replace("_", " ")) is not None
    around = list(islice(_around(sent), _MOST))
    tiers = (unset, given, around) if is_lack else (given, around, unset if given else ())
    for vague in (_ANYTHING, _VAGUE):
        for fields in tiers:
            if about := _sharing(told - vague, fields):
                return _inner(about, [*(one for one in given if one.value == ""), *unset]) if is_lack else about
    if has_words:
        return [given[0].pointer] if len(given) == 1 and not is_lack else []
    if not is_lack:
        few = given or unset
    elif _OF_ZERO.search(message) is not None:
        few = [*given, *unset]
    else:
        few = [one for one in given if one.value in ("", {})] or unset
    return [one.pointer for one in few] if len(few) <= FEW else []


def _inner(about: list[str], blank: Sequence[_Field]) -> list[str]:
    """Return the only field inside of a message that was not sent, or left empty, for that message."""
    inside = [one.pointer for one in blank if one.pointer.startswith(f"{about[0]}/")] if len(about) == 1 else []
    return inside if len(inside) == 1 else about


def fields_of_failure(request: Request, vocabulary: Vocabulary, sent: Sequence[SentValue]) -> list[str]:
    """Return the fields that a service may have failed for which says nothing: a message that was not sent, all few.

    Of a request without anything it is the one that identifies something.
    """
    unset = [one for one in islice(_unset(request, vocabulary), _MOST) if one.pointer.count("/") == 2]
    given = list(islice(_given(sent), _MOST))
    spend((len(unset) + len(given)) // _COMPARED_A_STEP + 1)
    messages = [one for one in unset if one.is_message]
    if given:
        few = [*messages, *given] if len(messages) == 1 else given
    else:
        few = messages or [one for one in unset if not _IDENTIFYING.isdisjoint(one.words[-1:])] or unset
    return [one.pointer for one in few] if len(few) <= FEW else []


def _held(message: str, given: Sequence[_Field]) -> str:
    """Return the only text that was sent and holds a word of a message with a digit in it: a digest, a number."""
    told = [one for one in _PARTICULAR.findall(message[:_READ]) if any(map(str.isdigit, one))]
    texts = [one for one in given if isinstance(one.value, str)]
    spend(len(told) * len(texts) // _COMPARED_A_STEP)
    found = [one.pointer for one in texts if any(word in str(one.value) for word in told)]
    return found[0] if len(found) == 1 else ""


_PARTICULAR: Final = re.compile(r"[\w.-]{8,200}")


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


def likely_names(message: str, request: Request, vocabulary: Vocabulary, sent: Sequence[SentValue]) -> list[str]:
    """Return the places of what was sent that may identify the thing which a sentence says is not there."""
    given = [one for one in islice(_given(sent), _MOST) if isinstance(one.value, str | int | list) and one.value]
    given = [one for one in given if not isinstance(one.value, bool)]
    spend(len(given) // _COMPARED_A_STEP + 1)
    naming = [one for one in given if one.words[-1:] and one.words[-1] not in _UNNAMING]
    naming = [one for one in naming if one.words[0] not in _MADE] or naming
    if not message.strip() and len(naming) > 1:
        return []  # any of them may be meant
    unset = list(islice(_unset(request, vocabulary), _MOST))
    told = _words_of(message)
    for fields in (naming, list(islice(_around(sent), _MOST)), [one for one in unset if told.issuperset(one.words)]):
        if about := _sharing(told - _ANYTHING, fields):
            return about
    identifying = [one for one in naming if not _IDENTIFYING.isdisjoint(one.words[-1:])]
    few = next((some for some in (naming, identifying, given if not naming else []) if 0 < len(some) <= FEW), [])
    return [one.pointer for one in few]


def value_at_end(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only place whose value is all that a sentence has behind its last colon: `Failed to save: a.txt`."""
    told = message[:_READ].rstrip(" .!\n").rpartition(": ")[2].strip("'\"`")
    found = [one.pointer for one in sent if one.path and isinstance(one.value, str) and one.value == told]
    return found[0] if len(found) == 1 and len(told) > 2 and ": " in message else ""


def _words_of(message: str) -> frozenset[str]:
    text = message[:_READ]
    text = text if _CODE.fullmatch(text) else _CODE.sub(" ", text)
    told = {word.lower() for one in _WORD.findall(text) for word in words(one)}
    return frozenset(told | {word.removesuffix("s") for word in told})


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
    """Yield what was sent, without the messages around it: texts, numbers, lists of them, maps; and empty messages."""
    for one in sent:
        if one.text_place or len(one.path) < 2 or one.path[0] != "body":
            continue
        if isinstance(one.value, Mapping) and not one.value:
            yield _Field(one.pointer, words(_name_of(one.path)), one.value)
        elif not one.path[-1].isdecimal() and not _is_around(one.value):
            yield _Field(one.pointer, words(one.path[-1]), one.value)


def _around(sent: Sequence[SentValue]) -> Iterator[_Field]:
    """Yield the messages that were sent, and the lists of them; of a list of one, that one."""
    for one in sent:
        if one.text_place or len(one.path) < 2 or one.path[0] != "body" or not _is_around(one.value):
            continue
        if isinstance(one.value, list) and len(one.value) == 1:
            continue
        yield _Field(one.pointer, words(_name_of(one.path)), one.value)


def _name_of(path: Path) -> str:
    return next((one for one in reversed(path) if not one.isdecimal()), "")


def _is_around(value: Json) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and any(map(_is_message, value)))


def _is_message(value: Json) -> bool:
    return isinstance(value, Mapping)


def _unset(request: Request, vocabulary: Vocabulary) -> Iterator[_Field]:
    """Yield the declared fields that were not sent, of the request and of messages in it, the outermost first."""
    inside: dict[Path, list[str]] = {}
    for path in vocabulary.places:
        inside.setdefault(path[:-1], []).append(path[-1])
    waiting: deque[tuple[Path, str, Json]] = deque([(("body",), "/body", request.body or {})])
    for _ in range(_MOST):
        if not waiting:
            return
        path, place, here = waiting.popleft()
        if isinstance(here, list):
            each = islice(enumerate(here), _FIRST)
            waiting += [((*path, ANY), f"{place}/{at}", one) for at, one in each if isinstance(one, Mapping)]
            continue
        for name in inside.get(path, ()):
            there = here.get(name) if name != ANY else None
            if there is None and name != ANY:
                is_message = (*path, name) in inside or (*path, name, ANY) in inside
                yield _Field(f"{place}/{escape(name)}", words(name), None, is_message=is_message)
            elif isinstance(there, Mapping | list):
                waiting.append(((*path, name), f"{place}/{escape(name)}", there))


def left_empty_named(message: str, request: Request, vocabulary: Vocabulary) -> str:
    """Return the only field that was not sent and that a sentence names where its value should be: `no family ""`."""
    told = _EMPTY.search(message[:_READ]) or _GAP.match(message[:_READ])
    noun = words(told["noun"])[-1:] if told is not None else ()
    if not noun or noun[0] in _ANYTHING - {"version"}:
        return ""
    found = [one for one in islice(_unset(request, vocabulary), _MOST) if noun[0] in one.words]
    texts = [one.pointer for one in found if not one.is_message]
    return texts[0] if len(texts) == 1 else ""


_EMPTY: Final = re.compile(r"""(?i)\b(?P<noun>[a-z][\w-]{1,60})[ :=]{1,2}(?:""|''|``)(?![\w'"])""")
_GAP: Final = re.compile(
    r"(?i)\W*(?:\w+ ){0,3}(?P<noun>[a-z]\w{1,60})  (?:was not found|not found|does not exist"
    r"|is (?:unknown|invalid|not valid))\b"
)
"""Two blanks, where a text has an empty value: `Model version  does not exist`."""
_FIRST: Final = 4
"""Elements of a list that are looked into."""
