"""Validates that suggestions declare changes of intent, losses and side effects (SRF-OPS-09, 12, 13)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from corrigible.schema.exchange import Json

from .annotated_error import MISSING, TERMINAL, AnnotatedError, at, base_action, listed, of_suggestion, parts, patch_of
from .edit import invalid
from .finding import Finding
from .loss import leaves, lost_values
from .patched import Stage, document, leads_to, stages
from .retry import is_safe

_LIMITS: Final = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("maxLength", "maxItems", "minItems", "uniqueItems"),
    }
)
"""Keywords whose repair is another value than the one that was asked for."""


def judge(annotated: AnnotatedError) -> Iterator[Finding]:
    """Yield where a suggestion does not name what it does."""
    if any(invalid(annotated)):
        return  # what is no patch has no outcome
    for part in _PARTS:
        yield from part(annotated)


def _flagged(annotated: AnnotatedError) -> Iterator[Finding]:
    """A clamp, a cut: not what was asked for, and it says so."""
    limits: dict[str, str] = {}
    if annotated.description is not None:
        for breach in annotated.description.breaches_of(annotated.request) or ():
            if breach.keyword in _LIMITS:
                limits[breach.pointer] = breach.keyword
    for stage in stages(annotated):
        safety = stage.suggestion.get("safety")
        if stage.after is None or (isinstance(safety, Mapping) and safety.get("changes_intent") is True):
            continue
        for op in patch_of(stage.suggestion):
            reason = _other(op, stage, limits)
            if reason:
                sentence = f"Suggestion {stage.index} {reason}, which is not what was asked for, and does not say so."
                yield _changes_intent(annotated, stage, sentence)


def _changes_intent(annotated: AnnotatedError, stage: Stage, sentence: str) -> Finding:
    """Return what is wrong with a suggestion that does not say that it is another wish."""
    return Finding(
        "SRF-OPS-09",
        sentence,
        {"changes_intent": True},
        stage.suggestion.get("safety"),
        annotated.sent,
        place=of_suggestion(stage.index, "safety"),
    )


def _other(op: Mapping[str, Json], stage: Stage, limits: Mapping[str, str]) -> str:
    place, verb = str(op["path"]), op["op"]
    old, new = at(stage.before, place), op.get("value")
    for limited, keyword in limits.items():
        if verb in ("replace", "remove", "add") and leads_to(limited, place) and old is not MISSING:
            return f"changes {place} because of {keyword}"
    value = place.startswith(("/body/", "/query/"))
    if value and verb == "replace" and isinstance(old, str) and isinstance(new, str) and _is_cut(old, new):
        return f"cuts {place} short"
    return ""


def _is_cut(old: str, new: str) -> bool:
    """Whether a text of people lost its end. Words and paths have abbreviations: those are other spellings."""
    return " " in old and len(new) >= 8 and old.startswith(new)


def _harmless(annotated: AnnotatedError) -> Iterator[Finding]:
    """Nothing that a suggestion has a reader send changes anything, where it says so."""
    for stage in stages(annotated):
        suggestion = stage.suggestion
        safety = suggestion.get("safety")
        if (
            not isinstance(safety, Mapping)
            or safety.get("side_effects") != "none"
            or base_action(suggestion) in TERMINAL
        ):
            continue
        for sent in [*listed(suggestion, "steps"), stage.after or stage.before]:
            method = str(sent.get("method"))
            if not is_safe(method) and not _tries(sent.get("query")):
                sentence = f"Suggestion {stage.index} says that it has no side effects, and leads to a {method}."
                yield Finding(
                    "SRF-OPS-12",
                    sentence,
                    {"side_effects": "possible|certain"},
                    dict(safety),
                    annotated.sent,
                    place=of_suggestion(stage.index, "safety"),
                )
                break


def _tries(query: Json) -> bool:
    """Whether a request asks only to be tried."""
    parameters = query if isinstance(query, Mapping) else {}
    return str(parameters.get("dry_run")).lower() == "true" or parameters.get("dryRun") == "All"


def _accounted(annotated: AnnotatedError) -> Iterator[Finding]:
    """Every value that was sent survives, or the suggestion names it and says that the intent changes."""
    sent = dict(leaves(document(annotated.request)))
    for stage in stages(annotated):
        if stage.after is None:
            continue
        safety = stage.suggestion.get("safety")
        flagged = isinstance(safety, Mapping) and safety.get("changes_intent") is True
        loses = safety.get("loses") if isinstance(safety, Mapping) else None
        pointers = loses if isinstance(loses, list) else []
        evidence = stage.suggestion.get("evidence")
        looked_up = isinstance(evidence, Mapping) and bool(evidence.get("lookups"))
        steps = listed(stage.suggestion, "steps")
        lost_pointers = [
            pointer
            for pointer in lost_values(stage.before, stage.after, looked_up=looked_up, steps=steps)
            if pointer in sent
        ]
        missing = [pointer for pointer in lost_pointers if not any(leads_to(str(p), pointer) for p in pointers)]
        overwritten = [pointer for pointer in missing if at(stage.after, pointer) is not MISSING]
        if overwritten and not flagged:
            sentence = (
                f"Suggestion {stage.index} puts something else at {', '.join(overwritten[:3])}, and does not say so."
            )
            yield _changes_intent(annotated, stage, sentence)
            missing = [pointer for pointer in missing if pointer not in overwritten]
        if missing:
            places = ", ".join(missing[:3])
            sentence = f"What stood at {places} is nowhere after suggestion {stage.index}, and it does not say so."
            yield Finding(
                "SRF-OPS-13",
                sentence,
                {"loses": missing[:10]},
                safety,
                annotated.sent,
                place=of_suggestion(stage.index, "safety"),
            )
        if pointers and not flagged:
            sentence = f"Suggestion {stage.index} names what it loses, and does not say that this changes the intent."
            yield Finding(
                "SRF-OPS-13",
                sentence,
                {"changes_intent": True},
                safety,
                annotated.sent,
                place=of_suggestion(stage.index, "safety"),
            )
        for pointer in pointers:
            if parts(pointer) is None or at(document(annotated.request), pointer) is MISSING:
                sentence = f"Suggestion {stage.index} says that it loses what the request does not hold."
                yield Finding(
                    "SRF-OPS-13",
                    sentence,
                    "a pointer into the refused request",
                    pointer,
                    annotated.sent,
                    place=of_suggestion(stage.index, "safety"),
                )


_PARTS: Final[tuple[Callable[[AnnotatedError], Iterator[Finding]], ...]] = (_flagged, _harmless, _accounted)
