"""What hapi-swagger keeps of joi's rules beside a schema: `x-constraint` and `x-format`.

Knows: the two members, as hapi-swagger 17 writes them. Does not know: schemas around them, requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from corrigible.schema.exchange import Json

_BOUNDS: Final = {"greater": "exclusiveMinimum", "less": "exclusiveMaximum", "multiple": "multipleOf"}
_SIGNS: Final = {"positive": "exclusiveMinimum", "negative": "exclusiveMaximum"}
_FORMATS: Final = {"email": "email", "uri": "uri", "guid": "uuid", "hostname": "hostname"}
_HEX: Final = "^[0-9a-fA-F]+$"


def of_joi(node: Mapping[str, Json]) -> dict[str, Any]:
    """Return the keywords of JSON Schema for what joi demands of a number or a text; nothing of what has none."""
    out: dict[str, Any] = {}
    constraint, form = node.get("x-constraint"), node.get("x-format")
    if isinstance(constraint, Mapping):
        if constraint.get("sign") in _SIGNS:
            out[_SIGNS[constraint["sign"]]] = 0
        for name, keyword in _BOUNDS.items():
            bound = constraint.get(name)
            if isinstance(bound, int | float) and not isinstance(bound, bool) and (name != "multiple" or bound > 0):
                out[keyword] = bound
        length = constraint.get("length")
        if isinstance(length, int) and not isinstance(length, bool) and length >= 0 and node.get("type") == "string":
            out |= {"minLength": length, "maxLength": length}
    if isinstance(form, Mapping) and node.get("type") == "string":
        # An object has options: `relativeOnly` of a URI makes it another kind of text.
        for name, known in _FORMATS.items():
            if form.get(name) is True:
                out["format"] = known
        if form.get("isoDate"):
            out["anyOf"] = [{"format": "date-time"}, {"format": "date"}]
        is_hex = form.get("hex")
        if is_hex is True or (isinstance(is_hex, Mapping) and not is_hex.get("prefix")):
            out["pattern"] = _HEX
    return out
