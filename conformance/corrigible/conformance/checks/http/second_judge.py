"""A second judge of what a description says: openapi-core looks at the same requests, repaired requests and answers.

The suite's own validator of descriptions could have the fault that it looks for. Where the two differ, a remark says
so, with an example: which of them is wrong cannot be told from here. What both find in a repaired request is a finding.

Knows: refused requests, two judges. Does not know: how requests are made, how openapi-core judges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from corrigible.conformance.checks.http.generated import refused_requests
from corrigible.conformance.checks.support.exchange import description, refused
from corrigible.conformance.model.outcome import Missing, NotApplicable
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpRequest, HttpResponse
from corrigible.conformance.validators.finding import Finding
from corrigible.conformance.validators.openapi import Breach, Description
from corrigible.schema import ContractError, Next, Request, apply
from corrigible.schema.exchange import Json

if TYPE_CHECKING:
    from corrigible.conformance.validators.openapi_core import SecondJudge


class _Exchange(NamedTuple):
    """A refused request and its answer."""

    label: str
    request: Request
    feedback: Json
    sent: HttpRequest
    got: HttpResponse


@dataclass(slots=True)
class Comparison:
    """How often the two judges agree, and an example of each difference."""

    agreed: int = 0
    unjudged: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, label: str, own: Sequence[Breach] | None, second: list[str] | None) -> None:
        if own is None or second is None:
            self.unjudged += 1
            return
        # OpenAPI does not forbid parameters that a description does not list; the suite's own validator does.
        wrong = [
            one for one in own if not (one.pointer.startswith("/query/") and one.keyword == "additionalProperties")
        ]
        if own and not wrong and not second:
            self.unjudged += 1
        elif bool(wrong) is bool(second):
            self.agreed += 1
        elif wrong:
            self.differences.append(f"{label}: {wrong[0].message} (openapi-core: nothing is wrong)")
        else:
            self.differences.append(f"{label}: nothing is wrong (openapi-core: {(second or [''])[0]})")

    @property
    def total(self) -> int:
        """How many requests both judges could look at."""
        return self.agreed + len(self.differences)

    def told(self, what: str) -> str:
        if not self.total:
            return ""
        text = f"openapi-core, a second judge, agrees about {self.agreed} of {self.total} {what}"
        if self.unjudged:
            text += f" and cannot tell of {self.unjudged}"
        return f"{text}; for one, {self.differences[0]}." if self.differences else f"{text}."


def _judge(subject: Subject, own: Description) -> SecondJudge:
    from corrigible.conformance.validators.openapi_core import SecondJudge  # slow to import: only where it is asked for

    try:
        return subject.cached("openapi-core", lambda: SecondJudge(own.document))
    except ValueError as problem:
        raise NotApplicable(f"openapi-core does not take the description: {problem}") from None


def _run(exchanges: Callable[[Subject], Iterable[_Exchange]]) -> Callable[[Subject], Iterator[Finding]]:
    def run(subject: Subject) -> Iterator[Finding]:
        own = description(subject)
        if own is None:
            raise Missing("needs a description to judge by: --spec FILE, or `spec:` in the config")
        second = _judge(subject, own)
        sent, repaired, odd = Comparison(), Comparison(), list[str]()
        answers = 0
        for one in exchanges(subject):
            before = second.request_errors(one.request)
            sent.add(one.label, own.breaches_of(one.request), before)
            errors = second.response_errors(one.request, one.got.status, one.got.headers, one.got.body)
            if errors is not None:
                answers += 1
                odd += [f"{one.label}: {errors[0]}"] if errors else []
            after = _repaired(one)
            if after is None:
                continue
            found, breaches = second.request_errors(after), own.breaches_of(after)
            repaired.add(one.label, breaches, found)
            yield from _new_faults(one, own, breaches, before, found)
        for text in (sent.told("refused requests"), repaired.told("repaired requests")):
            if text:
                subject.remark(text)
        if odd:
            subject.remark(f"By openapi-core, {len(odd)} of {answers} answers are not as described; for one, {odd[0]}.")
        if not repaired.total:
            raise NotApplicable("no refusal led to a repaired request that both judges could look at")

    return run


def _repaired(one: _Exchange) -> Request | None:
    """Return the request that a reader sends next, None where none follows."""
    if not isinstance(one.feedback, Mapping):
        return None
    try:
        follows = apply(one.feedback, one.request, confirm=True)
    except ContractError:
        return None  # other checks say so
    return follows.request if isinstance(follows, Next) and follows.request != one.request else None


def _new_faults(
    one: _Exchange,
    own: Description,
    breaches: list[Breach] | None,
    before: list[str] | None,
    after: list[str] | None,
) -> Iterator[Finding]:
    """Yield what a repair breaks that was right before it, where both judges find something new."""
    known = {(breach.pointer, breach.keyword) for breach in own.breaches_of(one.request) or ()}
    new = [breach for breach in breaches or () if (breach.pointer, breach.keyword) not in known]
    if new and set(after or ()) - set(before or ()):
        sentence = "What the feedback makes of the request breaks the description where it did not before"
        message = f"{sentence}: {new[0].message} ({one.label})."
        yield Finding("SRF-COR-14", message, "no new fault", new[0].pointer, one.sent)


def _of_producer(subject: Subject) -> Iterator[_Exchange]:
    for one in refused_requests(subject):
        label = f"{one.by.operation} ({one.by.what})"
        yield _Exchange(label, one.annotated_error.request, one.annotated_error.feedback, one.sent, one.got)


def _of_proxy(subject: Subject) -> Iterator[_Exchange]:
    for one in refused(subject):
        yield _Exchange(one.by.name, one.annotated_error.request, one.feedback, one.sent, one.got)


of_producer: Final = _run(_of_producer)
of_proxy: Final = _run(_of_proxy)
