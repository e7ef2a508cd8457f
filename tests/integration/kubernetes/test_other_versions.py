"""Versions that a real kube-apiserver does not have: the call is made in one that it has, and what it loses is said."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from corrigible.adapters.apis.kubernetes.sandbox import ASSETS, apiserver, authority, find_apiserver, find_etcd
from corrigible.adapters.sandbox.certificate import Files
from corrigible.proxy.demo.scene import proxy_for
from corrigible.schema import NeedsInput, Next, Request, apply
from tests.integration.kubernetes.conftest import Cluster, place
from tests.integration.kubernetes.test_wish_kept import CPU, DAILY, DEPLOYMENT

MERGE = {"content-type": "application/merge-patch+json"}
SCALE = {"scaleTargetRef": DEPLOYMENT, "minReplicas": 1, "maxReplicas": 5, "metrics": [CPU]}
ALLOWED = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}
RESOURCES: list[tuple[str, str, str, str, dict[str, Any], dict[str, Any]]] = [
    # served, asked for, kind, plural, what is made, what is changed
    ("batch/v1beta1", "batch/v1", "CronJob", "cronjobs", DAILY, {"suspend": True}),
    (
        "autoscaling/v2beta2",
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        SCALE,
        {"maxReplicas": 7},
    ),
    (
        "policy/v1beta1",
        "policy/v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        ALLOWED,
        {"maxUnavailable": 2},
    ),
]


def feedback_of(cluster: Any, request: Request) -> dict[str, Any]:
    with cluster.through.client() as client:
        answer = client.request(
            request.method, request.path, params=dict(request.query), json=request.body, headers=dict(request.headers)
        )
    assert answer.status_code == 404, answer.text
    if not answer.headers["content-type"].startswith("application/json"):
        with cluster.through.client() as client:
            link = answer.headers["link"].partition("<")[2].partition(">")[0]
            told: dict[str, Any] = client.get(link).json()
            return told
    return dict(answer.json()["recovery_feedback"])


def sent(cluster: Any, request: Request) -> Any:
    with cluster.through.client() as client:
        answer = client.request(
            request.method, request.path, params=dict(request.query), json=request.body, headers=dict(request.headers)
        )
    assert answer.status_code < 300, answer.text
    return answer.json()


@pytest.mark.parametrize(("served", "asked", "kind", "plural", "spec", "change"), RESOURCES)
def test_each_call_is_made_in_the_version_that_is_served(
    cluster: Any, served: str, asked: str, kind: str, plural: str, spec: Any, change: Any
) -> None:
    space = cluster.namespace()
    there, here = (f"/apis/{version}/namespaces/{space}/{plural}" for version in (asked, served))
    body = {"apiVersion": asked, "kind": kind, "metadata": {"name": "one"}, "spec": spec}
    made = Request("POST", there, headers={"content-type": "application/json"}, body=body)
    following = apply(feedback_of(cluster, made), made)
    assert isinstance(following, Next)
    assert sent(cluster, following.request)["apiVersion"] == served

    for request in (Request("GET", f"{there}/one"), Request("GET", there, query={"limit": "5"})):
        following = apply(feedback_of(cluster, request), request)
        assert isinstance(following, Next)
        assert following.request.query == request.query
        assert sent(cluster, following.request)["apiVersion"] == served

    changed = Request("PATCH", f"{there}/one", headers=MERGE, body={"spec": change})
    feedback = feedback_of(cluster, changed)
    (only,) = feedback["suggestions"]
    assert only["evidence"]["kind"] == "mapping"
    assert (only["safety"]["changes_intent"], only["safety"].get("loses")) == (False, None), feedback
    assert only["verification"] == {"status": "verified", "method": "dry_run"}
    following = apply(feedback, changed)
    assert isinstance(following, Next)
    stored = sent(cluster, following.request)
    assert {name: stored["spec"][name] for name in change} == change

    gone = Request("DELETE", f"{there}/one")
    feedback = feedback_of(cluster, gone)
    assert isinstance(apply(feedback, gone), NeedsInput)  # a deletion is confirmed
    following = apply(feedback, gone, confirm=True)
    assert isinstance(following, Next)
    sent(cluster, following.request)
    with cluster.direct.client() as client:
        assert client.get(f"{here}/one").status_code == 404


def test_a_field_that_the_served_version_lacks_is_told_as_lost(cluster: Any) -> None:
    space = cluster.namespace()
    body = {"apiVersion": "batch/v1beta1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": DAILY}
    with cluster.direct.client() as client:
        client.post(f"/apis/batch/v1beta1/namespaces/{space}/cronjobs", json=body).raise_for_status()
    change = {"spec": {"timeZone": "Asia/Tokyo", "suspend": True}}
    request = Request("PATCH", f"/apis/batch/v1/namespaces/{space}/cronjobs/c", headers=MERGE, body=change)
    feedback = feedback_of(cluster, request)
    (only,) = feedback["suggestions"]
    assert only["applicability"] == "MAYBE_INCORRECT"
    assert only["safety"] == {"side_effects": "certain", "changes_intent": True, "loses": ["/body/spec/timeZone"]}
    assert isinstance(apply(feedback, request), NeedsInput)


def test_what_means_something_else_in_the_other_version_is_told(cluster: Any) -> None:
    """An empty selector is every pod in policy/v1, and none in v1beta1."""
    space = cluster.namespace()
    request = Request(
        "PATCH",
        f"/apis/policy/v1/namespaces/{space}/poddisruptionbudgets/b",
        headers=MERGE,
        body={"spec": {"selector": {}, "maxUnavailable": 1}},
    )
    (only,) = feedback_of(cluster, request)["suggestions"]
    assert only["safety"]["changes_intent"]
    assert only["safety"]["loses"] == ["/body/spec/selector"]


def test_a_json_patch_is_not_said_to_keep_everything(cluster: Any) -> None:
    """What it changes stands in its paths, which a mapping of members does not read."""
    space = cluster.namespace()
    request = Request(
        "PATCH",
        f"/apis/batch/v1/namespaces/{space}/cronjobs/c",
        headers={"content-type": "application/json-patch+json"},
        body=[{"op": "replace", "path": "/spec/timeZone", "value": "Asia/Tokyo"}],
    )
    (only,) = feedback_of(cluster, request)["suggestions"]
    assert only["safety"]["changes_intent"]


def test_a_resource_that_no_version_has_stays_unknown(cluster: Any) -> None:
    request = Request("GET", f"/apis/autoscaling/v3/namespaces/{cluster.namespace()}/horizontalpodautoscalers")
    for suggestion in feedback_of(cluster, request)["suggestions"]:
        assert suggestion.get("evidence", {}).get("kind") != "mapping"
        assert suggestion["action"] != "NO_RECOVERY_AVAILABLE"


@pytest.fixture(scope="module")
def older(proxy_certificate: Files, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A server without networking.k8s.io/v1, as before Kubernetes 1.19, and the proxy before it."""
    if not os.environ.get(ASSETS):
        pytest.skip(f"{ASSETS} names no folder with a kube-apiserver")
    home = tmp_path_factory.mktemp("older")
    (home / "etcd").symlink_to(find_etcd())
    program = home / "kube-apiserver"
    options = "--runtime-config=networking.k8s.io/v1=false --disable-admission-plugins=DefaultIngressClass"
    program.write_text(f'#!/bin/sh\nexec "{find_apiserver()}" "$@" {options}\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ASSETS, str(home))
        server = apiserver().start()
    with server:
        ca = authority(server.port)
        tls = ["--tls-cert", str(proxy_certificate.certificate), "--tls-key", str(proxy_certificate.key)]
        with proxy_for(server.url, "kubernetes", options=["--upstream-ca", str(ca), *tls]).start() as proxy:
            direct = place(server.url, ca, home / "direct.json")
            yield Cluster(direct, place(proxy.url, proxy_certificate.authority, home / "through.json"), home, count(1))


def test_an_ingress_is_written_as_the_older_version_has_it(older: Cluster) -> None:
    def backend(service: str, **port: int | str) -> dict[str, Any]:
        return {"service": {"name": service, "port": port}}

    paths = [
        {"path": "/a", "pathType": "Prefix", "backend": backend("one", number=80)},
        {"path": "/b", "pathType": "Exact", "backend": backend("two", name="http")},
    ]
    rules = [{"host": "a.example.com", "http": {"paths": paths}}]
    spec = {"ingressClassName": "nginx", "defaultBackend": backend("web", number=8080), "rules": rules}
    body = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i"}, "spec": spec}
    path = f"/apis/networking.k8s.io/v1/namespaces/{older.namespace()}/ingresses"
    request = Request("POST", path, headers={"content-type": "application/json"}, body=body)
    feedback = feedback_of(older, request)
    (only,) = feedback["suggestions"]
    assert (only["applicability"], only["evidence"]["kind"]) == ("MAYBE_INCORRECT", "mapping")
    assert only["verification"] == {"status": "verified", "method": "dry_run"}
    assert only["safety"] == {"side_effects": "certain", "changes_intent": False}
    following = apply(feedback, request)
    assert isinstance(following, Next)
    stored = sent(older, following.request)
    assert stored["apiVersion"] == "networking.k8s.io/v1beta1"
    assert stored["spec"]["backend"] == {"serviceName": "web", "servicePort": 8080}
    assert stored["spec"]["rules"][0]["http"]["paths"] == [
        {"path": "/a", "pathType": "Prefix", "backend": {"serviceName": "one", "servicePort": 80}},
        {"path": "/b", "pathType": "Exact", "backend": {"serviceName": "two", "servicePort": "http"}},
    ]
