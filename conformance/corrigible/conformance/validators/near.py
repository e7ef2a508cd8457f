"""Validates that a similar value is used only if no other is as similar and little depends on it (SRF-OPS-14)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rapidfuzz.distance import OSA

from corrigible.schema.exchange import Json

from .annotated_error import AnnotatedError, at, of_suggestion, parts, patch_of
from .edit import invalid
from .finding import Finding
from .patched import stages

DECISIVE: Final = frozenset(
    {"currency", "amount", "account", "customer", "role", "permission", "visibility", "private", "force"}
)
"""Names on which money, identity, permission, deletion or visibility hangs, whoever decides what else does."""


def judge(annotated: AnnotatedError) -> Iterator[Finding]:
    """Yield the guesses that are passed off as knowledge. What is near is known by the description's own lists."""
    if annotated.description is None or any(invalid(annotated)):
        return
    for stage in stages(annotated):
        suggestion = stage.suggestion
        group = suggestion.get("group")
        choice = isinstance(group, Mapping) and group.get("relation") == "one_of"
        for op in patch_of(suggestion):
            old, new, place = at(annotated.request.document(), op["path"]), op.get("value"), str(op["path"])
            if op["op"] != "replace" or not isinstance(old, str) or not isinstance(new, str):
                continue
            if _letters(old) == _letters(new):
                continue  # another spelling of the same is no guess
            schema = annotated.description.schema_at(annotated.request, place)
            listed = schema.get("enum") if schema is not None else None
            if not isinstance(listed, list) or new not in listed:
                continue
            rivals = [value for value in as_near(old, listed) if value != new]
            if rivals and not choice:
                sentence = f"Suggestion {stage.index} takes {new} for {old}, though {rivals[0]} is as near."
                yield Finding(
                    "SRF-OPS-14",
                    sentence,
                    "a group one_of, or a question",
                    dict(op),
                    annotated.sent,
                    place=of_suggestion(stage.index),
                )
            if _words(place) & DECISIVE and not _asks(suggestion):
                sentence = f"Suggestion {stage.index} guesses at {place}, on which much hangs, and asks nobody."
                yield Finding(
                    "SRF-OPS-14",
                    sentence,
                    {"requires_confirmation": True},
                    suggestion.get("safety"),
                    annotated.sent,
                    place=of_suggestion(stage.index),
                )


def as_near(text: str, candidates: Sequence[Any]) -> list[str]:
    """Return the candidates at the least distance from a text, and those that go on from it where any does."""
    texts = [value for value in candidates if isinstance(value, str)]
    plain = {value: _letters(value) for value in texts}
    if not texts:
        return []
    target_letters = _letters(text)
    going_on = [value for value in texts if len(target_letters) > 1 and plain[value].startswith(target_letters)]
    if going_on:
        return going_on
    least = min(OSA.distance(target_letters, plain[value]) for value in texts)
    return [value for value in texts if OSA.distance(target_letters, plain[value]) == least]


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).casefold()


def _words(pointer: str) -> frozenset[str]:
    name = (parts(pointer) or ("",))[-1]
    return frozenset(re.split(r"[\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()))


def _asks(suggestion: Mapping[str, Json]) -> bool:
    safety = suggestion.get("safety")
    return isinstance(safety, Mapping) and safety.get("requires_confirmation") is True
