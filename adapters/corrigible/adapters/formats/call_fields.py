"""The fields of a gRPC call: which were sent, which were not, and the messages around them.

Knows: what was sent, what the method declares. Does not know: sentences, but for their words; codes, rules.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from corrigible.adapters.vocabulary import ANY, Path, Vocabulary
from corrigible.rules.pointer import escape
from corrigible.rules.safety.decisive import words
from corrigible.schema.exchange import Json, Request

from .message.sent_values import SentValue

_READ: Final = 500
MOST: Final = 80
"""Fields that are compared with a sentence."""
_FIRST: Final = 4
"""Elements of a list that are looked into."""
VAGUE: Final = frozenset(
    {"the", "a", "an", "is", "are", "was", "be", "not", "no", "in", "on", "of", "to", "for", "and", "or", "with", "it"}
    | {"invalid", "must", "cannot", "can", "does", "has", "have", "request", "error", "failed", "value", "field"}
    | {"this", "that", "at", "by", "from", "already", "found", "exist", "exists", "server", "grpc", "code", "bad"}
    | {"missing", "empty", "required", "please", "should", "specified", "provided", "set", "unknown", "unexpected"}
)
"""Words that any sentence may have, whatever it is about."""
ANYTHING: Final = VAGUE | {"type", "name", "id", "key", "kind", "data", "content", "version", "number", "format"}
"""These, and words of the names of very many fields."""


class Field(NamedTuple):
    pointer: str
    words: tuple[str, ...]
    value: Json
    """None where it was not sent."""
    is_message: bool = False
    path: Path = ()
    """Of one that was not sent: where it is declared."""


def given_fields(sent: Sequence[SentValue]) -> Iterator[Field]:
    """Yield what was sent, without the messages around it: texts, numbers, lists of them, maps; and empty messages."""
    for one in sent:
        if one.text_place or len(one.path) < 2 or one.path[0] != "body":
            continue
        if isinstance(one.value, Mapping) and not one.value:
            yield Field(one.pointer, _parts(_name_of(one.path)), one.value)
        elif not one.path[-1].isdecimal() and not _is_around(one.value):
            yield Field(one.pointer, _parts(one.path[-1]), one.value)


def fields_around(sent: Sequence[SentValue]) -> Iterator[Field]:
    """Yield the messages that were sent, and the lists of them; of a list of one, that one."""
    for one in sent:
        if one.text_place or len(one.path) < 2 or one.path[0] != "body" or not _is_around(one.value):
            continue
        if isinstance(one.value, list) and len(one.value) == 1:
            continue
        yield Field(one.pointer, _parts(_name_of(one.path)), one.value)


def _parts(name: str) -> tuple[str, ...]:
    """Return the words of a name, without one that says nothing of what it is."""
    parts = words(name)
    return parts[1:] if len(parts) > 1 and parts[0] in ("optional", "opt") else parts


def _name_of(path: Path) -> str:
    return next((one for one in reversed(path) if not one.isdecimal()), "")


def _is_around(value: Json) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and any(map(_is_message, value)))


def _is_message(value: Json) -> bool:
    return isinstance(value, Mapping)


def unset_fields(request: Request, vocabulary: Vocabulary) -> Iterator[Field]:
    """Yield the declared fields that were not sent, of the request and of messages in it, the outermost first."""
    inside: dict[Path, list[str]] = {}
    for path in vocabulary.places:
        inside.setdefault(path[:-1], []).append(path[-1])
    body = request.body if isinstance(request.body, Mapping) else {}
    waiting: deque[tuple[Path, str, Json]] = deque([(("body",), "/body", body)])
    for _ in range(MOST):
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
                yield Field(f"{place}/{escape(name)}", _parts(name), None, is_message, (*path, name))
            elif isinstance(there, Mapping | list):
                waiting.append(((*path, name), f"{place}/{escape(name)}", there))


def words_of(message: str) -> frozenset[str]:
    text = _ADVICE.sub(" ", message[:_READ])
    text = text if _CODE.fullmatch(text) else _CODE.sub(" ", text)
    told = {word.lower() for one in _WORD.findall(text) for word in words(one)}
    return frozenset(told | {word.removesuffix("s") for word in told})


_CODE: Final = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
"""A code has words of its own: `[PARSE_EMPTY_STATEMENT]`; of a message that is nothing else they are all there is."""
_ADVICE: Final = re.compile(
    r"(?i)\b(?:please )?(?:upgrade|update)(?: \w{1,40}){0,4}? to (?:an? |the )?"
    r"(?:latest|newest|newer|more recent)\b[^.;\n]{0,200}"
    r"|\b(?:latest|newest|newer|more recent) (?:versions?|releases?) of [^.;\n]{1,200}"
)
"""Advice about the program that calls: its words are not those of a field."""
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*")
