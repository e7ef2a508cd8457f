"""Repairs of a value that breaks one constraint: the same value in another spelling, or the nearest allowed one.

A repair that changes the meaning says what it assumes. Values that only the caller knows are not repaired.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation
from typing import Final

import re2

from corrigible.rules.budget import spend
from corrigible.rules.pattern import compiled
from corrigible.rules.safety import spelling
from corrigible.rules.safety.decisive import words
from corrigible.rules.safety.equivalence import written_otherwise
from corrigible.rules.safety.nearness import all_near, is_relisted, letters, signs, spelled, split_words
from corrigible.rules.safety.spelling import Spelling, as_is_taken
from corrigible.rules.safety.written_moment import GO_DURATION, counts_seconds, go_duration, rewritten, span
from corrigible.schema.document import scalar_text
from corrigible.schema.edit import same_json
from corrigible.schema.exchange import Json

from .first_violation import first_violation, is_fully_checked
from .json_schema import Schema, choices, members, types
from .schema_violation import Place, is_called
from .suggestion import is_rounded

PREFIX: Final = "x-prefix"
"""In a schema of a closed list: what all its values begin with, and people leave out."""
SHAPED: Final = "x-shaped"
"""In a schema of a text: its examples show that it is no number as text: `0 5 * * *`, `a@example.com`, `10:30`."""
LOCAL: Final = "x-local-time"
"""In a schema of a time: its description wants it without an offset."""
ONLY_TOLD: Final = "x-only-told"
"""In a schema: nothing but the text of an answer says so, or the description says otherwise."""
ONLY_ASKED: Final = "x-only-asked"
"""In a schema: nothing tells that a number within its limit is what is wished, if the one that was sent cannot be."""

ANOTHER: Final = "it becomes another name than was asked for"
OF_A_KIND: Final = "the beginning of names of this kind is put before it"
AS_ONE: Final = "it is sent as one element"
"""Assumptions that whoever calls has to share."""

_LIMITS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
"""What sends another number, whatever was sent."""
_LONGEST: Final = 8192
_MOST_ELEMENTS: Final = 256
_A_REPAIR: Final = 10


def repair_value(keyword: str, value: Json, schema: Schema, place: Place) -> list[Spelling]:
    """Return the values to send instead: one repair, several to choose from, or none.

    Every value returned fits the schema as far as it is known here.
    """
    if isinstance(value, str) and len(value) > _LONGEST and keyword != "maxLength":
        return []  # it could not be repeated
    if isinstance(value, list | dict) and len(value) > _MOST_ELEMENTS:
        return []
    if keyword not in _LIMITS and is_rounded(value):
        return []
    spend(_A_REPAIR)
    if keyword == "format" and LOCAL in schema:
        return []  # with an offset it would be another time
    way = _REPAIRS.get(keyword)
    made = [] if way is None else way(value, schema, place)
    out: dict[tuple[type, str], Spelling] = {}
    for one in made:
        if not same_json(one.value, value) and first_violation(one.value, schema, text=place.text) is None:
            out.setdefault((type(one.value), repr(one.value)), one)
    return list(out.values())


def _assuming(spelled: Spelling, first: str) -> Spelling:
    return Spelling(spelled.value, _and(first, spelled.assumption))


def _and(first: str, other: str) -> str:
    return "; ".join(dict.fromkeys(part for part in (first, other) if part))


# Closed lists


_MOST_VALUES: Final = 5000
"""Of a closed list that is searched for near values: each costs time, and nobody is offered thousands."""
_TRUTHS: Final = frozenset({"true", "false"})
"""A closed list of texts that are truth values: `yes` is read as one of them, as it is where they are no texts."""
_SHORTEST_END: Final = 3
"""Letters of a value at the end of a text that are not there by chance."""
_LIST_SEPARATOR: Final = re.compile(r"[,;|]")
_ONLY: Final = "another value was asked for, this is the one there is"


def _chosen(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    listed = [choice for choice in choices(schema) if choice is not None]
    if isinstance(value, dict) or value is None or len(listed) > _MOST_VALUES or _is_unknown_text(value, place):
        return []
    if isinstance(value, list):
        return [Spelling(value[0])] if len(value) == 1 and not isinstance(value[0], list | dict) else []
    text = scalar_text(value).strip()
    scalars = {scalar_text(one): one for one in listed if not isinstance(one, list | dict)}
    if (exact := _same_choice(value, text, schema, scalars)) is not None:
        return [Spelling(exact)]
    only = [Spelling(schema["const"], _ONLY)] if "const" in schema else []
    if not isinstance(value, str):
        return [] if isinstance(value, bool) else only
    if otherwise := written_otherwise(text, [name for name, one in scalars.items() if isinstance(one, str)]):
        return [Spelling(scalars[otherwise])]
    if not scalars.keys().isdisjoint(part.strip() for part in _LIST_SEPARATOR.split(text)):
        return []  # a list of several: one of them is not what was asked for
    similar = [name for name in all_near(text, list(scalars)) if signs(name) == signs(text)]
    return [Spelling(scalars[name]) for name in _with_second(text, similar, scalars)] or only


def _same_choice(value: Json, text: str, schema: Schema, scalars: Mapping[str, Json]) -> Json:
    """Return the value of a closed list that is the one that was sent, but for its writing; None where none is."""
    if text in scalars:
        return scalars[text]
    if {name.casefold() for name in scalars} == _TRUTHS and (is_true := spelling.truth(value)) is not None:
        return next(one for name, one in scalars.items() if (name.casefold() == "true") is is_true)
    plain = spelled(text)
    begins = spelled(str(schema.get(PREFIX, "")) or _common_beginning(list(scalars)))
    ends = spelled(_common_beginning([name[::-1] for name in scalars], " _-.")[::-1])
    matches = [one for name, one in scalars.items() if plain and spelled(name) in (plain, begins + plain, plain + ends)]
    matches = matches or [one for name, one in scalars.items() if is_relisted(text, name)]
    return matches[0] if len(matches) == 1 else None


def _common_beginning(names: Sequence[str], marks: str = "_-.:/") -> str:
    """Return the word that all names of a list begin with, separator included: `KIND_` of KIND_A and KIND_B."""
    if len(names) < 2:
        return ""
    first, last = min(names), max(names)
    length = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), 0)
    return first[: max(first.rfind(mark, 0, length) for mark in marks) + 1]


def _with_second(text: str, near: list[str], names: Iterable[str]) -> list[str]:
    """Add the values that may be meant as well, where one is near.

    The text goes on with one, or ends with it: `weekday` is no week, `squash_merge` may be either, and `isactive` is
    `active` as much as `inactive`. Or one has the word as it was sent: `choice` may be `choices` or `multiple_choice`.
    """
    if len(near) != 1:
        return near
    sent, one = letters(text), letters(near[0])
    rest = sent[len(one) :] if sent.startswith(one) else ""
    others = [name for name in names if name != near[0]]
    ends = {name for name in others if len(letters(name)) >= _SHORTEST_END and sent.endswith(letters(name))}
    return near + [
        name for name in others if name in ends or (rest and letters(name) == rest) or sent in split_words(name)
    ]


# Types


_MOST_CHOICES: Final = 3
_ID_OF_OBJECT: Final = "the id of the object is sent in its place"
_MONEY: Final = re.compile(r"(?i)amount|price|cost|fee|total|balance|tax|cents|sum|value")
_NAMED_JSON: Final = re.compile(r"(?:^|[_.-])(?:json|JSON)(?:$|[_.-]|[A-Z])|^json[A-Z]|[a-z]J(?:son|SON)(?:$|[A-Z])")
"""A name that says that the text there holds JSON: `extra_json`, `jsonPayload`."""
_PAIRS: Final = ({"name", "value"}, {"key", "value"})
"""Members of the elements of a list that stands for a map: the map has one member for each, and neither name."""


def _cast(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    """Return the value in another type, where nothing is lost."""
    kinds: Schema = {"type": [*types(schema)]}
    for kind, way in _CASTS.items():
        if kind in types(schema):
            out = [one for one in way(value, schema, place) if not first_violation(one.value, kinds, text=place.text)]
            if out:
                return out
    return []


def _to_integer(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    if isinstance(value, str) and re.fullmatch(r"\s*#\s*\d{1,18}\s*", value):
        value = value.strip().lstrip("#")  # "#12": the mark precedes a number
    if isinstance(value, Mapping) and type(value.get("id")) is int and value.keys() <= {"id", "name", "type", "href"}:
        return [Spelling(value["id"], _ID_OF_OBJECT)]
    if counts_seconds(place.name, schema) and (length := span(value)) is not None:
        return [Spelling(length)]
    moment = spelling.as_unix(value) if schema.get("format") == "unix-time" else []
    if not moment and isinstance(value, str) and "." in value and _MONEY.search(place.name):
        return []  # "10.00" may be ten cents or ten dollars
    return moment or _scalar(value, spelling.integer)


def _to_string(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    form = schema.get("format")
    if isinstance(form, str) and not isinstance(value, list | dict) and (respelt := spelling.respelled(value, form)):
        return respelt
    is_json = schema.get("contentMediaType") == "application/json" or _NAMED_JSON.search(place.name) is not None
    if isinstance(value, list | dict) and not place.text and is_json:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return [Spelling(text)] if len(text) <= _LONGEST else []
    if isinstance(value, Mapping) and not is_called(place.name, "content"):
        named = [one for name, one in value.items() if len(value) == 1 and is_called(name, "naming")]
        if isinstance(inner := value.get("id", *named[:1]), str):
            return [Spelling(inner, _ID_OF_OBJECT)]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    has_unit = is_number and is_called(place.name, "with_units")  # which one?
    if (is_number and schema.get(SHAPED)) or has_unit or _is_unknown_text(value, place):
        return []
    return _scalar(value, _as_text)


def _is_unknown_text(value: Json, place: Place) -> bool:
    """Whether a number, or one in a list, was sent as a text that is not known: `1.10` is read as 1.1."""
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, float) and (not place.exact or "e" in repr(item)) for item in items)


def _as_text(value: Json) -> str | None:
    return None if value is None or isinstance(value, list | dict) else scalar_text(value)


def _scalar(value: Json, cast: Callable[[Json], Json]) -> list[Spelling]:
    """Cast a scalar, the only element of a list, or offer the elements of a short list."""
    if isinstance(value, list):
        inner = [cast(item) for item in value] if len(value) <= _MOST_CHOICES else [None]
        assumes = "" if len(value) == 1 else "one of the values is sent"
        return [] if None in inner else [Spelling(item, assumes) for item in inner]
    converted = cast(value)
    return [] if converted is None else [Spelling(converted)]


def _to_array(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    if value is None or not place.wraps:
        return []
    if isinstance(value, int | float) and "string" in types(schema) and "items" not in schema:
        return []  # the text of a number is nearer to it than a list
    if (parsed := spelling.document(value, list)) is not None:
        return [Spelling(parsed)]
    if isinstance(value, Mapping):
        keys = list(value)
        if keys and keys == [str(index) for index in range(len(keys))]:
            return [Spelling(list(value.values()))]
        if place.whole and len(keys) == 1 and isinstance(only := value[keys[0]], list):
            return [Spelling(only)]  # `{"items": [1]}` for `[1]`
    readings = [[value]]
    if isinstance(value, str) and _LIST_SEPARATOR.search(value):
        readings.append([part.strip() for part in _LIST_SEPARATOR.split(value) if part.strip()])
    out = [one for items in readings for one in _items(items, schema, place)]
    if len(readings) == 1 and not isinstance(value, Mapping):
        is_word = not isinstance(value, str) or len(value.split()) == 1
        out = [one if is_word and same_json(one.value, [value]) else _assuming(one, AS_ONE) for one in out]
    return [one for one in out if first_violation(one.value, schema, text=place.text) is None] or out


def _items(items: list[Json], schema: Schema, place: Place) -> list[Spelling]:
    """Return the list with each of its elements mended, if each can be in one way."""
    inner = schema.get("items")
    if not isinstance(inner, Mapping):
        return [Spelling(items)]
    out, assumes = [], ""
    for item in items:
        keyword = first_violation(item, inner, text=place.text)
        ways = [Spelling(item)] if keyword is None else repair_value(keyword, item, inner, place)
        if len(ways) != 1:
            return []
        out.append(ways[0].value)
        assumes = _and(assumes, ways[0].assumption)
    return [Spelling(out, assumes)]


def _to_object(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    if (parsed := spelling.document(value, dict)) is not None:
        return [Spelling(parsed)]
    is_one = isinstance(value, list) and len(value) == 1 and isinstance(value[0], Mapping)
    is_it = is_one and first_violation(value[0], schema) is None
    if isinstance(value, list) and not place.text and not is_it and (name := _only_list(value, schema, place)):
        return [Spelling({name: value})]
    is_pair = is_one and not members(schema) and {*value[0]} in _PAIRS
    return [Spelling(value[0])] if is_one and not is_pair else []


def _only_list(value: list[Json], schema: Schema, place: Place) -> str:
    """Return the only member of an object that is a list, if that takes the list and nothing else is required.

    One that is not required has to be in the body itself, and to be its only member or to say what its elements are.
    """
    declared, required = members(schema), [*(schema.get("required") or ())]
    lists = [name for name, one in declared.items() if types(one) == ("array",) and not one.get("readOnly")]
    if len(lists) != 1 or first_violation(value, declared[lists[0]]) is not None:
        return ""
    items = declared[lists[0]].get("items")
    is_said = len(declared) == 1 or (isinstance(items, Mapping) and bool(types(items)) and bool(value))
    return lists[0] if required == lists or (not required and place.whole and is_said) else ""


_Repair = Callable[[Json, Schema, Place], list[Spelling]]
_CASTS: Final[Mapping[str, _Repair]] = {
    "integer": _to_integer,
    "number": lambda value, schema, place: _scalar(value, spelling.number),
    "boolean": lambda value, schema, place: _scalar(value, spelling.truth),
    "array": _to_array,
    "object": _to_object,
    "string": _to_string,
}
"""In the order in which a value is tried."""


# Numbers


_LARGEST: Final = 40
"""Digits before or after the point: a text of ten letters can spell a number that fills the memory."""
_UNLIMITED: Final = -1
"""As a bound it rather stands for "no limit" or "none" than for an amount. In a range of -1 to 1 it is a number."""
_WHOLE: Final = 100
"""What these names have for a maximum where they are percentages."""
_LEAST: Final = "the least that is allowed is sent"
_MOST: Final = "the most that is allowed is sent"


def _is_measured(schema: Schema, place: Place) -> bool:
    """Whether no other number near this one would do.

    What lies outside of 0 to 1 is on another scale, as percents are.
    """
    name = place.name
    most, least = _exact(schema.get("maximum")), _exact(schema.get("minimum", schema.get("exclusiveMinimum")))
    is_share = (is_called(name, "shares") and most == _WHOLE) or (least == 0 and most == 1)
    is_fact = is_called(name, "facts") and not place.reads
    is_told = is_called(name, "measures", "numbering") or "day of" in " ".join(words(name))
    return ONLY_ASKED in schema or is_share or is_fact or is_told


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
    have, least = _exact(value), _bound(schema, "minimum", "exclusiveMinimum", ROUND_CEILING, 1)
    # Zero or less may have been requested: the least amount is not what that means.
    is_none = have is None or least is None or have < 0 <= least or have == 0 < least
    return [] if is_none or _is_measured(schema, place) else _number(least, _LEAST)


def lowered(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    have, most = _exact(value), _bound(schema, "maximum", "exclusiveMaximum", ROUND_FLOOR, -1)
    is_none = have is None or most is None or have > 0 >= most
    return [] if is_none or _is_measured(schema, place) else _number(most, _MOST)


def _bound(schema: Schema, plain: str, strict: str, rounding: str, step: int) -> Decimal | None:
    """Return the outermost value within a bound.

    None where there is no such value (a number above 0), or where it has a meaning of its own.
    """
    is_whole = "integer" in types(schema) and "number" not in types(schema)
    limit, beyond = _exact(schema.get(plain)), _exact(schema.get(strict))
    bounds = [] if limit is None else [limit.to_integral_value(rounding) if is_whole else limit]
    if beyond is not None:
        inside = beyond.to_integral_value(rounding)
        bounds.append(inside + step if inside == beyond else inside)
    if not bounds or (beyond is not None and not is_whole):
        return None
    outermost = max(bounds) if step > 0 else min(bounds)
    multiple = _exact(schema.get("multipleOf"))
    if multiple is not None and multiple > 0:
        outermost = (outermost / multiple).to_integral_value(rounding) * multiple
    is_measured = _exact(schema.get("maximum")) == -_UNLIMITED
    return None if outermost == _UNLIMITED and not is_measured else outermost


def _number(number: Decimal | None, assumes: str) -> list[Spelling]:
    if number is None:
        return []
    return [Spelling(int(number) if number == number.to_integral_value() else float(number), assumes)]


# Texts


_BEGINNING: Final = "the beginning that the pattern asks for is put before it"
_CASE: Final = "upper and lower case change"


def _shortened(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    """Return the text without blanks around it; cut only where it is an aside: what else can go, its writer knows."""
    most = schema.get("maxLength")
    if not isinstance(value, str) or not isinstance(most, int) or most < 1:
        return []
    trimmed = value.strip()
    if len(trimmed) <= most:
        return [Spelling(trimmed)]
    is_aside = is_called(place.name, "asides")
    if schema.get("format") or schema.get("pattern") or schema.get("minLength") == most or not is_aside:
        return []  # half an identifier is none, half a name or a message is another one, one length means a code
    return [Spelling(value[:most].rstrip(), "the text is cut to the length that is allowed")]


def _respelt(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    form = schema.get("format")
    return spelling.respelled(value, form) if isinstance(form, str) else []


def _patterned(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    """Return the first spelling, from the least change on, that is provably in the pattern.

    Where another name has to be made of words, the pattern says with what between them, or the caller does.
    """
    pattern = schema.get("pattern")
    if not isinstance(value, str) or not isinstance(pattern, str):
        return []
    if pattern == GO_DURATION:
        return [Spelling(length)] if (length := go_duration(value)) is not None else []
    shape = {"pattern": pattern}
    if not is_fully_checked(shape):
        return []
    if moment := _moment_in(value, pattern):
        return [Spelling(moment)]
    plain = value.strip()
    unmarked = plain.lstrip("#@$+").strip()
    dashed = re.sub(r"[\s_]+", "-", plain)
    led = re.match(r"\^((?:[A-Za-z0-9_-]|\\?/|:|\\[.-])+(?<=[/:._-]))(?=[.\[(\\]|$)", pattern)
    beginning = led[1].replace("\\", "") if led is not None else ""
    is_path = led is not None and beginning[-1] in "/:" and led[0] != pattern
    digits = re.sub(r"[\s-]", "", plain) if re.fullmatch(r"[\d\s-]+", plain) else plain
    taken = as_is_taken(plain, lambda text: first_violation(text, shape) is None)
    ways = [
        *((text, "") for text in (plain, unmarked, taken, digits)),
        *((text, _CASE) for text in (plain.lower(), plain.upper(), unmarked.lower(), unmarked.upper())),
        *((text, ANOTHER) for text in (dashed, dashed.lower(), dashed.replace("-", "_").lower())),
        (beginning + plain, _BEGINNING if is_path else OF_A_KIND),
    ]
    fitting = [Spelling(*way) for way in ways if way[0] not in ("", value) and first_violation(way[0], shape) is None]
    if not fitting or fitting[0].assumption != ANOTHER or not re.search(r"\s", plain):
        return fitting[:1]
    joined = re.sub(r"[\s_]+", "_", plain if fitting[0].value == dashed else plain.lower())
    return fitting[:1] + ([Spelling(joined, ANOTHER)] if first_violation(joined, shape) is None else [])


def _moment_in(value: str, pattern: str) -> str:
    """Return a date or a time in the writing that a pattern has for the whole of it; empty where that says less."""
    try:
        whole = compiled(f"^(?:{pattern})$")
    except re2.error:
        return ""
    shape = {"pattern": pattern}
    return rewritten(value, lambda text: whole.search(text) is not None and first_violation(text, shape) is None)


_REPAIRS: Final[Mapping[str, _Repair]] = {
    "enum": _chosen,
    "const": _chosen,
    "type": _cast,
    "minimum": raised,
    "exclusiveMinimum": raised,
    "maximum": lowered,
    "exclusiveMaximum": lowered,
    "formatMaximum": lambda value, schema, place: [Spelling(schema["formatMaximum"], _MOST)],
    "formatMinimum": lambda value, schema, place: [Spelling(schema["formatMinimum"], _LEAST)],
    "maxLength": _shortened,
    "format": _respelt,
    "pattern": _patterned,
}
