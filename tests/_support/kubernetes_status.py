"""A Status as a server sends it, and what a test expects to be read out of it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from corrigible.adapters.apis.kubernetes.format import KUBERNETES
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"app": "x", "app.kubernetes.io/name": "y"}},
    "spec": {
        "containers": [
            {
                "name": "a",
                "image": "i",
                "resources": {"limits": {"cpu": "2000m", "memory": "1536Mi"}, "requests": {"cpu": "200m"}},
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": 5}],
                "ports": [{"containerPort": 80}, {"containerPort": "81", "hostPort": 80}],
            },
            {"name": "b-2", "image": "j:latest", "securityContext": {"capabilities": {"add": ["NET_ADMIN"]}}},
        ],
        "volumes": [{"name": "v", "hostPath": {"path": "/x"}}, {"name": "w"}],
        "securityContext": {"sysctls": [{"name": "kernel.x"}, {"name": "net.core.somaxconn", "value": "1"}]},
        "hostPID": True,
    },
}


DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "namespace": "other"},
    "spec": {
        "replicas": "3",
        "selector": {"matchLabels": {"app": "x"}},
        "template": {
            "metadata": {"labels": {"app": 1}},
            "spec": {"containers": [{"name": "a", "image": "i", "imagePullPolice": "x", "x": {"y": 1}}]},
        },
    },
}


CRON = {
    "kind": "CronJob",
    "spec": {
        "jobTemplate": {
            "spec": {"template": {"spec": {"containers": [{"name": "c", "resources": {"limits": {"memory": "1 GB"}}}]}}}
        }
    },
}


CLAIM = {"kind": "PersistentVolumeClaim", "spec": {"resources": {"requests": {"storage": "5Gi"}}}}


DEPLOYMENTS = "/apis/apps/v1/namespaces/t/deployments"


DENIED = 'admission webhook "w.x.io" denied the request: '


def read(
    message: str,
    body: Json = None,
    *,
    reason: str = "Forbidden",
    status: int = 403,
    method: str = "POST",
    path: str = "/api/v1/namespaces/t/pods",
    details: dict[str, Any] | None = None,
    query: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
) -> list[Violation]:
    said = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": status}
    if reason:
        said["reason"] = reason
    if details is not None:
        said["details"] = details
    request = Request(method, path, query or {}, {"content-type": "application/json"}, body)
    return list(KUBERNETES.read(Exchange(request, status, headers or {}, b""), said))


def cause(field: str, message: str, reason: str = "FieldValueInvalid", **more: Any) -> dict[str, Any]:
    return {"causes": [{"reason": reason, "field": field, "message": message}], **more}


class Expected(NamedTuple):
    code: str
    param: str = ""
    pointer: str = ""
    message: str | None = None
    native: Mapping[str, Any] = MappingProxyType({})


def check(violations: list[Violation], *expected: Expected) -> None:
    assert [(v.code, v.param, v.pointer) for v in violations] == [e[:3] for e in expected]
    for violation, expected_violation in zip(violations, expected, strict=True):
        if expected_violation.message is not None:
            assert violation.message == expected_violation.message
        assert {name: violation.native[name] for name in expected_violation.native} == expected_violation.native


HANDLED = 'in version "v1" cannot be handled as a'


FORBIDDEN = 'pods "p" is forbidden: '
