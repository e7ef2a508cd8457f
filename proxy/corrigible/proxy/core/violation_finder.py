"""The schema violations that an error of a refusal may be about.

| the error                              | what is looked at                                                      |
|----------------------------------------|------------------------------------------------------------------------|
| 404, 405, 410, 501                     | path and method; a name in the path under which there is nothing       |
| 400, and says that there is no route   | path and method, where the description has no such operation           |
| names a place, and states a constraint | what it states: the server's word beats the description                |
| names a place                          | what the description says of that place, of places below it, around it |
| names a missing member                 | that member, whatever the description says                             |
| names no place that is there           | the whole request, the places that the message mentions first          |
| ... and is about state                 | only the places that the message mentions                              |
| cannot be read, and a text is no JSON   | that text                                                              |

Knows: errors, requests, descriptions. Does not know: rules, suggestions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, runtime_checkable
from typing import Protocol as TypingProtocol

from corrigible.adapters.base import Described
from corrigible.adapters.formats.statement import has_word
from corrigible.rules.pointer import MISSING, segments, value_at
from corrigible.rules.safety.decisive import words
from corrigible.rules.schema_repair.body import CONTENT
from corrigible.rules.schema_repair.json_schema import ALTERNATIVES
from corrigible.rules.schema_repair.levels import MISPLACED, move_member
from corrigible.rules.schema_repair.names import near_names
from corrigible.rules.schema_repair.route import UNSURE
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind, read
from corrigible.schema.exchange import Protocol, Request

from .api_profile import RefusalCase
from .nothing_said import refuses_a_member, says_no_path, says_no_route, says_nothing
from .request_at_fault import (
    BAD_REQUEST,
    BY_THE_TEXT_ONLY,
    CHOSE_NONE,
    METHOD_NOT_ALLOWED,
    NOT_ACCEPTABLE,
    OF_UNKNOWN,
    SERVER_FAULT,
    UNAUTHORIZED,
)
from .sent_in_body import noted, told_apart
from .told_violation import broken_text, stated_violation, told_spelling, unknown_member

_ABOUT_THE_ROUTE: Final = frozenset({404, METHOD_NOT_ALLOWED, 410, 501})
"""Of these, the ones that say first of all that the path or the method is wrong."""


@runtime_checkable
class _ListsPaths(TypingProtocol):
    """A description that can list its paths."""

    def paths_beside(self, method: str, path: str) -> SchemaViolation | None: ...


class ViolationFinder:
    """Finds what may be wrong with the request of one refusal."""

    def __init__(
        self,
        case: RefusalCase,
        description: Described,
        violations_at: Callable[[str], Sequence[SchemaViolation]],
    ) -> None:
        """`violations_at` gives the violations of the request at a place, of the empty place all of them."""
        self._case, self._description = case, description
        self._request, self._operation = case.request, case.match.operation
        self._violations_at = violations_at

    def candidates(self, error: Violation) -> Sequence[SchemaViolation]:
        """Return the violations that an error may be about, the likeliest first."""
        status = self._case.exchange.status
        if (broken := broken_text(error, self._request)) is not None:
            return (broken,)
        if self._request.protocol is Protocol.GRPC and error.type in CHOSE_NONE and not error.pointer:
            wrong = self._description.nearest_operation(self._request.method, self._request.path)
            return () if wrong is None or not _may_be_of_method(error.message) else (wrong,)
        is_of_another = error.stated and status == 404 and self._request.protocol is not Protocol.HTTP
        is_of_a_value = status == UNAUTHORIZED and error.pointer and error.stated  # and not about credentials
        if error.type in BY_THE_TEXT_ONLY or status == SERVER_FAULT or is_of_another or is_of_a_value:
            return self._stated(error)
        if status == UNAUTHORIZED:
            # Of a login without a member that the description requires the credentials are not known to be wrong.
            everywhere = self._violations_at("") if self._operation else ()
            return everywhere if any(one.keyword == "required" for one in everywhere) else ()
        if status == NOT_ACCEPTABLE:
            # A parameter may name the form of the answer: `/orders.yaml`, `?format=yaml`.
            in_head = (one for one in self._violations_at("") if not one.pointer.startswith(("/body", "/headers")))
            return [one for one in in_head if one.keyword == "enum"]
        is_routeless = status == BAD_REQUEST and not self._operation and _lacks_route(error.message, self._request)
        if status in _ABOUT_THE_ROUTE or is_routeless:
            # A gRPC method is its own operation, whether or not it is there.
            if not self._operation or self._request.protocol is not Protocol.HTTP:
                wrong = self._description.nearest_operation(self._request.method, self._request.path)
                wrong = wrong or self._beside(error.message, 404 if is_routeless else status)
                is_told = says_no_path(error.message) or self._request.path in error.message
                if wrong is None or (wrong.keyword == "around" and status != METHOD_NOT_ALLOWED and not is_told):
                    return ()
                if is_routeless and wrong.keyword in ("elsewhere", "base"):
                    wrong = wrong._replace(keyword="around")  # a 400 is no proof that the path is what is wrong
                return (told_apart(wrong, self._request, self._description),)
            route = list(self._of_route(error, status))
            if route or status != METHOD_NOT_ALLOWED:
                return route if route or not self._is_located(error) else self._at(error)
        if not self._operation:
            return self._of_silence(error) or self._stated(error)
        violations = self._at(error) if self._is_located(error) else self._anywhere(error)
        violations = [noted(one, self._request, self._operation, self._description) for one in violations]
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
        violations = self._violations_at(error.pointer) or self._violations_at("")
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
            and not any(_is_within(best.pointer, one.pointer) for one in found)
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
        is_silent = not error.pointer and not error.stated and says_nothing(error.message, BAD_REQUEST)
        if self._case.exchange.status != BAD_REQUEST or not is_silent or self._request.protocol is not Protocol.HTTP:
            return ()
        wrong = self._description.nearest_operation(self._request.method, self._request.path)
        if wrong is None or wrong.keyword not in ("path", "base", "method"):
            return ()
        return (wrong._replace(schema={**wrong.schema, UNSURE: True}),)

    def _beside(self, message: str, status: int) -> SchemaViolation | None:
        """Return the paths that there are, where a message says that this one leads nowhere, and it is near to none."""
        says_so = status == 404 and (self._request.path in message or says_no_path(message))
        if not says_so or not isinstance(self._description, _ListsPaths):
            return None
        return self._description.paths_beside(self._request.method, self._request.path)

    def _of_route(self, error: Violation, status: int) -> Iterator[SchemaViolation]:
        """Yield what is wrong with the path of a request whose operation the description has."""
        if error.pointer.startswith(("/body", "/query", "/headers")):
            return
        # The path may be another operation's by mistake: then its parameters do not fit.
        wrong = [one for one in self._violations_at("") if one.pointer in ("/path", "/method")]
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
            self._violations_at(error.pointer)
        )

    def _at(self, error: Violation) -> Sequence[SchemaViolation]:
        """Return what an error with a place is about."""
        declared = self._description.declared_place(self._request, self._operation, error.pointer)
        there = [one for one in self._violations_at(error.pointer) if not self._is_known(one, error)]
        if CONTENT in declared.schema and error.constraint != "required":
            return there  # what is stated is about what the text holds
        stated = stated_violation(error, self._request, declared)
        if stated is not None and (error.stated or not there):
            below = [one for one in there if one.pointer != error.pointer]
            return [*below, stated] if not error.stated else [stated]
        if not there and (otherwise := told_spelling(error, self._request, declared.schema)) is not None:
            return (otherwise,)
        if there and error.constraint == "required":
            return self._missed(there, error)
        if there:
            return there
        around = [one for one in self._violations_at("") if error.pointer.startswith(f"{one.pointer}/")]
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
        return out or [one for one in self._violations_at("") if one.keyword == "required"]

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
        if any(one.pointer == violation.pointer for one in self._violations_at("")):
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


def _is_within(one: str, other: str) -> bool:
    """Whether one of two places holds the other."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
