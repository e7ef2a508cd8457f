"""What a corrector tells of an exchange for the access log, and how it comes back in the log of the gateway.

Knows: entries, JSON in one line. Does not know: who carries it. Of feedback only goes what the log and the terminal
show: verdict, actions and loop, never a value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import orjson

from corrigible.proxy.access_log.entry import Entry

_TOLD: Final = ("id", "outcome", "operation", "rules", "reason", "error", "lookups", "correction", "code", "failure")
_LONGEST: Final = 1000
"""Characters of a text."""
_ENCODER: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))


def told(entry: Entry) -> str:
    """Return what only the corrector knows of an exchange, in ASCII and one line."""
    document: dict[str, Any] = {name: value for name in _TOLD if (value := getattr(entry, name)) not in (None, (), 0)}
    for name, value in document.items():
        if isinstance(value, str):
            document[name] = value[:_LONGEST]
    if entry.feedback is not None:
        document["feedback"] = _told_of(entry.feedback)
    try:
        text = orjson.dumps(document)
    except orjson.JSONEncodeError:  # a surrogate, or a number that is too large
        text = b"\xff"
    # What is ASCII already takes an eighth of the time.
    return text.decode() if text.isascii() else _ENCODER.encode(document)


def with_told(entry: Entry, text: str) -> Entry:
    """Return the entry with what a corrector told. Raises ValueError if that is not readable."""
    document = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError("not an object")
    known = {name: document[name] for name in (*_TOLD, "feedback") if name in document}
    if "rules" in known:
        known["rules"] = tuple(known["rules"])
    return replace(entry, **known)


def _told_of(feedback: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: feedback[name] for name in ("type", "recovery", "loop", "retry") if name in feedback}
    kept["suggestions"] = [
        {
            "action": one.get("action"),
            **({"placeholders": True} if one.get("placeholders") else {}),
            **({"safety": safety} if (safety := _flags(one.get("safety") or {})) else {}),
        }
        for one in feedback.get("suggestions") or ()
    ]
    return kept


def _flags(safety: Mapping[str, Any]) -> dict[str, bool]:
    return {name: True for name in ("changes_intent", "requires_confirmation") if safety.get(name)}
