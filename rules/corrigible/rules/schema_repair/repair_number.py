"""Numbers and spans of time outside of their limits, and the nearest ones within."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Final

from corrigible.rules.safety.decisive import words
from corrigible.rules.safety.spelling import Spelling
from corrigible.schema.exchange import Json

from .json_schema import Schema, types
from .value_place import Place

_LARGEST: Final = 40
"""Digits before or after the point: a text of ten letters can spell a number that fills the memory."""

_UNLIMITED: Final = -1
"""As a bound it rather stands for "no limit" or "none" than for an amount. In a range of -1 to 1 it is a number."""

ONLY_ASKED: Final = "x-only-asked"
"""In a schema: nothing tells that a number within its limit is what is wished, if the one that was sent cannot be."""
_MEASURE: Final = re.compile(
    r"(?i)(?:^|[_.-])(?:percent(?:age)?|progress|rating|lat(?:itude)?|lon(?:gitude)?|hour|minute|second|month|year"
    r"|weekday|day_of_\w+|start|end|coefficient|factor|multiplier|probability)$"
    r"|(?<=[a-z])(?-i:Percent(?:age)?|Progress|Rating|Latitude|Longitude|Hour|Minute|Second|Month|Year|Weekday"
    r"|Day[oO]f\w+|Start|End|Coefficient|Factor|Multiplier|Probability)$"
)
"""Names of what is told as it is: 150 of 100 percent, a latitude of 95 degrees, the hour 25 or a factor of 0.5 is no
wish for the most or the least there is."""
_FACT: Final = re.compile(
    r"(?i)(?:^|[_.-])(?:age|pages|prices?|salary|wage|mileage|altitude|temperature|humidity|height|width|depth|weight)$"
    r"|(?<=[a-z])(?-i:Age|Pages|Prices?|Salary|Wage|Mileage|Altitude|Temperature|Humidity|Height|Width|Depth|Weight)$"
)
"""Names of what a thing has, whatever is wished: a book of 9000 pages is none of 5000. In a query they only look."""
_NAMING: Final = re.compile(
    r"(?i)(?:^|[_.-])(?:ports?|id|uid|gid|pid|asn|vlan|vni)$|(?<=[a-z])(?-i:Ports?|Id|ID|Uid|Gid|Pid|Asn|Vlan|Vni)$"
)
"""Names of numbers that name something: port 65534 is another one than port 70000, and no smaller wish."""

_POSITIONS: Final = frozenset({"page", "offset", "index", "start", "position"})
"""Names of where a listing begins: who counts from 0 means the first one. `per_page` is none of them."""
_NUMBERED: Final = frozenset({"no", "num", "number", "index"})

_SHARE: Final = re.compile(r"(?i)(?:^|[_.-])(?:ratio|rate|score|share)$|(?<=[a-z])(?-i:Ratio|Rate|Score|Share)$")
_WHOLE: Final = 100
"""What these names have for a maximum where they are percentages."""


def _is_measured(schema: Schema, place: Place) -> bool:
    """Whether no other number near this one would do.

    What lies outside of 0 to 1 is on another scale, as percents are.
    """
    most, least = _exact(schema.get("maximum")), _exact(schema.get("minimum", schema.get("exclusiveMinimum")))
    is_share = (_SHARE.search(place.name) is not None and most == _WHOLE) or (least == 0 and most == 1)
    is_fact = not place.reads and _FACT.search(place.name) is not None
    if ONLY_ASKED in schema or is_share or is_fact:
        return True
    return _MEASURE.search(place.name) is not None or _NAMING.search(place.name) is not None


def _exact(value: Json) -> Decimal | None:
    """Return a number, or the number a text spells, exactly; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        out = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return out if out.is_finite() and abs(out.adjusted()) <= _LARGEST else None


def raised(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    have = _exact(value)
    least = _limit(schema, "minimum", "exclusiveMinimum", ROUND_CEILING, 1)
    if have is None or least is None or _is_measured(schema, place):
        return []
    is_first = place.reads and _is_position(place.name)
    if have < 0 <= least or (have == 0 < least and not is_first):
        return []  # zero or less was requested: the least amount is not what that means, the first page may be
    return [_number(least, "the least that is allowed is sent")]


def _is_position(name: str) -> bool:
    """Whether a name is that of a place in a listing: `page`, `page[number]`, `startIndex`."""
    parts = list(words(name))
    if len(parts) > 1 and parts[-1] in _NUMBERED:
        parts.pop()
    return "per" not in parts and bool(parts) and parts[-1] in _POSITIONS


def lowered(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    have = _exact(value)
    most = _limit(schema, "maximum", "exclusiveMaximum", ROUND_FLOOR, -1)
    if have is None or most is None or (have > 0 >= most) or _is_measured(schema, place):
        return []
    return [_number(most, "the most that is allowed is sent")]


def _limit(schema: Schema, plain: str, strict: str, rounding: str, step: int) -> Decimal | None:
    """Return the outermost value within a bound.

    None where there is no such value (a number above 0), or where it has a meaning of its own.
    """
    whole = "integer" in types(schema) and "number" not in types(schema)
    bounds: list[Decimal] = []
    limit = _exact(schema.get(plain))
    if limit is not None:
        bounds.append(limit.to_integral_value(rounding) if whole else limit)
    beyond = _exact(schema.get(strict))
    if beyond is not None:
        if not whole:
            return None
        inside = beyond.to_integral_value(rounding)
        bounds.append(inside + step if inside == beyond else inside)
    multiple = _exact(schema.get("multipleOf"))
    if not bounds:
        return None
    outermost = max(bounds) if step > 0 else min(bounds)
    if multiple is not None and multiple > 0:
        outermost = (outermost / multiple).to_integral_value(rounding) * multiple
    is_measured = _exact(schema.get("maximum")) == -_UNLIMITED
    return None if outermost == _UNLIMITED and not is_measured else outermost


def rounded(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    have, step = _exact(value), _exact(schema.get("multipleOf"))
    if have is None or step is None or step <= 0:
        return []
    near = (have / step).to_integral_value(ROUND_HALF_UP) * step
    if near in (0, _UNLIMITED) and have != near:
        return []
    return [_number(near, "the nearest multiple is sent")]


def _number(number: Decimal, assumes: str) -> Spelling:
    whole = number == number.to_integral_value()
    return Spelling(int(number) if whole else float(number), assumes)


def longest_span(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    """Return the limit of a span of time, which is no number in JSON."""
    return [Spelling(schema["formatMaximum"], "the most that is allowed is sent")]


def shortest_span(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    return [Spelling(schema["formatMinimum"], "the least that is allowed is sent")]
