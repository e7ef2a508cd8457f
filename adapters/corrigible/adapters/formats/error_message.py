"""What the text of an error adds to it: its place, the keyword, what it states about the value, further errors.

Knows: one error and the request. Does not know: descriptions, the answer around the error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from corrigible.adapters.formats.message.absence import SAYS_ABSENT, is_blank, is_blank_at, misses
from corrigible.adapters.formats.message.constraint_failure import ConstraintFailure, constraint_failures
from corrigible.adapters.formats.message.database import StoredConstraint, members_of, stored_constraint
from corrigible.adapters.formats.message.go_json import decode_error, decoded_places
from corrigible.adapters.formats.message.jsonschema_text import JsonschemaError, read_jsonschema
from corrigible.adapters.formats.message.literals import find_literal
from corrigible.adapters.formats.message.member_names import TAG, NamedMember, find_member, find_subject, stated_path
from corrigible.adapters.formats.message.part_sentences import part_sentences
from corrigible.adapters.formats.message.pattern_list import PatternList
from corrigible.rules.budget import walk
from corrigible.rules.pointer import MISSING, escape, parameters_at, to_pointer, value_at
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Request

from .keywords import KEYWORDS, keyword_of, stated_keywords
from .locate import fit_keywords
from .place_by_path import place_of_failure, respell_missing, respell_pointer
from .place_in_patch import is_patch
from .pointers import member_pointer, part_of, pointer, steps
from .text_shapes import keyword_of_sentence, listed_complaints, path_in_prose, path_inside

_PLAINLY_ABSENT: Final = re.compile(
    r"(?:required|missing data for required field|this field is required|can't be blank)", re.IGNORECASE
)
_EXTRA: Final = PatternList(
    r"^(?:unknown field\.?|extra keys not allowed.{0,200}|.{0,200}\bexpected (?:a value of type"
    r" )?`?never`?\b.{0,200}|extra inputs are not permitted|extra fields not permitted|unexpected (?:property|field)\.?"
    # Symfony's Collection; Effect 4 and 3
    r"|this field was not expected\.?|expected no excess property(?:\s+at \[.{0,200})?"
    r"|is unexpected(?:, expected: .{0,400})?"
    r"|['\"\w.-]{0,80} ?(?:is not allowed|should not exist|is not permitted|is not a (?:known|valid) (?:field|"
    r"property))\.?"
    r"|(?:unknown|unrecogni[sz]ed|undeclared) (?:field|property|parameter|key|member)\b.{0,120}"
    # class-validator's `Equals(undefined)`, Joi's `forbidden` and the like
    r"|['\"\w.-]{0,80} ?(?:must|should) be (?:equal to )?undefined\.?)$"
)
_ITEM: Final = re.compile(
    r"\b(?:error )?(?:at|in|for) (?:item|index|element|entry)(?: number)? #?(?P<index>\d{1,6})\b", re.IGNORECASE
)
_NOT_A_LIST: Final = re.compile(
    r"^list indices must be integers(?: or slices)?, not str\b"
    r"|'list' object has no attribute '(?:get|items|keys|values|pop)'"
    r"|^(?:the )?(?:(?:request|json|http) )?(?:content|body|payload|json|request|data|value|input|root)"
    r" (?:must|should|has to|needs to) (?:only )?be (?:an? )?(?:valid )?(?:json )?(?:object|dict(?:ionary)?|map)\b"
    r"|^expected (?:an? )?(?:json )?(?:object|dict(?:ionary)?)(?:,? (?:but )?(?:got|found|received) (?:an? )?(?:json )?"
    r"(?:array|list))?[.!]?$"
    r"|^(?:array|list) (?:given|found|received),? (?:but )?(?:object|map|dict) (?:expected|required)\b",
    re.IGNORECASE,
)
"""What Python says where a handler takes a list for an object, and the words of those who check."""
_PYDANTIC_WHOLE: Final = re.compile(
    r"^1 validation error for [^\n]{1,200}\n {2}(?:(?:Value|Assertion) error, )?(?P<message>[^\n]{1,400}?)"
    r" \[type=(?P<type>\w{1,60}), input_value="
)
"""The text of pydantic's ValidationError about the whole, which has no place."""
_WRAPPED: Final = re.compile(r"^(?:.{0,300}\W)?rpc error: code = \w{1,40} desc = (?=\S)")
"""How grpc-go prints a status that a REST front hands on as its message."""
_THROWN: Final = re.compile(
    r"^(?:java\.\w{1,20}\.)?(?:(?:IllegalArgument|NumberFormat|DateTimeParse)Exception|ValueError): (?=\S)"
)
"""How exceptions about what was sent are printed with their class."""
_UNCAUGHT: Final = re.compile(
    r"^(?:Exception (?:calling application|iterating responses)|Unexpected <class '\w{1,60}'>"
    r"|Server method handler threw error)[:\s]{1,3}(?=\S)"
)
"""How servers print an exception of their code that nobody caught: grpcio and libraries on top of it, grpc-js."""
_HEADED: Final = re.compile(
    r"^\s*(?:(?:error|fault|failure|problem)(?: (?:message|text|details?))?|message)s?:[ \t]*\n\s*(?=\S)", re.IGNORECASE
)
"""A heading that stands alone above the sentence: `ERROR MESSAGE:`."""
_LINE_BREAKS: Final = re.compile(r"\s*(?:<br ?/?>\s*)+")
"""Of HTML, which WebOb has between the explanation and the detail in JSON, too."""
_CONTINUED: Final = re.compile(r"\n\s*at \[|reference chain")
"""Jackson's second line is about the first."""
_LONGEST: Final = 2000
_MOST_SENT: Final = 500
_MOST_LINES: Final = 32


def complete(violation: Violation, request: Request) -> list[Violation]:
    """Return an error with what its text says, or the errors that its text holds."""
    violation = _unwrapped(violation)
    message = violation.message
    failed = [_failed(violation, one, request) for one in constraint_failures(message)]
    if failed:
        return failed
    if message and len(message) <= _LONGEST and not violation.pointer:
        inner = _inside(violation, request)
        if inner:
            return inner
    out = _with_places(violation, request)
    return [_with_statement(one, request) for one in out]


def _failed(violation: Violation, failure: ConstraintFailure, request: Request) -> Violation:
    """Return one of the failures that a text tells, at its place."""
    place = place_of_failure(failure.names, request, first=0 if failure.counts_from_zero else 1)
    there, stated = value_at(request, place), failure.stated
    if failure.is_about_elements and isinstance(there, list):
        place, stated = (f"{place}/0", stated) if len(there) == 1 else (place, {})
        there = there[0] if stated else there
    fitted = fit_keywords(stated, there)
    constraint = next(reversed(list(fitted)), "required" if failure.is_missed else "")
    return violation._replace(message=failure.message, pointer=place, constraint=constraint, stated=fitted)


def _unwrapped(violation: Violation) -> Violation:
    """Return an error with its own sentence, without the printed status of the service behind, or what was sent."""
    whole = _PYDANTIC_WHOLE.match(violation.message) if "validation error for" in violation.message[:_LONGEST] else None
    if whole is not None:
        return violation._replace(code=whole["type"], message=whole["message"])
    if "<br" in violation.message[:_LONGEST]:
        violation = violation._replace(message=_LINE_BREAKS.sub("\n", violation.message).strip())
    if (headed := _HEADED.match(violation.message)) is not None:
        violation = violation._replace(message=violation.message[headed.end() :].rstrip())
    violation = violation._replace(message=_THROWN.sub("", violation.message, count=1))
    if (uncaught := _UNCAUGHT.match(violation.message)) is not None:
        return violation._replace(message=violation.message[uncaught.end() :])
    wrapped = _WRAPPED.match(violation.message) if "rpc error: " in violation.message[:_LONGEST] else None
    return violation if wrapped is None else violation._replace(message=violation.message[wrapped.end() :])


def _inside(violation: Violation, request: Request) -> list[Violation]:
    """Return the errors that a text holds as data or line by line, where they say more than the text as a whole."""
    if told := part_sentences(violation.message):
        return [_of_part(violation, *one, request) for one in told]
    if (failed := read_jsonschema(violation.message)) is not None:
        return _by_value(violation._replace(message=failed.sentence), failed, request)
    if "\n" not in violation.message:
        return _each_clause(violation, request) if "; " in violation.message else []
    if listed_lines := listed_complaints(violation.message, request):
        each_line = [violation._replace(message=one.text, pointer=one.pointer) for one in listed_lines]
        return [_with_statement(one, request) for one in each_line]
    if _CONTINUED.search(violation.message) is not None:
        return []
    lines = [line.strip(" -*•\t\r") for line in violation.message.splitlines()[:_MOST_LINES]]
    each = [_with_places(violation._replace(message=line), request) for line in lines if line]
    placed = [one for listed in each for one in listed if one.pointer]
    is_headed = len(placed) == 1 and all(line.endswith(":") for line in lines if line and line != placed[0].message)
    return [_with_statement(one, request) for one in placed] if len(placed) > 1 or is_headed else []


def _each_clause(violation: Violation, request: Request) -> list[Violation]:
    """Return the errors that a text tells one behind the other, where each has a place of its own."""
    clauses = violation.message.rstrip(". ").split("; ")
    if len(clauses) > _MOST_LINES:
        return []
    each = [one for clause in clauses for one in _with_places(violation._replace(message=clause), request)]
    is_each_placed = len({one.pointer for one in each}) == len(each) and all(one.pointer for one in each)
    return [_with_statement(one, request) for one in each] if is_each_placed else []


def _of_part(violation: Violation, place: str, sentence: str, request: Request) -> Violation:
    """Return one of the errors of a text whose sentences begin with the part of the request."""
    keyword = keyword_of_sentence(sentence)
    told = violation._replace(message=sentence, pointer=pointer(steps(place), request), constraint=keyword)
    (placed,) = _with_places(told, request)[:1]
    return _with_statement(placed, request)


def _by_value(violation: Violation, failed: JsonschemaError, request: Request) -> list[Violation]:
    """Return an error of jsonschema at the only place with the value that failed; nothing where that is not clear."""
    if failed.value is MISSING:
        return []
    tail = to_pointer(failed.path) if failed.path else ""
    is_scalar = not isinstance(failed.value, (dict, list))
    found = None if is_scalar and not tail else places_of(failed.value, request)
    places = [one for one in found or () if one.endswith(tail)]
    if not places and tail and is_patch(request):
        places = [f"/body{tail}"]  # of the resource that the operations are about
    if len(places) != 1:
        return []
    if failed.keyword not in _ABOUT_MEMBERS:
        return _of_value(violation, failed, places[0], request) if tail else []
    name = find_member(violation.message)
    members = [escape(one) for one in (name.member, *name.others) if one]
    if failed.keyword != "required" or not members:
        return [violation.at(f"{places[0]}/{one}", failed.keyword, {}) for one in members]
    known = failed.schema.get("properties")
    declared = known.get(name.member) if isinstance(known, Mapping) else None
    told = {key: inner for key, inner in declared.items() if key in KEYWORDS} if isinstance(declared, Mapping) else {}
    return [violation.at(f"{places[0]}/{members[0]}", "required", told)]


def _of_value(violation: Violation, failed: JsonschemaError, place: str, request: Request) -> list[Violation]:
    """Return an error of jsonschema about a value at its place, with what its sentence or else the schema states."""
    told = _with_statement(violation.at(place, "", {}), request)
    if told.stated:
        return [told]
    stated = {key: inner for key, inner in failed.schema.items() if key in KEYWORDS}
    return [violation.at(place, failed.keyword, stated)] if failed.keyword in stated else []


_ABOUT_MEMBERS: Final = frozenset({"required", "additionalProperties", "unevaluatedProperties"})


def _place_quoted(message: str, request: Request) -> str:
    """Return the only place of the body whose object or list a text quotes, empty where there is none."""
    literal = find_literal(message)
    if literal is None or not isinstance(literal.value, (dict, list)) or not literal.value:
        return ""
    places = places_of(literal.value, request) or []
    return places[0] if len(places) == 1 and places[0] != "/body" else ""


def places_of(value: Json, request: Request) -> list[str] | None:
    """Return the places of the body with this value; None where it is too large to say."""
    waiting: list[tuple[str, Json]] = [("/body", request.body)]
    found: list[str] = []
    walk()
    for _ in range(_MOST_SENT):
        if not waiting:
            return found
        place, here = waiting.pop()
        if here == value and type(here) is type(value):
            found.append(place)
        inner = here.items() if isinstance(here, dict) else enumerate(here) if isinstance(here, list) else ()
        waiting += [
            (f"{place}/{escape(str(name))}", one)
            for name, one in inner
            if isinstance(one, (dict, list)) or type(one) is type(value)
        ]
    return None


def _with_places(violation: Violation, request: Request) -> list[Violation]:
    """Return an error at the place that its text names; several times where the text names several members."""
    message, place = violation.message, violation.pointer
    if not place and (stored := stored_constraint(message)) is not None:
        return [_not_stored(violation, stored, request)]
    if not place and (go := decode_error(message)) is not None:
        meant = decoded_places(go, request.body)
        if len(meant) == 1:
            return [violation._replace(pointer=meant[0])]
        whole = respell_pointer(pointer(go.names, request, place="body"), request) if go.names else ""
        # Of several such values the description knows which is wrong.
        is_there = value_at(request, whole) is not MISSING
        return [violation._replace(pointer=whole if is_there else "")]
    name = find_member(message)
    if not place and not name.member and (told := path_in_prose(message, request)).pointer:
        violation = violation._replace(pointer=told.pointer, message=told.text, printed=violation.written_text)
        place, message, name = told.pointer, told.text, find_member(told.text)
    if place and not name.member and (inside := path_inside(message, place, request)).pointer:
        return [violation._replace(pointer=inside.pointer, message=inside.text, printed=violation.written_text)]
    if place:
        constraint = violation.constraint or name.constraint
        if not place.endswith(_tail(name.member)) and constraint in (
            "required",
            "additionalProperties",
            "unevaluatedProperties",
        ):
            place = member_pointer(place, message, constraint, request)
        return [violation.at(place, constraint, _with_known(violation.stated, name))]
    path = _path(message, request)
    if name.member:
        if name.constraint == "additionalProperties" and isinstance(request.body, list) and name.member.isdecimal():
            return [violation._replace(pointer="/body", constraint="type", stated={"type": "object"})]
        around = value_at(request, path) if path else None
        is_inside = around is MISSING or isinstance(around, Mapping | list)  # a text has no members
        each = [
            _joined(path, one) if path and is_inside else _named_place(one, name, request)
            for one in (name.member, *name.others)
        ]
        constraint = violation.constraint or name.constraint
        if constraint == "required":  # of several that are required one may be there
            each = [one for one in each if is_blank_at(one, request)] or each
        if len(each) == 1 and _is_without(message, name, value_at(request, each[0])):
            return [violation._replace(pointer=each[0])]
        return [violation.at(one, constraint, _with_known(violation.stated, name)) for one in each]
    if path:
        return [violation._replace(pointer=path)]
    about = find_subject(message)
    place = pointer(steps(about.member), request, place=part_of(about.part)) if about.member else ""
    place = respell_pointer(place, request) if place else ""
    if place and (about.part or value_at(request, place) is not MISSING):
        is_missed = misses(message, about.member, place, request)
        return [violation._replace(pointer=place, constraint="required" if is_missed else violation.constraint)]
    if "{" in message and (quoted := _place_quoted(message, request)):
        return [violation._replace(pointer=quoted)]
    item = _ITEM.search(message)
    if item is not None and isinstance(request.body, list) and int(item["index"]) < len(request.body):
        return [violation._replace(pointer=f"/body/{item['index']}")]
    if isinstance(request.body, list) and _NOT_A_LIST.search(message) is not None:
        return [violation._replace(pointer="/body", constraint="type", stated={"type": "object"})]
    return [violation]


def _is_without(message: str, name: NamedMember, there: Json) -> bool:
    """Whether a text says what cannot be done without something that was sent: what it refers to is not there."""
    is_sent = isinstance(there, str | int) and not isinstance(there, bool) and not is_blank(there)
    return is_sent and name.constraint == "required" and _WITHOUT.search(message) is not None


_WITHOUT: Final = re.compile(r"\bnot (?:allowed|permitted|able) to\b.{1,80} without \S", re.IGNORECASE)


def _not_stored(violation: Violation, constraint: StoredConstraint, request: Request) -> Violation:
    """Return an error of a database at the only member of the body that it is about."""
    body = request.body if isinstance(request.body, Mapping) else {}
    members = members_of(constraint, body)
    if constraint.kind == "required" and constraint.columns:
        return violation.at(f"/body/{escape((members or constraint.columns)[0])}", "required", {})
    if len(members) != 1:
        return violation
    return violation.at(f"/body/{escape(members[0])}", "", constraint.stated)


def _with_known(stated: Mapping[str, Json], name: NamedMember) -> Mapping[str, Json]:
    """Add the names that are known in the place of an unknown one."""
    return {**stated, "propertyNames": {"enum": list(name.known_names)}} if name.known_names else stated


def _path(message: str, request: Request) -> str:
    """Return the pointer for the path that a text gives, empty where it gives none or only a word."""
    told = stated_path(message)
    path = told.path
    if not path:
        return ""
    parts: Sequence[str] = path if isinstance(path, list) else steps(path.removeprefix("#"))
    if not parts:
        return ""
    place = pointer(parts, request, place="body" if isinstance(path, list) or path[:1] in "$#/" else "")
    is_there = value_at(request, place) is not MISSING
    if told.label and not is_there:  # what stands before it may be the place
        path, parts = told.label, steps(told.label)
        place = pointer(parts, request)
        is_there = value_at(request, place) is not MISSING
    if told.is_sure or is_there or len(parts) > 1:
        return place
    rest = message.partition(f"{path}: ")[2]
    return place if SAYS_ABSENT.search(rest) else ""


def _named_place(member: str, name: NamedMember, request: Request) -> str:
    parts, where = steps(member), part_of(name.part)
    if not where and len(parts) == 1 and part_of(member):
        where = parameters_at(request)[1:]  # a member may be called `path` or `form`
    if not where and member.lower() in _HEADERS and value_at(request, f"/body/{member}") is MISSING:
        return f"/headers/{member.lower()}"
    return pointer(parts, request, place=where)


_HEADERS: Final = frozenset(
    {
        *("content-disposition", "content-encoding", "content-language", "content-length", "content-location"),
        *("content-md5", "content-range", "content-type", "content-digest", "repr-digest", "if-match"),
        *("if-none-match", "if-modified-since", "if-unmodified-since", "accept-language", "idempotency-key"),
    }
)
"""Headers of requests (RFC 9110, RFC 9530 and the like) whose names are nobody's members."""


def _tail(member: str) -> str:
    return "".join("/" + escape(part) for part in steps(member)) if member else "/"


def _joined(path: str, member: str) -> str:
    """Return the place of a member below a path, which may be the member's own already."""
    tail = _tail(member)
    return path if path.endswith(tail) else path + tail


def _with_statement(violation: Violation, request: Request) -> Violation:
    keyword = violation.constraint or keyword_of(violation.code)
    if not keyword and (tag := TAG.search(violation.message)) is not None:
        keyword = keyword_of(tag.match["tag"])
    place, message = violation.pointer, violation.message
    there = MISSING
    if place:
        walk()
        place = respell_missing(place, request) if keyword == "required" else respell_pointer(place, request)
        there = value_at(request, place)
    if not keyword and place:
        is_blank = there is MISSING or there in ("", None)
        if SAYS_ABSENT.search(message) and (is_blank or _PLAINLY_ABSENT.match(message)):
            keyword = "required"
        elif there is not MISSING and _EXTRA.search(message):
            keyword = "additionalProperties"
    go = decode_error(message)
    if go is not None and place not in decoded_places(go, request.body):
        return violation.at(place, keyword, violation.stated)  # the type is that of something inside
    stated = dict(violation.stated) or stated_keywords(
        violation.code, keyword, {"type": violation.type, **violation.native}, message
    )
    if keyword == "required" and there == "" and not stated:
        stated = {"minLength": 1}
    return violation.at(place, keyword, fit_keywords(stated, there))
