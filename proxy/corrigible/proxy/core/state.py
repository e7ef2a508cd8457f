"""What the state of an API says about a refusal: is there such a resource, what is it called, is it there already.

The look-ups come from the description: GET of the same resource, GET of its collection.

| a look-up shows of what is to be made | what follows                                           |
|---------------------------------------|--------------------------------------------------------|
| all that was sent                     | it has been done already                               |
| a part of it                          | another value is asked for, or a change of what exists |
| nothing of the kind                   | another value is asked for                             |

Knows: errors, related reads, listings. Does not know: rules, which API it is, how look-ups are made.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final, Protocol, runtime_checkable

import orjson

from corrigible.adapters.bodies.listing import Listing, read_listing, with_references
from corrigible.adapters.formats.sent_places import sent_places
from corrigible.adapters.formats.statement import has_word, told_state
from corrigible.adapters.openapi.related_reads import Creation, Item, NamedResource, RelatedReads
from corrigible.adapters.operation import Operations
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.functions.builtin import Operation
from corrigible.rules.lookup import Lookup, LookupAnswer, allowed
from corrigible.rules.lookup_headers import lookup_headers
from corrigible.rules.pointer import escape, resolve, segments, value_at
from corrigible.rules.safety.decisive import READS, word_set, words
from corrigible.rules.safety.loss import LookupResult
from corrigible.rules.safety.nearness import is_same, is_slip
from corrigible.rules.safety.stored import is_wrapper, unmet_values
from corrigible.rules.schema_repair.route import schema_of_path, with_segment
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import (
    Proposal,
    Suggestion,
    ask,
    edit,
    guarded_edit,
    is_secret,
    options,
    repair_of,
    result_of,
)
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind, read
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Request
from corrigible.schema.exchange import Protocol as Wire

from .answers import terminal
from .api_profile import RefusalCase
from .request_at_fault import SURE, likely_value, says_no_conflict, says_nothing

Results = Generator[Lookup, LookupAnswer, RuleResult | None]

_LONGEST: Final = 1000
"""Characters of a message that are read."""
MOST_OFFERED: Final = 8
MOST_NEAR: Final = 5
_MOST_COLLECTIONS: Final = 2
_MOST_REFERENCES: Final = 3
_MOST_VALUES: Final = 20
_STATE: Final = "the state of the API"
ABSENT_HERE: Final = ("No resource of the API has this path.", "RESOURCE_ABSENT")
ABSENT_THERE: Final = ("What the value refers to does not exist.", "REFERENCE_ABSENT")
REFERRED_TO: Final = ("Other resources refer to this one.", "STILL_REFERRED_TO")
EXISTS_ALREADY: Final = ("One of this name exists already.", "ALREADY_EXISTS")
TAKEN: Final = ("The value is taken already.", "ALREADY_EXISTS")
_LONGEST_SHOWN: Final = 64
_MOST_WORDS: Final = 3
_EVEN: Final = 0.5
"""Confidence in what is likely meant."""
NAMING: Final = ("name", "slug", "key", "id", "code", "title", "username", "login", "email")
"""Members that name a resource, in the order in which one is taken for what a conflict is about."""
_WRAPPED: Final = 3
"""Slashes in the place of a member of an object under a name."""
_NEARLY: Final = "Refer to the only one that has nearly this name."
_OF_VALUES: Final = (Kind.ABSENT, Kind.VALUE, Kind.UNKNOWN)
"""Kinds of complaints about a value that may name something else."""
_AS_ASKED: Final = "It exists, with everything that was asked for."
_OF_THE_CALL: Final = word_set(
    "idempotency idempotent nonce request requests submission transaction slot slots timeslot time times period"
    " interval date dates day window schedule overlap overlaps overlapping pending progress"
)
"""Words of conflicts about the call itself, or about when something is to be: what exists is another thing then."""
_HELD: Final = word_set("use used taken occupied booked reserved")
"""Words for what somebody else may hold, where it is no name: a room, a seat."""
_NOT_HELD: Final = "already been taken"
"""What Rails says of what is created."""
_NAMING_WORDS: Final = frozenset(NAMING) - {"id", "email", "code"}
"""Last words of members that name what is created, and not what it belongs to, as `userId` does."""
_SHORTEST_TOLD: Final = 2
_REFERENCE: Final = ".reference"
"""The row of what databases say of a foreign key."""


NO_READS: Final = RelatedReads(Operations({}), bool)
"""Of an API of which nothing is described: the answer alone shows the state."""


@runtime_checkable
class ReadsState(Protocol):
    """A description that knows which reads show the state."""

    @property
    def related_reads(self) -> RelatedReads: ...


def suggest_by_state(case: RefusalCase, error: Violation, reads: RelatedReads, group: str) -> Results:
    """Look up what a refusal is about, and return what follows from it; None where nothing does."""
    if case.match.is_wrapped or case.request.protocol is not Wire.HTTP:
        return None
    return (yield from _State(case, error, reads, group).result())


class _State:
    """One refusal, and what was looked up about it."""

    def __init__(self, case: RefusalCase, error: Violation, reads: RelatedReads, group: str) -> None:
        self._case = case
        self._request: Request = case.request
        self._status = case.exchange.status
        self._has_operation = bool(case.match.operation)
        self._error, self._reads, self._group = error, reads, group
        self._message = error.message[:_LONGEST]
        self._headers = lookup_headers(case.request, case.pack.settings.lookup_headers)
        self._seen: list[LookupResult] = []

    def _answered(self, path: str) -> Generator[Lookup, LookupAnswer, Json]:
        """Return the JSON that a read gives; None where it gives none, or the path is not safe to ask."""
        value, _ = yield from self._asked(path)
        return value

    def _listed(self, path: str) -> Generator[Lookup, LookupAnswer, Listing | None]:
        """Return what the collection at a path lists; None where that is not known."""
        return read_listing(*(yield from self._asked(path)))

    def _asked(self, path: str) -> Generator[Lookup, LookupAnswer, tuple[Json, Mapping[str, str]]]:
        """Return the JSON that a read gives, and the headers that were kept of the answer."""
        if not is_plain(path):
            return None, {}
        answer = yield Lookup(path, headers=self._headers)
        if answer.status != 200:
            return None, {}
        try:
            value = orjson.loads(answer.body)
        except orjson.JSONDecodeError:
            return None, {}
        self._seen.append(LookupResult(path, value))
        return value, answer.headers

    def _terminal(self, action: str, message: str, parameters: Mapping[str, Json], why: tuple[str, str]) -> RuleResult:
        suggestion = terminal(action, message, parameters, "lookup" if self._seen else "mapping")
        return self._done(Proposal([suggestion], recovery="terminal"), why)

    def _other_asked(self, place: str, sent: Json, message: str) -> Proposal:
        """Return the question for another value than the one that was sent: it is another wish."""
        violation = SchemaViolation(place, "enum", {}, sent)
        question = ask(violation, self._request, message, schema={"not": {"const": sent}})
        question.suggestions[0]["safety"]["changes_intent"] = True
        return question

    def _done(self, proposal: Proposal, why: tuple[str, str]) -> RuleResult:
        suggestions: list[dict[str, Any]] = list(proposal.suggestions)
        if lookups := [f"GET {one.path}" for one in self._seen]:
            suggestions = [{**one, "evidence": {"kind": "lookup", "lookups": lookups}} for one in suggestions]
        return result_of(repair_of(proposal._replace(suggestions=suggestions), *why), _STATE, self._seen)

    def _tells(self, value: Json) -> bool:
        """Whether the message repeats a value."""
        return has_word(self._message, scalar_text(value))

    def _referred(self) -> Results:
        """Ask for what a parameter or a member refers to, where what the path names is there: then that is not.

        A listing shows that. Of a single reference without one that is asked, where the path is seen to be right.
        """
        sent = islice((one.pointer for one in sent_places(self._request) if is_name(one.value)), _MOST_VALUES)
        unknown = []
        referring = [place for place in sent if self._collections(member_of(place))]
        for place in referring[:_MOST_REFERENCES]:
            listing = yield from self._listing_of(member_of(place))
            if listing is None:
                unknown.append(place)
            elif (asked := self._reference_asked(place, listing)) is not None:
                return asked
        is_clear = len(unknown) == 1 and len(referring) <= _MOST_REFERENCES and bool(self._seen)
        return self._reference_asked(unknown[0], None) if is_clear else None

    def _reference(self, place: str, *, is_absent: bool) -> Results:
        """Ask for another value of a member that refers to something that is not there.

        Unless that is known (`is_absent`), a listing has to show it, of what the member or the message names.
        """
        value, member = value_at(self._request, place), member_of(place)
        if not is_name(value) or is_secret(place, value) or not member:
            return None
        things = (one for said in read(self._message).of(*_OF_VALUES) for one in said.slots.get("thing", ()))
        names = [member] if self._collections(member) else [word for thing in things for word in words(thing)[-1:]]
        listing = yield from self._listing_of(*names)
        is_shown = listing is not None and listing.is_whole and listing.called(scalar_text(value), member) is None
        if not is_absent and not is_shown:
            return None
        return self._reference_asked(place, listing, is_absent=is_absent)

    def _listing_of(self, *members: str) -> Generator[Lookup, LookupAnswer, Listing | None]:
        """Return the listing of what a member refers to, the first of several."""
        found = [there for member in members for there in self._collections(member)]
        for collection in list(dict.fromkeys(found))[:_MOST_COLLECTIONS]:
            listing = yield from self._listed(collection)
            if listing is not None:
                return listing
        return None

    def _collections(self, member: str) -> Sequence[str]:
        return self._reads.collections(member, self._request.method, self._request.path)

    def _reference_asked(self, place: str, listing: Listing | None, *, is_absent: bool = True) -> RuleResult | None:
        """Ask for another value than one that a listing does not have; None where it has it."""
        value, member = value_at(self._request, place), member_of(place)
        schema: dict[str, Json] = {"not": {"const": value}}
        if listing is not None:
            text = scalar_text(value)
            known = listing.identifiers(member)
            if text in known:
                return None
            near = shown(listing.near(text, member))[:MOST_NEAR]
            is_typed = isinstance(value, int) or (place.startswith("/body/") and not self._request.form)
            names = near_first(near, shown(known), listing)
            if not names or not (near or is_absent or self._collections(member)):
                return None
            offered: list[Json] = [listing.written(one, member) if is_typed else one for one in names]
            if len(near) == 1 and listing.is_whole and is_slip(text, near[0]):
                return self._meant(place, value, offered[0], _NEARLY, ABSENT_THERE)
            schema = {"enum": offered} if near or is_absent else {**schema, "examples": offered}
        violation = SchemaViolation(place, "enum", {}, value)
        return self._done(ask(violation, self._request, "Refer to one that exists.", schema=schema), ABSENT_THERE)

    def result(self) -> Results:
        status, request, reading = self._status, self._request, read(self._message)
        if any(one.row.endswith(_REFERENCE) for one in reading.of(Kind.ABSENT)) and status in (400, 409, 422, 500):
            return (yield from self._not_stored())
        in_parameters = self._error.pointer.startswith(("/body/", "/query/"))
        is_there = any(not one.row.endswith(".identical") for one in reading.of(Kind.EXISTS))
        if status == 409 or (status in (400, 422, 500) and is_there):
            creation = self._reads.creation(request.method, request.path)
            if is_there or not self._message:
                return (yield from self._existing(creation))
            is_seen = not in_parameters or bool(self._error.likely)
            return (yield from self._existing(creation, is_seen=is_seen)) if says_no_conflict(self._message) else None
        unmet = in_parameters and not self._error.constraint and not self._error.stated
        is_absent = status == 404 or bool(reading.of(Kind.ABSENT))
        if unmet and (status == 404 or (status in (400, 422) and reading.of(*_OF_VALUES))):
            return (yield from self._reference(self._error.pointer, is_absent=is_absent))
        if likely_value(self._error).startswith("/query/"):
            return None  # the path leads where it should
        refuses_value = bool(reading.of(Kind.ABSENT, Kind.VALUE, Kind.MALFORMED))
        if not in_parameters and (status == 404 or (status in (400, 422) and refuses_value)):
            is_of_state = status != 404 and reading.of(Kind.STATE, Kind.IN_USE, Kind.FIXED)
            if is_of_state or told_state(self._message) in (Kind.CREDENTIALS, Kind.FEATURE, Kind.RIGHT, Kind.LIMIT):
                return None  # the path may well be right
            return (yield from self._absent())
        return None

    def _not_stored(self) -> Results:
        """Ask for what a row refers to, or tell that rows refer to this one, where a database does not store it."""
        if self._request.method == "DELETE":
            message = "Other resources refer to this one. It can be deleted when they no longer do."
            return self._terminal("NO_RECOVERY_AVAILABLE", message, {"path": self._request.path}, REFERRED_TO)
        pointer = self._error.pointer
        is_told = pointer.startswith("/body/")
        return (yield from self._reference(pointer, is_absent=True) if is_told else self._referred())

    def _absent(self) -> Results:
        """Ask for the path of what is there, where a resource of the path is not."""
        named = self._reads.named(self._request.method, self._request.path)
        likely = self._error.likely[:1] if self._status != 404 else ()
        meant_here = {one.value for one in likely if one.pointer == "/path" and one.probability >= SURE}
        said = [one for one in named if self._tells(one.value) or one.value in meant_here]
        # Another status is not known to be about the path unless it says so.
        named = said if said or self._status != 404 else [one for one in named if one.collection]
        if not named and self._is_plainly_absent():
            return (yield from self._referred())
        if not named or (not said and self._names_another()):
            return None
        resource = named[0]
        violation = SchemaViolation("/path", "path", {"type": "string"}, self._request.path)
        wanted: Mapping[str, Json] = schema_of_path(self._request.path, resource.value, {"type": "string"})
        listing = (yield from self._listed(resource.collection)) if resource.collection else None
        if listing is None:
            question = ask(violation, self._request, "Give the path of a resource that exists.", schema=wanted)
            if likely and not self._tells(resource.value):
                doubt: Json = {"basis": "corpus", "value": round(likely[0].confidence, 2)}
                question = Proposal([{**one, "confidence": doubt} for one in question.suggestions], question.type)
            return self._done(question, ABSENT_HERE) if self._status != 404 else None
        if resource.value in listing.identifiers(resource.variable):
            return (yield from self._referred()) if self._is_plainly_absent() else None
        meant, is_read = listing.called(resource.value, resource.variable), self._request.method in READS
        is_read &= listing.is_whole
        if meant is not None and shown([meant]) and (path := self._with(resource, meant)) is not None:
            message = "Use the identifier of the resource that has this name."
            # Who may name a resource may call it what others look for: a wish does not go there unasked.
            return self._meant("/path", self._request.path, path, message, ABSENT_HERE, is_sure=is_read)
        near = shown(listing.near(resource.value, resource.variable))[:MOST_NEAR]
        near = [one for one in near if self._with(resource, one)]
        gone = self._status == 404 and self._request.method == "DELETE"
        if not near and gone and listing.is_whole and not listing.holds(resource.value):
            message = "There is no such resource: it is gone already, or never was."
            return self._terminal("ALREADY_DONE", message, {"path": self._request.path}, ABSENT_HERE)
        offered = shown(near_first(near, listing.identifiers(resource.variable), listing))
        if paths := [path for one in offered if (path := self._with(resource, one))]:
            if is_read and len(near) == 1 and is_slip(resource.value, near[0]):
                return self._meant("/path", self._request.path, paths[0], _NEARLY, ABSENT_HERE)
            wanted = {"enum": paths}
        question = ask(violation, self._request, "Give the path of a resource that exists.", schema=wanted)
        return self._done(question, ABSENT_HERE)

    def _meant(
        self, place: str, sent: Json, meant: Json, message: str, why: tuple[str, str], *, is_sure: bool = False
    ) -> RuleResult:
        """Return the edit that sends what is likely meant, which has to be confirmed unless it is sure."""
        request, violation = self._request, SchemaViolation(place, "enum", {}, sent)
        ops = guarded_edit(request, place, sent, {"op": "replace", "path": place, "value": meant})
        return self._done(Proposal([edit(violation, request, ops, message, requires_confirmation=not is_sure)]), why)

    def _names_another(self) -> bool:
        """Whether a quoted text is a value of the body or the query: then that is what is not there."""
        return any(is_name(one.value) and self._tells(one.value) for one in sent_places(self._request))

    def _is_plainly_absent(self) -> bool:
        """Whether an answer says no more than that something is not there, of a path that the description has."""
        return self._status == 404 and says_nothing(self._message, self._status) and self._has_operation

    def _with(self, resource: NamedResource, identifier: str) -> str | None:
        return with_segment(self._request.path, resource.value, identifier)

    # --- what exists already

    def _existing(self, creation: Creation | None, *, is_seen: bool = False) -> Results:
        """Compare what exists with what was sent. `is_seen`: only what a look-up shows is known to exist."""
        if self._is_of_the_call() and not self._is_told():
            return None
        place, is_told = self._conflicting(creation)
        if not place or (is_seen and not is_told):
            return None
        sent = value_at(self._request, place)
        value, member = scalar_text(sent), segments(place)[-1]
        existing, item, path = None, None, ""
        if creation is not None:
            existing, item, path = yield from self._found(creation, member, value)
        if is_seen and existing is None:
            return None
        lost = self._lost(place, existing) if existing is not None else ()
        if existing is not None and not lost and self._is_meant(member, creation):
            return self._terminal("ALREADY_DONE", _AS_ASKED, {"path": path} if path else {}, EXISTS_ALREADY)
        message = "Give a value that is free." if existing is None else "Create another one, under a name that is free."
        other = self._other_asked(place, sent, message).suggestions[0]
        if not is_told:
            other["confidence"] = {"basis": "spec", "value": _EVEN}
        if item is None or not item.changes or not lost or self._sends_secret():
            return self._done(Proposal([other]), TAKEN if existing is None else EXISTS_ALREADY)
        update = self._update(SchemaViolation(place, "enum", {}, sent), item.changes[0], path, lost)
        return self._done(options([other, update], self._group), EXISTS_ALREADY)

    def _update(self, violation: SchemaViolation, method: str, path: str, lost: Sequence[str]) -> Suggestion:
        """Return the call that changes what exists to what was sent."""
        ops: list[Operation] = [
            {"op": "test", "path": "/method", "value": self._request.method},
            {"op": "replace", "path": "/method", "value": method},
        ]
        if path != self._request.path:
            ops += [
                {"op": "test", "path": "/path", "value": self._request.path},
                {"op": "replace", "path": "/path", "value": path},
            ]
        names = sorted({segments(pointer)[1] for pointer in lost if pointer.count("/") > 1})
        is_told = names and all(one.isidentifier() for one in names)
        differs = f" What differs: {', '.join(names[:MOST_OFFERED])}." if is_told else ""
        return edit(
            violation,
            self._request,
            ops,
            f"Change the one that exists.{differs}",
            changes_intent=True,
            requires_confirmation=True,
            action="USE_ALTERNATIVE_ENDPOINT",
        )

    def _is_meant(self, member: str, creation: Creation | None) -> bool:
        """Whether a message is about what exists as it was sent: it names what was sent, or paths do, by a member.

        Else it may be about something that is no member, and what exists is as it was sent by chance.
        """
        items = creation.items if creation is not None else ()
        is_named = any(item.is_readable and is_same(member, item.member) for item in items)
        is_naming = not {*words(member)[-1:]}.isdisjoint(NAMING)
        is_held = not _HELD.isdisjoint(words(self._message)) and _NOT_HELD not in self._message
        return (is_named or (self._is_told() and (is_naming or not is_held))) and not self._is_of_the_call()

    def _is_of_the_call(self) -> bool:
        """Whether the message has a word for the call itself, or for when something is to be, of its own accord."""
        told, known = set(words(self._message)), set(words(self._request.path))
        if _OF_THE_CALL.isdisjoint(told):
            return False
        for name, value in inner(self._request.body).items():
            known |= {*words(name), *(words(scalar_text(value)) if is_name(value) else ())}
        return not _OF_THE_CALL.isdisjoint(told - known)

    def _is_told(self) -> bool:
        """Whether the error has the name of a member, or a value that was sent."""
        is_placed = self._error.pointer.startswith("/body/")
        return is_placed or any(self._names_member(*one) for one in inner(self._request.body).items())

    def _names_member(self, member: str, value: Json) -> bool:
        """Whether the message has the name of a member, or its value."""
        written = scalar_text(value) if is_name(value) else ""
        if len(written) >= _SHORTEST_TOLD and self._tells(written):
            return True
        name = " ".join(words(member))
        told = f" {' '.join(words(self._message))} "
        return bool(name) and (f" {name} " in told or f" {name}s " in told)

    def _conflicting(self, creation: Creation | None) -> tuple[str, bool]:
        """Return the place of the value that exists already, and whether anything tells it; empty where none is known.

        Else it is likely what the new resource is named by.
        """
        body, base, request = inner(self._request.body), base_of(self._request.body), self._request
        places = [self._error.pointer, *(one.pointer for one in self._error.likely[:1] if one.is_told)]
        depth = _WRAPPED if is_wrapper(request.body) else _WRAPPED - 1
        for place in (one for one in places if one.startswith(("/body/", "/query/")) and one.count("/") <= depth):
            if is_name(value := value_at(request, place)):
                return ("", False) if is_secret(place, value) else (place, True)
        spelled = {name.lower(): name for name, value in body.items() if is_name(value)}
        variables = [item.variable.lower() for item in creation.items] if creation is not None else []
        naming = [spelled[name] for name in (*variables, *NAMING) if name in spelled]
        likely = naming or [name for name in spelled.values() if {*words(name)[-1:]} & _NAMING_WORDS or len(body) == 1]
        is_open = request.method == "POST" and not self._error.pointer and not is_secret(f"/body/{likely[:1]}", "")
        return (
            (f"{base}/{escape(likely[0])}", bool(naming) and creation is not None)
            if likely and is_open
            else ("", False)
        )

    def _lost(self, place: str, existing: Mapping[str, Json]) -> tuple[str, ...]:
        """Return the places of what was asked for and what exists does not have."""
        asked = self._request
        if place.startswith("/body/") and place.count("/") == _WRAPPED:
            asked = replace(asked, body=resolve(asked.document(), place.rpartition("/")[0]))
        return unmet_values(asked, with_references(existing))

    def _sends_secret(self) -> bool:
        """Whether the body has a password or the like: to change what exists would give somebody else's a new one."""
        body = inner(self._request.body)
        return any(is_secret(f"/body/{escape(name)}", body[name]) for name in body)

    def _found(
        self, creation: Creation, member: str, value: str
    ) -> Generator[Lookup, LookupAnswer, tuple[Mapping[str, Json] | None, Item | None, str]]:
        """Return the resource that has the value, and its path."""
        for item in creation.items:
            if item.is_readable and is_same(member, item.member) and is_plain(path := item.path(value)):
                existing = yield from self._answered(path)
                if isinstance(existing, Mapping):
                    return _unwrapped(existing, member), item, path
        listing = (yield from self._listed(creation.collection)) if creation.collection else None
        found = listing.resources if listing is not None else ()
        same = [one for one in found if scalar_text(with_references(one).get(member)) == value]
        if listing is None or len(same) != 1:
            return None, None, ""
        for item in creation.items:
            known = listing.identifiers(item.member if item.by_name else item.variable)
            for identifier, one in known.items():
                if one is same[0] and is_plain(path := item.path(identifier)):
                    return same[0], item, path
        return same[0], None, ""


def member_of(place: str) -> str:
    """Return the name of the member that a place is, or is an element of."""
    return next((part for part in reversed(segments(place)[1:]) if not part.isdecimal()), "")


def is_plain(path: str) -> bool:
    """Whether each segment of a path stays one for every server on the way."""
    return allowed(path.rstrip("/"), [path.strip("/").split("/")]) is not None


def shown(identifiers: Iterable[str]) -> list[str]:
    """Return the identifiers that may be offered: others wrote them, and a sentence is none."""
    return [one for one in identifiers if one.isprintable() and _is_short(one)]


def _is_short(identifier: str) -> bool:
    parts = identifier.split(" ")
    return len(identifier) <= _LONGEST_SHOWN and len(parts) <= _MOST_WORDS and all(parts)


def near_first(near: Sequence[str], every: Collection[str], listing: Listing) -> list[str]:
    """Return what is near, and the others after it where a short listing shows all that exists."""
    is_offered = listing.is_whole and 0 < len(every) <= MOST_OFFERED
    return list(dict.fromkeys([*near, *every])) if is_offered else list(near)


def is_name(value: Json) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def inner(body: Json) -> Mapping[str, Json]:
    """Return the object that a body is, or that it wraps."""
    content = next(iter(body.values())) if isinstance(body, Mapping) and is_wrapper(body) else body
    return content if isinstance(content, Mapping) else {}


def base_of(body: Json) -> str:
    """Return the place of the object that a body is, or that it wraps."""
    return f"/body/{escape(next(iter(body)))}" if isinstance(body, Mapping) and is_wrapper(body) else "/body"


def _unwrapped(answer: Mapping[str, Json], member: str) -> Mapping[str, Json]:
    """Return the resource of an answer: under its only member where the answer itself has no such member."""
    content = next(iter(answer.values())) if member not in answer and len(answer) == 1 else answer
    return content if isinstance(content, Mapping) else answer
