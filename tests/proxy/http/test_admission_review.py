"""The webhook position: what kube-apiserver asks, and what becomes of a denial on its way back."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from corrigible.adapters.apis.kubernetes.adapter import ADAPTER, may_refuse, present
from corrigible.proxy.build import load_profiles
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.http.corrector import HttpCorrector, HttpOutcome
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.schema.carrier import carried, find
from corrigible.schema.exchange import Exchange, Request
from tests._support.rows import rows

POD = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}], "hostNetwork": True}}
JSON = ("Content-Type", "application/json")
RULE = """\
match: {code: WEBHOOK, message: hostNetwork, status: 400}
suggest:
  - action: MODIFY_PARAMS
    message: Leave the host's network.
    patch: [{op: test, path: /body/spec/hostNetwork, value: true}, {op: remove, path: /body/spec/hostNetwork}]
    changes_intent: true
"""
ASKS = """\
match: {code: WEBHOOK, message: lives}
lookup: {x: {get: "'/v1/x'"}}
suggest: [{action: ESCALATE, actor: you, message: m}]
"""
MAY_ASK = (
    "match: {code: WEBHOOK, message: lives}\nlookup: {x: {get: \"'/v1/x'\", optional: true}}\n"
    "suggest: [{action: ESCALATE, actor: somebody_else, message: Without an answer., if: x == null}]\n"
)


def review(**request: Any) -> dict[str, Any]:
    asked = {
        "uid": "u-1",
        "operation": "CREATE",
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": "t",
        "name": "p",
        "object": POD,
        **request,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}


def denial(status: Any = None, **response: Any) -> dict[str, Any]:
    said = {"uid": "u-1", "allowed": False, **({} if status is None else {"status": status}), **response}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": said}


def presented(asked: dict[str, Any], answer: dict[str, Any], status: int = 200) -> Exchange | None:
    request = Request("POST", "/validate-pods", headers={"content-type": "application/json"}, body=asked)
    return present(Exchange(request, status, {}, orjson.dumps(answer), "e1", 5.0, 0.25))


@pytest.mark.parametrize(
    ("server", "request_", "caller"),
    [
        ("s", {"userInfo": {"username": "ada"}}, "s ada"),
        ("s", {}, "s "),
        ("s", {"userInfo": {"username": "ada"}, "dryRun": True}, ""),
        ("", {"userInfo": {"username": "ada"}}, ""),
    ],
)
def test_who_calls_is_the_user_that_the_server_names(server: str, request_: dict[str, Any], caller: str) -> None:
    asked = Request("POST", "/validate-pods", headers={}, body=review(**request_))
    shown = present(Exchange(asked, 200, {}, orjson.dumps(denial()), "e1", 5.0, 0.25, caller=server))
    assert shown is not None and shown.caller == caller


APPS = {"group": "apps", "version": "v1", "resource": "deployments"}
NAMESPACES = {"group": "", "version": "v1", "resource": "namespaces"}


@rows(
    ("asked", "method", "path"),
    [
        ({}, "POST", "/api/v1/namespaces/t/pods"),
        ({"name": ""}, "POST", "/api/v1/namespaces/t/pods"),
        ({"operation": "UPDATE"}, "PUT", "/api/v1/namespaces/t/pods/p"),
        ({"operation": "UPDATE", "subResource": "status"}, "PUT", "/api/v1/namespaces/t/pods/p/status"),
        ({"operation": "DELETE", "object": None}, "DELETE", "/api/v1/namespaces/t/pods/p"),
        ({"operation": "CONNECT", "subResource": "exec"}, "POST", "/api/v1/namespaces/t/pods/p/exec"),
        ({"subResource": "eviction"}, "POST", "/api/v1/namespaces/t/pods/p/eviction"),
        ({"resource": APPS}, "POST", "/apis/apps/v1/namespaces/t/deployments"),
        ({"resource": APPS, "namespace": ""}, "POST", "/apis/apps/v1/deployments"),
        ({"resource": NAMESPACES, "namespace": "t", "name": "t"}, "POST", "/api/v1/namespaces"),
        ({"resource": NAMESPACES, "namespace": "t", "name": "t", "operation": "UPDATE"}, "PUT", "/api/v1/namespaces/t"),
        ({"operation": "UPDATE", "name": "a/b c"}, "PUT", "/api/v1/namespaces/t/pods/a%2Fb%20c"),
    ],
)
def test_the_agents_own_request(asked: dict[str, Any], method: str, path: str) -> None:
    exchange = presented(review(**asked), denial())
    assert exchange is not None
    request = exchange.request
    assert (request.method, request.path, request.query) == (method, path, {})
    assert request.body == review(**asked)["request"]["object"]
    assert (exchange.id, exchange.started, exchange.elapsed) == ("e1", 5.0, 0.25)


def test_a_dry_run_stays_one() -> None:
    exchange = presented(review(dryRun=True), denial())
    assert exchange is not None
    assert exchange.request.query == {"dryRun": "All"}


DENIED = 'admission webhook "validate-pods" denied the request'


@rows(
    ("status", "code", "message", "reason"),
    [
        (None, 400, f"{DENIED} without explanation", None),
        ({}, 400, f"{DENIED} without explanation", None),
        ({"message": "no"}, 400, f"{DENIED}: no", None),
        ({"message": "no", "code": 200}, 400, f"{DENIED}: no", None),
        ({"message": "no", "code": 403, "reason": "Forbidden"}, 403, f"{DENIED}: no", "Forbidden"),
        ({"reason": "TooBad", "code": 422}, 422, f"{DENIED}: TooBad", "TooBad"),
    ],
)
def test_the_status_that_the_server_will_make_of_it(status: Any, code: int, message: str, reason: Any) -> None:
    exchange = presented(review(), denial(status))
    assert exchange is not None
    said = orjson.loads(exchange.body)
    assert (exchange.status, said["code"], said["message"], said.get("reason")) == (code, code, message, reason)
    assert (said["kind"], said["status"]) == ("Status", "Failure")


@rows(
    ("asked", "answer", "status"),
    [
        (review(), denial(allowed=True), 200),
        (review(), {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}, 200),
        (review(), {"response": {"allowed": False}}, 200),
        (review(), denial(), 500),
        ({"kind": "Pod", "apiVersion": "v1", "request": review()["request"]}, denial(), 200),
        ({**review(), "apiVersion": "other.io/v1"}, denial(), 200),
        ({**review(), "request": None}, denial(), 200),
        (review(operation="GUESS"), denial(), 200),
        (review(resource={}), denial(), 200),
        (review(resource="pods"), denial(), 200),
    ],
)
def test_what_is_no_denial_is_left_alone(asked: dict[str, Any], answer: dict[str, Any], status: int) -> None:
    assert presented(asked, answer, status) is None


@rows(
    ("method", "path", "agent", "may"),
    [
        ("POST", "/validate", "", True),
        ("POST", "/", "", True),
        ("POST", "/apis-of-mine", "", True),
        ("POST", "/api/v1/namespaces/t/pods", "kubectl/v1.32", False),
        ("POST", "/apis/apps/v1/namespaces/t/deployments", "", False),
        ("POST", "/apis/group.io/v1/validate", "kube-apiserver-admission", True),
        ("GET", "/validate", "kube-apiserver-admission", False),
        ("POST", "/healthz", "", False),
    ],
)
def test_which_successes_may_be_denials(method: str, path: str, agent: str, may: bool) -> None:
    assert may_refuse(method, path, {"user-agent": agent}) is may


Ask = Callable[..., HttpOutcome]


@pytest.fixture
def corrector(write_pack: Callable[..., Path]) -> HttpCorrector:
    manifest = """\
    redact: [/message, /response/status/message]
    lookups: [/v1/x]
    dry_run: {query: {dryRun: All}, methods: [POST]}
    """
    (known,) = load_profiles([write_pack(manifest=manifest, host=RULE, asks=ASKS, may_ask=MAY_ASK)])
    return HttpCorrector(Engine([replace(known, adapter=ADAPTER)]), query_mode=True)


@pytest.fixture
def ask(corrector: HttpCorrector) -> Ask:
    def asked(
        native: bytes,
        mode: Mode = Mode.REFLECTIVE,
        headers: Sequence[tuple[str, str]] = (JSON,),
        path: str = "/validate",
    ) -> HttpOutcome:
        request = RequestHead("POST", f"{path}?mode={mode}&timeout=10s", [JSON])
        response = ResponseHead(200, headers)
        going = corrector.correct(HttpExchange(request, orjson.dumps(review()), response, native), id="e", started=1.0)
        return run_with_lookups_sync(going, unreachable)

    return asked


def unreachable(lookup: Lookup) -> LookupAnswer:
    raise AssertionError(f"the webhook was asked for {lookup.path}")


NATIVE = (
    b'{"kind":"AdmissionReview", "apiVersion":"admission.k8s.io/v1",\n "response": {"uid":"u-1","allowed": false,'
    b'"patch":"W10=","patchType":"JSONPatch", "status":{"message": "hostNetwork must not be true" }%s } }\n'
)


def rewritten(outcome: HttpOutcome) -> bytes:
    assert outcome.rewrite is not None, outcome
    assert [name for name, _ in outcome.rewrite.headers if name == "Warning"] == []
    return outcome.rewrite.body


@pytest.mark.parametrize("more", [b"", b',"warnings":[]', b',"warnings":["of its own"]'])
def test_a_denial_carries_the_feedback_in_a_cause_and_says_it_in_a_warning(ask: Ask, more: bytes) -> None:
    native = NATIVE % more
    text = rewritten(ask(native))
    body = json.loads(text)
    response = body["response"]
    before = json.loads(native)["response"]
    (cause,) = response["status"]["details"]["causes"]
    assert cause["reason"] == "RecoveryFeedback"
    feedback = json.loads(cause["message"])
    assert feedback["suggestions"][0]["patch"][1] == {"op": "remove", "path": "/body/spec/hostNetwork"}
    assert feedback["suggestions"][0]["safety"]["changes_intent"] is True
    line = "Leave the host's network. (remove spec.hostNetwork)"
    assert response["warnings"] == [*before.get("warnings", []), line]
    assert {k: v for k, v in response.items() if k not in ("status", "warnings")} == {
        k: v for k, v in before.items() if k not in ("status", "warnings")
    }
    assert set(response["status"]) == {"message", "details"}
    assert set(body) == {"kind", "apiVersion", "response"}
    rest = iter(text)
    assert all(char in rest for char in native)  # every byte of it, in its order


def test_the_server_passes_it_on_to_a_reader(ask: Ask) -> None:
    status = json.loads(rewritten(ask(NATIVE % b"")))["response"]["status"]
    passed_on = {**status, "kind": "Status", "status": "Failure", "message": f"{DENIED}: {status['message']}"}
    (carries,) = carried(passed_on)
    assert carries.feedback["message"] == "It is host."
    found = find(passed_on, 400)
    assert found is not None
    assert found["suggestions"][0]["patch"] == carries.feedback["suggestions"][0]["patch"]
    assert found["suggestions"][0]["evidence"] == {"kind": "relayed", "pointer": "/details/causes"}


@rows(
    "native",
    [
        b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u","allowed":true}}',
        b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u","allowed":true,"patch":"eA=="}}',
        b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u","allowed":false,'
        b'"status":{"message":"nobody knows"}}}',
        b'{"ok": true}',
        b"",
    ],
)
@rows("mode", [Mode.REFLECTIVE, Mode.VERBOSE, Mode.TRADITIONAL])
def test_everything_else_leaves_as_it_came(ask: Ask, native: bytes, mode: Mode) -> None:
    outcome = ask(native, mode)
    if mode is Mode.TRADITIONAL and b"nobody" in native:
        assert json.loads(rewritten(outcome))["response"]["status"]["message"] == ""
    else:
        assert (outcome.rewrite, outcome.error) == (None, None)


def test_nothing_is_looked_up_at_a_webhook(ask: Ask) -> None:
    native = NATIVE.replace(b"hostNetwork must not be true", b"it lives") % b""
    outcome = ask(native)
    assert outcome.rules == ("apex.may-ask",)


def test_the_other_modes(ask: Ask) -> None:
    body = json.loads(rewritten(ask(NATIVE % b"", Mode.VERBOSE)))
    assert body["response"]["warnings"] == ["It is host."]
    assert set(body["response"]["status"]) == {"message"}
    body = json.loads(rewritten(ask(NATIVE % b"", Mode.TRADITIONAL)))
    assert body["response"]["status"] == {"message": ""}
    assert ask(NATIVE % b"", Mode.NONE).rewrite is None


def test_a_denial_without_a_status(ask: Ask) -> None:
    native = b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u","allowed":false}}'
    assert ask(native).rewrite is None  # no rule of this pack speaks, and nothing breaks


def test_webhooks_that_call_their_json_text_are_read(corrector: HttpCorrector) -> None:
    request, plain = RequestHead("POST", "/validate", [JSON]), [("Content-Type", "text/plain; charset=utf-8")]
    assert corrector.wants_body(request, ResponseHead(200, plain))
    assert not corrector.wants_body(request, ResponseHead(200, [("Content-Type", "application/octet-stream")]))
    own = RequestHead("POST", "/api/v1/namespaces/t/pods", [JSON])
    assert not corrector.wants_body(own, ResponseHead(201, [JSON]))
    assert not corrector.wants_body(RequestHead("GET", "/x", []), ResponseHead(200, [JSON]))
