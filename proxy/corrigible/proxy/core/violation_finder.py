"""The schema violations that an error of a refusal may be about.

| the error                              | what is looked at                                                      |
|----------------------------------------|------------------------------------------------------------------------|
| 404, 405, 410, 501                     | path and method; a name in the path under which there is nothing       |
| 400, and misses JSON in a body of text  | the method, where the description has no such operation                |
| 400, and says that there is no route   | path and method, where the description has no such operation           |
| names a place, and states a constraint | what it states: the server's word beats the description                |
| names a place                          | what the description says of that place, of places below it, around it |
| names a missing member                 | that member, whatever the description says                             |
| names no place that is there           | the whole request, the places that the message mentions first          |
| ... and is about state                 | only the places that the message mentions                              |
| ... or one of the query, and JSON      | the parameter that begins like JSON and is none                        |

Knows: errors, requests, descriptions. Does not know: rules, suggestions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, runtime_checkable
from typing import Protocol as TypingProtocol

from corrigible.adapters.base import Described
from corrigible.adapters.openapi.related_reads import split_extension
from corrigible.rules.pointer import MISSING, segments, value_at
from corrigible.rules.schema_repair.body import CONTENT
from corrigible.rules.schema_repair.json_schema import ALTERNATIVES, choices
from corrigible.rules.schema_repair.levels import MISPLACED, move_member
from corrigible.rules.schema_repair.names import near_names
from corrigible.rules.schema_repair.route import UNSURE
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Protocol

from .about_what import (
    UNKNOWN_MEMBER,
)
from .api_profile import RefusalCase
from .body_form import misses_json
from .method_offered import told_apart
from .nothing_said import says_no_cause, says_no_grpc, says_no_path, says_no_route, says_nothing
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
from .sent_in_body import noted, told_body_type, told_method
from .told_violation import broken_member, broken_text, sent_twice, stated_violation, told_spelling, unknown_member

_ABOUT_THE_ROUTE: Final = frozenset({404, METHOD_NOT_ALLOWED, 410, 501})
"""Of these, the ones that say first of all that the path or the method is wrong."""
_READ: Final = 2000
"""Letters of a message that are looked at."""
_WRITES: Final = frozenset({"POST", "PUT", "PATCH"})
_OF_THE_ROUTE: Final = re.compile(
    r"(?i)\b(?:routes?|endpoint|url|uri|handler|page|method)\b|\bcannot (?:get|head|post|put|patch|delete)\b"
    r"|\b(?:unsupported|unknown|invalid|unrecogni[sz]ed|no such) (?:\w{1,20} ){0,2}"
    r"(?:command|action|operation|api|call)\b"
)
_ABOUT_THE_SLASH: Final = re.compile(
    r"(?i)\btrailing[ -]slash\b|\bslash at the end\b|\bend(?:s|ing)? (?:in|with) a slash\b"
)


@runtime_checkable
class _ListsPaths(TypingProtocol):
    """A description that can list its paths."""

    def paths_beside(self, method: str, path: str) -> SchemaViolation | None: ...

    def methods_as_written(self, method: str, path: str) -> SchemaViolation | None: ...


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
        if (broken := broken_member(error, self._request)) is not None:
            return (broken,)
        if self._request.protocol is Protocol.GRPC and error.type in CHOSE_NONE and not error.pointer:
            return self._unknown_method(error)
        if (
            error.type in BY_THE_TEXT_ONLY
            or status == SERVER_FAULT
            or (error.stated and status == 404 and self._request.protocol is not Protocol.HTTP)
        ):
            return self._stated(error)
        if status == UNAUTHORIZED and error.pointer and error.stated:
            return self._stated(error)  # what it states of a member is not about credentials
        if status == UNAUTHORIZED:
            # Of a login without a member that the description requires the credentials are not known to be wrong.
            everywhere = self._violations_at("") if self._operation else ()
            return everywhere if any(one.keyword == "required" for one in everywhere) else ()
        if status == NOT_ACCEPTABLE:
            # A parameter may name the form of the answer: `/orders.yaml`, `?format=yaml`.
            return [one for one in self._violations_at("") if one.keyword == "enum" and not self._is_in_body(one)]
        is_routeless = status == BAD_REQUEST and not self._operation and says_no_route(error.message)
        if status in _ABOUT_THE_ROUTE or is_routeless:
            # A gRPC method is its own operation, whether or not it is there.
            if not self._operation or self._request.protocol is not Protocol.HTTP:
                wrong = self._description.nearest_operation(self._request.method, self._request.path)
                wrong = wrong or self._beside(error.message[:_READ], 404 if is_routeless else status)
                is_around = wrong is not None and wrong.keyword == "around" and status != METHOD_NOT_ALLOWED
                is_unsure = wrong is not None and (is_around or self._is_below_another_base(wrong))
                if wrong is None or (is_unsure and not self._is_about_the_path(error.message[:_READ])):
                    return ()
                if is_routeless and wrong.keyword in ("elsewhere", "base"):
                    wrong = wrong._replace(keyword="around")  # a 400 is no proof that the path is what is wrong
                return (told_apart(wrong, self._request, self._description),)
            if status == 404 and says_no_route(error.message) and (unrouted := list(self._of_route(error, status))):
                return unrouted  # the text has the path with all its names: none of them is what is not there
            route = list(self._of_route(error, status))
            if route or status != METHOD_NOT_ALLOWED:
                return route if route or not self._is_located(error) else self._at(error)
        if self._operation and _ABOUT_THE_SLASH.search(error.message[:_READ]) is not None:
            written = self._description.written_paths(self._request.method, self._request.path)
            if written is not None:
                return (written,)
        if not self._operation:
            of_path = self._of_path(error) or self._of_version(error)
            return of_path or self._of_extension(error) or self._of_silence(error) or self._stated(error)
        if (told := told_method(error.message[:_READ], self._request, self._description)) is not None:
            return (told,)
        is_located = self._is_located(error)
        if is_located and (twice := self._sent_twice(error)) is not None:
            return (twice,)
        violations = self._at(error) if is_located else self._anywhere(error)
        violations = [noted(one, self._request, self._operation, self._description) for one in violations]
        if not violations and (broken := broken_text(error, self._request)) is not None:
            return (broken,)
        if not violations and is_located:
            violations = ()
        # What stands in brackets may be the name of a field, which no parameter declares.
        is_inside = error.pointer.startswith("/query/") and "[" in error.pointer
        words = self._description.misspelt_words(self._request, error.message) if is_inside or not violations else ()
        return words or violations

    def _unknown_method(self, error: Violation) -> Sequence[SchemaViolation]:
        """Return the near methods of one that is not described, where that is what the refusal is likely about."""
        wrong = self._description.nearest_operation(self._request.method, self._request.path)
        is_likely = bool(error.likely) and error.likely[0].pointer == "/method"
        is_opaque = says_no_cause(error.message) or self._request.method in error.message
        return (wrong,) if wrong is not None and ((is_likely and is_opaque) or says_no_grpc(error.message)) else ()

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
        if (told := told_body_type(error, violations)) is not None:
            return [told]
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

    def _sent_twice(self, error: Violation) -> SchemaViolation | None:
        """Return the violation of a parameter that was sent more than once, if an error says so."""
        if not isinstance(value_at(self._request, error.pointer), list):
            return None
        declared = self._description.declared_place(self._request, self._operation, error.pointer)
        return sent_twice(error, self._request, declared.schema)

    def _stated(self, error: Violation) -> Sequence[SchemaViolation]:
        """Return what an error itself says about its place."""
        declared = self._description.declared_place(self._request, self._operation, error.pointer)
        stated = stated_violation(error, self._request, declared)
        stated = unknown_member(error, self._request, declared) if stated is None else stated
        return () if stated is None else (stated,)

    def _of_path(self, error: Violation) -> Sequence[SchemaViolation]:
        """Return what is wrong with a DELETE that leaves the identifier out, where an error is about the path."""
        if error.pointer != "/path" or self._request.method != "DELETE":
            return ()
        wrong = self._description.nearest_operation(self._request.method, self._request.path)
        return () if wrong is None else (wrong,)

    def _of_version(self, error: Violation) -> Sequence[SchemaViolation]:
        """Return the near paths of another version, where a message is about the version that the path names."""
        parts = self._request.path.split("/")
        numbers = [part[1:] for part in parts if _VERSION.fullmatch(part)]
        told = [word.rstrip(".") for word in re.findall(r"[\w.]+", error.message[:_READ].lower())]
        if "version" not in told or not any(one in told or f"v{one}" in told for one in numbers):
            return ()
        wrong = self._description.nearest_operation(self._request.method, self._request.path)
        if wrong is None or wrong.keyword != "path":
            return ()
        others = [one for one in choices(wrong.schema) if isinstance(one, str) and _is_other_version(parts, one)]
        return (wrong._replace(schema={"enum": others}),) if others else ()

    def _of_extension(self, error: Violation) -> Sequence[SchemaViolation]:
        """Return the only near path where the request's lacks no more than an extension, and nothing else is told.

        A server may take such a path for a page of its own, and refuse what a browser would not have sent.
        """
        is_page = self._case.exchange.headers.get("content-type", "").startswith("text/html")
        if error.pointer or (error.message and not is_page):
            return ()
        wrong = self._description.nearest_operation(self._request.method, self._request.path)
        near = choices(wrong.schema) if wrong is not None and wrong.keyword == "path" else ()
        is_only = len(near) == 1 and split_extension(str(near[0]))[0] == self._request.path
        return (wrong,) if wrong is not None and is_only else ()

    def _of_silence(self, error: Violation) -> Sequence[SchemaViolation]:
        """Return what is wrong with a path or a method that the description does not have, where nothing is told.

        Some servers answer 400 to whatever they have no route for. Whoever calls has to confirm it.
        """
        is_silent = not error.pointer and not error.stated and says_nothing(error.message, BAD_REQUEST)
        is_other_form = not error.pointer and misses_json(error.message[:_READ], self._request)
        is_silent = is_silent or is_other_form
        if self._case.exchange.status != BAD_REQUEST or not is_silent or self._request.protocol is not Protocol.HTTP:
            return ()
        wrong = self._description.nearest_operation(self._request.method, self._request.path)
        if wrong is None or wrong.keyword not in (("method",) if is_other_form else ("path", "base", "method")):
            return ()
        return (wrong._replace(schema={**wrong.schema, UNSURE: True}),)

    def _is_in_body(self, violation: SchemaViolation) -> bool:
        return violation.pointer.startswith(("/body", "/headers"))

    def _beside(self, message: str, status: int) -> SchemaViolation | None:
        """Return the paths that there are, where a message says that this one leads nowhere, and it is near to none."""
        is_told = self._request.path in message or _OF_THE_ROUTE.search(message) is not None
        # What is said in plain text where an API answers in JSON is said by its router.
        is_plain = self._case.exchange.headers.get("content-type", "").startswith("text/plain")
        says_so = status == 404 and (is_told or (is_plain and says_no_path(message)))
        if not says_so or not isinstance(self._description, _ListsPaths):
            return None
        return self._description.paths_beside(self._request.method, self._request.path)

    def _is_below_another_base(self, wrong: SchemaViolation) -> bool:
        """Whether a near path only lacks the beginning of this one: the API may be mounted there, unknown to us."""
        path = self._request.path
        return wrong.keyword == "path" and all(path.endswith(str(one)) for one in choices(wrong.schema))

    def _is_about_the_path(self, message: str) -> bool:
        """Whether a message says that the path leads nowhere: what is not there may be something else."""
        if says_no_path(message) or _OF_THE_ROUTE.search(message):
            return True
        return self._request.path in message

    def _is_elsewhere(self, error: Violation) -> bool:
        """Whether an error names a place that is not in the path."""
        return error.pointer.startswith(("/body", "/query", "/headers"))

    def _of_route(self, error: Violation, status: int) -> Iterator[SchemaViolation]:
        """Yield what is wrong with the path of a request whose operation the description has."""
        if self._is_elsewhere(error):
            return
        # The path may be another operation's by mistake: then its parameters do not fit.
        wrong = [one for one in self._violations_at("") if one.pointer in ("/path", "/method")]
        if wrong:
            yield from wrong
            return
        if status == METHOD_NOT_ALLOWED and isinstance(self._description, _ListsPaths):
            # The server reads `/orders/{id}/close` where the description could have read `/orders/{id}/{part}`.
            literal = self._description.methods_as_written(self._request.method, self._request.path)
            if literal is not None:
                yield told_apart(literal, self._request, self._description)
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
            or (error.constraint != "enum" and UNKNOWN_MEMBER.search(error.message[:_READ]) is not None)
        ):
            return False
        if any(one.pointer == violation.pointer for one in self._violations_at("")):
            return False
        return not near_names(segments(violation.pointer)[-1], violation.siblings)


_LIKELY: Final = 0.5


def _is_within(one: str, other: str) -> bool:
    """Whether one of two places holds the other."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _is_other_version(parts: Sequence[str], path: str) -> bool:
    """Whether a path is the same but for its version."""
    others = path.split("/")
    return len(parts) == len(others) and all(
        one == other or (_VERSION.fullmatch(one) and _VERSION.fullmatch(other))
        for one, other in zip(parts, others, strict=True)
    )


_VERSION: Final = re.compile(r"v\d[\w.-]{0,9}")
