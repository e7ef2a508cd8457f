"""Which element of an XML body a complaint is about: told with its place, for whoever writes the body.

Knows: errors, the elements that were sent. Does not know: descriptions, what the element may hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from corrigible.adapters.bodies.request_form import Element, is_xml, read_elements
from corrigible.rules.budget import spend
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import Repair, ask
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Protocol

from .api_profile import RefusalCase

_STATUSES: Final = frozenset({400, 422})
_NAME: Final = re.compile(r"[A-Za-z_][\w-]*")
_QUOTED: Final = re.compile(r"['\"`<{\[]([^'\"`<>{}\[\]]{1,80})['\"`>}\]]")
_OF_ELEMENT: Final = re.compile(r"(?i)\b(?:the )?(?:element|field|tag|node|property)\s+([A-Za-z_][\w.:/-]{0,80})")
_READ: Final = 1000
_LONGEST: Final = 120
_MOST_NAMES: Final = 16
"""Names in a text that elements are looked for by."""
_ELEMENTS_A_STEP: Final = 4


def repair_element(case: RefusalCase, error: Violation) -> Repair | None:
    """Return the question for an XML body with the element that an error names; None where it names none, or two."""
    request = case.request
    if case.exchange.status not in _STATUSES or request.protocol is not Protocol.HTTP:
        return None
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if error.pointer or not isinstance(request.body, str) or not is_xml(media):
        return None
    elements = read_elements(request.body)
    element = _named(error, elements) if isinstance(elements, list) else None
    if element is None:
        return None
    place = "/".join(element.path)
    message = f"Correct the element {place[:_LONGEST]}, at line {element.line} of the XML body."
    question = ask(SchemaViolation("/body", "element", {}, request.body), request, message, schema={"type": "string"})
    return Repair(tuple(question.suggestions), question.type, "The server does not take an element.", "VALUE_REFUSED")


def _named(error: Violation, elements: Sequence[Element]) -> Element | None:
    """Return the only element that an error names: by its place, in its text, by a value that the text quotes."""
    message = error.message[:_READ]
    quoted = frozenset(_QUOTED.findall(message))
    names = list(dict.fromkeys((*_OF_ELEMENT.findall(message), *_QUOTED.findall(message))))[:_MOST_NAMES]
    spend(len(elements) // _ELEMENTS_A_STEP)
    by_last_name: dict[str, list[Element]] = {}
    for one in elements:
        by_last_name.setdefault(one.path[-1].lower(), []).append(one)
    for fitting in (
        _fitting(error.param, by_last_name),
        [one for name in names for one in _fitting(name, by_last_name)],
        [one for one in elements if one.text in quoted],
    ):
        if fitting:
            return fitting[0] if len(set(fitting)) == 1 else None
    return None


def _fitting(name: str, by_last_name: Mapping[str, Sequence[Element]]) -> list[Element]:
    """Return the elements whose path ends in a name's parts, in any spelling of upper and lower case."""
    tail = tuple(part.lower() for part in _NAME.findall(name.rpartition(":")[2])) if " " not in name else ()
    ending = by_last_name.get(tail[-1], ()) if tail else ()
    spend(len(ending) // _ELEMENTS_A_STEP)
    return [one for one in ending if tuple(part.lower() for part in one.path[-len(tail) :]) == tail]
