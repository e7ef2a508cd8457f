"""Attempts at one task: the requests that met the same refusal, what they were advised, and what they hear next.

A refusal that comes back is answered with alternatives, then with the place alone, then with a person.

Knows: request documents, suggestions, fingerprints. Does not know: who calls, how many loops there are. Nothing of a
request is kept but its fingerprint: hashes of its values, under their places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from corrigible.rules.violation import Violation
from corrigible.schema.cache import bytes_of
from corrigible.schema.document import pointer_problem
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import SCHEMA
from corrigible.schema.word import BaseAction, LoopAction

from .fingerprint import Advice, advice_of, containing_array, follows, hashed, is_excused

_MOST_PLACES = 64
_LEAST: Final = 800
"""Bytes of an attempt with nothing in it, and of the keys that lead to it."""
_LEAF: Final = 120
"""Bytes of a place, beside its letters, and of the hash of what is there."""
_READS = frozenset({"GET", "HEAD"})

Feedback = Mapping[str, Json]


class Refusal(NamedTuple):
    """A refusal as far as it can come back."""

    caller: str
    operation: str
    request: Request
    errors: Sequence[Violation]
    started: float
    """Unix seconds."""
    code: str = ""
    """What the pack calls the error; nothing that the upstream wrote."""
    id: str = ""
    """Of the exchange, for feedback that is withheld in the end."""


class AttemptGroup:
    """Requests of one task that met the same refusal. Not all that share credentials share a task."""

    __slots__ = ("advised", "attempts", "code", "early", "last", "leaves", "paths", "places", "size", "tried", "until")

    def __init__(self) -> None:
        self.attempts = 0
        self.size = 0
        """Bytes that it takes, with its part of what finds it."""
        self.early = 0
        """Attempts that did not wait for as long as they were told: they show nothing but that."""
        self.until = 0.0
        """When the wait is over that was told last."""
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

    def is_early(self, refusal: Refusal) -> bool:
        """Whether a refusal came before the wait was over that was told last."""
        return refusal.started < self.until

    def take_over(self, before: AttemptGroup) -> None:
        """Go on with a task of which some mistakes were mended: the others were refused once, however often."""
        for name in self.__slots__:
            setattr(self, name, getattr(before, name))
        self.attempts, self.early = min(before.attempts, 1), 0

    def keep_advice(self, refusal: Refusal) -> None:
        """Forget what was advised about mistakes that a refusal no longer has."""
        places = [containing_array(one.pointer) for one in refusal.errors]
        if all(places):
            self.advised = tuple(
                advice
                for advice in self.advised
                if not advice.effects or any(is_excused(containing_array(place), places) for place, _ in advice.effects)
            )

    def record_outcome(self, refusal: Refusal) -> None:
        """Learn what became of the last advice."""
        request = refusal.request
        self.early += self.is_early(refusal)
        for rank, advice in enumerate(self.advised):
            if (follows(advice, request) if advice.effects else rank == 0) and advice not in self.tried:
                self.tried = (*self.tried, advice)[-_MOST_PLACES:]
        self.places = tuple(dict.fromkeys(self.open_places()))[-_MOST_PLACES:]

    def record_advice(self, feedback: Feedback | None, refusal: Refusal, leaves: dict[str, int]) -> None:
        """Keep what this attempt was, and what it is advised."""
        request = refusal.request
        self.advised = tuple(advice_of(one, request) for one in feedback["suggestions"]) if feedback else ()
        self.last, self.leaves = refusal.started, leaves
        self.until = refusal.started + _wait(feedback)
        path = hashed(request.path)
        if path not in self.paths:
            self.paths = (*self.paths, path)[-_MOST_PLACES:]
        places = _LEAF * len(leaves) + sum(map(len, leaves))
        self.size = _LEAST + places + bytes_of((self.advised, self.tried, self.places, self.paths))

    def open_places(self) -> Iterator[str]:
        """Yield what may differ in the next request: it was suggested to be changed, or asked for."""
        yield from self.places
        for advice in self.advised:
            yield from (containing_array(place) for place, _ in advice.effects)
            yield from map(containing_array, advice.asked_pointers)


def _wait(feedback: Feedback | None) -> float:
    """Return the seconds for which feedback says to wait."""
    if feedback is None or feedback.get("recovery") != "transient":
        return 0.0
    seconds = (feedback.get("retry") or {}).get("after_seconds")
    return float(seconds) if isinstance(seconds, int | float) else 0.0


def is_same_task(refusal: Refusal, now: Mapping[str, int], group: AttemptGroup) -> bool:
    """Whether a request is of one task with those before: it differs only where they were wrong or told to change."""
    if hashed(refusal.request.path) not in group.paths and not _led_to(refusal, group):
        return False
    before = group.leaves
    if before == now:
        return True
    # What is complained of is the same: it is part of the key.
    places = {*group.open_places(), *(containing_array(one.pointer) for one in refusal.errors if one.pointer)}
    differing = [place for place, value in now.items() if before.get(place) != value]
    differing += [place for place in before if place not in now]
    return all(is_excused(place, places) for place in differing)


def is_progress(refusal: Refusal, feedback: Feedback | None, group: AttemptGroup) -> bool:
    """Whether a refusal that names no place is about another one: all that is suggested is new.

    An API that says "Validation failed" to everything cannot tell the second mistake from the first. The rules can.
    """
    if feedback is None or any(one.pointer for one in refusal.errors):
        return False
    before = set(group.open_places())
    advised = {
        containing_array(place)
        for suggestion in feedback["suggestions"]
        for advice in [advice_of(suggestion, refusal.request)]
        for place in (*(place for place, _ in advice.effects), *advice.asked_pointers)
    }
    return bool(advised and before) and not any(is_excused(place, before) for place in advised)


def _led_to(refusal: Refusal, group: AttemptGroup) -> bool:
    """Whether another path is no other task. To read elsewhere is one, unless it was suggested."""
    if any(("/path", hashed(refusal.request.path)) in advice.effects for advice in group.advised):
        return True
    return refusal.request.method not in _READS and any(one.pointer == "/path" for one in refusal.errors)


RELAXED: Final = 3
ESCALATED: Final = 4
"""The refusal, counted from 1, at which this is done at the latest."""
IDLE: Final = 600.0
"""Seconds after which a loop is forgotten."""
_MOST_PLACEHOLDERS = 16


def answer_repeated(
    group: AttemptGroup, refusal: Refusal, feedback: Feedback | None, fingerprint: str
) -> dict[str, Json] | None:
    """Return feedback by the number of times that a refusal came back."""
    attempts, most = group.attempts, ESCALATED
    suggestions: list[Mapping[str, Json]] = list(feedback["suggestions"]) if feedback else []
    terminal = feedback is not None and feedback["recovery"] == "terminal"
    transient = feedback is not None and feedback["recovery"] == "transient"
    if transient and feedback is not None:
        # Who does not wait learns nothing new from the next refusal, and nobody else has to act.
        most = max(most, (feedback.get("retry") or {}).get("max_attempts") or 0) + group.early
        most = attempts + 1 if group.is_early(refusal) else most
    action = LoopAction.NONE
    changed: dict[str, Json] = {}
    if terminal:
        done = any(BaseAction.ALREADY_DONE in (one["action"], one.get("base_action")) for one in suggestions)
        if attempts >= most and not done:
            action, changed = LoopAction.ESCALATE, _final(suggestions, attempts)
    elif attempts >= most:
        action, changed = LoopAction.ESCALATE, _escalated(group)
    elif attempts >= RELAXED and not transient:
        action, changed = LoopAction.RELAX_STRUCTURE, _relaxed(refusal, suggestions, attempts)
    elif not suggestions:
        return None
    elif not transient:
        left = _untried(suggestions, group.tried, refusal.request)
        if not left:
            action, changed = LoopAction.RELAX_STRUCTURE, _relaxed(refusal, suggestions, attempts)
        elif advice_of(left[0], refusal.request) not in group.advised[:1]:
            action = LoopAction.NEXT_ALTERNATIVE
        changed = changed or {"suggestions": left}
    out: dict[str, Json] = {**(feedback or {}), **changed}
    if action is LoopAction.ESCALATE:
        out.pop("retry", None)
    elif action is LoopAction.RELAX_STRUCTURE and "retry" in out:
        out["retry"] = {**out["retry"], "same_request": False}
    if feedback is not None and action in (LoopAction.RELAX_STRUCTURE, LoopAction.ESCALATE):
        out["message"] = f"{feedback['message']} {changed['message']}"
    shown = out.pop("suggestions")
    loop = {"fingerprint": fingerprint, "attempt": attempts, "action": action.value}
    return {**out, "loop": loop, "suggestions": shown}


def _untried(
    suggestions: Sequence[Mapping[str, Json]], tried: Sequence[Advice], request: Request
) -> list[Mapping[str, Json]]:
    """Leave out what was tried and led to the same refusal. A question can be answered in another way."""
    advised = [(one, advice_of(one, request)) for one in suggestions]
    return [one for one, advice in advised if advice.asked_pointers or not _is_tried(advice, tried, request)]


def _is_tried(advice: Advice, tried: Sequence[Advice], request: Request) -> bool:
    return advice in tried or (bool(advice.effects) and follows(advice, request))


def _relaxed(refusal: Refusal, suggestions: Sequence[Mapping[str, Json]], attempts: int) -> dict[str, Json]:
    """Say only that something is wrong, and where: no values, nothing that a reader would send by itself."""
    first: Mapping[str, Json] = suggestions[0] if suggestions else {}
    suggestion: dict[str, Json] = {
        "action": first.get("base_action") or first.get("action") or BaseAction.MODIFY_PARAMS.value,
        "message": "Read the answer itself, and change what it names: another request than those before.",
        "parameters": {},
    }
    asked = [place for place in dict.fromkeys(one.pointer for one in refusal.errors) if pointer_problem(place) is None]
    if asked:
        suggestion["applicability"] = "HAS_PLACEHOLDERS"
        suggestion["placeholders"] = [{"pointer": place, "ask": "user"} for place in asked[:_MOST_PLACEHOLDERS]]
    return {
        "schema": SCHEMA,
        "type": "recovery_guidance" if asked else "confidence_signal",
        "message": _times(attempts),
        "recovery": "correctable",
        "suggestions": [suggestion],
    }


def _final(suggestions: Sequence[Mapping[str, Json]], attempts: int) -> dict[str, Json]:
    """Count in what has ended already: it stays what it is, and who repeats it all the same hears so."""
    return {
        "message": _times(attempts),
        "suggestions": [
            {**one, "parameters": {**(one.get("parameters") or {}), "attempts": attempts}} for one in suggestions
        ],
    }


def _times(attempts: int) -> str:
    """Say what was counted, and what ends the count."""
    return (
        f"Requests like this one of the same caller were refused {attempts} times in the same way. A success of this"
        f" operation ends the count, and so do {IDLE:.0f} seconds without this refusal."
    )


def _escalated(group: AttemptGroup) -> dict[str, Json]:
    parameters: dict[str, Json] = {"actor": "you", "attempts": group.attempts}
    if group.code:
        parameters["code"] = group.code
    return {
        "schema": SCHEMA,
        "type": "recovery_guidance",
        "message": _times(group.attempts),
        "recovery": "terminal",
        "suggestions": [
            {
                "action": BaseAction.ESCALATE.value,
                "message": "Stop sending this: a person has to look at what is refused. Callers that share their"
                " credentials are told apart by names (`caller` in `Prefer`).",
                "parameters": parameters,
            }
        ],
    }
