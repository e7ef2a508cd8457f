"""The empty body, or the only empty object, list or text in it, that a refusal wants something in.

| sent            | refused as                         | asked for at |
|-----------------|------------------------------------|--------------|
| `{}`            | `No fields to update`              | `/body`      |
| `[]`            | `load_tasks: No tasks added`       | `/body`      |
| `{"data": {}}`  | `No data to update`                | `/body/data` |

Where the description requires a member, or elements, that is asked for before.

Knows: a refusal. Does not know: look-ups, rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from corrigible.adapters.base import Described
from corrigible.adapters.formats.message.complaint import speaks_of_state
from corrigible.rules.pointer import escape
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json

from .api_profile import RefusalCase

_READ: Final = 300
_STATUSES: Final = frozenset({400, 422})
_WANTS: Final = re.compile(
    r"(?i)\bno (?!such\b|longer\b|permission|access|rights?\b|such )[a-z]|\bnothing\b|\bat least (?:one|1|an?)\b"
    r"|\bempty\b|\bblank\b|\bone or more\b|\b(?:must|please) (?:specify|provide|give|supply|include|set|send|contain)\b"
    r"|\bany (?:fields?|changes?|data|propert\w+|attributes?|values?)\b"
)
"""Words of complaints that something is to be there."""
_OF_OTHERS: Final = re.compile(
    r"(?i)\b(?:credential\w*|token|auth\w*|headers?|log ?in|permi\w+|denied|forbidden|quer(?:y|ies)|parameters?"
    r"|routes?|paths?|handlers?|methods?|found|exists?|available|response|connection|space|memory)\b"
)
"""Words of complaints that no body answers."""


def nothing_sent(case: RefusalCase, error: Violation, description: Described) -> SchemaViolation | None:
    """Return the place of what was sent empty; None where that is nothing or several, or is not what is meant."""
    request, operation, message = case.request, case.match.operation, error.message[:_READ]
    if case.exchange.status not in _STATUSES or error.pointer not in ("", "/body") or not operation:
        return None
    if len(case.errors) > 1 or _WANTS.search(message) is None or _OF_OTHERS.search(message) is not None:
        return None
    places = list(_empty("/body", request.body)) if isinstance(request.body, Mapping | list) else []
    if len(places) != 1 or speaks_of_state(message):
        return None
    ((place, value),) = places
    declared = description.declared_place(request, operation, place).schema
    return SchemaViolation(place, "value", declared, value)


def _empty(place: str, value: Json) -> Iterator[tuple[str, Json]]:
    """Yield the objects, lists and texts without anything in them."""
    if value in ({}, [], ""):
        yield place, value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from _empty(f"{place}/{escape(str(name))}", one)
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from _empty(f"{place}/{index}", one)
