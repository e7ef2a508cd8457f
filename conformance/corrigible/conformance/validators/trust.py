"""Validates what feedback says of retrying (SRF-RTY), and that it is clean, evidenced and without secrets (SRF-SEC)."""

from __future__ import annotations

import base64
import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import quote

from corrigible.conformance.validators.finding import (
    ABSENT,
    TERMINAL,
    AnnotatedError,
    Finding,
    Wrong,
    base_action,
    patch_of,
    texts,
)
from corrigible.schema.exchange import Json

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_KEYS: Final = ("idempotency-key", "x-idempotency-key")
_READS: Final = re.compile(
    r"(?:Batch)?(?:Get|List|Read|Search|Query|Find|Fetch|Lookup|Count|Check|Describe|Watch|Range|Status|Hash|Snapshot)"
)
_MOST_ATTEMPTS: Final = 10
_SLACK: Final = 2.0
"""Seconds by which a wait that follows from two clocks may differ."""


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


def _mirrored(annotated: AnnotatedError) -> Iterator[Wrong]:
    wait = named_wait(annotated.headers)
    if wait is None or annotated.terminal:
        return
    after_seconds = annotated.retry.get("after_seconds", ABSENT)
    exact = annotated.headers.get("retry-after", "").strip().isdecimal()
    if not isinstance(after_seconds, int | float) or isinstance(after_seconds, bool):
        text = "The answer says when to come back, and the feedback does not."
        yield text, wait, after_seconds, "retry", "after_seconds"
    elif not wait <= after_seconds <= math.ceil(wait) + (0 if exact else _SLACK):
        text = "The feedback names another wait than the answer's own Retry-After."
        yield text, wait, after_seconds, "retry", "after_seconds"


def _not_blindly(error: AnnotatedError) -> Iterator[Wrong]:
    names = {name.lower() for name in error.request.headers}
    keyed = any(key in names for key in _KEYS)
    if error.retry.get("same_request") is True and not is_safe(error.request.method) and not keyed:
        sentence = (
            f"The feedback says to repeat a {error.request.method} that has no idempotency key: it may happen twice."
        )
        yield sentence, {"same_request": False}, dict(error.retry), "retry", "same_request"


def is_safe(method: str) -> bool:
    """Whether a call only reads: by HTTP's word, or by what methods of gRPC that read are called."""
    return method.upper() in _SAFE or _READS.match(method.rpartition("/")[2]) is not None


def _nothing_after_the_end(annotated: AnnotatedError) -> Iterator[Wrong]:
    retry: Json = annotated.feedback.get("retry", ABSENT) if isinstance(annotated.feedback, Mapping) else ABSENT
    if annotated.terminal and retry not in (ABSENT, None):
        yield "Feedback that ends the matter says when to retry.", "no retry", retry, "retry"


def _bounded(annotated: AnnotatedError) -> Iterator[Wrong]:
    most = annotated.retry.get("max_attempts", ABSENT)
    is_number = isinstance(most, int) and not isinstance(most, bool)
    if most is ABSENT:
        if annotated.retry.get("same_request") is True:
            sentence = "The feedback says to repeat the request and not how often at most."
            yield sentence, f"1 to {_MOST_ATTEMPTS}", ABSENT, "retry", "max_attempts"
    elif not is_number or not 1 <= most <= _MOST_ATTEMPTS:
        yield "The number of attempts is not one that ends.", f"1 to {_MOST_ATTEMPTS}", most, "retry", "max_attempts"


def _keys(annotated: AnnotatedError) -> Iterator[Wrong]:
    names = {name.lower() for name in annotated.request.headers}
    if not any(key in names for key in _KEYS) or annotated.terminal:
        return
    idempotency_key = annotated.retry.get("idempotency_key", ABSENT)
    bodies = [
        op
        for _, suggestion in annotated.suggestions
        for op in patch_of(suggestion)
        if op.get("op") != "test" and (not str(op.get("path", "")).lower().startswith("/headers"))
    ]
    if bodies and idempotency_key != "new":
        text = "The request changes, and the feedback does not say that it needs a new idempotency key."
        yield text, "new", idempotency_key, "retry", "idempotency_key"
    if not bodies and annotated.retry.get("same_request") is True and idempotency_key == "new":
        text = "The request is to be repeated as it was, and yet under a new idempotency key: it may happen twice."
        yield text, "reuse", idempotency_key, "retry", "idempotency_key"


_LONGEST: Final = 1000
_HIDDEN: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
"""Unicode categories that nobody sees: controls, format characters (bidi, zero width, tags), line separators."""
_FILLERS: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_EVIDENCE: Final = ("rule", "spec", "lookup", "mapping", "relayed", "answer")


def hidden(text: str) -> list[str]:
    """Return the characters of a text that a person does not see and a model reads, by their names."""
    hidden_characters = {
        c for c in text if (unicodedata.category(c) in _HIDDEN and c not in "\n\t") or _FILLERS.match(c)
    }
    return [f"U+{ord(c):04X} {unicodedata.name(c, 'control')}" for c in sorted(hidden_characters)]


def _clean(annotated: AnnotatedError) -> Iterator[Wrong]:
    for place, text in texts(annotated.feedback):
        if names := hidden(text):
            yield f"The text at {place} holds characters that nobody sees.", "visible characters", names, place
        if len(text) > _LONGEST:
            sentence = f"The text at {place} is {len(text)} characters long."
            yield sentence, f"at most {_LONGEST}", text[:80] + "...", place


def _sourced(annotated: AnnotatedError) -> Iterator[Wrong]:
    for index, suggestion in annotated.suggestions:
        changes = bool(patch_of(suggestion) or suggestion.get("steps") or suggestion.get("placeholders"))
        if not changes and base_action(suggestion) in TERMINAL | {"WAIT_AND_RETRY"}:
            continue
        evidence = suggestion.get("evidence", ABSENT)
        kind = evidence.get("kind") if isinstance(evidence, Mapping) else None
        if kind not in _EVIDENCE:
            sentence = f"Suggestion {index} does not say where it comes from."
            yield sentence, {"kind": "|".join(_EVIDENCE)}, evidence, index, "evidence"
        elif isinstance(evidence, Mapping) and not _is_named(evidence):
            sentence = f"The evidence of suggestion {index} names neither rule nor place, and no look-up."
            yield sentence, "rule, pointer or lookups", dict(evidence), index, "evidence"


def _is_named(evidence: Mapping[str, Json]) -> bool:
    """Whether evidence can be traced: what only look-ups tell has no rule and no place, and names them."""
    lookups = evidence.get("lookups") if evidence.get("kind") == "lookup" else None
    is_looked_up = isinstance(lookups, list) and bool(lookups) and all(isinstance(one, str) and one for one in lookups)
    return bool(evidence.get("rule") or evidence.get("pointer")) or is_looked_up


def _secretive(annotated: AnnotatedError) -> Iterator[Wrong]:
    whole = json.dumps(annotated.feedback, ensure_ascii=False)
    for secret in annotated.secrets:
        if any(form in whole for form in forms(secret)):
            sentence = "A secret of the request stands in the feedback."
            yield sentence, "nothing of it", f"a text of {len(secret)} characters"


def forms(secret: str) -> set[str]:
    """Return the ways in which a text may be written down and still be found out."""
    plain = secret.encode()
    quoted = json.dumps(secret)[1:-1]
    return {secret, secret[::-1], quoted, quote(secret, safe=""), base64.b64encode(plain).decode().rstrip("=")}


def _counted(annotated: AnnotatedError) -> Iterator[Wrong]:
    for index, suggestion in annotated.suggestions:
        confidence = suggestion.get("confidence")
        if isinstance(confidence, Mapping):
            problem = _miscounted(confidence)
            if problem:
                sentence = f"The confidence of suggestion {index} cannot be worked out again: {problem}."
                yield sentence, "successes, trials and their quotient", dict(confidence), index, "confidence"


def _miscounted(confidence: Mapping[str, Json]) -> str:
    value: Json = confidence.get("value")
    successes: Json = confidence.get("successes")
    trials: Json = confidence.get("trials")
    if value is not None and not (isinstance(value, int | float) and 0 <= value <= 1):
        return "its value is none from 0 to 1"
    if successes is None and trials is None and confidence.get("basis") != "observed":
        return ""
    if not (_is_count(successes) and _is_count(trials)):
        return "successes and trials are not both counted"
    if successes > trials:
        return "there are more successes than trials"
    if value is not None and trials and not math.isclose(value, successes / trials, abs_tol=0.005):
        return "its value is not the share of successes"
    if value is not None and not trials:
        return "it has a value and no trials"
    return ""


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_RULES: Final = (
    ("SRF-RTY-01", _mirrored),
    ("SRF-RTY-02", _not_blindly),
    ("SRF-RTY-03", _nothing_after_the_end),
    ("SRF-RTY-04", _bounded),
    ("SRF-RTY-05", _keys),
    ("SRF-SEC-02", _clean),
    ("SRF-SEC-03", _sourced),
    ("SRF-SEC-05", _secretive),
    ("SRF-SEC-10", _counted),
)


def judge(annotated: AnnotatedError) -> Iterator[Finding]:
    """Yield what is wrong with what is said about repeating the request, and what makes feedback not to be trusted."""
    yield from annotated.judged(_RULES)
