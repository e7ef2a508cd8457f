"""The places of a request that hold something, in its body, its query and the JSON texts in that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from corrigible.adapters.formats.message.sent_values import SentValue, fold
from corrigible.adapters.vocabulary import Path
from corrigible.rules.budget import spend
from corrigible.rules.pointer import escape, to_pointer
from corrigible.rules.safety.json_text import repaired_json
from corrigible.schema.exchange import Json, Protocol, Request

MOST_PLACES: Final = 2000
PLACES_A_STEP: Final = 4
_LETTERS_A_STEP: Final = 32
_MOST_TEXTS: Final = 200
COMPARED_A_STEP: Final = 16
PARTS: Final = ("body", "query")


def sent_places(request: Request) -> Iterator[SentValue]:
    """Yield the places of body and query, the outermost first."""
    return _walk([(("body",), request.body), (("query",), dict(request.query))])


def places_in_texts(request: Request) -> Iterator[SentValue]:
    """Yield the places inside what is sent as JSON text: parameters of the query, and fields of a gRPC message."""
    texts: list[tuple[Path, Json]] = [(("query", name), text) for name, text in request.query.items()]
    if request.protocol is Protocol.GRPC:
        texts += [(one.path, one.value) for one in islice(sent_places(request), _MOST_TEXTS)]
    for path, text in texts:
        if not isinstance(text, str) or text[:1] not in ("{", "["):
            continue
        spend(len(text) // _LETTERS_A_STEP)
        held = repaired_json(text)
        if isinstance(held, (dict, list)):
            place = to_pointer(path)
            yield from (one._replace(text_place=place) for one in _walk([(path, held)]))


def _walk(waiting: list[tuple[Path, Json]]) -> Iterator[SentValue]:
    """Yield the places inside some values, the outermost first."""
    count = 0
    while waiting and count < MOST_PLACES:
        below: list[tuple[Path, Json]] = []
        for path, value in waiting:
            inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
            folded = tuple(map(fold, path))
            for name, one in inner:
                here = (*path, str(name))
                count += 1
                yield SentValue(here, (*folded, fold(here[-1])), one)
                if count >= MOST_PLACES:
                    return
                if isinstance(one, (dict, list)):
                    below.append((here, one))
        waiting = below


def find_sent(part: str, tail: Sequence[str], sent: Sequence[SentValue]) -> str | None:
    """Return the only place of the request that ends in some names, None where there are several."""
    folded = tuple(map(fold, tail))
    for exact in (True, False):
        ending = [
            one
            for one in sent
            if (one.path if exact else one.folded)[-len(tail) :] == (tuple(tail) if exact else folded)
        ]
        whole = [one for one in ending if len(one.path) == len(tail) + 1]
        chosen = [one for one in whole if one.path[0] == part] or whole or ending
        if len(chosen) == 1:
            return chosen[0].pointer
        if len(chosen) > 1:
            return None
    return ""


def places_of(value: Json, request: Request) -> list[str] | None:
    """Return the places of the body with this value; None where it is too large to say."""
    waiting: list[tuple[str, Json]] = [("/body", request.body)]
    found: list[str] = []

    for _ in range(_MOST_SENT):
        if not waiting:
            return found
        place, here = waiting.pop()
        if here == value and type(here) is type(value):
            found.append(place)
        inner = here.items() if isinstance(here, dict) else enumerate(here) if isinstance(here, list) else ()
        waiting += [
            (f"{place}/{escape(str(name))}", one)
            for name, one in inner
            if isinstance(one, (dict, list)) or type(one) is type(value)
        ]
    return None


_MOST_SENT: Final = 2000
