"""What all looks at the state of an API have in common: the refusal, the look-ups made, the suggestions as results.

And what a value refers to: is that there, and what is there instead.

Knows: one refusal, answers to look-ups. Does not know: what follows from them.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from corrigible.adapters.bodies.listing import Listing, read_listing
from corrigible.adapters.formats.statement import has_word
from corrigible.adapters.openapi.related_reads import RelatedReads
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.lookup import Lookup, LookupAnswer, allowed
from corrigible.rules.lookup_headers import lookup_headers
from corrigible.rules.pointer import escape, segments, value_at
from corrigible.rules.safety.loss import LookupResult
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import Proposal, Repair, ask, is_secret, result_of
from corrigible.rules.violation import Violation
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Request

from .api_profile import RefusalCase

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


class StateReader:
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
        suggestion: dict[str, Json] = {
            "action": action,
            "message": message,
            "parameters": dict(parameters),
            "safety": {"side_effects": "none", "changes_intent": False},
            "evidence": {"kind": "lookup" if self._seen else "mapping"},
        }
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
        return result_of(Repair(tuple(suggestions), proposal.type, *why, proposal.recovery), _STATE, self._seen)

    def _tells(self, value: Json) -> bool:
        """Whether the message repeats a value."""
        return has_word(self._message, scalar_text(value))

    # --- what a value refers to

    def _referred(self) -> Results:
        """Ask for what a parameter or a member refers to, where what the path names is there: then that is not.

        A listing shows that. Of a single reference without one that is asked, where the path is seen to be right.
        """
        values = [*values_in(self._request.query, "/query"), *values_in(self._request.body, "/body")][:_MOST_VALUES]
        unknown = []
        referring = [place for place, _ in values if self._collections(place)]
        for place in referring[:_MOST_REFERENCES]:
            listing = yield from self._listing_of(place)
            if listing is None:
                unknown.append(place)
            elif (asked := self._reference_asked(place, listing)) is not None:
                return asked
        is_clear = len(unknown) == 1 and len(referring) <= _MOST_REFERENCES and bool(self._seen)
        return self._reference_asked(unknown[0], None) if is_clear else None

    def _reference(self, place: str) -> Results:
        """Ask for another value of a member that refers to something that is known not to be there."""
        value = value_at(self._request, place)
        if not is_name(value) or is_secret(place, value) or not member_of(place):
            return None
        return self._reference_asked(place, (yield from self._listing_of(place)))

    def _listing_of(self, place: str) -> Generator[Lookup, LookupAnswer, Listing | None]:
        """Return the listing of what a member refers to."""
        for collection in self._collections(place)[:_MOST_COLLECTIONS]:
            listing = yield from self._listed(collection)
            if listing is not None:
                return listing
        return None

    def _collections(self, place: str) -> Sequence[str]:
        return self._reads.collections(member_of(place), self._request.method, self._request.path)

    def _reference_asked(self, place: str, listing: Listing | None) -> RuleResult | None:
        """Ask for another value than one that a listing does not have; None where it has it."""
        value, member = value_at(self._request, place), member_of(place)
        schema: dict[str, Json] = {"not": {"const": value}}
        if listing is not None:
            text = scalar_text(value)
            known = listing.identifiers(member)
            if text in known:
                return None
            offered = near_first(shown(listing.near(text, member))[:MOST_NEAR], shown(known), listing)
            is_typed = isinstance(value, int) or (place.startswith("/body/") and not self._request.form)
            if not offered:
                return None
            schema = {"enum": [listing.written(one, member) if is_typed else one for one in offered]}
        violation = SchemaViolation(place, "enum", {}, value)
        return self._done(ask(violation, self._request, "Refer to one that exists.", schema=schema), ABSENT_THERE)


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


def values_in(value: Json, place: str) -> Iterator[tuple[str, Json]]:
    """Yield the texts and numbers inside a value, each with its place."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from values_in(inner, f"{place}/{escape(str(name))}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from values_in(inner, f"{place}/{index}")
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield place, value
