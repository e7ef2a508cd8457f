"""An answer, and the feedback in it.

Knows: which answers may refuse, how much of one is read, where feedback is (SPEC.md 3.5), `Link` headers. Does not
know: how it is fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from corrigible.schema.carrier import find
from corrigible.schema.content_encoding import decoded
from corrigible.schema.error import ReaderError
from corrigible.schema.exchange import Json
from corrigible.schema.feedback import Feedback, parse

RELATION: Final = "recovery-feedback"
PREFIX: Final = "recovery-feedback-prefix"
MOST_BYTES: Final = 1 << 20
"""Of an answer that is read, packed and unpacked: no proxy adds feedback to a larger one."""
_MOST_SUGGESTIONS: Final = 64
_MOST_PARTS: Final = 1000
"""Edits, steps and placeholders of all suggestions together."""
_DEEPEST: Final = 128
"""Segments of a pointer: no request that is edited is nested deeper than 100 levels."""
_LEAST_REFUSAL: Final = 400
_LENGTH: Final = re.compile(r"[0-9]{1,6}")
"""Of an answer below 400 that is read to see whether it refuses (GraphQL, `"success": false`): less than 1 MB."""
_LINK: Final = re.compile(r"<([^<>]{1,2000})>((?:[^,\"<]|\"[^\"]*\")*)")
_TOKEN: Final = re.compile(r";\s*token\s*=\s*\"?([A-Za-z0-9_=-]{1,200})", re.IGNORECASE)
_REL: Final = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]+))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. `native` is the HTTP library's own response."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    """Without Content-Encoding; empty if it was not read, or is longer than what is read."""
    native: object = None

    @property
    def refuses(self) -> bool:
        return self.status >= _LEAST_REFUSAL


def may_refuse(status: int, headers: Iterable[tuple[str, str]]) -> bool:
    """Whether an answer has to be read to tell. A success that is streamed, large or not JSON never has to."""
    if status >= _LEAST_REFUSAL:
        return True
    values = {name.lower(): value for name, value in headers}
    media = values.get("content-type", "").partition(";")[0].strip().lower()
    is_json = media == "application/json" or media.endswith("+json")
    return is_json and _LENGTH.fullmatch(values.get("content-length", "")) is not None


def unpacked(headers: Iterable[tuple[str, str]], raw: bytes) -> bytes:
    """Return a body without its Content-Encoding, unpacked under the limit; empty if it is longer or cannot be read."""
    try:
        return decoded(headers, raw, MOST_BYTES)
    except ValueError:
        return b""


def feedback_in(answer: Answer) -> Feedback | None:
    """Return the feedback in the body of an answer that refuses; None if there is none that can be read."""
    return _readable(find(_parsed(answer.body), answer.status)) if len(answer.body) <= MOST_BYTES else None


def linked_feedback(answer: Answer) -> Feedback | None:
    """Return the feedback that a `Link` led to."""
    return None if answer.refuses or len(answer.body) > MOST_BYTES else _readable(_parsed(answer.body))


def feedback_links(answer: Answer) -> Iterator[tuple[str, str]]:
    """Yield target and token of each `Link: <...>; rel="recovery-feedback"` (RFC 8288) of an answer that refuses."""
    for name, value in answer.headers if answer.refuses else ():
        for link in _LINK.finditer(value) if name.lower() == "link" else ():
            relation = _REL.search(link[2])
            if relation is not None and RELATION in (relation[1] or relation[2] or "").lower().split():
                token = _TOKEN.search(link[2])
                yield link[1].strip(), token[1] if token is not None else ""


def prefix_of(answer: Answer) -> str:
    """Return the path below which the API is, where a proxy has several at one host; empty if it does not say so."""
    return next((value.rstrip("/") for name, value in answer.headers if name.lower() == PREFIX), "")


def _readable(feedback: Json) -> Feedback | None:
    """Return feedback that can be read, and whose parts are few enough to be worked on."""
    if not isinstance(feedback, dict) or _parts(feedback.get("suggestions")) > _MOST_PARTS:
        return None
    try:
        return parse(feedback)
    except (ReaderError, RecursionError, ValueError):
        return None


def _parts(suggestions: Json) -> int:
    """Return how many parts there are; too many where there are too many suggestions, or a place is too deep."""
    if not isinstance(suggestions, list):
        return 0
    if len(suggestions) > _MOST_SUGGESTIONS:
        return _MOST_PARTS + 1
    named = (
        one.get(name) for one in suggestions if isinstance(one, dict) for name in ("patch", "steps", "placeholders")
    )
    held = [one for one in named if isinstance(one, list)]
    places = (
        part.get(name) for one in held for part in one if isinstance(part, dict) for name in ("path", "from", "pointer")
    )
    if any(isinstance(one, str) and one.count("/") > _DEEPEST for one in places):
        return _MOST_PARTS + 1
    return sum(map(len, held))


def _parsed(body: bytes) -> Json:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # neither JSON nor Unicode
        return None
