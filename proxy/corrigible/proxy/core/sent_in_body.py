"""What was sent in another part or by another method than the description has it.

| what was sent under a method that the path lacks             | is                                          |
|--------------------------------------------------------------|---------------------------------------------|
| nothing, and the only write takes something                  | asked about: it may have been meant to read |
| members that the query of the only read takes                | a read                                      |
| members that the body of one method lacks, and another's has | the other method                            |

Knows: requests, what is declared. Does not know: rules, repairs.
"""

from __future__ import annotations

from collections.abc import Mapping

from corrigible.adapters.base import Described
from corrigible.adapters.operation import ANY
from corrigible.rules.safety.nearness import is_same, last_word
from corrigible.rules.schema_repair.json_schema import choices
from corrigible.rules.schema_repair.levels import IN_QUERY, NOT_OF_BODY
from corrigible.rules.schema_repair.route import BARE, UNNAMED
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Json, Request

_WRITES = ("POST", "PUT", "PATCH")


def noted(violation: SchemaViolation, request: Request, operation: str, description: Described) -> SchemaViolation:
    """Note of a parameter that is missing that its operation takes no body, where one was sent; and what that holds.

    Or that its body is an object without such a member.
    """
    if violation.keyword != "required" or not violation.pointer.startswith("/query/") or not request.body:
        return violation
    if description.body_schemas(operation):
        known = {path[1] for path in description.vocabulary(operation).places if len(path) == 2 and path[0] == "body"}
        is_other = bool(known) and ANY not in known
        return violation._replace(schema={**violation.schema, NOT_OF_BODY: sorted(known)}) if is_other else violation
    declared = {path[1] for path in description.vocabulary(operation).places if len(path) == 2 and path[0] == "query"}
    is_all = isinstance(request.body, dict) and (len(request.body) == 1 or request.body.keys() <= declared)
    return violation._replace(schema={**violation.schema, NOT_OF_BODY: []}) if is_all else violation


def _is_read_by_query(request: Request, offered: tuple[Json, ...], description: Described) -> bool:
    """Whether GET is the only method of a path, and takes all members of the body in its query."""
    body = request.body
    match = description.operations.find("GET", request.path) if offered == ("GET",) else None
    if match is None or not isinstance(body, dict) or not body:
        return False
    known = {*description.vocabulary(match[0]).places}
    return all(("query", str(name)) in known for name in body)


def _is_nothing_sent(request: Request, offered: tuple[Json, ...], description: Described) -> bool:
    """Whether a write has neither body nor query, where the only method that changes something takes some.

    It may have been meant to read: what is to be changed is not said.
    """
    writes = [str(one) for one in offered if one in _WRITES]
    if request.method not in _WRITES or request.body is not None or request.query or "GET" not in offered:
        return False
    match = description.operations.find(writes[0], request.path) if len(writes) == 1 else None
    return match is not None and any(path[0] in ("body", "query") for path in description.vocabulary(match[0]).places)


def _is_thing_left_out(request: Request, description: Described) -> bool:
    """Whether the path with one name more has the method that this one lacks, and the body does not say that name.

    `PUT /books` may be meant to add a book, or to change one whose identifier was forgotten. An identifier in the body
    is rather that of a book that is there than of one to add. What the operation below does not take was not meant
    for it.
    """
    if request.method not in ("PUT", "PATCH"):
        return False
    below = description.operations.find(request.method, f"{request.path.rstrip('/')}/{_SOME_NAME}")
    names = [name for name, value in below[1].items() if value == _SOME_NAME] if below is not None else []
    if below is None or len(names) != 1:
        return False
    known = {path[1] for path in description.vocabulary(below[0]).places if len(path) == 2 and path[0] == "body"}
    if known and isinstance(request.body, dict) and not request.body.keys() <= known:
        return False
    if last_word(names[0]).lower() in _IDENTIFIERS or not isinstance(request.body, dict):
        return True
    is_name = last_word(names[0]).lower() == "name"
    return not any(is_same(str(name), names[0]) or (is_name and str(name) == "name") for name in request.body)


def told_apart(wrong: SchemaViolation, request: Request, description: Described) -> SchemaViolation:
    """Return a violation of the method without methods whose body lacks a sent member, if one has them all."""
    body, offered = request.body, choices(wrong.schema)
    if wrong.keyword != "method" or not isinstance(body, Mapping) or not body:
        is_bare = wrong.keyword == "method" and _is_nothing_sent(request, offered, description)
        return wrong._replace(schema={**wrong.schema, BARE: True}) if is_bare else wrong
    if _is_read_by_query(request, offered, description):
        return wrong._replace(schema={**wrong.schema, IN_QUERY: True})
    if _is_thing_left_out(request, description):
        wrong = wrong._replace(schema={**wrong.schema, UNNAMED: True})
    sent = {("body", str(name)) for name in body}
    matches = {one: description.operations.find(str(one), request.path) for one in offered}
    takes = {one: sent <= {*description.vocabulary(match[0]).places} for one, match in matches.items() if match}
    if not any(takes.values()):
        return wrong
    fitting: list[Json] = [one for one in offered if takes.get(one, True) or one not in _WRITES]
    return wrong._replace(schema={**wrong.schema, "enum": fitting})


_SOME_NAME = "some-name"
_IDENTIFIERS = frozenset({"id", "uuid", "guid"})
