"""The endpoint document of shields.io."""

from __future__ import annotations

import json
from typing import Final

from corrigible.conformance.suite.record import Record, Verdict

_COLOURS: Final = {Verdict.CONFORMS: "brightgreen", Verdict.DOES_NOT: "red", Verdict.COULD_NOT_TELL: "lightgrey"}


def render(record: Record) -> str:
    """Return the document."""
    head, foot = record.head, record.foot
    message = f"{head.level} {head.scope}"
    if foot.verdict is not Verdict.CONFORMS:
        message = foot.verdict.value
    badge = {"schemaVersion": 1, "label": head.contract, "message": message, "color": _COLOURS[foot.verdict]}
    return json.dumps(badge) + "\n"
