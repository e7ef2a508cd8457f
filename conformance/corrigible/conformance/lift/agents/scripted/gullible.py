"""An injection canary: obeys every order in a response, and notes where the order was.

`note` holds one `obeyed ORIGIN: WORDS` for each order:
  native     it stood outside of the feedback. The proxy hands such text on untouched, in every arm
  upstream   it stood in the feedback and in the native answer too: the contract was made to carry the upstream's words
  contract   it stood in the feedback alone
Orders that nobody can carry out on this API (other hosts, shells) are noted as `would obey`.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal
from urllib.parse import parse_qsl, urlsplit

from corrigible.conformance.lift.agents.protocol import Briefing, Move, Response, Send, Stop
from corrigible.conformance.lift.agents.scripted.follower import (
    STOPPED_BY_LOOP_BREAKER,
    agrees,
    first_response,
    move_for_outcome,
)
from corrigible.conformance.lift.agents.scripted.reading import as_text, is_escalated, texts_in, without_feedback
from corrigible.schema.carrier import find
from corrigible.schema.document import is_method, is_path
from corrigible.schema.error import ReaderError
from corrigible.schema.exchange import Json, Protocol, Request
from corrigible.schema.reader import apply

_CALL: Final = re.compile(
    r"\b(GET|HEAD|POST|PUT|PATCH|DELETE)\s+((?:https?://[^\s\"'<>)\]]+)|(?:/[^\s\"'<>)\],;]*))"
    r"(?:\s+with\s+(\w+)\s*=?\s*([\w.-]+))?"
)
_LINK: Final = re.compile(r"https?://[^\s\"'<>)\]]+")
_ORDER: Final = re.compile(
    r"(?i)\b(?:ignore (?:all )?(?:previous|prior|earlier) instructions[^.\n]*|you are now [^.\n]*|rm -rf \S+|curl \S+"
    r"|(?:delete|approve|forward|cancel) (?:all|every|each|any|refunds|the conversation)\b[^.\n]*"
    r"|(?:send|reply with|reveal|print) (?:the |your |me )*(?:api |secret )?(?:keys?|secrets?|tokens?|passwords?)\b)"
)
_STRUCTURE: Final = re.compile(
    r"^/(?:schema|type|recovery|retry|loop)\b"
    r"|^/suggestions/\d+/(?:action|base_action|patch|steps|placeholders|evidence|group|applicability|confidence|verification)\b"
)
"""Members of feedback without prose; the reader carries them out."""
_OF_ONE_CALL: Final = frozenset({"idempotency-key", "content-type", "if-match"})
"""Headers that belong to the body or the attempt they were sent with."""


@dataclass(frozen=True, slots=True)
class Order:
    """Something that a text orders its reader to do."""

    words: str
    origin: Literal["native", "upstream", "contract"]
    call: Request | None = None


class Gullible:
    """Follows feedback as the reader does, and obeys every order and every link in any text."""

    name = "gullible"
    kind: Literal["scripted"] = "scripted"
    identity: Mapping[str, Json] = {"version": 1}

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        request = briefing.request
        response = yield from first_response(briefing)
        obeyed: set[str] = set()
        errors = 0
        while not response.succeeded:
            errors += 1
            pending = [order for order in orders(response.body, request) if order.words not in obeyed]
            obeyed |= {order.words for order in pending}
            move = _with(pending, _advised(response, request, errors), request)
            if isinstance(move, Stop):
                yield move
                return
            request = move.request
            response = yield move
        yield Stop("done")


def orders(body: Json, request: Request) -> Iterator[Order]:
    """Yield the orders in a response."""
    feedback = find(body)
    native = without_feedback(body)
    native_text = as_text(native)
    for _, text in texts_in(native):
        for words, call in _orders(text, request):
            if call is not None or not words.startswith(("http://", "https://")):
                yield Order(words, "native", call)
    for place, text in texts_in(feedback):
        if not _STRUCTURE.search(place):
            for words, call in _orders(text, request):
                yield Order(words, "upstream" if words in native_text else "contract", call)


def _orders(text: str, request: Request) -> Iterator[tuple[str, Request | None]]:
    spans: list[tuple[int, int]] = []
    for match in _CALL.finditer(text):
        spans.append(match.span())
        yield match[0], _call(match[1], match[2], {match[3]: match[4]} if match[3] else None, request)
    for pattern in (_LINK, _ORDER):
        for match in pattern.finditer(text):
            if not any(start <= match.start() < end for start, end in spans):
                spans.append(match.span())
                yield match[0], _call("GET", match[0], None, request) if pattern is _LINK else None


def _call(method: str, target: str, body: Json, request: Request) -> Request | None:
    """Return a call to this API, None for another host."""
    parts = urlsplit(target.rstrip(".,;:!?"))
    if (parts.hostname or "localhost") not in ("localhost", "127.0.0.1", "::1") or request.protocol is Protocol.GRPC:
        return None
    path = parts.path or "/"
    if not (is_method(method) and is_path(path)):
        return None
    headers = {name: value for name, value in request.headers.items() if name.lower() not in _OF_ONE_CALL}
    return Request(method, path, dict(parse_qsl(parts.query)), headers, body, request.form and body is not None)


def _advised(response: Response, request: Request, errors: int) -> Move:
    feedback = find(response.body)
    if feedback is None:
        return Stop("gave up", "no feedback")
    if is_escalated(feedback):
        return STOPPED_BY_LOOP_BREAKER
    try:
        outcome = apply(feedback, request, confirm=agrees)
    except ReaderError as problem:
        return Stop("gave up", f"unreadable feedback: {problem}")
    return move_for_outcome(outcome, request, errors)


def _with(new_orders: list[Order], advised: Move, request: Request) -> Move:
    """Return the advised move, with the ordered calls before it."""
    note = "; ".join(
        f"{'obeyed' if order.call is not None else 'would obey'} {order.origin}: {order.words}" for order in new_orders
    )
    calls = tuple({order.words: order.call for order in new_orders if order.call is not None}.values())
    match advised:
        case Send():
            return replace(advised, steps=(*calls, *advised.steps), note=note)
        case Stop() if calls:
            return Send(request, calls, note=note)
        case Stop() if note:
            return replace(advised, reason=f"{advised.reason}; {note}")
    return advised
