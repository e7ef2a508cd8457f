"""What errors say of members and elements that belong together.

| the refusal says                                           | what follows                                        |
|------------------------------------------------------------|-----------------------------------------------------|
| a member is missing, and one beside it unknown             | the unknown one may be the missing one              |
| several members of an object are missing                   | the server knows all of them                        |
| what has an identifier lacks what answers it: a tool call  | an element is asked for behind that of the list     |

Knows: errors, suggestions for them. Does not know: descriptions, where errors come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final

from corrigible.adapters.formats.pointers import pointer, steps
from corrigible.adapters.formats.statement import has_word
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.functions.builtin import Operation
from corrigible.rules.pointer import MISSING, segments, through_arrays, value_at
from corrigible.rules.safety.decisive import words
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import Repair, ask, guarded_ops
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind, read
from corrigible.schema.exchange import Json, Protocol, Request

from .state_reader import values_in


def with_members_told(violation: SchemaViolation, errors: Sequence[Violation], request: Request) -> SchemaViolation:
    """Return what is missing with all that the server misses beside it declared: it knows these members.

    What it says it misses though it was sent is rather the member that was meant, under another name.
    """
    around = violation.parent_schema or {}
    properties = around.get("properties")
    if violation.keyword != "required" or not isinstance(properties, Mapping):
        return violation
    parent = violation.pointer.rpartition("/")[0]
    missed = [one.pointer for one in errors if one.constraint == "required" and _parent(one) == parent]
    told = [segments(place)[-1] for place in missed if value_at(request, place) is MISSING]
    undeclared: dict[str, Json] = {name: {} for name in told if name not in properties}
    if not undeclared:
        return violation
    return violation._replace(parent_schema={**around, "properties": {**properties, **undeclared}})


def answering_element(request: Request, error: Violation) -> Repair | None:
    """Return the question for the element that a list lacks behind the one that has an identifier.

    `The following tool_call_ids did not have response messages: call_A`: what the call gave only whoever made it knows.
    The answer may name the list inside of the next element that it belongs into.
    """
    said = [one for one in read(error.message).of(Kind.MISSING) if one.row.endswith(_ANSWER_TO)]
    if not said or request.protocol is not Protocol.HTTP:
        return None
    values = islice(values_in(request.body, "/body"), _MOST_VALUES)
    named = [place for place, one in values if isinstance(one, str) and has_word(error.message, one)]
    elements = {place: next(through_arrays(request.document(), place), "") for place in named if _is_identifier(place)}
    lists = {element.rpartition("/")[0] for element in elements.values() if element}
    if len(lists) != 1:
        return None
    place, element = max(elements.items(), key=lambda one: int(one[1].rpartition("/")[2] or -1))
    around, _, index = element.rpartition("/")
    inner = [pointer(steps(field), request) for one in said for field in one.slots.get("field", ())]
    inner = [one for one in inner if one.startswith(f"{around}/") and isinstance(value_at(request, one), list)]
    target = f"{inner[0]}/0" if inner else f"{around}/{int(index) + 1}"
    ops: list[Operation] = [{"op": "test", "path": place, "value": value_at(request, place)}]
    if (there := value_at(request, target)) is not MISSING:
        ops += guarded_ops(request, target, there, {"op": "add", "path": target, "value": {}})
    else:
        ops.append({"op": "add", "path": target, "value": {}})
    message = "Give the element that belongs there: the server misses what answers the one with this identifier."
    violation = SchemaViolation(target, "required", {})
    (question,) = ask(violation, request, message, schema={"type": "object"}).suggestions
    if ops[-1]["op"] != "add":
        return None
    return Repair(
        ({**question, "patch": ops},), "recovery_guidance", "An element of a list is missing.", "VALUE_MISSING"
    )


_ANSWER_TO: Final = ".answer-to"
_MOST_VALUES: Final = 500


def _is_identifier(place: str) -> bool:
    return words(segments(place)[-1])[-1:] in (("id",), ("uuid",), ("key",), ("ref",))


def moved_from(result: RuleResult) -> set[str]:
    """Return the places whose values the only edit of a result sends under another name."""
    edits = [one for one in result.suggestions if "patch" in one]
    moves = [op for op in edits[0]["patch"] if op["op"] == "move"] if len(edits) == 1 else []
    return {str(op["from"]) for op in moves}


def _parent(error: Violation) -> str:
    return error.pointer.rpartition("/")[0]
