"""The loop breaker: what to say when the same refusal comes back.

Structured corrections, repeated, trap an agent. Whoever repeats a refused request, or follows advice to the same
refusal, hears of alternatives next, then only that something is wrong, and the fourth time that a person must act.
What counts is what the caller could see: an answer that shows no suggestions is no part of a loop.

Knows: requests, complaints, feedback. Does not know: clocks, dice, headers' transport, what any rule says.
Nothing of a request is kept but its sketch: hashes of its values, under their places.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from corrigible.rules.violation import Violation
from corrigible.schema.cache import LONGEST, cached
from corrigible.schema.document import pointer_problem
from corrigible.schema.exchange import Json, Request
from corrigible.schema.word import BaseAction, LoopAction

from .feedback import SCHEMA
from .fingerprint import Advice, advice_of, gist, hashed, holds, is_excused, leaves_of, sent_words, whole

RELAXED: Final = 3
ESCALATED: Final = 4
"""The refusal, counted from 1, at which this is done at the latest."""
MOST: Final = 4096
"""Loops that are remembered."""
IDLE: Final = 600.0
"""Seconds after which one is forgotten."""
_MOST_FAMILIES = 16
_MOST_PLACES = 64
_MOST_COUNTED = 64
_READS = frozenset({"GET", "HEAD"})

Feedback = Mapping[str, Json]
Key = tuple[str, str, tuple[tuple[str, str, str], ...]]
"""Caller, place, and what the refusal complains of: code, pointer and words of each complaint, no values."""


class Refusal(NamedTuple):
    """A refusal as far as it can come back."""

    caller: str
    operation: str
    request: Request
    violations: Sequence[Violation]
    started: float
    """Unix seconds."""
    code: str = ""
    """What the pack calls the error; nothing that the upstream wrote."""
    id: str = ""
    """Of the exchange, for what is withheld in the end."""


class AttemptGroup:
    """Requests of one task that met the same refusal. Not all that share credentials share a task."""

    __slots__ = ("advised", "attempts", "code", "last", "leaves", "paths", "places", "tried")

    def __init__(self) -> None:
        self.attempts = 0
        self.last = 0.0
        self.code = ""
        self.leaves: dict[str, int] = {}
        self.paths: tuple[int, ...] = ()
        """Hashes of those that were called, of an operation whose path varies."""
        self.places: tuple[str, ...] = ()
        """That were suggested to be changed, before the last time."""
        self.advised: tuple[Advice, ...] = ()
        """What was suggested the last time, in order."""
        self.tried: tuple[Advice, ...] = ()

    def met(self, refusal: Refusal) -> None:
        """Learn what became of the last advice."""
        request = refusal.request
        for rank, advice in enumerate(self.advised):
            if (holds(advice, request) if advice.effects else rank == 0) and advice not in self.tried:
                self.tried = (*self.tried, advice)[-_MOST_PLACES:]
        self.places = tuple(dict.fromkeys(self.open_places()))[-_MOST_PLACES:]

    def open_places(self) -> Iterator[str]:
        """Yield what may differ in the next request: it was suggested to be changed, or asked for."""
        yield from self.places
        for advice in self.advised:
            yield from (whole(place) for place, _ in advice.effects)
            yield from map(whole, advice.asked)


class Loops:
    """What refusals were met, by whom, and how often."""

    def __init__(self, key: bytes) -> None:
        """`key` is secret and random: without it nobody can tell from a fingerprint what is in it."""
        self._key = key
        self._families: OrderedDict[Key, list[AttemptGroup]] = OrderedDict()
        self._places: dict[str, dict[str, set[Key]]] = {}
        """Keys by caller and place."""
        self._count = 0
        self._counted: OrderedDict[str, tuple[AttemptGroup, tuple[Advice, ...]]] = OrderedDict()
        """The newest refusals by exchange, with what had been advised before."""
        self._sweep = 0.0
        """When to look next for what is too old."""

    def __len__(self) -> int:
        return self._count

    def caller(self, headers: Iterable[tuple[str, str]], name: str = "", peer: str = "") -> str:
        """Return a digest of who is calling, empty where nothing tells one caller from another.

        That is the credentials and on whose behalf they are used; with them the caller's own name for itself,
        or else the address it calls from. Cookies count where there are no other credentials.
        """
        parts: list[str] = []
        cookies: list[str] = []
        for header, value in headers:
            role = _role(header)
            if role:
                said = _VARYING.sub("", value) if "," in value else value
                (cookies if role == "cookie" else parts).append(f"{role}\0{said}")
        parts = parts or cookies
        if name or peer:
            parts.append(f"name\0{name}" if name else f"peer\0{peer}")
        return self._digest("\0\0".join(parts)) if parts else ""

    def answered(self, refusal: Refusal, feedback: Feedback | None) -> dict[str, Json] | None:
        """Count a refusal. Return the feedback for one that came back, None where what was decided stays.

        `feedback` is what the rules say, None where they are silent: that counts for a loop that is known already.
        """
        if not refusal.caller:
            return None
        key: Key = (refusal.caller, place_of(refusal.operation, refusal.request), _complaints(refusal))
        request, now = refusal.request, refusal.started
        if self._count >= MOST or not 0 <= self._sweep - now <= IDLE:
            self._expire(now)
        families = self._families.get(key)
        if families is None and feedback is None:
            return None
        leaves = leaves_of(request)
        family = self._known(key, refusal, leaves, feedback) if families is not None else None
        if family is None and feedback is None:
            return None
        family = family or self._begun(key)
        if refusal.id:
            self._counted[refusal.id] = family, family.advised
            while len(self._counted) > _MOST_COUNTED:
                self._counted.popitem(last=False)
        if family.attempts:
            family.met(refusal)
        family.attempts += 1
        family.code = refusal.code or family.code
        answer: dict[str, Json] | None = None
        if family.attempts > 1:
            answer = _answer(family, refusal, feedback, self._digest(repr(key)))
        said = feedback if answer is None else answer
        family.advised = tuple(advice_of(one, request) for one in said["suggestions"]) if said else ()
        family.last, family.leaves = now, leaves
        path = hashed(request.path)
        if path not in family.paths:
            family.paths = (*family.paths, path)[-_MOST_PLACES:]
        return answer

    def withheld(self, id: str) -> None:
        """Hear that nobody saw the answer to a refusal: it does not count."""
        family, advised = self._counted.pop(id, (None, ()))
        if family is not None:
            family.attempts -= 1
            family.advised = advised

    def succeeded(self, caller: str, place: str) -> None:
        """End the loops of a caller at a place where something went well."""
        for key in self._places.get(caller, {}).pop(place, ()):
            self._count -= len(self._families.pop(key, ()))
        if not self._places.get(caller, True):
            del self._places[caller]

    def knows(self, caller: str) -> bool:
        """Whether a caller has a loop that a success could end."""
        return caller in self._places

    def _digest(self, text: str) -> str:
        return blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=8).hexdigest()

    def _known(
        self, key: Key, refusal: Refusal, leaves: Mapping[str, int], feedback: Feedback | None
    ) -> AttemptGroup | None:
        families = self._families[key]
        for index, family in enumerate(families):
            if refusal.started - family.last > IDLE or not is_same_task(refusal, leaves, family):
                continue
            if family.leaves == leaves or not _is_progress(refusal, feedback, family):
                families.append(families.pop(index))
                self._families.move_to_end(key)
                return family
        return None

    def _begun(self, key: Key) -> AttemptGroup:
        families = self._families.get(key)
        if families is None:
            families = self._families[key] = []
            self._places.setdefault(key[0], {}).setdefault(key[1], set()).add(key)
        self._families.move_to_end(key)
        family = AttemptGroup()
        families.append(family)
        self._count += 1
        if len(families) > _MOST_FAMILIES:
            del families[0]
            self._count -= 1
        return family

    def _expire(self, now: float) -> None:
        """Forget what is too old or too much, the oldest first."""
        self._sweep = now + IDLE / 10
        while self._families:
            key, families = next(iter(self._families.items()))
            if self._count < MOST and now - families[-1].last <= IDLE:
                return
            del self._families[key]
            self._count -= len(families)
            keys = self._places[key[0]][key[1]]
            keys.discard(key)
            if not keys:
                del self._places[key[0]][key[1]]
                if not self._places[key[0]]:
                    del self._places[key[0]]


def place_of(operation: str, request: Request) -> str:
    """Return what is called: an operation, or the method and path where it has no name."""
    return _short(operation or f"{request.method} {request.path}")


def _short(text: str) -> str:
    """Return a text, of a long one a hash: thousands are kept."""
    return text if len(text) <= LONGEST else f"~{hash(text)}"


# Who is calling, and for whom: `Authorization`, `X-Api-Key`, `Private-Token`, `Stripe-Account`, `Impersonate-User`.
_CREDENTIAL = re.compile(
    r"auth|(?:api|app|application|access|subscription)-?key|token|secret|session|credential|client-?cert"
    r"|account|tenant|organi[sz]ation|project|workspace|impersonate|on-behalf|user-?id"
)
_NO_CREDENTIAL = re.compile(r"c?[sx]rf|nonce|idempot|request|trace|continuation|page|:authority")
_VARYING = re.compile(
    r'(?i)\b(?:oauth_)?(?:signature|response|c?nonce|nc|uri|timestamp|created|expires|ts|mac)="?[^",]*"?'
)
"""What differs with every request in credentials that sign it: RFC 7616, RFC 9421, OAuth 1, AWS."""


@cached(1024)
def _role(header: str) -> str:
    low = header.lower()
    if low == "cookie":
        return low
    return low if _CREDENTIAL.search(low) and not _NO_CREDENTIAL.search(low) else ""


def _complaints(refusal: Refusal) -> tuple[tuple[str, str, str], ...]:
    sent = sent_words(refusal.request) if any(one.message for one in refusal.violations) else frozenset()
    found = {
        (_short(one.code or one.constraint or one.type), _short(one.pointer), _short(_words(one.message, sent)))
        for one in refusal.violations
    }
    return tuple(sorted(found))


def _words(message: str, sent: frozenset[str]) -> str:
    """Python's own hash of text is another one in every process, and fingerprints are made of this."""
    return blake2b(" ".join(gist(message, sent)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def is_same_task(refusal: Refusal, now: Mapping[str, int], family: AttemptGroup) -> bool:
    """Whether a request is of one task with those before: it differs only where they were wrong or told to change."""
    if hashed(refusal.request.path) not in family.paths and not _led_to(refusal, family):
        return False
    before = family.leaves
    if before == now:
        return True
    # What is complained of is the same: it is part of the key.
    places = {*family.open_places(), *(whole(one.pointer) for one in refusal.violations if one.pointer)}
    differing = [place for place, value in now.items() if before.get(place) != value]
    differing += [place for place in before if place not in now]
    return all(is_excused(place, places) for place in differing)


def _is_progress(refusal: Refusal, feedback: Feedback | None, family: AttemptGroup) -> bool:
    """Whether a refusal that names no place is about another one: all that is suggested is new.

    An API that says "Validation failed" to everything cannot tell the second mistake from the first. The rules can.
    """
    if feedback is None or any(one.pointer for one in refusal.violations):
        return False
    before = set(family.open_places())
    told = {
        whole(place)
        for suggestion in feedback["suggestions"]
        for advice in [advice_of(suggestion, refusal.request)]
        for place in (*(place for place, _ in advice.effects), *advice.asked)
    }
    return bool(told and before) and not any(is_excused(place, before) for place in told)


def _led_to(refusal: Refusal, family: AttemptGroup) -> bool:
    """Whether another path is no other task. To read elsewhere is one, unless it was suggested."""
    if any(("/path", hashed(refusal.request.path)) in advice.effects for advice in family.advised):
        return True
    return refusal.request.method not in _READS and any(one.pointer == "/path" for one in refusal.violations)


def _answer(
    family: AttemptGroup, refusal: Refusal, feedback: Feedback | None, fingerprint: str
) -> dict[str, Json] | None:
    """Return feedback by the number of times that a refusal came back."""
    attempts, most = family.attempts, ESCALATED
    suggestions: list[Mapping[str, Json]] = list(feedback["suggestions"]) if feedback else []
    terminal = feedback is not None and feedback["recovery"] == "terminal"
    transient = feedback is not None and feedback["recovery"] == "transient"
    if transient and feedback is not None:
        most = max(most, (feedback.get("retry") or {}).get("max_attempts") or 0)
    action = LoopAction.NONE
    changed: dict[str, Json] = {}
    if terminal:
        done = any(BaseAction.ALREADY_DONE in (one["action"], one.get("base_action")) for one in suggestions)
        if attempts >= most and not done:
            action, changed = LoopAction.ESCALATE, _final(suggestions, attempts)
    elif attempts >= most:
        action, changed = LoopAction.ESCALATE, _escalated(family)
    elif attempts >= RELAXED and not transient:
        action, changed = LoopAction.RELAX_STRUCTURE, _relaxed(refusal, suggestions, attempts)
    elif not suggestions:
        return None
    elif not transient:
        left = _untried(suggestions, family.tried, refusal.request)
        if not left:
            action, changed = LoopAction.RELAX_STRUCTURE, _relaxed(refusal, suggestions, attempts)
        elif advice_of(left[0], refusal.request) not in family.advised[:1]:
            action = LoopAction.NEXT_ALTERNATIVE
        changed = changed or {"suggestions": left}
    out: dict[str, Json] = {**(feedback or {}), **changed}
    if action is LoopAction.ESCALATE:
        out.pop("retry", None)
    elif action is LoopAction.RELAX_STRUCTURE and "retry" in out:
        out["retry"] = {**out["retry"], "same_request": False}
    if feedback is not None and action in (LoopAction.RELAX_STRUCTURE, LoopAction.ESCALATE):
        out["message"] = f"{feedback['message']} {changed['message']}"
    suggested = out.pop("suggestions")
    loop = {"fingerprint": fingerprint, "attempt": attempts, "action": action.value}
    return {**out, "loop": loop, "suggestions": suggested}


def _untried(
    suggestions: Sequence[Mapping[str, Json]], tried: Sequence[Advice], request: Request
) -> list[Mapping[str, Json]]:
    """Leave out what was tried and led to the same refusal. A question can be answered in another way."""
    told = [(one, advice_of(one, request)) for one in suggestions]
    return [one for one, advice in told if advice.asked or not _is_tried(advice, tried, request)]


def _is_tried(advice: Advice, tried: Sequence[Advice], request: Request) -> bool:
    return advice in tried or (bool(advice.effects) and holds(advice, request))


def _relaxed(refusal: Refusal, suggestions: Sequence[Mapping[str, Json]], attempts: int) -> dict[str, Json]:
    """Say only that something is wrong, and where: no values, nothing that a reader would send by itself."""
    first: Mapping[str, Json] = suggestions[0] if suggestions else {}
    suggestion: dict[str, Json] = {
        "action": first.get("base_action") or first.get("action") or BaseAction.MODIFY_PARAMS.value,
        "message": "Read the answer itself, and decide anew what to send.",
        "parameters": {},
    }
    asked = [place for place in dict.fromkeys(one.pointer for one in refusal.violations) if _is_askable(place)]
    if asked:
        suggestion["applicability"] = "HAS_PLACEHOLDERS"
        suggestion["placeholders"] = [{"pointer": place, "ask": "user"} for place in asked[:_MOST_FAMILIES]]
    return {
        "schema": SCHEMA,
        "type": "recovery_guidance" if asked else "confidence_signal",
        "message": _said(attempts),
        "recovery": "correctable",
        "suggestions": [suggestion],
    }


def _final(suggestions: Sequence[Mapping[str, Json]], attempts: int) -> dict[str, Json]:
    """Count in what has ended already: it stays what it is, and who repeats it all the same hears so."""
    return {
        "message": _said(attempts),
        "suggestions": [
            {**one, "parameters": {**(one.get("parameters") or {}), "attempts": attempts}} for one in suggestions
        ],
    }


def _said(attempts: int) -> str:
    return f"Requests like this one were refused {attempts} times in the same way."


def _is_askable(pointer: str) -> bool:
    return bool(pointer) and pointer_problem(pointer) is None


def _escalated(family: AttemptGroup) -> dict[str, Json]:
    parameters: dict[str, Json] = {"actor": "you", "attempts": family.attempts}
    if family.code:
        parameters["code"] = family.code
    return {
        "schema": SCHEMA,
        "type": "recovery_guidance",
        "message": _said(family.attempts),
        "recovery": "terminal",
        "suggestions": [
            {
                "action": BaseAction.ESCALATE.value,
                "message": "Stop sending this: a person has to look at what is refused.",
                "parameters": parameters,
            }
        ],
    }
