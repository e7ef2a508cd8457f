"""Repairs of schema violations for which there is no rule: an edit, a closed choice, or a question.

An edit keeps the meaning or is marked with `changes_intent`; values that only the caller has are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.rules.engine.guarded_patch import PatchError
from corrigible.rules.functions.edits import Operation
from corrigible.rules.pointer import MISSING, segments, value_at
from corrigible.rules.safety.decisive import READS, is_decisive, is_decisive_guess
from corrigible.rules.safety.equivalence import is_short_value
from corrigible.rules.safety.nearness import LONGEST, is_slip
from corrigible.rules.safety.other_word import may_be_other_word
from corrigible.rules.safety.spelling import Spelling
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Request

from . import (
    alternative,
    inside_text,
    leaving_out,
    list_of_lists,
    missing_value,
    nesting,
    renaming,
    route,
    sent_twice,
)
from .first_violation import duplicates, first_violation, is_fully_checked
from .json_schema import SELECTS, choices
from .repair_value import NAMED_ONLY, repair_value
from .schema_violation import SchemaViolation
from .suggestion import Proposal, ask, edit, guarded_edit, guards, is_secret, options
from .told_spelling import SPELLING
from .trim_schema import trim_schema
from .value_place import place_of

AS_TEXT: Final = "x-as-text"
"""In a schema: its numbers are written as texts, as proto-JSON does with 64 bits."""


IS_LIST: Final = "x-list"
"""In a schema of an array: it is a list and no set, so that a repeated element has a meaning."""


class Repair(NamedTuple):
    """The suggestions for one violation, in the shape of the wire."""

    suggestions: tuple[dict[str, Json], ...]
    type: str
    diagnosis: str
    code: str
    recovery: str = "correctable"
    retry: Mapping[str, Json] | None = None
    """How the same request may be sent again."""


def repair(violation: SchemaViolation, request: Request, group: str) -> Repair | None:
    """Return the suggestions for a violation, None where there is no sensible one.

    `group` makes the ids of groups unique within one answer.
    """
    proposal = _proposed(violation, request, group)
    if proposal is None:
        return None
    keywords = {one.keyword for one in violation.inside} or {violation.keyword}
    diagnosis, code = _DIAGNOSES.get(next(iter(keywords)), _UNKNOWN) if len(keywords) == 1 else _UNKNOWN
    return Repair(tuple(proposal.suggestions), proposal.type, diagnosis, code, proposal.recovery)


def _proposed(violation: SchemaViolation, request: Request, group: str) -> Proposal | None:
    match violation.keyword:
        case "path" | "method" | "base" | "around" | route.ELSEWHERE:
            return route.proposed(violation, request, group)
        case inside_text.CONTENT:
            return inside_text.proposed(violation, request, group, _proposed)
        case "required":
            return missing_value.proposed(violation, request, group)
        case "additionalProperties" | "unevaluatedProperties":
            return renaming.undeclared(violation, request, group)
        case "readOnly":
            return leaving_out.without(violation, request, "Leave out what only the server writes.")
        case nesting.MISPLACED:
            move = nesting.move_member(violation, request)
            return None if move is None else Proposal([move.suggestion])
        case sent_twice.SENT_TWICE:
            return sent_twice.proposed(violation, request)
        case "uniqueItems":
            return _without_duplicates(violation, request)
        case _ if violation.value is MISSING:
            return None
        case "anyOf" | "oneOf" if (inner := alternative.required_by_all(violation)) is not None:
            return missing_value.proposed(inner, request, group)
        case "anyOf" | "oneOf" if (choice := alternative.chosen(violation, request, group)) is not None:
            return choice
        case "type" | "enum" | "const" | "anyOf" | "oneOf" if violation.value is None:
            return _without_null(violation, request, group)
        case "maxItems":
            return ask(violation, request, "Say which elements to keep.", schema=_to_keep(violation))
        case _:
            return _repaired_value(violation, request, group)


def _repaired_value(violation: SchemaViolation, request: Request, group: str) -> Proposal:
    if is_secret(violation.pointer, violation.value):
        return _asked_again(violation, request)
    if (rows := list_of_lists.proposed(violation, request)) is not None:
        return rows
    place = place_of(violation.pointer, request)
    spellings = repair_value(violation.keyword, violation.value, violation.schema, place)[: _MOST_ALTERNATIVES + 1]
    replacements = (
        [_replaced(violation, request, spelling) for spelling in spellings[:_MOST_ALTERNATIVES]] if spellings else []
    )
    edits = [replacement for replacement in replacements if replacement is not None]
    if len(spellings) == 1 and edits:
        return Proposal(edits)
    if len(edits) > 1 and len(spellings) <= _MOST_ALTERNATIVES:
        return options(edits, group)
    if violation.pointer == "/path":
        schema = route.schema_of_path(request.path, str(violation.value), violation.schema)
        return ask(violation, request, _ASK_SEGMENT, schema=schema)
    return ask(violation, request, _ASK_CHOICE if choices(violation.schema) else _ASK_VALUE)


def _asked_again(violation: SchemaViolation, request: Request) -> Proposal:
    """Ask for a secret in another form. Of a number that is to be a text whoever calls knows how to write it."""
    is_number = violation.keyword == "type" and isinstance(violation.value, int | float)
    question = ask(violation, request, f"{_SAYS['type']}." if is_number else _ASK_VALUE)
    if is_number:
        question.suggestions[0]["placeholders"][0]["ask"] = "agent"
    return question


def _without_null(violation: SchemaViolation, request: Request, group: str) -> Proposal:
    """Leave out a member that must not be null, where that means the same: in objects that are created or replaced.

    (In a PATCH null clears a value, and an absent member keeps it.) A required member has to be given instead.
    """
    question = ask(violation, request, _ASK_VALUE)
    parent = value_at(request, violation.pointer.rpartition("/")[0])
    if (
        request.method not in ("POST", "PUT")
        or not violation.pointer.startswith("/body/")
        or not isinstance(parent, dict)
    ):
        return question
    if not violation.pointer.startswith("/body/") or renaming.may_limit(segments(violation.pointer)[-1]):
        return question
    try:
        ops = guarded_edit(request, violation.pointer, None, {"op": "remove", "path": violation.pointer})
    except PatchError:
        return question
    left_out = edit(violation, request, ops, "Leave it out: null is no value there.", changes_intent=True)
    return options([left_out, *question.suggestions], group)._replace(type="recovery_guidance")


def _replaced(violation: SchemaViolation, request: Request, spelled: Spelling) -> dict[str, Json] | None:
    value, old = spelled.value, violation.value
    if isinstance(old, str) and type(value) is int and violation.schema.get(AS_TEXT) is True:
        value = scalar_text(value)
    if violation.pointer.startswith(("/headers/", "/path")) or (
        isinstance(value, bool) and _is_text(violation, request)
    ):
        value = scalar_text(value)  # not every caller writes true as `true`
    if violation.pointer == "/path":  # a parameter of the path: one segment of it
        value, old = route.with_segment(request.path, str(violation.value), value), request.path
        if value is None:
            return None
    change: Operation = {"op": "replace", "path": violation.pointer, "value": value}
    try:
        if isinstance(old, list) and len(old) == 1 and isinstance(value, Mapping) and value is old[0]:
            source = f"{violation.pointer}/0"  # moved, a secret in it is not repeated
            ops = [
                *guards(request.document(), source, value),
                {"op": "move", "from": source, "path": violation.pointer},
            ]
        else:
            ops = guarded_edit(request, violation.pointer, old, change)
    except PatchError:
        return None
    message = f"{_SAYS.get(violation.keyword, 'Send a value that is allowed')}{_because(spelled.assumption)}."
    return edit(
        violation,
        request,
        ops,
        message,
        changes_intent=bool(spelled.assumption),
        requires_confirmation=(violation.keyword in _GUESSED and is_decisive_guess(ops, request))
        or _is_guessed(violation, request, spelled)
        or _is_other_word(violation, request, spelled),
        verified=is_fully_checked(violation.schema) and violation.keyword != SPELLING,
    )


def _is_guessed(violation: SchemaViolation, request: Request, spelled: Spelling) -> bool:
    """Whether a word is taken for a truth value, or an identifier for one spelt otherwise, where much hangs on it.

    Or for the name of a form of which it is only a part: another form is another wish.
    """
    if request.method in READS:
        return False
    if violation.schema.get(SELECTS) is True and isinstance(violation.value, str) and isinstance(spelled.value, str):
        return not is_slip(violation.value, spelled.value)
    name = place_of(violation.pointer, request).name
    if violation.keyword in ("type", "enum") and scalar_text(spelled.value).casefold() in ("true", "false"):
        plain = scalar_text(violation.value).strip().casefold() in ("true", "false")
        return not plain and (is_decisive(name, request) or renaming.may_limit(name))
    if spelled.assumption == NAMED_ONLY:
        return True
    if isinstance(violation.value, str) and isinstance(spelled.value, Mapping):
        return violation.value in spelled.value.values() and is_decisive(name, request)
    return violation.keyword == "pattern" and bool(spelled.assumption) and is_decisive(name, request)


def _is_other_word(violation: SchemaViolation, request: Request, spelled: Spelling) -> bool:
    """Whether a word is taken for another one of those that are allowed, where that changes something."""
    if request.method in READS or violation.keyword not in _GUESSED or spelled.assumption:
        return False
    sent, near = violation.value, spelled.value
    if not isinstance(sent, str) or not isinstance(near, str) or max(len(sent), len(near)) > LONGEST:
        return False
    return may_be_other_word(sent, near) and not is_short_value(sent, near)


def _is_text(violation: SchemaViolation, request: Request) -> bool:
    return place_of(violation.pointer, request).text


def _because(assumes: str) -> str:
    return f": {assumes}" if assumes else ""


def _without_duplicates(violation: SchemaViolation, request: Request) -> Proposal | None:
    """Drop duplicates. How often it is meant may be lost, but not of one of few words, which are switches."""
    items = violation.value
    if not isinstance(items, list):
        return None
    again = duplicates(items, text=place_of(violation.pointer, request).text)
    if not again or is_secret(violation.pointer, items) or len(again) > _MOST_DROPPED:
        return ask(violation, request, "Send each element once.")
    ops: list[Operation] = []
    for index in reversed(again):
        element = f"{violation.pointer}/{index}"
        ops += [{"op": "test", "path": element, "value": items[index]}, {"op": "remove", "path": element}]
    left = [item for index, item in enumerate(items) if index not in again]
    verified = is_fully_checked(violation.schema) and first_violation(left, violation.schema) is None
    message = "Send each element once."
    counts = violation.schema.get(IS_LIST) is True or not _are_switches(violation.schema, items)
    dropped = edit(violation, request, ops, message, changes_intent=counts, verified=verified)
    if counts:
        dropped["safety"]["loses"] = [f"{violation.pointer}/{index}" for index in again]
    return Proposal([dropped])


def _are_switches(schema: Mapping[str, Json], items: Sequence[Json]) -> bool:
    """Whether the elements are some of a few words that are allowed: twice says no more than once."""
    inner = schema.get("items")
    return isinstance(inner, Mapping) and bool(choices(inner)) and all(isinstance(item, str) for item in items)


def _to_keep(violation: SchemaViolation) -> Mapping[str, Json]:
    """Return the schema of the question which elements to keep: some of those that were sent."""
    items: Sequence[Json] = violation.value if isinstance(violation.value, list) else ()
    schema = dict(trim_schema(violation.schema))
    plain: Iterable[Json] = [item for item in items if not isinstance(item, list | dict)]
    distinct = list(dict.fromkeys(plain))
    if distinct and len(distinct) == len(items) <= _MOST_NAMED and not is_secret(violation.pointer, violation.value):
        schema["items"] = {"enum": distinct}
    return schema


_GUESSED: Final = ("enum", "const", "anyOf", "oneOf")
"""Where what is sent instead may be what is near, or all that there is."""

_MOST_ALTERNATIVES: Final = 5
_MOST_DROPPED: Final = 8
_MOST_NAMED: Final = 16

_ASK_VALUE: Final = "Give a value that is allowed there."
_ASK_CHOICE: Final = "Choose one of the values that are allowed."
_ASK_SEGMENT: Final = "Give a path with a value that is allowed in this segment."

_SAYS: Final = {
    "enum": "Send the value that is allowed",
    "const": "Send the value that is allowed",
    SPELLING: "Send the value as the description writes it",
    "type": "Send the value in the type that is expected",
    "anyOf": "Send the value in a form that is expected",
    "oneOf": "Send the value in a form that is expected",
    "format": "Send the value in the format that is expected",
    "pattern": "Send the value in the form that is expected",
    "maxLength": "Send a text that is short enough",
    "minimum": "Send a number within the limits",
    "maximum": "Send a number within the limits",
    "exclusiveMinimum": "Send a number within the limits",
    "exclusiveMaximum": "Send a number within the limits",
    "multipleOf": "Send a number of the steps that are allowed",
    "formatMinimum": "Send a span of time within the limits",
    "formatMaximum": "Send a span of time within the limits",
}

_DIAGNOSES: Final[Mapping[str, tuple[str, str]]] = {
    "enum": ("The value is none of those that are allowed.", "VALUE_NOT_ALLOWED"),
    "const": ("The value is not the one that is allowed.", "VALUE_NOT_ALLOWED"),
    "required": ("A required value is missing.", "VALUE_MISSING"),
    "type": ("The value has the wrong type.", "WRONG_TYPE"),
    "minimum": ("The number is too small.", "OUT_OF_RANGE"),
    "exclusiveMinimum": ("The number is too small.", "OUT_OF_RANGE"),
    "maximum": ("The number is too large.", "OUT_OF_RANGE"),
    "exclusiveMaximum": ("The number is too large.", "OUT_OF_RANGE"),
    "multipleOf": ("The number is not of the steps that are allowed.", "OUT_OF_RANGE"),
    "formatMinimum": ("The span of time is too short.", "OUT_OF_RANGE"),
    "formatMaximum": ("The span of time is too long.", "OUT_OF_RANGE"),
    "minProperties": ("The map has too few entries.", "TOO_FEW"),
    "maxProperties": ("The map has too many entries.", "TOO_MANY"),
    "propertyNames": ("A key of the map is not allowed.", "WRONG_FORMAT"),
    "not": ("The value is one of those that are not allowed.", "VALUE_NOT_ALLOWED"),
    "minLength": ("The text is too short.", "TOO_SHORT"),
    "maxLength": ("The text is too long.", "TOO_LONG"),
    "pattern": ("The text has the wrong form.", "WRONG_FORMAT"),
    "format": ("The value has the wrong format.", "WRONG_FORMAT"),
    "minItems": ("The list has too few elements.", "TOO_FEW"),
    "maxItems": ("The list has too many elements.", "TOO_MANY"),
    sent_twice.SENT_TWICE: ("The parameter takes one value, and was sent more than once.", "DUPLICATE"),
    "uniqueItems": ("The list holds an element twice.", "DUPLICATE"),
    "additionalProperties": ("The operation does not know this member.", "UNKNOWN_MEMBER"),
    "unevaluatedProperties": ("The operation does not know this member.", "UNKNOWN_MEMBER"),
    nesting.MISPLACED: ("The operation knows this member one level away.", "UNKNOWN_MEMBER"),
    "anyOf": ("The value has none of the forms that are allowed.", "WRONG_FORM"),
    "oneOf": ("The value has not one of the forms that are allowed.", "WRONG_FORM"),
    SPELLING: ("The server does not take the value, which the description writes in another way.", "VALUE_REFUSED"),
    "blank": ("A required value is empty.", "VALUE_MISSING"),
    "readOnly": ("Only the server writes this member.", "READ_ONLY_MEMBER"),
    "value": ("The server does not take the value.", "VALUE_REFUSED"),
    "reference": ("There is nothing under a name in the path.", "NOT_FOUND"),
    "path": ("No operation has this path.", "UNKNOWN_PATH"),
    "around": ("No operation has this path.", "UNKNOWN_PATH"),
    "base": ("The description has another path for the operation.", "UNKNOWN_PATH"),
    route.ELSEWHERE: ("The path has no operation of this method, and a near path has one.", "UNKNOWN_METHOD"),
    "method": ("The path has no operation of this method.", "UNKNOWN_METHOD"),
}
DIAGNOSES: Final = frozenset(text for text, _ in _DIAGNOSES.values())
"""What the description says of a request, whatever its values are."""
_UNKNOWN: Final = ("The value does not fit the description of the operation.", "NOT_AS_DESCRIBED")
