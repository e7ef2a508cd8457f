"""Complaints about several members at once: how two fit together, which of them exclude each other, which is needed.

| the complaint                                         | what follows                                          |
|-------------------------------------------------------|-------------------------------------------------------|
| "end must be after start", "a and b must be as long"  | a question at both places: which is wrong is not said |
| "start time must be before end time" (of `startsAt`)  | the same                                              |
| "end time can't be in the past" (of `endsAt`)         | a question at its place                               |
| "only one of page, cursor may be given", "not both"   | a choice which one to keep; leaving out is flagged    |
| ..., or what was sent "is valid under each of" forms  | the same, of the members that the forms require       |
| ..., or fits two forms of a `oneOf`, as ajv says      | the same, of the members that tell them apart         |
| "a, b and c fractions must add up to 1"               | a question at the places of those that were sent      |
| "old and new sorting syntax cannot be combined"       | the same, of those whose names have that word         |
| "incompatible link for this family"                   | a question at both places                             |
| "a post can not be sticky and have a password"        | the same                                              |
| "email or username are already taken"                 | a question at both places: which is taken is not said |
| "either name or id is required", and neither was sent | a choice of questions; a name near to one is renamed, |
|                                                       | and what is inside of an unknown member is taken out  |
| "title, body and summary are empty"                   | the same                                              |

Knows: sentences, the members that were sent or are declared. Does not know: which of them the caller meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.adapters.base import Described
from corrigible.adapters.formats.literals import find_literal
from corrigible.rules.budget import spend
from corrigible.rules.engine.guarded_patch import PatchError
from corrigible.rules.functions.builtin import Operation
from corrigible.rules.pointer import MISSING, escape, resolve, segments, to_pointer, value_at
from corrigible.rules.safety.nearness import is_plural, is_same
from corrigible.rules.schema_repair.json_schema import trim_schema
from corrigible.rules.schema_repair.names import near_names
from corrigible.rules.schema_repair.repair import repair
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import Proposal, Repair, Suggestion, ask, guarded_edit, left_out, options
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Protocol, Request

from .api_profile import RefusalCase
from .moments import places_of_moments

_EACH_FORM: Final = re.compile(r"\bis valid under each of (?=\{)")
"""What jsonschema says where more than one form of a `oneOf` fits; the forms follow."""
_READ_OF_FORMS: Final = 4000
_STATUSES: Final = frozenset({400, 422})
_OF_VALUES: Final = frozenset({"INVALID_ARGUMENT", "OUT_OF_RANGE"})
_READ: Final = 500
"""Characters of a message that are read."""
_MOST_PLACES: Final = 500
_MOST_MEMBERS: Final = 4
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|<=|>=|[<>,/&]")
_RELATION: Final = re.compile(
    r" (?:before|after|earlier|later|precedes?|follows?|exceeds?|at (?:least|most)|match(?:es)?|equals?|identical"
    r"|differ\w*"
    r"|(?:greater|less|higher|lower|larger|smaller|more|fewer|longer|shorter|older|newer) than|(?:prior|subsequent) to"
    r"|same|<|>|<=|>=|inconsistent|consistent) "
)
_STATED: Final = re.compile(
    r" (?:is|are|was|comes?|lies) (?:(?:greater|less|higher|lower|larger|smaller|bigger|more|fewer|longer|shorter|older"
    r"|newer|later|earlier|sooner) than|after|before|equal to|the same as) (?:the )?"
)
"""What a complaint says of two members as they are, where another says what they must be: `start is after end`."""
_TOGETHER: Final = re.compile(
    r" (?:same|equal|identical|match|differ\w*|consistent|inconsistent|mismatch\w*"
    r"|(?:go|fit|work) together|incompatible|compatible|conflict(?:s|ing)?) "
)
_OBLIGED: Final = re.compile(
    r" (?:must|should|ha(?:s|ve) to|needs? to|can ?not|can t|may not|expected|not|does ?n t|is n t|mismatch\w*"
    r"|incompatible|conflict(?:s|ing)?) "
)
_BEGUN: Final = re.compile(r" (?:the )?(?:incompatible|inconsistent|mismatch(?:ed|ing)?|conflicting) ")
_FITTED: Final = re.compile(r" (?:[a-z]+ ){0,3}(?:for|with|to|and) (?:[a-z]+ ){0,3}")
_NOT_AT_ONCE: Final = re.compile(
    r"(?P<before>.* (?:can ?not|can t|must not|may not|should not) (?:be|have|use|contain|include) (?:an? |the )?)"
    r"(?P<first>[a-z]+(?: [a-z]+){0,3}?) and (?:(?:be|have|use|contain|include) )(?:an? |the )?"
    r"(?P<second>[a-z]+(?: [a-z]+){0,3}?)(?: at (?:the same time|once)| too| as well)? "
)
"""A sentence that excludes one member where there is the other, by what each makes of a thing: `be sticky and have`."""
_SUMMED: Final = re.compile(
    r" (?P<noun>[a-z]+) (?:must|should|ha(?:s|ve) to|needs? to|can ?not|can t|may not) (?:all |not )?"
    r"(?:add up|sum(?: up)?|total)(?: to)? "
)
_JOINED: Final = re.compile(r" (?:,|&|and) (?:(?:and|the|number|of|length|size) )*")
_EXCLUSIVE: Final = re.compile(
    r" (?:(?:only|exactly|at most|no more than|just) (?:(?:specify|set|use|provide|send|pass|give) )?one of"
    r"|mutually exclusive|incompatible with"
    r"|(?:but )?not both(?! be (?:empty|null|missing|blank|absent|unset|omitted|zero))"
    r"|(?:can ?not|can t|must not|may not|should not) both be (?:used|set|specified|given|provided|present|sent)"
    r"|can ?(?:not|t) (?:specify|set|use|provide|combine|have|be|give|send|pass) both"
    r"|both .{1,80} (?:can ?not|can t|must not|may not) (?:be )?.{0,40}"
    r"(?:simultaneously|together|at (?:the same time|once))"
    r"|(?:can ?not|can t|must not|may not|should not) be"
    r" (?:used|set|specified|combined|given|provided|present|sent|modified|changed)"
    r" (?:(?:together|with|in combination|at the same time|along|alongside)|(?:if|when) .{1,80}"
    r" (?:is|are) (?:also |already )?(?:used|set|specified|given|provided|present|sent))) "
)
_NEEDED: Final = re.compile(
    r" (?:either|(?:at least|exactly|only|any)? ?one of|at least one|any of) .{1,200}"
    r"(?:required|must be|needs? to be|ha(?:s|ve) to be|should be|missing|be provided|be specified|be set|be given) "
    r"| no .{1,60} or .{1,60} (?:is|are|was|were)? ?(?:given|provided|specified|supplied|set) "
    r"|^ (?:(?:the|both) )?[a-z_]+(?: [a-z_]+)?(?: , [a-z_]+(?: [a-z_]+)?)* (?:, )?and (?:the )?[a-z_]+(?: [a-z_]+)?"
    r" (?:are|were) (?:all |both )?(?:empty|blank) $"
    r"| (?:required|missing|must (?:set|give|send|include|pass|contain|have)|provide|specify|supply|need)"
    r" .{0,40}(?:either|at least one of|one of|any of) "
)
_TAKEN: Final = re.compile(
    r" or (?:\w+ ){1,6}(?:(?:is|are|has|have|was|were) )?"
    r"(?:already (?:been )?(?:taken|used|in use|exists?|registered|assigned)|taken|in use) "
)
_FIT: Final = "Give values that fit together. The server does not say which of them is wrong."
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][\w.-]{0,63}", re.ASCII)


class _Mention(NamedTuple):
    """A member that a message names."""

    place: str
    start: int
    end: int


def repair_several(case: RefusalCase, error: Violation, description: Described | None, group: str) -> Repair | None:
    """Return what follows from a complaint about several members; None where it is about one, or says a limit."""
    request = case.request
    if case.exchange.status not in _STATUSES:
        return None
    if error.constraint == "oneOf" and (places := _of_two_forms(case, error, description)):
        return _to_keep(request, places, group)
    if (forms := _EACH_FORM.search(error.message[:_READ_OF_FORMS])) is not None:
        return _to_keep(request, _required_by(error.message[forms.end() :], request), group)
    if error.stated.keys() - {"enum"}:
        return None
    if request.protocol is Protocol.GRPC and error.type not in _OF_VALUES:
        return None
    text = _plain(error.message[:_READ])
    if _TAKEN.search(text) is not None:
        return _Reader(case, error, description, text).to_differ()
    if (summed := _SUMMED.search(text)) is not None and not error.stated:
        return _Reader(case, error, description, text).to_add_up(summed)
    exclusive, needed = _EXCLUSIVE.search(text), _NEEDED.search(text)
    reader = _Reader(case, error, description, text)
    is_compared = any(one.search(text) for one in (_RELATION, _STATED, _TOGETHER)) or " and " in text
    if not exclusive and not needed and (error.stated or not is_compared):
        moments = [] if error.stated or error.pointer.count("/") > 1 else places_of_moments(text, _values(request))
        return reader.to_fit(moments) if moments else None
    if needed or exclusive:  # what is listed may be members
        sent = reader.sent()
        before = [one for one in sent if exclusive and one.start < exclusive.start()]
        sent = before if len(before) > 1 else sent  # "a and b cannot both be set for this model"
        if exclusive and len(sent) > 1:
            # "kind must be exactly one of name, id" is about values.
            is_about_values = exclusive[0].endswith(" one of ") and sent[0].start < exclusive.start()
            return None if is_about_values else _to_keep(request, [one.place for one in sent], group)
        return reader.to_give(sent, group) if needed and error.pointer.count("/") < 2 else None
    pair = reader.related() if not error.stated else []
    places = pair or ([] if error.stated or error.pointer.count("/") > 1 else places_of_moments(text, _values(request)))
    return reader.to_fit(places) if places else None


def _of_two_forms(case: RefusalCase, error: Violation, description: Described | None) -> list[str]:
    """Return the members that tell apart the forms of which an object has more than the one that it may have.

    ajv says which forms it has: `passingSchemas`. Nothing is returned where one is not told by a member of its own.
    """
    given = error.native.get("params")
    passing = given.get("passingSchemas") if isinstance(given, Mapping) else None
    if not isinstance(passing, list) or description is None or not case.match.operation:
        return []
    forms = description.declared_place(case.request, case.match.operation, error.pointer or "/body").schema.get("oneOf")
    present = value_at(case.request, error.pointer or "/body")
    if not isinstance(forms, list) or not isinstance(present, Mapping):
        return []
    chosen = [forms[one] for one in passing if isinstance(one, int) and one < len(forms)]
    names = [_names(form, "properties") for form in chosen]
    own: list[str] = []
    for form, mine in zip(chosen, names, strict=True):
        others = {name for other in names if other is not mine for name in other}
        told = [name for name in _names(form, "required") if name in present and name not in others]
        if len(told) != 1:
            return []
        own += told
    return [f"{error.pointer or '/body'}/{escape(name)}" for name in own] if len(own) > 1 else []


def _names(schema: Json, keyword: str) -> list[str]:
    listed = schema.get(keyword) if isinstance(schema, Mapping) else None
    return [str(name) for name in listed] if isinstance(listed, Mapping | list) else []


class _Reader:
    def __init__(self, case: RefusalCase, error: Violation, description: Described | None, text: str) -> None:
        self._request, self._operation = case.request, case.match.operation
        self._error, self._text, self._description = error, text, description

    def sent(self) -> list[_Mention]:
        """Return the members that were sent and are named, in the order of the text; none unless they are siblings."""
        named = _mentions(self._text, list(_sent(self._request)), self._error.pointer)
        parents = {_parent(one.place) for one in named}
        return named if len(parents) == 1 else []

    def related(self) -> list[str]:
        """Return the two places that a text relates to each other, none where it is not about two."""
        named = self.sent()
        here = self._error.pointer
        if len(named) == 1 and here.count("/") > 1 and named[0].place != here and _OBLIGED.search(self._text):
            before = self._text[: named[0].start + 1]
            siblings = {place for _, place in _sent(self._request) if _parent(place) == _parent(here)}
            return [here, named[0].place] if {here, named[0].place} <= siblings and _RELATION.search(before) else []
        if len(named) != 2 or (here.count("/") > 1 and here not in (named[0].place, named[1].place)):
            return []
        between, after = self._text[named[0].end - 1 : named[1].start + 1], self._text[named[1].end - 1 :]
        if (excluded := _NOT_AT_ONCE.fullmatch(self._text)) is not None:
            is_each = named[0].start + 1 == excluded.start("first") and named[1].start + 1 == excluded.start("second")
            return [one.place for one in named] if is_each else []
        is_related = _OBLIGED.search(between) is not None and _RELATION.search(between) is not None
        is_related = is_related or _STATED.fullmatch(between) is not None
        is_joined = _JOINED.fullmatch(between) is not None and _TOGETHER.search(after) is not None
        is_joined = is_joined and _OBLIGED.search(after) is not None
        is_begun = _BEGUN.fullmatch(self._text[: named[0].start + 1]) is not None
        is_begun = is_begun and _FITTED.fullmatch(between) is not None
        return [one.place for one in named] if is_related or is_joined or is_begun else []

    def to_add_up(self, summed: re.Match[str]) -> Repair | None:
        """Return the question at the places of the values that a text adds up; None for fewer than two of them.

        "integer and binary fractions" are `integer_fraction` and `binary_fraction`.
        """
        told, noun = self._text[: summed.start()].split(), summed["noun"]
        places = []
        for name, place in _values(self._request):
            *before, last = name.split() or [""]
            is_meant = (is_same(last, noun) or is_plural(last, noun)) and all(word in told for word in before)
            places += [place] if is_meant else []
        return self.to_fit(places[:_MOST_MEMBERS]) if len(places) > 1 else None

    def to_fit(self, places: Sequence[str], message: str = _FIT) -> Repair:
        """Return the question at the places of values that do not fit together, or at that of one that does not fit."""
        if len(places) == 1:
            violation = SchemaViolation(places[0], "value", {})
            question = ask(violation, self._request, "Give another time.", schema=self._schema(places[0]))
            return Repair(
                tuple(question.suggestions), question.type, "A time is not one that is taken.", "TIME_REFUSED"
            )
        questions = [(place, self._schema(place)) for place in places]
        violation = SchemaViolation(places[0], "related", {})
        question = ask(violation, self._request, message, places=questions)
        return Repair(tuple(question.suggestions), question.type, "Values do not fit together.", "VALUES_DISAGREE")

    def to_differ(self) -> Repair | None:
        """Return the question at the places of values one of which something else has; None for fewer than two."""
        places = [one.place for one in self.sent()]
        if len(places) < 2 or self._error.stated:
            return None
        message = "Give other values, unless this was done already. The server does not say which of them is taken."
        questions = [(place, self._schema(place)) for place in places]
        question = ask(SchemaViolation(places[0], "taken", {}), self._request, message, places=questions)
        return Repair(tuple(question.suggestions), question.type, "One of the values is taken.", "VALUE_TAKEN")

    def to_give(self, sent: Sequence[_Mention], group: str) -> Repair | None:
        """Return the choice of members one of which is needed; None where fewer than two are declared, or one is sent.

        What was sent under a name that is near to that of one of them is renamed.
        """
        if self._description is None or not self._operation:
            return None
        declared = [
            (path[-1], to_pointer(path))
            for path in self._description.vocabulary(self._operation).places
            if len(path) == 2 and path[0] in ("body", "query")
        ]
        places = [one.place for one in _mentions(self._text, declared, "")]
        if not 1 < len(places) <= _MOST_MEMBERS or (self._request.body is None and "/body" in places[0]):
            return None
        document = self._request.document()
        if any(resolve(document, place) is not MISSING for place in places) or {one.place for one in sent} & {
            place for _, place in declared
        }:
            return None
        misspelt = list(self._description.misspellings(self._request, self._operation))
        broken = self._description.schema_violations(self._request, self._operation)
        misspelt += [one for one in broken if one.keyword == "additionalProperties"]
        meant = [one for one in misspelt if _near_places(one) & {*places}]
        if len(meant) == 1 and len(_near_places(meant[0])) == 1:
            return repair(meant[0], self._request, group)
        asked: list[Suggestion] = []
        for place in places:
            message = f"Give {_called(place)}, if that is what is meant."
            violation = SchemaViolation(place, "required", {})
            asked += ask(violation, self._request, message, schema=self._schema(place)).suggestions
        return _repair(options(asked, group), "One of several values is needed.", "VALUE_MISSING")

    def _schema(self, place: str) -> Mapping[str, Json]:
        if self._description is None or not self._operation:
            return {}
        return trim_schema(self._description.declared_place(self._request, self._operation, place).schema)


def _required_by(text: str, request: Request) -> list[str]:
    """Return the places of the members each of which one form requires, where all were sent, side by side."""
    names: list[str] = []
    while len(names) < _MOST_MEMBERS and (form := find_literal(text)) is not None:
        required = form.value.get("required") if isinstance(form.value, Mapping) else None
        if not isinstance(required, list) or len(required) != 1:
            return []
        names.append(str(required[0]))
        text = text[form.end :]
    sent = [(name, place) for name, place in _sent(request) if name in names]
    parents = {_parent(place) for _, place in sent}
    is_each = len(sent) == len(names) > 1 and len(parents) == 1
    return [place for name in names for other, place in sent if other == name] if is_each else []


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
        message = f"Send {_called(kept)} without the others."
        edits.append(left_out(violation, request, ops, message))
    return (
        _repair(options(edits, group), "Only one of several values may be sent.", "VALUES_EXCLUDE") if edits else None
    )


def _repair(proposal: Proposal, diagnosis: str, code: str) -> Repair:
    return Repair(tuple(proposal.suggestions), proposal.type, diagnosis, code, proposal.recovery)


def _near_places(misspelt: SchemaViolation) -> set[str]:
    """Return the places of the declared members to whose names that of an undeclared one is near."""
    *around, name = segments(misspelt.pointer)
    return {to_pointer([*around, near]) for near in near_names(name, misspelt.siblings)}


def _parent(place: str) -> str:
    return place.rpartition("/")[0]


def _called(place: str) -> str:
    name = segments(place)[-1]
    return f"`{name}`" if _PLAIN_NAME.fullmatch(name) else "one"


def _plain(text: str) -> str:
    """Return the words of a text, those of names apart, in lower case, between blanks."""
    spend()
    return " " + " ".join(_WORD.findall(text.replace("n't", " not"))).lower() + " "


def _sent(request: Request) -> Iterator[tuple[str, str]]:
    """Yield the names of the members that were sent, each with its place, the outermost first."""
    waiting: list[tuple[str, Json]] = [("/body", request.body), ("/query", dict(request.query))]
    count = 0
    for pointer, value in waiting:
        inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
        for name, one in inner:
            count += 1
            if count > _MOST_PLACES:
                return
            here = f"{pointer}/{escape(str(name))}"
            if isinstance(value, Mapping):
                yield str(name), here
            if isinstance(one, Mapping | list):
                waiting.append((here, one))


def _values(request: Request) -> Iterator[tuple[str, str]]:
    """Yield the words of the name of each plain value that was sent, with its place."""
    for name, place in _sent(request):
        if not isinstance(value_at(request, place), Mapping | list):
            yield _plain(name).strip(), place


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
        if start < 0 or (len(plain) == 1 and not _LISTED.match(text, start + 2)):
            continue
        text = f"{text[:start]} {'_' * len(plain)} {text[start + len(plain) + 2 :]}"
        there = places[plain]
        beside = [place for place in there if _parent(place) == parent] if parent.count("/") > 1 else []
        outermost = [place for place in there if place.count("/") == there[0].count("/")]
        chosen = beside or outermost
        if len(chosen) == 1:
            found.append(_Mention(chosen[0], start, start + len(plain) + 2))
    return sorted(found, key=lambda mention: mention.start)


_LISTED: Final = re.compile(r" (?:,|/|&|or|and|may|must|is|are|can|cannot|should|<|>|<=|>=|$)")
