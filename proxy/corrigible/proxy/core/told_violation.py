"""What a refusal tells of one place of a request, as a violation: the server's word beats the description's.

Knows: complaints with their places, what the description declares there. Does not know: how an answer is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from corrigible.adapters.formats.pointers import steps
from corrigible.rules.budget import spend
from corrigible.rules.pointer import MISSING, escape, segments, value_at
from corrigible.rules.safety.decisive import is_decisive, word_set, words
from corrigible.rules.safety.json_text import fault
from corrigible.rules.safety.nearness import LONGEST, distance, is_same_spelling, letters, nearest
from corrigible.rules.safety.written_moment import GO_DURATION
from corrigible.rules.schema_repair.body import CONTENT, text_schema
from corrigible.rules.schema_repair.first_violation import first_violation
from corrigible.rules.schema_repair.json_schema import (
    ALTERNATIVES,
    TOLD,
    Schema,
    choices,
    kind_of,
    literal_pattern,
    types,
)
from corrigible.rules.schema_repair.names import INSTEAD, near_names
from corrigible.rules.schema_repair.repair import BARRED
from corrigible.rules.schema_repair.schema_violation import DeclaredPlace, SchemaViolation, place_of
from corrigible.rules.schema_repair.values import ONLY_ASKED, ONLY_TOLD, SPELLING
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind, read
from corrigible.schema.exchange import Json, Protocol, Request

from .state_reader import repeats

_UNKNOWN: Final = ("additionalProperties", "unevaluatedProperties")
_NAMES: Final = ("propertyNames", "enum")
"""Where a complaint about an unknown member keeps the names that are known there."""

_READ_OF_A_RULE: Final = 300
_NOT_THERE: Final = ("undefined", "undefined.")
_OF_AN_INDEX: Final = frozenset({"index", "ordinal"})
_CONDITION: Final = frozenset({"if", "when", "whenever", "unless", "while"})
"""How a sentence begins whose limit another member brings: `If checkpoint is specified then ntrees must ...`."""
_OF_TIME: Final = frozenset({"date", "date-time", "time"})
_OF_NUMBERS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})


def stated_violation(error: Violation, request: Request, declared: DeclaredPlace) -> SchemaViolation | None:
    """Return the violation that a complaint about a place is; None where it says no more than the place."""
    where = segments(error.pointer)[:1]
    if where not in (["body"], ["query"], ["headers"]):
        return None
    value = value_at(request, error.pointer)
    error = error.at(error.pointer, error.constraint, _plain(error.stated, declared.schema))
    if error.constraint == "required":
        return _required(error, value, declared)
    if (element := _of_element(error, value, declared.schema)) is not None:
        error, value, declared = element
    if value is MISSING or error.pointer in ("/query", "/headers"):
        return None
    if (replaced := _replaced(error, value, declared)) is not None:
        return replaced
    if error.constraint in _UNKNOWN:
        return _unknown(error, value, declared) if error.stated else None
    text = place_of(error.pointer, request).text
    if not error.stated:
        shape = _shown_beginning(error, value)
        return SchemaViolation(error.pointer, "pattern", {**declared.schema, **shape}, value) if shape else None
    broken = first_violation(value, _typed(error.stated, declared.schema) if text else error.stated, text=text)
    if broken is None and error.constraint not in error.stated:
        return None
    joined = _joined(declared.schema, error.stated)
    if broken is not None and broken not in joined:  # what the server states has taken the place of the declared type
        broken = first_violation(value, joined, text=text) or broken
    kinds = types(declared.schema)
    is_declared = bool(kinds) and first_violation(value, {"type": [*kinds]}, text=text) is None
    if broken == "type" and (is_declared or (not kinds and (error.pointer == "/body" or value is None))):
        joined[ONLY_TOLD] = True  # the server may speak of another place, and nothing says that null may be left out
    if _is_only_asked(error, declared.schema, reads=place_of(error.pointer, request).reads):
        joined[ONLY_ASKED] = True
    return SchemaViolation(error.pointer, broken or error.constraint, joined, value)


def _of_element(error: Violation, value: Json, declared: Schema) -> tuple[Violation, Json, DeclaredPlace] | None:
    """Return what is stated of a list of one at its element, where only that can be meant: `tags must be strings`."""
    if not isinstance(value, list) or len(value) != 1 or not _LISTED.issuperset(types(declared) or ("",)):
        return None
    inner = declared.get("items")
    kinds, listed = types(error.stated), choices(error.stated)
    if (
        not (kinds or listed)
        or not _SCALARS.issuperset(kinds)
        or any(isinstance(one, list | Mapping) for one in listed)
    ):
        return None
    place = error.at(f"{error.pointer}/0", error.constraint, error.stated)
    return place, value[0], DeclaredPlace(inner if isinstance(inner, Mapping) else {})


def _replaced(error: Violation, value: Json, declared: DeclaredPlace) -> SchemaViolation | None:
    """Return the violation of a member, or of a value, for which a text names another one."""
    message, name = error.message[:_READ_OF_A_RULE], segments(error.pointer)[-1]
    said = (one for one in read(message).of(Kind.UNKNOWN) if not one.row.endswith(_GUESSED))
    named = next((one for each in said for one in each.slots.get("instead", ())), "")
    is_name = named.replace(".", "_").replace("-", "_").isidentifier() and len(named) > 1
    if not is_name or named in (name, value) or letters(named) in _NO_NAMES:
        return None
    if isinstance(value, str) and value != name and repeats(message, value):
        schema = {**declared.schema, "const": named, ONLY_TOLD: True}
        is_taken = first_violation(named, declared.schema) is None
        return SchemaViolation(error.pointer, "const", schema, value) if is_taken else None
    if not repeats(message, name):
        return None
    around = {"type": "object", **(declared.parent_schema or {}), INSTEAD: named}
    return SchemaViolation(error.pointer, "additionalProperties", around, value, declared.siblings)


_GUESSED: Final = ".did-you-mean"
_NO_NAMES: Final = word_set(
    "it this that these those them one a an the another other different valid something null none"
)


_BEGINS: Final = re.compile(
    r"(?i)\b(?<!not )(?:(?:start|begin)(?:s|ning|ing)?|prefix(?:ed)?) (?:with|by)(?: the)?(?: prefix)?:? "
    r"(?:'([^'\s]{1,40})'|\"([^\"\s]{1,40})\"|`([^`\s]{1,40})`|([\w.:/-]{1,40}[_:/-])(?=[\s.,;)]|$))"
)
_EXAMPLE: Final = re.compile(
    r"(?i)\b(?:e\.g\.?|for example|for instance|example|such as|like)[:,]? ['\"`(<]?([A-Za-z][\w.:/-]{2,60}\w)"
)


def _shown_beginning(error: Violation, value: Json) -> dict[str, Json]:
    """Return the pattern of a beginning that a text names, or shows by an example, and that a value lacks.

    `cus_42` for `7`: both go on in the same way. Of other examples nobody knows what of them is the same for all.
    """
    if not isinstance(value, str) or not value or error.constraint not in ("", "pattern", "format", "value"):
        return {}
    message, beginnings = error.message[:_READ_OF_A_RULE], list[str]()
    if (named := _BEGINS.search(message)) is not None:
        beginnings.append(next(filter(None, named.groups())))
    elif (shown := _EXAMPLE.search(message)) is not None:
        cut = max(shown[1].rfind(mark) for mark in "_:/") + 1
        rest = shown[1][cut:]
        is_alike = rest == value or (rest.isdecimal() and value.isdecimal())
        beginnings += [shown[1][:cut]] if cut and is_alike else []
    if not beginnings or value.startswith(beginnings[0]):
        return {}
    return {"pattern": f"^{literal_pattern(beginnings[0])}", ONLY_TOLD: True}


_LISTED: Final = frozenset({"array", "null"})
_SCALARS: Final = frozenset({"string", "number", "integer", "boolean"})


def _is_only_asked(error: Violation, declared: Schema, *, reads: bool) -> bool:
    """Whether a number within the stated limit is no wish that is known.

    The limit holds because of another member, which may be what is given up; or only the answer tells it, of a member
    whose name is one letter, so that nothing tells what it counts: `k must be between 1 and 4`. What a text calls an
    index says which one is meant: the last one there is, is another.
    """
    if _OF_NUMBERS.isdisjoint(error.stated):
        return False
    is_bare = not reads and len(segments(error.pointer)[-1]) == 1 and _OF_NUMBERS.isdisjoint(declared)
    told = words(error.message[:_READ_OF_A_RULE])
    return is_bare or not _OF_AN_INDEX.isdisjoint(told) or not _CONDITION.isdisjoint(told[:1])


def _plain(stated: Mapping[str, Json], declared: Schema) -> dict[str, Json]:
    """Return what is stated without what is free text: an answer may list words and numbers, and no sentences.

    A list that has nothing in common with the declared one, in whatever spelling, is no list of values for this place.
    """
    kinds = types(declared)
    is_text = not kinds or "string" in kinds
    out = {name: inner for name, inner in stated.items() if name != "pattern" or _is_plain(inner, _PATTERN)}
    if not is_text and out.get("pattern") == GO_DURATION:
        del out["pattern"]  # the server reads numbers as well, in a unit that the description may say
    for name in _NAMES:
        inner = out.get(name)
        if isinstance(inner, dict):
            out[name] = _plain(inner, {})
        elif isinstance(inner, list):
            known = choices({name: declared[name] for name in declared if name == "enum"})
            listed = [one for one in inner if one in known or _is_plain(one, _WORD)]
            if len(listed) < len(inner) or (known and not {*map(_spelled, known)} & {*map(_spelled, listed)}):
                del out[name]
    if "const" in out and not _is_plain(out["const"], _WORD):
        del out["const"]
    return out


def _is_plain(value: Json, words: re.Pattern[str]) -> bool:
    return not isinstance(value, str) or words.fullmatch(value) is not None


def _spelled(value: Json) -> str:
    return letters(value) if isinstance(value, str) else repr(value)


_WORD: Final = re.compile(r"[\w$.:/@+*%#~-]{0,64}")
_PATTERN: Final = re.compile(r"[^\s]{1,200}")


def _required(error: Violation, value: Json, declared: DeclaredPlace) -> SchemaViolation | None:
    schema = _joined(declared.schema, error.stated)
    if value is MISSING:
        parent = declared.parent_schema
        return SchemaViolation(error.pointer, "required", schema, MISSING, declared.siblings, parent_schema=parent)
    if value in ("", None, [], {}):  # what is blank is as good as missing to many servers
        return SchemaViolation(error.pointer, "blank", schema, value)
    return None


def _unknown(error: Violation, value: Json, declared: DeclaredPlace) -> SchemaViolation | None:
    """Return the violation of a member that the server does not know, with the names that it does know."""
    listed: Json = error.stated
    for name in _NAMES:
        listed = listed.get(name, listed) if isinstance(listed, Mapping) else listed
    if not isinstance(listed, list):
        return None
    names = tuple(name for name in listed if isinstance(name, str))
    around = declared.parent_schema or {"type": "object"}
    members = around.get("properties")
    known = {name: inner for name, inner in members.items() if name in names} if isinstance(members, Mapping) else {}
    closed = {**around, "properties": {**{name: {} for name in names}, **known}}
    return SchemaViolation(error.pointer, "additionalProperties", closed, value, names, declared.outer_schema)


def unknown_member(error: Violation, request: Request, declared: DeclaredPlace) -> SchemaViolation | None:
    """Return the violation of a member that the server says it does not know, where the description has none there.

    Also of one that the description has, where only the server writes it, or the server says that it must not be there.
    """
    value = value_at(request, error.pointer)
    where, *names = segments(error.pointer) or [""]
    is_barred, is_of_the_server = is_told_to_be_left_out(error), error.constraint == "readOnly"
    if not (error.constraint in _UNKNOWN or is_barred or is_of_the_server) or value is MISSING or not names:
        return None
    if where not in ("body", "query"):
        return None
    if is_barred and (names[-1] in declared.siblings or not near_names(names[-1], declared.siblings)):
        return SchemaViolation(error.pointer, BARRED, declared.schema, value)
    if names[-1] in declared.siblings:
        is_of_the_server |= declared.schema.get("readOnly") is True or error.message.endswith(_NOT_THERE)
        return SchemaViolation(error.pointer, "readOnly", declared.schema, value) if is_of_the_server else None
    around = {"type": "object", **(declared.parent_schema or {})}
    return SchemaViolation(
        error.pointer, "additionalProperties", around, value, declared.siblings, declared.outer_schema
    )


def is_told_to_be_left_out(error: Violation) -> bool:
    """Whether a sentence says of the member at its place that it may not be sent, whatever its value is."""
    if error.constraint or error.stated or not error.pointer:
        return False
    name = letters(segments(error.pointer)[-1])
    barred = (one for one in read(error.message).of(Kind.APART) if one.row.endswith(_NOT_TAKEN))
    return any(letters(steps(field)[-1]) == name for one in barred for field in one.slots.get("field", ()))


_NOT_TAKEN: Final = ".not-taken"
"""The rows by which a member may not be sent, whatever else was."""


def _typed(stated: Mapping[str, Json], declared: Schema) -> dict[str, Json]:
    """Return what is stated with a type, so that a text on the wire is read as one."""
    kind = "number" if not _OF_NUMBERS.isdisjoint(stated) else declared.get("type")
    return dict(stated) if "type" in stated or kind is None else {"type": kind, **stated}


def _joined(declared: Schema, stated: Mapping[str, Json]) -> dict[str, Json]:
    """Return the schema of a place with what the server states: where the two disagree, the server's."""
    kinds, allowed = types(stated), types(declared)
    if kinds and allowed and not {*kinds} & {*allowed, *(("number",) if "integer" in allowed else ())}:
        return dict(stated)
    left = {
        name: inner
        for name, inner in declared.items()
        if not (("type" in stated or "enum" in stated) and name in (*ALTERNATIVES, "const"))
    }
    out = {**left, **stated}
    if "pattern" in stated and "format" not in stated and declared.get("format") in _OF_TIME:
        out.pop("format")  # the server shows another writing than that of RFC 3339
    if "enum" in stated and "type" not in stated and isinstance(stated["enum"], list):
        if {kind_of(one) for one in stated["enum"]}.isdisjoint(types(declared)):
            out.pop("type", None)
        for name in ("pattern", "format", "minLength", "maxLength"):
            if name not in stated:
                out.pop(name, None)
    return out


# Values and parameters


_READ_OF_A_VALUE: Final = 1000
"""Letters of a message that are looked at."""
_REFUSED: Final = {Kind.UNKNOWN, Kind.VALUE, Kind.ABSENT}
_ABOUT_OTHERS: Final = word_set(
    "too length long short large small already expired denied permission character characters signature checksum"
    " credential credentials state"
)
"""Words of complaints about something else than how a value is written."""
_OWN: Final = word_set(
    "id ids uuid name names username user users key keys slug code ref email login path url uri host token"
    " password secret"
)
"""Last words of names of what is somebody's own: an example of it is no value that the server has to know."""


def told_spelling(error: Violation, request: Request, schema: Schema) -> SchemaViolation | None:
    """Return the violation of a text that a server refuses, and that the description of its place has otherwise."""
    place, value, message = segments(error.pointer), value_at(request, error.pointer), error.message[:_READ_OF_A_VALUE]
    if place[:1] not in (["body"], ["query"]) or not isinstance(value, str) or not 0 < len(value) <= LONGEST:
        return None
    if error.constraint not in ("", "enum") or error.stated or choices(schema):
        return None
    kinds = {one.kind for one in read(message).said}
    if not kinds or kinds - _REFUSED or not _ABOUT_OTHERS.isdisjoint(words(message)):
        return None
    name = next((one for one in reversed(place) if not one.isdecimal()), "")
    if is_decisive(name, request) or not _OWN.isdisjoint(words(name)[-1:]):
        return None
    if types(schema) and "string" not in types(schema):
        return None
    listed = schema.get(TOLD)
    told = [one for one in (schema.get("default"), *(listed if isinstance(listed, list) else ())) if one is not None]
    spend(len(told))
    same = {one for one in told if isinstance(one, str) and is_same_spelling(one, value)} or _a_slip_away(value, told)
    if len(same) != 1 or value in same:
        return None
    return SchemaViolation(error.pointer, SPELLING, {**schema, "const": next(iter(same))}, value)


_FEW: Final = 2
"""Values that a description has at least where it tells what there is: one alone is an example."""
_SHORTEST: Final = 3
"""Letters of a value that may be a slip."""


def _a_slip_away(value: str, told: Sequence[Json]) -> set[str]:
    """Return the only told value that is one slip of the fingers away: `tcp` of `tpc`.

    Not one that begins with the other (`http`, `https`), which may well be meant.
    """
    texts = [one for one in told if isinstance(one, str)]
    near = nearest(value, texts) if len(value) >= _SHORTEST and len(set(texts)) >= _FEW else []
    if len(near) != 1 or distance(value, near[0]) != 1 or value.startswith(near[0]) or near[0].startswith(value):
        return set()
    return {near[0]}


_NAMING: Final = frozenset({"id", "ids", "name", "key", "uuid", "parent"})
_OF_JSON: Final = frozenset({"json", "parse", "parsing", "parsed", "syntax", "token", "decode"})
_MOST_TEXTS: Final = 100


def broken_text(error: Violation, request: Request) -> SchemaViolation | None:
    """Return the only text of a request that begins like JSON and is none, where an error says that it was not read.

    A parameter may have a notation of its own that begins like JSON. Of a form the error has to name the field. A text
    of a call may be none in any way.
    """
    if not read(error.message).of(Kind.MALFORMED) and _OF_JSON.isdisjoint(words(error.message[:_READ_OF_A_VALUE])):
        return None
    is_call = request.protocol is Protocol.GRPC
    if is_call:
        texts = _texts(request.body)
        places = {place: text for place, text in texts if _NAMING.isdisjoint(words(segments(place)[-1]))}
    else:
        fields = request.body if request.form and isinstance(request.body, Mapping) else {}
        places = {f"/query/{escape(name)}": text for name, text in request.query.items()}
        places |= {place: text for name, text in fields.items() if (place := f"/body/{escape(name)}") == error.pointer}
    broken = [
        (place, text)
        for place, text in places.items()
        if isinstance(text, str) and (is_call or text.lstrip()[:1] in ("{", "[")) and fault(text) is not None
    ]
    if len(broken) != 1 or error.pointer not in ("", broken[0][0]):
        return None
    return SchemaViolation(broken[0][0], CONTENT, text_schema({}), broken[0][1])


def _texts(body: Json) -> list[tuple[str, str]]:
    """Return the texts of a message that are not empty, the outermost first."""
    found: list[tuple[str, str]] = []
    waiting: list[tuple[str, Json]] = [("/body", body)]
    while waiting and len(found) < _MOST_TEXTS:
        place, value = waiting.pop(0)
        spend()
        if isinstance(value, str) and value:
            found.append((place, value))
        elif isinstance(value, Mapping):
            waiting += [(f"{place}/{escape(str(name))}", inner) for name, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{place}/{index}", inner) for index, inner in enumerate(value)]
    return found
