"""The endpoint document of shields.io."""

from __future__ import annotations

import json
from typing import Final

from corrigible.conformance.suite.record import Record, Verdict, level_text

_COLOURS: Final = {Verdict.CONFORMS: "brightgreen", Verdict.DOES_NOT: "red"}


def render(record: Record) -> str:
    """Return the document."""
    head, foot = record.head, record.foot
    message = f"{level_text(head, record.entries)} {head.scope}"
    if foot.verdict is Verdict.DOES_NOT:
        message = foot.verdict.value
    badge = {
        "schemaVersion": 1,
        "label": head.contract,
        "message": message,
        "color": _COLOURS.get(foot.verdict, "lightgrey"),
    }
    return json.dumps(badge) + "\n"
