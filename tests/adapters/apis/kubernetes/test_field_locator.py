"""Where complaints of the Kubernetes API belong that name their place in a shortened or a Go way, or not at all."""

# ruff: noqa: E501  (what servers say is kept in one piece)

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.apis.kubernetes.format import KUBERNETES
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request
from tests._support.rows import rows

DEPLOYMENT = "/apis/apps/v1/namespaces/t/deployments/d"
PODS = "/api/v1/namespaces/t/pods"
QUANTITIES = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
HANDLED = 'in version "v1" cannot be handled as a'


def read(message: str, body: Json, *, method: str = "POST", path: str = PODS, **status: Any) -> list[Violation]:
    said = {"kind": "Status", "status": "Failure", "message": message, "code": 422, **status}
    request = Request(method, path, {}, {"content-type": "application/json"}, body)
    return list(KUBERNETES.read(Exchange(request, int(said["code"]), {}, b""), said))


def invalid(field: str, message: str) -> dict[str, Any]:
    return {
        "reason": "Invalid",
        "details": {"causes": [{"reason": "FieldValueInvalid", "field": field, "message": message}]},
    }


@pytest.mark.parametrize("text", ["Checkov found 1 issues.\nCKV_K8S_14:\n  Description: x", "no"])
def test_a_denial_may_begin_on_the_next_line(text: str) -> None:
    (found,) = read(f'admission webhook "w.x.io" denied the request:\n{text}', {}, code=403)
    assert (found.code, found.native["webhook"]) == ("CHECKOV" if "CKV" in text else "WEBHOOK", "w.x.io")


@pytest.mark.parametrize("listed", ["[]", '[provider "a": Forbidden: not usable by user or serviceaccount]'])
def test_no_usable_pod_security_policy(listed: str) -> None:
    message = f'pods "p" is forbidden: PodSecurityPolicy: unable to admit pod: {listed}'
    (found,) = read(message, {"kind": "Pod", "spec": {"containers": []}}, code=403, reason="Forbidden")
    assert (found.code, found.pointer) == ("PSP_NO_PROVIDER", "/body/spec")


@pytest.mark.parametrize("subject", ["is invalid: : ", "is forbidden: ", "is invalid: "])
def test_validating_admission_policy(subject: str) -> None:
    said = "ValidatingAdmissionPolicy 'a.b' with binding 'c' denied request: replicas are too many"
    (found,) = read(f'deployments.apps "d" {subject}{said}', {}, reason="Invalid", details={})
    assert (found.code, found.param, found.message) == ("VAP", "a.b", "replicas are too many")
    assert found.native["rule"] == "c"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('failed calling webhook "w.x.io": Post "https://w.x.io/": context deadline exceeded', "WEBHOOK_UNREACHABLE"),
        ("etcdserver: leader changed", "INTERNAL"),
    ],
)
def test_causes_of_an_internal_error(text: str, code: str) -> None:
    found = read(
        f"Internal error occurred: {text}",
        {},
        code=500,
        reason="InternalError",
        details={"causes": [{"message": text}]},
    )
    assert [one.code for one in found] == [code]


@rows(
    ("path", "body", "pod"),
    [
        (DEPLOYMENT, {"spec": {"template": {"spec": {"hostPID": True}}}}, "/body/spec/template/spec"),
        ("/api/v1/namespaces/t/pods/p", {"spec": {"hostPID": True}}, "/body/spec"),
        ("/apis/batch/v1/namespaces/t/cronjobs/c", {"spec": {"jobTemplate": {"spec": {"template": {"spec": {"hostPID": True}}}}}}, "/body/spec/jobTemplate/spec/template/spec"),
        (DEPLOYMENT, {"spec": {"template": {"metadata": {}}}}, ""),
        ("/apis/x.io/v1/namespaces/t/apps/a", {"spec": {"template": {"spec": {"project": "p"}}}}, ""),
        ("/api/v1/namespaces/pods/services/s", {"spec": {"type": "ClusterIP"}}, ""),
        (PODS, {"kind": "PersistentVolumeClaim", "spec": {"resources": {}}}, ""),
    ],
)  # fmt: skip
def test_the_pod_of_a_patch_without_containers(path: str, body: Json, pod: str) -> None:
    (found,) = read("no", body, method="PATCH", path=path, code=403, reason="Forbidden")
    assert found.native["pod"] == pod


@pytest.mark.parametrize(
    ("field", "body", "pointer"),
    [
        ("spec.template.labels", {"spec": {"template": {"metadata": {"labels": {"a": "b c"}}}}}, "/body/spec/template/metadata/labels"),
        ("spec.template.annotations", {"spec": {"template": {"metadata": {}}}}, "/body/spec/template/metadata/annotations"),
        ("spec.template.labels", {"spec": {"template": {"labels": {"a": "b c"}}}}, "/body/spec/template/labels"),
        ("spec.containers[1].volumeMounts.subPath", {"spec": {"containers": [{"volumeMounts": [{"subPath": "../x"}]}, {"volumeMounts": [{}, {"subPath": "../x"}]}]}}, "/body/spec/containers/1/volumeMounts/1/subPath"),
    ],
)  # fmt: skip
def test_fields_that_leave_a_step_out(field: str, body: Json, pointer: str) -> None:
    (found,) = read("x", body, **invalid(field, 'Invalid value: "../x": no'))
    assert found.pointer == pointer


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ({"spec": {"template": {"spec": {"containers": [{"resources": {"limits": {"memory": "512MB", "cpu": "1"}}}]}}}}, ["/body/spec/template/spec/containers/0/resources/limits/memory"]),
        ([{"op": "add", "path": "/spec/template/spec/containers/0/resources/limits/cpu", "value": "2 cores"}], ["/body/0/value"]),
        ({"spec": {"replicas": "three"}}, []),
    ],
)  # fmt: skip
def test_an_amount_in_a_patch_whose_place_nobody_names(body: Json, places: list[str]) -> None:
    (found,) = read("x", body, method="PATCH", path=DEPLOYMENT, **invalid("patch", f'Invalid value: "m": {QUANTITIES}'))
    assert (found.code, found.native["places"]) == ("QUANTITY_FORMAT", places)


def mistyped(chain: str, body: Json, **request: Any) -> Violation:
    message = f"Pod {HANDLED} Pod: v1.{chain}, error found in #10 byte of ...|x|..., bigger context ...|x|..."
    (found,) = read(message, body, code=400, reason="BadRequest", **request)
    assert found.code == "TYPE_MISMATCH"
    return found


def test_all_that_are_wrong_in_one_field() -> None:
    strings = 'ReadString: expects " or n, but found 2'
    labels = {"metadata": {"labels": {"a": "x", "b": 2, "c": True}}}
    found = mistyped(f"Pod.ObjectMeta: v1.ObjectMeta.Labels: {strings}", labels)
    assert found.native["places"] == ["/body/metadata/labels/b", "/body/metadata/labels/c"]
    chain = f"Pod.Spec: v1.PodSpec.Containers: []v1.Container: v1.Container.Args: []string: {strings}"
    found = mistyped(chain, {"spec": {"containers": [{"args": ["x", True, 2, 3]}]}})
    under = "/body/spec/containers/0/args"
    assert (found.pointer, found.native["places"]) == (f"{under}/2", [f"{under}/2", f"{under}/1", f"{under}/3"])


def test_a_member_whose_name_begins_as_a_reader() -> None:
    probe = {"spec": {"containers": [{"readinessProbe": {"initialDelaySeconds": "ten"}}]}}
    chain = "Pod.Spec: v1.PodSpec.Containers: []v1.Container: v1.Container.ReadinessProbe: v1.Probe.InitialDelaySeconds: readUint32: unexpected character: \ufffd"
    found = mistyped(chain, probe)
    assert found.pointer == "/body/spec/containers/0/readinessProbe/initialDelaySeconds"
    assert found.native["expected"] == "integer"


@pytest.mark.parametrize(
    ("path", "value", "pointer"),
    [
        ("/spec/containers/0/ports", [{"containerPort": "80"}], "/body/1/value/0/containerPort"),
        ("/spec/containers/0/ports/-", {"containerPort": "80"}, "/body/1/value/containerPort"),
        ("/spec/containers/0/ports/0/containerPort", "80", "/body/1/value"),
        ("/metadata/labels/a", "80", "/body"),
    ],
)
def test_operations_of_a_json_patch(path: str, value: Json, pointer: str) -> None:
    body = [{"op": "test", "path": "/metadata/name", "value": "p"}, {"op": "add", "path": path, "value": value}]
    chain = "Pod.Spec: v1.PodSpec.Containers: []v1.Container: v1.Container.Ports: []v1.ContainerPort: v1.ContainerPort.ContainerPort: readUint32: unexpected character: \ufffd"
    assert mistyped(chain, body, method="PATCH", path=f"{PODS}/p").pointer == pointer
