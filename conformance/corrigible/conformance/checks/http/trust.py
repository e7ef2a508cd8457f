"""Checks of trust: secrets are not repeated, look-ups are the caller's, claims are true, loops end (SRF-SEC).

An agent that repeats an error gets other suggestions, and finally ESCALATE (SRF-SEC-08). Feedback behind a `Link`
header is served to the caller of the request, and to nobody else (SRF-SEC-12).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from corrigible.conformance.checks.http.core import validated
from corrigible.conformance.checks.support.exchange import (
    ASK,
    JSON,
    Refused,
    annotated_error,
    answering_for_upstream,
    as_sent,
    below,
    error_requests,
    is_trial,
    native,
    no_feedback,
    of_reference,
    send_error_request,
    send_for_answer,
    to_shop,
)
from corrigible.conformance.checks.support.known_error import KNOWN
from corrigible.conformance.model.outcome import NotApplicable
from corrigible.conformance.model.vector import request_of
from corrigible.conformance.model.yaml_file import path_pattern
from corrigible.conformance.reference.upstream import Received, Script, Upstream, answer
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpRequest, HttpResponse, request_document
from corrigible.conformance.validators.edit import same, stages
from corrigible.conformance.validators.finding import ABSENT, FEEDBACK, Finding, base_action
from corrigible.conformance.validators.trust import forms
from corrigible.schema import ContractError, Next, Request, apply
from corrigible.schema.exchange import Json

_LINK: Final = re.compile(r'<([^>]*)>\s*;[^,]*rel="?recovery-feedback"?')
_ARRAY: Final = b'[{"code": "enum", "param": "currency", "message": "currency has none of the allowed values."}]'


def for_its_caller_alone(subject: Subject) -> Iterator[Finding]:
    owner, other = subject.caller(), subject.caller()
    refusal = subject.through(KNOWN.adding(owner), answer(400, _ARRAY, [JSON], reason="Bad Request"))
    again = subject.through(KNOWN.adding(owner), answer(400, _ARRAY, [JSON], reason="Bad Request"))
    target, second = _target(refusal), _target(again)
    if target is None:
        raise NotApplicable("the subject points to no feedback that has no place in an answer")
    if target == second:
        sentence = "Two refusals have their feedback at one place: who knows one of them knows the other."
        yield Finding("SRF-SEC-12", sentence, "two places", target, KNOWN)
    own_response = subject.wire.send(HttpRequest("GET", target, (owner,)))
    if own_response.status != 200 or (own_response.feedback is None and b"suggestions" not in own_response.body):
        yield Finding("SRF-SEC-12", "Who was refused cannot fetch what the Link names.", 200, own_response.status)
    for who, headers in (("somebody else", (other,)), ("somebody without credentials", ())):
        other_response = subject.wire.send(HttpRequest("GET", target, headers))
        if b"suggestions" in other_response.body:
            sentence = f"{who.capitalize()} fetches feedback about a call that was refused to another caller."
            yield Finding(
                "SRF-SEC-12", sentence, "nothing of it", other_response.status, HttpRequest("GET", target, headers)
            )


def _target(response: HttpResponse) -> str | None:
    link = next((m for value in response.values("link") if (m := _LINK.search(value))), None)
    return link[1] if link is not None and link[1].startswith("/") else None


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
    out: list[Feedback | None] = []
    for request, caller in zip(requests, callers, strict=True):
        sent = as_sent(below(subject, request))
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
                text = "A person is called in, and the member loop does not say so."
                yield Finding("SRF-SEC-08", text, "escalate", loop)
            return


def _in_circles(wrong: Sequence[str], who: str) -> Callable[[Subject], Iterator[Finding]]:
    """Return a check that a caller who sends these wrong values in turn, and no other, hears of a person."""

    def run(subject: Subject) -> Iterator[Finding]:
        requests = [Request("POST", "/v1/orders", body={**_WRONG, "currency": currency}) for currency in wrong]
        with answering_for_upstream(subject, _refusing(subject.profile, 400, "enum", "currency")):
            feedbacks = _feedbacks(subject, requests, [subject.caller()] * len(requests))
        yield from _loop_findings(feedbacks, who)

    return run


stubborn: Final = _in_circles(["eurr"] * 5, "An agent that sends the same request again and again")
oscillating: Final = _in_circles(
    ["gpb", "eurr", "gpb", "eurr", "gpb"], "An agent that goes back and forth between two wrong values"
)


def obedient(subject: Subject) -> Iterator[Finding]:
    """Apply what is said, and get the same error for it."""
    caller, feedbacks = subject.caller(), []
    request = to_shop(subject, "POST", "/v1/orders", body=_WRONG)
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


def next_alternative(subject: Subject) -> Iterator[Finding]:
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


def strangers(subject: Subject) -> Iterator[Finding]:
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


def insisting(subject: Subject) -> Iterator[Finding]:
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


def uncounted(subject: Subject) -> Iterator[Finding]:
    """Answers that showed no suggestions were no advice that failed: what follows is the first time."""
    request = to_shop(subject, "POST", "/v1/orders", body=_WRONG)
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


def mistakes(subject: Subject) -> Iterator[Finding]:
    """Several mistakes of one caller at one operation are several mistakes."""
    caller, feedbacks = subject.caller(), []
    for query in _MISTAKES:
        request = to_shop(subject, "GET", "/v1/orders", query=query)
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


def never_again(subject: Subject) -> Iterator[Finding]:
    """What is called the next alternative is one that was not offered first before."""
    caller, first = subject.caller(), list[Json]()
    for body in (_ABROAD, {**_WRONG, "currency": "eur", "lines": [{"sku": "cocoa", "quantity": 2}]}):
        request = Request("POST", "/v1/orders", body=body)
        first.clear()
        for feedback in _feedbacks(subject, [request] * 3, [caller] * 3):
            suggestions = feedback.get("suggestions") if feedback is not None else None
            loop = feedback.get("loop") if feedback is not None else None
            listed = suggestions if isinstance(suggestions, list) else []
            leading = next((one for one in listed[:1] if isinstance(one, Mapping)), {})
            edit = {name: leading.get(name) for name in ("action", "parameters", "patch")}
            next_one = isinstance(loop, Mapping) and str(loop.get("action")).lower() == "next_alternative"
            if next_one and edit in first:
                text = "What is offered as the next alternative has been offered before."
                yield Finding("SRF-SEC-08", text, "another suggestion, or no such word", edit)
            first.append(edit)


Answering = Callable[[Received], Script | None]
_ORDER: Final = {"customer": "cus_ada", "currency": "eur", "channel": "web", "lines": [{"sku": "tea", "quantity": 1}]}


def _sent_meanwhile(subject: Subject, since: int, request: HttpRequest) -> list[HttpRequest]:
    """Return what the upstream was asked besides the call itself: look-ups and trials."""
    others = [request.sent for request in subject.suite_upstream.requests[since:]]
    for index, received in enumerate(others):
        if received.method == request.method and received.target == request.target and received.body == request.body:
            return others[:index] + others[index + 1 :]
    return others


# --- secrets ---


def secrets_stay(subject: Subject) -> Iterator[Finding]:
    """Have calls with secrets in every place refused, also by an upstream that repeats them."""
    spoke = 0
    cases = list(_with_secrets(subject))
    for request, secrets, script in cases:
        sent = as_sent(request).adding(ASK)
        if sent.header("authorization") is None:
            sent = sent.adding(subject.caller())
        with answering_for_upstream(subject, _only(sent, script)):
            response = send_for_answer(subject, sent)
        spoke += response.feedback is not None
        annotated = annotated_error(subject, sent, response, secrets)
        yield from _repeats(annotated.feedback, secrets, "the feedback", sent)
        yield from _repeats(_added(response, script), secrets, "a header that was added", sent)
    if not spoke:
        yield no_feedback(len(cases), "SRF-SEC-05")


def _repeats(value: Json, secrets: tuple[str, ...], path: str, request: HttpRequest) -> Iterator[Finding]:
    whole = json.dumps(value, ensure_ascii=False)
    for secret in secrets:
        if any(form in whole for form in forms(secret)):
            text = f"A secret of the request stands in {path}."
            yield Finding("SRF-SEC-05", text, "nothing of it", value, request)


def _added(response: HttpResponse, script: Script | None) -> list[tuple[str, str]]:
    """Return the headers that the upstream did not send."""
    native_bytes = b"".join(part for part in (script.parts if script else ()) if isinstance(part, bytes)).lower()
    return [(name, value) for name, value in response.headers if value.lower().encode("latin-1") not in native_bytes]


def _only(request: HttpRequest, script: Script | None) -> Answering:
    def says(received: Received) -> Script | None:
        is_call = received.sent.method == request.method and received.sent.target == request.target
        return script if is_call and not is_trial(received.sent) else None

    return says


def _with_secrets(subject: Subject) -> Iterator[tuple[Request, tuple[str, ...], Script | None]]:
    case = subject.case()
    for entry in of_reference("secrets"):
        request = below(subject, request_of(entry["request"]))
        headers = {name: value.replace("{case}", case) for name, value in request.headers.items()}
        script = native(subject.profile, **entry["answer"]) if "answer" in entry else None
        yield replace(request, headers=headers), tuple(entry["secrets"]), script


# --- look-ups ---


def lookups_are_the_callers(subject: Subject) -> Iterator[Finding]:
    """See what the upstream is asked besides the calls: by whom, how, and whether anybody else is asked."""
    spoke = 0
    seen: set[str] = set()
    earlier: list[str] = []
    with Upstream() as elsewhere:
        for asked in _looking_up(subject, elsewhere.url):
            spoke += asked.feedback is not None
            who = asked.sent.header("authorization")
            for other in asked.others:
                seen.add(other.target.partition("?")[0])
                yield from _is_a_lookup(other)
                yield from _is_by(other, asked.sent, earlier)
            if who:
                earlier.append(who)
        for stray in elsewhere.requests:
            sentence = "A server of another origin was called, because an answer of the upstream names it."
            yield Finding("SRF-SEC-07", sentence, "no call", f"{stray.sent.method} {stray.sent.target}")
    if not spoke:
        yield no_feedback(len(error_requests(subject)), "SRF-SEC-07")


class _Asked(NamedTuple):
    """One refusal and what the upstream was asked meanwhile."""

    sent: HttpRequest
    feedback: Feedback | None
    others: list[HttpRequest]


def _looking_up(subject: Subject, other_origin: str) -> Iterator[_Asked]:
    refund = Request("POST", "/v1/refunds", body={"order": "ord_1", "amount": 500})
    hostile = [
        Request("POST", "/v1/refunds", body={"order": order, "amount": 500})
        for order in (
            f"{other_origin}/x",
            f"//{other_origin.partition('//')[2]}/x",
            "../../admin",
            "ord_1?x=1#",
            "@evil",
        )
    ]
    links = [("Location", f"{other_origin}/l"), ("Link", f'<{other_origin}/n>; rel="next"')]
    large = native(
        subject.profile, 422, "amount_too_large", "Too large.", "amount", links, {"help": f"{other_origin}/h"}
    )
    moved = answer(302, b"", [("Location", f"{other_origin}/moved")])

    def redirecting(received: Received) -> Script | None:
        return moved if received.sent.method == "GET" else None

    def linking(received: Received) -> Script | None:
        return large if received.sent.target.endswith("/v1/refunds") else None

    for provocation in error_requests(subject):
        yield _observed(subject, as_sent(provocation.request), [subject.caller()])
    yield _observed(subject, as_sent(below(subject, refund)), [])  # somebody without any credentials
    with answering_for_upstream(subject, redirecting):
        yield _observed(subject, as_sent(below(subject, refund)), [subject.caller()])
    with answering_for_upstream(subject, linking):
        yield _observed(subject, as_sent(below(subject, refund)), [subject.caller()])
        for request in hostile:
            yield _observed(subject, as_sent(below(subject, request)), [subject.caller()])


def _observed(subject: Subject, request: HttpRequest, credentials: list[tuple[str, str]]) -> _Asked:
    sent = request.adding(ASK, *credentials)
    before = len(subject.suite_upstream.requests)
    response = send_for_answer(subject, sent)
    return _Asked(sent, response.feedback, _sent_meanwhile(subject, before, sent))


def _is_a_lookup(request: HttpRequest) -> Iterator[Finding]:
    if request.method != "GET" and not is_trial(request):
        sentence = "The upstream was asked to do something besides the call itself."
        yield Finding("SRF-SEC-07", sentence, "GET, or a dry run", f"{request.method} {request.target}")
    path = unquote(request.target.partition("?")[0])
    if not re.fullmatch(r"(?:/problem)?/v1/[\w.@/-]*", path) or "/../" in f"{path}/" or "//" in path:
        sentence = "A look-up leads somewhere that the caller's values made up."
        yield Finding("SRF-SEC-07", sentence, "a path of the API", request.target)


def _is_by(request: HttpRequest, call: HttpRequest, earlier: list[str]) -> Iterator[Finding]:
    for name in ("authorization", "cookie", "x-api-key"):
        own, actual = call.header(name), request.header(name)
        if actual != own:
            sentence = f"A look-up has another {name} than the call it is for."
            if actual in earlier:
                sentence = f"A look-up has the {name} of an earlier caller."
            yield Finding("SRF-SEC-07", sentence, own, actual, call)


# --- claims ---


def claims_are_true(subject: Subject) -> Iterator[Finding]:
    """Compare what is claimed to be verified with what the upstream really was asked."""
    spoke = 0
    requests = error_requests(subject)
    for request in requests:
        before = len(subject.suite_upstream.requests)
        refusal = send_error_request(subject, request, subject.caller())
        spoke += refusal.feedback is not None
        others = _sent_meanwhile(subject, before, refusal.sent)
        yield from _verified(refusal, others)
    if requests and not spoke:
        yield no_feedback(len(requests), "SRF-SEC-09")


def _verified(refusal: Refused, others: list[HttpRequest]) -> Iterator[Finding]:
    tried = [json.loads(other.body) for other in others if is_trial(other) and other.body]
    reads = [other for other in others if other.method == "GET"]
    for stage in stages(refusal.annotated_error):
        claim = stage.suggestion.get("verification")
        if not isinstance(claim, Mapping) or claim.get("status") != "verified":
            if isinstance(claim, Mapping) and claim.get("status") == "refuted":
                sentence = f"Suggestion {stage.index} is refuted by its own account, and still sent."
                yield Finding("SRF-SEC-09", sentence, "no such suggestion", dict(claim), refusal.sent)
            continue
        problem = _untrue(claim, refusal, stage.after, tried, reads)
        if problem:
            sentence = f"Suggestion {stage.index} about {refusal.by.name} says it is verified: {problem}."
            asked = [f"{other.method} {other.target}" for other in others]
            yield Finding("SRF-SEC-09", sentence, asked, dict(claim), refusal.sent)


def _untrue(
    claim: Mapping[str, Json], refusal: Refused, after: Json, tried: list[Json], reads: list[HttpRequest]
) -> str:
    match claim.get("method"):
        case "dry_run":
            # Several repairs are tried together: what was tried holds this one, and maybe more.
            bodies = [body for body in tried if not same(body, refusal.annotated_error.request.body)]
            if after is None or not bodies:
                return "no dry run of it was made"
            is_shown = any(_holds(body, after["body"], refusal.annotated_error.request.body) for body in bodies)
            return "" if is_shown else "what was tried is something else"
        case "lookup":
            return "" if reads else "nothing was looked up"
        case "schema":
            return ""
        case _:
            return "by no method"


def _holds(tried: Json, wanted: Json, before: Json) -> bool:
    """Whether what was tried has everything in which the wanted body differs from the refused one."""
    if isinstance(wanted, Mapping) and isinstance(tried, Mapping) and isinstance(before, Mapping):
        changed = {k for k in wanted.keys() | before.keys() if not same(wanted.get(k), before.get(k))}
        return all(_holds(tried.get(k), wanted.get(k), before.get(k)) for k in changed)
    if isinstance(wanted, list) and all(isinstance(x, list) and len(x) == len(wanted) for x in (tried, before)):
        return all(same(w, b) or _holds(t, w, b) for t, w, b in zip(tried, wanted, before, strict=True))
    return same(tried, wanted)


def evidence_is_true(subject: Subject) -> Iterator[Finding]:
    """Judge where suggestions say they come from; look-ups they name were made."""
    yield from validated("SRF-SEC-03")(subject)
    if subject.upstream is None:
        return
    for error_request in error_requests(subject):
        before = len(subject.suite_upstream.requests)
        refusal = send_error_request(subject, error_request, subject.caller())
        paths = [
            s.target.partition("?")[0] for s in _sent_meanwhile(subject, before, refusal.sent) if s.method == "GET"
        ]
        for index, suggestion in refusal.annotated_error.suggestions:
            evidence = suggestion.get("evidence")
            lookups = evidence.get("lookups") if isinstance(evidence, Mapping) else None
            for lookup in lookups if isinstance(lookups, list) else ():
                template = str(lookup).partition(" ")[2].partition("?")[0]
                if len(template) > _LONGEST or not any(path_pattern(template).fullmatch(path) for path in paths):
                    sentence = f"Suggestion {index} about {error_request.name} names a look-up that was never made."
                    yield Finding("SRF-SEC-03", sentence, paths, lookup, refusal.sent)


_LONGEST: Final = 8192
"""Letters of a look-up that is compared: a longer one was never made."""


def _forbidding(profile: str) -> Answering:
    forbidden = native(profile, 403, "forbidden", "Not for you.")
    return lambda received: forbidden if received.sent.method == "GET" else None


def no_oracle(subject: Subject) -> Iterator[Finding]:
    """Let somebody look, then refuse the same look-ups to somebody else: nothing of them is told."""
    order = {**_ORDER, "lines": [{"sku": "cofee", "quantity": 1}]}
    calls = (
        (to_shop(subject, "POST", "/v1/orders", body=order), ("kettle", "biscuit", '"coffee"')),
        (to_shop(subject, "POST", "/v1/refunds", body={"order": "ord_1", "amount": 500}), ("300", "700", "1000")),
    )
    spoke = False
    for request, values in calls:
        first = send_for_answer(subject, request.adding(ASK, subject.caller()))
        spoke = spoke or first.feedback is not None
        with answering_for_upstream(subject, _forbidding(subject.profile)):
            sent = request.adding(ASK, subject.caller())
            response = send_for_answer(subject, sent)
        whole = json.dumps(response.feedback, ensure_ascii=False) if response.feedback is not None else ""
        for value in values:
            if value in whole:
                sentence = "The feedback holds what this caller may not read."
                yield Finding("SRF-SEC-06", sentence, "no value of a look-up that was refused", response.feedback, sent)
    if not spoke:
        yield no_feedback(len(calls), "SRF-SEC-06")
