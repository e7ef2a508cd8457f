"""The short form of feedback, for callers who pay for each token: only what the next request needs.

Knows: members of feedback, and which of them a reader must see before it sends anything. Does not know: how callers
ask for the short form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson

from corrigible.schema.exchange import Json

from .decision import Annotate

_OF_FEEDBACK: Final = ("type", "message", "recovery", "retry")
_OF_SUGGESTION: Final = ("action", "base_action", "patch", "steps", "applicability", "placeholders", "group")
_WARNINGS: Final = ("changes_intent", "requires_confirmation", "loses")
"""What a caller must know before it sends a request."""


def compact(decision: Annotate) -> Annotate:
    """Return the decision with short feedback, without diagnoses: they repeat the native error."""
    feedback = orjson.loads(decision.encoded)
    short = {name: feedback[name] for name in _OF_FEEDBACK if name in feedback}
    short["suggestions"] = [_suggestion(suggestion) for suggestion in feedback["suggestions"]]
    return decision._replace(feedback=short, encoded=orjson.dumps(short), diagnoses=())


def _suggestion(whole: Mapping[str, Json]) -> dict[str, Json]:
    short = {name: whole[name] for name in _OF_SUGGESTION if whole.get(name)}
    # A patch holds what the parameters hold. The contract (SPEC.md 1.2) wants the object all the same.
    short["parameters"] = {} if "patch" in short else whole["parameters"]
    safety = {name: value for name, value in whole.get("safety", {}).items() if name in _WARNINGS and value}
    if safety:
        short["safety"] = safety
    if "message" in whole and (safety or "patch" not in short):  # what a person is asked, or the only help
        short["message"] = whole["message"]
    if short.get("applicability") == "MACHINE_APPLICABLE":  # a claim that needs its proof
        short |= {name: whole[name] for name in ("verification", "confidence") if name in whole}
    return short
