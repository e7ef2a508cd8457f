"""Complaints about several members at once: how two fit together, which of them exclude each other, which is needed.

| the rows of wordings read                             | what follows                                          |
|-------------------------------------------------------|-------------------------------------------------------|
| an order, and two of the named members were sent      | a question at both places: which is wrong is not said |
| that members exclude each other, and two were sent    | a choice which one to keep; leaving out is flagged    |

Knows: what a sentence says, the members that were sent or are declared. Does not know: which of them the caller meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from corrigible.adapters.formats.sent_places import sent_places
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.pointer import segments, value_at
from corrigible.rules.schema_repair.json_schema import trim_schema
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import (
    Repair,
    Suggestion,
    ask,
    guarded_ops,
    left_out,
    options,
    repair_of,
)
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind, Reading, read
from corrigible.rules.wordings.tokens import name_words, tokens_of
from corrigible.schema.exchange import Protocol, Request

from .api_profile import RefusalCase

_STATUSES: Final = frozenset({400, 422})
_OF_VALUES: Final = frozenset({"INVALID_ARGUMENT", "OUT_OF_RANGE"})
_READ: Final = 500
"""Characters of a message in which members are looked for."""
_MOST_PLACES: Final = 500
_MOST_MEMBERS: Final = 4
_LONGEST_NAME: Final = 64
_ORDERED: Final = (".order", ".compare", ".compare-words")
"""Rows of how two values have to fit together."""
_APART: Final = (".not-both", ".only-one", ".both-given", ".peers", ".must-not")
"""Rows of members one of which has to go."""
_ONE_NEEDED: Final = (".one-needed", ".provide-one", ".or-must")
"""Rows of several members one of which has to be given."""


def repair_several(case: RefusalCase, error: Violation, group: str) -> Repair | None:
    """Return what follows from a complaint about several members; None where it is about one, or says a limit."""
    request = case.request
    is_other_call = request.protocol is Protocol.GRPC and error.type not in _OF_VALUES
    if case.exchange.status not in _STATUSES or is_other_call or error.stated.keys() - {"enum"}:
        return None
    reading = read(error.message)
    is_apart = any(one.row.endswith(_APART) for one in reading.of(Kind.APART))
    is_needed = any(one.row.endswith(_ONE_NEEDED) for one in reading.of(Kind.TOGETHER))
    is_ordered = any(one.row.endswith(_ORDERED) for one in reading.said)
    if not (is_apart or is_needed or is_ordered):
        return None
    named = _named(reading, _sent(request), error.pointer)
    sent = named if len({_parent(one) for one in named}) == 1 else []
    if (is_apart or is_needed) and len(sent) > 1:
        return _to_keep(request, sent, group)
    here = [error.pointer] if error.pointer.count("/") > 1 else []
    pair = list(dict.fromkeys([*here, *sent]))
    is_pair = len(pair) == 2 and _parent(pair[0]) == _parent(pair[1])
    return _to_fit(case, pair) if is_ordered and is_pair else None


def _to_fit(case: RefusalCase, places: Sequence[str]) -> Repair:
    """Return the question at the places of values that do not fit together."""
    questions = [(place, trim_schema(case.declared_place(place).schema)) for place in places]
    message = "Give values that fit together. The server does not say which of them is wrong."
    question = ask(SchemaViolation(places[0], "related", {}), case.request, message, places=questions)
    return repair_of(question, "Values do not fit together.", "VALUES_DISAGREE")


def _to_keep(request: Request, places: Sequence[str], group: str) -> Repair | None:
    """Return the choice which of several members to keep. What is left out may have been wanted."""
    edits: list[Suggestion] = []
    for kept in places if len(places) <= _MOST_MEMBERS else ():
        others = [place for place in places if place != kept]
        removed = [guarded_ops(request, one, value_at(request, one), {"op": "remove", "path": one}) for one in others]
        if not all(removed):
            return None
        ops = [op for each in removed for op in each]
        violation = SchemaViolation(others[0], "exclusive", {})
        edits.append(left_out(violation, request, ops, f"Send {_called(kept)} without the others."))
    if not edits:
        return None
    return repair_of(options(edits, group), "Only one of several values may be sent.", "VALUES_EXCLUDE")


def _parent(place: str) -> str:
    return place.rpartition("/")[0]


def _called(place: str) -> str:
    name = segments(place)[-1]
    return f"`{name}`" if name.isidentifier() and name.isascii() and len(name) <= _LONGEST_NAME else "one"


def _sent(request: Request) -> list[tuple[str, str]]:
    """Return the names of the members that were sent, each with its place, the outermost first."""
    named = (one for one in sent_places(request) if not one.path[-1].isdecimal())
    return [(one.path[-1], one.pointer) for one in islice(named, _MOST_PLACES)]


def _named(reading: Reading, members: Sequence[tuple[str, str]], near: str) -> list[str]:
    """Return the places of the members that a text names, in its order.

    Of several of one name it is the one beside `near`, else the outermost. A longer name hides those that are part of
    it. A name of one letter may be an article, unless a sentence reads it as a name.
    """
    tokens, parent = tokens_of(reading.text[:_READ]), _parent(near)
    fields = {field for one in reading.said for field in one.slots.get("field", ())}
    places: dict[tuple[str, ...], list[str]] = {}
    for name, place in members:
        if len(name) > 1 or name in fields:
            places.setdefault(name_words(name), []).append(place)
    found: list[tuple[int, str]] = []
    hidden: set[int] = set()
    for plain in sorted(places, key=len, reverse=True):
        mention, there = tokens.mention(" ".join(plain)), places[plain]
        positions = range(mention.position, mention.position + len(plain)) if mention is not None else range(0)
        if mention is None or not hidden.isdisjoint(positions):
            continue
        hidden.update(positions)
        beside = [place for place in there if _parent(place) == parent] if parent.count("/") > 1 else []
        chosen = beside or [place for place in there if place.count("/") == there[0].count("/")]
        if len(chosen) == 1:
            found.append((mention.position, chosen[0]))
    return [place for _, place in sorted(found)]


def moved_from(result: RuleResult) -> set[str]:
    """Return the places whose values the only edit of a result sends under another name."""
    edits = [one for one in result.suggestions if "patch" in one]
    moves = [op for op in edits[0]["patch"] if op["op"] == "move"] if len(edits) == 1 else []
    return {str(op["from"]) for op in moves}
