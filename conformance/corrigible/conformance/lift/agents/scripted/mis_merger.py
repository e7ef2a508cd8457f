"""Makes the mistakes of the paper on purpose: merges what it is told into the wrong element, or as one more.

With a patch it is wrong about the index only, so that every `test` has its chance to catch it. With parameters alone
nothing can: it adds instead of replacing (adv_ctx_003), writes to the neighbouring element (adv_scale_001), or takes
one element for the whole list.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final, Literal

from corrigible.conformance.lift.agents.protocol import Briefing, Move, Send, Stop
from corrigible.conformance.lift.agents.scripted.reading.path import (
    JsonPath,
    parameter_location,
    values_inside,
    with_value,
)
from corrigible.conformance.lift.environment.response import Response
from corrigible.schema.edit import merge
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import Feedback, Suggestion, parse
from corrigible.schema.reader import NeedsInput, Next, apply

from .feedback_loop import agrees, move_for_outcome, run_feedback_loop

FAULTS: Final = ("adds instead of replacing", "writes to the neighbouring element", "takes one element for the list")
_SHIFTS: Final = (1, -1)


class MisMerger:
    """Executes feedback wrongly. Guards have to turn the mistake into a failure that changes nothing."""

    name = "mis-merger"
    kind: Literal["scripted"] = "scripted"
    identity: Mapping[str, Json] = {"version": 1}

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
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

        return run_feedback_loop(briefing, decide)


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
    if parameter_location(request) != "body" or not isinstance(request.body, Mapping):
        return None
    for name, value in parameters.items():
        if isinstance(value, list) and isinstance(request.body.get(name), list):
            rest = {key: inner for key, inner in parameters.items() if key != name}
            listed = [*request.body[name], *(item for item in value if item not in request.body[name])]
            changed: Json = merge({**request.body, name: listed if fault == FAULTS[0] else value}, rest)
            return replace(request, body=changed)
    for place, elements in values_inside(request):
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
    place: JsonPath,
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
        changed[beside] = _filled(changed[beside], changed[index], new)
    elif fault == FAULTS[2]:
        changed = [_filled(changed[index], changed[index], new)]
    else:
        changed.append(_filled(changed[index], changed[index], new))
    return with_value(request, place, changed)


def _filled(target: Any, located: Mapping[str, Json], new: Mapping[str, Json]) -> Any:
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
