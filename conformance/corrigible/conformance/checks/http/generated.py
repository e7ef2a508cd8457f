"""Checks of the role producer: an API gets invalid requests made from its own description, and explains its errors.

A bad request that is let through may have done something: such answers are counted and said. What the feedback makes
of a refused request is a good one, and is sent only where it reads, or with --unsafe.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from corrigible.conformance.checks.http import generated_request as generate
from corrigible.conformance.checks.http.generated_request import Generated
from corrigible.conformance.checks.support.exchange import (
    OWN,
    again,
    annotated_error,
    credentials,
    description,
    feedback_findings,
)
from corrigible.conformance.model.background import pause
from corrigible.conformance.model.outcome import CouldNotTell, Missing
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpRequest, HttpResponse
from corrigible.conformance.validators.finding import FEEDBACK, AnnotatedError, Finding
from corrigible.conformance.validators.openapi import Breach, Description
from corrigible.schema import MEMBER, ContractError, Next, Request, apply
from corrigible.schema.document import pointer_parts, value_at
from corrigible.schema.exchange import Json

_VALIDATION: Final = frozenset({400, 422})
_MOST, _RATE = 200, 50.0
_TIMEOUT: Final = 5.0
"""Seconds that a 429 may ask for; whoever wants more is left alone."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One bad request and what came back."""

    by: Generated
    sent: HttpRequest
    got: HttpResponse
    annotated_error: AnnotatedError


@dataclass(slots=True)
class _Pace:
    """Keeps requests apart."""

    gap: float
    next: float = 0.0

    def wait(self) -> None:
        now = time.monotonic()
        if now < self.next:
            pause(self.next - now)
        self.next = max(now, self.next) + self.gap


def _settings(subject: Subject) -> Mapping[str, Json]:
    settings = subject.config.get("generated")
    return settings if isinstance(settings, Mapping) else {}


def _unsafe(subject: Subject) -> bool:
    return bool(_settings(subject).get("unsafe"))


def _answers(subject: Subject) -> tuple[Answer, ...]:
    spec = subject.config.get("spec")
    if not spec:
        raise Missing("needs a description to make requests from: --spec FILE, or `spec:` in the config")
    return subject.cached("generated requests", lambda: _ask(subject, Path(str(spec))))


def _ask(subject: Subject, spec: Path) -> tuple[Answer, ...]:
    """Send everything once; nobody is asked faster than agreed."""
    settings = _settings(subject)
    plan = generate.plan(
        generate.load(spec), seed=subject.seed, most=int(settings.get("requests", _MOST)), unsafe=_unsafe(subject)
    )
    if not plan.requests:
        raise Missing(f"nothing that {spec.name} describes can be asked wrongly: {'; '.join(plan.left_out)}")
    pace = _Pace(1 / float(settings.get("rate", _RATE)))
    answers: list[Answer] = []
    for generated in plan.requests:
        request = generated.sent.adding(*credentials(subject, subject.caller()))
        response = _patiently(subject, request, pace)
        if response.status == 0 or response.error is not None:
            raise CouldNotTell(f"{generated.operation} ({generated.what}) got no whole answer: {response.error}")
        if response.status == 429:
            subject.remark(f"After {len(answers)} requests the API wanted no more for now (429): --rate asks slower.")
            break
        answers.append(Answer(generated, request, response, annotated_error(subject, request, response)))
    _count(subject, answers, plan.left_out)
    return tuple(answers)


def _patiently(subject: Subject, request: HttpRequest, pace: _Pace) -> HttpResponse:
    """Send, and wait once where the API says how long."""
    pace.wait()
    response = subject.wire.send(request)
    after = response.header("retry-after") or ""
    if response.status == 429 and after.isdecimal() and float(after) <= _TIMEOUT:
        pause(float(after))
        response = subject.wire.send(request)
    return response


def _count(subject: Subject, answers: Sequence[Answer], left_out: Sequence[str]) -> None:
    """Say what a list of findings does not tell."""
    let_through = [answer for answer in answers if answer.got.status < 400]
    failed = [answer for answer in answers if answer.got.status >= 500]
    refused_count = len(answers) - len(let_through) - len(failed)
    subject.remark(
        f"{len(answers)} bad requests were made from the description (seed {subject.seed}): {refused_count} refused."
    )
    if let_through:
        writes = sum(answer.sent.method != "GET" for answer in let_through)
        did = f", {writes} of them writes that may have done something" if writes else ""
        subject.remark(f"{len(let_through)} that the description forbids were let through{did}; {_first(let_through)}.")
    if failed:
        subject.remark(f"{len(failed)} were answered with a server error; {_first(failed)}.")
    if left_out:
        subject.remark(f"Nothing was sent to {len(left_out)} operations: {'; '.join(left_out)}.")


def _first(answers: Sequence[Answer]) -> str:
    least = min(answers, key=_size)
    return f"for one, {least.by.operation} ({least.by.what}) got {least.got.status}"


def _size(answer: Answer) -> tuple[int, str]:
    return len(answer.sent.target) + len(answer.sent.body), answer.by.what


def refused_requests(subject: Subject) -> list[Answer]:
    """Return the generated requests that were refused, with their answers."""
    return [answer for answer in _answers(subject) if 400 <= answer.got.status < 500]


def _explained(subject: Subject) -> list[Answer]:
    return [answer for answer in refused_requests(subject) if answer.annotated_error.feedback is not None]


def answered(subject: Subject) -> Iterator[Finding]:
    """Judge those that were refused for what the description forbids: who is no caller, or asks for nothing, is not."""
    rejected = [answer for answer in refused_requests(subject) if answer.got.status in _VALIDATION]
    mute = sorted((answer for answer in rejected if answer.got.feedback is None), key=_size)
    if not rejected:
        raise Missing("no request that breaks the description was refused with 400 or 422")
    if len(mute) == len(rejected):
        sentence = (
            f"None of {len(rejected)} requests that were refused for breaking the description got recovery_feedback."
        )
    elif mute:
        operations = len({answer.by.operation for answer in mute})
        sentence = (
            f"{len(mute)} of {len(rejected)} requests that were refused for breaking the description got no "
            f"recovery_feedback, in {operations} operation{'s' * (operations > 1)}; "
            f"for one {mute[0].by.operation}, with this wrong: {mute[0].by.what}."
        )
    else:
        return
    yield Finding("SRF-COR-01", sentence, {MEMBER: "an object"}, _native(mute[0].got), mute[0].sent)


def _native(response: HttpResponse) -> Json:
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return f"{response.status} with a body that is no JSON"
    return body


def judged(*requirements: str) -> Callable[[Subject], Iterator[Finding]]:
    required = frozenset(requirements)

    def run(subject: Subject) -> Iterator[Finding]:
        findings = subject.cached("what is wrong with what was generated", lambda: _all_wrong(subject))
        yield from _summed_up(
            [pair for pair in findings if pair[1].requirement in required], len(_with_feedback(subject))
        )

    return run


def _with_feedback(subject: Subject) -> list[Answer]:
    explained = _explained(subject)
    if not explained:
        raise Missing("no refusal carried recovery_feedback, so there is nothing to judge")
    return explained


def _all_wrong(subject: Subject) -> list[tuple[Answer, Finding]]:
    return [
        (answer, finding) for answer in _explained(subject) for finding in feedback_findings(answer.annotated_error)
    ]


def _summed_up(pairs: Sequence[tuple[Answer, Finding]], of: int) -> Iterator[Finding]:
    """Yield what is wrong once, with the smallest request that shows it and how many do."""
    alike: dict[tuple[str, str], list[tuple[Answer, Finding]]] = {}
    for answer, finding in pairs:
        kind = re.sub(r"\d+|/[\w/~.{}-]+|\"[^\"]*\"", "_", finding.message)
        alike.setdefault((finding.requirement, kind), []).append((answer, finding))
    for group in alike.values():
        answer, finding = min(group, key=lambda pair: _size(pair[0]))
        count = len({id(answer) for answer, _ in group})
        label = f"{answer.by.operation}, with this wrong: {answer.by.what}"
        sentence = f"{finding.message} ({label}; so in {count} of {of} refusals)"
        yield Finding(finding.requirement, sentence, finding.expected, finding.got, answer.sent, place=finding.place)


def mends(subject: Subject) -> Iterator[Finding]:
    answers = _with_feedback(subject)
    pairs: list[tuple[Answer, Finding]] = []
    pace = _Pace(1 / float(_settings(subject).get("rate", _RATE)))
    for answer in answers:
        pairs += ((answer, finding) for finding in _repair_findings(subject, answer, pace))
    yield from _summed_up(pairs, len(answers))


def _repair_findings(subject: Subject, answer: Answer, pace: _Pace) -> Iterator[Finding]:
    """Take the feedback as a reader does. What it leads to has lost what was wrong, by the description and the API."""
    document = answer.annotated_error.request
    assert isinstance(answer.annotated_error.feedback, Mapping)
    try:
        follows = apply(answer.annotated_error.feedback, document, confirm=True)
    except ContractError as problem:
        sentence = f"A reader cannot read the feedback: {problem}"
        yield Finding(
            "SRF-COR-14", sentence, "feedback of the contract", answer.annotated_error.feedback, place=FEEDBACK
        )
        return
    if not isinstance(follows, Next) or follows.request == document:
        return  # it ends, it asks, or the same request is to be sent again: nothing that would mend anything
    spec = description(subject)
    if spec is not None and (left := _remaining_breaches(spec, document, follows.request)):
        sentence = "What the feedback makes of the request breaks the description where it did before"
        yield Finding("SRF-COR-14", f"{sentence}: {left[0].message}.", "that place mended", left[0].pointer)
        return
    reads = all(request.method in ("GET", "HEAD") for request in (*follows.steps, follows.request))
    if not (reads or _unsafe(subject)):
        return
    for request in (*follows.steps, follows.request):
        pace.wait()
        own = [header for header in answer.sent.headers if header[0].lower() in OWN]
        response = subject.wire.send(again(request).adding(*own))
    if response.status >= 400 and _complaint(response) == _complaint(answer.got):
        sentence = "The request that the feedback leads to is refused with the very same words."
        yield Finding("SRF-COR-14", sentence, "another answer", _native(response))


def _remaining_breaches(spec: Description, before: Request, after: Request) -> list[Breach]:
    """Return what is still wrong with the very values that a reader put there or left there though they were edited."""
    was = {breach.pointer for breach in spec.breaches_of(before) or ()}
    now = [breach for breach in spec.breaches_of(after) or () if breach.pointer in was]
    return [breach for breach in now if _at(before, breach.pointer) != _at(after, breach.pointer)]


def _at(request: Request, pointer: str) -> Json:
    return value_at(request.document(), pointer_parts(pointer) or ())


def _complaint(response: HttpResponse) -> Json:
    """Return what an answer says apart from feedback."""
    body = _native(response)
    return {n: v for n, v in body.items() if n != MEMBER} if isinstance(body, Mapping) else body
