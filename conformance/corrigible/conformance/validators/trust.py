"""Validates texts, evidence, secrets and confidence (SRF-SEC), as far as one feedback shows them."""

from __future__ import annotations

import base64
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Final
from urllib.parse import quote

from corrigible.schema.exchange import Json

from .annotated_error import FEEDBACK, TERMINAL, AnnotatedError, base_action, of_suggestion, patch_of, texts
from .finding import ABSENT, Finding

_LONGEST: Final = 1000
_HIDDEN: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
"""Unicode categories that nobody sees: controls, format characters (bidi, zero width, tags), line separators."""
_FILLERS: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_EVIDENCE: Final = ("rule", "spec", "lookup", "mapping", "relayed", "answer")


def judge(annotated: AnnotatedError) -> Iterator[Finding]:
    """Yield what makes feedback not to be trusted."""
    for part in _PARTS:
        yield from part(annotated)


def hidden(text: str) -> list[str]:
    """Return the characters of a text that a person does not see and a model reads, by their names."""
    hidden_characters = {
        c for c in text if (unicodedata.category(c) in _HIDDEN and c not in "\n\t") or _FILLERS.match(c)
    }
    return [f"U+{ord(c):04X} {unicodedata.name(c, 'control')}" for c in sorted(hidden_characters)]


def _clean(annotated: AnnotatedError) -> Iterator[Finding]:
    for place, text in texts(annotated.feedback):
        if names := hidden(text):
            sentence = f"The text at {place} holds characters that nobody sees."
            yield Finding("SRF-SEC-02", sentence, "visible characters", names, annotated.sent, place=FEEDBACK + place)
        if len(text) > _LONGEST:
            sentence = f"The text at {place} is {len(text)} characters long."
            yield Finding(
                "SRF-SEC-02", sentence, f"at most {_LONGEST}", text[:80] + "...", annotated.sent, place=FEEDBACK + place
            )


def _sourced(annotated: AnnotatedError) -> Iterator[Finding]:
    for index, suggestion in annotated.suggestions:
        changes = bool(patch_of(suggestion) or suggestion.get("steps") or suggestion.get("placeholders"))
        if not changes and base_action(suggestion) in TERMINAL | {"WAIT_AND_RETRY"}:
            continue
        evidence = suggestion.get("evidence", ABSENT)
        kind = evidence.get("kind") if isinstance(evidence, Mapping) else None
        if kind not in _EVIDENCE:
            sentence = f"Suggestion {index} does not say where it comes from."
            yield Finding(
                "SRF-SEC-03",
                sentence,
                {"kind": "|".join(_EVIDENCE)},
                evidence,
                annotated.sent,
                place=of_suggestion(index, "evidence"),
            )
        elif isinstance(evidence, Mapping) and not _is_named(evidence):
            sentence = f"The evidence of suggestion {index} names neither rule nor place, and no look-up."
            yield Finding(
                "SRF-SEC-03",
                sentence,
                "rule, pointer or lookups",
                dict(evidence),
                annotated.sent,
                place=of_suggestion(index, "evidence"),
            )


def _is_named(evidence: Mapping[str, Json]) -> bool:
    """Whether evidence can be traced: what only look-ups tell has no rule and no place, and names them."""
    lookups = evidence.get("lookups") if evidence.get("kind") == "lookup" else None
    is_looked_up = isinstance(lookups, list) and bool(lookups) and all(isinstance(one, str) and one for one in lookups)
    return bool(evidence.get("rule") or evidence.get("pointer")) or is_looked_up


def _secretive(annotated: AnnotatedError) -> Iterator[Finding]:
    whole = json.dumps(annotated.feedback, ensure_ascii=False)
    for secret in annotated.secrets:
        if any(form in whole for form in forms(secret)):
            sentence = "A secret of the request stands in the feedback."
            yield Finding(
                "SRF-SEC-05",
                sentence,
                "nothing of it",
                f"a text of {len(secret)} characters",
                annotated.sent,
                place=FEEDBACK,
            )


def forms(secret: str) -> set[str]:
    """Return the ways in which a text may be written down and still be found out."""
    plain = secret.encode()
    quoted = json.dumps(secret)[1:-1]
    return {secret, secret[::-1], quoted, quote(secret, safe=""), base64.b64encode(plain).decode().rstrip("=")}


def _counted(annotated: AnnotatedError) -> Iterator[Finding]:
    for index, suggestion in annotated.suggestions:
        confidence = suggestion.get("confidence")
        if isinstance(confidence, Mapping):
            problem = _miscounted(confidence)
            if problem:
                sentence = f"The confidence of suggestion {index} cannot be worked out again: {problem}."
                yield Finding(
                    "SRF-SEC-10",
                    sentence,
                    "successes, trials and their quotient",
                    dict(confidence),
                    annotated.sent,
                    place=of_suggestion(index, "confidence"),
                )


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


_PARTS: Final[tuple[Callable[[AnnotatedError], Iterator[Finding]], ...]] = (_clean, _sourced, _secretive, _counted)
