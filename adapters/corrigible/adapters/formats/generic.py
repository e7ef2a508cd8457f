"""Errors of APIs without an adapter: whatever looks like an error in JSON or text.

1. `json_errors` finds the errors in JSON of any shape, by the table of `error_shapes`.
2. An answer that stands in a text, as a gateway prints the provider's, is read like one.
3. What an error says in its text is read: a place in a form of its own (`text_shapes`), a path, a missing or unknown
   member, the constraint (`error_message`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from corrigible.rules.budget import remaining
from corrigible.rules.pack.error_mapping import ErrorMapping
from corrigible.rules.pointer import MISSING, escape, segments, value_at
from corrigible.rules.safety.nearness import is_plural, last_word, letters
from corrigible.rules.schema_repair.first_violation import first_violation
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind, read
from corrigible.rules.wordings.tokens import tokens_of
from corrigible.schema.document import leaves
from corrigible.schema.exchange import Exchange, Json, Protocol, Request

from .error_shapes import CODES, CONFLICTS, SENTENCES
from .json_errors import find_errors
from .members import About, beside, complains, folded, members_of, plain_code, said_of_places
from .pointers import member_pointer, pointer, steps, without_foreign_step
from .sent_places import sent_places
from .statement import complete
from .text_shapes import find_literal, framed_text, printed_text, told_below, told_in

_MOST: Final = 64
"""Errors of one answer, those that texts hold included."""
_LONGEST: Final = 4000
_CODE_HEADERS: Final = ("x-amzn-query-error", "x-amzn-errortype")
"""Headers that have the code beside the body in AWS's REST protocols."""


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


class MappedFormat:
    """Reads errors by the `error` mapping of a pack."""

    name = "mapped"

    def __init__(self, mapping: ErrorMapping) -> None:
        self._mapping = mapping

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        """Return the errors; where the mapping has no places, one for each place that the answer tells exactly."""
        errors = [
            Violation(code=one.code, message=one.message, pointer=one.pointer, type=one.type, native=one.native)
            for one in self._mapping.errors(body, exchange.headers)
        ]
        if len(errors) != 1 or errors[0].pointer or self._mapping.detail is not None:
            return errors
        whole = errors[0]
        if isinstance(body, dict):
            members = beside([(body, "")], (whole.message, whole.code))
            whole = whole._replace(native={**whole.native, "members": members})
        found = [told for one in find_errors(body, exchange.request) for told in _opened(one, exchange.request)]
        placed = [one for one in found if one.pointer][:_MOST]
        return [
            one._replace(
                code=whole.code or one.code, type=whole.type or one.type, native={**whole.native, **one.native}
            )
            for one in placed
        ] or [whole]


def _read(exchange: Exchange, body: Json) -> Sequence[Violation]:
    found = find_errors(body, exchange.request)
    code = next((exchange.headers[name] for name in _CODE_HEADERS if name in exchange.headers), "")
    if code:
        code = plain_code(code.partition(";")[0].partition(":")[0])
        found = [one if one.code else one._replace(code=code) for one in found]
    told = completed(found, exchange.request)
    placed = [_as_sent(one, exchange.request) if number < _FEW else one for number, one in enumerate(told)]
    errors = _of_alternatives(placed, exchange.request)
    return [_with_members(one, exchange.request, is_only=len(errors) == 1) for one in errors]


def completed(violations: Sequence[Violation], request: Request) -> list[Violation]:
    """Return the errors with what their texts say: of very many those for which half of the steps is enough."""
    found: list[Violation] = []
    enough = remaining() // 2
    for one in violations:
        if found and remaining() < enough:
            break
        for inside in _opened(one, request):
            written = one.message if inside is one or inside.message in one.message else inside.message
            for done in complete(inside):
                is_all = not done.printed and done.message in written
                placed = done
                if request.protocol is Protocol.HTTP:  # names of a message of gRPC are spelled anew
                    placed = _at_member(done, request) if done.pointer else _at_path(done, request)
                found.append(placed._replace(printed="" if is_all else written))
        if len(found) >= _MOST:
            break
    return found[:_MOST]


def _at_path(error: Violation, request: Request) -> Violation:
    """Return an error at the only path of names by which its text calls a member that was sent, or that is missing.

    `unknown field "spec.containers[0].limits"`, `body.parent.page_id should be defined`. What begins with the name of a
    type is read without that.
    """
    found: dict[str, str] = {}
    for said in read(error.message).said:
        for path in map(steps, said.slots.get("field", ())):
            places = [pointer(names, request) for names in (path, path[1:]) if len(names) > 1]
            inside = [one for one in places if one.count("/") > 2]
            sent = [one for one in inside if value_at(request, one) is not MISSING]
            lacking = [one for one in inside if isinstance(value_at(request, one.rpartition("/")[0]), Mapping)]
            if sent:
                found.setdefault(sent[0], error.constraint)
            elif lacking and said.kind in (Kind.MISSING, Kind.VALUE):
                found.setdefault(lacking[0], "required")
    if len(found) != 1:
        return error
    ((place, constraint),) = found.items()
    return error._replace(pointer=place, constraint=constraint)


def _at_member(error: Violation, request: Request) -> Violation:
    """Return an error at the member that its text names, where a format tells the object that lacks or has it."""
    there = value_at(request, error.pointer)
    *around, name = segments(error.pointer)
    is_unsaid = there is MISSING and letters(name) not in letters(error.message)
    if around and not is_unsaid and not isinstance(there, Mapping):
        return error
    listed = error.stated.get("enum")
    if isinstance(there, Mapping) and isinstance(listed, list):  # of an object it is a name that is none of those
        names = [str(one) for one in islice(there, _MOST) if one not in listed]
        quoted = [one for one in names if any(f"{mark}{one}{mark}" in error.message for mark in _MARKS)]
        if len(quoted) == 1:
            return error.at(f"{error.pointer}/{escape(quoted[0])}", "additionalProperties", {"enum": listed})
    return error._replace(pointer=member_pointer(error.pointer, error.message, error.constraint, request))


_MARKS: Final = ("'", '"', "`")


def _opened(error: Violation, request: Request) -> Iterator[Violation]:
    """Yield the errors that a text without a place tells in a form of its own, or as an answer inside it."""
    if error.pointer and (below := told_below(error.message, error.pointer, request)) is not None:
        stated = {"const": below.element} if below.element else error.stated
        yield error._replace(message=below.text, pointer=below.pointer, constraint=below.keyword, stated=stated)
    elif error.pointer or not error.message or len(error.message) > _LONGEST:
        yield error
    elif told := told_in(error.message, request):
        for one in told:
            native = {**error.native, "told_place": list(segments(one.pointer)[1:])}
            placed = error._replace(message=one.text, pointer=one.pointer, constraint=one.keyword, native=native)
            yield placed._replace(code=one.rule or error.code)
    else:
        # Beside the message of a gateway the provider's answer may stand as JSON in a text: `raw`.
        members = members_of(error) if request.protocol is Protocol.HTTP else {}
        beside = islice((one.value for one in leaves(members)), _MOST)
        texts = (one for one in beside if isinstance(one, str) and one.startswith("{") and len(one) <= _LONGEST)
        found = (answer_inside(error._replace(message=one), request) for one in (error.message, *texts))
        yield from next((one for one in found if one), [error._replace(message=framed_text(error.message))])


_DEEPEST: Final = 3
"""Answers in texts of answers: a gateway behind a gateway."""


def answer_inside(error: Violation, request: Request, depth: int = 0) -> list[Violation]:
    """Return the errors of an answer that stands in a text, as JSON or as a program prints it; none where it was sent.

    `Error code: 400 - {'error': {'message': "Unsupported parameter: 'max_tokens'", 'param': 'max_tokens'}}`
    """
    if printed := printed_text(error.message, request):
        return [error._replace(message=printed)]
    literal = find_literal(error.message)
    if literal is None or not isinstance(literal.value, (dict, list)):
        return []
    is_quoted = isinstance(request.body, str) and error.message[literal.start : literal.end] in request.body
    if is_quoted or literal.value in (request.body, *(one.value for one in sent_places(request))):
        return []
    found: list[Violation] = []
    for one in find_errors(literal.value, request):
        found += (answer_inside(one, request, depth + 1) if depth < _DEEPEST and not one.pointer else []) or [one]
    listed = [one for one in found if one.pointer and (one.code or complains(one.message))]
    if not listed and isinstance(literal.value, dict):
        told = folded(literal.value)
        is_all = literal.start == 0 and literal.end == len(error.message.rstrip())
        is_answer = is_all or len(told) == 1 or "error" in told or not told.keys().isdisjoint(CODES)
        listed = [one for one in found if is_answer and not SENTENCES.isdisjoint(told) and " " in one.message]
    return [
        one._replace(
            code=one.code or error.code,
            type=one.type or error.type,
            native={**error.native, **one.native, "members": {**members_of(error), **members_of(one)}},
        )
        for one in listed
    ]


_VALUES: Final = ("value", "rejectedvalue", "attemptedvalue", "invalidvalue", "input", "received", "actual")


def _as_sent(error: Violation, request: Request) -> Violation:
    """Return an error at the place that the request has: without a foreign step, at the element that is quoted.

    Where it has none, the place may be one of an object inside the body: that is said, and left to who weighs evidence.
    """
    if "told_place" not in error.native and not error.pointer:
        return error
    place = without_foreign_step(error.pointer, error.constraint, request)
    there = value_at(request, place)
    if isinstance(there, list):
        quoted = [value for name, value in folded(members_of(error)).items() if name in _VALUES]
        at = [number for number, one in enumerate(there) if one in quoted and isinstance(one, str | int)]
        place = f"{place}/{at[0]}" if len(at) == 1 else place
    told = error.native.get("told_place")
    names = [str(one) for one in told] if isinstance(told, list) else []
    is_lack = error.constraint == "required" and value_at(request, place.rpartition("/")[0]) is MISSING
    if there is MISSING and is_lack and (holder := _inside(names[:-1], request)):
        return error._replace(pointer=f"{holder}/{escape(names[-1])}")
    if there is MISSING and (inside := _inside(names, request)):
        if len(names) > 1:  # it is by no chance that one object has all the steps
            return error._replace(pointer=inside)
        error = error._replace(native={**error.native, "relative_place": names})
    return error._replace(pointer=place) if place != error.pointer else error


def _inside(steps: Sequence[str], request: Request) -> str:
    """Return the place of these steps in the only object inside the body that has it; empty where not one has it."""
    sent = [one for one in sent_places(request) if one.path[0] == "body"] if steps else []
    ends = [one for one in sent if one.path[-len(steps) :] == (*steps,) and len(one.path) > len(steps) + 1]
    return ends[0].pointer if len(ends) == 1 else ""


_FEW: Final = 16
"""Errors whose places are compared with what was sent."""


def _with_members(error: Violation, request: Request, *, is_only: bool) -> Violation:
    """Return an error with what a member beside its text states of a value that was sent, and that the value breaks.

    `{"code": "SLOT_TAKEN", "free_slots": [3, 4]}` of a request with `"slot": 2`. What has no name of its own is of the
    value that the text names, else of the only one of its type. Or at the only value of what is in the way, which has
    the same: `"conflict": {"email": "a@b.c", "id": 7}`.
    """
    members = members_of(error)
    if (error.stated and error.pointer) or not members:
        return error
    sent = {one.pointer: one for one in sent_places(request) if len(one.path) == 2}
    abouts, places = said_of_places(members), [error.pointer]
    for about in [one for one in abouts if not error.stated or error.stated == {one.keyword: one.value}]:
        if about.noun and error.pointer:
            places = [error.pointer] if _is_named(segments(error.pointer)[-1], about.noun) else []
        elif about.noun:
            places = [place for place, one in sent.items() if _is_named(one.path[1], about.noun)]
        elif not error.pointer:
            tokens = tokens_of(error.message)
            alike = [place for place, one in sent.items() if _is_alike(one.value, about.value)]
            named = [place for place in alike if tokens.mention(sent[place].path[1]) is not None]
            places = named or [place for place in alike if last_word(sent[place].path[1]).lower() not in _OF_A_THING]
        if is_only and len(places) == 1 and _breaks(value_at(request, places[0]), about):
            return error.at(places[0], error.constraint, {about.keyword: about.value})
    others = [value for name, value in folded(members).items() if name in CONFLICTS and isinstance(value, dict)]
    same = [place for place, one in sent.items() if others and one.value == others[0].get(one.path[1], MISSING)]
    return error._replace(pointer=same[0]) if is_only and len(same) == 1 and not error.pointer else error


_OF_A_THING: Final = frozenset({"id", "number", "no", "code", "key", "ref", "year", "version", "zip", "phone"})
"""Last words of names of numbers that are no amount."""


def _is_alike(value: Json, other: Json) -> bool:
    """Whether a value is a number as another one, or a text as the elements of a list."""
    if isinstance(other, list):
        return any(type(value) is type(one) for one in other)
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_named(name: str, noun: tuple[str, ...]) -> bool:
    """Whether a member is called like the noun of another, which may be in the plural."""
    own, other = letters(name), letters("".join(noun))
    return own == other or is_plural(other, own)


def _breaks(value: Json, about: About) -> bool:
    """Whether a value that was sent is not what is said of its place."""
    if not isinstance(value, str | int | float):
        return False
    if isinstance(about.value, list):
        return str(value) not in map(str, about.value)
    return first_violation(value, {about.keyword: about.value}) is not None


def _of_alternatives(errors: list[Violation], request: Request) -> list[Violation]:
    """Join errors at one place each of which tells the value of another alternative, as Effect and io-ts do.

    Without those about a type where another alternative takes values of the type that was sent, as zod and pydantic do.
    """
    out: list[Violation] = []
    for error in errors:
        before = out[-1] if out else None
        is_next = before is not None and error.pointer == before.pointer != "" and {*error.stated} == {"enum"}
        if before is not None and is_next and {*before.stated} == {"enum"}:
            more = [one for one in error.stated["enum"] if one not in before.stated["enum"]]
            out[-1] = before._replace(stated={"enum": [*before.stated["enum"], *more]})
        elif not _is_of_another_type(error, errors, request):
            out.append(error)
    return out


def _is_of_another_type(error: Violation, errors: Sequence[Violation], request: Request) -> bool:
    """Whether what was sent has not the type that an error states, and another error takes that type for granted."""
    sent = value_at(request, error.pointer) if error.pointer.count("/") > 1 and "type" in error.stated else MISSING
    if sent is MISSING or first_violation(sent, {"type": error.stated["type"]}) is None:
        return False
    if isinstance(sent, Mapping | list):
        return any(one.pointer.startswith(f"{error.pointer}/") for one in errors)
    others = [one for one in errors if one.pointer == error.pointer and one is not error]
    return any(type(value) is type(sent) for one in others for value in one.stated.get("enum", ()))
