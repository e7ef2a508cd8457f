"""The proxy between a real kube-apiserver and an admission webhook: what a denial gains, and what stays as it was.

The policies are other people's programs, each in an environment of its own: checkov, and kopf for the framework.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from corrigible.adapters.sandbox.certificate import Files, make_certificate
from corrigible.adapters.sandbox.runtimes import python_arguments, venv_python
from corrigible.adapters.sandbox.server import Command, Running, SandboxError, Server, free_port
from corrigible.proxy.demo.scene import proxy_for
from corrigible.schema.carrier import find
from corrigible.schema.exchange import Request
from corrigible.schema.reader import Next, apply

WEBHOOKS = Path(__file__).parent / "webhooks"
CHECKS = ("CKV_K8S_31", "CKV_K8S_38", "CKV_K8S_14")
"""A seccomp profile, no account token, a fixed image tag."""
REASON = "RecoveryFeedback"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def python_of(name: str) -> Path:
    """Return a Python that has the program: `CORRIGIBLE_CHECKOV`, say, or one that is set up here and kept."""
    chosen = os.environ.get(f"CORRIGIBLE_{name.upper()}")
    if chosen:
        return Path(chosen)
    try:
        return venv_python(name, WEBHOOKS / f"{name}.txt")
    except SandboxError as problem:
        pytest.skip(f"no {name} here: {problem}")


def started(name: str, python: Path, code: str, words: Sequence[str], port: int, **environment: str) -> Running:
    def command(_: int) -> Command:
        return Command(python_arguments(code, *words, executable=python), WEBHOOKS, environment)

    return Server(name=name, title=name, deviation="", command=command).start(port)


def in_front_of(port: int, webhook: Files, proxy: Files, *, at: int = 0) -> Running:
    options = ["--upstream-ca", str(webhook.authority), "--tls-cert", str(proxy.certificate)]
    options += ["--tls-key", str(proxy.key), "--relay-key", str(proxy.certificate.with_name("relay.key"))]
    return proxy_for(f"https://127.0.0.1:{port}", "kubernetes", options=options).start(at)


def registered(name: str, url: str, authority: Path, **more: Any) -> dict[str, Any]:
    """Return a configuration that sends pods of a namespace labelled with the name to a webhook."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    webhook = {
        "name": f"{name}.corrigible.test",
        "clientConfig": {"url": url, "caBundle": base64.b64encode(authority.read_bytes()).decode()},
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"policy": name}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": 10,
        **more,
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [webhook],
    }


def until(holds: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The webhooks' certificate."""
    return make_certificate(tmp_path_factory.mktemp("webhook-certificate"))


def is_told(answer: Any) -> bool:
    return answer.status_code < 400 or bool(causes_of(answer.json()))


def is_relayed(answer: Any) -> bool:
    """Whether the webhook's proxy has spoken, and not the one in front for want of that."""
    return any(cause["message"].startswith("{") for cause in causes_of(answer.json()))


def told(send: Callable[[], Any], enough: Callable[[Any], bool] = is_told) -> Any:
    """Send until there is feedback: on a busy machine a correction may take longer than it may, and is withheld."""
    for _ in range(20):
        answer = send()
        if enough(answer):
            break
    return answer


class Policies:
    """The same webhook, registered twice: as it is, and behind the proxy. A namespace is labelled for one of them."""

    def __init__(self, cluster: Any, direct: str, through: str) -> None:
        self._cluster = cluster
        self.direct = direct
        self.through = through

    def namespace(self, policy: str) -> str:
        name: str = self._cluster.namespace(policy=policy)
        return name

    def post(self, policy: str, pod: Any) -> Any:
        """Create a pod where this webhook judges. The apiserver is asked directly: the proxy is behind it."""
        with self._cluster.direct.client() as client:
            return client.post(f"/api/v1/namespaces/{self.namespace(policy)}/pods", json=pod)


@pytest.fixture(scope="module")
def checkov(cluster: Any, certificate: Files, proxy_certificate: Files) -> Iterator[Policies]:
    port = free_port()
    code = (WEBHOOKS / "checkov_webhook.py").read_text("utf-8")
    words = [str(port), str(certificate.certificate), str(certificate.key), ",".join(CHECKS)]
    with ExitStack() as stack:
        client = stack.enter_context(cluster.direct.client())
        stack.enter_context(started("checkov", python_of("checkov"), code, words, port))
        proxy = stack.enter_context(in_front_of(port, certificate, proxy_certificate))
        policies = Policies(cluster, "checkov-direct", "checkov-through")
        for name, url, ca in (
            (policies.direct, f"https://127.0.0.1:{port}", certificate.authority),
            (policies.through, proxy.url, proxy_certificate.authority),
        ):
            client.post(CONFIGURATIONS, json=registered(name, url, ca)).raise_for_status()
            stack.callback(client.delete, f"{CONFIGURATIONS}/{name}")
        broken = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
        for name in (policies.direct, policies.through):
            until(lambda name=name: policies.post(name, broken).status_code == 403, f"{name} judges")  # type: ignore[misc]
        yield policies


def causes_of(status: dict[str, Any]) -> list[Any]:
    found: list[Any] = status.get("details", {}).get("causes", [])
    return found


def feedback_of(status: dict[str, Any]) -> dict[str, Any]:
    """Return the feedback as a client finds it that looks for the one cause with our reason."""
    (found,) = [json.loads(cause["message"]) for cause in causes_of(status) if cause.get("reason") == REASON]
    assert isinstance(found, dict)
    return found


def unsealed(status: dict[str, Any]) -> dict[str, Any]:
    """Return a status without what its seal says: each one is made for one call."""
    for cause in causes_of(status):
        if cause.get("reason") == f"{REASON}Seal":
            assert cause.pop("message")
    return status


class TestCheckov:
    def test_a_denial_keeps_its_words_and_gains_causes(self, checkov: Policies, pod: Any) -> None:
        direct, through = checkov.post(checkov.direct, pod), told(lambda: checkov.post(checkov.through, pod))
        assert (direct.status_code, through.status_code) == (403, 403)
        native, status = direct.json(), through.json()
        said = native["message"].replace(f"{checkov.direct}.corrigible", f"{checkov.through}.corrigible")
        assert "CKV_K8S_31:\n  Description: Ensure that the seccomp profile is set" in said
        assert status["message"] == said
        for member in ("kind", "apiVersion", "status", "reason", "code"):
            assert status.get(member) == native.get(member)
        assert causes_of(native) == []
        assert feedback_of(status)["recovery"] == "correctable"
        assert any(value.startswith("299 ") for value in through.headers.get_list("warning"))

    def test_following_it_is_what_the_policy_accepts(self, checkov: Policies, cluster: Any, pod: Any) -> None:
        namespace = checkov.namespace(checkov.through)
        request = Request("POST", f"/api/v1/namespaces/{namespace}/pods", body=pod)
        with cluster.direct.client() as client:
            for _ in range(4):
                path, body = request.path, request.body
                answer = told(lambda path=path, body=body: client.post(path, json=body))  # type: ignore[misc]  # typed
                if answer.status_code == 201:
                    break
                following = apply(feedback_of(answer.json()), request)
                assert isinstance(following, Next), following
                request = following.request
        assert answer.status_code == 201
        made = answer.json()["spec"]
        assert made["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert made["automountServiceAccountToken"] is False
        assert [one["image"] for one in made["containers"]] == ["registry.k8s.io/pause:3.9"]

    def test_behind_two_proxies_it_is_a_member_of_the_status_again(
        self, checkov: Policies, cluster: Any, pod: Any
    ) -> None:
        first, second = (f"/api/v1/namespaces/{checkov.namespace(checkov.through)}/pods" for _ in range(2))
        with cluster.direct.client() as client, cluster.through.client() as through:
            once = told(lambda: client.post(first, json=pod)).json()
            twice = told(lambda: through.post(second, json=pod), is_relayed).json()
            again = told(lambda: client.post(second, json=pod)).json()
        assert twice.pop("recovery_feedback") == feedback_of(once)
        assert "loop" not in feedback_of(again), (
            "a kube-apiserver sends no credentials: whose attempt it is, nobody knows"
        )
        assert unsealed(twice) == unsealed(once)

    def test_what_a_stranger_writes_into_a_cause_is_only_to_be_confirmed(
        self, checkov: Policies, cluster: Any, pod: Any
    ) -> None:
        path = f"/api/v1/namespaces/{checkov.namespace(checkov.through)}/pods"
        with cluster.direct.client() as client:
            read = find(told(lambda: client.post(path, json=pod)).json(), 403)
        assert read is not None
        assert {one["safety"]["requires_confirmation"] for one in read["suggestions"]} == {True}

    def test_kubectl_prints_the_same_error_and_our_warnings(
        self, checkov: Policies, cluster: Any, kubectl: Any, pod: Any
    ) -> None:
        def applied(policy: str) -> Any:
            return kubectl(cluster.direct, "apply", "-n", checkov.namespace(policy), "-f", "-", stdin=json.dumps(pod))

        direct = applied(checkov.direct)
        through = told(lambda: applied(checkov.through), lambda done: "Warning: " in done.stderr)
        assert (direct.returncode, through.returncode) == (1, 1)
        said = through.stderr.replace(checkov.through, checkov.direct)
        warnings = [line for line in said.splitlines() if line.startswith("Warning: ")]
        assert warnings
        assert direct.stderr in said.replace("".join(f"{line}\n" for line in warnings), "")

    def test_what_is_allowed_is_the_same(self, checkov: Policies, pod: Any) -> None:
        pod["spec"] |= {"automountServiceAccountToken": False}
        pod["spec"]["securityContext"] = {"seccompProfile": {"type": "RuntimeDefault"}}
        for policy in (checkov.direct, checkov.through):
            answer = checkov.post(policy, pod)
            assert (answer.status_code, answer.headers.get("warning")) == (201, None)

    def test_the_python_client_finds_it_in_the_body(self, checkov: Policies, cluster: Any, pod: Any) -> None:
        client = importlib.import_module("kubernetes.client")
        configuration = client.Configuration(host=cluster.direct.url)
        configuration.ssl_ca_cert = str(cluster.direct.ca)
        configuration.api_key = {"authorization": "Bearer admin-token"}
        api = client.CoreV1Api(client.ApiClient(configuration))

        def refused() -> Any:
            with pytest.raises(client.ApiException) as caught:
                api.create_namespaced_pod(checkov.namespace(checkov.through), pod)
            return caught.value

        exception = told(refused, lambda one: bool(causes_of(json.loads(one.body))))
        assert (exception.status, exception.reason) == (403, "Forbidden")
        assert feedback_of(json.loads(exception.body))["suggestions"]


@pytest.fixture(scope="module")
def kopf(cluster: Any, certificate: Files, proxy_certificate: Files) -> Iterator[str]:
    """Kopf's own admission server behind the proxy, as kopf registers it. Yields the configuration's name."""
    python = python_of("kopf")
    port, front = free_port(), free_port()
    code = "import sys; from kopf.cli import main; main(sys.argv[1:])"
    words = ["run", "--standalone", "--all-namespaces", "--quiet", "kopf_policy.py"]
    environment = {
        "KUBECONFIG": str(cluster.direct.config),
        "PORT": str(port),
        "CERTIFICATE": str(certificate.certificate),
        "KEY": str(certificate.key),
        "PROXY": f"https://127.0.0.1:{front}",
        "PROXY_CA": str(proxy_certificate.authority),
    }
    with ExitStack() as stack:
        client = stack.enter_context(cluster.direct.client())
        stack.enter_context(in_front_of(port, certificate, proxy_certificate, at=front))
        stack.enter_context(started("kopf", python, code, words, port, **environment))
        name = "policy.corrigible.test"
        stack.callback(client.delete, f"{CONFIGURATIONS}/{name}")

        def is_there() -> bool:
            answer = client.get(f"{CONFIGURATIONS}/{name}")
            return answer.status_code == 200 and bool(answer.json().get("webhooks"))

        until(is_there, "kopf registers its webhook")
        (webhook,) = client.get(f"{CONFIGURATIONS}/{name}").json()["webhooks"]
        assert webhook["clientConfig"]["url"].startswith(environment["PROXY"])
        yield name


class TestKopf:
    def test_a_denial_keeps_its_words_its_code_and_its_warnings(self, kopf: str, cluster: Any, pod: Any) -> None:
        pod["metadata"]["labels"] = {"kopf": "on"}
        pod["spec"]["hostNetwork"] = True
        path = f"/api/v1/namespaces/{cluster.namespace()}/pods"
        with cluster.direct.client() as client:
            until(lambda: client.post(f"{path}?dryRun=All", json=pod).status_code == 422, "kopf judges")
            answer = told(lambda: client.post(path, json=pod))
        status = answer.json()
        assert (answer.status_code, status["code"]) == (422, 422)
        assert status["message"].endswith("denied the request: hostNetwork must not be true")
        warnings = answer.headers.get_list("warning")
        assert '299 - "looked at by kopf"' in warnings
        assert len(warnings) > 1
        assert feedback_of(status)["recovery"] in ("terminal", "correctable")

    def test_what_is_allowed_is_the_same(self, kopf: str, cluster: Any, pod: Any) -> None:
        pod["metadata"]["labels"] = {"kopf": "on"}
        with cluster.direct.client() as client:
            answer = client.post(f"/api/v1/namespaces/{cluster.namespace()}/pods", json=pod)
        assert (answer.status_code, answer.headers.get_list("warning")) == (201, ['299 - "looked at by kopf"'])


@pytest.fixture(scope="module")
def dead_end(certificate: Files, proxy_certificate: Files) -> Iterator[Running]:
    """A proxy in front of a webhook that is down."""
    with in_front_of(free_port(), certificate, proxy_certificate) as proxy:
        yield proxy


def test_a_webhook_that_is_down_is_judged_by_the_apiservers_own_failure_policy(
    cluster: Any, dead_end: Running, proxy_certificate: Files, pod: Any
) -> None:
    with cluster.direct.client() as client:
        body = registered("down", dead_end.url, proxy_certificate.authority, failurePolicy="Fail")
        path = f"/api/v1/namespaces/{cluster.namespace(policy='down')}/pods"
        client.post(CONFIGURATIONS, json=body).raise_for_status()
        try:
            until(lambda: client.post(f"{path}?dryRun=All", json=pod).status_code == 500, "it is asked")
            refused = client.post(path, json=pod)
            assert refused.status_code == 500
            assert 'failed calling webhook "down.corrigible.test"' in refused.json()["message"]
            edit = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]
            headers = {"content-type": "application/json-patch+json"}
            client.patch(f"{CONFIGURATIONS}/down", json=edit, headers=headers).raise_for_status()
            until(lambda: client.post(f"{path}?dryRun=All", json=pod).status_code == 201, "nobody minds")
        finally:
            client.delete(f"{CONFIGURATIONS}/down")
