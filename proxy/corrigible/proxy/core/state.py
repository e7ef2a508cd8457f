"""What the state of an API says about a refusal: is there such a resource, what is it called, is it there already.

The look-ups come from the description: GET of the same resource, GET of its collection.

Knows: errors, related reads, listings. Does not know: rules, which API it is, how look-ups are made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Protocol, runtime_checkable

from corrigible.adapters.formats.database import StoredConstraint, stored_constraint
from corrigible.adapters.formats.statement import says_absent, told_state
from corrigible.adapters.openapi.related_reads import NamedResource, RelatedReads
from corrigible.adapters.operation import Operations
from corrigible.rules.pointer import MISSING, value_at
from corrigible.rules.safety.decisive import READS
from corrigible.rules.safety.nearness import is_plural, is_same, letters
from corrigible.rules.schema_repair.route import schema_of_path, with_segment
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import Proposal, ask, edit, guarded_edit, is_secret
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind, read
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json
from corrigible.schema.exchange import Protocol as Wire

from .absent_thing import EVEN, absent_thing
from .api_profile import RefusalCase
from .likely_place import likely_value
from .nothing_said import says_no_conflict, says_nothing
from .state_conflict import Conflicts
from .state_reader import (
    ABSENT_HERE,
    MOST_NEAR,
    NOT_ALLOWED,
    REFERRED_TO,
    Results,
    near_first,
    repeats,
    shown,
)
from .state_references import References

_INVALID: Final = re.compile(r"(?i)\b(?:invalid|not (?:an? )?valid|malformed|must be an?)\b")
_OF_ANOTHER_KIND: Final = re.compile(
    r"(?i)\bexpected (?:an? |the )?(?:(?:value|object|resource|entity|key|id) )?of (?:type|kind|class)\b"
)
"""What is said of something that is there, and is no such thing as the path needs: a model for a frame."""
_KIND_MISSING: Final = re.compile(r"(?i)(?:the |this )?[a-z][\w -]{1,60} is missing[.!]?")
_KIND_ABSENT: Final = re.compile(
    r"(?i)(?:(?:no such|unknown|could not find(?: the)?|cannot find(?: the)?) )?(?:the |this )?([a-z][a-z _-]{1,60}?)"
    r"(?: (?:was |is |could )?not (?:be )?found| does(?: not|n't) exist| is missing)?[.!]?"
)
"""A message that says no more than that a thing of one kind is absent. That it says so is seen elsewhere."""
_WORDS: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


_EVENLY: Final[Mapping[str, Json]] = {"basis": "spec", "value": EVEN}


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


class _State(References, Conflicts):
    """Looks up what a refusal is about."""

    def result(self) -> Results:
        status, request = self._status, self._request
        is_there = any(not one.row.endswith(".identical") for one in read(self._message).of(Kind.EXISTS))
        may_be_stale = status in (409, 412) and not is_there
        if may_be_stale and (stale := (yield from self._stale())) is not None:
            return stale
        if (constraint := stored_constraint(self._message)) is not None:
            return (yield from self._not_stored(constraint))
        if status == 409 or (status in (400, 422) and is_there):
            creation = self._reads.creation(request.method, request.path)
            if is_there or not self._message:
                return (yield from self._existing(creation))
            if says_no_conflict(self._message):
                return (yield from self._existing(creation, is_seen=True))
            return None
        in_parameters = self._error.pointer.startswith(("/body/", "/query/"))
        unmet = in_parameters and not self._error.constraint and not self._error.stated
        if unmet and (status == 404 or (status in (400, 409, 422) and says_absent(self._message))):
            return (yield from self._reference(self._error.pointer))
        refuses_value = says_absent(self._message) or _INVALID.search(self._message)
        refuses_value = refuses_value or _OF_ANOTHER_KIND.search(self._message)
        refuses_value = refuses_value or _KIND_MISSING.fullmatch(self._message.strip())
        if likely_value(self._error).startswith("/query/"):
            return None  # the path leads where it should
        if not in_parameters and (status == 404 or (status in (400, 422) and refuses_value)):
            if told_state(self._message) in (Kind.CREDENTIALS, Kind.FEATURE, Kind.RIGHT, Kind.LIMIT):
                return None  # the path may well be right
            return (yield from self._absent())
        return None

    # --- a resource of the path is not there

    def _absent(self) -> Results:
        named = self._reads.named(self._request.method, self._request.path)
        said = [one for one in named if one.value in self._quoted] or [one for one in named if self._is_named(one)]
        if not said and _OF_ANOTHER_KIND.search(self._message) is not None:
            said = [one for one in named if repeats(self._message, one.value)]
        is_kind = bool(said)
        if not said and (thing := absent_thing(self._case, self._error)) is not None and thing.pointer == "/path":
            said = [one for one in named if one.value == thing.value]
        is_sure = is_kind or not said or repeats(self._message, said[0].value)
        # Another status is not known to be about the path unless it says so.
        named = said if said or self._status != 404 else [one for one in named if one.collection]
        if not named and self._is_plainly_absent():
            return (yield from self._referred())
        if not named or (self._quoted and not said and self._names_another()):
            return None
        resource = named[0]
        violation = SchemaViolation("/path", "path", {"type": "string"}, self._request.path)
        wanted: Mapping[str, Json] = schema_of_path(self._request.path, resource.value, {"type": "string"})
        listing = (yield from self._listed(resource.collection)) if resource.collection else None
        if listing is None:
            question = ask(violation, self._request, "Give the path of a resource that exists.", schema=wanted)
            if not is_sure:
                question = Proposal([{**one, "confidence": _EVENLY} for one in question.suggestions], question.type)
            return self._done(question, ABSENT_HERE) if self._status != 404 else None
        if resource.value in listing.identifiers(resource.variable):
            return (yield from self._referred()) if self._is_plainly_absent() else None
        meant = listing.called(resource.value, resource.variable)
        if meant is not None and shown([meant]) and (path := self._with(resource, meant)) is not None:
            ops = guarded_edit(
                self._request, "/path", self._request.path, {"op": "replace", "path": "/path", "value": path}
            )
            message = "Use the identifier of the resource that has this name."
            # Who may name a resource may call it what others look for: a wish does not go there unasked.
            is_asked = self._request.method not in READS or not listing.is_whole
            proposed = edit(violation, self._request, ops, message, requires_confirmation=is_asked)
            return self._done(Proposal([proposed]), ABSENT_HERE)
        near = shown(listing.near(resource.value, resource.variable))[:MOST_NEAR]
        near = [one for one in near if self._with(resource, one)]
        gone = self._status == 404 and self._request.method == "DELETE"
        if not near and gone and listing.is_whole and not listing.holds(resource.value):
            message = "There is no such resource: it is gone already, or never was."
            return self._terminal("ALREADY_DONE", message, {"path": self._request.path}, ABSENT_HERE)
        offered = shown(near_first(near, listing.identifiers(resource.variable), listing))
        if paths := [path for one in offered if (path := self._with(resource, one))]:
            wanted = {"enum": paths}
        question = ask(violation, self._request, "Give the path of a resource that exists.", schema=wanted)
        return self._done(question, ABSENT_HERE)

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

    def _is_plainly_absent(self) -> bool:
        """Whether an answer says no more than that something is not there, of a path that the description has."""
        return self._status == 404 and says_nothing(self._message, self._status) and self._has_operation

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
            return self._terminal("NO_RECOVERY_AVAILABLE", message, {"path": request.path}, REFERRED_TO)
        if kind == "check" and place:
            sent = value_at(request, place)
            if sent is MISSING or is_secret(place, sent):
                return None
            violation = SchemaViolation(place, "value", {}, sent)
            question = ask(violation, request, "Give a value that is allowed there.", schema={"not": {"const": sent}})
            return self._done(question, NOT_ALLOWED)
        if kind in ("reference", "foreign key"):
            return (yield from self._missing_reference(place))
        return None


def _scalars(value: Json) -> list[Json]:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else None
    return [value] if inner is None else [scalar for one in inner for scalar in _scalars(one)]
