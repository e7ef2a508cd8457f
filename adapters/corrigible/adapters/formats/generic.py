"""Errors of APIs without an adapter: the known dialects, then whatever looks like an error in JSON or text.

1. A dialect that finds a place is right. 2. Else `json_errors` looks for errors in JSON of any shape. 3. What an error
says in its text is read: a dict of errors, a path, a missing or unknown member, the constraint (`error_message`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from corrigible.rules.budget import remaining
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request

from .ajv import AJV
from corrigible.adapters.reader.statement import complete
from .fastapi import FASTAPI
from .graphql import GRAPHQL
from .json_errors import find_errors
from .jsonapi import JSONAPI
from .members import without_namespace
from .message.usual_words import in_usual_words
from .problem import PROBLEM
from .spring import SPRING
from .usual_names import with_usual_names

_MOST: Final = 64
"""Errors of one answer, those that texts hold included."""
DIALECTS: Final = (FASTAPI, AJV, GRAPHQL, JSONAPI, SPRING, PROBLEM)
"""In the order in which they are tried: the most distinctive goes first."""


class GenericFormat:
    """Reads the errors of most JSON APIs, in whichever of their shapes."""

    name = "generic"

    def __init__(self, facts: Callable[[Exchange, Violation], Mapping[str, Json]] | None = None) -> None:
        """`facts` are further native members, of an API whose own dialect gives them too."""
        self._facts = facts

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        violations = _read(exchange, body)
        if self._facts is None:
            return violations
        return [one._replace(native={**self._facts(exchange, one), **one.native}) for one in violations]


def _read(exchange: Exchange, body: Json) -> Sequence[Violation]:
    request = exchange.request
    of_dialect: Sequence[Violation] = ()
    for dialect in DIALECTS:
        of_dialect = dialect.read(exchange, body)
        if of_dialect:
            break
    if not any(one.pointer for one in of_dialect):
        found = find_errors(with_usual_names(body, request), request)
        if not of_dialect or any(one.pointer for one in found):
            of_dialect = found
    if any(not one.code for one in of_dialect) and (code := _code_in_headers(exchange.headers)):
        of_dialect = [one if one.code else one._replace(code=code) for one in of_dialect]
    return _of_alternatives(_completed(of_dialect, request))


def _completed(violations: Sequence[Violation], request: Request) -> list[Violation]:
    """Return the errors with what their texts say: of very many those for which half of the steps is enough."""
    found: list[Violation] = []
    enough = remaining() // 2
    for one in violations:
        if found and remaining() < enough:
            break
        inside = complete(one)
        found += (each._replace(printed=_as_written(each, one)) for each in inside)
        if len(found) >= _MOST:
            break
    return found[:_MOST]


def _as_written(error: Violation, around: Violation) -> str:
    """Return what the API wrote for an error whose text is in other words, or is not all that is said of it."""
    return "" if not error.printed and error.message in around.message else around.message


def _of_alternatives(errors: list[Violation]) -> list[Violation]:
    """Join errors at one place each of which tells the value of another alternative, as Effect and io-ts do."""
    if len(errors) < 2:
        return errors
    out: list[Violation] = []
    for error in errors:
        before = out[-1] if out else None
        is_next = before is not None and error.pointer == before.pointer != "" and {*error.stated} == {"enum"}
        if before is not None and is_next and {*before.stated} == {"enum"}:
            listed = [
                *before.stated["enum"],
                *(one for one in error.stated["enum"] if one not in before.stated["enum"]),
            ]
            out[-1] = before._replace(stated={"enum": listed})
        else:
            out.append(error)
    return out


def _code_in_headers(headers: Mapping[str, str]) -> str:
    """Return the code that AWS's REST protocols have beside the body, empty where there is none."""
    written = next((headers[name] for name in _CODE_HEADERS if name in headers), "")
    return without_namespace(written) if written else ""


_CODE_HEADERS: Final = ("x-amzn-query-error", "x-amzn-errortype")
