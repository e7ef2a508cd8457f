"""The manifests of `proxy/deploy` on a real kube-apiserver, and the webhook's overlay between it and a webhook."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from corrigible.adapters.sandbox.certificate import Files, make_certificate
from corrigible.adapters.sandbox.runtimes import python_arguments, venv_python
from corrigible.adapters.sandbox.server import Command, Running, Server
from corrigible.schema.carrier import find
from tests._support.deployment import COMPONENTS, DEPLOY, OVERLAYS, Rendered, render, running

WEBHOOKS = Path(__file__).parent / "webhooks"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
OLDER = {"autoscaling/v2": "autoscaling/v2beta2", "policy/v1": "policy/v1beta1"}
"""Versions under which servers before 1.25 have the same fields."""
KINDS = {
    *("ConfigMap", "Deployment", "HorizontalPodAutoscaler", "NetworkPolicy", "PodDisruptionBudget", "Service"),
    "ServiceAccount",
}


@pytest.fixture(scope="module")
def api(cluster: Any) -> Iterator[httpx.Client]:
    """The API server, with the namespaces of the overlays."""
    with cluster.direct.client() as client:
        for name in OVERLAYS.values():
            client.post("/api/v1/namespaces", json={"metadata": {"name": name}}).raise_for_status()
        yield client
        for name in OVERLAYS.values():
            client.delete(f"/api/v1/namespaces/{name}")


def served(api: httpx.Client, version: str) -> str:
    """Return the version, or the older one if that is what this server has."""
    root = "/api/v1" if version == "v1" else f"/apis/{version}"
    return version if api.get(root).status_code == 200 else OLDER[version]


def dropped(sent: Any, stored: Any, place: str = "") -> list[str]:
    """Return the places of what was sent and is not stored as it was sent."""
    if isinstance(sent, Mapping) and isinstance(stored, Mapping):
        return [at for name in sent for at in dropped(sent[name], stored.get(name), f"{place}/{name}")]
    if isinstance(sent, list) and isinstance(stored, list) and len(sent) == len(stored):
        return [
            at
            for i, (one, other) in enumerate(zip(sent, stored, strict=True))
            for at in dropped(one, other, f"{place}/{i}")
        ]
    return [] if sent == stored else [place]


@pytest.mark.parametrize(("overlay", "components"), [(one, more) for one in OVERLAYS for more in ((), COMPONENTS)])
def test_each_object_is_accepted_and_nothing_of_it_is_dropped(
    api: httpx.Client, overlay: str, components: tuple[str, ...], tmp_path: Path
) -> None:
    objects = render(overlay, tmp_path, components).objects
    assert {one["kind"] for one in objects} == KINDS
    for one in objects:
        version = served(api, one["apiVersion"])
        root = "/api/v1" if version == "v1" else f"/apis/{version}"
        kinds = {kind["kind"]: kind["name"] for kind in api.get(root).json()["resources"] if "/" not in kind["name"]}
        path = f"{root}/namespaces/{one['metadata']['namespace']}/{kinds[one['kind']]}"
        sent = {**one, "apiVersion": version}
        answer = api.post(path, params={"dryRun": "All"}, json=sent)
        assert answer.status_code == 201, (one["kind"], answer.text)
        assert dropped(sent, answer.json()) == [], one["kind"]


def test_a_member_that_the_server_does_not_know_is_seen(api: httpx.Client) -> None:
    account = {"metadata": {"name": "a"}, "automountServiceAccountTokn": False}
    answer = api.post("/api/v1/namespaces/shop/serviceaccounts", params={"dryRun": "All"}, json=account)
    assert dropped(account, answer.json()) == ["/automountServiceAccountTokn"]


def test_the_patch_points_the_api_server_at_the_proxy(
    api: httpx.Client, cluster: Any, kubectl: Any, proxy_certificate: Files, tmp_path: Path
) -> None:
    service = {"name": "policy", "namespace": "policies", "path": "/validate"}
    webhook = {
        "name": "policy.corrigible.test",
        "clientConfig": {"service": service, "caBundle": encoded(proxy_certificate.authority)},
        "rules": [{"apiGroups": ["none.test"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    api.post(CONFIGURATIONS, json={"metadata": {"name": "policy"}, "webhooks": [webhook]}).raise_for_status()
    try:
        authority = encoded(make_certificate(tmp_path).authority)
        text = (DEPLOY / "kustomize/overlays/admission-webhook/client-config.yaml").read_text("utf-8")
        assert text.count("CA_IN_BASE64") == 1
        (tmp_path / "client-config.yaml").write_text(text.replace("CA_IN_BASE64", authority), "utf-8")
        command = text.partition("kubectl ")[2].partition("\n")[0].split()
        assert command[-1] == "client-config.yaml"
        done = kubectl(cluster.direct, *command[:-1], str(tmp_path / command[-1]))
        assert done.returncode == 0, done.stderr
        (patched,) = api.get(f"{CONFIGURATIONS}/policy").json()["webhooks"]
    finally:
        api.delete(f"{CONFIGURATIONS}/policy")
    target = render("admission-webhook", tmp_path).one("Service")
    assert patched["clientConfig"] == {
        "service": {
            "name": target["metadata"]["name"],
            "namespace": target["metadata"]["namespace"],
            "path": "/validate",
            "port": target["spec"]["ports"][0]["port"],
        },
        "caBundle": authority,
    }


def encoded(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()


@pytest.fixture
def checkov(tmp_path: Path) -> Iterator[tuple[Running, Files]]:
    """A webhook of somebody, and its certificate."""
    folder = tmp_path / "checkov"
    folder.mkdir()
    files = make_certificate(folder)
    code = (WEBHOOKS / "checkov_webhook.py").read_text("utf-8")
    program = venv_python("checkov", WEBHOOKS / "checkov.txt")

    def command(port: int) -> Command:
        words = [str(port), str(files.certificate), str(files.key), "CKV_K8S_31"]
        return Command(python_arguments(code, *words, executable=program), WEBHOOKS)

    with Server("checkov", "checkov", "", command, scheme="https").start() as webhook:
        yield webhook, files


def test_a_denial_of_a_webhook_behind_the_overlay_has_feedback(
    cluster: Any, api: httpx.Client, checkov: tuple[Running, Files], pod: dict[str, Any], tmp_path: Path
) -> None:
    webhook, theirs = checkov
    ours = make_certificate(tmp_path)
    objects: Rendered = render("admission-webhook", tmp_path)
    secrets = {
        "policy-corrigible-tls": {"tls.crt": ours.certificate.read_text(), "tls.key": ours.key.read_text()},
        "policy-ca": {"ca.crt": theirs.authority.read_text()},
    }
    objects.lay_out(tmp_path / "root", secrets)
    namespace = cluster.namespace(policy="deployed")
    with ExitStack() as stack:
        container = stack.enter_context(running(objects, tmp_path / "root", webhook.url))
        configuration = registered(f"{container.proxy.url}/validate", ours.authority)
        api.post(CONFIGURATIONS, json=configuration).raise_for_status()
        stack.callback(api.delete, f"{CONFIGURATIONS}/deployed")
        for _ in range(50):  # until the server knows the configuration, and a correction is in time on a busy machine
            answer = api.post(f"/api/v1/namespaces/{namespace}/pods", params={"dryRun": "All"}, json=pod)
            causes = answer.json().get("details", {}).get("causes", [])
            if causes:
                break
    assert answer.status_code == 403, answer.text
    (cause,) = [cause for cause in causes if cause["reason"] == "RecoveryFeedback"]
    assert json.loads(cause["message"])["suggestions"]
    assert find(answer.json()) is not None


def registered(url: str, authority: Path) -> dict[str, Any]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    webhook = {
        "name": "deployed.corrigible.test",
        "clientConfig": {"url": url, "caBundle": encoded(authority)},
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"policy": "deployed"}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    return {"metadata": {"name": "deployed"}, "webhooks": [webhook]}
