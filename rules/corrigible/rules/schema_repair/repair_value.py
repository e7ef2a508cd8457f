"""Repairs of a value that breaks one constraint: the same value in another spelling, or the nearest allowed one.

A repair that changes the meaning says what it assumes. Values that only the caller knows are not repaired.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from corrigible.rules.budget import spend
from corrigible.rules.safety import spelling
from corrigible.rules.safety.decisive import word_set, words
from corrigible.rules.safety.equivalence import written_otherwise
from corrigible.rules.safety.nearness import all_near, is_relisted, signs, spelled
from corrigible.rules.safety.nearness import letters as _letters
from corrigible.rules.safety.spelling import Spelling
from corrigible.rules.safety.time_span import counts_seconds, span
from corrigible.schema.cache import cached
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json

from . import repair_number, repair_pattern
from .first_violation import first_violation, same
from .json_schema import SHAPED, Schema, choices, types
from .local_time import local_times
from .rewriting import is_rounded
from .told_in_prose import number_meant
from .told_spelling import SPELLING
from .value_place import Place


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
    if keyword == "format" and (local := local_times(value, schema)) is not None:
        return local
    return _settled(_first(keyword, value, schema, place), schema, place, _STEPS)


_LIMITS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
"""What sends another number, whatever was sent."""
_LONGEST: Final = 8192
_MOST_ELEMENTS: Final = 256
_A_REPAIR: Final = 10
_STEPS = 3


def _first(keyword: str, value: Json, schema: Schema, place: Place) -> list[Spelling]:
    way = _REPAIRS.get(keyword)
    return [] if way is None else way(value, schema, place)


def _settled(options: list[Spelling], schema: Schema, place: Place, steps: int) -> list[Spelling]:
    """Mend what a first repair left, such as a number that is a number now and still too large."""
    out: list[Spelling] = []
    for option in options:
        keyword = first_violation(option.value, schema, text=place.text)
        if keyword is None:
            settled = [option]
        elif steps == 0:
            continue
        else:
            further = _first(keyword, option.value, schema, place)
            joined = [Spelling(f.value, _and(option.assumption, f.assumption)) for f in further]
            settled = _settled(joined, schema, place, steps - 1)
        out += [spelling for spelling in settled if not any(_identical(spelling.value, other.value) for other in out)]
    return out


def _identical(first: Json, other: Json) -> bool:
    return type(first) is type(other) and bool(first == other)


def _and(first: str, other: str) -> str:
    return "; ".join(dict.fromkeys(part for part in (first, other) if part))


# Closed lists


PREFIX = "x-prefix"
"""In a schema of a closed list: what all its values begin with, and people leave out."""


_MOST_VALUES: Final = 5000
"""Of a closed list that is searched for near values: each costs time, and nobody is offered thousands."""


def _chosen(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    if (
        isinstance(value, dict)
        or value is None
        or len(choices(schema)) > _MOST_VALUES
        or _is_unknown_text(value, place)
    ):
        return []
    listed = [choice for choice in choices(schema) if choice is not None]
    if isinstance(value, list):
        return [Spelling(value[0])] if len(value) == 1 and not isinstance(value[0], list | dict) else []
    text = scalar_text(value).strip()
    scalars = {scalar_text(value): value for value in listed if not isinstance(value, list | dict)}
    if text in scalars:
        return [Spelling(scalars[text])]
    if {name.casefold() for name in scalars} == _TRUTHS and (is_true := spelling.truth(value)) is not None:
        return [Spelling(one) for name, one in scalars.items() if (name.casefold() == "true") is is_true]
    plain = spelled(text)
    begins = spelled(str(schema.get(PREFIX, "")) or _common_beginning(list(scalars)))
    ends = spelled(_common_beginning([name[::-1] for name in scalars], " _-.")[::-1])
    meant = (plain, begins + plain, plain + ends)
    matches = [value for name, value in scalars.items() if plain and spelled(name) in meant]
    matches = matches or [value for name, value in scalars.items() if is_relisted(text, name)]
    if len(matches) == 1:
        return [Spelling(matches[0])]
    if not isinstance(value, str):
        only = [] if isinstance(value, bool) or "const" not in schema else [schema["const"]]
        return [Spelling(value, _ONLY) for value in only]
    if otherwise := written_otherwise(text, [name for name, one in scalars.items() if isinstance(one, str)]):
        return [Spelling(scalars[otherwise])]
    if not scalars.keys().isdisjoint(part.strip() for part in _LIST_SEPARATOR.split(text)):
        return []  # a list of several: one of them is not what was asked for
    initials = _initials(text)
    similar = [name for name in all_near(text, list(scalars)) if signs(name) == signs(text)]
    if not any(initials <= _initials(name) or name[:1].casefold() == text[:1].casefold() for name in similar):
        similar = []
    near = [Spelling(scalars[name]) for name in _with_second(text, similar, scalars)]
    if not near and "const" in schema:
        return [Spelling(schema["const"], _ONLY)]
    return near


def _common_beginning(names: Sequence[str], marks: str = "_-.:/") -> str:
    """Return the word that all names of a list begin with, separator included: `KIND_` of KIND_A and KIND_B."""
    if len(names) < 2:
        return ""
    first, last = min(names), max(names)
    length = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), 0)
    return first[: max(first.rfind(mark, 0, length) for mark in marks) + 1]


def _with_second(text: str, near: list[str], names: Iterable[str]) -> list[str]:
    """Add the value that the text goes on with: `weekday` is no week, and `squash_merge` may be either."""
    if len(near) != 1 or not _letters(text).startswith(_letters(near[0])):
        return near
    rest = _letters(text)[len(_letters(near[0])) :]
    return near + [name for name in names if rest and _letters(name) == rest]


_TRUTHS: Final = frozenset({"true", "false"})
"""A closed list of texts that are truth values: `yes` is read as one of them, as it is where they are no texts."""
_LIST_SEPARATOR: Final = re.compile(r"[,;|]")

_ONLY = "another value was asked for, this is the one there is"


@cached(1024)
def _initials(text: str) -> frozenset[str]:
    """Return the first letters of a text's words: nothing is near that begins with another."""
    return frozenset(word[0] for word in re.split(r"[\s_-]+", text.casefold()) if word)


# Types


def _cast(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    """Return the value in another type, where nothing is lost."""
    allowed = types(schema)
    out: list[Spelling] = []
    for kind in _ORDER:
        if kind in allowed:
            out += [
                spelling
                for spelling in _CASTS[kind](value, schema, place)
                if _fits_somehow(spelling.value, schema, place)
            ]
            if out:
                break
    return out


def _fits_somehow(value: Json, schema: Schema, place: Place) -> bool:
    return first_violation(value, {"type": schema["type"]}, text=place.text) is None


def _to_integer(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    if isinstance(value, str) and re.fullmatch(r"\s*#\s*\d{1,18}\s*", value):
        value = value.strip().lstrip("#")  # "#12": the mark precedes a number
    if isinstance(value, str) and (meant := number_meant(value, schema)) is not None:
        return [Spelling(meant)]
    if isinstance(value, Mapping) and type(value.get("id")) is int and value.keys() <= {"id", "name", "type", "href"}:
        return [Spelling(value["id"], _ID_OF_OBJECT)]
    if counts_seconds(place.name, schema) and (length := span(value)) is not None:
        return [Spelling(length)]
    moment = spelling.as_unix(value) if schema.get("format") == "unix-time" else []
    if not moment and isinstance(value, str) and "." in value and _MONEY.search(place.name):
        return []  # "10.00" may be ten cents or ten dollars
    return moment or _scalar(value, schema, place, spelling.integer)


_ID_OF_OBJECT: Final = "the id of the object is sent in its place"


_MONEY = re.compile(r"(?i)amount|price|cost|fee|total|balance|tax|cents|sum|value")


def _to_number(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    return _scalar(value, schema, place, spelling.number)


def _to_boolean(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    return _scalar(value, schema, place, spelling.truth)


def _to_string(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    form = schema.get("format")
    if isinstance(form, str) and not isinstance(value, list | dict) and (respelt := spelling.respelled(value, form)):
        return respelt
    if isinstance(value, list | dict) and not place.text and _holds_json(schema, place):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return [Spelling(text)] if len(text) <= _LONGEST else []
    is_content = not _CONTENT.isdisjoint(words(place.name)[-1:])
    if isinstance(value, Mapping) and isinstance(value.get("id"), str) and not is_content:
        return [Spelling(value["id"], _ID_OF_OBJECT)]
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, inner),) = value.items()
        is_wrapper = not _NAMING.isdisjoint(words(str(name))[-1:]) and not is_content
        if isinstance(inner, str) and (is_wrapper or _is_called_like(str(name), place.name)):
            return [Spelling(inner, "the only value of the object is sent in its place")]
    if (isinstance(value, int | float) and schema.get(SHAPED)) or _is_unknown_text(value, place):
        return []
    return _scalar(value, schema, place, _as_text)


def _holds_json(schema: Schema, place: Place) -> bool:
    """Whether the text at a place is JSON by its name or its description."""
    told = schema.get("description")
    if schema.get("contentMediaType") == "application/json" or _NAMED_JSON.search(place.name) is not None:
        return True
    return isinstance(told, str) and _TOLD_JSON.search(told[:_READ]) is not None


def _is_called_like(member: str, name: str) -> bool:
    """Whether the name of a member says no more than that of the place of its object: `key` in `api_key`."""
    return bool(member) and (words(member) == words(name)[-1:] or _letters(member) == _letters(name))


_NAMING: Final = frozenset({"id", "name", "slug", "uuid", "value"})
"""Last words of names under which some APIs wrap the text that others take as it is."""
_CONTENT: Final = frozenset(
    {"blob", "content", "data", "payload", "body", "secret", "raw", "document", "text", "value"}
)
"""Last words of names of texts that may hold anything: an object there may be what the text has to spell."""
_READ: Final = 500
_TOLD_JSON: Final = re.compile(
    r"(?i)\bJSON[ -]?(?:encoded|serialized|stringified|formatted|string|blob)\b"
    r"|\b(?:serialized|encoded|stringified|formatted|represented) (?:as |in |to )?(?:an? )?JSON\b|\bas JSON\b"
)
_NAMED_JSON = re.compile(r"(?:^|[_.-])(?:json|JSON)(?:$|[_.-]|[A-Z])|^json[A-Z]|[a-z]J(?:son|SON)(?:$|[A-Z])")
"""A name that says that the text there holds JSON: `extra_json`, `jsonPayload`."""


def _is_unknown_text(value: Json, place: Place) -> bool:
    """Whether a number, or one in a list, was sent as a text that is not known: `1.10` is read as 1.1."""
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, float) and (not place.exact or "e" in repr(item)) for item in items)


def _as_text(value: Json) -> str | None:
    return None if value is None or isinstance(value, list | dict) else scalar_text(value)


def _scalar(value: Json, schema: Schema, place: Place, cast: Callable[[Json], Json]) -> list[Spelling]:
    """Cast a scalar, the only element of a list, or offer the elements of a short list."""
    if isinstance(value, list):
        inner = [cast(item) for item in value]
        assumes = "" if len(value) == 1 else "one of the values is sent"
        return [Spelling(item, assumes) for item in inner] if len(value) <= _MOST_CHOICES and None not in inner else []
    converted = cast(value)
    return [] if converted is None else [Spelling(converted)]


_MOST_CHOICES = 3


def _to_array(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    if value is None or not place.wraps:
        return []
    if (parsed := spelling.document(value, list)) is not None:
        return [Spelling(parsed)]
    if isinstance(value, Mapping):
        keys = list(value)
        if keys and keys == [str(index) for index in range(len(keys))]:
            return [Spelling(list(value.values()))]
        if place.whole and len(keys) == 1 and isinstance(only := value[keys[0]], list):
            return [Spelling(only)]  # `{"items": [1]}` for `[1]`
    readings = [[value]]
    if isinstance(value, str) and "," in value:
        readings.append([part.strip() for part in value.split(",") if part.strip()])
    out = [spelling for items in readings for spelling in _items(items, schema, place)]
    whole = [spelling for spelling in out if first_violation(spelling.value, schema, text=place.text) is None]
    return whole or out


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
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], Mapping):
        named = "" if place.text or first_violation(value[0], schema) is None else _only_list(value, schema, place)
        return [Spelling({named: value} if named else value[0])]
    if place.wraps and not place.text and (named := _only_text(schema)) and isinstance(value, str) and value.strip():
        return [Spelling({named: value})]
    if place.wraps and not place.text and _has_optional_name(schema) and isinstance(value, str) and value.strip():
        return [Spelling({"name": value}, NAMED_ONLY)]
    if isinstance(value, list) and not place.text and (named := _only_list(value, schema, place)):
        return [Spelling({named: value})]
    return []


def _only_list(value: list[Json], schema: Schema, place: Place) -> str:
    """Return the only member of an object that is a list, if that takes the list and nothing else is required.

    One that is not required has to be in the body itself, and to be its only member or to say what its elements are.
    """
    required, properties = schema.get("required") or [], schema.get("properties")
    if not isinstance(required, list) or not isinstance(properties, Mapping):
        return ""
    lists = {
        str(name): one for name, one in properties.items() if isinstance(one, Mapping) and types(one) == ("array",)
    }
    if len(lists) != 1 or first_violation(value, one := next(iter(lists.values()))) is not None:
        return ""
    name = next(iter(lists))
    if required == [name]:
        return name
    items = one.get("items")
    is_meant = len(properties) == 1 or (isinstance(items, Mapping) and bool(types(items)) and bool(value))
    return name if place.whole and not required and is_meant and not one.get("readOnly") else ""


def _only_text(schema: Schema) -> str:
    """Return the only member that an object requires, if that is a text; else nothing."""
    required, properties = schema.get("required"), schema.get("properties")
    if not isinstance(required, list) or len(required) != 1 or not isinstance(properties, Mapping):
        return ""
    if not _SORTS.isdisjoint(words(str(required[0]))[-1:]):
        return ""  # what was sent is of that sort, and does not name it
    inner = properties.get(required[0])
    return str(required[0]) if isinstance(inner, Mapping) and types(inner) == ("string",) else ""


def _has_optional_name(schema: Schema) -> bool:
    """Whether an object requires nothing, and has a `name` that is a text, and no other member that identifies it."""
    required, properties = schema.get("required"), schema.get("properties")
    if required or not isinstance(properties, Mapping) or not isinstance(properties.get("name"), Mapping):
        return False
    if types(properties["name"]) != ("string",) or properties["name"].get("readOnly"):
        return False
    return not any(words(str(one))[-1:] in _IDENTIFYING for one in properties if one != "name")


NAMED_ONLY: Final = "the text is taken for the name"
_IDENTIFYING: Final = tuple((one,) for one in ("name", "id", "ids", "uuid", "key", "slug", "title", "value"))
_SORTS: Final = frozenset({"type", "kind", "mode", "method", "format", "version", "status", "operator", "op"})
"""Last words of members that say how to read the others."""
_ORDER: Final = ("integer", "number", "boolean", "array", "object", "string")
_CASTS: Final[Mapping[str, Callable[[Json, Schema, Place], list[Spelling]]]] = {
    "integer": _to_integer,
    "number": _to_number,
    "boolean": _to_boolean,
    "array": _to_array,
    "object": _to_object,
    "string": _to_string,
}


# Texts


def _shortened(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    """Return the text without blanks around it; cut only where it is an aside: what else can go, its writer knows."""
    most = schema.get("maxLength")
    if not isinstance(value, str) or not isinstance(most, int) or most < 1:
        return []
    trimmed = value.strip()
    if len(trimmed) <= most:
        return [Spelling(trimmed)]
    if schema.get("format") or schema.get("pattern") or schema.get("minLength") == most or not _is_aside(place.name):
        return []  # half an identifier is none, half a name or a message is another one, one length means a code
    return [Spelling(value[:most].rstrip(), "the text is cut to the length that is allowed")]


_ASIDES: Final = word_set("note notes comment comments memo remark remarks description desc summary details reason")


def _is_aside(name: str) -> bool:
    """Whether a text of this name says something about a thing, and is not the thing, nor its name."""
    return not _ASIDES.isdisjoint(words(name)[-1:])


def _respelt(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    form = schema.get("format")
    return spelling.respelled(value, form) if isinstance(form, str) else []


def _respelt_as_told(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    return [Spelling(schema["const"])]


# One of several schemas


def _alternative(value: Json, schema: Schema, place: Place) -> list[Spelling]:
    """Return what fits one of several schemas, what keeps the meaning before what changes it."""
    repairs: list[Spelling] = []
    for keyword in ("anyOf", "oneOf"):
        for inner in schema.get(keyword) or ():
            if not isinstance(inner, Mapping) or (broken := first_violation(value, inner, text=place.text)) is None:
                continue
            if "object" in types(inner) and isinstance(value, int) and not isinstance(value, bool):
                return []  # a number is rather the id of such an object than its name
            for repaired in repair_value(broken, value, inner, place):
                if not any(same(repaired.value, other.value) for other in repairs):
                    repairs.append(repaired)
    return [repair for repair in repairs if not repair.assumption] or repairs


_Repair = Callable[[Json, Schema, Place], list[Spelling]]

_REPAIRS: Final[Mapping[str, _Repair]] = {
    "enum": _chosen,
    "const": _chosen,
    SPELLING: _respelt_as_told,
    "type": _cast,
    "minimum": repair_number.raised,
    "exclusiveMinimum": repair_number.raised,
    "maximum": repair_number.lowered,
    "exclusiveMaximum": repair_number.lowered,
    "multipleOf": repair_number.rounded,
    "formatMaximum": repair_number.longest_span,
    "formatMinimum": repair_number.shortest_span,
    "maxLength": _shortened,
    "format": _respelt,
    "pattern": repair_pattern.patterned,
    "anyOf": _alternative,
    "oneOf": _alternative,
}
