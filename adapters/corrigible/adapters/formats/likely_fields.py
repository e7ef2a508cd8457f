"""The few fields of a gRPC call that a sentence may be about which names none of them as it is called.

| the sentence                         | may be about                                                          |
|--------------------------------------|-----------------------------------------------------------------------|
| `Name cannot be empty`               | the field that was not sent and shares most words: `name_of_exam`     |
| `missing box_id in chunks`           | the same, be it inside of a message that was sent                     |
| `Bad UUID`, `Invalid ID format`      | what was sent, if that is no more than a few values                   |
| `Division by zero`                   | the number that was not sent: it is zero then                         |
| `Lid cannot be zero`                 | the text that was sent and in which it is: `{lid: 0}`                 |
| `Insufficient lids`                  | the number of them that was sent: `lids`, `{lid: 9}`                  |
| nothing, with NOT_FOUND              | what was sent that identifies something                               |

That is no proof: it is good for a question. Of more than a few fields nothing follows.

Knows: one sentence, what was sent, what the method declares. Does not know: codes, rules.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from corrigible.adapters.vocabulary import Vocabulary
from corrigible.rules.budget import spend
from corrigible.rules.safety.decisive import words
from corrigible.rules.safety.nearness import is_plural
from corrigible.schema.exchange import Json, Request

from .call_fields import ANYTHING, MOST, VAGUE, Field, fields_around, given_fields, unset_fields, words_of
from .lack_in_call import place_of_condition
from .message.sent_values import SentValue, is_label, is_only_around, value_mentioned

FEW: Final = 3
_READ: Final = 500
_COMPARED_A_STEP: Final = 4
_LACK: Final = re.compile(
    r"(?i)\b(?:missing|required?|requires|mandatory|empty|blank|null|nil|without|needs?|lacks?|absent"
    r"|(?:must|should|please) (?:specify|provide|supply|set|give|have|contain|include|define|pass)"
    r"|(?:not|n't|must be|should be|be|no \w[\w ]{0,60}) (?:been )?(?:set|specified|provided|given|supplied|present"
    r"|passed|sent|defined|included|filled)"
    r"|(?:carries|has|contains|have|with) no \w+|zero|positive|at least (?:one|1)\b|unspecified)\b"
    # Portuguese and Spanish, German, French, Russian, Chinese, Korean
    r"|obrigat[oó]ri|obligatori|requerid|erforderlich|fehlt|manquant|requis|обязател|必填|必须|不能为空|缺少|필수"
)
"""Words of sentences about what was not sent. In proto3 a number that was not sent is zero."""
_NOT_TAKEN: Final = re.compile(
    r"(?i)\b(?:deprecated|obsolete|unknown|unsupported|unrecogni[sz]ed|unexpected|disallowed) "
    r"(?:argument|parameter|field|option|member|property|attribute|setting)s?\b"
)
"""Sentences about a field that was sent, whichever it is."""
_OF_CALL: Final = re.compile(r"\bmissing \d+ required (?:positional|keyword-only) arguments?\b")
"""What Python says of its own functions."""
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


def likely_fields(
    message: str, request: Request, vocabulary: Vocabulary, sent: Sequence[SentValue], *, has_words: bool = False
) -> list[str]:
    """Return the places that a sentence about values may be about: those that share most words with it, else all few.

    A sentence about what was not sent is about a field that was not. With `has_words` nothing but its words counts,
    unless a single value was sent.
    """
    unset = list(islice(unset_fields(request, vocabulary), MOST))
    condition = place_of_condition(message, sent)
    given = [one for one in islice(given_fields(sent), MOST) if one.pointer != condition]
    spend((len(unset) + len(given)) // _COMPARED_A_STEP + 1)
    if inside := _number_inside(message, given) or _number_of_scarce(message, given):
        return [inside]
    if spelled := _spelled_out(message, [*unset, *given]):
        return spelled
    mentioned = value_mentioned(message, sent, any_text=True) or _held(message, given) or _any_name(message, given)
    is_beside = mentioned and (is_label(message, sent, mentioned) or is_only_around(message, sent, mentioned))
    is_beside = is_beside or bool(mentioned and mentioned == condition)
    if mentioned and not is_beside:
        return [mentioned]
    if is_beside:
        given = [one for one in given if one.pointer != mentioned]
    told = words_of(message)
    is_lack = _LACK.search(_OF_CALL.sub(" ", message[:_READ]).replace("_", " ")) is not None
    around = list(islice(fields_around(sent), MOST))
    is_of_sent = not is_lack and _NOT_TAKEN.search(message[:_READ]) is not None
    tiers = (unset, given, around) if is_lack else (given, around, unset if given and not is_of_sent else ())
    for fields in tiers:
        if whole := [one for one in fields if told.issuperset(one.words) and not ANYTHING.issuperset(one.words)]:
            about = _sharing(told, whole)
            return _inner(about, [*(one for one in given if one.value == ""), *unset]) if is_lack else about
    for vague in (ANYTHING, VAGUE):
        if vague is VAGUE and (repeated := _got(message, given) or _of_enum(message, given)):
            return repeated
        for fields in tiers:
            if about := _sharing(told - vague, fields):
                return _inner(about, [*(one for one in given if one.value == ""), *unset]) if is_lack else about
    if has_words or is_beside:
        return []
    if not is_lack:
        empty = [one for one in given if one.value == {}] if not is_of_sent else []
        few = empty or given or unset
        if is_of_sent and len(few) > FEW:  # what names the thing is taken at all times
            few = [one for one in few if _IDENTIFYING.isdisjoint(one.words[-1:])]
    elif _OF_ZERO.search(message) is not None:
        few = [*given, *unset]
    else:
        few = [one for one in given if one.value in ("", {})] or unset
        few = [one for one in few if one.is_message] if len(few) > FEW else few
    return [one.pointer for one in few] if len(few) <= FEW else []


def _inner(about: list[str], blank: Sequence[Field]) -> list[str]:
    """Return the only field inside of a message that was not sent, or left empty, for that message."""
    inside = [one.pointer for one in blank if one.pointer.startswith(f"{about[0]}/")] if len(about) == 1 else []
    return inside if len(inside) == 1 else about


def number_told(message: str, sent: Sequence[SentValue]) -> list[str]:
    """Return the place of the only number that was sent of what a sentence says there is not enough of."""
    place = _number_of_scarce(message, list(islice(given_fields(sent), MOST)))
    return [place] if place else []


def fields_told(message: str, sent: Sequence[SentValue]) -> list[str]:
    """Return the only field that was sent and whose name of several words a sentence has."""
    told = words_of(message)
    found = [one for one in islice(given_fields(sent), MOST) if len(one.words) > 1 and told.issuperset(one.words)]
    return [found[0].pointer] if len(found) == 1 else []


def fields_of_failure(request: Request, vocabulary: Vocabulary, sent: Sequence[SentValue]) -> list[str]:
    """Return the fields that a service may have failed for which says nothing: a message that was not sent, all few.

    Of a request without anything it is the one that identifies something.
    """
    unset = [one for one in islice(unset_fields(request, vocabulary), MOST) if one.pointer.count("/") == 2]
    given = list(islice(given_fields(sent), MOST))
    spend((len(unset) + len(given)) // _COMPARED_A_STEP + 1)
    messages = [one for one in unset if one.is_message]
    if given:
        few = [*messages, *given] if len(messages) == 1 else given
    else:
        few = messages or [one for one in unset if not _IDENTIFYING.isdisjoint(one.words[-1:])] or unset
    return [one.pointer for one in few] if len(few) <= FEW else []


def _held(message: str, given: Sequence[Field]) -> str:
    """Return the only text that was sent and holds a word of a message in quotes, or with a digit."""
    told = [one for one in _PARTICULAR.findall(message[:_READ]) if any(map(str.isdigit, one))]
    told += _QUOTED.findall(message[:_READ])[:_ELEMENTS]
    texts = [(one.pointer, text) for one in given for text in _texts(one.value)]
    spend(len(told) * len(texts) // _COMPARED_A_STEP)
    found = list(dict.fromkeys(place for place, text in texts if any(word in text for word in told)))
    read = message[:_READ]
    found = found or list(dict.fromkeys(place for place, text in texts if "/" in text and f"{text}/" in read))
    return found[0] if len(found) == 1 else ""


def _number_inside(message: str, given: Sequence[Field]) -> str:
    """Return the only text that was sent and in which a number under a word of a message is what it says: `{node: 0}`.

    A message that calls a number zero or negative says so of what is inside of a text as of any other.
    """
    read = message[:_READ]
    if _OF_ZERO.search(read) is None and _OF_NEGATIVE.search(read) is None:
        return ""
    told = words_of(message) - VAGUE
    found = {place for place, name, number in _numbers_inside(given) if number <= 0 and told.issuperset(words(name))}
    return found.pop() if len(found) == 1 else ""


def _number_of_scarce(message: str, given: Sequence[Field]) -> str:
    """Return the only number that was sent of what a message says there is not enough of: `{node: 9}`, `nodes: 9`."""
    told = _SCARCE.search(message[:_READ])
    noun = words(told["what"])[-1:] if told is not None else ()
    if not noun:
        return ""
    own = [one for one in given if isinstance(one.value, int | float | str) and _NUMBER.fullmatch(str(one.value))]
    own = [one for one in own if _IDENTIFYING.isdisjoint(one.words[-1:])]
    numbers = [(one.pointer, "_".join(one.words), float(str(one.value))) for one in own]
    numbers += _numbers_inside(given)
    found = {
        place
        for place, name, number in numbers
        if number > 0 and any(one == noun[0] or is_plural(one, noun[0]) for one in words(name))
    }
    return found.pop() if len(found) == 1 else ""


def _numbers_inside(given: Sequence[Field]) -> list[tuple[str, str, float]]:
    """Return the numbers that stand behind names inside of texts: where, under which name, how much."""
    every = ((one.pointer, text[:_LONGEST_TEXT]) for one in given for text in _texts(one.value))
    texts = list(islice(((place, text) for place, text in every if ":" in text or "=" in text), _ELEMENTS))
    spend(sum(len(text) for _, text in texts) // _COMPARED_A_STEP)
    return [(place, one["name"], float(one["number"])) for place, text in texts for one in _NUMBERED.finditer(text)]


_OF_NEGATIVE: Final = re.compile(r"(?i)\bnegative\b")
_SCARCE: Final = re.compile(
    r"(?i)\b(?:insufficient|not enough)(?: number of)? (?P<what>[a-z][\w-]{0,40}(?: [\w-]{1,40}){0,2}?)"
    r"(?: (?:in|on|of|for|to|with|at|available|left|are|is|were|was|have|has|found)\b|\W*$|[.,;:(])"
)
_NUMBER: Final = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?")
_NUMBERED: Final = re.compile(
    r"""(?<![\w-])(?P<name>[A-Za-z]\w{0,60}+)['"]?\s{0,4}[:=]\s{0,4}(?P<number>-?\d{1,15}(?:\.\d{1,9})?)(?![\w.])"""
)
_LONGEST_TEXT: Final = 1000


def _any_name(message: str, given: Sequence[Field]) -> str:
    """Return the only value that stands for any name, where a sentence calls it so."""
    found = [one.pointer for one in given if one.value == "*"] if "wildcard" in message[:_READ].lower() else []
    return found[0] if len(found) == 1 else ""


def _texts(value: Json) -> list[str]:
    values = value[:_ELEMENTS] if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, str)]


_ELEMENTS: Final = 8
_QUOTED: Final = re.compile(r"(?<!\w)['\"`]([^'\"`\n]{3,200})['\"`](?!\w)")
_PARTICULAR: Final = re.compile(r"[\w./()-]{8,200}")


def _got(message: str, given: Sequence[Field]) -> list[str]:
    """Return the few numbers that were sent and that a sentence says it got: `must lie in [0, 1], got 2`."""
    told = {float(one) for one in _NUMBER_GOT.findall(message[:_READ])}
    numbers = [one for one in given if isinstance(one.value, int | float) and not isinstance(one.value, bool)]
    found = [one.pointer for one in numbers if told and one.value in told]
    return found if len(found) <= FEW else []


_NUMBER_GOT: Final = re.compile(r"(?i)\b(?:got|was|received|given|found):? (-?\d{1,15}(?:\.\d{1,9})?)\b")


def _of_enum(message: str, given: Sequence[Field]) -> list[str]:
    """Return the only name of an enum that was sent and whose last word a sentence has: `Avro is not supported`."""
    told = words_of(message)
    names = [one for one in given if isinstance(one.value, str) and _ENUM.fullmatch(one.value)]
    found = []
    for one in names:
        own = str(one.value).rpartition("_")[2].lower()
        found += [one.pointer] if own in told and own not in ANYTHING and own not in one.words else []
    return found if len(found) == 1 else []


_ENUM: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")


def _spelled_out(message: str, fields: Sequence[Field]) -> list[str]:
    """Return the only field whose name of several words a sentence has as it is written in code: `box_id`, `boxId`.

    A name may stand beside letters of other languages.
    """
    text = message[:_READ]
    names = {one.lower() for one in _IN_CODE.findall(text)}
    names |= {one.lower() for path in _DOTTED.findall(text) for one in path.split(".")[1:] if one not in _MEASURES}
    if not names:
        return []
    found = [one for one in fields if "_".join(one.words) in names or "".join(one.words) in names]
    is_choice = 1 < len(found) <= FEW and all(one.value is None for one in found)  # any of them would do
    return [one.pointer for one in found] if len(found) == 1 or is_choice else []


_DOTTED: Final = re.compile(r"\b[a-z]\w*(?:\.[a-z]\w*){1,5}\b")
_MEASURES: Final = frozenset({"length", "size", "count"})
_IN_CODE: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+", re.ASCII)


def likely_names(message: str, request: Request, vocabulary: Vocabulary, sent: Sequence[SentValue]) -> list[str]:
    """Return the places of what was sent that may identify the thing which a sentence says is not there."""
    given = [one for one in islice(given_fields(sent), MOST) if isinstance(one.value, str | int | list) and one.value]
    given = [one for one in given if not isinstance(one.value, bool)]
    spend(len(given) // _COMPARED_A_STEP + 1)
    naming = [one for one in given if one.words[-1:] and one.words[-1] not in _UNNAMING]
    naming = [one for one in naming if one.words[0] not in _MADE] or naming
    if not message.strip() and len(naming) > 1:
        return []  # any of them may be meant
    unset = list(islice(unset_fields(request, vocabulary), MOST))
    told = words_of(message)
    for fields in (
        naming,
        list(islice(fields_around(sent), MOST)),
        [one for one in unset if told.issuperset(one.words)],
    ):
        if about := _sharing(told - ANYTHING, fields):
            inside = [one.pointer for one in naming if one.pointer.startswith(f"{about[0]}/")]
            return inside if len(about) == 1 and 0 < len(inside) <= FEW else about
    identifying = [one for one in naming if not _IDENTIFYING.isdisjoint(one.words[-1:])]
    if blank := [one.pointer for one in islice(given_fields(sent), MOST) if one.value == {}]:
        return blank if len(blank) == 1 else []
    few = next((some for some in (naming, identifying, given if not naming else []) if 0 < len(some) <= FEW), [])
    return [one.pointer for one in few]


def value_at_end(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only place whose value is all that a sentence has behind its last colon: `Failed to save: a.txt`."""
    told = message[:_READ].rstrip(" .!\n").rpartition(": ")[2].strip("'\"`")
    found = [one.pointer for one in sent if one.path and isinstance(one.value, str) and one.value == told]
    return found[0] if len(found) == 1 and len(told) > 2 and ": " in message else ""


def _sharing(told: frozenset[str], fields: Sequence[Field]) -> list[str]:
    """Return the fields whose names have the most words of a sentence; nothing where those are too many."""
    counts = {one.pointer: sum(word in told or word.removesuffix("s") in told for word in one.words) for one in fields}
    most = max(counts.values(), default=0)
    about = [place for place, count in counts.items() if count == most] if most else []
    whole = [one.pointer for one in fields if one.pointer in about and len(one.words) == most]
    about = whole or about
    return about if len(about) <= FEW else []
