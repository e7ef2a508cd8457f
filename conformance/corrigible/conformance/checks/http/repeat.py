"""Checks: an agent that repeats an error gets other suggestions, and finally ESCALATE (SRF-SEC-08)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from corrigible.conformance.checks.support.error_request import (
    PROFILES,
    answering_for_upstream,
    as_sent,
    is_trial,
    native,
    no_feedback,
    send_for_answer,
)
from corrigible.conformance.checks.support.headers import ASK
from corrigible.conformance.reference.upstream import Received, Script
from corrigible.conformance.suite.check import Check
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import request_document
from corrigible.conformance.validators.annotated_error import FEEDBACK, base_action
from corrigible.conformance.validators.finding import ABSENT, Finding
from corrigible.schema import ContractError, Next, Request, apply
from corrigible.schema.exchange import Json

_MOST: Final = 4
_WRONG: Final = {"customer": "cus_ada", "currency": "eurr", "channel": "web", "lines": [{"sku": "tea", "quantity": 1}]}
_ABROAD: Final = {**_WRONG, "currency": "eur", "shipping": {"method": "air", "country": "DE"}}
Feedback = Mapping[str, Json]


def _refusing(profile: str, status: int, code: str, place: str) -> Any:
    """Refuse whatever is sent with the same words; let look-ups pass, and try nothing."""

    def says(received: Received) -> Script | None:
        if received.sent.method == "GET":
            return None
        if is_trial(received.sent):
            return native(profile, 501, "no_trials", "Nothing is tried here.")
        return native(profile, status, code, "Not accepted.", place)

    return says


def _feedbacks(
    subject: Subject, requests: Sequence[Request], callers: Sequence[tuple[str, str]]
) -> list[Feedback | None]:
    """Send one request after the other, and return what was said each time."""
    base = "/problem" if subject.profile == "problem+json" else ""
    out: list[Feedback | None] = []
    for request, caller in zip(requests, callers, strict=True):
        sent = as_sent(Request(request.method, base + request.path, request.query, body=request.body))
        out.append(send_for_answer(subject, sent.adding(ASK, caller)).feedback)
    return out


def _escalates(feedback: Feedback | None) -> bool:
    suggestions = feedback.get("suggestions") if feedback is not None else None
    listed = suggestions if isinstance(suggestions, list) else []
    return any(isinstance(suggestion, Mapping) and base_action(suggestion) == "ESCALATE" for suggestion in listed)


def _loop_findings(feedbacks: Sequence[Feedback | None], who: str) -> Iterator[Finding]:
    """Hold what was said to one caller against what ends a loop."""
    if all(feedback is None for feedback in feedbacks):
        yield no_feedback(len(feedbacks), "SRF-SEC-08")
        return
    if not any(_escalates(feedback) for feedback in feedbacks[:_MOST]):
        text = f"{who} hears the same again and again: nobody is called in by the fourth time."
        yield Finding("SRF-SEC-08", text, "ESCALATE", feedbacks[min(len(feedbacks), _MOST) - 1])
        return
    for feedback in feedbacks:
        loop = feedback.get("loop") if feedback is not None and _escalates(feedback) else None
        if feedback is not None and _escalates(feedback):
            action = str(loop.get("action", "")).lower() if isinstance(loop, Mapping) else None
            if action != "escalate":
                yield Finding(
                    "SRF-SEC-08",
                    "A person is called in, and the member loop does not say so.",
                    "escalate",
                    loop,
                )
            return


def _stubborn(subject: Subject) -> Iterator[Finding]:
    caller = subject.caller()
    with answering_for_upstream(subject, _refusing(subject.profile, 400, "enum", "currency")):
        feedbacks = _feedbacks(subject, [Request("POST", "/v1/orders", body=_WRONG)] * 5, [caller] * 5)
    yield from _loop_findings(feedbacks, "An agent that sends the same request again and again")


def _obedient(subject: Subject) -> Iterator[Finding]:
    """Apply what is said, and get the same error for it."""
    base = "/problem" if subject.profile == "problem+json" else ""
    caller, feedbacks = subject.caller(), []
    request = as_sent(Request("POST", f"{base}/v1/orders", body=_WRONG))
    with answering_for_upstream(subject, _refusing(subject.profile, 400, "enum", "currency")):
        for _ in range(5):
            feedback = send_for_answer(subject, request.adding(ASK, caller)).feedback
            feedbacks.append(feedback)
            try:
                follows = apply(feedback or {"suggestions": []}, request_document(request), confirm=True)
            except ContractError:
                continue
            if isinstance(follows, Next):
                request = as_sent(follows.request)
    yield from _loop_findings(feedbacks, "An agent that does what it is told, and is refused for the same reason,")


def _oscillating(subject: Subject) -> Iterator[Finding]:
    caller = subject.caller()
    bodies = [{**_WRONG, "currency": "eurr" if number % 2 else "gpb"} for number in range(5)]
    with answering_for_upstream(subject, _refusing(subject.profile, 400, "enum", "currency")):
        feedbacks = _feedbacks(subject, [Request("POST", "/v1/orders", body=body) for body in bodies], [caller] * 5)
    yield from _loop_findings(feedbacks, "An agent that goes back and forth between two wrong values")


def _next_alternative(subject: Subject) -> Iterator[Finding]:
    """Where there are alternatives, another one leads the second time."""
    caller = subject.caller()
    follows: list[Json] = []
    request = Request("POST", "/v1/orders", body=_ABROAD)
    with answering_for_upstream(
        subject, _refusing(subject.profile, 422, "shipping_method_unavailable", "shipping.method")
    ):
        for number in range(2):
            feedback = _feedbacks(subject, [request], [caller])[0]
            if feedback is None:
                if number == 0:
                    yield no_feedback(1, "SRF-SEC-08")
                    return
                sentence = "The second time nothing is said of the alternative that is left."
                yield Finding("SRF-SEC-08", sentence, "feedback", ABSENT, as_sent(request), place=FEEDBACK)
                return
            document = request_document(as_sent(request))
            outcome = apply(feedback, document, confirm=True)
            follows.append(outcome.request.body if isinstance(outcome, Next) else None)
            if isinstance(outcome, Next):
                request = Request("POST", "/v1/orders", body=outcome.request.body)
    if follows[0] is None or follows[0] == follows[1]:
        sentence = "An alternative that was tried and refused leads the second time too, though there is another."
        yield Finding("SRF-SEC-08", sentence, "another alternative", follows)


def _strangers(subject: Subject) -> Iterator[Finding]:
    """Who is somebody else, or asks for something else, is in no loop."""
    wrong = Request("POST", "/v1/orders", body=_WRONG)
    others = [subject.caller() for _ in range(6)]
    caller = subject.caller()
    things = [Request("POST", "/v1/refunds", body={"order": f"ord_{n}", "amount": 10**6}) for n in (1, 3, 4, 5, 6, 7)]
    refusing = _refusing(subject.profile, 400, "enum", "currency")
    with answering_for_upstream(subject, refusing):
        strangers = _feedbacks(subject, [wrong] * 6, others)
        unknown = _feedbacks(subject, [wrong] * 6, [("User-Agent", f"agent-{number}") for number in range(6)])
    with answering_for_upstream(subject, _refusing(subject.profile, 400, "type", "reason")):
        resources = _feedbacks(subject, things, [caller] * 6)
    for feedbacks, sentence in (
        (strangers, "Six callers, one after the other,"),
        (unknown, "Six callers without credentials, at one address,"),
        (resources, "A caller with six orders"),
    ):
        if any(_escalates(feedback) for feedback in feedbacks):
            text = f"{sentence} met the same error and were taken for a loop."
            yield Finding("SRF-SEC-08", text, "no ESCALATE", feedbacks[-1])


def _insisting(subject: Subject) -> Iterator[Finding]:
    """What cannot be had stays so, and who asks all the same hears that it is a loop."""
    caller = subject.caller()
    with answering_for_upstream(subject, _refusing(subject.profile, 409, "order_shipped", "")):
        feedbacks = _feedbacks(subject, [Request("POST", "/v1/orders/ord_1/cancel")] * _MOST, [caller] * _MOST)
    first, last = feedbacks[0], feedbacks[-1]
    if first is None or last is None:
        yield no_feedback(len(feedbacks), "SRF-SEC-08")
        return
    words = [
        [base_action(suggestion) for suggestion in feedback.get("suggestions") or ()] for feedback in (first, last)
    ]
    if words[0] != words[1]:
        said_first, said_last = (", ".join(actions) for actions in words)
        yield Finding("SRF-SEC-08", "What is terminal becomes another thing when it comes back.", said_first, said_last)
    loop = last.get("loop")
    if str(loop.get("action") if isinstance(loop, Mapping) else None).lower() != "escalate":
        yield Finding(
            "SRF-SEC-08", "Who insists on what is terminal does not hear that it is a loop.", "escalate", loop
        )


def _uncounted(subject: Subject) -> Iterator[Finding]:
    """Answers that showed no suggestions were no advice that failed: what follows is the first time."""
    base = "/problem" if subject.profile == "problem+json" else ""
    request = as_sent(Request("POST", f"{base}/v1/orders", body=_WRONG))
    with answering_for_upstream(subject, _refusing(subject.profile, 400, "enum", "currency")):
        fresh = send_for_answer(subject, request.adding(ASK, subject.caller())).feedback
        caller = subject.caller()
        for mode in ("verbose", "none", "traditional", "verbose"):
            send_for_answer(subject, request.adding(("Prefer", f"recovery-feedback={mode}"), caller))
        later = send_for_answer(subject, request.adding(ASK, caller)).feedback
    if fresh is None:
        yield no_feedback(1, "SRF-SEC-08")
    elif later is None or later.get("suggestions") != fresh.get("suggestions"):
        sentence = "Answers in modes without suggestions count as attempts: the first advice is another one after them."
        yield Finding("SRF-SEC-08", sentence, fresh, None if later is None else dict(later))


_MISTAKES: Final = ({"limit": "500"}, {"statuss": "draft"}, {"sort": "creatd"}, {"created_after": "2026/12/24"})


def _mistakes(subject: Subject) -> Iterator[Finding]:
    """Several mistakes of one caller at one operation are several mistakes."""
    base = "/problem" if subject.profile == "problem+json" else ""
    caller, feedbacks = subject.caller(), []
    for query in _MISTAKES:
        request = as_sent(Request("GET", f"{base}/v1/orders", query))
        feedbacks.append(send_for_answer(subject, request.adding(ASK, caller)).feedback)
    if all(feedback is None for feedback in feedbacks):
        yield no_feedback(len(feedbacks), "SRF-SEC-08")
    for query, feedback in zip(_MISTAKES, feedbacks, strict=True):
        loop = feedback.get("loop") if feedback is not None else None
        action = str(loop.get("action", "none")).lower() if isinstance(loop, Mapping) else "none"
        if _escalates(feedback) or action != "none":
            text = (
                f"Four different mistakes of one caller are taken for a loop, the one in {next(iter(query))} at last."
            )
            yield Finding("SRF-SEC-08", text, "loop.action none", loop)


def _never_again(subject: Subject) -> Iterator[Finding]:
    """What is called the next alternative is one that was not offered first before."""
    caller, first = subject.caller(), list[Json]()
    for body in (_ABROAD, {**_WRONG, "currency": "eur", "lines": [{"sku": "cocoa", "quantity": 2}]}):
        request = Request("POST", "/v1/orders", body=body)
        first.clear()
        for feedback in _feedbacks(subject, [request] * 3, [caller] * 3):
            suggestions = feedback.get("suggestions") if feedback is not None else None
            loop = feedback.get("loop") if feedback is not None else None
            leading = (
                suggestions[0]
                if isinstance(suggestions, list) and suggestions and isinstance(suggestions[0], Mapping)
                else {}
            )
            edit = {name: leading.get(name) for name in ("action", "parameters", "patch")}
            next_one = isinstance(loop, Mapping) and str(loop.get("action")).lower() == "next_alternative"
            if next_one and edit in first:
                text = "What is offered as the next alternative has been offered before."
                yield Finding("SRF-SEC-08", text, "another suggestion, or no such word", edit)
            first.append(edit)


_TITLES: Final = (
    ("stubborn", "Who repeats a request hears of a person by the fourth time", _stubborn),
    ("obedient", "Advice that does not help ends by the fourth time", _obedient),
    ("oscillating", "Going back and forth ends by the fourth time", _oscillating),
    ("next-alternative", "The second time another alternative leads", _next_alternative),
    ("insisting", "Who asks for what cannot be had hears so by the fourth time", _insisting),
    ("uncounted", "Answers without suggestions are no attempts", _uncounted),
    ("mistakes", "Different mistakes are no loop", _mistakes),
    ("never-again", "The next alternative is one that was not offered before", _never_again),
    ("strangers", "Others, and other things, are in no loop", _strangers),
)
CHECKS: tuple[Check, ...] = tuple(
    Check(f"trust/loop/{name}", title, ("SRF-SEC-08",), run, PROFILES, frozenset({"proxy"}))
    for name, title, run in _TITLES
)
