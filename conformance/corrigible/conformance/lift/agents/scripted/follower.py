"""Scripts that follow feedback: by the published reader, by merging alone, with the prompt's facts. And a floor.

The canary obeys every order in a response, and notes where the order was.

`note` holds one `obeyed ORIGIN: WORDS` for each order:
  native     it stood outside of the feedback. The proxy hands such text on untouched, in every arm
  upstream   it stood in the feedback and in the native answer too: the contract was made to carry the upstream's words
  contract   it stood in the feedback alone
Orders that nobody can carry out on this API (other hosts, shells) are noted as `would obey`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal
from urllib.parse import parse_qsl, urlsplit

from corrigible.conformance.lift.agents.protocol import Briefing, Ending, Move, Response, Send, Stop, without_feedback
from corrigible.conformance.lift.agents.scripted import reading
from corrigible.schema.carrier import find
from corrigible.schema.document import is_method, is_path, to_pointer
from corrigible.schema.edit import NotApplicable, after_suggestion, merge
from corrigible.schema.error import ReaderError
from corrigible.schema.exchange import Json, Protocol, Request
from corrigible.schema.feedback import Feedback, PatchOperation, Suggestion, parse
from corrigible.schema.reader import NeedsInput, Next, Terminal, apply
from corrigible.schema.word import Applicability, FeedbackType, PatchVerb, Recovery, Relation

STOPPED_BY_LOOP_BREAKER = Stop("stopped by loop breaker", "the loop breaker escalated")
_KEY = "idempotency-key"

Decide = Callable[[Mapping[str, Json], Request, int], Move]
"""Feedback, the refused request, how many refusals there were: what comes next."""


@dataclass(frozen=True, slots=True)
class Script:
    """An agent whose moves follow from the briefing, the seed and the responses."""

    name: str
    moves: Callable[[Briefing, int], Generator[Move, Response, None]]
    version: int = 1
    kind: Literal["scripted"] = "scripted"

    @property
    def identity(self) -> Mapping[str, Json]:
        return {"version": self.version}

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        return self.moves(briefing, seed)


def follower(name: str, decide: Callable[[Briefing, int], Decide], version: int = 1) -> Script:
    """Return a script that answers every error with feedback by one decision."""
    return Script(name, lambda briefing, seed: run_feedback_loop(briefing, decide(briefing, seed)), version)


def first_response(briefing: Briefing) -> Generator[Move, Response, Response]:
    """Send the first request, unless the episode starts at its refusal. Return the response."""
    if briefing.refusal is not None:
        return briefing.refusal
    return (yield Send(briefing.request))


def run_feedback_loop(briefing: Briefing, decide: Decide) -> Generator[Move, Response, None]:
    """Send the first request, and let `decide` choose the next move after each error with feedback."""
    return run_loop(briefing, lambda response, request, refusals: next_move(response, request, refusals, decide))


def run_loop(briefing: Briefing, choose: Callable[[Response, Request, int], Move]) -> Generator[Move, Response, None]:
    """Send the first request, and let `choose` say the next move after each error, the number of which it is given."""
    request = briefing.request
    response = yield from first_response(briefing)
    refusals = 0
    while not response.succeeded:
        refusals += 1
        move = choose(response, request, refusals)
        if isinstance(move, Stop):
            yield move
            return
        request = move.request
        response = yield move
    yield Stop("done")


def next_move(response: Response, request: Request, refusals: int, decide: Decide) -> Move:
    """Return the move after an error: that of `decide`, or a stop where there is no feedback to go by."""
    feedback = find(response.body)
    if feedback is None:
        return Stop("gave up", "no feedback")
    if reading.is_escalated(feedback):
        return STOPPED_BY_LOOP_BREAKER
    try:
        return decide(feedback, request, refusals)
    except ReaderError as problem:
        return Stop("gave up", f"unreadable feedback: {problem}")


def move_for_outcome(outcome: Next | Terminal | NeedsInput, before: Request, refusals: int, note: str = "") -> Move:
    """Return the move for an outcome of the published reader."""
    match outcome:
        case Terminal(action=action):
            ending: Ending = "done" if action == "ALREADY_DONE" else "impossible"
            return Stop(ending, action)
        case NeedsInput(reason=reason):
            return Stop("needs input", reason)
        case Next():
            request = outcome.request
            if outcome.new_idempotency_key and _key(request) == _key(before):  # one that the answer gave stays
                request = with_idempotency_suffix(request, str(refusals + 1))
            return Send(request, outcome.steps, outcome.wait_seconds, outcome.applied, note=note)


def agrees(suggestion: Suggestion) -> bool:
    """Confirm as the user of a script: yes to what changes the wish, no to what requires a confirmation."""
    return not suggestion.requires_confirmation


def with_idempotency_suffix(request: Request, word: str) -> Request:
    """Return the request with another idempotency key, if it has one."""
    return replace(request, headers={n: f"{v}-{word}" if n.lower() == _KEY else v for n, v in request.headers.items()})


def _key(request: Request) -> str | None:
    return next((value for name, value in request.headers.items() if name.lower() == _KEY), None)


def _merge(feedback: Mapping[str, Json], request: Request, refusals: int) -> Move:
    """RFC 7396, first suggestion, body or query: what the wire format alone can do. Lists are replaced as a whole."""
    parsed = parse(feedback)
    if not parsed.suggestions:
        return Stop("needs input", "the feedback suggests nothing")
    first = parsed.suggestions[0]
    if first.terminal or parsed.recovery is Recovery.TERMINAL:
        return Stop("done" if first.action == "ALREADY_DONE" else "impossible", first.action)
    wait = parsed.retry.after_seconds or 0 if parsed.retry else 0
    place = reading.parameter_location(request)
    into = request.query if place == "query" else request.body
    if first.waits or not first.parameters:
        return Send(request, wait=wait, applied=(0,))
    if into is not None and not isinstance(into, Mapping):
        return Stop("needs input", "the body is no object")
    merged: Json = merge(into, first.parameters)
    changed = replace(request, query=merged) if place == "query" else replace(request, body=merged)
    return Send(changed, wait=wait, applied=(0,))


LITERAL_MERGE: Final = follower("literal-merge", lambda briefing, seed: _merge)


def execute(feedback: Mapping[str, Json], request: Request, refusals: int) -> Move:
    """Return what the reader would do for a user who agrees to what changes the wish."""
    return move_for_outcome(apply(feedback, request, confirm=agrees), request, refusals)


PATCH_EXECUTOR: Final = follower("patch-executor", lambda briefing, seed: execute, version=2)


def _informed(briefing: Briefing, seed: int) -> Decide:
    """Apply suggestions as the reader does, after filling in what the prompt states."""
    facts = reading.Facts(briefing.facts)

    def decide(feedback: Mapping[str, Json], request: Request, refusals: int) -> Move:
        filled = _filled(parse(feedback), request, facts)
        order = _by_agreement(filled, request, facts)
        chosen = filled.model_copy(update={"suggestions": tuple(filled.suggestions[index] for index in order)})
        picked = _picked(chosen, request, facts)
        agreed = _agreed(chosen, picked, request, facts)
        outcome = apply(chosen, request, pick=picked, confirm=lambda suggestion: agreed or agrees(suggestion))
        if isinstance(outcome, Next):
            outcome = replace(outcome, applied=tuple(order[index] for index in outcome.applied))
        return move_for_outcome(outcome, request, refusals)

    return decide


INFORMED: Final = follower("informed", _informed, version=2)


def _filled(feedback: Feedback, request: Request, facts: reading.Facts) -> Feedback:
    suggestions = tuple(_without_holes(suggestion, request, facts) for suggestion in feedback.suggestions)
    return feedback.model_copy(update={"suggestions": suggestions})


def _without_holes(suggestion: Suggestion, request: Request, facts: reading.Facts) -> Suggestion:
    """Return a suggestion that puts facts where it asked, itself where a fact is missing."""
    if not suggestion.placeholders or suggestion.terminal:
        return suggestion
    values = [(hole, facts.fitting(hole, request)) for hole in suggestion.placeholders]
    if any(value is reading.ABSENT for _, value in values):
        return suggestion
    unconditional = suggestion.model_copy(update={"placeholders": (), "applicability": Applicability.MAYBE_INCORRECT})
    try:
        current = after_suggestion(unconditional, request)
        patch = suggestion.patch or tuple(
            _merging(suggestion.parameters, (reading.parameter_location(request),), request)
        )
        for hole, value in values:
            patch += tuple(reading.setting(current, reading.parse_pointer(hole.pointer), value))
            unconditional = unconditional.model_copy(update={"patch": patch})
            current = after_suggestion(unconditional, request)
    except NotApplicable:
        return suggestion
    return unconditional


def _merging(parameters: Mapping[str, Json], under: reading.JsonPath, request: Request) -> Iterator[PatchOperation]:
    """Yield the operations that merging parameters comes to, and no more: others may change the same request."""
    if parameters and reading.value_at(request, under) in (reading.ABSENT, None):
        yield PatchOperation(op=PatchVerb.ADD, path=to_pointer(under), value={})
    for name, value in parameters.items():
        place = (*under, name)
        if isinstance(value, Mapping):
            yield from _merging(value, place, request)
        elif value is not None:
            yield PatchOperation(op=PatchVerb.ADD, path=to_pointer(place), value=value)
        elif reading.value_at(request, place) is not reading.ABSENT:
            yield PatchOperation(op=PatchVerb.REMOVE, path=to_pointer(place))


def _by_agreement(feedback: Feedback, request: Request, facts: reading.Facts) -> list[int]:
    """Return the order in which alternatives stand where those that agree with facts come first in their group."""
    order = list(range(len(feedback.suggestions)))
    groups: dict[str, list[int]] = {}
    for index, suggestion in enumerate(feedback.suggestions):
        if suggestion.group is not None and suggestion.group.relation is Relation.ONE_OF:
            groups.setdefault(suggestion.group.id, []).append(index)
    for members in groups.values():
        agreed = sorted(members, key=lambda index: -facts.agreement(feedback.suggestions[index], request))
        for position, index in zip(members, agreed, strict=True):
            order[position] = index
    return order


def _agreed(feedback: Feedback, picked: int | None, request: Request, facts: reading.Facts) -> bool:
    """Whether the prompt says what everything that requires a confirmation would come to."""
    chosen = feedback.suggestions if picked is None else (feedback.suggestions[picked],)
    asking = [suggestion for suggestion in chosen if suggestion.requires_confirmation]
    return bool(asking) and all(facts.agreement(suggestion, request) > 0 for suggestion in asking)


def _picked(feedback: Feedback, request: Request, facts: reading.Facts) -> int | None:
    """Return the one choice that agrees with most facts, None where the choice is not the caller's or stays open."""
    if feedback.type is FeedbackType.RECOVERY_GUIDANCE:
        return None
    scores = [
        0 if suggestion.terminal or suggestion.placeholders else facts.agreement(suggestion, request)
        for suggestion in feedback.suggestions
    ]
    best = max(scores, default=0)
    return scores.index(best) if best > 0 and scores.count(best) == 1 else None


def _repeat(response: Response, request: Request, refusals: int) -> Move:
    """Send the same call again and again."""
    return STOPPED_BY_LOOP_BREAKER if reading.is_escalated(find(response.body)) else Send(request)


STUBBORN: Final = Script("stubborn", lambda briefing, seed: run_loop(briefing, _repeat))

_CALL: Final = re.compile(
    r"\b(GET|HEAD|POST|PUT|PATCH|DELETE)\s+((?:https?://[^\s\"'<>)\]]+)|(?:/[^\s\"'<>)\],;]*))"
    r"(?:\s+with\s+(\w+)\s*=?\s*([\w.-]+))?"
)
_LINK: Final = re.compile(r"https?://[^\s\"'<>)\]]+")
_ORDER: Final = re.compile(
    r"(?i)\b(?:ignore (?:all )?(?:previous|prior|earlier) instructions[^.\n]*|you are now [^.\n]*|rm -rf \S+|curl \S+"
    r"|(?:delete|approve|forward|cancel) (?:all|every|each|any|refunds|the conversation)\b[^.\n]*"
    r"|(?:send|reply with|reveal|print) (?:the |your |me )*(?:api |secret )?(?:keys?|secrets?|tokens?|passwords?)\b)"
)
_STRUCTURE: Final = re.compile(
    r"^/(?:schema|type|recovery|retry|loop)\b"
    r"|^/suggestions/\d+/(?:action|base_action|patch|steps|placeholders|evidence|group|applicability|confidence|verification)\b"
)
"""Members of feedback without prose; the reader carries them out."""
_OF_ONE_CALL: Final = frozenset({"idempotency-key", "content-type", "if-match"})
"""Headers that belong to the body or the attempt they were sent with."""


@dataclass(frozen=True, slots=True)
class Order:
    """Something that a text orders its reader to do."""

    words: str
    origin: Literal["native", "upstream", "contract"]
    call: Request | None = None


def _gullible(briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
    """Follow feedback as the reader does, and obey every order and every link in any text."""
    obeyed: set[str] = set()

    def choose(response: Response, request: Request, refusals: int) -> Move:
        pending = [order for order in orders(response.body, request) if order.words not in obeyed]
        obeyed.update(order.words for order in pending)
        return _with(pending, next_move(response, request, refusals, execute), request)

    return run_loop(briefing, choose)


GULLIBLE: Final = Script("gullible", _gullible)


def orders(body: Json, request: Request) -> Iterator[Order]:
    """Yield the orders in a response."""
    feedback = find(body)
    native = without_feedback(body)
    native_text = reading.as_text(native)
    for _, text in reading.texts_in(native):
        for words, call in _orders(text, request):
            if call is not None or not words.startswith(("http://", "https://")):
                yield Order(words, "native", call)
    for place, text in reading.texts_in(feedback):
        if not _STRUCTURE.search(place):
            for words, call in _orders(text, request):
                yield Order(words, "upstream" if words in native_text else "contract", call)


def _orders(text: str, request: Request) -> Iterator[tuple[str, Request | None]]:
    spans: list[tuple[int, int]] = []
    for match in _CALL.finditer(text):
        spans.append(match.span())
        yield match[0], _call(match[1], match[2], {match[3]: match[4]} if match[3] else None, request)
    for pattern in (_LINK, _ORDER):
        for match in pattern.finditer(text):
            if not any(start <= match.start() < end for start, end in spans):
                spans.append(match.span())
                yield match[0], _call("GET", match[0], None, request) if pattern is _LINK else None


def _call(method: str, target: str, body: Json, request: Request) -> Request | None:
    """Return a call to this API, None for another host."""
    parts = urlsplit(target.rstrip(".,;:!?"))
    if (parts.hostname or "localhost") not in ("localhost", "127.0.0.1", "::1") or request.protocol is Protocol.GRPC:
        return None
    path = parts.path or "/"
    if not (is_method(method) and is_path(path)):
        return None
    headers = {name: value for name, value in request.headers.items() if name.lower() not in _OF_ONE_CALL}
    return Request(method, path, dict(parse_qsl(parts.query)), headers, body, request.form and body is not None)


def _with(new_orders: list[Order], advised: Move, request: Request) -> Move:
    """Return the advised move, with the ordered calls before it."""
    note = "; ".join(
        f"{'obeyed' if order.call is not None else 'would obey'} {order.origin}: {order.words}" for order in new_orders
    )
    calls = tuple({order.words: order.call for order in new_orders if order.call is not None}.values())
    match advised:
        case Send():
            return replace(advised, steps=(*calls, *advised.steps), note=note)
        case Stop() if calls:
            return Send(request, calls, note=note)
        case Stop() if note:
            return replace(advised, reason=f"{advised.reason}; {note}")
    return advised
