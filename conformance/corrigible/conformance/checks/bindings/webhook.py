"""Checks of the profile kubernetes-webhook: the verdict is unchanged, and a denial says more.

The API server keeps causes and warnings of a denial, passes them to the caller, and drops members that it knows not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from corrigible.conformance.checks.bindings.kubernetes import LONGEST
from corrigible.conformance.checks.support.exchange import (
    PROXY,
    Explained,
    body_of,
    cases,
    encoded,
    finding,
    judged_checks,
    profile_checks,
    require_answer,
    script,
    sent,
)
from corrigible.conformance.checks.support.known_error import passes
from corrigible.conformance.model.vector import Exchange, exchange
from corrigible.conformance.reference.upstream import Pause, Script, answer
from corrigible.conformance.suite.subject import Pair, Subject
from corrigible.conformance.transport.http1 import HttpRequest, request_document
from corrigible.conformance.validators.finding import ABSENT, Finding
from corrigible.conformance.validators.native_preserved import differences
from corrigible.schema.carrier import CAUSE, carried
from corrigible.schema.exchange import Json, Request

PROFILE: Final = "kubernetes-webhook"
_AGENT: Final = ("User-Agent", "kube-apiserver-admission")
_JSON: Final = ("Content-Type", "application/json")
_GROWN: Final = frozenset(
    {
        "/response",
        "/response/status",
        "/response/status/details",
        "/response/status/details/causes",
        "/response/warnings",
    }
)
_MEMBERS: Final = frozenset({"uid", "allowed", "status", "warnings", "auditAnnotations", "patch", "patchType"})
"""What admission.k8s.io/v1 knows of a response."""
_METHODS: Final = {"CREATE": "POST", "UPDATE": "PUT", "DELETE": "DELETE", "CONNECT": "POST"}
_UID: Final = "705ab4f5-6393-11e8-b7cc-42010a800002"


def asked_for(review: Json) -> Request:
    """Return the agent's own call to the API server that a review is about: feedback refers to it."""
    request = review["request"]
    resource = request["resource"]
    parts = ["apis", resource["group"], resource["version"]] if resource["group"] else ["api", resource["version"]]
    namespace = request.get("namespace")
    if namespace and resource["resource"] != "namespaces":
        parts += ["namespaces", namespace]
    parts.append(resource["resource"])
    if request["operation"] != "CREATE":
        parts.append(request["name"])
    return Request(
        _METHODS[request["operation"]],
        "/" + "/".join(parts),
        query={"dryRun": "All"} if request.get("dryRun") else {},
        headers={"content-type": "application/json"},
        body=request["object"],
    )


def denials(subject: Subject) -> Iterator[tuple[Exchange, HttpRequest, Pair]]:
    """Yield every denial of the vectors, asked for directly and through the subject."""
    for vector in exchange(PROFILE):
        request = sent(vector.request).adding(_AGENT)
        pair = subject.both(request, script(vector.answer))
        require_answer(pair.through)
        yield vector, request, pair


def _response(body: Mapping[str, Any]) -> Mapping[str, Any]:
    response = body.get("response")
    return response if isinstance(response, dict) else {}


def verdict_kept(subject: Subject) -> Iterator[Finding]:
    """A denial stays one, about the same question, in the same form."""
    for _, request, pair in denials(subject):
        if pair.through.status != pair.direct.status:
            yield Finding("SRF-TRN-03", "the status code changed", pair.direct.status, pair.through.status, request)
        native, actual = body_of(pair.direct), body_of(pair.through)
        for name in ("apiVersion", "kind"):
            if actual.get(name) != native[name]:
                yield Finding("SRF-K8S-02", f"{name} of the review changed", native[name], actual.get(name), request)
        for name in ("uid", "allowed"):
            if _response(actual).get(name) != _response(native)[name]:
                expected, value = _response(native)[name], _response(actual).get(name)
                yield Finding("SRF-K8S-01", f"{name} of a denial changed", expected, value, request)


_ELSEWHERE: Final = re.compile("/apiVersion|/kind|/response/(uid|allowed|patch|patchType)")
"""What is judged by itself."""


def denial_kept(subject: Subject) -> Iterator[Finding]:
    """What the webhook said of its reasons stays, in its order; causes and warnings come after its own."""
    for _, request, pair in denials(subject):
        for difference in differences(pair.direct.body, pair.through.body, grown=_GROWN):
            if not _ELSEWHERE.fullmatch(difference.pointer):
                yield finding("SRF-TRN-05", difference, request)


def form(subject: Subject) -> Iterator[Finding]:
    """Feedback stands in a cause, as JSON text; nothing stands where the API server would drop or refuse it."""
    for vector, request, pair in denials(subject):
        response = _response(body_of(pair.through))
        unknown = sorted(set(response) - _MEMBERS)
        if unknown:
            sentence = f"a response has members that admission.k8s.io/v1 does not know: {', '.join(unknown)}"
            yield Finding("SRF-K8S-02", sentence, sorted(_MEMBERS), sorted(response), request)
        silent = any(way.get("silent") for way in vector.allowed)
        causes = _causes(response)
        own_causes = [cause for cause in causes if isinstance(cause, dict) and cause.get("reason") == CAUSE]
        if not own_causes:
            if not silent:
                sentence = f"{vector.description} No cause has the reason {CAUSE}"
                yield Finding("SRF-K8S-02", sentence, {"reason": CAUSE, "message": "{...}"}, causes, request)
            continue
        if causes[len(causes) - len(own_causes) :] != own_causes:
            yield Finding("SRF-K8S-02", "the cause of the feedback is not the last one", [CAUSE], causes, request)
        if _feedback(response) is None:
            sentence = "no cause of the feedback has JSON text as its message"
            yield Finding("SRF-K8S-02", sentence, "{...}", own_causes[0].get("message"), request)


def _causes(response: Mapping[str, Any]) -> list[Any]:
    status = response.get("status")
    details = status.get("details") if isinstance(status, dict) else None
    causes = details.get("causes") if isinstance(details, dict) else None
    return causes if isinstance(causes, list) else []


def _feedback(response: Mapping[str, Any]) -> Json | None:
    """Return what a front before the API server will find in the Status that is made of a denial."""
    status = response.get("status")
    details = status.get("details") if isinstance(status, dict) else None
    return next((carried.feedback for carried in carried({"kind": "Status", "details": details})), None)


def warnings(subject: Subject) -> Iterator[Finding]:
    """Lines for people fit: the API server cuts and drops longer ones."""
    for _, request, pair in denials(subject):
        native = _response(body_of(pair.direct)).get("warnings", [])
        warnings = _response(body_of(pair.through)).get("warnings", [])
        for line in warnings[len(native) :] if isinstance(warnings, list) else []:
            if not isinstance(line, str) or not line.strip() or len(line) > LONGEST:
                sentence = f"a warning is no text of 1 to {LONGEST} characters"
                yield Finding("SRF-K8S-03", sentence, str(line)[:LONGEST], line, request)
        if _feedback(_response(body_of(pair.through))) is not None and warnings == native:
            yield Finding(
                "SRF-K8S-03", "there is feedback, and no warning that people see", [*native, "..."], warnings, request
            )


def no_patch(subject: Subject) -> Iterator[Finding]:
    """A denial gets no patch: the object is the caller's to change."""
    for _, request, pair in denials(subject):
        native, response = _response(body_of(pair.direct)), _response(body_of(pair.through))
        for name in ("patch", "patchType"):
            expected, actual = native.get(name, ABSENT), response.get(name, ABSENT)
            if actual != expected:
                sentence = f"{name} of a denial is not what the webhook sent"
                yield Finding("SRF-K8S-05", sentence, expected, actual, request)


def review(**more: Json) -> bytes:
    """Return the question about a pod that nobody has anything against."""
    request = {
        "uid": _UID,
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "name": "ok",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "dev"},
        "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ok"}, "spec": {"containers": []}},
        **more,
    }
    return encoded({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})


def verdict(allowed: bool, **more: Json) -> dict[str, Json]:
    """Return a webhook's answer."""
    response = {"uid": _UID, "allowed": allowed, **more}
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}


def _question(**more: Json) -> HttpRequest:
    return HttpRequest("POST", "/validate?timeout=10s", (_JSON, _AGENT), review(**more))


_SLOW: Final = 1.0


def failure_policy(subject: Subject) -> Iterator[Finding]:
    """Where the webhook fails the API server has to see that: failurePolicy is its own to apply."""
    for name, request, upstream_answer in cases("webhook/failure-policy"):
        response = subject.through(request, upstream_answer, timeout=_SLOW if "late" in name else 10.0)
        review_response = _response(body_of(response))
        if response.status == 200 and response.error is None and "allowed" in review_response:
            expected = "an answer that is no verdict, or none"
            yield Finding("SRF-K8S-04", f"{name} became a verdict", expected, body_of(response), request)


_TIMEOUT: Final = 2.0
"""Seconds that the question gives the webhook, as in the `timeout` that the API server adds to its path."""


def in_time(subject: Subject) -> Iterator[Finding]:
    """The verdict arrives well before the API server stops waiting, whatever the proxy asks besides."""
    upstream = subject.suite_upstream
    before = upstream.api
    upstream.api = lambda received: Script((Pause(2 * _TIMEOUT),), close=True)
    try:
        for vector in exchange(PROFILE):
            request = sent(vector.request)
            sent_request = HttpRequest(
                "POST", f"{vector.request.path}?timeout={_TIMEOUT:g}s", (_JSON, _AGENT), request.body
            )
            response = subject.through(sent_request, script(vector.answer), timeout=2 * _TIMEOUT)
            if response.status == 0 or response.seconds >= _TIMEOUT:
                sentence = "the verdict came after the API server's time-out"
                yield Finding(
                    "SRF-K8S-04", sentence, f"under {_TIMEOUT:g} s", f"{response.seconds:.1f} s", sent_request
                )
                return
    finally:
        upstream.api = before


def asked_once(subject: Subject) -> Iterator[Finding]:
    """The webhook gets the question once, as it was put, and nothing else that could have side effects."""
    for dry_run in (False, True):
        request = _question(dryRun=dry_run).adding(subject.caller())
        denied = {"code": 403, "message": '[ns-labels] you must provide labels: {"owner"}'}
        before = len(subject.suite_upstream.requests)
        require_answer(subject.through(request, answer(200, verdict(False, status=denied))))
        came = [request.sent for request in subject.suite_upstream.requests[before:]]
        writes = [request for request in came if request.method not in ("GET", "HEAD")]
        if len(writes) != 1:
            yield Finding("SRF-K8S-04", "the webhook was asked more than once", 1, len(writes), request)
            continue
        if request_document(writes[0]).body != request_document(request).body:
            expected, actual = request_document(request).body, request_document(writes[0]).body
            yield Finding("SRF-K8S-04", "the question to the webhook changed", expected, actual, request)
        if writes[0].target != request.target:
            sentence = "the time that the API server gives its webhook got lost"
            yield Finding("SRF-K8S-04", sentence, request.target, writes[0].target, request)


def _explained(subject: Subject) -> Iterator[Explained]:
    """A reader takes what the cause says; where one is missing, its form is judged."""
    for vector, request, pair in denials(subject):
        feedback = _feedback(_response(body_of(pair.through)))
        if feedback is not None:
            yield Explained(vector, request, pair.through, feedback, asked_for(vector.request.body))


CHECKS: Final = (
    *profile_checks(
        ("webhook", PROFILE, PROXY),
        ("verdict-kept", "A denial stays one", verdict_kept, "SRF-K8S-01 SRF-K8S-02 SRF-TRN-03"),
        ("denial-kept", "The webhook's reasons stay", denial_kept, "SRF-TRN-05"),
        ("form", "Feedback stands in a cause", form, "SRF-K8S-02"),
        ("warnings", "Warnings are short", warnings, "SRF-K8S-03"),
        ("no-patch", "A denial gets no patch", no_patch, "SRF-K8S-05"),
        ("consents", "What is allowed passes to the byte", passes("SRF-TRN-01", "webhook/consents"), "SRF-TRN-01"),
        ("failure-policy", "A failing webhook is seen to fail", failure_policy, "SRF-K8S-04"),
        ("in-time", "The verdict is in time", in_time, "SRF-K8S-04"),
        ("asked-once", "The webhook is asked once", asked_once, "SRF-K8S-04"),
    ),
    *judged_checks("webhook", PROFILE, _explained, PROXY),
)
