"""Where an error is: the place that a format tells, else the one that most speaks for.

Knows: errors, requests, what an operation declares. Does not know: what follows.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import islice
from typing import Final

from corrigible.adapters.base import Described
from corrigible.adapters.formats.keywords import fit_keywords
from corrigible.adapters.formats.pointers import part_of
from corrigible.adapters.formats.sent_places import PARTS, SentValue, sent_places
from corrigible.adapters.formats.statement import (
    CODES_OF_STATES,
    code_of_value,
    code_said,
    has_word,
    is_all,
    is_down,
    is_fault,
    is_of_route,
    is_of_state,
)
from corrigible.adapters.operation import NOTHING
from corrigible.rules.budget import remaining
from corrigible.rules.pointer import MISSING, parameters_at, segments, to_pointer, value_at
from corrigible.rules.safety.nearness import is_same, is_slip, letters, nearest
from corrigible.rules.schema_repair.first_violation import first_violation
from corrigible.rules.schema_repair.names import near_names
from corrigible.rules.violation import LikelyPlace, Violation
from corrigible.rules.wordings import Kind, Reading, read
from corrigible.rules.wordings.tokens import Tokens, tokens_of
from corrigible.schema.exchange import Exchange, Json, Protocol, Request

from .evidence import COMMON, LACK, Refusal, leaves, paths_said
from .places import Place, candidate_places, holders, is_wrapped, with_told
from .scorer import Ranked, rank

SURE: Final = 0.5
"""The least probability of a place that an error is said to be at."""
_MOST_TEXTS: Final = 200
_MOST_HOLDERS: Final = 8
_MOST_NAMES: Final = 6
_MOST_RANKED: Final = 12
"""Errors of one refusal whose place is looked for. Of more the name alone is compared."""
_OF_TRACES: Final = frozenset(
    {"stack", "trace", "stacktrace", "traceback", "timestamp", "requestid", "traceid", "path", "instance"}
)
"""Members that repeat the request or the server's own code."""


class Locator:
    """Ranks the places of the errors of one refusal."""

    def __init__(
        self,
        exchange: Exchange,
        body: Json,
        described: Described | None,
        operation: str,
        variables: Mapping[str, str],
    ) -> None:
        request = exchange.request
        known = described if operation else None
        vocabulary = NOTHING if known is None else known.vocabulary(operation, request.body)
        self._exchange = exchange
        self._places = candidate_places(request, vocabulary, variables)
        is_unrouted = not operation or request.protocol is Protocol.GRPC
        self._declares_members = any(len(one) > 1 and one[0] == "body" for one in vocabulary.places)
        knows_operations = described is not None and bool(described.operations.names)
        self.is_known = known is not None if request.protocol is Protocol.GRPC else knows_operations
        """Whether anything of such a request is described."""
        self._texts = list(islice(leaves(body, _OF_TRACES), _MOST_TEXTS))
        respelt = [known.misspellings, known.misplaced_members] if known is not None else []
        self._refusal = Refusal(
            exchange,
            Violation(),
            (),
            breaches=known.schema_violations(request, operation) if known is not None else (),
            respelt=[one for found in respelt for one in found(request, operation)],
            route=described.nearest_operation(request) if described and is_unrouted else None,
            is_described=known is not None,
            knows_operations=knows_operations,
        )

    def ranked(self, error: Violation, taken: frozenset[str] = frozenset(), *, within: str = "") -> list[Ranked]:
        """Return the places that an error can be about, at or below one where that is given, the likeliest first."""
        others = [one for one in self._texts if one != error.message]
        request = self._exchange.request
        may_lack = not self._refusal.is_described and self._exchange.status in _LACKING
        told = [*told_pointers(error, request), *(missed_pointers(error, request) if may_lack else ())]
        if self._declares_members:
            told = told[:1]  # a name that a sentence misses, and nothing declares, is of no object that is described
        if not self._refusal.is_described and _is_of_value(error):
            told = []  # what was not sent has no wrong value
        places = with_told(self._places, told, request)
        tokens = tokens_of(error.message)
        places = [_as_called(one, tokens) for one in places]
        if taken:
            places = [one for one in places if one.pointer not in taken or _is_told_again(one, error, tokens)]
        if within:
            places = [one for one in places if f"{one.pointer}/".startswith(f"{within}/")]
        return _with_one_path(rank(self._refusal._replace(error=error, places=places, others=others)))

    def called(self, name: str) -> str:
        """Return the only place of a name that an answer gives, empty where there are several or none."""
        found = [one.pointer for one in self._places if name and one.name == name]
        return found[0] if len(found) == 1 else ""

    def is_lack(self, error: Violation) -> bool:
        """Whether a format tells a place that was not sent, in an object that was, and nothing speaks against it."""
        request = self._exchange.request
        part, *names = segments(error.pointer) or [""]
        if part not in PARTS or not names or value_at(request, error.pointer) is not MISSING:
            return False
        if "relative_place" in error.native:
            return False  # one object inside of the body has it
        around = value_at(request, to_pointer((part, *names[:-1])))
        if isinstance(around, list) and names[-1] == "-":
            return True
        if not isinstance(around, Mapping):
            return False
        if any(one.pointer == error.pointer for one in self._places):
            return True
        if part == "headers":
            return error.constraint == "required"
        if request.protocol is Protocol.GRPC and len(names) > 1:
            return True  # a field that has its default is not in a message
        is_elsewhere = any(one.name == names[-1] for one in self._places if one.part != part)
        return part == "body" and _says_lack(error) and (len(names) > 1 or not (self._declares_members or is_elsewhere))


def _with_one_path(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Return places with the segments of the path as one: whichever is wrong, the path is what is asked for."""
    of_path = [one for one in ranked if one.place.part == "path"]
    if len(of_path) < 2:
        return list(ranked)
    probability = sum(one.probability for one in of_path)
    confidence = sum(one.confidence for one in of_path)
    whole = of_path[0]._replace(probability=probability, confidence=confidence)
    return sorted([whole, *(one for one in ranked if one.place.part != "path")], key=lambda one: -one.probability)


def _as_called(place: Place, tokens: Tokens) -> Place:
    """Return a segment of the path under the name of the two it has that a text says."""
    is_other = place.above and tokens.mention(place.name) is None and tokens.mention(place.above) is not None
    return place._replace(name=place.above) if is_other else place


def _is_told_again(place: Place, error: Violation, tokens: Tokens) -> bool:
    """Whether an error is told to be at a place that another error of the same refusal is at."""
    return place.pointer == error.pointer or place.part == "path" or tokens.mention(place.name) is not None


def _says_lack(error: Violation) -> bool:
    return error.constraint == "required" or bool(read(error.message).of(Kind.MISSING))


def _is_of_value(error: Violation) -> bool:
    """Whether all that a text says is that a value is wrong."""
    return {one.kind for one in read(error.message).said} == {Kind.VALUE} and not _says_lack(error)


def told_pointers(error: Violation, request: Request) -> list[str]:
    """Return the pointers that a format tells of an error, or that its sentences give."""
    if request.protocol is Protocol.GRPC:
        return [error.pointer]  # a message has no other fields than those that are declared
    tokens = tokens_of(error.message)
    missed = [path for path in paths_said(read(error.message), Kind.MISSING) if tokens.marks(path[-1])]
    return [error.pointer, *(parameters_at(request) + to_pointer(path) for path in missed)]


def missed_pointers(error: Violation, request: Request) -> Iterator[str]:
    """Yield where a member can belong that a text names as missing, where nothing is described: in what was sent.

    What people call a member is not always its name: `Role` that begins a sentence, `chart id`, `the version number`.
    """
    reading = read(error.message)
    if request.protocol is not Protocol.HTTP or not _says_lack(error):
        return
    tokens = tokens_of(error.message)
    said = [path[-1] for path in paths_said(reading, Kind.MISSING)]
    unsure = {one for one in said if not tokens.marks(one) and _is_phrase(one, reading)}
    names = list(dict.fromkeys(said))[:_MOST_NAMES]
    root, body = parameters_at(request), request.body
    sent = {one: value_at(request, one) for one in islice(holders(request), _MOST_HOLDERS)}
    held: dict[str, Mapping[str, Json]] = {
        one: inner if isinstance(inner, Mapping) else {} for one, inner in sent.items()
    }
    for name in names:
        if name in held[root]:
            continue
        is_near = is_slip if name in unsure else _is_near
        near = [one for one, inner in held.items() if any(is_near(name, str(key)) for key in inner)]
        for around in near or (held if name not in unsure else ()):
            *above, last = segments(around)
            is_only = len(above) == 1 and (is_wrapped(request, last) or isinstance(body, list))
            is_named = tokens.mention(above[-1] if last.isdecimal() else last) is not None
            if near or around == root or ((is_only or is_named) and name not in (*above, last)):
                yield around + to_pointer((spelled_as_in(name, held[around]),))


def _is_near(name: str, other: str) -> bool:
    return bool(near_names(name, [other]))


def _is_phrase(name: str, reading: Reading) -> bool:
    """Whether a plain word begins a sentence, or what it stands for has a word more right before it."""
    if name.istitle() or letters(name) == "id":
        return True
    starts = [one.start for one in reading.of(Kind.MISSING) if reading.text.startswith(name, one.start)]
    before = [reading.text[:start] for start in starts]
    words = [one[:-1].rpartition(" ")[2].lower() for one in before if one.endswith(" ")]
    return any(one.isalpha() and one not in COMMON and not part_of(one) for one in words)


def spelled_as_in(name: str, held: Json) -> str:
    """Return a name with the first letter that the other names of an object have: sentences begin with a capital."""
    firsts = [str(one)[:1] for one in held] if isinstance(held, Mapping) else []
    if name[1:] != name[1:].lower() or not name[:1].isalpha():
        return name
    is_capital = bool(firsts) and all(one.isupper() for one in firsts)
    return name[:1].upper() + name[1:] if is_capital else name[:1].lower() + name[1:]


def locate_errors(
    errors: Sequence[Violation],
    exchange: Exchange,
    body: Json,
    described: Described | None,
    operation: str,
    variables: Mapping[str, str],
) -> list[Violation]:
    """Return errors with the places that they have in the request, without those that cannot be.

    `variables` are those of the path, with their values.
    """
    locator: Locator | None = None
    out: list[Violation] = []
    looked_for = 0
    enough = remaining() // 4  # of very many errors so many are looked for as leave some steps for what follows
    taken = {one.pointer for one in errors if one.pointer and value_at(exchange.request, one.pointer) is not MISSING}
    for error in errors:
        error = _at_printed(_without_phrase(error, exchange), exchange.request)
        error = _of_listed_names(error, exchange.request)
        if not _is_there(error, exchange.request):
            locator = locator or Locator(exchange, body, described, operation, variables)
            if looked_for >= _MOST_RANKED or (out and remaining() < enough):
                error = error._replace(pointer=locator.called(error.param))
            elif locator.is_lack(error):
                error = error._replace(constraint="required" if error.constraint in _OF_VALUES else error.constraint)
            else:
                looked_for += 1
                ranked = locator.ranked(error, frozenset(taken))
                error = _at_likeliest(error, ranked, exchange, is_known=locator.is_known)
        elif _holds_others(error, exchange.request) and looked_for < _MOST_RANKED:
            locator = locator or Locator(exchange, body, described, operation, variables)
            looked_for += 1
            error = _inside(error, locator.ranked(error, within=error.pointer), exchange.request)
        error = _at_its_place(error, exchange.request)
        taken |= {error.pointer, *(one.pointer for one in error.likely[:1] if error.pointer)}
        out.append(error)
    return out


def _at_printed(error: Violation, request: Request) -> Violation:
    """Return an error at the object or list that its text repeats before it says what is wrong with that.

    `[{'name': 'x'}] is not of type 'object'`: what is inside is not what the text is about.
    """
    if error.pointer or request.protocol is Protocol.GRPC or not ("[" in error.message or "{" in error.message):
        return error  # the members of a map come in any order from a message
    for place in islice((SentValue(("body",), request.body), *sent_places(request)), _MOST_TEXTS):
        first = next(iter(place.value), None) if isinstance(place.value, Mapping | list) else None
        if first is None or (isinstance(first, str) and first not in error.message):
            continue
        for printed in (repr(place.value), json.dumps(place.value, ensure_ascii=False, separators=(",", ":"))):
            before, _, after = error.message.partition(printed)
            rest = f"value{after}"
            said = [one for one in read(rest).of(Kind.VALUE) if one.start <= len("value ")] if after else []
            if said and {name for slot in ("field", "thing") for name in said[0].slots.get(slot, ())} <= {"value"}:
                return error._replace(pointer=place.pointer, message=before + rest, printed=error.written_text)
    return error


def _of_listed_names(error: Violation, request: Request) -> Violation:
    """Return an error at the only value that its text repeats and that is near one name of those that it lists.

    `Unknown column titel. Valid fields: papers.id, papers.title`: what such names belong to may stand before them.
    """
    told = read(error.message).of(Kind.UNKNOWN)
    listed = [name for slot in ("options", "instead") for one in told for name in one.slots.get(slot, ())]
    if not listed or error.stated:
        return error
    last = [one.rpartition(".")[2] for one in listed] if all("." in one for one in listed) else listed
    sent = list(islice(sent_places(request), _MOST_TEXTS))
    names = {one.path[-1] for one in sent}
    values = ((one, one.value) for one in sent if isinstance(one.value, str) and one.value not in names)
    said = ((one, value) for one, value in values if has_word(error.message, value))
    known = [(one, value, listed if "." in value else last) for one, value in said]
    found = [(one, of) for one, value, of in known if value not in of and len(nearest(value, of)) == 1]
    if len(found) != 1:
        return error
    return error._replace(pointer=found[0][0].pointer, constraint="enum", stated={"enum": found[0][1]})


def _without_phrase(error: Violation, exchange: Exchange) -> Violation:
    """Return an error whose text does not begin with the words for the status, which say nothing of their own."""
    is_http = exchange.request.protocol is Protocol.HTTP
    phrase = _PHRASES.get(exchange.status, "") if is_http else ""
    if not phrase or error.message[: len(phrase)].lower() != phrase:
        return error
    rest = error.message[len(phrase) :].lstrip(" :.,-\u2013\u2014\n")
    return error._replace(message=rest, printed=error.written_text) if rest else error


_PHRASES: Final = {one.value: one.phrase.lower() for one in HTTPStatus}


def _at_likeliest(error: Violation, ranked: Sequence[Ranked], exchange: Exchange, *, is_known: bool) -> Violation:
    """Return an error at its likeliest place, without a place where none is likely enough.

    What is likely by the form of a request alone counts where the request is described: `is_known`. Else the answer
    has to tell of a place, or it has to be very likely, and is only asked about.
    """
    likely = tuple(
        LikelyPlace(
            one.place.pointer,
            one.probability,
            one.confidence,
            None if one.place.is_absent else one.place.value,
            one.place.is_absent,
            not _TELLING.isdisjoint(name.removeprefix(LACK) for name in one.evidence),
            tuple(map(sys.intern, one.evidence)),  # a few hundred texts, of which what is kept has thousands
        )
        for one in ranked[:_MOST_LIKELY]
    )
    if not likely:
        return error._replace(pointer="")
    is_told, best = likely[0].is_told, ranked[0]
    if exchange.request.protocol is Protocol.GRPC:
        return _of_call(error._replace(likely=likely), best, is_known=is_known or is_told)
    is_about_values = exchange.status in _ABOUT_WHAT_WAS_SENT and is_known
    if not is_told and not is_about_values:
        told = {one.kind for one in read(error.message).said}
        is_of_value = exchange.status in _LACKING and told and _OF_WHAT_WAS_SENT.issuperset(told)
        is_sure = best.confidence >= _SURE_UNTOLD and best.place.pointer.startswith(("/body/", "/query/"))
        return error._replace(pointer="", likely=likely if is_of_value and is_sure else ())
    error = error._replace(likely=likely)
    if not (best.place.is_absent or likely[0].is_told) and read(error.message).of(Kind.MISSING):
        error = error._replace(stated={})  # what is stated is of what is missing
    if not is_told and _is_of_the_whole(error, exchange.request.body, likely):
        return error._replace(pointer="/body")
    is_bare = exchange.status == _NOT_FOUND and error.message.lower() == _PHRASES[_NOT_FOUND]
    is_of_state = exchange.status == _CONFLICT or is_bare or bool(read(error.message).of(*_OF_STATE))
    is_unsaid = is_of_state and not is_told  # the form of a request says nothing of what is there already
    is_whole = best.place.part in ("path", "method") or best.place.pointer == "/body" or best.probability < SURE
    if is_unsaid or is_whole or exchange.status == _UNAUTHORIZED or exchange.status >= _SERVER_ERROR:
        return error._replace(pointer="")
    return _placed(error, best)


def _inside(error: Violation, ranked: Sequence[Ranked], request: Request) -> Violation:
    """Return an error whose told place holds the one that its text tells of at that one.

    Where the told place is itself what is stated to be refused, the text has to quote one value inside that is, too.
    """
    best = ranked[0] if ranked else None
    if best is None or best.place.pointer == error.pointer or best.probability < SURE:
        return error
    is_refused = first_violation(value_at(request, error.pointer), error.stated) is not None
    if is_refused and first_violation(best.place.value, error.stated) is None:
        return error
    is_told = {*best.evidence} >= _QUOTED_ALONE if is_refused else not _TELLING.isdisjoint(best.evidence)
    return _placed(error, best) if is_told else error


def _is_of_the_whole(error: Violation, body: Json, likely: Sequence[LikelyPlace]) -> bool:
    """Whether what is stated is the type of an object or list, which the body is not: `object expected`."""
    stated = {"type": error.stated.get("type")}
    if not isinstance(body, Mapping | list) or stated["type"] not in ("object", "array"):
        return False
    told = [one.value for one in likely if one.is_told and isinstance(one.value, Mapping | list)]
    return not any(first_violation(one, stated) for one in told) and first_violation(body, stated) is not None


def _placed(error: Violation, best: Ranked) -> Violation:
    constraint, told = error.constraint, error.pointer
    is_spelled_otherwise = told != best.place.pointer and is_same(told, best.place.pointer)
    if constraint == "required" and is_spelled_otherwise and not best.place.is_absent:
        return error  # what was sent is not read: the server misses the name that it tells
    if best.place.is_absent and constraint in _OF_VALUES:
        constraint = "required"
    return error._replace(pointer=best.place.pointer, constraint=constraint)


def _of_call(error: Violation, best: Ranked, *, is_known: bool) -> Violation:
    """Return an error of a gRPC call at its place, with the code that its sentence stands for."""
    if error.pointer.startswith(("/path", "/query")):
        error = error._replace(pointer="")
    chose_none, is_told = error.type in _CHOSE_NONE, error.likely[0].is_told
    names_cause = error.type != "UNKNOWN" or not is_all(error.message, "fault.own")
    is_fault_alone = chose_none and (
        (not is_told and names_cause and is_fault(error.message)) or is_down(error.message)
    )
    if is_fault_alone or (error.type in _SAID_OF_STATES and is_of_state(error.message)):
        return error._replace(pointer="", likely=())
    is_unknown_method = error.type == "UNIMPLEMENTED" and (is_of_route(error.message) or not is_told)
    if error.type in CODES_OF_STATES and (said := code_of_value(error.message, error.likely[0])):
        error = error._replace(type=said)
    if is_unknown_method or not (chose_none or error.type in _ABOUT_FIELDS):
        return error._replace(pointer="", likely=())
    if best.place.part == "method" and best.probability >= SURE:
        return error._replace(pointer="")
    code = code_said(error.message) if chose_none else error.type
    sent = [one for one in error.likely if is_told and not one.is_absent]
    alike = [one for one in sent if one.value == error.likely[0].value]
    if len(alike) > 1 and code == "NOT_FOUND" and sum(one.probability for one in alike) >= SURE:
        first, *others = sorted((one.pointer for one in alike), key=lambda one: (one.count("/"), one))
        native: Mapping[str, Json] = {**error.native, "alike": others}
        return error._replace(pointer=first, type=code, native=native)
    if best.place.depth and best.probability >= SURE and best.place.part == "body" and is_known:
        if chose_none and is_told:
            code = code or "INVALID_ARGUMENT"
        native = error.native
        around = [
            one.pointer
            for number, one in enumerate(error.likely[1:])
            if one.pointer != "/body" and ((one.probability > _BESIDE and not number) or _SAYS_WHERE in one.why)
        ][:_MOST_ASKED]
        if around and code == "NOT_FOUND":
            native = {**native, "around": around}
        return _placed(error, best)._replace(type=code or error.type, native=native)
    fields = [one for one in error.likely if one.pointer.startswith("/body/") and not one.is_absent]
    may_be_any = is_known or not names_cause or len(fields) <= (1 if code == "NOT_FOUND" else _FEW)
    places = [
        one.pointer
        for one in error.likely
        if may_be_any and one.probability > _BESIDE and one.pointer.startswith("/body/")
    ][:_MOST_ASKED]
    likely: dict[str, Json] = {"likely": places} if places else {}
    return error._replace(pointer="", type=code or error.type, native={**error.native, **likely})


_ABOUT_FIELDS: Final = frozenset(
    {"INVALID_ARGUMENT", "OUT_OF_RANGE", "NOT_FOUND", "ALREADY_EXISTS", "FAILED_PRECONDITION", "UNIMPLEMENTED"}
)
"""Codes of google.rpc that may be about a field of the message."""
_TELLING: Final = frozenset(
    {"named", "value, distinct", "value in quotes", "told, sent", "told, absent", "told whole", "told by all its names"}
    | {
        "is the field that is missing, absent",
        "the last segment is there",
        "nothing else was sent to what is not there",
    }
)
_SAYS_WHERE: Final = "value says where"
_QUOTED_ALONE: Final = frozenset({"value in quotes", "value alone"})
_CHOSE_NONE: Final = frozenset({"UNKNOWN", "INTERNAL"})
_SAID_OF_STATES: Final = _CHOSE_NONE | {"NOT_FOUND"}
"""Codes under which a text may say that a right, a state or a limit is in the way: then no field is."""
_CONFLICT: Final = 409
_NOT_FOUND: Final = 404
_OF_STATE: Final = (Kind.EXISTS, Kind.STATE, Kind.IN_USE, Kind.RIGHT, Kind.CREDENTIALS, Kind.FEATURE, Kind.PACE)
"""Kinds of complaints that are about what the server has, or about who asks."""
_SURE_UNTOLD: Final = 0.85
"""The least confidence in a value that nothing tells and nothing describes: it is only asked about."""
_OF_WHAT_WAS_SENT: Final = frozenset({Kind.UNKNOWN, Kind.VALUE, Kind.MALFORMED, Kind.ABSENT, Kind.TOGETHER, Kind.APART})
"""Kinds of complaints that a value that was sent is to blame for."""
_BESIDE: Final = 0.15
_MOST_LIKELY: Final = 8
_MOST_ASKED: Final = 3
_FEW: Final = 2
"""Fields of which each may be what is wrong, whatever is said."""
_UNAUTHORIZED: Final = 401
_ABOUT_WHAT_WAS_SENT: Final = frozenset({400, 404, 406, 409, 410, 412, 415, 422})
"""Statuses that say of what was sent that it is wrong. Under all others a text has to tell the place."""
_LACKING: Final = frozenset({400, 422})
"""Statuses under which what a text says to be missing is a member of the request."""
_SERVER_ERROR: Final = 500


def _is_there(error: Violation, request: Request) -> bool:
    """Whether the told place is one of the request, and no other can be meant."""
    if not error.pointer:
        return False
    part, *names = segments(error.pointer)
    if part not in PARTS or not names:
        return bool(names) or error.pointer != "/body" or bool(error.constraint or error.stated)
    there = value_at(request, error.pointer)
    if there is MISSING:
        return False
    # A missing member that is told by its name alone may be one further inside, where the outermost is there.
    return error.constraint != "required" or len(names) > 1 or there in _BLANK


def _holds_others(error: Violation, request: Request) -> bool:
    there = value_at(request, error.pointer)
    return isinstance(there, Mapping | list) and bool(there) and error.pointer.count("/") > 1


def _at_its_place(error: Violation, request: Request) -> Violation:
    """Name limits as those of the value at the place. What is unknown may be this value, and not its name."""
    there = value_at(request, error.pointer) if error.pointer else MISSING
    if there is MISSING:
        return error
    if error.constraint == "additionalProperties" and isinstance(there, str) and there:
        unknown = {name for one in read(error.message).of(Kind.UNKNOWN) for name in one.slots.get("field", ())}
        if there in unknown and segments(error.pointer)[-1] not in unknown:
            error = error._replace(constraint="")
    return error._replace(stated=fit_keywords(error.stated, there)) if error.stated else error


_BLANK: Final[tuple[Json, ...]] = ("", None, [], {})
_OF_VALUES: Final = frozenset({"", "type", "enum", "minLength", "minimum", "format", "pattern"})
