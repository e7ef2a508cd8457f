"""What the state of an API says about a conflict: what is to be made is there already, as it was wanted or otherwise.

| a look-up shows     | what follows                                           |
|---------------------|--------------------------------------------------------|
| all that was sent   | it has been done already                               |
| a part of it        | another value is asked for, or a change of what exists |
| nothing of the kind | another value is asked for                             |

Knows: what a request creates or changes, how that is read. Does not know: rules, which API it is.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from corrigible.adapters.bodies.listing import with_references
from corrigible.adapters.openapi.related_reads import Creation, Item
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.functions.builtin import Operation
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.rules.pointer import escape, resolve, segments, value_at
from corrigible.rules.safety.decisive import word_set, words
from corrigible.rules.safety.nearness import is_same
from corrigible.rules.safety.stored import is_wrapper, unmet_values
from corrigible.rules.schema_repair.route import schema_of_path
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import Proposal, Suggestion, ask, edit, is_secret, options
from corrigible.rules.wordings.tokens import tokens_of
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json

from .state_reader import EXISTS_ALREADY, MOST_OFFERED, TAKEN, Results, StateReader, is_name, is_plain

_EVEN: Final = 0.5
"""Confidence in what is likely meant."""
NAMING: Final = ("name", "slug", "key", "id", "code", "title", "username", "login", "email")
"""Members that name a resource, in the order in which one is taken for what a conflict is about."""
_WRAPPED: Final = 3
"""Slashes in the place of a member of an object under a name."""
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
_LABELS: Final = frozenset({"name", "title"})
"""Members that name a resource for people: beside another one, such as `slug`, they need not be free."""
_NAMING_WORDS: Final = frozenset(NAMING) - {"id", "email", "code"}
"""Last words of members that name what is created, and not what it belongs to, as `userId` does."""
_SHORTEST_TOLD: Final = 2


class Conflicts(StateReader):
    """Compares what exists with what a request creates."""

    def _existing(self, creation: Creation | None, *, is_seen: bool = False) -> Results:
        """Compare what exists with what was sent. `is_seen`: only what a look-up shows is known to exist."""
        if self._is_of_the_call() and not self._is_told():
            return None
        place = self._conflicting(creation)
        if place is None:
            return None if is_seen else self._likely_existing()
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
        if item is None or not item.changes or not lost or self._sends_secret():
            return self._done(Proposal([other]), TAKEN if existing is None else EXISTS_ALREADY)
        update = self._update(SchemaViolation(place, "enum", {}, sent), item.changes[0], path, lost)
        return self._done(options([other, update], self._group), EXISTS_ALREADY)

    def _likely_existing(self) -> RuleResult | None:
        """Ask for another value of what is likely meant, where the message only says that something is there."""
        request, body, base = self._request, inner(self._request.body), base_of(self._request.body)
        of_path = [one for one in self._case.match.params.values() if self._tells(one)]
        if of_path and request.method in ("PUT", "POST") and request.path.rstrip("/").endswith(f"/{of_path[-1]}"):
            wanted = schema_of_path(request.path, of_path[-1], {"type": "string"})
            violation = SchemaViolation("/path", "path", {"type": "string"}, request.path)
            other = ask(violation, request, "Create another one, under a name that is free.", schema=wanted)
            other.suggestions[0]["safety"]["changes_intent"] = True
            return self._done(other, EXISTS_ALREADY)
        if request.method != "POST" or tokens_of(self._message).quoted or self._error.pointer or of_path:
            return None
        members = [name for name, value in body.items() if is_name(value)]
        # `userId` and `run_id` name what a thing belongs to.
        naming = [name for name in members if name.lower() in NAMING or {*words(name)[-1:]} & _NAMING_WORDS]
        if any(self._tells(body[name]) for name in members):
            return None  # it tells more than one of them
        likely = sorted(naming, key=lambda name: name.lower() in _LABELS) or (members if len(body) == 1 else [])
        likely = [name for name in likely if not is_secret(f"{base}/{name}", body[name])]
        if not likely:
            return None
        place, sent = f"{base}/{escape(likely[0])}", body[likely[0]]
        question = self._other_asked(place, sent, "Create another one, under a name that is free.")
        suggestion = {**question.suggestions[0], "confidence": {"basis": "spec", "value": _EVEN}}
        return self._done(Proposal([suggestion], question.type), EXISTS_ALREADY)

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

    def _conflicting(self, creation: Creation | None) -> str | None:
        """Return the place of the value that exists already."""
        pointer = self._error.pointer
        depth = 3 if is_wrapper(self._request.body) else 2
        if pointer.startswith(("/body/", "/query/")) and pointer.count("/") <= depth:
            sent = value_at(self._request, pointer)
            if is_name(sent):
                return None if is_secret(pointer, sent) else pointer
        body, base = inner(self._request.body), base_of(self._request.body)
        members = [name for name, value in body.items() if is_name(value)]
        quoted = [name for name in members if scalar_text(body[name]).lower() in tokens_of(self._message).quoted]
        if quoted:
            return f"{base}/{escape(quoted[0])}" if len(quoted) == 1 else None
        spelled = {name.lower(): name for name in reversed(members)}
        variables = [item.variable.lower() for item in creation.items] if creation is not None else []
        naming = [spelled[name] for name in (*variables, *NAMING) if name in spelled]
        repeated = [name for name in naming if self._tells(body[name])]
        told = [
            name for name in members if self._names_member(name, None) and not is_secret(f"/body/{name}", body[name])
        ]
        if not repeated and len(told) == 1:
            return f"{base}/{escape(told[0])}"
        named = repeated or (naming if creation is not None else [])
        return f"{base}/{escape(named[0])}" if named else None

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
