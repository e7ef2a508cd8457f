"""What the state of an API says about a value that refers to something: is that there, what is it called.

Knows: listings of what members refer to. Does not know: rules, which API it is, how look-ups are made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Final

from corrigible.adapters.bodies.listing import Listing
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.pointer import escape, segments, value_at
from corrigible.rules.safety.decisive import is_decisive, words
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import Proposal, ask, edit, guarded_edit, is_secret
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json

from .absent_thing import refers
from .state_reader import (
    ABSENT_HERE,
    ABSENT_THERE,
    MOST_NEAR,
    Results,
    StateReader,
    is_name,
    near_first,
    shown,
    values_in,
)

_MOST_COLLECTIONS: Final = 2
_MOST_REFERENCES: Final = 3
_MOST_VALUES: Final = 20
_WORD: Final = re.compile(r"[^\s]{1,200}")
_NAMING: Final = frozenset({"name", "key", "code"})
"""Last words of names of members that may refer to something by its name."""


class References(StateReader):
    """Looks up what values of a request refer to."""

    def _referred(self) -> Results:
        """Ask for what a parameter or a member refers to, where what the path names is there: then that is not.

        The listing of what it refers to shows that. Without one, it is the only value that was sent.
        """
        values = list(islice(values_in(self._request.query, "/query"), _MOST_VALUES))
        values += islice(values_in(self._request.body, "/body"), _MOST_VALUES)
        referring = [(place, value) for place, value in values if self._refers(_member(place))]
        unknown = []
        for place, value in referring[:_MOST_REFERENCES]:
            self._is_known = False
            if (listed := (yield from self._reference(place, is_sure=False))) is not None:
                return listed
            if not self._is_known:
                unknown.append((place, value))
        # What no listing shows may be on a later page of it.
        left = unknown if len(referring) <= _MOST_REFERENCES and self._seen else []
        if not referring and len(values) == 1 and values[0][0].startswith("/body/"):
            return self._only_sent(*values[0])
        if len(left) != 1:
            return None
        ((place, value),) = left
        message = "Refer to one that exists."
        return self._done(ask(SchemaViolation(place, "enum", {}, value), self._request, message), ABSENT_THERE)

    def _only_sent(self, place: str, value: Json) -> RuleResult | None:
        """Ask for the only value that was sent if it may refer to something, else for the path.

        An amount refers to nothing. A word may, where all that the path names is there.
        """
        is_word = isinstance(value, str) and _WORD.fullmatch(value) is not None
        if refers(place, value) or (is_word and (self._seen or not _NAMING.isdisjoint(words(_member(place))[-1:]))):
            message = "Refer to one that exists."
            return self._done(ask(SchemaViolation(place, "enum", {}, value), self._request, message), ABSENT_THERE)
        if self._seen:
            return None  # the path names what is there
        violation = SchemaViolation("/path", "path", {"type": "string", "pattern": "^/"}, self._request.path)
        message = "Use a path that is there, if another one was meant: nothing that was sent refers to anything."
        return self._done(ask(violation, self._request, message), ABSENT_HERE)

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
        if not is_name(sent) or is_secret(asked[0], sent):
            return None
        violation = SchemaViolation(asked[0], "enum", {}, sent)
        message = "Refer to one that exists."
        return self._done(ask(violation, self._request, message, schema={"not": {"const": sent}}), ABSENT_THERE)

    def _refers(self, member: str) -> bool:
        return bool(self._reads.collections(member, self._request.method, self._request.path))

    def _reference(self, place: str, *, is_sure: bool = True) -> Results:
        """Look up what a value refers to. Unless it is sure that this is not there, a listing has to show it."""
        value = value_at(self._request, place)
        names = [part for part in segments(place)[1:] if not part.isdecimal()]
        if not names or not isinstance(value, str | int) or isinstance(value, bool) or is_secret(place, value):
            return None
        text, member = scalar_text(value), names[-1]
        collections = self._reads.collections(member, self._request.method, self._request.path)
        for collection in collections[:_MOST_COLLECTIONS]:
            listing = yield from self._listed(collection)
            if listing is None:
                continue
            known = listing.identifiers(member)
            if text in known:
                self._is_known = True
                return None
            return self._referring(place, value, listing, member)
        if not is_sure:
            return None
        violation = SchemaViolation(place, "enum", {}, value)
        question = ask(violation, self._request, "Refer to one that exists.", schema={"not": {"const": value}})
        return self._done(question, ABSENT_THERE)

    def _referring(self, place: str, value: Json, listing: Listing, member: str) -> RuleResult | None:
        violation = SchemaViolation(place, "enum", {}, value)
        text = scalar_text(value)
        is_typed = isinstance(value, int) or (place.startswith("/body/") and not self._request.form)
        meant = listing.called(text, member)
        if meant is not None and shown([meant]):
            new = listing.written(meant, member) if is_typed else meant
            ops = guarded_edit(self._request, place, value, {"op": "replace", "path": place, "value": new})
            message = "Send the identifier of the resource that has this name."
            is_asked = is_decisive(member, self._request) or not listing.is_whole
            proposed = edit(violation, self._request, ops, message, requires_confirmation=is_asked)
            return self._done(Proposal([proposed]), ABSENT_THERE)
        near = shown(listing.near(text, member))[:MOST_NEAR]
        offered = near_first(near, shown(listing.identifiers(member)), listing)
        if not offered:
            return None
        schema = {"enum": [listing.written(one, member) if is_typed else one for one in offered]}
        return self._done(ask(violation, self._request, "Refer to one that exists.", schema=schema), ABSENT_THERE)


def _member(place: str) -> str:
    """Return the name of the member that a place is, or is an element of."""
    return next((part for part in reversed(segments(place)) if not part.isdecimal()), "")
