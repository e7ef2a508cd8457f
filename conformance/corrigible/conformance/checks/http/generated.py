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

from corrigible.conformance.checks.support.error_request import annotated_error, as_sent, description
from corrigible.conformance.model.outcome import CouldNotTell, NotApplicable
from corrigible.conformance.suite.check import Check
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpRequest, HttpResponse
from corrigible.conformance.validators.annotated_error import AnnotatedError
from corrigible.conformance.validators.finding import Finding
from corrigible.conformance.validators.judgement import judged
from corrigible.conformance.validators.openapi import Breach, Description
from corrigible.schema import MEMBER, ContractError, Next, Request, apply
from corrigible.schema.exchange import Json

from . import generated_request as generate
from .generated_request import Generated

PROFILES: Final = frozenset({"http-json", "problem+json"})
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
            time.sleep(self.next - now)
        self.next = max(now, self.next) + self.gap


def _settings(subject: Subject) -> Mapping[str, Json]:
    said = subject.config.get("generated")
    return said if isinstance(said, Mapping) else {}


def _unsafe(subject: Subject) -> bool:
    return bool(_settings(subject).get("unsafe"))


def _asked(subject: Subject) -> tuple[Answer, ...]:
    spec = subject.config.get("spec")
    if not spec:
        raise NotApplicable("no description to make requests from: --spec FILE, or `spec:` in the config")
    return subject.once("generated requests", lambda: _ask(subject, Path(str(spec))))


def _ask(subject: Subject, spec: Path) -> tuple[Answer, ...]:
    """Send everything once; nobody is asked faster than agreed."""
    said = _settings(subject)
    made = generate.plan(
        generate.load(spec), seed=subject.seed, most=int(said.get("requests", _MOST)), unsafe=_unsafe(subject)
    )
    if not made.requests:
        raise NotApplicable(f"nothing that {spec.name} describes can be asked wrongly: {'; '.join(made.left_out)}")
    pace = _Pace(1 / float(said.get("rate", _RATE)))
    answers: list[Answer] = []
    for one in made.requests:
        request = one.sent.adding(*_credentials(subject))
        got = _patiently(subject, request, pace)
        if got.status == 0 or got.error is not None:
            raise CouldNotTell(f"{one.operation} ({one.what}) got no whole answer: {got.error}")
        if got.status == 429:
            subject.remark(f"After {len(answers)} requests the API wanted no more for now (429): --rate asks slower.")
            break
        answers.append(Answer(one, request, got, annotated_error(subject, request, got, _secrets(request))))
    _count(subject, answers, made.left_out)
    return tuple(answers)


def _credentials(subject: Subject) -> list[tuple[str, str]]:
    """Return who asks: as the config says, and as somebody new to whoever counts how often one caller fails."""
    given = subject.config.get("headers")
    if not isinstance(given, Mapping):
        return [subject.caller(), ("Prefer", "recovery-feedback=reflective")]
    name = subject.caller()[1].rpartition(" ")[2]
    own = [(str(key), str(value)) for key, value in given.items()]
    return [*own, ("Prefer", f"recovery-feedback=reflective; caller={name}")]


def _secrets(request: HttpRequest) -> tuple[str, ...]:
    return tuple(re.findall(r"[\w-]{12,}", request.header("authorization") or ""))


def _patiently(subject: Subject, request: HttpRequest, pace: _Pace) -> HttpResponse:
    """Send, and wait once where the API says how long."""
    pace.wait()
    response = subject.wire.send(request)
    after = response.header("retry-after") or ""
    if response.status == 429 and after.isdecimal() and float(after) <= _TIMEOUT:
        time.sleep(float(after))
        response = subject.wire.send(request)
    return response


def _count(subject: Subject, answers: Sequence[Answer], left_out: Sequence[str]) -> None:
    """Say what a list of findings does not tell."""
    let_through = [one for one in answers if one.got.status < 400]
    failed = [one for one in answers if one.got.status >= 500]
    refused = len(answers) - len(let_through) - len(failed)
    subject.remark(
        f"{len(answers)} bad requests were made from the description (seed {subject.seed}): {refused} refused."
    )
    if let_through:
        writes = sum(one.sent.method != "GET" for one in let_through)
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


def _refused(subject: Subject) -> list[Answer]:
    return [one for one in _asked(subject) if 400 <= one.got.status < 500]


def _explained(subject: Subject) -> list[Answer]:
    return [one for one in _refused(subject) if one.annotated_error.feedback is not None]


def _answered(subject: Subject) -> Iterator[Finding]:
    """Judge those that were refused for what the description forbids: who is no caller, or asks for nothing, is not."""
    refused = [one for one in _refused(subject) if one.got.status in _VALIDATION]
    mute = sorted((one for one in refused if one.got.feedback is None), key=_size)
    if not refused:
        raise NotApplicable("no request that breaks the description was refused with 400 or 422")
    if len(mute) == len(refused):
        sentence = (
            f"None of {len(refused)} requests that were refused for breaking the description got recovery_feedback."
        )
    elif mute:
        operations = len({one.by.operation for one in mute})
        sentence = (
            f"{len(mute)} of {len(refused)} requests that were refused for breaking the description got no "
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


def _held(*requirements: str) -> Callable[[Subject], Iterator[Finding]]:
    wanted = frozenset(requirements)

    def run(subject: Subject) -> Iterator[Finding]:
        found = subject.once("what is wrong with what was generated", lambda: _all_wrong(subject))
        yield from _summed_up([one for one in found if one[1].requirement in wanted], len(_spoken(subject)))

    return run


def _spoken(subject: Subject) -> list[Answer]:
    answers = _explained(subject)
    if not answers:
        raise NotApplicable("no refusal carried recovery_feedback, so there is nothing to judge")
    return answers


def _all_wrong(subject: Subject) -> list[tuple[Answer, Finding]]:
    return [(one, finding) for one in _explained(subject) for finding in judged(one.annotated_error)]


def _summed_up(found: Sequence[tuple[Answer, Finding]], of: int) -> Iterator[Finding]:
    """Yield what is wrong once, with the smallest request that shows it and how many do."""
    alike: dict[tuple[str, str], list[tuple[Answer, Finding]]] = {}
    for answer, finding in found:
        kind = re.sub(r"\d+|/[\w/~.{}-]+|\"[^\"]*\"", "_", finding.said)
        alike.setdefault((finding.requirement, kind), []).append((answer, finding))
    for group in alike.values():
        answer, finding = min(group, key=lambda one: _size(one[0]))
        count = len({id(one) for one, _ in group})
        where = f"{answer.by.operation}, with this wrong: {answer.by.what}"
        sentence = f"{finding.said} ({where}; so in {count} of {of} refusals)"
        yield Finding(finding.requirement, sentence, finding.expected, finding.got, answer.sent)


def _mends(subject: Subject) -> Iterator[Finding]:
    answers = _spoken(subject)
    found: list[tuple[Answer, Finding]] = []
    pace = _Pace(1 / float(_settings(subject).get("rate", _RATE)))
    for one in answers:
        found += ((one, finding) for finding in _mended(subject, one, pace))
    yield from _summed_up(found, len(answers))


def _mended(subject: Subject, one: Answer, pace: _Pace) -> Iterator[Finding]:
    """Take the feedback as a reader does. What it leads to has lost what was wrong, by the description and the API."""
    document = one.annotated_error.request
    assert isinstance(one.annotated_error.feedback, Mapping)
    try:
        follows = apply(one.annotated_error.feedback, document, confirm=True)
    except ContractError as problem:
        yield Finding("SRF-COR-14", f"A reader cannot read the feedback: {problem}")
        return
    if not isinstance(follows, Next) or _same(follows.request, document):
        return  # it ends, it asks, or the same request is to be sent again: nothing that would mend anything
    spec = description(subject)
    if spec is not None and (left := _left(spec, document, follows.request)):
        sentence = "What the feedback makes of the request breaks the description where it did before"
        yield Finding("SRF-COR-14", f"{sentence}: {left[0].said}.", "that place mended", left[0].pointer)
        return
    reads = all(request.method in ("GET", "HEAD") for request in (*follows.steps, follows.request))
    if not (reads or _unsafe(subject)):
        return
    for request in (*follows.steps, follows.request):
        pace.wait()
        response = subject.wire.send(_again(request, one.sent))
    if response.status >= 400 and _complaint(response) == _complaint(one.got):
        sentence = "The request that the feedback leads to is refused with the very same words."
        yield Finding("SRF-COR-14", sentence, "another answer", _native(response))


def _same(one: Request, other: Request) -> bool:
    return (one.method, one.path, one.query, one.body) == (other.method, other.path, other.query, other.body) and (
        one.headers == other.headers
    )


def _left(spec: Description, before: Request, after: Request) -> list[Breach]:
    """Return what is still wrong with the very values that a reader put there or left there though they were edited."""
    was = {one.pointer for one in spec.breaches_of(before) or ()}
    now = [one for one in spec.breaches_of(after) or () if one.pointer in was]
    return [one for one in now if _at(before, one.pointer) != _at(after, one.pointer)]


def _at(request: Request, pointer: str) -> Json:
    found: Json = {"query": request.query, "headers": request.headers, "body": request.body}
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _again(request: Request, first: HttpRequest) -> HttpRequest:
    """Return a request document as it goes out, by the one who sent the first."""
    own = {"authorization", "prefer", "cookie"}
    kept = {name: value for name, value in request.headers.items() if name.lower() not in own}
    made = as_sent(Request(request.method, request.path, request.query, kept, request.body, request.form))
    return made.adding(*((name, value) for name, value in first.headers if name.lower() in own))


def _complaint(response: HttpResponse) -> Json:
    """Return what an answer says apart from feedback."""
    body = _native(response)
    return {n: v for n, v in body.items() if n != MEMBER} if isinstance(body, Mapping) else body


def _check(name: str, title: str, requirements: tuple[str, ...], run: Callable[[Subject], Iterator[Finding]]) -> Check:
    return Check(f"generated/{name}", title, requirements, run, PROFILES, frozenset({"producer"}))


def _numbered(group: str, *numbers: int) -> tuple[str, ...]:
    return tuple(f"SRF-{group}-{number:02}" for number in numbers)


_SHAPE, _EDITS = _numbered("COR", 2, 3, 4, 5, 6, 12, 13, 16), _numbered("OPS", 1, 2, 3, 5, 6, 7, 8, 9, 10, 11)
_WAITS, _WORDS = _numbered("RTY", 1, 2, 3, 4, 5), _numbered("SEC", 2, 3, 5, 10)
CHECKS: tuple[Check, ...] = (
    _check("answered", "What breaks the description is refused with feedback", ("SRF-COR-01",), _answered),
    _check("shape", "Feedback on generated requests has the contract's shape", _SHAPE, _held(*_SHAPE)),
    _check("edits", "Suggestions for generated requests apply, and say what they change", _EDITS, _held(*_EDITS)),
    _check("waits", "Waits after generated requests are the API's, and end", _WAITS, _held(*_WAITS)),
    _check("words", "Words about generated requests are clean, secrets stay", _WORDS, _held(*_WORDS)),
    _check("mends", "What the feedback makes of a generated request is better", ("SRF-COR-14",), _mends),
)
