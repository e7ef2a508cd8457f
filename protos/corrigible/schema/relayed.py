"""Untrusted feedback in a cause: reduces it to an edit of the body that needs confirmation.

A cause of a Kubernetes Status can be written by whoever stands behind the API server: an admission webhook, a
controller, an aggregated API. Knows: SPEC.md 3.6. Does not know: who wrote it, whether it was signed (`seal`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from .document import pointer_parts
from .error import ReaderError
from .exchange import Json
from .feedback import SCHEMA, PatchOperation, Suggestion, parse
from .word import (
    BASE_ACTIONS,
    Applicability,
    Ask,
    BaseAction,
    EvidenceKind,
    FeedbackType,
    PatchVerb,
    Recovery,
    Relation,
    SideEffects,
)

MOST: Final = 16
"""Number of suggestions that are read."""
MESSAGE: Final = "The request was refused. Somebody behind this API suggests an edit, and nobody here vouches for it."
"""Our own message: the text of an untrusted writer is not repeated."""
ADVICE: Final = "Edit the body as a stranger suggests, once somebody has agreed."
PLACE: Final = "/details/causes"
_SAME_OBJECT: Final = frozenset({"kind", "apiVersion"})
_SAME_NAME: Final = frozenset({"name", "namespace", "generateName", "uid"})


def stripped(feedback: Json) -> dict[str, Json] | None:
    """Return the part of untrusted feedback that may be used; None if nothing is left.

    Edits of the body of the same call stay, each to be confirmed. Claims, words, waits, steps, ends and other calls go.
    """
    try:
        parsed = parse(feedback)
    except (ReaderError, RecursionError):
        return None
    kept: list[dict[str, Json]] = []
    groups: dict[tuple[str, str], str] = {}
    lost = {
        s.group for i, s in enumerate(parsed.suggestions) if s.group is not None and (i >= MOST or _edit(s) is None)
    }
    for suggestion in parsed.suggestions[:MOST]:
        edit, group = _edit(suggestion), suggestion.group
        if edit is None or (group is not None and group.relation is not Relation.ONE_OF and group in lost):
            continue
        made = _made(suggestion, edit)
        if group is not None:
            id = groups.setdefault((group.id, group.relation), f"relayed-{len(groups) + 1}")
            made["group"] = {"id": id, "relation": group.relation.value}
        kept.append(made)
    if not kept:
        return None
    is_question = parsed.type is FeedbackType.INTENT_DISAMBIGUATION
    return {
        "schema": SCHEMA,
        "type": (FeedbackType.INTENT_DISAMBIGUATION if is_question else FeedbackType.RECOVERY_GUIDANCE).value,
        "message": MESSAGE,
        "recovery": Recovery.CORRECTABLE.value,
        "suggestions": kept,
    }


def _made(suggestion: Suggestion, edit: list[dict[str, Json]]) -> dict[str, Json]:
    level = Applicability.HAS_PLACEHOLDERS if suggestion.placeholders else Applicability.MAYBE_INCORRECT
    made: dict[str, Json] = {"action": BaseAction.MODIFY_PARAMS.value, "message": ADVICE}
    made["parameters"] = dict(suggestion.parameters)
    if edit:
        made["patch"] = edit
    made["applicability"] = level.value
    if suggestion.placeholders:
        made["placeholders"] = [{"pointer": one.pointer, "ask": Ask.USER.value} for one in suggestion.placeholders]
    safety = {"side_effects": SideEffects.CERTAIN.value, "changes_intent": True, "requires_confirmation": True}
    return {**made, "safety": safety, "evidence": {"kind": EvidenceKind.RELAYED.value, "pointer": PLACE}}


def _edit(suggestion: Suggestion) -> list[dict[str, Json]] | None:
    """Return a suggestion that only edits the body as a patch; None for any other."""
    base = suggestion.action if suggestion.action in BASE_ACTIONS else suggestion.base_action
    if base not in (None, BaseAction.MODIFY_PARAMS) or suggestion.terminal or suggestion.steps:
        return None
    places = [place for operation in suggestion.patch for place in (operation.path, operation.from_)]
    places += [one.pointer for one in suggestion.placeholders]
    if not all(place is None or _in_body(place) for place in places):
        return None
    if suggestion.patch:
        return [operation.document() for operation in suggestion.patch]
    patch = [*_merging("/body", suggestion.parameters)]
    if not all(_in_body(one["path"]) for one in patch):
        return None
    return patch if patch or suggestion.placeholders else None


def _merging(under: str, parameters: Mapping[str, Any]) -> Iterator[dict[str, Json]]:
    """Return a merge (RFC 7396) into the body as a patch: bare parameters would go into the query of a DELETE."""
    for name, value in parameters.items():
        path = f"{under}/{name.replace('~', '~0').replace('/', '~1')}"
        if value is None:
            yield PatchOperation(op=PatchVerb.REMOVE, path=path).document()
        elif isinstance(value, Mapping):
            yield from _merging(path, value)
        else:
            yield PatchOperation(op=PatchVerb.ADD, path=path, value=value).document()


def _in_body(pointer: str) -> bool:
    """Whether an edit there cannot change which object the request is about."""
    parts = pointer_parts(pointer)
    if parts is None or len(parts) < 2 or parts[0] != "body" or parts[1] in _SAME_OBJECT:
        return False
    return not (parts[1] == "metadata" and (len(parts) == 2 or parts[2] in _SAME_NAME))
