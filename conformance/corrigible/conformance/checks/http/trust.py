"""Checks of trust: secrets are not repeated, look-ups are the caller's, claims are true, loops end (SRF-SEC)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final
from urllib.parse import unquote

from corrigible.conformance.checks.support.error_request import (
    PROFILES,
    Refused,
    annotated_error,
    answering_for_upstream,
    as_sent,
    error_requests,
    is_trial,
    native,
    no_feedback,
    send_error_request,
    send_for_answer,
)
from corrigible.conformance.checks.support.headers import ASK
from corrigible.conformance.model.paths import path_pattern
from corrigible.conformance.reference.upstream import Received, Script, Upstream, answer
from corrigible.conformance.suite.check import Check
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpRequest, HttpResponse
from corrigible.conformance.validators.finding import Finding
from corrigible.conformance.validators.patched import same, stages
from corrigible.conformance.validators.trust import forms
from corrigible.schema import Request
from corrigible.schema.exchange import Json

from . import injection, repeat
from .core import ROLES, validated

Answering = Callable[[Received], Script | None]
_PROXY: Final = frozenset({"proxy"})
_ORDER: Final = {"customer": "cus_ada", "currency": "eur", "channel": "web", "lines": [{"sku": "tea", "quantity": 1}]}


def _sent_meanwhile(subject: Subject, since: int, request: HttpRequest) -> list[HttpRequest]:
    """Return what the upstream was asked besides the call itself: look-ups and trials."""
    others = [request.sent for request in subject.suite_upstream.requests[since:]]
    for index, received in enumerate(others):
        if received.method == request.method and received.target == request.target and received.body == request.body:
            return others[:index] + others[index + 1 :]
    return others


# --- secrets ---


def _secrets_stay(subject: Subject) -> Iterator[Finding]:
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
    base = "/problem" if subject.profile == "problem+json" else ""
    profile = subject.profile
    card, token, key, session, bearer = (
        *("4242424242424242", "tok-in-the-body-77", "key-in-a-header-88", "session-in-a-cookie-99", "bearer-token-66"),
    )
    headers = {"x-api-key": key, "cookie": f"sid={session}", "authorization": f"Bearer {bearer}-{subject.case()}"}
    wrong = {**_ORDER, "currency": "eurr", "payment": {"card_number": card, "token": token}}
    everything = (card, token, key, session, bearer)
    # The fault is beside the secrets, ...
    yield Request("POST", f"{base}/v1/orders", headers=headers, body=wrong), everything, None
    # ... in a secret itself, which a cast or a guard would repeat, ...
    odd = {**_ORDER, "payment": {"card_number": int(card), "cvc": 987654, "token": token}}
    yield Request("POST", f"{base}/v1/orders", headers=headers, body=odd), (*everything, "987654"), None
    # ... in its name, ...
    misspelt = {**_ORDER, "payment": {"card_number": card, "tokn": token}}
    yield Request("POST", f"{base}/v1/orders", body=misspelt), (card, token), None
    # ... in a query that should have none, ...
    query = {"api_key": "key-in-a-query-55", "statuss": "draft"}
    yield Request("GET", f"{base}/v1/orders", query), ("key-in-a-query-55",), None
    # ... and in what the upstream repeats.
    echo = native(profile, 400, "enum", f"{card} {token} {key} {session} {bearer} are wrong.", "currency")
    yield Request("POST", f"{base}/v1/orders", headers=headers, body=wrong), everything, echo
    script = native(profile, 400, "type", "No.", "payment.card_number", [("X-Debug", bearer)])
    yield Request("POST", f"{base}/v1/orders", headers=headers, body=wrong), everything, script


# --- look-ups ---


def _lookups_are_the_callers(subject: Subject) -> Iterator[Finding]:
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


class _Asked:
    """One refusal and what the upstream was asked meanwhile."""

    def __init__(self, request: HttpRequest, response: HttpResponse, others: list[HttpRequest]) -> None:
        self.sent, self.feedback, self.others = request, response.feedback, others


def _looking_up(subject: Subject, other_origin: str) -> Iterator[_Asked]:
    base = "/problem" if subject.profile == "problem+json" else ""
    refund = Request("POST", f"{base}/v1/refunds", body={"order": "ord_1", "amount": 500})
    hostile = [
        Request("POST", f"{base}/v1/refunds", body={"order": order, "amount": 500})
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
        yield _observed(subject, provocation.request, [subject.caller()])
    yield _observed(subject, refund, [])  # somebody without any credentials
    with answering_for_upstream(subject, redirecting):
        yield _observed(subject, refund, [subject.caller()])
    with answering_for_upstream(subject, linking):
        yield _observed(subject, refund, [subject.caller()])
        for request in hostile:
            yield _observed(subject, request, [subject.caller()])


def _observed(subject: Subject, request: Request, credentials: list[tuple[str, str]]) -> _Asked:
    sent = as_sent(request).adding(ASK, *credentials)
    before = len(subject.suite_upstream.requests)
    response = send_for_answer(subject, sent)
    return _Asked(sent, response, _sent_meanwhile(subject, before, sent))


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


def _claims_are_true(subject: Subject) -> Iterator[Finding]:
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
            yield Finding(
                "SRF-SEC-09",
                sentence,
                [f"{other.method} {other.target}" for other in others],
                dict(claim),
                refusal.sent,
            )


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


def _evidence_is_true(subject: Subject) -> Iterator[Finding]:
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


def _no_oracle(subject: Subject) -> Iterator[Finding]:
    """Let somebody look, then refuse the same look-ups to somebody else: nothing of them is told."""
    base = "/problem" if subject.profile == "problem+json" else ""
    order = {**_ORDER, "lines": [{"sku": "cofee", "quantity": 1}]}
    calls = (
        (Request("POST", f"{base}/v1/orders", body=order), ("kettle", "biscuit", '"coffee"')),
        (Request("POST", f"{base}/v1/refunds", body={"order": "ord_1", "amount": 500}), ("300", "700", "1000")),
    )
    spoke = False
    for request, values in calls:
        first = send_for_answer(subject, as_sent(request).adding(ASK, subject.caller()))
        spoke = spoke or first.feedback is not None
        with answering_for_upstream(subject, _forbidding(subject.profile)):
            sent = as_sent(request).adding(ASK, subject.caller())
            response = send_for_answer(subject, sent)
        whole = json.dumps(response.feedback, ensure_ascii=False) if response.feedback is not None else ""
        for value in values:
            if value in whole:
                sentence = "The feedback holds what this caller may not read."
                yield Finding("SRF-SEC-06", sentence, "no value of a look-up that was refused", response.feedback, sent)
    if not spoke:
        yield no_feedback(len(calls), "SRF-SEC-06")


CHECKS: tuple[Check, ...] = (
    *injection.CHECKS,
    Check("trust/clean", "Texts are clean and short", ("SRF-SEC-02",), validated("SRF-SEC-02"), PROFILES, ROLES),
    Check("trust/evidence", "Evidence is there and true", ("SRF-SEC-03",), _evidence_is_true, PROFILES, ROLES),
    Check("trust/secrets", "Secrets of a request stay there", ("SRF-SEC-05",), _secrets_stay, PROFILES, _PROXY),
    Check("trust/no-secret", "No known secret is repeated", ("SRF-SEC-05",), validated("SRF-SEC-05"), PROFILES, ROLES),
    Check("trust/no-oracle", "Nobody hears what they may not read", ("SRF-SEC-06",), _no_oracle, PROFILES, _PROXY),
    Check("trust/lookups", "Look-ups are the caller's", ("SRF-SEC-07",), _lookups_are_the_callers, PROFILES, _PROXY),
    *repeat.CHECKS,
    Check("trust/claims", "What is said to be verified was", ("SRF-SEC-09",), _claims_are_true, PROFILES, _PROXY),
    Check(
        "trust/confidence", "Confidence can be recomputed", ("SRF-SEC-10",), validated("SRF-SEC-10"), PROFILES, ROLES
    ),
)
