"""Whether a suggestion keeps what was asked for: computed from its edit, whoever made it.

Knows: suggestions, requests, what look-ups showed. Does not know: rules, descriptions, formats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from corrigible.rules.loss import Survival, losses
from corrigible.rules.rule import TERMINAL
from corrigible.rules.speak import Spoken
from corrigible.schema.exchange import Json, Request

from .verify import after_edit

_EDITS = ("patch", "parameters")


def declare_losses(
    said: Sequence[Spoken], request: Request, tokens: frozenset[str], version: str | None = None
) -> list[Spoken]:
    """Return what was said, each suggestion with what it takes from the request: `loses`, and `changes_intent`.

    `version`: the member that names the version of the API; a dry run may have shown that another one keeps the rest.

    Suggestions are applied one after the other, as readers do; of alternatives each for itself.
    """
    current = request
    out = []
    for one in said:
        marked = []
        open_choices: set[str] = set()
        for suggestion in one.suggestions:
            group = suggestion.get("group") or {}
            if _is_terminal(suggestion) or not any(suggestion.get(name) for name in _EDITS):
                marked.append(suggestion)
                continue
            base, after = current, after_edit(suggestion, current)
            if after is None and current is not request:
                base, after = request, after_edit(suggestion, request)
            if after is None:
                marked.append(suggestion)  # no reader applies it either
                continue
            survival = Survival(tokens, one.seen, suggestion.get("steps"), version if _is_tried(suggestion) else None)
            marked.append(losing(suggestion, losses(base, after, survival, touched=_touched(suggestion))))
            if group.get("relation") != "one_of" or group["id"] not in open_choices:
                current = after if base is current else current
                open_choices.add(group.get("id", ""))
        out.append(one._replace(suggestions=tuple(marked)))
    return out


def unsaid_losses(claimed: Sequence[Spoken], declared: Sequence[Spoken]) -> list[str]:
    """Return what edits lose whose authors claim that they change no intent."""
    return [
        pointer
        for one, other in zip(claimed, declared, strict=True)
        for mine, computed in zip(one.suggestions, other.suggestions, strict=True)
        if not mine["safety"]["changes_intent"]
        for pointer in computed["safety"].get("loses", ())
    ]


def _is_tried(suggestion: Mapping[str, Any]) -> bool:
    return bool(suggestion.get("verification") == {"status": "verified", "method": "dry_run"})


def _is_terminal(suggestion: Mapping[str, Any]) -> bool:
    return suggestion.get("base_action", suggestion["action"]) in TERMINAL


def losing(suggestion: dict[str, Json], lost: Sequence[str]) -> dict[str, Any]:
    """Return a suggestion that says what it loses; the same one where that is nothing."""
    if not lost:
        return suggestion
    known = suggestion["safety"].get("loses", ())
    safety = {**suggestion["safety"], "changes_intent": True, "loses": list(dict.fromkeys((*known, *lost)))}
    out = {**suggestion, "safety": safety}
    if out.get("applicability") == "MACHINE_APPLICABLE":
        out["applicability"] = "MAYBE_INCORRECT"
    return out


def _touched(suggestion: Mapping[str, Any]) -> list[str] | None:
    """Return the places that an edit changes; None where all of the request may be other than it was."""
    patch = suggestion.get("patch")
    if not patch:
        return None
    return [op[name] for op in patch if op["op"] != "test" for name in ("path", "from") if name in op]
