"""What the state of an API says about a conflict: it is there already, as it was wanted or otherwise, or has changed.

| the answer, or a look-up, shows                | what follows                                                  |
|------------------------------------------------|---------------------------------------------------------------|
| all that was sent                              | it has been done already                                      |
| what was sent in part                          | other values are asked for, or a change of what exists        |
| another version than the request names         | the version that it has now, or the question for it           |
| a resource that gets the name of another one   | another name is asked for                                     |

Knows: what a request creates or changes, how that is read. Does not know: rules, which API it is.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import orjson

from corrigible.adapters.bodies.listing import with_references
from corrigible.adapters.openapi.related_reads import Creation, Item
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.functions.builtin import Operation
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.rules.pointer import escape, resolve, segments, value_at
from corrigible.rules.safety.decisive import words
from corrigible.rules.safety.nearness import is_same
from corrigible.rules.safety.stored import is_wrapper, unmet_values
from corrigible.rules.schema_repair.route import schema_of_path
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import Proposal, Suggestion, ask, edit, guarded_edit, is_secret, options
from corrigible.rules.wordings import Kind, read
from corrigible.schema.document import scalar_text
from corrigible.schema.edit import same_json
from corrigible.schema.exchange import Exchange, Json, Request

from .absent_thing import EVEN
from .state_reader import (
    EXISTS_ALREADY,
    MOST_OFFERED,
    STALE,
    TAKEN,
    Results,
    StateReader,
    is_name,
    is_plain,
    repeats,
    shown,
    unwrapped,
    values_in,
)

_MOST: Final = 65_536
"""Bytes of an answer that are read."""
_DEEPEST: Final = 2
"""Objects around the resource: an answer, an `error` in it."""
_NO_RESOURCE: Final = frozenset({"errors", "request", "input", "sent", "received", "params", "parameters", "meta"})
"""Names under which an answer repeats what was sent, or tells errors."""
_IDENTIFYING: Final = frozenset({"id", "_id", "uuid", "self", "href", "created", "created_at", "createdAt", "key"})
"""Members that only what exists has."""
_MOST_TAKEN: Final = 3
_ONE_IS_TAKEN: Final = "Give other values: what exists has these, and the server does not say which of them is taken."


def existing_told(exchange: Exchange) -> Mapping[str, Json] | None:
    """Return the only resource in an answer that has a value of the body, and an identifier that was not sent."""
    body = exchange.request.body
    sent = next(iter(body.values())) if isinstance(body, Mapping) and is_wrapper(body) else body
    if exchange.request.method != "POST" or not isinstance(sent, Mapping) or not sent or len(exchange.body) > _MOST:
        return None
    try:
        answer = orjson.loads(exchange.body)
    except orjson.JSONDecodeError:
        return None
    found: list[Mapping[str, Json]] = []
    waiting: list[tuple[Json, int]] = [(answer, 0)]
    for value, depth in waiting:
        for name, inner in value.items() if isinstance(value, Mapping) else ():
            if not isinstance(inner, Mapping) or name in _NO_RESOURCE:
                continue
            if any(one not in sent for one in _IDENTIFYING.intersection(inner)) and _same_members(sent, inner):
                found.append(inner)
            elif depth + 1 < _DEEPEST:
                waiting.append((inner, depth + 1))
    return found[0] if len(found) == 1 else None


def _same_members(sent: Mapping[str, Json], existing: Mapping[str, Json]) -> list[str]:
    """Return the names of the texts and numbers that a resource has as they were sent."""
    return [
        name
        for name, value in sent.items()
        if isinstance(value, str | int) and value not in ("", True, False) and same_json(value, existing.get(name))
    ]


def is_as_asked(request: Request, existing: Mapping[str, Json]) -> bool:
    """Whether a resource has all that a request was sent with."""
    body = request.body
    is_wrapped = isinstance(body, Mapping) and is_wrapper(body)
    return not unmet_values(request, {next(iter(body)): existing} if is_wrapped else existing)


def ask_for_others(request: Request, existing: Mapping[str, Json]) -> Proposal | None:
    """Ask for other values in the places of those that what exists has as well; None where they are too many."""
    body = request.body
    is_wrapped = isinstance(body, Mapping) and is_wrapper(body)
    around = f"/body/{escape(next(iter(body)))}" if is_wrapped else "/body"
    sent = next(iter(body.values())) if is_wrapped else body
    names = _same_members(sent, existing) if isinstance(sent, Mapping) else []
    places = {f"{around}/{escape(name)}": sent[name] for name in names}
    if not 0 < len(places) <= _MOST_TAKEN or any(is_secret(place, value) for place, value in places.items()):
        return None
    message = "Give a value that is free." if len(places) == 1 else _ONE_IS_TAKEN
    questions: list[tuple[str, Mapping[str, Json]]] = [
        (place, {"not": {"const": value}}) for place, value in places.items()
    ]
    question = ask(SchemaViolation(questions[0][0], "enum", {}), request, message, places=questions)
    question.suggestions[0]["safety"]["changes_intent"] = True
    return question


_VERSIONS: Final = frozenset(
    {"version", "lock_version", "lockVersion", "revision", "rev", "_rev", "etag", "resourceVersion", "row_version"}
)
_READ_AGAIN: Final = "It was changed in between. Read it again, and "


class Versions(StateReader):
    """Compares the version that a request names with the one that the resource has."""

    def _stale(self) -> Results:
        """Offer the version that the resource has now, where a request changes it under another one."""
        request = self._request
        path = self._reads.own(request.method, request.path) if request.method in ("PUT", "PATCH") else ""
        versions = [
            (place, sent)
            for place, sent in values_in(request.body, "/body")
            if segments(place)[-1] in _VERSIONS or words(segments(place)[-1])[-1:] == ("version",)
        ]
        if len(versions) != 1:
            return None
        ((place, sent),) = versions
        if not path:
            return self._version_asked(place, sent)
        member = segments(place)[-1]
        answer = yield from self._answered(path)
        current = unwrapped(answer, member).get(member) if isinstance(answer, Mapping) else None
        if not isinstance(current, str | int) or isinstance(current, bool):
            return self._version_asked(place, sent)
        if current == sent:
            return None
        if isinstance(current, str) and not shown([current]):
            return None
        ops = guarded_edit(request, place, sent, {"op": "replace", "path": place, "value": current})
        message = f"{_READ_AGAIN}send the version that it has now if your change still fits."
        proposed = edit(
            SchemaViolation(place, "version", {}, sent),
            request,
            ops,
            message,
            changes_intent=True,
            requires_confirmation=True,
        )
        proposed["steps"] = [{"method": "GET", "path": path}]
        return self._done(Proposal([proposed]), STALE)

    def _version_asked(self, place: str, sent: Json) -> RuleResult | None:
        """Ask for the version that the resource has now, where the message says that it has changed."""
        if is_secret(place, sent) or not read(self._message).of(Kind.STALE):
            return None
        message = f"{_READ_AGAIN}give the version that it has now if your change still fits."
        return self._done(self._other_asked(place, sent, message, keyword="version"), STALE)


NAMING: Final = ("name", "slug", "key", "id", "code", "title", "username", "login", "email")
"""Members that name a resource, in the order in which one is taken for what a conflict is about."""


class Renames(StateReader):
    """Compares what a thing is called with what a request would call it."""

    def _renamed(self) -> Results:
        """Ask for another name, where the only one that is changed has to be what exists already."""
        request = self._request
        path = self._reads.own(request.method, request.path) if request.method in ("PUT", "PATCH") else ""
        body, base = inner(request.body), base_of(request.body)
        naming = [name for name in body if name.lower() in NAMING and is_name(body[name])]
        if not path or not naming:
            return None
        existing = yield from self._answered(path)
        if not isinstance(existing, Mapping):
            return None
        now = {name: unwrapped(existing, name).get(name) for name in naming}
        changed = [name for name in naming if is_name(now[name]) and scalar_text(now[name]) != scalar_text(body[name])]
        if len(changed) != 1 or len(changed) != len([one for one in naming if now[one] != body[one]]):
            return None
        (name,) = changed
        place, sent = f"{base}/{escape(name)}", body[name]
        if is_secret(place, sent):
            return None
        question = self._other_asked(place, sent, "Give a value that is free.")
        return self._done(question, TAKEN)


def inner(body: Json) -> Mapping[str, Json]:
    """Return the object that a body is, or that it wraps."""
    content = next(iter(body.values())) if isinstance(body, Mapping) and is_wrapper(body) else body
    return content if isinstance(content, Mapping) else {}


def base_of(body: Json) -> str:
    """Return the place of the object that a body is, or that it wraps."""
    return f"/body/{escape(next(iter(body)))}" if isinstance(body, Mapping) and is_wrapper(body) else "/body"


_WORDS: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_WRAPPED: Final = 3
"""Slashes in the place of a member of an object under a name."""
_MOST_CREATED: Final = 50
_AS_ASKED: Final = "It exists, with everything that was asked for."
_OF_THE_CALL: Final = re.compile(
    r"(?i)\b(?:idempoten\w*|nonce|requests?|submission|transaction|(?:time[ -]?)?slots?|times?|period|interval|dates?"
    r"|day|window|schedule|overlap\w*|pending|in progress)\b"
)
"""Words of conflicts about the call itself, or about when something is to be: what exists is another thing then."""
_HELD: Final = re.compile(r"(?i)\b(?:in use|used|(?<!has already been )taken|occupied|booked|reserved)\b")
"""Words for what somebody else may hold, where it is no name: a room, a seat. Rails' own are about what is created."""
_LABELS: Final = frozenset({"name", "title"})
"""Members that name a resource for people: beside another one, such as `slug`, they need not be free."""
_NAMING_WORDS: Final = frozenset(NAMING) - {"id", "email", "code"}
"""Last words of members that name what is created, and not what it belongs to, as `userId` does."""
_SHORTEST_TOLD: Final = 2
_MEMBER_NAME: Final = re.compile(r"[A-Za-z_][\w.-]{0,63}", re.ASCII)


class Conflicts(Renames, Versions):
    """Compares what exists with what a request creates or changes."""

    def _existing(self, creation: Creation | None, *, is_seen: bool = False) -> Results:
        """Compare what exists with what was sent. `is_seen`: only what a look-up shows is known to exist."""
        if self._is_of_the_call() and not self._is_told():
            return None
        told = existing_told(self._case.exchange)
        is_held = _HELD.search(self._message) is not None or self._is_of_the_call()  # perhaps by somebody else
        if told is not None and not is_held and is_as_asked(self._request, told):
            return self._terminal("ALREADY_DONE", _AS_ASKED, {}, EXISTS_ALREADY)
        place = self._conflicting(creation)
        if place is None:
            if is_seen:
                return None
            renamed = yield from self._renamed()
            here = renamed if renamed is not None else (yield from self._existing_here())
            if here is None and told is not None and (question := ask_for_others(self._request, told)) is not None:
                return self._done(question, EXISTS_ALREADY)
            if here is None and creation is not None:
                here = yield from self._existing_as_sent(creation)
            return here if here is not None else self._likely_existing()
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
        violation = SchemaViolation(place, "enum", {}, sent)
        message = "Give a value that is free." if existing is None else "Create another one, under a name that is free."
        other = self._other_asked(place, sent, message).suggestions[0]
        if item is None or not item.changes or not lost or self._sends_secret():
            return self._done(Proposal([other]), TAKEN if existing is None else EXISTS_ALREADY)
        update = self._update(violation, item.changes[0], path, lost)
        return self._done(options([other, update], self._group), EXISTS_ALREADY)

    def _likely_existing(self) -> RuleResult | None:
        """Ask for another value of what is likely meant, where the message only says that something is there."""
        body, base = inner(self._request.body), base_of(self._request.body)
        if self._request.method != "POST" or self._quoted or self._error.pointer or self._repeats_path():
            return None
        members = [name for name, value in body.items() if is_name(value)]
        # `userId` and `run_id` name what a thing belongs to.
        naming = [name for name in members if name.lower() in NAMING or {*words(name)[-1:]} & _NAMING_WORDS]
        if any(repeats(self._message, scalar_text(body[name])) for name in members):
            return None  # it tells more than one of them
        likely = sorted(naming, key=lambda name: name.lower() in _LABELS) or (members if len(body) == 1 else [])
        likely = [name for name in likely if not is_secret(f"{base}/{name}", body[name])]
        if not likely:
            return None
        place, sent = f"{base}/{escape(likely[0])}", body[likely[0]]
        question = self._other_asked(place, sent, "Create another one, under a name that is free.")
        suggestion = {**question.suggestions[0], "confidence": {"basis": "spec", "value": EVEN}}
        return self._done(Proposal([suggestion], question.type), EXISTS_ALREADY)

    def _repeats_path(self) -> bool:
        """Whether a message names something of the path: that is what it is about then."""
        return any(repeats(self._message, one) for one in self._case.match.params.values() if one)

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
        differs = f" What differs: {', '.join(names[:MOST_OFFERED])}." if names and _are_names(names) else ""
        return edit(
            violation,
            self._request,
            ops,
            f"Change the one that exists.{differs}",
            changes_intent=True,
            requires_confirmation=True,
            action="USE_ALTERNATIVE_ENDPOINT",
        )

    def _existing_here(self) -> Results:
        """Compare what has the path of a request already with what was sent: the path names what is created.

        Where the message does not repeat the name, only what is there as it was sent is known to be meant.
        """
        request = self._request
        resource = next(iter(self._reads.named(request.method, request.path)), None)
        is_last = resource is not None and resource.at == request.path.strip("/").count("/")
        if resource is None or not is_last or request.method not in ("PUT", "POST"):
            return None
        is_repeated = repeats(self._message, resource.value)
        body = inner(request.body)
        if (self._quoted and not is_repeated) or any(self._tells(*one) for one in body.items()):
            return None  # what the message or the body names may be what is there already
        path = self._reads.own(request.method, request.path)
        existing = (yield from self._answered(path)) if path else None
        lost = unmet_values(request, existing) if isinstance(existing, Mapping) and request.body is not None else ()
        if isinstance(existing, Mapping) and not lost:
            return self._terminal("ALREADY_DONE", _AS_ASKED, {"path": request.path}, EXISTS_ALREADY)
        if not is_repeated:
            return None
        violation = SchemaViolation("/path", "path", {"type": "string"}, request.path)
        wanted = schema_of_path(request.path, resource.value, {"type": "string"})
        other = ask(violation, request, "Create another one, under a name that is free.", schema=wanted)
        other.suggestions[0]["safety"]["changes_intent"] = True
        changes = self._reads.changes(request.method, request.path) if body and not self._sends_secret() else ()
        if not changes:
            return self._done(other, EXISTS_ALREADY)
        update = self._update(violation, changes[0], request.path, lost)
        return self._done(options([*other.suggestions, update], self._group), EXISTS_ALREADY)

    def _existing_as_sent(self, creation: Creation) -> Results:
        """Look for each of a list of names, or of objects, and for an object without a name, in the collection."""
        sent = _created(self._request.body)
        if sent is None:
            return None
        place, elements = sent
        listing = (yield from self._listed(creation.collection)) if creation.collection else None
        if listing is None:
            return self._of_list(place, elements, ())
        variables = [item.member if item.by_name else item.variable for item in creation.items] or ["name"]
        found: list[bool] = []
        for element in elements:
            if isinstance(element, Mapping):
                same = [one for one in listing.resources if _holds(one, element)]
            else:
                same = [
                    one for one in (listing.identifiers(name).get(element) for name in variables) if one is not None
                ]
                same = [one for one in same[:1] if _holds(one, _beside(self._request.body, place))]
            found.append(len(same) == 1)
        is_of_names = all(isinstance(one, str) for one in elements)
        if all(found) and self._is_meant("name" if is_of_names else ""):
            return self._terminal("ALREADY_DONE", _AS_ASKED, {"path": creation.collection}, EXISTS_ALREADY)
        return self._of_list(place, elements, [one for one, is_there in zip(elements, found, strict=True) if is_there])

    def _of_list(self, place: str, elements: Json, existing: Sequence[Json]) -> RuleResult | None:
        """Ask which elements of a list to create."""
        if not place or is_secret(place, elements):
            return None
        taken = [one for one in existing if isinstance(one, str)]
        violation = SchemaViolation(place, "enum", {}, elements)
        schema: dict[str, Json] = {"type": "array", "items": {"not": {"enum": taken}}} if taken else {}
        question = ask(violation, self._request, "Leave out what exists, or give names that are free.", schema=schema)
        question.suggestions[0]["safety"]["changes_intent"] = True
        return self._done(question, EXISTS_ALREADY)

    def _is_meant(self, member: str, creation: Creation | None = None) -> bool:
        """Whether a message is about what exists as it was sent: it names what was sent, or paths do, by a member.

        Else it may be about something that is no member, and what exists is as it was sent by chance.
        """
        items = creation.items if creation is not None else ()
        is_named = any(item.is_readable and is_same(member, item.member) for item in items)
        is_naming = not {*words(member)[-1:]}.isdisjoint(NAMING)
        may_be_held = _HELD.search(self._message) is not None and not is_naming
        return (is_named or (self._is_told() and not may_be_held)) and not self._is_of_the_call()

    def _is_of_the_call(self) -> bool:
        """Whether the message has a word for the call itself, or for when something is to be, of its own accord."""
        text, known = self._message, set(words(self._request.path))
        if _OF_THE_CALL.search(text) is None:
            return False
        for name, value in inner(self._request.body).items():
            known |= set(words(name))
            if is_name(value) and len(written := scalar_text(value)) >= _SHORTEST_TOLD:
                text = text.replace(written, "")
        return any(known.isdisjoint(_singular(match[0])) for match in _OF_THE_CALL.finditer(text))

    def _is_told(self) -> bool:
        """Whether the error has the name of a member, or a value that was sent."""
        if self._error.pointer.startswith("/body/"):
            return True
        sent = _created(self._request.body)
        elements: list[Json] = [] if sent is None else sent[1]
        objects = [inner(self._request.body), *(one for one in elements if isinstance(one, Mapping))]
        texts = [one for one in elements if isinstance(one, str)]
        if any(len(one) >= _SHORTEST_TOLD and repeats(self._message, one) for one in texts):
            return True
        return any(
            self._tells(name, None)
            or (is_name(value) and len(scalar_text(value)) >= _SHORTEST_TOLD and self._tells("", value))
            for one in objects
            for name, value in one.items()
        )

    def _tells(self, member: str, value: Json) -> bool:
        """Whether the message has the name of a member, or its value."""
        if is_name(value) and repeats(self._message, scalar_text(value)):
            return True
        text = self._message.casefold()
        is_likely = member.strip("_-.$@")[:2].casefold() in text  # most of many names are not there
        parts = words(member) if is_likely else ()
        return (
            bool(parts)
            and all(one in text for one in parts)
            and re.search(rf"(?i)(?<![\w/.-]){'[ _-]?'.join(map(re.escape, parts))}s?\b", self._message) is not None
        )

    def _conflicting(self, creation: Creation | None) -> str | None:
        """Return the place of the value that exists already."""
        pointer = self._error.pointer
        depth = 3 if is_wrapper(self._request.body) else 2
        if (
            pointer.startswith(("/body/", "/query/"))
            and pointer.count("/") <= depth
            and is_name(value_at(self._request, pointer))
        ):
            return None if is_secret(pointer, value_at(self._request, pointer)) else pointer
        body, base = inner(self._request.body), base_of(self._request.body)
        members = [name for name, value in body.items() if is_name(value)]
        quoted = [name for name in members if scalar_text(body[name]) in self._quoted]
        if len(quoted) == 1:
            return f"{base}/{escape(quoted[0])}"
        if quoted:
            return None
        spelled = {name.lower(): name for name in reversed(members)}
        variables = [item.variable.lower() for item in creation.items] if creation is not None else []
        naming = [spelled[name] for name in (*variables, *NAMING) if name in spelled]
        repeated = [name for name in naming if repeats(self._message, scalar_text(body[name]))]
        told = [name for name in members if self._tells(name, None) and not is_secret(f"/body/{name}", body[name])]
        if not repeated and len(told) == 1:
            return f"{base}/{escape(told[0])}"
        named = repeated or self._repeated_names(members) or (naming if creation is not None else [])
        return f"{base}/{escape(named[0])}" if named else None

    def _repeated_names(self, members: list[str]) -> list[str]:
        """Return the only member such as `table_name` whose value the message repeats, alone or as `main.orders`."""
        body = inner(self._request.body)
        named = [name for name in members if _WORDS.findall(name)[-1:] and _WORDS.findall(name)[-1].lower() in NAMING]
        repeated = [name for name in named if repeats(self._message, scalar_text(body[name]), below=True)]
        return repeated if len(repeated) == 1 else []

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
                    return unwrapped(existing, member), item, path
        if not creation.collection:
            return None, None, ""
        listing = yield from self._listed(creation.collection)
        same = (
            [one for one in listing.resources if scalar_text(with_references(one).get(member)) == value]
            if listing is not None
            else []
        )
        if listing is None:
            return None, None, ""
        if len(same) > 1:  # names may be free in other surroundings: the message may tell the identifier
            same = [one for one in same if is_name(one.get("id")) and repeats(self._message, scalar_text(one["id"]))]
        if len(same) != 1:
            return None, None, ""
        for item in creation.items:
            known = listing.identifiers(item.member if item.by_name else item.variable)
            for identifier, one in known.items():
                if one is same[0] and is_plain(path := item.path(identifier)):
                    return same[0], item, path
        return same[0], None, ""


def _singular(word: str) -> set[str]:
    """Return the forms in which a name may have a word."""
    return {word.lower(), word.lower().removesuffix("s"), f"{word.lower()}s"}


def _are_names(names: list[str]) -> bool:
    return all(_MEMBER_NAME.fullmatch(name) for name in names)


def _created(body: Json) -> tuple[str, list[Json]] | None:
    """Return what a body creates, with the place of the list: names or objects in its only list, else its object."""
    lists = [name for name, value in body.items() if isinstance(value, list)] if isinstance(body, Mapping) else []
    if isinstance(body, Mapping) and len(lists) == 1:
        (name,) = lists
        elements = body[name]
        is_objects = len(body) == 1 and all(isinstance(one, Mapping) and one for one in elements)
        if 0 < len(elements) <= _MOST_CREATED and (is_objects or all(isinstance(one, str) for one in elements)):
            return f"/body/{escape(name)}", elements
    created = inner(body)
    return ("", [dict(created)]) if created else None


def _beside(body: Json, place: str) -> Mapping[str, Json]:
    """Return what a body has beside its list: that is to hold of each of those that the list names."""
    return {name: one for name, one in body.items() if name != segments(place)[-1]} if isinstance(body, Mapping) else {}


def _holds(resource: Mapping[str, Json], sent: Mapping[str, Json]) -> bool:
    """Whether a resource has all that was sent."""
    return not unmet_values(Request("POST", "/", body=dict(sent)), with_references(resource))
