"""A request without its values: what is enough to tell whether another one differs, where, and as it was advised.

Knows: request documents, suggestions. Does not know: who calls, how often, why anything was refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from corrigible.rules.pointer import MISSING, escape, parameters_at, resolve
from corrigible.schema.cache import cached
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Request
from corrigible.schema.word import BaseAction

_MOST_LEAVES = 64
_LONGEST_PLACE = 256
"""Characters; what is longer is identified by a hash."""


class Advice(NamedTuple):
    """What a suggestion leads to: places of the request document, and a hash of what is there then."""

    action: str
    effects: tuple[tuple[str, int], ...]
    asked_pointers: tuple[str, ...] = ()
    """Places for which somebody is asked."""


def is_excused(differing: str, places: Iterable[str]) -> bool:
    if _is_once(differing):
        return True
    for place in places:
        if differing == place or differing.startswith(f"{place}/") or place.startswith(f"{differing}/"):
            return True
    return False


_ONCE = frozenset({"idempotencykey", "idempotencytoken", "requestid", "clientrequestid", "clienttoken"})
"""Members that name one sending of a request."""


@cached(1024)
def _is_once(pointer: str) -> bool:
    return pointer.rpartition("/")[2].replace("_", "").replace("-", "").lower() in _ONCE


@cached(1024)
def containing_array(pointer: str) -> str:
    """Return the array where a pointer is to one of its elements: without it the others have other numbers."""
    above, _, last = pointer.rpartition("/")
    return above if above.count("/") and (last.isdecimal() or last == "-") else pointer


@cached(4096)
def _place(pointer: str, name: str) -> str:
    """Requests of an API have the same members: to spell their places once is cheaper, and takes less room."""
    place = f"{pointer}/{escape(name)}"
    return place if len(place) <= _LONGEST_PLACE else f"{pointer[: _LONGEST_PLACE // 2]}/~{hash(place)}"


def leaves_of(request: Request) -> dict[str, int]:
    """Return a hash of every value of query and body, by place; of the innermost together where there are many.

    Headers are no part of it: what they say of a task says who calls, and the others differ with each request.
    """
    out: dict[str, int] = {}
    waiting: list[tuple[str, Json]] = [("/body", request.body)]
    if request.query:
        waiting.append(("/query", request.query))
    left = _MOST_LEAVES
    for pointer, value in waiting:  # which grows: outer values come before inner ones
        if isinstance(value, dict) and value and len(value) <= left:
            left -= len(value)
            for name, inner in value.items():
                place = _place(pointer, name)
                if type(inner) is str:
                    out[place] = hash(inner)
                else:
                    waiting.append((place, inner))
        elif isinstance(value, list) and value and len(value) <= left:
            left -= len(value)
            waiting.extend((f"{pointer}/{index}", inner) for index, inner in enumerate(value))
        elif value or pointer.count("/") > 1:
            out[pointer] = hashed(value)
    return out


_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'(?!\w)|`[^`]*`")
_LONGEST_TEXT = 1024


def sent_words(request: Request) -> frozenset[str]:
    """Return the words of what was sent, of the values that are few and short enough to be repeated by a refusal."""
    texts = [request.path[:_LONGEST_TEXT]]
    waiting: list[Json] = [request.body, dict(request.query)]
    left = _MOST_LEAVES
    for value in waiting:  # which grows
        if type(value) is str:
            texts.append(value[:_LONGEST_TEXT])
        elif isinstance(value, (dict, list)):
            inner = list(islice(value.values() if isinstance(value, dict) else value, left))
            left -= len(inner)
            waiting += inner
        elif value is not None and not isinstance(value, bool):
            texts.append(scalar_text(value)[:_LONGEST_TEXT])
    return frozenset(_WORD.findall("\n".join(texts).casefold()))


def gist(message: str, sent: frozenset[str]) -> tuple[str, ...]:
    """Return what a message says whatever the values: no quotations, no numbers, no words of what was sent."""
    words = _WORD.findall(_QUOTED.sub(" ", message[:_LONGEST_TEXT]).casefold())
    return tuple([word for word in words if word not in sent and (word.isalpha() or not _has_digit(word))])


def _has_digit(word: str) -> bool:
    return any(sign.isdigit() for sign in word)


def hashed(value: Json) -> int:
    """Python's own hash of text is keyed with what a process draws at its start. A number is not the text of it."""
    return hash(value if isinstance(value, str) else (repr(value),))


_NOTHING = 0


def advice_of(suggestion: Mapping[str, Json], request: Request) -> Advice:
    effects: list[tuple[str, int]] = []
    if suggestion.get("patch"):
        for op in suggestion["patch"]:
            match op["op"]:
                case "add" | "replace" if not _is_once(op["path"]):
                    effects.append((op["path"], hashed(_comparable(op["value"], op["path"], request))))
                case "remove":
                    effects.append((op["path"], _NOTHING))
                case "move":
                    effects.append((op["from"], _NOTHING))
    elif not _waits(suggestion):
        effects += _merging(suggestion.get("parameters") or {}, parameters_at(request), request)
    asked = tuple(placeholder["pointer"] for placeholder in suggestion.get("placeholders") or ())
    return Advice(suggestion["action"], tuple(effects), asked)


def _merging(parameters: Mapping[str, Json], under: str, request: Request) -> Iterator[tuple[str, int]]:
    for name, value in parameters.items():
        place = f"{under}/{escape(name)}"
        if isinstance(value, dict):
            yield from _merging(value, place, request)
        else:
            yield place, _NOTHING if value is None else hashed(_comparable(value, place, request))


def _comparable(value: Json, place: str, request: Request) -> Json:
    """Return scalars as text where they are text on the wire."""
    if not (request.form or place.startswith("/query")):
        return value
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return {name: _comparable(inner, place, request) for name, inner in value.items()}
    if isinstance(value, list):
        return [_comparable(inner, place, request) for inner in value]
    return scalar_text(value)


def follows(advice: Advice, request: Request) -> bool:
    """Whether a request is as the advice wants it."""
    document = request.document()
    for place, wanted in advice.effects:
        above, _, last = place.rpartition("/")
        here = resolve(document, above if last == "-" else place)
        if here is MISSING:
            held = wanted == _NOTHING
        elif last == "-":
            held = isinstance(here, list) and any(wanted == hashed(one) for one in here)
        else:
            held = wanted == hashed(_comparable(here, place, request))
        if not held:
            return False
    return True


def _waits(suggestion: Mapping[str, Json]) -> bool:
    return BaseAction.WAIT_AND_RETRY in (suggestion["action"], suggestion.get("base_action"))
