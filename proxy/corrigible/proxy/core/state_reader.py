"""What all looks at the state of an API have in common: the refusal, the look-ups made, the suggestions as results.

Knows: one refusal, answers to look-ups. Does not know: what follows from them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from corrigible.adapters.bodies.listing import Listing, read_listing
from corrigible.adapters.openapi.related_reads import RelatedReads
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.lookup import Lookup, LookupAnswer, allowed
from corrigible.rules.lookup_headers import lookup_headers
from corrigible.rules.pointer import escape
from corrigible.rules.safety.loss import LookupResult
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import Proposal, Repair, ask, result_of
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Request

from .api_profile import RefusalCase

Results = Generator[Lookup, LookupAnswer, RuleResult | None]

_LONGEST: Final = 1000
"""Characters of a message that are read."""
_QUOTED: Final = re.compile(r"""['"`\[]([^'"`\[\]]{1,200})['"`\]]""")
_LAST: Final = re.compile(r"[:=] ?([^\s'\"`\[\]:]{1,200}?)[.!]?$")
"""The value at the end of a message that quotes nothing: `Queue not found: orders`."""
MOST_OFFERED: Final = 8
MOST_NEAR: Final = 5
_STATE: Final = "the state of the API"
STALE: Final = ("The resource has another version by now.", "VERSION_STALE")
ABSENT_HERE: Final = ("No resource of the API has this path.", "RESOURCE_ABSENT")
ABSENT_THERE: Final = ("What the value refers to does not exist.", "REFERENCE_ABSENT")
REFERRED_TO: Final = ("Other resources refer to this one.", "STILL_REFERRED_TO")
NOT_ALLOWED: Final = ("The value is not allowed there.", "VALUE_NOT_ALLOWED")
EXISTS_ALREADY: Final = ("One of this name exists already.", "ALREADY_EXISTS")
TAKEN: Final = ("The value is taken already.", "ALREADY_EXISTS")
_IDENTIFIER: Final = re.compile(r"(?=.{1,64}$)[^\s]+(?: [^\s]+){0,2}")
"""Three words at most."""


class StateReader:
    """One refusal, and what was looked up about it."""

    def __init__(self, case: RefusalCase, error: Violation, reads: RelatedReads, group: str) -> None:
        self._case = case
        self._request: Request = case.request
        self._status = case.exchange.status
        self._has_operation = bool(case.match.operation)
        self._error, self._reads, self._group = error, reads, group
        self._message = error.message[:_LONGEST]
        quoted = _QUOTED.findall(self._message) or _LAST.findall(self._message)
        self._quoted = frozenset([*quoted, *(one.strip("/") for one in quoted)])
        """What the message quotes. A path may be written with slashes around it."""
        self._headers = lookup_headers(case.request, case.pack.settings.lookup_headers)
        self._seen: list[LookupResult] = []
        self._is_known = False
        """Whether what the last member refers to was found."""

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

    def _other_asked(self, place: str, sent: Json, message: str, *, keyword: str = "enum") -> Proposal:
        """Return the question for another value than the one that was sent: it is another wish."""
        violation = SchemaViolation(place, keyword, {}, sent)
        question = ask(violation, self._request, message, schema={"not": {"const": sent}})
        question.suggestions[0]["safety"]["changes_intent"] = True
        return question

    def _done(self, proposal: Proposal, why: tuple[str, str]) -> RuleResult:
        suggestions: list[dict[str, Any]] = list(proposal.suggestions)
        if lookups := [f"GET {one.path}" for one in self._seen]:
            suggestions = [{**one, "evidence": {"kind": "lookup", "lookups": lookups}} for one in suggestions]
        return result_of(Repair(tuple(suggestions), proposal.type, *why, proposal.recovery), _STATE, self._seen)


def repeats(message: str, value: str, *, below: bool = False) -> bool:
    """Whether a message has a value as a word of its own, or also as the last part of a dotted name."""
    if not value or value not in message:
        return False
    before = r"[\w/-]" if below else r"[\w./-]"
    return re.search(rf"(?<!{before}){re.escape(value)}(?![\w/-]|\.\w)", message) is not None


def is_plain(path: str) -> bool:
    """Whether each segment of a path stays one for every server on the way."""
    return allowed(path.rstrip("/"), [path.strip("/").split("/")]) is not None


def shown(identifiers: Iterable[str]) -> list[str]:
    """Return the identifiers that may be offered: others wrote them, and a sentence is none."""
    return [one for one in identifiers if one.isprintable() and _IDENTIFIER.fullmatch(one)]


def near_first(near: Sequence[str], every: Collection[str], listing: Listing) -> list[str]:
    """Return what is near, and the others after it where a short listing shows all that exists."""
    is_offered = listing.is_whole and 0 < len(every) <= MOST_OFFERED
    return list(dict.fromkeys([*near, *every])) if is_offered else list(near)


def is_name(value: Json) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def unwrapped(answer: Mapping[str, Json], member: str) -> Mapping[str, Json]:
    """Return the resource of an answer: under its only member where the answer itself has no such member."""
    if member not in answer and len(answer) == 1:
        inner = next(iter(answer.values()))
        if isinstance(inner, Mapping):
            return inner
    return answer


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
