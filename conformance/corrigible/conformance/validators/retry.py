"""Validates retry advice (SRF-RTY-01 to 05)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Final

from corrigible.schema.exchange import Json

from .annotated_error import AnnotatedError, patch_of
from .finding import ABSENT, Finding

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_KEYS: Final = ("idempotency-key", "x-idempotency-key")
_READS: Final = re.compile(
    r"(?:Batch)?(?:Get|List|Read|Search|Query|Find|Fetch|Lookup|Count|Check|Describe|Watch|Range|Status|Hash|Snapshot)"
)
_MOST_ATTEMPTS: Final = 10
_SLACK: Final = 2.0
"""Seconds by which a wait that follows from two clocks may differ."""


def judge(told: AnnotatedError) -> Iterator[Finding]:
    """Yield what is wrong with what is said about repeating the request."""
    for part in _PARTS:
        yield from part(told)


def named_wait(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Return the seconds that Retry-After names: as they stand, or from its date and the answer's own (RFC 9110)."""
    said = headers.get("retry-after", "").strip()
    if said.isascii() and said.isdecimal() and len(said) < 10:
        return float(said)
    then, date = _date(said), _date(headers.get("date", ""))
    start = date if date is not None else now
    return max(0.0, then - start) if then is not None and start is not None else None


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except ValueError:
        return None


def _mirrored(told: AnnotatedError) -> Iterator[Finding]:
    wait = named_wait(told.headers)
    if wait is None or told.terminal:
        return
    said = told.retry.get("after_seconds", ABSENT)
    exact = told.headers.get("retry-after", "").strip().isdecimal()
    if not isinstance(said, int | float) or isinstance(said, bool):
        text = "The answer says when to come back, and the feedback does not."
        yield Finding("SRF-RTY-01", text, wait, said, told.sent)
    elif not wait <= said <= math.ceil(wait) + (0 if exact else _SLACK):
        text = "The feedback names another wait than the answer's own Retry-After."
        yield Finding("SRF-RTY-01", text, wait, said, told.sent)


def _not_blindly(told: AnnotatedError) -> Iterator[Finding]:
    names = {name.lower() for name in told.request.headers}
    keyed = any(key in names for key in _KEYS)
    if told.retry.get("same_request") is True and not is_safe(told.request.method) and not keyed:
        sentence = (
            f"The feedback says to repeat a {told.request.method} that has no idempotency key: it may happen twice."
        )
        yield Finding("SRF-RTY-02", sentence, {"same_request": False}, dict(told.retry), told.sent)


def is_safe(method: str) -> bool:
    """Whether a call only reads: by HTTP's word, or by what methods of gRPC that read are called."""
    return method.upper() in _SAFE or _READS.match(method.rpartition("/")[2]) is not None


def _nothing_after_the_end(told: AnnotatedError) -> Iterator[Finding]:
    found: Json = told.feedback.get("retry", ABSENT) if isinstance(told.feedback, Mapping) else ABSENT
    if told.terminal and found not in (ABSENT, None):
        yield Finding("SRF-RTY-03", "Feedback that ends the matter says when to retry.", "no retry", found, told.sent)


def _bounded(told: AnnotatedError) -> Iterator[Finding]:
    most = told.retry.get("max_attempts", ABSENT)
    counted = isinstance(most, int) and not isinstance(most, bool)
    if most is ABSENT:
        if told.retry.get("same_request") is True:
            sentence = "The feedback says to repeat the request and not how often at most."
            yield Finding("SRF-RTY-04", sentence, f"1 to {_MOST_ATTEMPTS}", ABSENT, told.sent)
    elif not counted or not 1 <= most <= _MOST_ATTEMPTS:
        sentence = "The number of attempts is not one that ends."
        yield Finding("SRF-RTY-04", sentence, f"1 to {_MOST_ATTEMPTS}", most, told.sent)


def _keys(told: AnnotatedError) -> Iterator[Finding]:
    names = {name.lower() for name in told.request.headers}
    if not any(key in names for key in _KEYS) or told.terminal:
        return
    said = told.retry.get("idempotency_key", ABSENT)
    bodies = [
        op for _, one in told.suggestions for op in patch_of(one) if op.get("op") != "test" and _asks_otherwise(op)
    ]
    if bodies and said != "new":
        text = "The request changes, and the feedback does not say that it needs a new idempotency key."
        yield Finding("SRF-RTY-05", text, "new", said, told.sent)
    if not bodies and told.retry.get("same_request") is True and said == "new":
        text = "The request is to be repeated as it was, and yet under a new idempotency key: it may happen twice."
        yield Finding("SRF-RTY-05", text, "reuse", said, told.sent)


def _asks_otherwise(op: Mapping[str, Json]) -> bool:
    return not str(op.get("path", "")).lower().startswith("/headers")


_PARTS: Final[tuple[Callable[[AnnotatedError], Iterator[Finding]], ...]] = (
    _mirrored,
    _not_blindly,
    _nothing_after_the_end,
    _bounded,
    _keys,
)
