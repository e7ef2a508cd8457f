"""The schema violations that an error of a refusal may be about.

| the error                              | what is looked at                                                      |
|----------------------------------------|------------------------------------------------------------------------|
| 404, 405, 410, 501                     | path and method; a name in the path under which there is nothing       |
| 400, and says that there is no route   | path and method, where the description has no such operation           |
| names a place, and states a constraint | what it states: the server's word beats the description                |
| names a place                          | what the description says of that place, of places below it, around it |
| names a missing member                 | that member, whatever the description says                             |
| cannot be read, and a text is no JSON  | that text                                                              |
| names no place that is there           | the whole request, the places that the message mentions first          |
| ... and is about state                 | only the places that the message mentions                              |

Knows: errors, requests, descriptions. Does not know: rules, suggestions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from corrigible.adapters.formats.pointers import steps
from corrigible.adapters.formats.sent_places import SentValue, sent_places
from corrigible.adapters.formats.statement import has_word
from corrigible.adapters.operation import ANY
from corrigible.rules.budget import remaining
from corrigible.rules.pointer import MISSING, segments, value_at
from corrigible.rules.safety.decisive import word_set, words
from corrigible.rules.safety.json_text import fault
from corrigible.rules.safety.nearness import letters
from corrigible.rules.safety.written_moment import GO_DURATION
from corrigible.rules.schema_repair.body import CONTENT, text_schema
from corrigible.rules.schema_repair.first_violation import first_violation
from corrigible.rules.schema_repair.json_schema import (
    ALTERNATIVES,
    Schema,
    choices,
    kind_of,
    types,
)
from corrigible.rules.schema_repair.levels import IN_QUERY, MISPLACED, NOT_OF_BODY, move_member
from corrigible.rules.schema_repair.names import INSTEAD, near_names
from corrigible.rules.schema_repair.repair import BARRED
from corrigible.rules.schema_repair.route import BARE, UNNAMED, UNSURE
from corrigible.rules.schema_repair.schema_violation import DeclaredPlace, SchemaViolation, place_of
from corrigible.rules.schema_repair.values import ONLY_ASKED, ONLY_TOLD
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind, read
from corrigible.schema.exchange import Json, Protocol, Request

from .api_profile import RefusalCase
from .evidence import is_within
from .request_at_fault import (
    BY_THE_TEXT_ONLY,
    CHOSE_NONE,
    OF_UNKNOWN,
    STATED_ALONE,
    is_unexplained,
    refuses_a_member,
    says_no_path,
    says_no_route,
    says_nothing,
)

_ABOUT_THE_ROUTE: Final = frozenset({404, 405, 410, 501})
"""Of these, the ones that say first of all that the path or the method is wrong."""


class ViolationFinder:
    """Finds what may be wrong with the request of one refusal."""

    def __init__(self, case: RefusalCase) -> None:
        self._case, self._description = case, case.description
        self._request, self._operation = case.request, case.match.operation
        self._violations: dict[str, Sequence[SchemaViolation]] = {}
        self.validating = 0
        """Steps that validating once has taken at most."""

    def violations_at(self, pointer: str = "") -> Sequence[SchemaViolation]:
        """Return the schema violations of the request as it was, at a place or anywhere: each is validated once."""
        if pointer not in self._violations:
            before = remaining()
            found = self._description.schema_violations(self._request, self._operation, pointer)
            self._violations[pointer] = tuple(found)
            self.validating = max(self.validating, before - remaining())
        return self._violations[pointer]

    def candidates(self, error: Violation) -> Sequence[SchemaViolation]:
        """Return the violations that an error may be about, the likeliest first."""
        status = self._case.exchange.status
        if (broken := broken_text(error, self._request)) is not None:
            return (broken,)
        if self._request.protocol is Protocol.GRPC and error.type in CHOSE_NONE and not error.pointer:
            wrong = self._description.nearest_operation(self._request)
            return () if wrong is None or not _may_be_of_method(error.message) else (wrong,)
        is_of_another = error.stated and status == 404 and self._request.protocol is not Protocol.HTTP
        if error.type in BY_THE_TEXT_ONLY or status in STATED_ALONE or is_of_another:
            if not is_unexplained(error, status) or self._request.protocol is not Protocol.HTTP:
                return self._stated(error)
            return [one for one in self._anywhere(error) if one.pointer not in ("/path", "/method")]
        if status == 406:
            # A parameter may name the form of the answer: `/orders.yaml`, `?format=yaml`.
            in_head = (one for one in self.violations_at("") if not one.pointer.startswith(("/body", "/headers")))
            return [one for one in in_head if one.keyword == "enum"]
        is_routeless = status == 400 and not self._operation and _lacks_route(error.message, self._request)
        if status in _ABOUT_THE_ROUTE or is_routeless:
            # A gRPC method is its own operation, whether or not it is there.
            if not self._operation or self._request.protocol is not Protocol.HTTP:
                wrong = self._description.nearest_operation(self._request)
                is_told = says_no_path(error.message) or self._request.path in error.message
                if wrong is None or (wrong.keyword == "around" and status != 405 and not is_told):
                    return ()
                if is_routeless and wrong.keyword in ("elsewhere", "base"):
                    wrong = wrong._replace(keyword="around")  # a 400 is no proof that the path is what is wrong
                return (told_apart(wrong, self._case),)
            route = list(self._of_route(error, status))
            if route or status != 405:
                return route if route or not self._is_located(error) else self._at(error)
        if not self._operation:
            return self._of_silence(error) or self._stated(error)
        if (segment := _of_segment(error)) is not None:
            return (segment,)
        violations = self._at(error) if self._is_located(error) else self._anywhere(error)
        violations = [noted(one, self._case) for one in violations]
        # What stands in brackets may be the name of a field, which no parameter declares.
        is_inside = error.pointer.startswith("/query/") and "[" in error.pointer
        near = self._description.misspelt_words(self._request, error.message) if is_inside or not violations else ()
        return near or violations

    def confidence(self, error: Violation, violation: SchemaViolation) -> float | None:
        """Return how likely an error is about a violation at its likeliest place; None else."""
        if not error.likely or error.pointer or self._case.exchange.status in _ABOUT_THE_ROUTE or not self._operation:
            return None
        best = error.likely[0]
        return best.confidence if best.pointer == violation.pointer else None

    def _chances(self, error: Violation) -> Mapping[str, float]:
        return {one.pointer: one.probability for one in reversed(error.likely)}

    def _anywhere(self, error: Violation) -> Sequence[SchemaViolation]:
        """Return the violations of the whole request, the likeliest first; none where it is about other places."""
        chances = self._chances(error)
        violations = self.violations_at(error.pointer) or self.violations_at("")
        missing = {one.pointer.rpartition("/")[0] for one in violations if one.keyword == "required"}
        known = {one.pointer for one in violations}
        respelt = [
            one
            for one in self._description.misspellings(self._request, self._operation)
            if one.pointer not in known and (not violations or one.pointer.rpartition("/")[0] in missing)
        ]
        if not violations and not respelt:
            respelt = list(self._description.misplaced_members(self._request, self._operation))
        found = sorted([*respelt, *violations], key=lambda one: -chances.get(one.pointer, 0.0))
        if self._request.method == "PATCH":
            # What a change leaves out stays as it is, though many descriptions have the schema of the whole.
            of_values = [one for one in found if one.keyword != "required" or chances.get(one.pointer, 0.0) >= _LIKELY]
            found = of_values or found
        best = error.likely[0] if error.likely else None
        if (
            best is not None
            and best.probability >= _LIKELY
            and not any(is_within(best.pointer, one.pointer) for one in found)
        ):
            return ()
        return found

    def _stated(self, error: Violation) -> Sequence[SchemaViolation]:
        """Return what an error itself says about its place."""
        declared = self._description.declared_place(self._request, self._operation, error.pointer)
        stated = stated_violation(error, self._request, declared)
        stated = unknown_member(error, self._request, declared) if stated is None else stated
        return () if stated is None else (stated,)

    def _of_silence(self, error: Violation) -> Sequence[SchemaViolation]:
        """Return what is wrong with a path or a method that the description does not have, where nothing is told.

        Some servers answer 400 to whatever they have no route for. Whoever calls has to confirm it.
        """
        is_silent = not error.pointer and not error.stated and says_nothing(error.message, 400)
        if self._case.exchange.status != 400 or not is_silent or self._request.protocol is not Protocol.HTTP:
            return ()
        wrong = self._description.nearest_operation(self._request)
        if wrong is None or wrong.keyword not in ("path", "base", "method"):
            return ()
        return (wrong._replace(schema={**wrong.schema, UNSURE: True}),)

    def _of_route(self, error: Violation, status: int) -> Iterator[SchemaViolation]:
        """Yield what is wrong with the path of a request whose operation the description has."""
        if error.pointer.startswith(("/body", "/query", "/headers")):
            return
        # The path may be another operation's by mistake: then its parameters do not fit.
        wrong = [one for one in self.violations_at("") if one.pointer in ("/path", "/method")]
        if wrong:
            yield from wrong
            return
        # Where a path has no variables, and nothing else was sent, there is nothing but the path that may not be there.
        is_plain = not self._case.match.params and self._request.body is None and not self._request.query
        if is_plain or says_no_path(error.message) or status != 404:
            written = self._description.written_paths(self._request.method, self._request.path)
            if written is not None:
                yield written

    def _is_located(self, error: Violation) -> bool:
        """Whether an error names a place that is there, or one that is missing."""
        if not error.pointer:
            return False
        if error.pointer in ("/body", "/query", "/headers"):
            return bool(error.stated)
        return (error.constraint == "required" or value_at(self._request, error.pointer) is not MISSING) or bool(
            self.violations_at(error.pointer)
        )

    def _at(self, error: Violation) -> Sequence[SchemaViolation]:
        """Return what an error with a place is about."""
        declared = self._description.declared_place(self._request, self._operation, error.pointer)
        there = [one for one in self.violations_at(error.pointer) if not self._is_known(one, error)]
        if CONTENT in declared.schema and error.constraint != "required":
            return there  # what is stated is about what the text holds
        stated = stated_violation(error, self._request, declared)
        if stated is not None and (error.stated or not there):
            below = [one for one in there if one.pointer != error.pointer]
            return [*below, stated] if not error.stated else [stated]
        if there and error.constraint == "required":
            return self._missed(there, error)
        if there:
            return there
        around = [one for one in self.violations_at("") if error.pointer.startswith(f"{one.pointer}/")]
        # That the whole body has none of several forms says less than the server does.
        if around and not all(one.pointer == "/body" and one.keyword in ALTERNATIVES for one in around):
            return around
        # Members that the description allows, and that are nearly called like declared ones.
        respelt = self._description.misspellings(self._request, self._operation)
        below = [one for one in respelt if one.pointer.startswith(f"{error.pointer}/")]
        if len(below) == 1:
            return below
        if error.constraint == "required":
            return self._missed((), error)
        unknown = unknown_member(error, self._request, declared)
        return () if unknown is None else (unknown,)

    def _missed(self, there: Sequence[SchemaViolation], error: Violation) -> Sequence[SchemaViolation]:
        """Return what is wrong where the server misses what was sent: leaving that out is no repair.

        It belongs to another level, or has another name, or something around it has.
        """
        out: list[SchemaViolation] = []
        for one in there:
            if one.keyword not in OF_UNKNOWN or one.pointer != error.pointer:
                out.append(one)
                continue
            misplaced = one._replace(keyword=MISPLACED)
            if move_member(misplaced, self._request) is not None:
                out.append(misplaced)
            elif near_names(segments(one.pointer)[-1], one.siblings):
                out.append(one)
        return out or [one for one in self.violations_at("") if one.keyword == "required"]

    def _is_known(self, violation: SchemaViolation, error: Violation) -> bool:
        """Whether the server tells of the value of a member that is undeclared, allowed, and no misspelling.

        It knows a member whose value it refuses: to leave that out would be no repair.
        """
        if violation.keyword not in OF_UNKNOWN or violation.pointer != error.pointer or error.constraint in OF_UNKNOWN:
            return False
        if (
            error.constraint == "required"
            or not error.message
            or (error.constraint != "enum" and refuses_a_member(error.message))
        ):
            return False
        return not near_names(segments(violation.pointer)[-1], violation.siblings)


_LIKELY: Final = 0.5


def _may_be_of_method(message: str) -> bool:
    """Whether a call may have failed since there is no such method: the text says no more, and no other status."""
    numbers = {one for one in words(message) if one.isdecimal() and len(one) == _STATUS_DIGITS}
    said = read(message).said
    is_opaque = all(one.kind in (Kind.FAULT, Kind.ROUTE) and not one.row.endswith(_IS_DOWN) for one in said)
    return numbers <= _OF_NO_METHOD and (is_opaque or bool(numbers))


_STATUS_DIGITS: Final = 3
_OF_NO_METHOD: Final = frozenset({"200", "404", "405", "501"})
_IS_DOWN: Final = ".down"


def _lacks_route(message: str, request: Request) -> bool:
    """Whether a message says that there is no such route, or that nothing is there for this very method and path."""
    is_named = request.path in message and has_word(message, request.method)
    return says_no_route(message) or (is_named and bool(read(message).of(Kind.ABSENT)))


# What a refusal tells of one place, as a violation

_LISTS: Final = ("propertyNames", "enum")
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
    if not error.stated:
        return None
    if error.constraint in OF_UNKNOWN:
        return _unknown(error, value, declared)
    text = place_of(error.pointer, request).text
    broken = first_violation(value, _typed(error.stated, declared.schema) if text else error.stated, text=text)
    if broken is None and error.constraint not in error.stated:
        return None
    joined = _joined(declared.schema, error.stated)
    if not choices(declared.schema) and (labels := choices(joined)):
        joined["enum"] = _with_identifiers(labels, value)
    if broken is not None and broken not in joined:  # what the server states has taken the place of the declared type
        broken = first_violation(value, joined, text=text) or broken
    kinds = types(declared.schema)
    is_declared = bool(kinds) and first_violation(value, {"type": [*kinds]}, text=text) is None
    is_elsewhere = broken == "type" and (is_declared or (not kinds and error.pointer == "/body"))
    if is_elsewhere or (value is None and not kinds):
        joined[ONLY_TOLD] = True  # the server may speak of another place, and nothing says that null may be left out
    if _is_only_asked(error, declared.schema, reads=place_of(error.pointer, request).reads):
        joined[ONLY_ASKED] = True
    return SchemaViolation(error.pointer, broken or error.constraint, joined, value)


def _of_segment(error: Violation) -> SchemaViolation | None:
    """Return the violation of the segment of the path that a text tells of, where it lists what may stand there."""
    best, listed = next(iter(error.likely), None), choices(_plain(error.stated, {}))
    if error.pointer or best is None or best.pointer != "/path" or not best.is_told or best.value in (None, *listed):
        return None
    return SchemaViolation("/path", "enum", {"type": "string", "enum": [*listed]}, best.value) if listed else None


def _with_identifiers(listed: Sequence[Json], value: Json) -> list[Json]:
    """Return the values that a text lists, and what they may be the labels of: `credit_card` of `Credit Card`."""
    texts = [one for one in listed if isinstance(one, str) and one.istitle()]
    names = [one.lower().replace(" ", "_") for one in texts]
    is_one = isinstance(value, str) and value.islower() and len(texts) == len(listed) and value not in names
    return [*listed, *names] if is_one else [*listed]


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
    if isinstance(value, str) and value != name and has_word(message, value):
        schema = {**declared.schema, "const": named, ONLY_TOLD: True}
        is_taken = first_violation(named, declared.schema) is None
        return SchemaViolation(error.pointer, "const", schema, value) if is_taken else None
    if not has_word(message, name):
        return None
    around = {"type": "object", **(declared.parent_schema or {}), INSTEAD: named}
    return SchemaViolation(error.pointer, "additionalProperties", around, value, declared.siblings)


_GUESSED: Final = ".did-you-mean"
_NO_NAMES: Final = word_set(
    "it this that these those them one a an the another other different valid something null none"
)


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
    out = {name: inner for name, inner in stated.items() if name != "pattern" or _is_plain(inner, None)}
    if not is_text and out.get("pattern") == GO_DURATION:
        del out["pattern"]  # the server reads numbers as well, in a unit that the description may say
    if isinstance(told := out.get("enum"), list):
        known = choices({name: declared[name] for name in declared if name == "enum"})
        listed = [one for one in told if one in known or _is_plain(one)]
        if len(listed) < len(told) or (known and not {*map(_spelled, known)} & {*map(_spelled, listed)}):
            del out["enum"]
    if "const" in out and not _is_plain(out["const"]):
        del out["const"]
    return out


def _is_plain(value: Json, marks: str | None = "_$.:/@+*%#~-") -> bool:
    """Whether a value is no sentence: a text without blanks, of letters, digits and some marks, or of any (None)."""
    if not isinstance(value, str):
        return True
    if marks is None:
        return 0 < len(value) <= _LONGEST_PATTERN and not any(map(str.isspace, value))
    return len(value) <= _LONGEST_WORD and all(one.isalnum() or one in marks for one in value)


def _spelled(value: Json) -> str:
    return letters(value) if isinstance(value, str) else repr(value)


_LONGEST_WORD: Final = 64
_LONGEST_PATTERN: Final = 200


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
    for name in _LISTS:
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
    _, *names = segments(error.pointer) or [""]
    is_barred, is_of_the_server = is_told_to_be_left_out(error), error.constraint == "readOnly"
    if not (error.constraint in OF_UNKNOWN or is_barred or is_of_the_server) or value is MISSING or not names:
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
    is_shown = "pattern" in stated and "format" not in stated and declared.get("format") in _OF_TIME
    if is_shown or stated.get("format") == "time" != declared.get("format"):
        out.pop("format")  # the server shows another writing than that of RFC 3339, or calls a time what is none of it
    if "enum" in stated and "type" not in stated and isinstance(stated["enum"], list):
        if {kind_of(one) for one in stated["enum"]}.isdisjoint(types(declared)):
            out.pop("type", None)
        for name in ("pattern", "format", "minLength", "maxLength"):
            if name not in stated:
                out.pop(name, None)
    return out


_NAMING: Final = frozenset({"id", "ids", "name", "key", "uuid", "parent"})
_OF_JSON: Final = frozenset({"json", "parse", "parsing", "parsed", "syntax", "token", "decode"})


def broken_text(error: Violation, request: Request) -> SchemaViolation | None:
    """Return the only text of a request that begins like JSON and is none, where an error says that it was not read.

    Of a form the error has to name the field, in a body of JSON no text is read as JSON.
    """
    if not read(error.message).of(Kind.MALFORMED) and _OF_JSON.isdisjoint(words(error.message[:_READ_OF_A_RULE])):
        return None
    is_call, broken = request.protocol is Protocol.GRPC, list[SentValue]()
    for one in sent_places(request):
        is_read = is_call or one.path[0] == "query" or (request.form and one.pointer == error.pointer)
        if not is_read or not isinstance(one.value, str) or not one.value or fault(one.value) is None:
            continue
        # A text of a call may be none in any way, unless it names something.
        if one.value.lstrip()[:1] in ("{", "[") or (is_call and _NAMING.isdisjoint(words(one.path[-1]))):
            broken.append(one)
    if len(broken) != 1 or error.pointer not in ("", broken[0].pointer):
        return None
    return SchemaViolation(broken[0].pointer, CONTENT, text_schema({}), broken[0].value)


_WRITES: Final = ("POST", "PUT", "PATCH")


def noted(violation: SchemaViolation, case: RefusalCase) -> SchemaViolation:
    """Note of a parameter that is missing that its operation takes no body, where one was sent; and what that holds.

    Or that its body is an object without such a member.
    """
    request, operation, description = case.request, case.match.operation, case.description
    if violation.keyword != "required" or not violation.pointer.startswith("/query/") or not request.body:
        return violation
    if description.body_schemas(operation):
        known = {path[1] for path in description.vocabulary(operation).places if len(path) == 2 and path[0] == "body"}
        is_other = bool(known) and ANY not in known
        return violation._replace(schema={**violation.schema, NOT_OF_BODY: sorted(known)}) if is_other else violation
    declared = {path[1] for path in description.vocabulary(operation).places if len(path) == 2 and path[0] == "query"}
    is_all = isinstance(request.body, dict) and (len(request.body) == 1 or request.body.keys() <= declared)
    return violation._replace(schema={**violation.schema, NOT_OF_BODY: []}) if is_all else violation


def told_apart(wrong: SchemaViolation, case: RefusalCase) -> SchemaViolation:
    """Return a violation of the method of a write, unsure where another one may be meant.

    Nothing was sent to what takes something, so that it may have been meant to read. Or the path with one name more has
    the method: `PUT /books` may be meant to add a book, or to change one whose identifier was forgotten. Of a read that
    takes all of the body in its query, and of writes those whose body takes it, no other one is meant.
    """
    request, description = case.request, case.description
    if wrong.keyword != "method" or request.method not in _WRITES:
        return wrong
    offered = [str(one) for one in choices(wrong.schema)]
    found = {one: description.operations.find(one, request.path) for one in offered}
    taken = {one: {*description.vocabulary(match[0]).places} for one, match in found.items() if match is not None}
    writes = [one for one in taken if one in _WRITES]
    is_one = len(writes) == 1 and "GET" in offered
    is_bare = request.body is None and not request.query and is_one
    if is_bare and any(place[0] in ("body", "query") for place in taken[writes[0]]):
        return wrong._replace(schema={**wrong.schema, BARE: True})
    names = [str(name) for name in request.body] if isinstance(request.body, Mapping) else []
    if names and offered == ["GET"] and all(("query", name) in taken.get("GET", ()) for name in names):
        return wrong._replace(schema={**wrong.schema, IN_QUERY: True})
    if description.operations.find(request.method, f"{request.path.rstrip('/')}/{_SOME_NAME}") is not None:
        return wrong._replace(schema={**wrong.schema, UNNAMED: True})
    fitting = [one for one in writes if all(("body", name) in taken[one] for name in names)]
    kept: list[Json] = [one for one in offered if one in fitting or one not in writes]
    return wrong._replace(schema={**wrong.schema, "enum": kept}) if names and fitting else wrong


_SOME_NAME: Final = "some-name"
