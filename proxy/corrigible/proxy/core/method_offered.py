"""The methods that a path has instead of the one that was sent, told apart by what was sent.

| what was sent                                                | is                                          |
|--------------------------------------------------------------|---------------------------------------------|
| nothing, and the only write takes something                  | asked about: it may have been meant to read |
| members that the query of the only read takes                | a read                                      |
| members that the body of one method lacks, and another's has | the other method                            |
| a PATCH with all that the body of PUT can have               | PUT: there is nothing that it takes away    |

Knows: requests, what is declared. Does not know: answers, suggestions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from corrigible.adapters.base import Described
from corrigible.rules.schema_repair.json_schema import choices
from corrigible.rules.schema_repair.levels import IN_QUERY
from corrigible.rules.schema_repair.route import BARE, UNNAMED, WHOLE
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Json, Request

from .sent_in_body import is_nothing_sent, is_read_by_query, is_thing_left_out

_WRITES: Final = frozenset({"POST", "PUT", "PATCH"})


def told_apart(wrong: SchemaViolation, request: Request, description: Described) -> SchemaViolation:
    """Return a violation of the method without methods whose body lacks a sent member, if one has them all."""
    body, offered = request.body, choices(wrong.schema)
    if wrong.keyword != "method" or not isinstance(body, Mapping) or not body:
        is_bare = wrong.keyword == "method" and is_nothing_sent(request, offered, description)
        return wrong._replace(schema={**wrong.schema, BARE: True}) if is_bare else wrong
    if is_read_by_query(request, offered, description):
        return wrong._replace(schema={**wrong.schema, IN_QUERY: True})
    if is_thing_left_out(request, description):
        wrong = wrong._replace(schema={**wrong.schema, UNNAMED: True})
    if "PUT" in offered and _is_whole(request, description):
        wrong = wrong._replace(schema={**wrong.schema, WHOLE: True})
    sent = {("body", str(name)) for name in body}
    matches = {one: description.operations.find(str(one), request.path) for one in offered}
    takes = {one: sent <= {*description.vocabulary(match[0]).places} for one, match in matches.items() if match}
    if not any(takes.values()):
        return wrong
    fitting: list[Json] = [one for one in offered if takes.get(one, True) or one not in _WRITES]
    return wrong._replace(schema={**wrong.schema, "enum": fitting})


def _is_whole(request: Request, description: Described) -> bool:
    """Whether the body of a PATCH has all the members that PUT takes: the description allows no others."""
    match = description.operations.find("PUT", request.path) if request.method == "PATCH" else None
    return match is not None and _has_all(request.body, description.declared_place(request, match[0], "/body").schema)


def _has_all(value: Json, schema: Json) -> bool:
    """Whether an object, and each in it, has all its members, but those that only the server writes.

    A PATCH may change a member of an inner object, or add to a list, which PUT would replace.
    """
    members = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(schema, Mapping) or not isinstance(members, Mapping):
        return False
    written = {
        name: one for name, one in members.items() if not (isinstance(one, Mapping) and one.get("readOnly") is True)
    }
    is_closed = schema.get("additionalProperties") is False and bool(written)
    inner = [(value[name], one) for name, one in written.items() if isinstance(value.get(name), Mapping | list)]
    return is_closed and written.keys() <= value.keys() and all(_has_all(*one) for one in inner)
