"""Kubernetes paths: one grammar, the same names for every group and kind."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.apis.kubernetes.adapter import KubernetesOperations
from corrigible.adapters.registry import adapter_for
from corrigible.rules.lookup import allowed
from tests._support.built_in_packs import pack_of
from tests._support.rows import rows

OPERATIONS = KubernetesOperations()
POD = {"version": "v1", "namespace": "t", "resource": "pods", "name": "p"}
NODE = {"version": "v1", "resource": "nodes", "name": "n"}
PODS = {"version": "v1", "namespace": "t", "resource": "pods"}
EPHEMERAL = {**POD, "subresource": "ephemeralcontainers"}
WIDGET = {"group": "example.com", "version": "v1", "namespace": "t", "resource": "widgets", "name": "w"}
CLUSTER = {"group": "rbac.authorization.k8s.io", "version": "v1", "resource": "clusterroles"}
NAMESPACE = {"version": "v1", "namespace": "t", "resource": "namespaces", "name": "t"}


@rows(
    ("call", "name", "params"),
    [
        ("POST /api/v1/namespaces/t/pods", "create", PODS),
        ("GET /api/v1/pods", "list", {"version": "v1", "resource": "pods"}),
        ("DELETE /api/v1/namespaces/t/pods", "deletecollection", PODS),
        ("GET /api/v1/namespaces/t/pods/p", "get", POD),
        ("PUT /api/v1/namespaces/t/pods/p", "replace", POD),
        ("PATCH /api/v1/namespaces/t/pods/p", "patch", POD),
        ("DELETE /api/v1/namespaces/t/pods/p", "delete", POD),
        ("POST /api/v1/namespaces/t/pods/p/eviction", "evict", {**POD, "subresource": "eviction"}),
        ("POST /api/v1/namespaces/t/pods/p/binding", "bind", {**POD, "subresource": "binding"}),
        ("GET /api/v1/namespaces/t/pods/p/log", "log", {**POD, "subresource": "log"}),
        ("POST /api/v1/namespaces/t/pods/p/exec", "exec", {**POD, "subresource": "exec"}),
        ("PATCH /api/v1/namespaces/t/pods/p/ephemeralcontainers", "ephemeral", EPHEMERAL),
        ("PUT /api/v1/namespaces/t/pods/p/status", "replace-status", {**POD, "subresource": "status"}),
        ("PATCH /api/v1/namespaces/t/pods/p/resize", "patch-subresource", {**POD, "subresource": "resize"}),
        ("POST /api/v1/namespaces/t/pods/p/proxy/a/b", "proxy", {**POD, "path": "a/b", "subresource": "proxy"}),
        ("POST /api/v1/namespaces", "create", {"version": "v1", "resource": "namespaces"}),
        ("GET /api/v1/namespaces", "list", {"version": "v1", "resource": "namespaces"}),
        ("GET /api/v1/namespaces/t", "get", NAMESPACE),
        ("PUT /api/v1/namespaces/t/finalize", "replace-subresource", {**NAMESPACE, "subresource": "finalize"}),
        ("PATCH /api/v1/namespaces/t/status", "patch-status", {**NAMESPACE, "subresource": "status"}),
        ("PATCH /api/v1/nodes/n", "patch", NODE),
        ("PATCH /api/v1/nodes/n/status", "patch-status", {**NODE, "subresource": "status"}),
        ("POST /apis/rbac.authorization.k8s.io/v1/clusterroles", "create", CLUSTER),
        ("PATCH /apis/example.com/v1/namespaces/t/widgets/w", "patch", WIDGET),
        ("PUT /apis/example.com/v1/namespaces/t/widgets/w/scale", "replace-scale", {**WIDGET, "subresource": "scale"}),
        ("GET /api", "discover", {}),
        ("GET /apis", "discover", {}),
        ("GET /api/v1", "discover", {"version": "v1"}),
        ("GET /apis/apps", "discover", {"group": "apps"}),
        ("GET /apis/apps/v1", "discover", {"group": "apps", "version": "v1"}),
    ],
)  # fmt: skip
def test_operations(call: str, name: str, params: dict[str, str]) -> None:
    method, _, path = call.partition(" ")
    every = dict.fromkeys(("group", "version", "namespace", "resource", "name", "subresource"), "")
    assert OPERATIONS.find(method, path) == (name, every | params)
    assert OPERATIONS.merged_with(KubernetesOperations({})).find(method, path) == (name, every | params)
    assert OPERATIONS.with_prefix("/clusters/c").find(method, f"/clusters/c{path}") == (name, every | params)


@pytest.mark.parametrize(
    "call", ["POST /validate", "GET /healthz", "POST /api/v1/namespaces/t/pods/p/a/b", "OPTIONS /api"]
)
def test_other_paths(call: str) -> None:
    method, _, path = call.partition(" ")
    assert OPERATIONS.find(method, path) is None


def test_the_adapter_is_in_the_catalogue() -> None:
    adapter: Any = adapter_for("kubernetes")
    assert (adapter.name, adapter.placement, [f.name for f in adapter.formats]) == (
        "kubernetes",
        "kubernetes",
        ["kubernetes"],
    )
    assert adapter.unwrap is not None
    assert adapter.may_refuse is not None


@rows(
    ("path", "may"),
    [
        ("/api/v1/namespaces/t/resourcequotas", True),
        ("/api/v1/namespaces/t/limitranges/l", True),
        ("/apis/apps/v1/namespaces/t/deployments/d", True),
        ("/apis/apps", True),
        ("/api/v1/namespaces/t", True),
        ("/api/v1/namespaces/t/secrets/s", False),
        ("/api/v1/secrets", False),
        ("/api/v1/namespaces/t/pods/p/log", False),
        ("/api/v1/namespaces/t/pods/p/proxy", False),
    ],
)
def test_what_may_be_looked_up(path: str, may: bool) -> None:
    assert (allowed(path, pack_of("kubernetes").settings.lookups) is not None) is may
