"""What the state of an API says about a refusal: is there such a resource, what is it called, is it there already.

The look-ups come from the description: GET of the same resource, GET of its collection.

Knows: errors, related reads, listings. Does not know: rules, which API it is, how look-ups are made.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol, runtime_checkable

import orjson

from corrigible.adapters.formats.message.database import StoredConstraint, stored_constraint
from corrigible.adapters.formats.message.sent_values import ABSENT
from corrigible.adapters.openapi.related_reads import Creation, Item, NamedResource, RelatedReads
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.lookup import Lookup, LookupAnswer, allowed
from corrigible.rules.pointer import MISSING, escape, resolve, segments, value_at
from corrigible.rules.safety.decisive import READS, is_decisive
from corrigible.rules.safety.loss import LookupResult
from corrigible.rules.safety.nearness import is_plural, is_same, letters
from corrigible.rules.safety.stored import dropped_values
from corrigible.rules.schema_repair.listing import Listing, read_listing, with_references
from corrigible.rules.schema_repair.repair import Repair
from corrigible.rules.schema_repair.result import result_of
from corrigible.rules.schema_repair.route import schema_of_path, with_segment
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import Proposal, ask, edit, guarded_edit, is_secret, options
from corrigible.rules.violation import Violation
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Request
from corrigible.schema.exchange import Protocol as Wire

from .api_profile import RefusalCase

Results = Generator[Lookup, LookupAnswer, RuleResult | None]

_LONGEST: Final = 1000
"""Characters of a message that are read."""
_EXISTS: Final = re.compile(
    r"(?i)\balready (?:exists?|in use|used|taken|registered|been (?:taken|used))\b|\bduplicate\b|\bis taken\b"
    r"|\b(?:must be|not|is) unique\b|\bunique constraint\b"
)
_INVALID: Final = re.compile(r"(?i)\b(?:invalid|not (?:an? )?valid|malformed|must be an?)\b")
_KIND_ABSENT: Final = re.compile(
    r"(?i)(?:(?:no such|unknown|could not find(?: the)?|cannot find(?: the)?) )?(?:the |this )?([a-z][a-z _-]{1,60}?)"
    r"(?: (?:was |is |could )?not (?:be )?found| does(?: not|n't) exist)?[.!]?"
)
"""A message that says no more than that a thing of one kind is absent. That it says so is seen elsewhere."""
_QUOTED: Final = re.compile(r"""['"`\[]([^'"`\[\]]{1,200})['"`\]]""")
_LAST: Final = re.compile(r"[:=] ?([^\s'\"`\[\]:]{1,200}?)[.!]?$")
"""The value at the end of a message that quotes nothing: `Queue not found: orders`."""
_WORDS: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_NAMING: Final = ("name", "slug", "key", "id", "code", "title", "username", "login", "email")
"""Members that name a resource, in the order in which one is taken for what a conflict is about."""
_MOST_OFFERED: Final = 8
_MOST_NEAR: Final = 5
_MOST_COLLECTIONS: Final = 2
_MOST_REFERENCES: Final = 3
_WRAPPED: Final = 3
"""Slashes in the place of a member of an object under a name."""
_STATE: Final = "the state of the API"


@runtime_checkable
class ReadsState(Protocol):
    """A description that knows which reads show the state."""

    @property
    def related_reads(self) -> RelatedReads: ...


def suggest_by_state(case: RefusalCase, error: Violation, reads: RelatedReads, group: str) -> Results:
    """Look up what a refusal is about, and return what follows from it; None where nothing does."""
    if case.match.is_wrapped or case.request.protocol is not Wire.HTTP:
        return None
    return (yield from _StateReader(case, error, reads, group).result())


class _StateReader:
    def __init__(self, case: RefusalCase, error: Violation, reads: RelatedReads, group: str) -> None:
        self._request: Request = case.request
        self._status = case.exchange.status
        self._error, self._reads, self._group = error, reads, group
        self._message = error.message[:_LONGEST]
        self._quoted = frozenset(_QUOTED.findall(self._message) or _LAST.findall(self._message))
        self._seen: list[LookupResult] = []
        self._is_known = False
        """Whether what the last member refers to was found."""

    def result(self) -> Results:
        status, request = self._status, self._request
        if (constraint := stored_constraint(self._message)) is not None:
            return (yield from self._not_stored(constraint))
        if status == 409 or (status in (400, 422) and _EXISTS.search(self._message)):
            if status != 409 or _EXISTS.search(self._message) or not self._message:
                return (yield from self._existing(self._reads.creation(request.method, request.path)))
            return None
        in_parameters = self._error.pointer.startswith(("/body/", "/query/"))
        unmet = in_parameters and not self._error.constraint and not self._error.stated
        if unmet and (status == 404 or (status in (400, 409, 422) and ABSENT.search(self._message))):
            return (yield from self._reference(self._error.pointer))
        refuses_value = ABSENT.search(self._message) or _INVALID.search(self._message)
        if not in_parameters and (status == 404 or (status in (400, 422) and refuses_value)):
            return (yield from self._absent())
        return None

    def _answered(self, path: str) -> Generator[Lookup, LookupAnswer, Json]:
        """Return the JSON that a read gives; None where it gives none, or the path is not safe to ask."""
        if not _is_plain(path):
            return None
        answer = yield Lookup(path)
        if answer.status != 200:
            return None
        try:
            value = orjson.loads(answer.body)
        except orjson.JSONDecodeError:
            return None
        self._seen.append(LookupResult(path, value))
        return value

    # --- a resource of the path is not there

    def _absent(self) -> Results:
        named = self._reads.named(self._request.method, self._request.path)
        said = [one for one in named if one.value in self._quoted] or [one for one in named if self._is_named(one)]
        # Another status is not known to be about the path unless it says so.
        named = said if said or self._status != 404 else [one for one in named if one.collection]
        if not named or (self._quoted and not said and self._names_another()):
            return None
        resource = named[0]
        violation = SchemaViolation("/path", "path", {"type": "string"}, self._request.path)
        wanted: Mapping[str, Json] = schema_of_path(self._request.path, resource.value, {"type": "string"})
        answer = (yield from self._answered(resource.collection)) if resource.collection else None
        listing = read_listing(answer)
        if listing is None:
            question = ask(violation, self._request, "Give the path of a resource that exists.", schema=wanted)
            return self._done(question, _ABSENT_HERE) if self._status != 404 else None
        if resource.value in listing.identifiers(resource.variable):
            return None
        meant = listing.called(resource.value, resource.variable)
        if meant is not None and _shown([meant]) and (path := self._with(resource, meant)) is not None:
            ops = guarded_edit(
                self._request, "/path", self._request.path, {"op": "replace", "path": "/path", "value": path}
            )
            message = "Use the identifier of the resource that has this name."
            # Who may name a resource may call it what others look for: a wish does not go there unasked.
            is_asked = self._request.method not in READS or not listing.is_whole
            proposed = edit(violation, self._request, ops, message, requires_confirmation=is_asked)
            return self._done(Proposal([proposed]), _ABSENT_HERE)
        near = _shown(listing.near(resource.value, resource.variable))[:_MOST_NEAR]
        near = [one for one in near if self._with(resource, one)]
        gone = self._status == 404 and self._request.method == "DELETE"
        if not near and gone and listing.is_whole and not listing.holds(resource.value):
            message = "There is no such resource: it is gone already, or never was."
            return self._terminal("ALREADY_DONE", message, {"path": self._request.path}, _ABSENT_HERE)
        offered = _shown(_near_first(near, listing.identifiers(resource.variable), listing))
        if paths := [path for one in offered if (path := self._with(resource, one))]:
            wanted = {"enum": paths}
        question = ask(violation, self._request, "Give the path of a resource that exists.", schema=wanted)
        return self._done(question, _ABSENT_HERE)

    def _is_named(self, resource: NamedResource) -> bool:
        """Whether the message names what stands in the path: "Collection ID" for `collection_id`, else its kind."""
        words = _WORDS.findall(resource.variable)
        pattern = r"[\s_-]?".join(map(re.escape, words))
        if len(words) > 1 and re.search(rf"(?i)\b{pattern}\b", self._message) is not None:
            return True
        return self._is_kind(resource)

    def _is_kind(self, resource: NamedResource) -> bool:
        """Whether all that is absent is of the kind before a variable: "Work pool not found" for `/work_pools/{id}`.

        What a member of that name refers to may be absent as well: then it is not clear which.
        """
        before = self._request.path.strip("/").split("/")[resource.at - 1] if resource.at else ""
        kind = _KIND_ABSENT.fullmatch(self._message.strip())
        if kind is None or not (is_same(kind[1], before) or is_plural(kind[1], before)):
            return False
        document = self._request.document()
        members = [name for part in (document["query"], document["body"]) if isinstance(part, Mapping) for name in part]
        return not any(letters(kind[1]) in letters(name) for name in members)

    def _names_another(self) -> bool:
        """Whether a quoted text is a value of the body or the query: then that is what is not there."""
        document = self._request.document()
        texts = {scalar_text(value) for value in _scalars([document["query"], document["body"]])}
        return not self._quoted.isdisjoint(texts)

    def _with(self, resource: NamedResource, identifier: str) -> str | None:
        return with_segment(self._request.path, resource.value, identifier)

    # --- what a database does not store

    def _not_stored(self, constraint: StoredConstraint) -> Results:
        kind, place, request = constraint.kind, self._error.pointer, self._request
        if kind == "unique":
            if constraint.columns and not place:
                return None  # it is about columns that are no member, or about several
            return (yield from self._existing(self._reads.creation(request.method, request.path)))
        if kind == "referenced" or (kind == "foreign key" and request.method == "DELETE"):
            message = "Other resources refer to this one. It can be deleted when they no longer do."
            return self._terminal("NO_RECOVERY_AVAILABLE", message, {"path": request.path}, _REFERRED_TO)
        if kind == "check" and place:
            sent = value_at(request, place)
            if sent is MISSING or is_secret(place, sent):
                return None
            violation = SchemaViolation(place, "value", {}, sent)
            question = ask(violation, request, "Give a value that is allowed there.", schema={"not": {"const": sent}})
            return self._done(question, _NOT_ALLOWED)
        if kind in ("reference", "foreign key"):
            return (yield from self._missing_reference(place))
        return None

    def _missing_reference(self, place: str) -> Results:
        """Ask for another value of the member that refers to what is not there: the named one, or the only one."""
        body = self._request.body if isinstance(self._request.body, Mapping) else {}
        places = [place] if place else [f"/body/{escape(one)}" for one in body if self._refers(one)]
        asked = []
        for one in places[:_MOST_REFERENCES]:
            self._is_known = False
            listed = yield from self._reference(one)
            if listed is not None:
                return listed
            if not self._is_known:
                asked.append(one)
        if len(asked) != 1:
            return None
        sent = value_at(self._request, asked[0])
        if not _is_name(sent) or is_secret(asked[0], sent):
            return None
        violation = SchemaViolation(asked[0], "enum", {}, sent)
        message = "Refer to one that exists."
        return self._done(ask(violation, self._request, message, schema={"not": {"const": sent}}), _ABSENT_THERE)

    def _refers(self, member: str) -> bool:
        return bool(self._reads.collections(member, self._request.method, self._request.path))

    # --- what a member refers to is not there

    def _reference(self, place: str) -> Results:
        value = value_at(self._request, place)
        names = [part for part in segments(place)[1:] if not part.isdecimal()]
        if not names or not isinstance(value, str | int) or isinstance(value, bool) or is_secret(place, value):
            return None
        text, member = scalar_text(value), names[-1]
        collections = self._reads.collections(member, self._request.method, self._request.path)
        for collection in collections[:_MOST_COLLECTIONS]:
            listing = read_listing((yield from self._answered(collection)))
            if listing is None:
                continue
            known = listing.identifiers(member)
            if text in known:
                self._is_known = True
                return None
            return self._referring(place, value, listing, member)
        violation = SchemaViolation(place, "enum", {}, value)
        question = ask(violation, self._request, "Refer to one that exists.", schema={"not": {"const": value}})
        return self._done(question, _ABSENT_THERE)

    def _referring(self, place: str, value: Json, listing: Listing, member: str) -> RuleResult | None:
        violation = SchemaViolation(place, "enum", {}, value)
        text = scalar_text(value)
        meant = listing.called(text, member)
        if meant is not None and _shown([meant]):
            new: Json = int(meant) if isinstance(value, int) and _INTEGER.fullmatch(meant) else meant
            ops = guarded_edit(self._request, place, value, {"op": "replace", "path": place, "value": new})
            message = "Send the identifier of the resource that has this name."
            is_asked = is_decisive(member, self._request) or not listing.is_whole
            proposed = edit(violation, self._request, ops, message, requires_confirmation=is_asked)
            return self._done(Proposal([proposed]), _ABSENT_THERE)
        near = _shown(listing.near(text, member))[:_MOST_NEAR]
        offered = _near_first(near, _shown(listing.identifiers(member)), listing)
        if not offered:
            return None
        message = "Refer to one that exists."
        return self._done(ask(violation, self._request, message, schema={"enum": offered}), _ABSENT_THERE)

    # --- what a request creates is there already

    def _existing(self, creation: Creation | None) -> Results:
        place = self._conflicting(creation)
        if place is None:
            return (yield from self._existing_here())
        sent = value_at(self._request, place)
        value, member = scalar_text(sent), segments(place)[-1]
        existing, item, path = None, None, ""
        if creation is not None:
            existing, item, path = yield from self._found(creation, member, value)
        lost = self._lost(place, existing) if existing is not None else ()
        if existing is not None and not lost:
            message = "It exists, with everything that was asked for."
            return self._terminal("ALREADY_DONE", message, {"path": path} if path else {}, _EXISTS_ALREADY)
        violation = SchemaViolation(place, "enum", {}, sent)
        message = "Give a value that is free." if existing is None else "Create another one, under a name that is free."
        other = ask(violation, self._request, message, schema={"not": {"const": sent}}).suggestions[0]
        other["safety"]["changes_intent"] = True
        if item is None or not item.changes or self._sends_secret():
            return self._done(Proposal([other]), _TAKEN if existing is None else _EXISTS_ALREADY)
        ops = [
            {"op": "test", "path": "/method", "value": self._request.method},
            {"op": "replace", "path": "/method", "value": item.changes[0]},
            {"op": "test", "path": "/path", "value": self._request.path},
            {"op": "replace", "path": "/path", "value": path},
        ]
        names = sorted({segments(pointer)[1] for pointer in lost if pointer.count("/") > 1})
        differs = f" What differs: {', '.join(names[:_MOST_OFFERED])}." if names and _are_names(names) else ""
        update = edit(
            violation,
            self._request,
            ops,
            f"Change the one that exists.{differs}",
            changes_intent=True,
            requires_confirmation=True,
            action="USE_ALTERNATIVE_ENDPOINT",
        )
        return self._done(options([other, update], self._group), _EXISTS_ALREADY)

    def _existing_here(self) -> Results:
        """Compare what has the path of a PUT already with what was sent: the path names what is created."""
        request = self._request
        resource = next(iter(self._reads.named(request.method, request.path)), None)
        is_last = resource is not None and resource.at == request.path.strip("/").count("/")
        if resource is None or not is_last or request.method != "PUT" or not _repeats(self._message, resource.value):
            return None
        path = self._reads.own(request.method, request.path)
        existing = (yield from self._answered(path)) if path else None
        if isinstance(existing, Mapping) and not dropped_values(request, existing):
            message = "It exists, with everything that was asked for."
            return self._terminal("ALREADY_DONE", message, {"path": request.path}, _EXISTS_ALREADY)
        violation = SchemaViolation("/path", "path", {"type": "string"}, request.path)
        wanted = schema_of_path(request.path, resource.value, {"type": "string"})
        other = ask(violation, request, "Create another one, under a name that is free.", schema=wanted)
        other.suggestions[0]["safety"]["changes_intent"] = True
        return self._done(other, _EXISTS_ALREADY)

    def _conflicting(self, creation: Creation | None) -> str | None:
        """Return the place of the value that exists already."""
        pointer = self._error.pointer
        depth = 3 if _is_wrapper(self._request.body) else 2
        if (
            pointer.startswith(("/body/", "/query/"))
            and pointer.count("/") <= depth
            and _is_name(value_at(self._request, pointer))
        ):
            return None if is_secret(pointer, value_at(self._request, pointer)) else pointer
        body = self._request.body
        if not isinstance(body, Mapping):
            return None
        members = [name for name, value in body.items() if _is_name(value)]
        quoted = [name for name in members if scalar_text(body[name]) in self._quoted]
        if len(quoted) == 1:
            return f"/body/{escape(quoted[0])}"
        if quoted:
            return None
        spelled = {name.lower(): name for name in reversed(members)}
        variables = [item.variable.lower() for item in creation.items] if creation is not None else []
        naming = [spelled[name] for name in (*variables, *_NAMING) if name in spelled]
        repeated = [name for name in naming if _repeats(self._message, scalar_text(body[name]))]
        named = repeated or self._repeated_names(members) or (naming if creation is not None else [])
        return f"/body/{escape(named[0])}" if named else None

    def _repeated_names(self, members: list[str]) -> list[str]:
        """Return the only member such as `table_name` whose value the message repeats, alone or as `main.orders`."""
        body = self._request.body
        named = [name for name in members if _WORDS.findall(name)[-1:] and _WORDS.findall(name)[-1].lower() in _NAMING]
        repeated = [name for name in named if _repeats(self._message, scalar_text(body[name]), below=True)]
        return repeated if len(repeated) == 1 else []

    def _lost(self, place: str, existing: Mapping[str, Json]) -> tuple[str, ...]:
        """Return the places of what was asked for and what exists does not have."""
        asked = self._request
        if place.startswith("/body/") and place.count("/") == _WRAPPED:
            asked = replace(asked, body=resolve(asked.document(), place.rpartition("/")[0]))
        return dropped_values(asked, with_references(existing))

    def _sends_secret(self) -> bool:
        """Whether the body has a password or the like: to change what exists would give somebody else's a new one."""
        body = self._request.body
        if isinstance(body, Mapping) and _is_wrapper(body):
            body = next(iter(body.values()))
        return isinstance(body, Mapping) and any(is_secret(f"/body/{escape(name)}", body[name]) for name in body)

    def _found(
        self, creation: Creation, member: str, value: str
    ) -> Generator[Lookup, LookupAnswer, tuple[Mapping[str, Json] | None, Item | None, str]]:
        """Return the resource that has the value, and its path."""
        for item in creation.items:
            if item.is_readable and is_same(member, item.member) and _is_plain(path := item.path(value)):
                existing = yield from self._answered(path)
                if isinstance(existing, Mapping):
                    return _unwrapped(existing, member), item, path
        if not creation.collection:
            return None, None, ""
        listing = read_listing((yield from self._answered(creation.collection)))
        same = (
            [one for one in listing.resources if scalar_text(with_references(one).get(member)) == value]
            if listing is not None
            else []
        )
        if len(same) != 1 or listing is None:
            return None, None, ""
        for item in creation.items:
            known = listing.identifiers(item.member if item.by_name else item.variable)
            for identifier, one in known.items():
                if one is same[0] and _is_plain(path := item.path(identifier)):
                    return same[0], item, path
        return same[0], None, ""

    # --- suggestions

    def _terminal(self, action: str, message: str, parameters: Mapping[str, Json], why: tuple[str, str]) -> RuleResult:
        suggestion: dict[str, Json] = {
            "action": action,
            "message": message,
            "parameters": dict(parameters),
            "safety": {"side_effects": "none", "changes_intent": False},
            "evidence": {"kind": "lookup"},
        }
        return self._done(Proposal([suggestion], recovery="terminal"), why)

    def _done(self, proposal: Proposal, why: tuple[str, str]) -> RuleResult:
        suggestions: list[dict[str, Any]] = list(proposal.suggestions)
        if lookups := [f"GET {one.path}" for one in self._seen]:
            suggestions = [{**one, "evidence": {"kind": "lookup", "lookups": lookups}} for one in suggestions]
        return result_of(Repair(tuple(suggestions), proposal.type, *why, proposal.recovery), _STATE, self._seen)


_ABSENT_HERE: Final = ("No resource of the API has this path.", "RESOURCE_ABSENT")
_ABSENT_THERE: Final = ("What the value refers to does not exist.", "REFERENCE_ABSENT")
_REFERRED_TO: Final = ("Other resources refer to this one.", "STILL_REFERRED_TO")
_NOT_ALLOWED: Final = ("The value is not allowed there.", "VALUE_NOT_ALLOWED")
_EXISTS_ALREADY: Final = ("One of this name exists already.", "ALREADY_EXISTS")
_TAKEN: Final = ("The value is taken already.", "ALREADY_EXISTS")
_IDENTIFIER: Final = re.compile(r"(?=.{1,64}$)[^\s]+(?: [^\s]+){0,2}")
"""Three words at most."""
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
_MEMBER_NAME: Final = re.compile(r"[A-Za-z_][\w.-]{0,63}", re.ASCII)


def _repeats(message: str, value: str, *, below: bool = False) -> bool:
    """Whether a message has a value as a word of its own, or also as the last part of a dotted name."""
    before = r"[\w/-]" if below else r"[\w./-]"
    return bool(value) and re.search(rf"(?<!{before}){re.escape(value)}(?![\w/-]|\.\w)", message) is not None


def _is_plain(path: str) -> bool:
    """Whether each segment of a path stays one for every server on the way."""
    return allowed(path.rstrip("/"), [path.strip("/").split("/")]) is not None


def _shown(identifiers: Iterable[str]) -> list[str]:
    """Return the identifiers that may be offered: others wrote them, and a sentence is none."""
    return [one for one in identifiers if one.isprintable() and _IDENTIFIER.fullmatch(one)]


def _near_first(near: Sequence[str], every: Collection[str], listing: Listing) -> list[str]:
    """Return what is near, and the others after it where a short listing shows all that exists."""
    is_offered = listing.is_whole and 0 < len(every) <= _MOST_OFFERED
    return list(dict.fromkeys([*near, *every])) if is_offered else list(near)


def _are_names(names: list[str]) -> bool:
    return all(_MEMBER_NAME.fullmatch(name) for name in names)


def _is_name(value: Json) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def _unwrapped(answer: Mapping[str, Json], member: str) -> Mapping[str, Json]:
    """Return the resource of an answer: under its only member where the answer itself has no such member."""
    if member not in answer and len(answer) == 1:
        inner = next(iter(answer.values()))
        if isinstance(inner, Mapping):
            return inner
    return answer


def _is_wrapper(body: Json) -> bool:
    """Whether a body is one object under a name: `{"user": {"name": "ann"}}`."""
    return isinstance(body, Mapping) and len(body) == 1 and isinstance(next(iter(body.values())), Mapping)


def _scalars(value: Json) -> list[Json]:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else None
    return [value] if inner is None else [scalar for one in inner for scalar in _scalars(one)]
