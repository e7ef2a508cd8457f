"""A repair that the API server accepts keeps what was asked for, or says what goes: on a real kube-apiserver."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from corrigible.schema import Next, Request, apply

CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
POD = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}
DAILY = {"schedule": "0 6 * * *", "jobTemplate": {"spec": {"template": POD}}}
OLD_INGRESS = {"backend": {"serviceName": "web", "servicePort": 80}, "rules": [{"host": "a.test"}]}


def refused(cluster: Any, method: str, path: str, body: Any) -> tuple[dict[str, Any], Request, httpx.Response]:
    """Send an object through the proxy; return the feedback, the request, and the answer to the repaired one."""
    request = Request(method, path, headers={"content-type": "application/json"}, body=body)
    with cluster.through.client() as client:
        answer = client.request(method, path, json=body)
        assert answer.status_code >= 400, answer.text
        feedback: dict[str, Any] = answer.json()["recovery_feedback"]
        following = apply(feedback, request)
        assert isinstance(following, Next), feedback
        after = following.request
        accepted = client.request(after.method, after.path, json=after.body, headers=dict(after.headers))
    return feedback, request, accepted


def test_of_the_versions_served_the_one_that_keeps_everything_is_taken(cluster: Any) -> None:
    space = cluster.namespace()
    spec = {"scaleTargetRef": DEPLOYMENT, "minReplicas": 1, "maxReplicas": 5, "metrics": [CPU]}
    spec["behavior"] = {"scaleDown": {"stabilizationWindowSeconds": 60}}
    body = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}, "spec": spec}
    path = f"/apis/autoscaling/v2/namespaces/{space}/horizontalpodautoscalers"
    feedback, _, accepted = refused(cluster, "POST", path, body)
    first = feedback["suggestions"][0]
    assert first["verification"] == {"status": "verified", "method": "dry_run"}
    assert (first["applicability"], first["safety"]["changes_intent"]) == ("MACHINE_APPLICABLE", False)
    assert accepted.status_code == 201, accepted.text
    stored = accepted.json()
    assert stored["apiVersion"] == "autoscaling/v2beta2"
    assert stored["spec"]["metrics"] == [CPU]
    assert stored["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 60


@pytest.mark.parametrize(
    ("resource", "body", "lost"),
    [
        (
            "batch/v1/{}/cronjobs",
            {"apiVersion": "batch/v1", "kind": "CronJob", "spec": {**DAILY, "timeZone": "Asia/Tokyo"}},
            ["/body/spec/timeZone"],
        ),
        (
            "policy/v1/{}/poddisruptionbudgets",
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": {"maxUnavailable": 1, "selector": {}}},
            ["/body/spec/selector"],
        ),
        (
            "networking.k8s.io/v1/{}/ingresses",
            {"apiVersion": "networking.k8s.io/v2", "kind": "Ingress", "spec": OLD_INGRESS},
            ["/body/spec/backend/serviceName", "/body/spec/backend/servicePort"],
        ),
    ],
)  # fmt: skip
def test_what_the_served_version_drops_is_said(cluster: Any, resource: str, body: Any, lost: list[str]) -> None:
    path = "/apis/" + resource.format(f"namespaces/{cluster.namespace()}")
    request = {**body, "metadata": {"name": "x"}}
    with cluster.through.client() as client:
        feedback = client.post(path, json=request).json()["recovery_feedback"]
    for suggestion in feedback["suggestions"]:
        assert suggestion.get("applicability") != "MACHINE_APPLICABLE", feedback
    said = [set(s["safety"].get("loses", ())) for s in feedback["suggestions"] if "patch" in s]
    assert all(loses >= set(lost) for loses in said), feedback


def test_a_version_that_keeps_everything_needs_nobody(cluster: Any) -> None:
    body = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": DAILY}
    path = f"/apis/batch/v1/namespaces/{cluster.namespace()}/cronjobs"
    feedback, _, accepted = refused(cluster, "POST", path, body)
    (only,) = feedback["suggestions"]
    assert (only["applicability"], only["safety"].get("loses")) == ("MACHINE_APPLICABLE", None)
    assert accepted.json()["spec"]["schedule"] == "0 6 * * *"


def test_limits_are_made_for_what_was_asked_and_for_nothing_else(cluster: Any) -> None:
    asked = {"requests": {"cpu": "250m", "memory": "64Mi", "example.com/gpu": "1"}}
    pod = {"containers": [{"name": "c", "image": "x", "resources": asked}]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": pod}
    feedback, _, accepted = refused(cluster, "POST", f"/api/v1/namespaces/{cluster.namespace()}/pods", body)
    assert feedback["suggestions"][0]["safety"]["changes_intent"] is False
    assert accepted.json()["spec"]["containers"][0]["resources"]["limits"] == {"example.com/gpu": "1"}


def test_what_may_be_encoded_already_is_asked_about(cluster: Any) -> None:
    """Base64 without its padding, and a text that is none: no machine knows which of them was meant."""
    path = f"/api/v1/namespaces/{cluster.namespace()}/secrets"
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "data": {"key": "c2VjcmV0LXZhbHVl", "other": "cGFzc3dvcmQxMg"},
    }
    with cluster.through.client() as client:
        feedback = client.post(path, json=body).json()["recovery_feedback"]
    assert not isinstance(apply(feedback, Request("POST", path, body=body)), Next), feedback
