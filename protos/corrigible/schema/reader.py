"""The published algorithm: from feedback and the rejected request to the next one, without a language model.

SPEC.md states it clause by clause. A pure function: no clock, no socket, no API's name. What it cannot
decide it hands back as `NeedsInput`; the request it was given is never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from .edit import NotApplicable, after_suggestion, step_requests
from .error import ReaderError
from .exchange import Json, Request
from .feedback import Feedback, Placeholder, Suggestion, parse
from .word import BASE_ACTIONS, Applicability, FeedbackType, IdempotencyKey, Recovery, Relation, VerificationStatus

_RANK: Final[Mapping[Applicability, int]] = {
    Applicability.MACHINE_APPLICABLE: 0,
    Applicability.MAYBE_INCORRECT: 1,
    Applicability.UNSPECIFIED: 1,
    Applicability.HAS_PLACEHOLDERS: 2,
}
"""A core writer does not set the applicability, so UNSPECIFIED counts as MAYBE_INCORRECT."""


@dataclass(frozen=True, slots=True)
class Next:
    """What to send now: wait, then the steps in order, then the request."""

    request: Request
    steps: tuple[Request, ...] = ()
    wait_seconds: float = 0
    new_idempotency_key: bool = False
    """The feedback asks for a new key. A patch may have set one in the request's headers already."""
    applied: tuple[int, ...] = ()
    """The applied suggestions, by index, in order."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """There is no next request."""

    action: str
    message: str
    parameters: Mapping[str, Json] = field(default_factory=dict)
    """Where the result is, or what a person must do."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A suggestion that can be picked: `apply(..., pick=index)`."""

    index: int
    suggestion: Suggestion


@dataclass(frozen=True, slots=True)
class NeedsInput:
    """Nothing was applied: a value, a choice or a confirmation is missing, or no suggestion fits."""

    reason: str
    placeholders: tuple[Placeholder, ...] = ()
    choices: tuple[Choice, ...] = ()
    confirm: bool = False
    """A suggestion would be applied, but only with `confirm=True`."""


Confirm = bool | Callable[[Suggestion], bool]
"""Whether the user agrees: to everything, to nothing, or to a suggestion that needs confirmation."""


class _Unconfirmed(Exception):
    """A suggestion that needs confirmation was about to be applied."""


def apply(
    feedback: Feedback | Mapping[str, Json],
    request: Request,
    *,
    cap: Applicability = Applicability.MAYBE_INCORRECT,
    confirm: Confirm = False,
    pick: int | None = None,
) -> Next | Terminal | NeedsInput:
    """Return what follows from `feedback` for the rejected request.

    `cap` is the least sure applicability that is applied: MACHINE_APPLICABLE alone, or, by default,
    MAYBE_INCORRECT and UNSPECIFIED as well. HAS_PLACEHOLDERS never is: somebody has to give the values.
    `confirm` says whether the user agreed, to all or to one suggestion: without it nothing is applied that changes
    what the user asked for (`changes_intent`), loses a value (`loses`), or requires a confirmation.
    `pick` is the index of a choice that the caller made: that one suggestion is applied, with its group where all of
    it belongs together. A picked suggestion needs its confirmation, too.

    Raises `ReaderError` where a mapping is no readable feedback or `pick` names no suggestion.
    """
    if cap is Applicability.HAS_PLACEHOLDERS:
        raise ValueError("HAS_PLACEHOLDERS is no cap: placeholders are never filled by a reader")
    parsed = feedback if isinstance(feedback, Feedback) else parse(feedback)
    suggestions = parsed.suggestions
    for index, suggestion in enumerate(suggestions):
        if suggestion.base_action is not None and suggestion.base_action not in BASE_ACTIONS:
            raise ReaderError(f"/suggestions/{index}/base_action: no base action")
    if not suggestions:
        return NeedsInput("the feedback suggests nothing")
    first = suggestions[0]
    if first.terminal or parsed.recovery is Recovery.TERMINAL:
        return Terminal(first.action, first.message or parsed.message, first.parameters)
    if pick is not None:
        if not 0 <= pick < len(suggestions):
            raise ReaderError(f"no suggestion {pick}")
        plan = [_picked(suggestions, pick)]
        usable = frozenset(i for i, s in plan[0].members if _usable(s, Applicability.MAYBE_INCORRECT))
    elif parsed.type is not FeedbackType.RECOVERY_GUIDANCE:
        return _ask(parsed, f"{parsed.type}: the choice is the caller's")
    else:
        usable = frozenset(i for i, s in enumerate(suggestions) if _usable(s, cap))
        plan = _plan(suggestions, usable)
    if not usable:
        return _ask(parsed, "no suggestion may be applied without more input")
    try:
        return _run(parsed, request, plan, usable, confirm=confirm)
    except _Unconfirmed:
        return _ask(parsed, "a suggestion needs confirmation", confirm=True)


def _rank(suggestion: Suggestion) -> int:
    """Return the rank of a suggestion's applicability, without trusting its claims."""
    if suggestion.placeholders:
        return _RANK[Applicability.HAS_PLACEHOLDERS]
    rank = _RANK[suggestion.applicability or Applicability.UNSPECIFIED]
    if suggestion.needs_confirmation or not suggestion.proven:
        rank = max(rank, _RANK[Applicability.MAYBE_INCORRECT])
    return rank


def _refuted(suggestion: Suggestion) -> bool:
    return suggestion.verification is not None and suggestion.verification.status is VerificationStatus.REFUTED


def _usable(suggestion: Suggestion, cap: Applicability) -> bool:
    return not suggestion.terminal and not _refuted(suggestion) and _rank(suggestion) <= _RANK[cap]


@dataclass(frozen=True, slots=True)
class _Unit:
    """A single suggestion (no relation), or a group."""

    relation: Relation | None
    members: tuple[tuple[int, Suggestion], ...]


def _plan(suggestions: Sequence[Suggestion], usable: frozenset[int]) -> list[_Unit]:
    """Return the units to apply, in order. A group that is first fixes the root cause, and is applied alone."""
    units: dict[tuple[str, str | int], _Unit] = {}
    for index, suggestion in enumerate(suggestions):
        group = suggestion.group
        key: tuple[str, str | int] = ("", index) if group is None else (group.relation, group.id)
        before = units[key].members if key in units else ()
        units[key] = _Unit(group.relation if group else None, (*before, (index, suggestion)))
    plan = [unit for unit in units.values() if any(index in usable for index, _ in unit.members)]
    leader = min(usable, default=-1)
    leading = [unit for unit in plan if unit.relation and any(index == leader for index, _ in unit.members)]
    return leading or plan


def _picked(suggestions: Sequence[Suggestion], pick: int) -> _Unit:
    group = suggestions[pick].group
    if group is None or group.relation is Relation.ONE_OF:
        return _Unit(None, ((pick, suggestions[pick]),))
    return _Unit(group.relation, tuple((i, s) for i, s in enumerate(suggestions) if s.group == group))


def _run(
    feedback: Feedback, request: Request, plan: Sequence[_Unit], usable: frozenset[int], *, confirm: Confirm
) -> Next | NeedsInput:
    current = request
    steps: list[Request] = []
    applied: list[int] = []
    reasons: list[str] = []
    for unit in plan:
        done, trouble = _apply_unit(unit, current, usable, confirm=confirm)
        reasons += trouble
        for index, after, before_it in done:
            current = after
            steps += before_it
            applied.append(index)
    if not applied:
        return _ask(feedback, "; ".join(reasons) or "no suggestion fits this request")
    retry = feedback.retry
    return Next(
        current,
        tuple(steps),
        retry.after_seconds or 0 if retry else 0,
        retry is not None and retry.idempotency_key is IdempotencyKey.NEW,
        tuple(applied),
    )


_Done = tuple[int, Request, tuple[Request, ...]]
"""A suggestion's index, the request after it, the steps it needs."""


def _apply_unit(
    unit: _Unit, request: Request, usable: frozenset[int], *, confirm: Confirm
) -> tuple[list[_Done], list[str]]:
    """Apply a unit by its relation: all or none, in order until one fails, or the first that applies."""
    done: list[_Done] = []
    reasons: list[str] = []
    unconfirmed = False
    current = request
    for index, suggestion in unit.members:
        if index not in usable:
            if unit.relation is Relation.ONE_OF:
                continue
            reasons.append(f"suggestion {index} may not be applied without more input")
            break
        try:
            after = after_suggestion(suggestion, current)
            steps = step_requests(suggestion, request)
        except NotApplicable as no:
            reasons.append(f"suggestion {index}: {no}")
            if unit.relation is Relation.ONE_OF:
                continue
            break
        unconfirmed |= suggestion.needs_confirmation and not (
            confirm if isinstance(confirm, bool) else confirm(suggestion)
        )
        done.append((index, after, steps))
        current = after
        if unit.relation is Relation.ONE_OF:
            break
    if unit.relation is Relation.ALL and len(done) < len(unit.members):
        return [], reasons
    if unconfirmed:
        raise _Unconfirmed
    return done, reasons


def _ask(feedback: Feedback, reason: str, *, confirm: bool = False) -> NeedsInput:
    open_ones = [Choice(i, s) for i, s in enumerate(feedback.suggestions) if not s.terminal and not _refuted(s)]
    return NeedsInput(
        reason,
        tuple(_placeholders(open_ones)),
        tuple(choice for choice in open_ones if _rank(choice.suggestion) < 2),
        confirm,
    )


def _placeholders(choices: Sequence[Choice]) -> Iterator[Placeholder]:
    for choice in choices:
        yield from choice.suggestion.placeholders
