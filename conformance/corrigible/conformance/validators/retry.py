"""Validates retry advice (SRF-RTY-01 to 05)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Final

from corrigible.schema.exchange import Json

from .annotated_error import FEEDBACK, AnnotatedError, patch_of
from .finding import ABSENT, Finding

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_KEYS: Final = ("idempotency-key", "x-idempotency-key")
_READS: Final = re.compile(
    r"(?:Batch)?(?:Get|List|Read|Search|Query|Find|Fetch|Lookup|Count|Check|Describe|Watch|Range|Status|Hash|Snapshot)"
)
_MOST_ATTEMPTS: Final = 10
_SLACK: Final = 2.0
"""Seconds by which a wait that follows from two clocks may differ."""


def judge(annotated: AnnotatedError) -> Iterator[Finding]:
    """Yield what is wrong with what is said about repeating the request."""
    for part in _PARTS:
        yield from part(annotated)


def named_wait(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Return the seconds that Retry-After names: as they stand, or from its date and the answer's own (RFC 9110)."""
    header = headers.get("retry-after", "").strip()
    if header.isascii() and header.isdecimal() and len(header) < 10:
        return float(header)
    then, date = _date(header), _date(headers.get("date", ""))
    start = date if date is not None else now
    return max(0.0, then - start) if then is not None and start is not None else None


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except ValueError:
        return None


def _mirrored(annotated: AnnotatedError) -> Iterator[Finding]:
    wait = named_wait(annotated.headers)
    if wait is None or annotated.terminal:
        return
    after_seconds = annotated.retry.get("after_seconds", ABSENT)
    exact = annotated.headers.get("retry-after", "").strip().isdecimal()
    if not isinstance(after_seconds, int | float) or isinstance(after_seconds, bool):
        text = "The answer says when to come back, and the feedback does not."
        yield Finding("SRF-RTY-01", text, wait, after_seconds, annotated.sent, place=f"{FEEDBACK}/retry/after_seconds")
    elif not wait <= after_seconds <= math.ceil(wait) + (0 if exact else _SLACK):
        text = "The feedback names another wait than the answer's own Retry-After."
        yield Finding("SRF-RTY-01", text, wait, after_seconds, annotated.sent, place=f"{FEEDBACK}/retry/after_seconds")


def _not_blindly(error: AnnotatedError) -> Iterator[Finding]:
    names = {name.lower() for name in error.request.headers}
    keyed = any(key in names for key in _KEYS)
    if error.retry.get("same_request") is True and not is_safe(error.request.method) and not keyed:
        sentence = (
            f"The feedback says to repeat a {error.request.method} that has no idempotency key: it may happen twice."
        )
        yield Finding(
            "SRF-RTY-02",
            sentence,
            {"same_request": False},
            dict(error.retry),
            error.sent,
            place=f"{FEEDBACK}/retry/same_request",
        )


def is_safe(method: str) -> bool:
    """Whether a call only reads: by HTTP's word, or by what methods of gRPC that read are called."""
    return method.upper() in _SAFE or _READS.match(method.rpartition("/")[2]) is not None


def _nothing_after_the_end(annotated: AnnotatedError) -> Iterator[Finding]:
    retry: Json = annotated.feedback.get("retry", ABSENT) if isinstance(annotated.feedback, Mapping) else ABSENT
    if annotated.terminal and retry not in (ABSENT, None):
        yield Finding(
            "SRF-RTY-03",
            "Feedback that ends the matter says when to retry.",
            "no retry",
            retry,
            annotated.sent,
            place=f"{FEEDBACK}/retry",
        )


def _bounded(annotated: AnnotatedError) -> Iterator[Finding]:
    most = annotated.retry.get("max_attempts", ABSENT)
    is_number = isinstance(most, int) and not isinstance(most, bool)
    if most is ABSENT:
        if annotated.retry.get("same_request") is True:
            sentence = "The feedback says to repeat the request and not how often at most."
            yield Finding(
                "SRF-RTY-04",
                sentence,
                f"1 to {_MOST_ATTEMPTS}",
                ABSENT,
                annotated.sent,
                place=f"{FEEDBACK}/retry/max_attempts",
            )
    elif not is_number or not 1 <= most <= _MOST_ATTEMPTS:
        sentence = "The number of attempts is not one that ends."
        yield Finding(
            "SRF-RTY-04",
            sentence,
            f"1 to {_MOST_ATTEMPTS}",
            most,
            annotated.sent,
            place=f"{FEEDBACK}/retry/max_attempts",
        )


def _keys(annotated: AnnotatedError) -> Iterator[Finding]:
    names = {name.lower() for name in annotated.request.headers}
    if not any(key in names for key in _KEYS) or annotated.terminal:
        return
    idempotency_key = annotated.retry.get("idempotency_key", ABSENT)
    bodies = [
        op
        for _, suggestion in annotated.suggestions
        for op in patch_of(suggestion)
        if op.get("op") != "test" and _asks_otherwise(op)
    ]
    if bodies and idempotency_key != "new":
        text = "The request changes, and the feedback does not say that it needs a new idempotency key."
        yield Finding(
            "SRF-RTY-05", text, "new", idempotency_key, annotated.sent, place=f"{FEEDBACK}/retry/idempotency_key"
        )
    if not bodies and annotated.retry.get("same_request") is True and idempotency_key == "new":
        text = "The request is to be repeated as it was, and yet under a new idempotency key: it may happen twice."
        yield Finding(
            "SRF-RTY-05", text, "reuse", idempotency_key, annotated.sent, place=f"{FEEDBACK}/retry/idempotency_key"
        )


def _asks_otherwise(op: Mapping[str, Json]) -> bool:
    return not str(op.get("path", "")).lower().startswith("/headers")


_PARTS: Final[tuple[Callable[[AnnotatedError], Iterator[Finding]], ...]] = (
    _mirrored,
    _not_blindly,
    _nothing_after_the_end,
    _bounded,
    _keys,
)
