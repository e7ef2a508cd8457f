"""Repairs of schema violations for which there is no rule: an edit, a closed choice, or a question.

An edit keeps the meaning or is marked with `changes_intent`; values that only the caller has are asked for. No text of
an answer is read here: what it says stands in the violation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from corrigible.rules.engine.guarded_patch import PatchError
from corrigible.rules.functions.builtin import Operation
from corrigible.rules.pointer import MISSING, segments, through_arrays, value_at
from corrigible.rules.safety.decisive import READS, is_decisive, is_decisive_guess
from corrigible.rules.safety.equivalence import is_short_value
from corrigible.rules.safety.nearness import LONGEST, distance, is_slip
from corrigible.rules.safety.spelling import TO_AGREE, Spelling, may_be_other_value, may_be_other_word
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Request

from . import levels, names, route
from .body import repair_inside
from .first_violation import first_violation, is_fully_checked
from .json_schema import SELECTS, Schema, choices, types
from .schema_violation import SAID, SchemaViolation, place_of
from .suggestion import (
    Proposal,
    Repair,
    Suggestion,
    ask,
    confirmed,
    edit,
    guarded_ops,
    guards,
    is_secret,
    may_be_repeated,
    options,
    repair_of,
)
from .values import ANOTHER, AS_ONE, OF_A_KIND, ONLY_TOLD, repair_value

AS_TEXT: Final = "x-as-text"
"""In a schema: its numbers are written as texts, as proto-JSON does with 64 bits."""
BARRED: Final = "barred"
"""The keyword of a member that is known, and may not be sent here, whatever its value is."""

_GUESSED: Final = ("enum", "const", "anyOf", "oneOf")
"""Where what is sent instead may be what is near, or all that there is."""
_MOST_SLIPS: Final = 2
_MOST_ALTERNATIVES: Final = 5


def repair(violation: SchemaViolation, request: Request, group: str) -> Repair | None:
    """Return the suggestions for a violation, None where there is no sensible one.

    `group` makes the ids of groups unique within one answer.
    """
    proposal = _proposed(violation, request, group)
    if proposal is None:
        return None
    keywords = {one.keyword for one in violation.inside} or {violation.keyword}
    diagnosis, code, *_ = SAID.get(next(iter(keywords)), _UNKNOWN) if len(keywords) == 1 else _UNKNOWN
    return repair_of(proposal, diagnosis, code)


def _proposed(violation: SchemaViolation, request: Request, group: str) -> Proposal | None:
    match violation.keyword:
        case "path" | "method" | "base" | "around" | route.ELSEWHERE:
            return route.proposed(violation, request, group)
        case "contentSchema":
            return repair_inside(violation, request, group, _proposed)
        case "required":
            return names.missing(violation, request, group)
        case "additionalProperties" | "unevaluatedProperties":
            return names.undeclared(violation, request, group)
        case "readOnly":
            return names.without(violation, request, "Leave out what only the server writes.")
        case _ if violation.keyword == BARRED:
            left_out = names.without(violation, request, "Leave it out: it may not be sent here.")
            return Proposal([confirmed(one) for one in left_out.suggestions])
        case levels.MISPLACED:
            move = levels.move_member(violation, request)
            return None if move is None else Proposal([move.suggestion])
        case "uniqueItems":
            return ask(violation, request, "Send each element once.")
        case _ if violation.value is MISSING:
            return None
        case "anyOf" | "oneOf" if (of_forms := names.of_forms(violation, request, group)) is not None:
            return of_forms
        case "type" | "enum" | "const" | "anyOf" | "oneOf" if violation.value is None:
            return _without_null(violation, request, group)
        case "maxItems":
            return ask(violation, request, "Say which elements to keep.")
        case _:
            return _repaired_value(violation, request, group)


# Values


def _repaired_value(violation: SchemaViolation, request: Request, group: str) -> Proposal:
    if is_secret(violation.pointer, violation.value):
        return ask(violation, request, _ASK_VALUE)
    if (row := _row_around(violation, request)) is not None:
        return _in_lists(row, request)
    place = place_of(violation.pointer, request)
    spellings = repair_value(violation.keyword, violation.value, violation.schema, place)
    made = [_replaced(violation, request, one) for one in spellings[:_MOST_ALTERNATIVES]]
    edits = [one for one in made if one is not None]
    if len(spellings) == 1 and edits:
        return Proposal(edits)
    if len(edits) > 1 and len(spellings) <= _MOST_ALTERNATIVES:
        return options(edits, group)
    if violation.pointer == "/path":
        schema = route.schema_of_path(request.path, str(violation.value), violation.schema)
        return ask(violation, request, "Give a path with a value that is allowed in this segment.", schema=schema)
    return ask(violation, request, _ASK_CHOICE if choices(violation.schema) else _ASK_VALUE)


def _row_around(violation: SchemaViolation, request: Request) -> SchemaViolation | None:
    """Return the violation of the list around a value that should be a list itself; None where it is no such value.

    A list around each single value would have as many rows as values, which nobody writes by forgetting a level.
    """
    around, _, index = violation.pointer.rpartition("/")
    row = value_at(request, around) if around.startswith("/body/") and index.isdecimal() else None
    is_row = isinstance(row, list) and len(row) > 1 and not any(isinstance(one, list | dict) for one in row)
    if not is_row or violation.keyword != "type" or types(violation.schema) != ("array",) or request.form:
        return None
    schema: Schema = {"type": "array", "items": violation.schema}
    while isinstance(outer := value_at(request, around.rpartition("/")[0]), list):
        around, row, schema = around.rpartition("/")[0], outer, {"type": "array", "items": schema}
    return violation._replace(pointer=around, schema=schema, value=row)


def _in_lists(violation: SchemaViolation, request: Request) -> Proposal:
    """Return the outermost list as the only element of a list, which may be what is meant."""
    value = violation.value
    ops: list[Operation] = [{"op": "test", "path": violation.pointer, "value": value}]
    ops.append({"op": "replace", "path": violation.pointer, "value": [value]})
    message = "Send lists inside a list: say which of the values belong together."
    if first_violation([value], violation.schema) is not None or not may_be_repeated(value):
        return ask(violation, request, message)
    return Proposal([edit(violation, request, ops, "Send it as the only one of a list.", requires_confirmation=True)])


def _without_null(violation: SchemaViolation, request: Request, group: str) -> Proposal:
    """Leave out a member that must not be null, where that means the same: in objects that are created or replaced.

    (In a PATCH null clears a value, and an absent member keeps it; but a list is written as a whole.) A required member
    has to be given instead.
    """
    question, pointer = ask(violation, request, _ASK_VALUE), violation.pointer
    is_member = pointer.startswith("/body/") and isinstance(value_at(request, pointer.rpartition("/")[0]), dict)
    is_in_list = request.method == "PATCH" and any(through_arrays(request.document(), pointer))
    if not (request.method in ("POST", "PUT") or is_in_list) or not is_member or names.may_limit(segments(pointer)[-1]):
        return question
    ops = guarded_ops(request, pointer, None, {"op": "remove", "path": pointer})
    if not ops:
        return question
    message = "Leave it out: null is no value there."
    is_told = violation.schema.get(ONLY_TOLD) is True  # nothing says whether it is required
    left_out = edit(violation, request, ops, message, changes_intent=True, requires_confirmation=is_told)
    return options([left_out, *question.suggestions], group)._replace(type="recovery_guidance")


def _replaced(violation: SchemaViolation, request: Request, spelled: Spelling) -> Suggestion | None:
    value, old = spelled.value, violation.value
    if isinstance(old, str) and type(value) is int and violation.schema.get(AS_TEXT) is True:
        value = scalar_text(value)
    is_text = place_of(violation.pointer, request).text
    if violation.pointer.startswith(("/headers/", "/path")) or (isinstance(value, bool) and is_text):
        value = scalar_text(value)  # not every caller writes true as `true`
    if violation.pointer == "/path":  # a parameter of the path: one segment of it
        value, old = route.with_segment(request.path, str(violation.value), value), request.path
        if value is None:
            return None
    ops = _operations(violation.pointer, request, old, value)
    if not ops:
        return None
    because = f": {spelled.assumption}" if spelled.assumption else ""
    says = [*SAID.get(violation.keyword, _UNKNOWN)[2:], _ANY][0]
    asks = violation.schema.get(ONLY_TOLD) is True
    asks = asks or any(one in spelled.assumption for one in (*TO_AGREE, ANOTHER, AS_ONE, OF_A_KIND))
    asks = asks or (violation.keyword in _GUESSED and is_decisive_guess(ops, request))
    asks = asks or _is_guessed(violation, request, spelled)
    return edit(
        violation,
        request,
        ops,
        f"{says}{because}.",
        changes_intent=bool(spelled.assumption),
        requires_confirmation=asks,
        verified=is_fully_checked(violation.schema),
    )


def _operations(pointer: str, request: Request, old: Json, value: Json) -> list[Operation]:
    if not (isinstance(old, list) and len(old) == 1 and isinstance(value, Mapping) and value is old[0]):
        return guarded_ops(request, pointer, old, {"op": "replace", "path": pointer, "value": value})
    source = f"{pointer}/0"  # moved, a secret in it is not repeated
    try:
        return [*guards(request.document(), source, value), {"op": "move", "from": source, "path": pointer}]
    except PatchError:
        return []


def _is_guessed(violation: SchemaViolation, request: Request, spelled: Spelling) -> bool:
    """Whether a word is taken for a truth value, or an identifier for one spelt otherwise, where much hangs on it.

    Or for the name of a form of which it is only a part, or for another word of those that are allowed: another form
    is another wish.
    """
    old, value, keyword = violation.value, spelled.value, violation.keyword
    name, is_read = place_of(violation.pointer, request).name, request.method in READS
    if isinstance(old, str) and isinstance(value, str) and max(len(old), len(value)) <= LONGEST:
        is_near, selects = is_slip(old, value), violation.schema.get(SELECTS) is True
        is_one_of_them = keyword in _GUESSED and not spelled.assumption and not is_short_value(old, value)
        if is_one_of_them and not is_near and distance(old, value) > _MOST_SLIPS:
            return True
        is_other = may_be_other_word(old, value) or may_be_other_value(old, value)
        if is_one_of_them and is_other and not (is_read and is_near):
            return True  # whoever only reads sees what came of a slip
        if selects and not is_read:
            return not is_near
    if is_read:
        return False
    if keyword in ("type", "enum") and scalar_text(value).casefold() in ("true", "false"):
        plain = scalar_text(old).strip().casefold() in ("true", "false")
        return not plain and (is_decisive(name, request) or names.may_limit(name))
    return keyword == "pattern" and bool(spelled.assumption) and is_decisive(name, request)


# What is said


_ASK_VALUE: Final = "Give a value that is allowed there."
_ASK_CHOICE: Final = "Choose one of the values that are allowed."

_ANY: Final = "Send a value that is allowed"
DIAGNOSES: Final = frozenset(text for text, *_ in SAID.values())
"""What the description says of a request, whatever its values are."""
_UNKNOWN: Final = ("The value does not fit the description of the operation.", "NOT_AS_DESCRIBED")
