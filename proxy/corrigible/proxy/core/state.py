"""What the state of an API says about a refusal: is there such a resource, what is it called, is it there already.

The look-ups come from the description: GET of the same resource, GET of its collection.

Knows: errors, related reads, listings. Does not know: rules, which API it is, how look-ups are made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol, runtime_checkable

from corrigible.adapters.formats.statement import told_state
from corrigible.adapters.openapi.related_reads import NamedResource, RelatedReads
from corrigible.adapters.operation import Operations
from corrigible.rules.safety.decisive import READS
from corrigible.rules.schema_repair.route import schema_of_path, with_segment
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import Proposal, ask, edit, guarded_edit
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind, read
from corrigible.schema.exchange import Json
from corrigible.schema.exchange import Protocol as Wire

from .api_profile import RefusalCase
from .likely_place import SURE, likely_value
from .nothing_said import says_no_conflict, says_nothing
from .state_conflict import Conflicts
from .state_reader import ABSENT_HERE, MOST_NEAR, REFERRED_TO, Results, near_first, shown, values_in

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


class _State(Conflicts):
    """Looks up what a refusal is about."""

    def result(self) -> Results:
        status, request, reading = self._status, self._request, read(self._message)
        if any(one.row.endswith(_REFERENCE) for one in reading.of(Kind.ABSENT)) and status in (400, 409, 422, 500):
            return (yield from self._not_stored())
        is_there = any(not one.row.endswith(".identical") for one in reading.of(Kind.EXISTS))
        if status == 409 or (status in (400, 422, 500) and is_there):
            creation = self._reads.creation(request.method, request.path)
            if is_there or not self._message:
                return (yield from self._existing(creation))
            return (yield from self._existing(creation, is_seen=True)) if says_no_conflict(self._message) else None
        in_parameters = self._error.pointer.startswith(("/body/", "/query/"))
        unmet = in_parameters and not self._error.constraint and not self._error.stated
        if unmet and (status == 404 or (status in (400, 422) and reading.of(Kind.ABSENT))):
            return (yield from self._reference(self._error.pointer))
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
        return (yield from self._reference(pointer) if pointer.startswith("/body/") else self._referred())

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

    def _names_another(self) -> bool:
        """Whether a quoted text is a value of the body or the query: then that is what is not there."""
        sent = [*values_in(self._request.body, "/body"), *values_in(self._request.query, "/query")]
        return any(self._tells(value) for _, value in sent)

    def _is_plainly_absent(self) -> bool:
        """Whether an answer says no more than that something is not there, of a path that the description has."""
        return self._status == 404 and says_nothing(self._message, self._status) and self._has_operation

    def _with(self, resource: NamedResource, identifier: str) -> str | None:
        return with_segment(self._request.path, resource.value, identifier)
