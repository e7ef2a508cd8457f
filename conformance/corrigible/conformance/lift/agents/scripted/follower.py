"""Scripts that follow feedback: by the published reader, by merging alone, with the prompt's facts, and wrongly.

`mis-merger` makes the mistakes of the paper on purpose. With a patch it is wrong about the index only, so that every
`test` has its chance to catch it. With parameters alone nothing can: it adds instead of replacing (adv_ctx_003), writes
to the neighbouring element (adv_scale_001), or takes one element for the whole list.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from corrigible.conformance.lift.agents.protocol import Briefing, Ending, Move, Response, Send, Stop
from corrigible.conformance.lift.agents.scripted import reading
from corrigible.schema.carrier import find
from corrigible.schema.document import to_pointer
from corrigible.schema.edit import NotApplicable, after_suggestion, merge
from corrigible.schema.error import ReaderError
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import Feedback, PatchOperation, Placeholder, Suggestion, parse
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
    except NotApplicable:
        return suggestion
    patch = list(suggestion.patch) or list(
        _merging(suggestion.parameters, f"/{reading.parameter_location(request)}", request)
    )
    for hole, value in values:
        patch += _putting(hole, value, current)
        after = reading.with_value(current, reading.parse_pointer(hole.pointer), value)
        if after is None:
            return suggestion
        current = after
    return unconditional.model_copy(update={"patch": tuple(patch)})


def _merging(parameters: Mapping[str, Json], under: str, request: Request) -> Iterator[PatchOperation]:
    """Yield the operations that merging parameters comes to."""
    if parameters and reading.value_at(request, reading.parse_pointer(under)) in (reading.ABSENT, None):
        yield _operation(PatchVerb.ADD, under, {})
    for name, value in parameters.items():
        at = f"{under}{to_pointer((name,))}"
        if isinstance(value, Mapping):
            yield from _merging(value, at, request)
        elif value is not None:
            yield _operation(PatchVerb.ADD, at, value)
        elif reading.value_at(request, reading.parse_pointer(at)) is not reading.ABSENT:
            yield PatchOperation(op=PatchVerb.REMOVE, path=at)


def _putting(hole: Placeholder, value: Json, current: Request) -> Iterator[PatchOperation]:
    place = reading.parse_pointer(hole.pointer)
    for length in range(1, len(place)):
        if reading.value_at(current, place[:length]) in (reading.ABSENT, None):
            yield _operation(PatchVerb.ADD, to_pointer(place[:length]), {})
    verb = PatchVerb.ADD if reading.value_at(current, place) is reading.ABSENT else PatchVerb.REPLACE
    yield _operation(verb, hole.pointer, value)


def _operation(verb: PatchVerb, path: str, value: Json) -> PatchOperation:
    return PatchOperation(op=verb, path=path, value=value)


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


FAULTS: Final = ("adds instead of replacing", "writes to the neighbouring element", "takes one element for the list")
_SHIFTS: Final = (1, -1)


def _mis_merger(briefing: Briefing, seed: int) -> Decide:
    """Execute feedback wrongly. Guards have to turn the mistake into a failure that changes nothing."""

    def decide(feedback: Mapping[str, Json], request: Request, refusals: int) -> Move:
        parsed = parse(feedback)
        outcome = apply(parsed, request, confirm=agrees)
        if not isinstance(outcome, Next):
            return move_for_outcome(outcome, request, refusals)
        if any(parsed.suggestions[index].patch for index in outcome.applied):
            return _patched_wrongly(parsed, request, refusals) or move_for_outcome(outcome, request, refusals)
        applied = [parsed.suggestions[index] for index in outcome.applied if not parsed.suggestions[index].waits]
        fault = FAULTS[(seed + refusals) % len(FAULTS)]
        wrong = _merged_wrongly(applied[0].parameters, request, fault) if applied else None
        if wrong is None:
            return move_for_outcome(outcome, request, refusals)
        return Send(wrong, outcome.steps, outcome.wait_seconds, outcome.applied[:1], note=fault)

    return decide


MIS_MERGER: Final = follower("mis-merger", _mis_merger)


def _patched_wrongly(feedback: Feedback, request: Request, refusals: int) -> Move | None:
    """Apply patches one element off. None where no patch is about an element of a list."""
    if not any(_index(edit.path) is not None for suggestion in feedback.suggestions for edit in suggestion.patch):
        return None
    for shift in _SHIFTS:
        moved = feedback.model_copy(
            update={"suggestions": tuple(_moved(suggestion, shift) for suggestion in feedback.suggestions)}
        )
        outcome = apply(moved, request, confirm=agrees)
        if isinstance(outcome, Next) and any(_is_moved(feedback.suggestions[index]) for index in outcome.applied):
            return move_for_outcome(outcome, request, refusals, f"{FAULTS[1]}: patches are {shift:+d} off")
        if isinstance(outcome, NeedsInput) and outcome.confirm:
            return move_for_outcome(outcome, request, refusals)
    return Stop("gave up", "no patch applies to the element beside the one it is for: nothing was sent")


def _is_moved(suggestion: Suggestion) -> bool:
    return any(_index(edit.path) is not None for edit in suggestion.patch)


def _moved(suggestion: Suggestion, shift: int) -> Suggestion:
    """Return a suggestion whose patch is about the element beside: tests and edits alike."""
    edits = tuple(
        edit.model_copy(update={"path": _shifted(edit.path, shift)}) if _index(edit.path) is not None else edit
        for edit in suggestion.patch
    )
    return suggestion.model_copy(update={"patch": edits})


def _index(path: str) -> int | None:
    """Return which part of a pointer is an index, None where none is."""
    parts = path.split("/")
    if parts[1:2] != ["body"]:
        return None
    return next((at for at, part in enumerate(parts) if part.isdecimal()), None)


def _shifted(path: str, shift: int) -> str:
    parts = path.split("/")
    at = _index(path)
    assert at is not None
    parts[at] = str(max(int(parts[at]) + shift, 0))
    return "/".join(parts)


def _merged_wrongly(parameters: Mapping[str, Json], request: Request, fault: str) -> Request | None:
    """Merge parameters into a list of the body as the fault has it, None where they are about no list."""
    if reading.parameter_location(request) != "body" or not isinstance(request.body, Mapping):
        return None
    for name, value in parameters.items():
        if isinstance(value, list) and isinstance(request.body.get(name), list):
            rest = {key: inner for key, inner in parameters.items() if key != name}
            listed = [*request.body[name], *(item for item in value if item not in request.body[name])]
            changed: Json = merge({**request.body, name: listed if fault == FAULTS[0] else value}, rest)
            return replace(request, body=changed)
    for place, elements in reading.values_inside(request):
        if place[0] == "body" and isinstance(elements, list):
            for index, element in enumerate(elements):
                if isinstance(element, Mapping) and (names := list(_locators(parameters, element))):
                    return _element_wrong(request, place, elements, index, parameters, names, fault)
    return None


def _locators(parameters: Mapping[str, Json], element: Mapping[str, Json]) -> Iterator[str]:
    """Yield the parameters that only say which element is meant: their text is in it already."""
    names = [inner for inner in element.values() if isinstance(inner, str)]
    yield from (name for name, value in parameters.items() if isinstance(value, str) and value in names)


def _element_wrong(
    request: Request,
    place: reading.JsonPath,
    elements: Sequence[Any],
    index: int,
    parameters: Mapping[str, Json],
    locators: Sequence[str],
    fault: str,
) -> Request | None:
    new = {name: value for name, value in parameters.items() if name not in locators}
    changed = deepcopy(list(elements))
    if fault == FAULTS[1] and len(elements) > 1:
        beside = index + 1 if index + 1 < len(elements) else index - 1
        changed[beside] = _put_in(changed[beside], changed[index], new)
    elif fault == FAULTS[2]:
        changed = [_put_in(changed[index], changed[index], new)]
    else:
        changed.append(_put_in(changed[index], changed[index], new))
    return reading.with_value(request, place, changed)


def _put_in(target: Any, located: Mapping[str, Json], new: Mapping[str, Json]) -> Any:
    """Put new values where they look as if they belonged: under their own name, else where there is one of the kind."""
    if not isinstance(target, Mapping):
        return target
    out = dict(target)
    for name, value in new.items():
        same = [key for key in out if name == key or name.endswith(f"_{key}")]
        alike = [key for key in out if type(out[key]) is type(value) or _are_numbers(out[key], value)]
        first = next(iter([*same, *alike]), None)
        if first is not None and located.get(first) != value:
            out[first] = value
    return out


def _are_numbers(first: Json, other: Json) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in (first, other))
