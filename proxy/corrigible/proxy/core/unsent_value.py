"""What was not sent, where a server has looked for something under no name: `Parent note 'undefined' was not found`.

| the words before `undefined`                             | what is missing                                    |
|----------------------------------------------------------|----------------------------------------------------|
| are the name of a declared member that was not sent      | that member: `parentNoteId`                        |
| are the last words of the name of one that was not sent  | that member, unless there are several              |
| are with the word for its name: `Run with id= not found` | the member of that name, `run_id` or `id`          |
| are in no declared name                                  | the only identifier that was not sent: `ownerId`   |
| are the name of a member that was sent                   | nothing that is known: the body was not read       |
| whatever they are, and there was no body                 | the body                                           |

Nothing that was sent is ever asked for.

Knows: sentences, what was sent, what is declared. Does not know: rules, suggestions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.adapters.base import Described
from corrigible.adapters.formats.message.unsent import unsent
from corrigible.adapters.formats.sent_places import sent_places
from corrigible.rules.budget import spend
from corrigible.rules.pointer import MISSING, segments, to_pointer, value_at
from corrigible.rules.safety.decisive import word_set, words
from corrigible.rules.safety.nearness import is_plural
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Protocol, Request

from .api_profile import RefusalCase

_LONGEST: Final = 2000
"""Letters of a text that was sent in which it is looked for what the server calls nothing."""
_REFERENCES: Final = word_set("id ids uuid guid key ref reference slug name")
_IDENTIFIERS: Final = word_set("id uuid guid ref reference slug")


class _Member(NamedTuple):
    place: str
    noun: tuple[str, ...]
    """Its name without the word for an identifier."""
    is_identifier: bool
    is_sent: bool


def names_unsent(message: str, request: Request) -> bool:
    """Whether a text says that a server has looked for something under no name, and no such word was sent."""
    told = unsent(message) if request.protocol is Protocol.HTTP else None
    if told is None or (told.value and told.value in request.path.split("/")):
        return False
    if not told.value:
        return all(one.value != "" for one in sent_places(request))
    word = re.compile(rf"(?<!\w){told.value}(?!\w)")
    sent = [one.value for one in sent_places(request)]
    is_null = None in sent and told.value != "undefined"
    return not is_null and not any(isinstance(one, str) and word.search(one[:_LONGEST]) for one in sent)


def unsent_value(case: RefusalCase, error: Violation, description: Described) -> SchemaViolation | None:
    """Return the member, or the body, that was not sent; None where it is not clear which, or all was sent."""
    request, operation, told = case.request, case.match.operation, unsent(error.message)
    if told is None or not operation:
        return None
    if request.body is None and (schemas := description.body_schemas(operation)):
        schema = next(iter(schemas.values()))
        return SchemaViolation("/body", "required", schema if isinstance(schema, Mapping) else {})
    if not isinstance(request.body, Mapping | None):
        return None
    members = _members(request, description, operation)
    place = _of_ending(told.noun, told.ending, members) if told.ending else _meant(told.noun, members)
    if not place:
        return None
    declared = description.declared_place(request, operation, place)
    return SchemaViolation(
        place, "required", declared.schema, siblings=declared.siblings, parent_schema=declared.parent_schema
    )


def _members(request: Request, description: Described, operation: str) -> list[_Member]:
    """Return the declared members of the body and the query, without the identifier of what is created itself."""
    own = words(request.path.rstrip("/").rpartition("/")[2])[-1:] if request.method == "POST" else ()
    out: list[_Member] = []
    places = description.vocabulary(operation).places
    spend(len(places) // _COMPARED_A_STEP)
    for path in places:
        if len(path) != 2 or path[0] not in ("body", "query"):
            continue
        parts = words(path[1])
        noun = parts[:-1] if len(parts) > 1 and parts[-1] in _REFERENCES else parts
        is_own = noun != parts and len(noun) == 1 and own and (noun == own or is_plural(own[0], noun[0]))
        if noun and not is_own:
            place = to_pointer(path)
            is_sent = value_at(request, place) is not MISSING
            out.append(_Member(place, noun, parts[-1] in _IDENTIFIERS and parts != noun, is_sent))
    return out


_COMPARED_A_STEP: Final = 8


def _of_ending(noun: tuple[str, ...], ending: str, members: Sequence[_Member]) -> str:
    """Return the place of the only member that was not sent and that the text calls so: `run_id`, or `name`."""
    called = {(*noun[at:], ending) for at in range(len(noun) + 1)}
    left = [one.place for one in members if not one.is_sent and words(segments(one.place)[-1]) in called]
    return left[0] if len(left) == 1 else ""


def _meant(noun: tuple[str, ...], members: Sequence[_Member]) -> str:
    """Return the place of the only member that was not sent and that some words may mean."""
    called = [one for one in members if noun[-len(one.noun) :] == one.noun]
    longest = max((len(one.noun) for one in called), default=0)
    called = [one for one in called if len(one.noun) == longest]
    if left := [one.place for one in called if not one.is_sent]:
        return left[0] if len(left) == 1 else ""
    ending = [one for one in members if len(one.noun) > longest and one.noun[-1] == noun[-1]]
    ending = [one for one in ending if not one.is_sent] if longest < 2 else []
    if ending or called:
        return ending[0].place if len(ending) == 1 else ""
    if any(noun[-1] in one.noun for one in members):
        return ""
    left = [one.place for one in members if one.is_identifier and not one.is_sent]
    return left[0] if len(left) == 1 else ""
