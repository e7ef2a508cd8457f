"""What sentences of gRPC services print of a call: the request, a query, a name in pieces, what Python was given.

| the sentence                                       | is about                                               |
|----------------------------------------------------|--------------------------------------------------------|
| `undefined kind: CountRequest(s1, Vector(A))`      | what it says without the request                       |
| a complaint, and below it the query                | the query                                              |
| `WorkflowId{namespace='main', workflowId='w-1'}`   | the last of these values, the others say where it is   |
| `Float() got 1 argument`, `(low=5.0)`              | the value `Float`; the place of `low`                  |

Knows: one sentence, what was sent. Does not know: declarations, rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final

from corrigible.rules.budget import spend
from corrigible.schema.exchange import Request

from .message.sent_values import SentValue, fold

_READ: Final = 300
_COMPARED_A_STEP: Final = 8
_MOST_PAIRS: Final = 6
_MOST_VALUES: Final = 40
_PRINTED: Final = re.compile(r"\b(?P<name>[A-Z]\w{0,80})(?P<open>[({<])")
_CLOSING: Final = {"(": ")", "{": "}", "<": ">"}


def without_printed(message: str, request: Request) -> str:
    """Return a sentence without the request that it prints: `undefined kind: CountRequest(s1,Vector(A))`.

    Every value of the request is in there, the wrong one and the others.
    """
    if not isinstance(request.body, Mapping):
        return message
    text = message[:_READ]
    for found in _PRINTED.finditer(text):
        end = _closed(text, found.end() - 1)
        inside = text[found.end() : end]
        values = {str(one) for one in islice(request.body.values(), _MOST_VALUES) if type(one) in (str, int)} - {""}
        spend(len(values))
        holds_value = any(re.search(rf"(?<!\w){re.escape(value)}(?!\w)", inside) for value in values)
        if holds_value and any(mark in inside for mark in ",:="):
            return message[: found.start()].rstrip(" :") + message[end + 1 :]
    return message


def _closed(text: str, start: int) -> int:
    """Return where a bracket ends; the end of the text where it does not."""
    opening, depth = text[start], 0
    closing = _CLOSING[opening]
    for at in range(start, len(text)):
        depth += (text[at] == opening) - (text[at] == closing)
        if not depth:
            return at
    return len(text)


_OF_CALL: Final = re.compile(r"^(?P<name>[A-Za-z_]\w{0,80})(?:\.\w{1,40})?\(\) (?:missing|got|takes)\b")
_ENUM_CONSTANT: Final = re.compile(r"\bNo enum constant [\w.$]{1,200}\.(?P<name>\w{1,80})")
_GIVEN: Final = re.compile(r"\b([A-Za-z_]\w{0,60})=([^\s,()'\"]{1,80})")


def place_of_printed_text(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only text of several words that a message prints as it was sent: a query, below the complaint."""
    spend(len(sent))
    texts = [one for one in sent if isinstance(one.value, str) and len(one.value) >= _SHORTEST_TEXT]
    printed = {one.pointer for one in texts if " " in str(one.value).strip() and f"\n{one.value}" in message[:_LONGEST]}
    return next(iter(printed)) if len(printed) == 1 else ""


_SHORTEST_TEXT: Final = 4
_LONGEST: Final = 8000


def place_of_python_call(message: str, sent: Sequence[SentValue]) -> str:
    """Return the only place of what a sentence of Python's says was called, or given: `Float() got`, `(low=5.0)`.

    What a JSON text holds is often handed on to a class that the text names.
    """
    text = message[:_READ]
    called = _OF_CALL.match(text) or _ENUM_CONSTANT.search(text)
    given = {(found[1], found[2]) for found in _GIVEN.finditer(text)}
    spend(len(sent))
    places = {
        one.pointer
        for one in sent
        if (called is not None and one.value == called["name"])
        or (one.path and isinstance(one.value, str | int | float) and (one.path[-1], str(one.value)) in given)
    }
    return next(iter(places)) if len(places) == 1 else ""


def identity_printed(message: str, sent: Sequence[SentValue]) -> str:
    """Return the place of what a printed object identifies: `WorkflowId{namespace='main', workflowId='w-1'}`.

    The last of its values is the most particular one; the others say where it is.
    """
    told = _IDENTITY.search(message[:_READ_OF_NAMES])
    if told is None:
        return ""
    pairs = [(fold(name), value) for name, value in _PAIR.findall(told["pairs"])][:_MOST_PAIRS]
    spend(len(sent) * len(pairs) // _COMPARED_A_STEP)
    found = [[one.pointer for one in sent if one.path and (one.folded[-1], one.value) == pair] for pair in pairs]
    return found[-1][0] if found and all(len(places) == 1 for places in found) else ""


_IDENTITY: Final = re.compile(r"\b[A-Z]\w{0,60}(?:Id|ID|Key|Name|Ref)[{(\[](?P<pairs>[^{}]{3,400})[})\]]")
_PAIR: Final = re.compile(r"(\w{1,60})(?:=|: ?)['\"]([^'\"\n]{1,200})['\"]")
_READ_OF_NAMES: Final = 500
