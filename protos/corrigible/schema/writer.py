"""The rules for writers: what feedback must satisfy before it may be sent.

Each duty is a function that yields the problems it sees, and `_DUTIES` lists them all. What needs the
exchange (is the call safe to repeat, is the array edit where it should be) is the producer's to know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from .document import header_problem, is_method, is_path, pointer_parts, pointer_problem
from .error import FeedbackError, VocabularyError
from .feedback import Feedback, PatchOperation, Suggestion
from .vocabulary import Vocabulary
from .word import BASE_ACTIONS, Applicability, ConfidenceBasis, PatchVerb, Recovery, VerificationStatus

ACTION: Final = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")
"""Upper snake case."""


def validate(feedback: Feedback, *, vocabulary: Vocabulary | None = None) -> Feedback:
    """Return `feedback` if a writer may send it, or raise `FeedbackError` with all problems.

    With a `vocabulary`, every action must be registered there and its parameters must fit.
    """
    problems = [problem for duty in _FEEDBACK_DUTIES for problem in duty(feedback)]
    for index, suggestion in enumerate(feedback.suggestions):
        problems += [f"suggestion {index}: {p}" for duty in _DUTIES for p in duty(suggestion)]
        if vocabulary is not None:
            problems += [f"suggestion {index}: {p}" for p in _registered(suggestion, vocabulary)]
    if problems:
        raise FeedbackError(problems)
    return feedback


def _registered(suggestion: Suggestion, vocabulary: Vocabulary) -> Iterator[str]:
    try:
        action = vocabulary.check(suggestion.action, suggestion.parameters)
    except VocabularyError as error:
        yield str(error)
        return
    if suggestion.base_action not in (None, action.base_action):
        yield f"{action.name} rests on {action.base_action}, not on {suggestion.base_action}"


def _says_something(feedback: Feedback) -> Iterator[str]:
    if not feedback.message.strip():
        yield "message is empty"
    if not feedback.suggestions:
        yield "suggestions is empty"


def _terminal_stands_alone(feedback: Feedback) -> Iterator[str]:
    terminal = [s.action for s in feedback.suggestions if s.terminal]
    if terminal and len(feedback.suggestions) > 1:
        yield f"{terminal[0]} does not stand alone"
    if terminal and feedback.recovery is not Recovery.TERMINAL:
        yield f"{terminal[0]} needs recovery terminal"
    if feedback.recovery is Recovery.TERMINAL:
        if feedback.suggestions and not terminal:
            yield "recovery terminal needs a terminal action"
        if feedback.retry is not None:
            yield "recovery terminal forbids retry"


def _groups_agree(feedback: Feedback) -> Iterator[str]:
    relations: dict[str, str] = {}
    for group in (s.group for s in feedback.suggestions if s.group is not None):
        if relations.setdefault(group.id, group.relation) != group.relation:
            yield f"group {group.id} is both {relations[group.id]} and {group.relation}"


def _action_rests_on_a_base(suggestion: Suggestion) -> Iterator[str]:
    action, base = suggestion.action, suggestion.base_action
    if not ACTION.fullmatch(action):
        yield f"action {action} is not upper snake case"
    if base is not None and base not in BASE_ACTIONS:
        yield f"base_action {base} is no base action"
    if action in BASE_ACTIONS:
        if base not in (None, action):
            yield f"{action} is a base action and rests on no {base}"
    elif base is None:
        yield f"{action} is no base action and has no base_action"


def _terminal_changes_nothing(suggestion: Suggestion) -> Iterator[str]:
    if suggestion.terminal:
        for name in ("patch", "steps", "placeholders"):
            if getattr(suggestion, name):
                yield f"{suggestion.action} has {name}"
    if suggestion.waits and suggestion.parameters:
        yield f"{suggestion.action} has parameters: the wait belongs into retry"


def _applicability_is_earned(suggestion: Suggestion) -> Iterator[str]:
    level = suggestion.applicability
    if suggestion.placeholders and level is not Applicability.HAS_PLACEHOLDERS:
        yield "placeholders need applicability HAS_PLACEHOLDERS"
    if level is Applicability.HAS_PLACEHOLDERS and not suggestion.placeholders:
        yield "HAS_PLACEHOLDERS without placeholders"
    if level is Applicability.MACHINE_APPLICABLE:
        if not suggestion.proven:
            yield (
                "MACHINE_APPLICABLE needs evidence: verification verified, or at least 20 observed trials "
                "whose 95 % lower bound is 0.9 or more"
            )
        if suggestion.changes_intent:
            yield "MACHINE_APPLICABLE with changes_intent"
        if suggestion.requires_confirmation:
            yield "MACHINE_APPLICABLE with requires_confirmation"


def _loss_is_said(suggestion: Suggestion) -> Iterator[str]:
    if suggestion.loses and not suggestion.changes_intent:
        yield "loses something without changes_intent"
    for pointer in suggestion.loses:
        if (problem := pointer_problem(pointer)) is not None:
            yield f"loses {pointer}, which {problem}"


def _evidence_is_truthful(suggestion: Suggestion) -> Iterator[str]:
    checked, seen = suggestion.verification, suggestion.confidence
    if checked is not None and checked.status is VerificationStatus.REFUTED:
        yield "refuted, so it is not sent"
    if checked is not None and checked.status is VerificationStatus.VERIFIED and checked.method is None:
        yield "verified by no method"
    if seen is not None:
        if seen.basis is ConfidenceBasis.OBSERVED and (seen.trials is None or seen.successes is None):
            yield "observed confidence needs successes and trials"
        if seen.successes is not None and seen.successes > (seen.trials or 0):
            yield "more successes than trials"


def _patch_is_sound(suggestion: Suggestion) -> Iterator[str]:
    tested: list[tuple[str, ...]] = []
    for index, operation in enumerate(suggestion.patch):
        where = f"patch {index}"
        for name, pointer in (("path", operation.path), ("from", operation.from_)):
            problem = None if pointer is None else pointer_problem(pointer)
            if problem is not None:
                yield f"{where}: {name} {problem}"
        yield from (f"{where}: {problem}" for problem in _member_problems(operation))
        for element in _elements(operation):
            if not any(t[: len(element)] == element for t in tested):
                yield f"{where}: edit inside an array without a test at /{'/'.join(element)} before it"
        if operation.op is PatchVerb.TEST:
            tested.append(pointer_parts(operation.path) or ())


def _member_problems(operation: PatchOperation) -> Iterator[str]:
    verb = operation.op
    if (verb in (PatchVerb.ADD, PatchVerb.REPLACE, PatchVerb.TEST)) != operation.has_value:
        yield f"{verb} {'has a' if operation.has_value else 'needs a'} value"
    if (verb in (PatchVerb.MOVE, PatchVerb.COPY)) != (operation.from_ is not None):
        yield f"{verb} {'needs' if operation.from_ is None else 'has'} from"
    if operation.has_value and isinstance(operation.value, str) and verb is not PatchVerb.TEST:
        if operation.path == "/path" and not is_path(operation.value):
            yield "value is no path on the same host"
        if operation.path == "/method" and not is_method(operation.value):
            yield "value is no method"


def _elements(operation: PatchOperation) -> Iterator[tuple[str, ...]]:
    """Yield the innermost array element around each place that the operation changes."""
    path = pointer_parts(operation.path) or ()
    match operation.op:
        case PatchVerb.REPLACE | PatchVerb.REMOVE:
            places = [path]
        case PatchVerb.ADD | PatchVerb.COPY:
            places = [path[:-1]]  # an insertion needs no `test` of its own element
        case PatchVerb.MOVE:
            places = [path[:-1], pointer_parts(operation.from_ or "") or ()]
        case PatchVerb.TEST:
            places = []
    for parts in places:
        first = 1 if parts[:1] == ("body",) else 2  # a query is never an array itself
        index = next((i for i in range(len(parts) - 1, first - 1, -1) if parts[i].isdecimal()), None)
        if index is not None:
            yield parts[: index + 1]


def _steps_are_requests(suggestion: Suggestion) -> Iterator[str]:
    for index, step in enumerate(suggestion.steps):
        if not is_method(step.method):
            yield f"step {index}: no method"
        if not is_path(step.path):
            yield f"step {index}: no path on the same host"
        if (problem := header_problem(step.headers)) is not None:
            yield f"step {index}: {problem}"


def _placeholders_point(suggestion: Suggestion) -> Iterator[str]:
    for index, placeholder in enumerate(suggestion.placeholders):
        if (problem := pointer_problem(placeholder.pointer)) is not None:
            yield f"placeholder {index}: {problem}"


_FEEDBACK_DUTIES: Final[tuple[Callable[[Feedback], Iterator[str]], ...]] = (
    _says_something,
    _terminal_stands_alone,
    _groups_agree,
)
_DUTIES: Final[tuple[Callable[[Suggestion], Iterator[str]], ...]] = (
    _action_rests_on_a_base,
    _terminal_changes_nothing,
    _applicability_is_earned,
    _loss_is_said,
    _evidence_is_truthful,
    _patch_is_sound,
    _steps_are_requests,
    _placeholders_point,
)
