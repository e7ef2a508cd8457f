"""Core checks: errors carry well-formed feedback, and the corrected request is accepted (SRF-COR, SRF-OPS, SRF-RTY).

Edits are valid, guarded and truthful; waits are passed on, unsafe calls are not repeated blindly, retries are limited.
By vectors: the errors of common servers, in many formats, and the requests that feedback may lead to.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from email.utils import formatdate
from typing import Any, Final

from corrigible.conformance.checks.support.exchange import (
    ASK,
    NO_TRIAL,
    PROFILES,
    Refused,
    again,
    annotated_error,
    answering_for_upstream,
    as_sent,
    below,
    credentials,
    each_refused,
    error_requests,
    feedback_findings,
    is_trial,
    native,
    no_feedback,
    of_reference,
    refusals,
    refusals_with_feedback,
    refused,
    script,
    send_error_request,
    send_for_answer,
    signed,
    to_shop,
    with_several_faults,
)
from corrigible.conformance.model import vector
from corrigible.conformance.model.outcome import CouldNotTell, Missing
from corrigible.conformance.model.vector import difference, request_of
from corrigible.conformance.reference.upstream import Received, Script
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpRequest, HttpResponse, request_document
from corrigible.conformance.validators.finding import FEEDBACK, AnnotatedError, Finding
from corrigible.schema import MEMBER, ContractError, NeedsInput, Next, Request, Terminal, apply
from corrigible.schema.exchange import Json

_MODES: Final = ("none", "traditional", "verbose", "reflective")


def validated(*requirements: str) -> Callable[[Subject], Iterator[Finding]]:
    """Return a check that judges the feedback of every provocation by these requirements."""
    wanted = frozenset(requirements)

    def run(subject: Subject) -> Iterator[Finding]:
        findings = subject.each("what is wrong with what is refused", lambda: _all_wrong(subject))
        yield from (finding for finding in findings if finding.requirement in wanted)
        everything = refused(subject)
        if everything and all(finding.feedback is None for finding in everything):
            yield no_feedback(len(everything), requirements[0])

    return run


def _all_wrong(subject: Subject) -> Iterator[Finding]:
    for one in each_refused(subject):
        if one.feedback is not None:
            yield from feedback_findings(one.annotated_error)


def present(subject: Subject) -> Iterator[Finding]:
    mute = [refusal for refusal in refused(subject) if refusal.feedback is None]
    requests = error_requests(subject)
    if len(mute) == len(requests):
        sentence = f"None of {len(mute)} refused requests was answered with recovery_feedback."
        yield Finding("SRF-COR-01", sentence, {MEMBER: "an object"}, _members(mute[0].got), mute[0].sent)
        return
    for refusal in mute:
        sentence = f"The answer to {refusal.by.name} carries no recovery_feedback."
        yield Finding("SRF-COR-01", sentence, {MEMBER: "an object"}, _members(refusal.got), refusal.sent)


def _members(response: HttpResponse) -> Json:
    try:
        body = response.json()
    except ValueError:
        return f"{response.status} with a body that is no JSON"
    return sorted(body) if isinstance(body, dict) else body


def absent_on_success(subject: Subject) -> Iterator[Finding]:
    for sent in _accepted(subject):
        response = send_for_answer(subject, sent.adding(*credentials(subject, subject.caller())))
        if not 200 <= response.status < 300:
            raise CouldNotTell(f"{sent.method} {sent.target} was refused with {response.status}")
        if response.feedback is not None or MEMBER.encode() in response.body or _linked(response):
            sentence = "An answer that accepts a request carries feedback."
            yield Finding("SRF-COR-07", sentence, None, response.feedback or _excerpt(response), sent)


def _accepted(subject: Subject) -> list[HttpRequest]:
    """Return requests that are accepted: the config's, or the reference API's."""
    patterns_accepted = subject.config.get("accepted")
    if subject.upstream is None:
        if not patterns_accepted:
            raise Missing(
                "needs `accepted` in the config file, requests that this API accepts: see Providers in the docs"
            )
        return [as_sent(request_of(item)) for item in patterns_accepted]
    order = {"customer": "cus_ada", "currency": "eur", "channel": "web", "lines": [{"sku": "tea", "quantity": 1}]}
    return [
        to_shop(subject, "GET", "/v1/orders"),
        to_shop(subject, "GET", "/v1/orders/ord_1"),
        to_shop(subject, "POST", "/v1/orders", body=order),
        to_shop(subject, "PATCH", "/v1/orders/ord_1", body={"version": 3, "gift": True}),
    ]


def _linked(response: HttpResponse) -> bool:
    return any("recovery-feedback" in value for value in response.values("link"))


def _excerpt(response: HttpResponse) -> str:
    return response.body[:200].decode("utf-8", "backslashreplace")


def absent_in_other_modes(subject: Subject) -> Iterator[Finding]:
    spoke = False
    for error_request in error_requests(subject):
        for mode in ("none", "traditional", "verbose"):
            other = send_error_request(
                subject, error_request, subject.caller(), [("Prefer", f"recovery-feedback={mode}")]
            )
            if other.feedback is not None or _linked(other.got) or MEMBER.encode() in other.got.body:
                sentence = f"The answer to {error_request.name} carries feedback, though the mode is {mode}."
                yield Finding("SRF-COR-08", sentence, None, other.feedback or _excerpt(other.got), other.sent)
        spoke = spoke or send_error_request(subject, error_request, subject.caller()).feedback is not None
    if not spoke:
        yield no_feedback(len(error_requests(subject)), "SRF-COR-08")


def same_in_every_mode(subject: Subject) -> Iterator[Finding]:
    spoke = False
    for error_request in error_requests(subject):
        caller_by_mode = {mode: subject.caller() for mode in _MODES}
        by_mode = {
            mode: send_error_request(
                subject, error_request, caller_by_mode[mode], [("Prefer", f"recovery-feedback={mode}")]
            )
            for mode in _MODES
        }
        spoke = spoke or by_mode["reflective"].feedback is not None
        plain = by_mode["none"]
        for mode, other in by_mode.items():
            if other.got.status != plain.got.status:
                sentence = f"The status of the answer to {error_request.name} depends on the mode: {mode}."
                yield Finding("SRF-COR-09", sentence, plain.got.status, other.got.status, other.sent)
        codes = {mode: _codes(by_mode[mode].got) for mode in ("verbose", "reflective")}
        if codes["verbose"] != codes["reflective"]:
            sentence = f"Verbose and reflective mode diagnose {error_request.name} with different codes."
            yield Finding("SRF-COR-09", sentence, codes["verbose"], codes["reflective"], by_mode["reflective"].sent)
    if not spoke:
        yield no_feedback(len(error_requests(subject)), "SRF-COR-09")


def _codes(response: HttpResponse) -> list[Json]:
    try:
        body = response.json()
    except ValueError:
        return []
    listed = body.get("validation_errors") if isinstance(body, dict) else None
    codes = listed if isinstance(listed, list) else []
    return [code.get("code") if isinstance(code, Mapping) else code for code in codes]


def deterministic(subject: Subject) -> Iterator[Finding]:
    spoke = 0
    requests = error_requests(subject)
    for request in requests:
        first, second = (send_error_request(subject, request, subject.caller()) for _ in range(2))
        spoke += first.feedback is not None
        # Keys are fresh by their nature, and the loop counts.
        before, after = (_settled(refusal.feedback) for refusal in (first, second))
        if before != after:
            sentence = f"The same refusal ({request.name}) got different feedback the second time."
            yield Finding("SRF-COR-10", sentence, before, after, second.sent)
    if not spoke:
        yield no_feedback(len(requests), "SRF-COR-10")


def _settled(feedback: Mapping[str, Json] | None) -> Json:
    if feedback is None:
        return None
    out: dict[str, Any] = json.loads(json.dumps(feedback))
    out.pop("loop", None)
    if isinstance(out.get("retry"), dict):
        out["retry"].pop("after_seconds", None)
    for suggestion in out.get("suggestions") or ():
        for op in suggestion.get("patch") or () if isinstance(suggestion, dict) else ():
            if isinstance(op, dict) and "idempotency" in str(op.get("path", "")).lower():
                op.pop("value", None)
    return out


def each_answered(subject: Subject) -> Iterator[Finding]:
    for refusal in refusals(subject, only=with_several_faults(subject)):
        if refusal.feedback is None:
            continue
        groups = {
            json.dumps(sentence["group"], sort_keys=True) if isinstance(sentence.get("group"), Mapping) else index
            for index, sentence in refusal.annotated_error.suggestions
        }
        if len(groups) < refusal.by.faults and not refusal.annotated_error.terminal:
            sentence = f"Of {refusal.by.faults} faults ({refusal.by.name}) {len(groups)} are answered."
            yield Finding("SRF-COR-11", sentence, refusal.by.faults, len(groups), refusal.sent)


def mends(subject: Subject) -> Iterator[Finding]:
    spoke = 0
    requests = error_requests(subject)
    for refusal in refusals(subject):
        if refusal.feedback is not None:
            spoke += 1
            yield from _followed(subject, refusal)
    if requests and not spoke:
        yield no_feedback(len(requests), "SRF-COR-14")


def _followed(subject: Subject, refusal: Refused) -> Iterator[Finding]:
    """Do what the feedback says, and look at what became of it."""
    assert refusal.feedback is not None
    by = refusal.by
    document = request_document(refusal.sent)
    try:
        follows = apply(refusal.feedback, document, confirm=True)
    except ContractError as problem:
        sentence = f"A reader cannot read the feedback about {by.name}: {problem}"
        yield Finding(
            "SRF-COR-14", sentence, "feedback of the contract", refusal.feedback, refusal.sent, place=FEEDBACK
        )
        return
    match follows:
        case Next() if by.way in ("ends", "asks"):
            sentence = f"After {by.name} nothing can be sent by itself, and yet the feedback says what to send."
            yield Finding("SRF-COR-14", sentence, by.way, refusal.feedback, refusal.sent)
        case Next() if by.way is None and subject.upstream is None and not _is_harmless(subject, follows):
            subject.remark(f"What mends {by.name} writes, and was not sent: give it `way: mends`, or --unsafe.")
        case Next():
            yield from follow(subject, refusal, follows)
        case Terminal() if by.way not in ("ends", None):
            sentence = f"The feedback about {by.name} sees no way out, and there is one."
            yield Finding("SRF-COR-14", sentence, by.way, refusal.feedback, refusal.sent)
        case NeedsInput() if by.way == "chooses" and follows.choices:
            for choice in follows.choices:
                picked = apply(refusal.feedback, document, confirm=True, pick=choice.index)
                if isinstance(picked, Next):
                    yield from follow(subject, refusal, picked, fresh=True)
        case NeedsInput() if by.way not in ("asks", "chooses", None):
            sentence = f"The feedback about {by.name} leaves a reader without a next request: {follows.reason}."
            yield Finding("SRF-COR-14", sentence, by.way, refusal.feedback, refusal.sent)
        case _:
            return


def _is_harmless(subject: Subject, follows: Next) -> bool:
    """Whether what the feedback leads to may be sent to an API whose data are somebody's."""
    generated = subject.config.get("generated")
    unsafe = isinstance(generated, Mapping) and bool(generated.get("unsafe"))
    return unsafe or all(request.method in ("GET", "HEAD") for request in (*follows.steps, follows.request))


def follow(
    subject: Subject, refusal: Refused, follows: Next, *, fresh: bool = False, look: bool = True
) -> Iterator[Finding]:
    """Send what a reader makes of the feedback; `fresh`: as somebody new, in whose shop nothing has happened yet."""
    caller = subject.caller() if fresh else refusal.caller
    own = [*credentials(subject, caller), *((n, v) for n, v in refusal.sent.headers if n.lower() == "cookie")]
    for step in follows.steps:
        response = send_for_answer(subject, signed(again(step), own))
        if response.status >= 400:
            sentence = f"A step that the feedback about {refusal.by.name} names is refused with {response.status}."
            yield Finding("SRF-COR-14", sentence, "an accepted step", _excerpt(response), again(step))
            return
    request = signed(again(follows.request), own)
    response = send_for_answer(subject, request)
    if response.status >= 400:
        sentence = f"The request that the feedback about {refusal.by.name} leads to is refused with {response.status}."
        yield Finding("SRF-COR-14", sentence, "an accepted request", _excerpt(response), request)
        return
    state = refusal.by.state
    if state is None or subject.direct is None or not look:
        return
    looked = subject.direct.send(HttpRequest("GET", str(state["path"]), (caller,)))
    value = looked.json().get(state["member"]) if looked.status == 200 else f"{looked.status}"
    if difference(state["value"], value) is not None:
        sentence = (
            f"After the repair of {refusal.by.name} the API holds something else at {state['path']}, {state['member']}."
        )
        yield Finding("SRF-COR-14", sentence, state["value"], value, request)


_ROUTES: Final = (("POST", "/v1/nothing"), ("GET", "/v1/things/1"), ("DELETE", "/v1/orders"), ("PUT", "/v1/items/tea"))


def unknown_is_no_end(subject: Subject) -> Iterator[Finding]:
    """An upstream that does not know a route or a method, or names one that it takes."""
    answers = (
        native(subject.profile, 404, "route_unknown", "There is nothing at this path."),
        native(subject.profile, 405, "method_not_allowed", "Not possible here.", headers=[("Allow", "GET")]),
    )
    for method, path in _ROUTES:
        for upstream_answer in answers:
            body = {"note": "x"} if method in ("POST", "PUT") else None
            request = to_shop(subject, method, path, body=body).adding(ASK, subject.caller())
            feedback = subject.through(request, upstream_answer).feedback
            if feedback is not None and feedback.get("recovery") == "terminal":
                text = f"{method} {path} is not known here, and that is called the end."
                yield Finding("SRF-COR-17", text, "nothing, or a way on", dict(feedback), request)


def alternatives(subject: Subject) -> Iterator[Finding]:
    """Judge how they are marked; then take each alternative by itself: every one leads somewhere."""
    yield from validated("SRF-OPS-07")(subject)
    for judged_one in refusals_with_feedback(subject, "SRF-OPS-07"):
        if isinstance(judged_one, Refused):
            yield from _each_by_itself(subject, judged_one)


def _each_by_itself(subject: Subject, refusal: Refused) -> Iterator[Finding]:
    for index, suggestion in refusal.annotated_error.suggestions:
        group = suggestion.get("group")
        if not isinstance(group, Mapping) or group.get("relation") != "one_of" or suggestion.get("placeholders"):
            continue
        try:
            picked = apply(refusal.annotated_error.feedback, request_document(refusal.sent), confirm=True, pick=index)
        except ContractError:
            continue  # the core checks say so
        if isinstance(picked, Next):
            for finding in follow(subject, refusal, picked, fresh=True, look=False):
                sentence = f"Alternative {index} of {refusal.by.name} is none: {finding.message}"
                yield Finding("SRF-OPS-07", sentence, finding.expected, finding.got, finding.sent, place=finding.place)


_REFUND: Final = {"order": "ord_1", "amount": 5}
_SLACK: Final = 2.0
_CALLS: Final[Mapping[str, Request]] = {
    "a read": Request("GET", "/v1/orders"),
    "a write without a key": Request("POST", "/v1/refunds", body=_REFUND),
    "a write with a key": Request("POST", "/v1/refunds", headers={"idempotency-key": "key-of-a-wait"}, body=_REFUND),
}


Waited = tuple[str, float | None, AnnotatedError]
"""Of which call and wait, how many seconds are to be passed on, what was said."""


def _cached_waits(subject: Subject) -> list[Waited]:
    return subject.cached("waits", lambda: list(_waits(subject)))


def _waits(subject: Subject) -> Iterator[Waited]:
    """Have every kind of call answered with every kind of wait."""
    for wait in of_reference("waits"):
        for name, call in _CALLS.items():
            now = time.time()
            headers = [(header, _timed(value, now)) for header, value in wait["headers"].items()]
            code = wait.get("code", "rate_limited")
            script = native(subject.profile, wait["status"], code, "Not just now.", headers=headers)
            with answering_for_upstream(subject, lambda received, script=script: script):  # type: ignore[misc]
                sent = as_sent(below(subject, call)).adding(ASK, subject.caller())
                response = send_for_answer(subject, sent)
            yield f"{wait['name']}, {name}", wait.get("seconds"), annotated_error(subject, sent, response)


def _timed(value: str, now: float) -> str:
    """Return a header with `{N}` as the date N seconds from now, and `{+N}` as that second."""
    value = re.sub(r"\{\+(\d+)\}", lambda match: str(int(now) + int(match[1])), value)
    return re.sub(r"\{(-?\d+)\}", lambda match: formatdate(now + int(match[1]), usegmt=True), value)


def passed_on(subject: Subject) -> Iterator[Finding]:
    spoke = 0
    waits = _cached_waits(subject)
    for name, seconds, annotated in waits:
        if annotated.feedback is None:
            continue
        spoke += 1
        yield from feedback_findings(annotated, frozenset({"SRF-RTY-01"}))
        after_seconds = annotated.retry.get("after_seconds")
        if annotated.terminal:
            continue
        if seconds is None and after_seconds is not None:
            text = f"The upstream does not say when to come back ({name}), and the feedback does."
            yield Finding("SRF-RTY-01", text, None, after_seconds, annotated.sent)
        elif seconds is not None and "retry-after" not in annotated.headers and not _is_about(after_seconds, seconds):
            text = f"The wait that the upstream names ({name}) is not passed on."
            yield Finding("SRF-RTY-01", text, seconds, after_seconds, annotated.sent)
    if not spoke:
        yield no_feedback(len(waits), "SRF-RTY-01")


def _is_about(value: object, seconds: float) -> bool:
    return isinstance(value, int | float) and seconds - _SLACK <= value <= math.ceil(seconds) + _SLACK


def about_waits(requirement: str) -> Callable[[Subject], Iterator[Finding]]:
    """Return a check that judges what is said about waits, and about every provocation."""

    def run(subject: Subject) -> Iterator[Finding]:
        yield from validated(requirement)(subject)
        if subject.upstream is not None:
            for _, _, annotated_error in _cached_waits(subject):
                if annotated_error.feedback is not None:
                    yield from feedback_findings(annotated_error, frozenset({requirement}))

    return run


def led(id: str, *requirements: str) -> Callable[[Subject], Iterator[Finding]]:
    """Return a check that the feedback about the refusal of a vector leads where that vector allows it."""
    exchange = next(one for profile in PROFILES for one in vector.exchange(profile) if one.id == id)
    upstream_answer = script(exchange.answer)

    def says(received: Received) -> Script | None:
        return NO_TRIAL if is_trial(received.sent) else upstream_answer

    def run(subject: Subject) -> Iterator[Finding]:
        request = as_sent(exchange.request).adding(ASK, subject.caller())
        with answering_for_upstream(subject, says):
            response = send_for_answer(subject, request)
        problem = vector.leads_to(exchange.allowed, response.feedback, request_document(request))
        if problem is not None:
            text = f"{exchange.description} Not so here: {problem}."
            yield Finding(requirements[0], text, [dict(a) for a in exchange.allowed], response.feedback, request)

    return run
