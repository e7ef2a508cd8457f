"""From a refused request to the answer that the caller gets.

Knows: answers, policies, the order of waits, steps and requests, bounds. Does not know: sockets, clocks, HTTP
libraries: it yields what is to be done, and is sent the result.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

from corrigible.schema.exchange import Request
from corrigible.schema.feedback import Feedback
from corrigible.schema.printable import printable
from corrigible.schema.reader import Next
from corrigible.schema.word import IdempotencyKey

from .answer import Answer, feedback_in, feedback_links, linked_feedback, prefix_of
from .credentials import without
from .decision import Ask, Confirm, Given, NotSent, decide
from .explanation import difference, explain
from .native_message import cut, native_message, quoted
from .policy import Policy
from .sent_request import KEY, NotSendable, SentRequest

log: Final = logging.getLogger("corrigible.client")
_MOST_LINKS: Final = 2
_LONGEST_PROMPT: Final = 2_000
"""Characters of a message that a person or a model is asked with."""


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request; the result is its `Answer`."""

    request: SentRequest
    optional: bool = False
    """The result is None if it cannot be sent: nothing depends on it."""
    corrected: bool = False
    """It is the caller's request: the caller gets its answer."""


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float


@dataclass(frozen=True, slots=True)
class SentAgain:
    """A correction that was sent, as request documents."""

    before: Request
    after: Request
    steps: tuple[Request, ...] = ()
    wait_seconds: float = 0
    text: str = ""
    """What was done, as one line."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the caller gets."""

    answer: Answer
    explanation: str = ""
    """The correction as text, what was sent of it, and why no more; empty if the answer has no feedback."""
    feedback: Feedback | None = None
    """Of the last refusal."""
    sent_again: tuple[SentAgain, ...] = ()
    request: Request | None = None
    """The document of the request that was refused last, if it can be read."""
    not_sent: str = ""
    """Why nothing more was sent; empty if the correction itself says it."""
    native: str = ""
    """What the API itself says, as one line; only where there is an explanation."""
    secrets: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """The caller's credentials, which no text shows."""

    @property
    def corrections(self) -> tuple[str, ...]:
        """What was changed before the last request was sent, as text."""
        return tuple(one.text for one in self.sent_again)

    def error_text(self, start: str) -> str:
        """Return the text of a library's error: how it starts, what the API says itself, and the explanation."""
        native = quoted(self.native) if self.native else ""
        return "\n".join(filter(None, (without(self.secrets, start), native, self.explanation)))


Effect = Send | Wait | Confirm | Ask
Correction = Generator[Effect, Any, Outcome]


def correct(sent: SentRequest, answer: Answer, policy: Policy) -> Correction:
    """Return the answer to the last request that was sent, starting with a first one that may be a refusal."""
    current, done = sent if not policy.credentials else _knowing(sent, policy), list[SentAgain]()
    already_sent = {sent.content()}
    secrets = current.secrets()
    shown = partial(without, secrets)
    while True:
        feedback = yield from _feedback(current, answer)
        if feedback is None:
            return _refused(answer, None, None, done, secrets) if answer.refuses and done else _accepted(answer, done)
        try:
            document = current.document()
        except NotSendable as problem:
            return _refused(answer, feedback, None, done, secrets, str(problem))
        stop = partial(_refused, answer, feedback, document, done, secrets)
        check = _Check(current, feedback, prefix_of(answer))
        decided = yield from decide(_with_shown_texts(feedback, shown), document, policy, check, shown)
        if isinstance(decided, NotSent):
            return stop(decided.reason)
        most = feedback.retry.max_attempts if feedback.retry is not None else None
        if len(done) >= policy.max_corrections or (most is not None and len(done) + 1 >= most):
            return stop(f"it has been sent again {len(done)} times")
        following, request, steps = decided.next, check.request, check.steps
        # `decide` knows whether the same request may be sent again at once; an earlier one never is.
        # What differs in the document may be the same in writing: a path with its escapes.
        is_repeated = bool(following.steps) or following.request.document() == document.document()
        is_repeated |= request.header(KEY) != current.header(KEY)
        if request.content() in already_sent and not (is_repeated and request.content() == current.content()):
            return stop("the same request was refused before")
        if following.wait_seconds:
            yield Wait(following.wait_seconds)
        for step in steps:
            step_answer: Answer | None = yield Send(step, optional=True)
            if step_answer is None or step_answer.refuses:
                ended = "not answered" if step_answer is None else f"answered {step_answer.status}"
                return stop(f"{step.method} {urlsplit(step.url).path}, which has to come first, was {ended}")
        after = request.document()
        changes = difference(document, after)
        places = shown(", ".join(line.partition(": ")[0] for line in changes))
        log.info("sent again, changed at %s", printable(places) or "no place")
        text = shown(_correction(following, steps, changes))
        next_answer: Answer | None = yield Send(request, corrected=True)
        if next_answer is None:
            return stop("the HTTP library does not send the corrected request")
        done.append(SentAgain(document, after, following.steps, following.wait_seconds, text))
        already_sent.add(request.content())
        current, answer = request, next_answer


def explained(sent: SentRequest, answer: Answer) -> Outcome:
    """Return the explanation of an answer by the feedback in its body. Nothing is sent for it."""
    feedback = feedback_in(answer)
    if feedback is None:
        return Outcome(answer)
    try:
        document = sent.document()
    except NotSendable:  # too many fields: the old values are not shown
        document = None
    return _refused(answer, feedback, document, [], sent.secrets())


def _accepted(answer: Answer, done: list[SentAgain]) -> Outcome:
    return Outcome(answer, sent_again=tuple(done))


def _refused(
    answer: Answer,
    feedback: Feedback | None,
    document: Request | None,
    done: list[SentAgain],
    secrets: frozenset[str],
    reason: str = "",
) -> Outcome:
    """Return what the caller gets of a refusal: what the API and the feedback say, what was done, and why no more."""
    native = without(secrets, native_message(answer.body))
    reason = without(secrets, cut(printable(reason), _LONGEST_PROMPT))
    lines = [without(secrets, explain(feedback, document))] if feedback is not None else []
    lines += [f"Sent again before this answer: {one.text}" for one in done]
    lines += [f"Not sent: {reason}."] if reason else []
    return Outcome(
        answer,
        "\n".join(lines),
        feedback,
        tuple(done),
        document,
        reason,
        "" if feedback is not None and native == feedback.message else native,
        secrets,
    )


def _with_shown_texts(feedback: Feedback, shown: Callable[[str], str]) -> Feedback:
    """Return the feedback with messages as a prompt may show them: no credentials, nothing invisible, not endless."""

    def text(given: str) -> str:
        return shown(cut(given, _LONGEST_PROMPT))

    suggestions = (
        one if one.message is None else one.model_copy(update={"message": text(one.message)})
        for one in feedback.suggestions
    )
    return feedback.model_copy(update={"message": text(feedback.message), "suggestions": tuple(suggestions)})


def _knowing(sent: SentRequest, policy: Policy) -> SentRequest:
    """Return the request that knows which of its headers and parameters are credentials."""
    return replace(sent, credentials=sent.credentials | frozenset(policy.credentials))


def _feedback(sent: SentRequest, answer: Answer) -> Generator[Send, Answer | None, Feedback | None]:
    """Return the feedback in an answer, or in the document that its `Link` leads to."""
    if (feedback := feedback_in(answer)) is not None:
        return feedback
    targets = [found for link, token in feedback_links(answer) if (found := sent.document_of(link, token)) is not None]
    for target in targets[:_MOST_LINKS]:
        document = yield Send(target, optional=True)
        if document is not None and (feedback := linked_feedback(document)) is not None:
            return feedback
    return None


class _Check:
    """Why a correction cannot be sent; empty if it can. What it comes to is kept: an edit costs what a body is long."""

    def __init__(self, current: SentRequest, feedback: Feedback, prefix: str) -> None:
        self._current, self._feedback, self._prefix = current, feedback, prefix
        self.request, self.steps = current, list[SentRequest]()
        """What is sent for the correction that was looked at last, and what comes first."""

    def __call__(self, following: Next, given: Given) -> str:
        current, prefix = self._current, self._prefix
        if f"{current.document().path}/".startswith(f"{prefix}/"):
            for one in (*following.steps, following.request):
                if not f"{one.path}/".startswith(f"{prefix}/"):
                    return f"{one.method} {one.path} is not below {prefix}, where the API is that refused the request"
        try:
            self.request = _next_request(current, following, self._feedback, given)
            self.steps = [current.step(step) for step in following.steps]
        except NotSendable as problem:
            return str(problem)
        return ""


def _next_request(current: SentRequest, following: Next, feedback: Feedback, given: Given) -> SentRequest:
    """Return the corrected request, under a new idempotency key where the old one stands for another content.

    The feedback says `new` or `reuse`. If it says nothing, a changed request gets a new key: servers refuse a key
    that comes with another content.
    """
    request = current.edited(following.request, given)
    rule = feedback.retry.idempotency_key if feedback.retry is not None else None
    old = current.header(KEY)
    if rule is IdempotencyKey.NEW and old and request.header(KEY) != old:  # a new one is made here
        others = tuple(one for one in request.headers if one[0].lower() != KEY)
        request = replace(request, headers=(*others, ("Idempotency-Key", old)))
    changes = request.content() != current.content()
    if rule is IdempotencyKey.NEW or (rule is None and changes):
        return request.with_new_key(current)
    return request


def _correction(following: Next, steps: list[SentRequest], changes: list[str]) -> str:
    """Return what was done before the request was sent again, as one line."""
    done = [f"waited {following.wait_seconds} s"] if following.wait_seconds else []
    done += [f"sent {step.method} {urlsplit(step.url).path}" for step in steps]
    return printable("; ".join([*done, *changes]) or "the same request")
