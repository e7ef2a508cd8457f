"""Complaints about several members at once: how two fit together, which of them exclude each other, which is needed.

| the rows of wordings read                             | what follows                                          |
|-------------------------------------------------------|-------------------------------------------------------|
| an order, and two of the named members were sent      | a question at both places: which is wrong is not said |
| that members exclude each other, and two were sent    | a choice which one to keep; leaving out is flagged    |
| that one of several is needed, and none was sent      | a choice of questions                                 |

Knows: what a sentence says, the members that were sent or are declared. Does not know: which of them the caller meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from corrigible.adapters.base import Described
from corrigible.adapters.formats.sent_places import sent_places
from corrigible.rules.budget import spend
from corrigible.rules.engine.guarded_patch import PatchError
from corrigible.rules.functions.builtin import Operation
from corrigible.rules.pointer import MISSING, segments, to_pointer, value_at
from corrigible.rules.schema_repair.json_schema import trim_schema
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import Proposal, Repair, Suggestion, ask, guarded_edit, left_out, options
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind, read
from corrigible.schema.exchange import Json, Protocol, Request

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
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[,/&]")


class _Mention(NamedTuple):
    """A member that a message names."""

    place: str
    start: int


def repair_several(case: RefusalCase, error: Violation, description: Described | None, group: str) -> Repair | None:
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
    text = _plain(error.message[:_READ])
    named = [one.place for one in _mentions(text, _sent(request), error.pointer)]
    if is_apart and len(named) > 2:  # "a and b cannot both be set for this model"
        before = error.message[:_READ][: min(one.start for one in reading.of(Kind.APART))]
        first = [one.place for one in _mentions(_plain(before), _sent(request), error.pointer)]
        named = first if len(first) > 1 else named
    sent = named if len({_parent(one) for one in named}) == 1 else []
    if (is_apart or is_needed) and len(sent) > 1:
        return _to_keep(request, sent, group)
    if is_needed and error.pointer.count("/") < 2:
        return _to_give(case, text, sent, description, group)
    here = [error.pointer] if error.pointer.count("/") > 1 else []
    pair = list(dict.fromkeys([*here, *sent]))
    is_pair = len(pair) == 2 and _parent(pair[0]) == _parent(pair[1])
    return _to_fit(case, pair, description) if is_ordered and is_pair else None


def _to_fit(case: RefusalCase, places: Sequence[str], description: Described | None) -> Repair:
    """Return the question at the places of values that do not fit together."""
    questions = [(place, _schema(case, place, description)) for place in places]
    message = "Give values that fit together. The server does not say which of them is wrong."
    question = ask(SchemaViolation(places[0], "related", {}), case.request, message, places=questions)
    return Repair(tuple(question.suggestions), question.type, "Values do not fit together.", "VALUES_DISAGREE")


def _to_give(
    case: RefusalCase, text: str, sent: Sequence[str], description: Described | None, group: str
) -> Repair | None:
    """Return the choice of members one of which is needed; None where fewer than two are declared, or one is sent."""
    request, operation = case.request, case.match.operation
    if description is None or not operation:
        return None
    declared = [
        (path[-1], to_pointer(path))
        for path in description.vocabulary(operation).places
        if len(path) == 2 and path[0] in ("body", "query")
    ]
    places = [one.place for one in _mentions(text, declared, "")]
    if not 1 < len(places) <= _MOST_MEMBERS or (request.body is None and "/body" in places[0]):
        return None
    is_sent = any(value_at(request, place) is not MISSING for place in places)
    if is_sent or not {place for _, place in declared}.isdisjoint(sent):
        return None
    asked: list[Suggestion] = []
    for place in places:
        message = f"Give {_called(place)}, if that is what is meant."
        violation = SchemaViolation(place, "required", {})
        asked += ask(violation, request, message, schema=_schema(case, place, description)).suggestions
    return _repair(options(asked, group), "One of several values is needed.", "VALUE_MISSING")


def _to_keep(request: Request, places: Sequence[str], group: str) -> Repair | None:
    """Return the choice which of several members to keep. What is left out may have been wanted."""
    edits: list[Suggestion] = []
    for kept in places if len(places) <= _MOST_MEMBERS else ():
        others = [place for place in places if place != kept]
        ops: list[Operation] = []
        try:
            for place in others:
                ops += guarded_edit(request, place, value_at(request, place), {"op": "remove", "path": place})
        except PatchError:
            return None
        violation = SchemaViolation(others[0], "exclusive", {})
        edits.append(left_out(violation, request, ops, f"Send {_called(kept)} without the others."))
    if not edits:
        return None
    return _repair(options(edits, group), "Only one of several values may be sent.", "VALUES_EXCLUDE")


def _repair(proposal: Proposal, diagnosis: str, code: str) -> Repair:
    return Repair(tuple(proposal.suggestions), proposal.type, diagnosis, code, proposal.recovery)


def _schema(case: RefusalCase, place: str, description: Described | None) -> Mapping[str, Json]:
    if description is None or not case.match.operation:
        return {}
    return trim_schema(description.declared_place(case.request, case.match.operation, place).schema)


def _parent(place: str) -> str:
    return place.rpartition("/")[0]


def _called(place: str) -> str:
    name = segments(place)[-1]
    return f"`{name}`" if name.isidentifier() and name.isascii() and len(name) <= _LONGEST_NAME else "one"


def _plain(text: str) -> str:
    """Return the words of a text, those of names apart, in lower case, between blanks."""
    spend()
    return " " + " ".join(_WORD.findall(text)).lower() + " "


def _sent(request: Request) -> list[tuple[str, str]]:
    """Return the names of the members that were sent, each with its place, the outermost first."""
    named = (one for one in sent_places(request) if not one.path[-1].isdecimal())
    return [(one.path[-1], one.pointer) for one in islice(named, _MOST_PLACES)]


def _mentions(text: str, named: Sequence[tuple[str, str]], near: str) -> list[_Mention]:
    """Return the members that a text names, in its order.

    Of several of one name it is the one beside `near`, else the outermost. A longer name hides those that are part of
    it. A name of one letter counts only where no article can be meant.
    """
    parent = _parent(near)
    places: dict[str, list[str]] = {}
    for name, place in named:
        plain = _plain(name).strip()
        if plain:
            places.setdefault(plain, []).append(place)
    found: list[_Mention] = []
    for plain in sorted(places, key=len, reverse=True):
        spend()
        start = text.find(f" {plain} ")
        behind = text[start + len(plain) + 2 :].partition(" ")[0]
        if start < 0 or (len(plain) == 1 and behind and behind not in _BEHIND_A_NAME):
            continue
        text = f"{text[:start]} {'_' * len(plain)} {text[start + len(plain) + 2 :]}"
        there = places[plain]
        beside = [place for place in there if _parent(place) == parent] if parent.count("/") > 1 else []
        chosen = beside or [place for place in there if place.count("/") == there[0].count("/")]
        if len(chosen) == 1:
            found.append(_Mention(chosen[0], start))
    return sorted(found, key=lambda mention: mention.start)


_BEHIND_A_NAME: Final = frozenset({*",/&", "or", "and", "may", "must", "is", "are", "can", "cannot", "should"})
"""What may follow a name of one letter: what else follows `a` is called so."""
