"""What a policy makes of feedback: the next request, or why none is sent.

Knows: the reader's outcomes, policies. Does not know: how something is asked or sent: it yields `Confirm` and `Ask`,
and is sent the answers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from corrigible.schema.document import CREDENTIALS, MISSING, pointer_parts, to_pointer, value_at
from corrigible.schema.edit import NotApplicable, after_suggestion
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import Feedback, PatchOperation, Placeholder, Suggestion
from corrigible.schema.printable import printable
from corrigible.schema.reader import Choice, NeedsInput, Next, Terminal, apply
from corrigible.schema.word import Applicability, FeedbackType, IdempotencyKey, PatchVerb, Relation

from . import explanation
from .called_operation import another_operation, another_step
from .guard import same_place
from .policy import OnRefusal, Policy, Proposal, Question
from .sent_request import KEY

MOST_STEPS: Final = 16
"""Requests that come first, at most."""
_LONGEST_PATH: Final = 8192
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Confirm:
    """Ask whether a correction may be sent; the answer is a boolean."""

    proposal: Proposal


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask for a value or a choice; the answer is None if there is none."""

    question: Question


class NotSent(NamedTuple):
    """Nothing is sent."""

    reason: str
    """Empty if the explanation says all."""


class Decided(NamedTuple):
    """What is sent, and what the caller gave for it."""

    next: Next
    given: Given


Given = Mapping[tuple[str, ...], Json]
"""Values that the caller gave when it was asked, by their places."""
Decision = Generator[Confirm | Ask, Any, Decided | NotSent]
Check = Callable[[Next, Given], str]


def decide(
    feedback: Feedback, request: Request, policy: Policy, check: Check, shown: Callable[[str], str] = str
) -> Decision:
    """Return what to send after a refusal of `request`.

    `check` says why something cannot be sent, whoever agrees; empty if it can. `shown` takes credentials out of what a
    person is shown.
    """
    if policy.on_refusal is OnRefusal.EXPLAIN:
        return NotSent("")
    answered: Mapping[int, Given] = {}
    if policy.ask is not None:
        feedback, answered = yield from _filled(feedback, request)
    outcome, by_itself = yield from _plan(feedback, request, policy)
    if isinstance(outcome, NotSent):
        return outcome
    if reason := _too_much(outcome):
        return NotSent(reason)
    if (other := _not_allowed(outcome, request, policy)) is not None:
        return NotSent(f"{other.method} {other.path} is none of the operations that may be called here")
    given = {place: value for index in outcome.applied for place, value in answered.get(index, {}).items()}
    if reason := check(outcome, given):
        return NotSent(reason)
    if not outcome.steps and _is_same(outcome.request, request) and not _may_repeat(feedback, request):
        return NotSent(_why_not_repeated(feedback, outcome, is_answered=bool(given)))
    another = _another_call(outcome, request, policy, given) or _another_key(feedback, outcome, request)
    for index in outcome.applied:
        suggestion = feedback.suggestions[index]
        may_go = index in by_itself or index in answered or _only_waits(suggestion, feedback)
        if may_go and not suggestion.needs_confirmation and not another:
            continue
        if policy.on_refusal is not OnRefusal.CONFIRM:
            return NotSent(another or _unasked(suggestion, policy))
        proposal = _proposal(suggestion, feedback, request, outcome, shown)
        if isinstance(proposal, NotSent):
            return proposal
        if not (yield Confirm(proposal)):
            return NotSent("the correction was not confirmed")
    if outcome.wait_seconds > policy.max_wait:
        return NotSent(f"a wait of {outcome.wait_seconds} s is longer than the {policy.max_wait} s that are allowed")
    return Decided(outcome, given)


def _too_much(outcome: Next) -> str:
    """Return what there is more of than a client looks at; empty if there is nothing."""
    if len(outcome.steps) > MOST_STEPS:
        return f"{len(outcome.steps)} requests have to come first, more than {MOST_STEPS}"
    longest = max(len(one.path) for one in (*outcome.steps, outcome.request))
    return f"the path would have {longest} characters, more than {_LONGEST_PATH}" if longest > _LONGEST_PATH else ""


def _unasked(suggestion: Suggestion, policy: Policy) -> str:
    """Return which condition of the policy is missing, and what would meet it."""
    if suggestion.needs_confirmation:
        reasons = "it changes what was asked for" if suggestion.changes_intent else ""
        reasons = reasons or ("it loses a value" if suggestion.loses else "it requires a confirmation")
        return f'the user has to agree first, since {reasons}: `on_refusal="confirm"` asks, no `cap` sends it unasked'
    ways = '`cap="MAYBE_INCORRECT"` or `on_refusal="confirm"` would send it'
    if suggestion.applicability is Applicability.MACHINE_APPLICABLE:
        return (
            "it is not proven that the corrected request will be accepted: the correction is called "
            f"MACHINE_APPLICABLE, and counts as MAYBE_INCORRECT without a dry run or a look-up; {ways}"
        )
    known = suggestion.applicability or Applicability.UNSPECIFIED
    start = "the correction is not certain enough to send it unasked"
    return f"{start}: cap is {policy.cap}, the correction is {known}; {ways}"


def _another_call(outcome: Next, request: Request, policy: Policy, given: Given) -> str:
    """Return why a person has to agree to what is another call than the one that was refused; empty if it is none.

    Unasked, the only write that is ever sent is the one that was called, by its method and path.
    """
    sent = outcome.request
    named = f"{sent.method} {sent.path} instead of {request.method} {request.path}"
    if sent.method != request.method:
        return f'it is another call, {named}: `on_refusal="confirm"` asks'
    if sent.method not in _SAFE and not same_place(sent.path, request.path):
        return f'it is another write, {named}: `on_refusal="confirm"` asks'
    for step in outcome.steps:
        if step.method not in _SAFE:
            return f'a write has to come first, {step.method} {step.path}: `on_refusal="confirm"` asks'
        if why := another_step(step):
            return f'a request that has to come first {why}: `on_refusal="confirm"` asks'
    if why := another_operation(request, sent, given):
        return f'it is another call, {why}: `on_refusal="confirm"` asks'
    for one in (sent, *outcome.steps):
        if policy.operations is None and _beginning(one.path) != _beginning(request.path):
            return (
                f"{one.method} {one.path} is at another beginning than {request.path}, and may be another API: "
                '`operations=[...]` allows it, `on_refusal="confirm"` asks'
            )
    return ""


def _another_key(feedback: Feedback, outcome: Next, request: Request) -> str:
    """Return why a person has to agree to an idempotency key; empty if it stays, or the client makes a new one."""
    old, new = request.headers.get(KEY), outcome.request.headers.get(KEY)
    is_made_here = (
        old is not None and feedback.retry is not None and feedback.retry.idempotency_key is IdempotencyKey.NEW
    )
    if old == new or is_made_here:
        return ""
    return 'it chooses the idempotency key, by which a write is told from another: `on_refusal="confirm"` asks'


def _beginning(path: str) -> str:
    """Return the first segment of several: behind one proxy each API has one of its own (`/stripe/v1/charges`)."""
    first, rest = path[1:].partition("/")[::2]
    return first if rest else ""


def _why_not_repeated(feedback: Feedback, outcome: Next, *, is_answered: bool) -> str:
    if is_answered:
        return "with the value that was given it is the request that was refused"
    if all(feedback.suggestions[index].waits for index in outcome.applied):
        return "it is not known whether the same request may be sent again"
    return "the correction has no edit of the request: somebody has to do what it says"


def _not_allowed(outcome: Next, request: Request, policy: Policy) -> Request | None:
    """Return what would be sent, and is neither the operation that was called nor one that the policy allows."""
    for one in (*outcome.steps, outcome.request):
        if (one.method, one.path) != (request.method, request.path) and not policy.allows(one):
            return one
    return None


_MOST_CHANGES: Final = 40
_LONGEST_PROPOSAL: Final = 8 << 10
"""What a person can be shown on a screen."""
_LONGEST_MESSAGE: Final = 1000


def _proposal(
    suggestion: Suggestion, feedback: Feedback, request: Request, outcome: Next, shown: Callable[[str], str]
) -> Proposal | NotSent:
    """Return what somebody is asked about: the correction, and all that would be sent; or why it cannot be shown."""
    sent = outcome.request
    changes = explanation.difference(request, sent, most=sys.maxsize, longest=sys.maxsize)
    if _another_key(feedback, outcome, request):
        old, new = request.headers.get(KEY), sent.headers.get(KEY)
        shown_new = "(removed)" if new is None else explanation.literal(new, sys.maxsize)
        changes.append(f"{explanation.KEY_POINTER}: {explanation.literal(old)} -> {shown_new}")
    values = [explanation.literal(value, sys.maxsize) for value in _shown_values(request, outcome)]
    if len(changes) > _MOST_CHANGES:
        return NotSent(
            f"the correction changes {len(changes)} places, more than the {_MOST_CHANGES} that a person can be shown"
        )
    if longest := max((len(text) for text in values if len(text) > explanation.LONGEST_VALUE), default=0):
        return NotSent(
            f"the correction has a value of {longest} characters, "
            f"more than the {explanation.LONGEST_VALUE} that a person can be shown"
        )
    message = feedback.message
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[:_LONGEST_MESSAGE]}... (cut, {len(message)} characters)"
    lines = [message, explanation.explain(suggestion, request, words=explanation.RequestWords(request, sys.maxsize))]
    if outcome.wait_seconds:
        lines.append(f"To be sent after {outcome.wait_seconds} s:")
    else:
        lines.append("To be sent:")
    call, before = explanation.call_line(sent), explanation.call_line(request)
    whole = [f"  first {_step_line(step)}" for step in outcome.steps]
    whole.append(f"  {call}" if call == before else f"  {call}, instead of {before}")
    whole += [f"    {line}" for line in changes if not line.startswith(("/method: ", "/path: "))]
    text = "\n".join([printable("\n".join(filter(None, lines))), *whole])
    if len(text) > _LONGEST_PROPOSAL:
        return NotSent(
            f"the correction takes {len(text)} characters to show, more than the {_LONGEST_PROPOSAL} of a screen"
        )
    if any(shown(line) != line for line in whole if line != f"  {before}"):  # the caller's own call is no change
        return NotSent("the correction holds a credential or a part of one, and what a person is not shown is not sent")
    text = "\n".join([shown(printable("\n".join(filter(None, lines)))), *map(shown, whole)])
    return Proposal(suggestion, sent, outcome.steps, text)


def _step_line(step: Request) -> str:
    headers = {name: value for name, value in step.headers.items() if name not in CREDENTIALS}
    line = explanation.request_line(step, sys.maxsize)
    return f"{line} headers {explanation.literal(headers, sys.maxsize)}" if headers else line


def _shown_values(request: Request, outcome: Next) -> Iterator[Json]:
    """Yield the values that a proposal shows, whole or not at all."""
    for step in outcome.steps:
        yield from (step.path, step.query, dict(step.headers), step.body)
    yield from (value for pair in explanation.differing(request, outcome.request) for value in pair)


def is_only_choice(feedback: Feedback) -> bool:
    """Whether a choice has one suggestion, so that there is nothing to choose, and somebody agrees or not."""
    only = feedback.suggestions[0] if len(feedback.suggestions) == 1 else None
    is_choice = feedback.type is FeedbackType.INTENT_DISAMBIGUATION
    return only is not None and is_choice and only.needs_confirmation and not only.placeholders


def of_all(feedback: Feedback, request: Request) -> Next | Terminal | NeedsInput:
    """Return what all corrections together come to, if everybody agrees to all that needs a confirmation."""
    return apply(feedback, request, confirm=True, pick=0 if is_only_choice(feedback) else None)


def _plan(
    feedback: Feedback, request: Request, policy: Policy
) -> Generator[Ask, Any, tuple[Next | NotSent, tuple[int, ...]]]:
    """Return what all corrections together come to, and which of them are certain or were chosen."""
    # `confirm=True` sends nothing: it shows what would be sent. `decide` asks about each part.
    outcome = of_all(feedback, request)
    if is_only_choice(feedback) and isinstance(outcome, Next):
        return outcome, ()
    choices = _choices(feedback, outcome, policy, request)
    if choices and policy.ask is not None:
        picked = yield Ask(Question(feedback.message, choices=choices))
        if isinstance(picked, bool) or picked not in {choice.index for choice in choices}:
            return NotSent("no choice was made"), ()
        chosen = apply(feedback, request, pick=picked, confirm=True)
        return (chosen, chosen.applied) if isinstance(chosen, Next) else (NotSent("the choice does not fit"), ())
    if isinstance(outcome, Terminal):
        return NotSent(""), ()
    if isinstance(outcome, NeedsInput):
        return NotSent(_what_is_missing(outcome, feedback)), ()
    if any(map(_is_pending, feedback.suggestions)) and not _leads(feedback, outcome):
        return NotSent(_VALUE_MISSING), ()
    certain = apply(feedback, request, cap=Applicability(policy.cap), confirm=True)
    if not isinstance(certain, Next):
        return outcome, ()
    groups = [[feedback.suggestions[index].group for index in one.applied] for one in (certain, outcome)]
    return certain if groups[0] == groups[1] else outcome, certain.applied  # of alternatives, the one that is certain


def _what_is_missing(outcome: NeedsInput, feedback: Feedback) -> str:
    if feedback.type is FeedbackType.CONFIDENCE_SIGNAL:
        return "nothing has to be corrected"
    if feedback.type is FeedbackType.INTENT_DISAMBIGUATION:
        return "somebody has to choose first"
    return outcome.reason if outcome.choices or not outcome.placeholders else _VALUE_MISSING


_VALUE_MISSING: Final = "a value is missing, which has to be given first"


def _choices(
    feedback: Feedback, outcome: Next | Terminal | NeedsInput, policy: Policy, request: Request
) -> tuple[Choice, ...]:
    """Return the corrections of which the caller means one: closed choices, alternatives of which none is certain."""
    if isinstance(outcome, NeedsInput):
        return outcome.choices if feedback.type is FeedbackType.INTENT_DISAMBIGUATION else ()
    if isinstance(outcome, Terminal) or len(outcome.applied) != 1:
        return ()
    group = feedback.suggestions[outcome.applied[0]].group
    if group is None or group.relation is not Relation.ONE_OF:
        return ()
    if isinstance(apply(feedback, request, cap=Applicability(policy.cap)), Next):
        return ()
    usable = ((i, one) for i, one in enumerate(feedback.suggestions) if one.group == group and not one.placeholders)
    choices = tuple(
        Choice(i, one) for i, one in usable if isinstance(apply(feedback, request, pick=i, confirm=True), Next)
    )
    return choices if len(choices) > 1 else ()


def _only_waits(suggestion: Suggestion, feedback: Feedback) -> bool:
    """Whether it is the same request later, and that is known to be safe."""
    may_repeat = feedback.retry is not None and feedback.retry.same_request is True
    return suggestion.waits and may_repeat and not suggestion.patch and not suggestion.steps


def _may_repeat(feedback: Feedback, request: Request) -> bool:
    """Whether the same content may be sent again: it is safe, the feedback says so, or the key changes."""
    retry = feedback.retry
    if request.method.upper() in _SAFE or (retry is not None and retry.same_request is True):
        return True
    return retry is not None and retry.idempotency_key is IdempotencyKey.NEW and KEY in request.headers


def _is_same(one: Request, other: Request) -> bool:
    return repr(one.document()) == repr(other.document())


def _is_pending(suggestion: Suggestion) -> bool:
    """Whether it waits for a value, and is no alternative to another suggestion."""
    group = suggestion.group
    return bool(suggestion.placeholders) and (group is None or group.relation is not Relation.ONE_OF)


def _leads(feedback: Feedback, outcome: Next) -> bool:
    """Whether the corrections that are applied are a group: it fixes the root cause, and is applied alone."""
    return all(feedback.suggestions[index].group is not None for index in outcome.applied)


def _filled(feedback: Feedback, request: Request) -> Generator[Ask, Json, tuple[Feedback, Mapping[int, Given]]]:
    """Return the feedback with the values that were given for its placeholders, and those of each suggestion."""
    suggestions = list(feedback.suggestions)
    answered: dict[int, Given] = {}
    if feedback.type is not FeedbackType.RECOVERY_GUIDANCE:
        return feedback, {}
    for index, suggestion in enumerate(feedback.suggestions):
        if not suggestion.placeholders or suggestion.terminal or not (_is_pending(suggestion) or index == 0):
            continue
        values: list[tuple[Placeholder, Json]] = []
        for placeholder in suggestion.placeholders:
            value = yield Ask(Question(suggestion.message or feedback.message, placeholder=placeholder))
            if value is None:
                return feedback, {}
            values.append((placeholder, value))
        try:
            suggestions[index] = _with_values(suggestion, values, request)
        except NotApplicable:
            return feedback, {}
        answered[index] = {pointer_parts(placeholder.pointer) or (): value for placeholder, value in values}
    return feedback.model_copy(update={"suggestions": tuple(suggestions)}), answered


def _with_values(suggestion: Suggestion, values: list[tuple[Placeholder, Json]], request: Request) -> Suggestion:
    """Return a suggestion whose patch puts values where it asked for them. Raises `NotApplicable`."""
    complete = suggestion.model_copy(update={"placeholders": (), "applicability": Applicability.MAYBE_INCORRECT})
    current = after_suggestion(complete, request)
    patch = list(suggestion.patch)
    if not patch:  # what merging the parameters comes to
        before, after = request.document(), current.document()
        patch = [_operation(PatchVerb.ADD, f"/{name}", after[name]) for name in after if after[name] != before[name]]
    for placeholder, value in values:
        put = list(_putting(placeholder.pointer, value, current))
        patch += put
        current = after_suggestion(complete.model_copy(update={"patch": tuple(put), "parameters": {}}), current)
    return complete.model_copy(update={"patch": tuple(patch)})


def _putting(pointer: str, value: Json, request: Request) -> Iterator[PatchOperation]:
    """Yield the operations that put a value at a place, and what holds it where that is not there."""
    parts = pointer_parts(pointer)
    if not parts:
        raise NotApplicable(f"{pointer} is no place for a value")
    here: Json = request.document()
    written = ""
    for part in parts[:-1]:
        written += to_pointer((part,))
        here = value_at(here, (part,))
        if here is MISSING or here is None:
            yield _operation(PatchVerb.ADD, written, {})
            here = {}
    there = value_at(here, parts[-1:])
    verb = PatchVerb.REPLACE if there not in (MISSING, None) and isinstance(here, list) else PatchVerb.ADD
    yield _operation(verb, pointer, value)


def _operation(verb: PatchVerb, path: str, value: Json) -> PatchOperation:
    return PatchOperation.model_validate({"op": verb, "path": path, "value": value})
