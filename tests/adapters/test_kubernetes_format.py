"""What the Kubernetes dialect reads out of a Status: codes, places in the request, and what messages say."""

# ruff: noqa: E501  (what servers say is kept in one piece)

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from corrigible.adapters.formats.kubernetes import KUBERNETES
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


def check(found: list[Violation], *expected: Expected) -> None:
    assert [(v.code, v.param, v.pointer) for v in found] == [e[:3] for e in expected]
    for violation, wanted in zip(found, expected, strict=True):
        if wanted.message is not None:
            assert violation.message == wanted.message
        assert {name: violation.native[name] for name in wanted.native} == wanted.native


FIELD_CAUSES = [
    (
        "metadata.name",
        'Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of ...',
        "/body/metadata/name",
        "a lowercase RFC 1123 subdomain must consist of ...",
        {"value": "Bad_Name", "rendered": '"Bad_Name"', "rule": "Invalid value"},
    ),
    (
        "spec.containers[0].ports[0].containerPort",
        "Invalid value: 70000: must be between 1 and 65535, inclusive",
        "/body/spec/containers/0/ports/0/containerPort",
        "must be between 1 and 65535, inclusive",
        {"value": 70000},
    ),
    ("spec.replicas", "Invalid value: -1: must be greater", "/body/spec/replicas", "must be greater", {"value": -1}),
    ("spec.containers[0].image", "Required value", "/body/spec/containers/0/image", "", {"value": None}),
    (
        "spec.template.spec.restartPolicy",
        'Required value: valid values: "OnFailure", "Never"',
        "/body/spec/template/spec/restartPolicy",
        'valid values: "OnFailure", "Never"',
        {"supported": ["OnFailure", "Never"]},
    ),
    (
        "spec.type",
        'Unsupported value: "Loadbalancer": supported values: "ClusterIP", "LoadBalancer"',
        "/body/spec/type",
        'supported values: "ClusterIP", "LoadBalancer"',
        {"value": "Loadbalancer", "supported": ["ClusterIP", "LoadBalancer"]},
    ),
    ("spec.containers[1].name", 'Duplicate value: "c"', "/body/spec/containers/1/name", "", {"value": "c"}),
    ("spec.x.name", 'Not found: "data"', "/body/spec/x/name", "", {"value": "data", "rule": "Not found"}),
    ("spec.strategy", "Forbidden: may not be", "/body/spec/strategy", "may not be", {"rule": "Forbidden"}),
    ("metadata.name", "Too long: must have at most 63 bytes", "/body/metadata/name", "must have at most 63 bytes", {}),
    ("spec.tags", "Too many: 5: must have at most 3", "/body/spec/tags", "must have at most 3", {"value": 5}),
    ("data[my key]", 'Invalid value: "my key": a valid', "/body/data/my key", "a valid", {"value": "my key"}),
    ("metadata.labels[a/b]", 'Invalid value: "!": no', "/body/metadata/labels/a~1b", "no", {}),
    (
        "metadata.labels[app.kubernetes.io/name]",
        'Invalid value: "!": no',
        "/body/metadata/labels/app.kubernetes.io~1name",
        "no",
        {},
    ),
    (
        "metadata.labels.app.kubernetes.io/name",
        "Required value",
        "/body/metadata/labels/app.kubernetes.io~1name",
        "",
        {},
    ),
    ("data[a=b]", 'Invalid value: "a=b": no', "/body/data/a=b", "no", {}),
    (
        "spec.template.metadata.labels",
        'Invalid value: map[string]string{"app":"other"}: `selector` does not match',
        "/body/spec/template/metadata/labels",
        "`selector` does not match",
        {"value": {"app": "other"}},
    ),
    (
        "spec.clusterIPs",
        'Invalid value: []string{"192.168.1.1"}: failed to allocate',
        "/body/spec/clusterIPs",
        "failed to allocate",
        {"value": ["192.168.1.1"]},
    ),
    (
        "spec.template",
        'Invalid value: core.PodTemplateSpec{Name:"a: b}", Spec:core.PodSpec{X:(*int64)(nil)}}: field is immutable',
        "/body/spec/template",
        "field is immutable",
        {"value": None},
    ),
    (
        "spec.size",
        'Invalid value: "string": spec.size in body must be of type integer: "string"',
        "/body/spec/size",
        'spec.size in body must be of type integer: "string"',
        {"expected": "integer", "got": "string", "value": None},
    ),
    ("", 'Invalid value: {"a": [1]}: is no good', "", "is no good", {"value": {"a": [1]}}),
    ("<nil>", "Forbidden: no", "", "no", {}),
    ("spec", "of a form nobody knows", "/body/spec", "of a form nobody knows", {"rule": ""}),
    (
        "spec.containers[0].resources.requests",
        'Invalid value: "2": must be less than or equal to cpu limit of 1',
        "/body/spec/containers/0/resources/requests/cpu",
        "must be less than or equal to cpu limit of 1",
        {"value": "2"},
    ),
]


@pytest.mark.parametrize(("field", "message", "pointer", "detail", "native"), FIELD_CAUSES)
def test_causes(field: str, message: str, pointer: str, detail: str, native: dict[str, Any]) -> None:
    body = {"metadata": {"labels": {"app.kubernetes.io/name": "!"}}, "data": {"a=b": "1"}}
    found = read("Pod is invalid", body, reason="Invalid", status=422, details=cause(field, message))
    check(found, Expected("FieldValueInvalid", field, pointer, detail, native))
    assert found[0].type == "Invalid"


def test_a_cause_keeps_its_own_reason_and_the_status_its_subject() -> None:
    details = cause("spec.x", "Required value", "FieldValueRequired", kind="Widget", group="example.com", name="w")
    (found,) = read("...", {}, reason="Invalid", status=422, details={**details, "retryAfterSeconds": 3})
    assert (found.code, found.native["kind"], found.native["group"], found.native["name"]) == (
        "FieldValueRequired", "Widget", "example.com", "w",
    )  # fmt: skip
    assert found.native["retry_after"] == 3


def test_the_request_may_have_only_the_singular() -> None:
    details = cause("spec.clusterIPs", 'Invalid value: []string{"1.1.1.1"}: no')
    (found,) = read("", {"spec": {"clusterIP": "1.1.1.1"}}, reason="Invalid", status=422, details=details)
    assert found.pointer == "/body/spec/clusterIP"


@pytest.mark.parametrize(
    ("kind", "query", "body", "pointer"),
    [
        ("PatchOptions", {"dryRun": "all"}, {}, "/query/dryRun"),
        ("", {"dryRun": "all"}, {"kind": "Pod"}, "/query/dryRun"),
        ("DeleteOptions", {}, {"dryRun": ["all"]}, "/body/dryRun"),
        ("Widget", {}, {"dryRun": "all"}, "/body/dryRun"),
    ],
)
def test_options_are_in_the_query(kind: str, query: dict[str, Any], body: Json, pointer: str) -> None:
    details = cause("dryRun", 'Unsupported value: "all": supported values: "All"', kind=kind)
    (found,) = read("", body, reason="Invalid", status=422, details=details, query=query)
    assert (found.pointer, found.native["supported"]) == (pointer, ["All"])


@pytest.mark.parametrize(
    ("body", "field", "message", "pointer"),
    [
        ([{"op": "test", "path": "/x"}, {"op": "replace", "path": "/spec/replicas", "value": -1}], "spec.replicas",
         "Invalid value: -1: no", "/body/1/value"),
        ([{"op": "add", "path": "/spec/containers/-", "value": {"image": ""}}], "spec.containers[1].image",
         "Required value", "/body/0/value/image"),
        ([{"op": "remove", "path": "/spec/x"}], "spec.x", "Required value", ""),
        ({"spec": {"containers": [{"name": "b", "image": "no good"}]}}, "spec.containers[1].image",
         'Invalid value: "no good": no', "/body/spec/containers/0/image"),
        ({"spec": {"containers": [{"image": "?"}, {"image": "?"}]}}, "spec.containers[1].image",
         'Invalid value: "?": no', "/body/spec/containers/1/image"),
    ],
)  # fmt: skip
def test_places_in_patches(body: Json, field: str, message: str, pointer: str) -> None:
    (found,) = read("", body, reason="Invalid", status=422, method="PATCH", details=cause(field, message))
    assert found.pointer == pointer


def test_field_errors_without_causes() -> None:
    message = 'Pod "p" is invalid: [spec.containers[0].image: Required value, spec.restartPolicy: Unsupported value: "x": supported values: "Always", "Never"]'
    check(
        read(message, POD, reason="Invalid", status=422),
        Expected("FieldValueRequired", "spec.containers[0].image", "/body/spec/containers/0/image", ""),
        Expected(
            "FieldValueNotSupported", "spec.restartPolicy", "/body/spec/restartPolicy", 'supported values: "Always", "Never"',
            {"supported": ["Always", "Never"], "value": "x", "kind": "Pod", "name": "p"},
        ),
    )  # fmt: skip


HANDLED = 'in version "v1" cannot be handled as a'
DECODED: list[tuple[str, Json, list[Expected]]] = [
    (
        f'Deployment {HANDLED} Deployment: strict decoding error: unknown field "spec.template.spec.containers[0].imagePullPolice", duplicate field "spec.replicas"',
        DEPLOYMENT,
        [
            Expected("UNKNOWN_FIELD", "spec.template.spec.containers[0].imagePullPolice", "/body/spec/template/spec/containers/0/imagePullPolice", None, {"value": "x"}),
            Expected("DUPLICATE_FIELD", "spec.replicas", "/body/spec/replicas"),
        ],
    ),
    (
        'failed to create typed patch object (t/d; apps/v1, Kind=Deployment): .spec.template.spec.containers[name="a"].x.y: field not declared in schema',
        DEPLOYMENT,
        [Expected("UNKNOWN_FIELD", '.spec.template.spec.containers[name="a"].x.y', "/body/spec/template/spec/containers/0/x/y")],
    ),
    (
        "failed to create typed patch object (t/d; apps/v1, Kind=Deployment): errors:\n  .spec.replicas: expected numeric (int or float), got string\n"
        "  .spec.template.metadata.labels.app: expected string, got &value.valueUnstructured{Value:1}",
        DEPLOYMENT,
        [
            Expected("TYPE_MISMATCH", ".spec.replicas", "/body/spec/replicas", None, {"expected": "number", "got": "string"}),
            Expected("TYPE_MISMATCH", ".spec.template.metadata.labels.app", "/body/spec/template/metadata/labels/app", None, {"expected": "string", "got": "integer", "value": 1}),
        ],
    ),
    (
        f"Deployment {HANDLED} Deployment: json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        DEPLOYMENT,
        [Expected("TYPE_MISMATCH", "spec.replicas", "/body/spec/replicas", None, {"expected": "integer", "got": "string", "value": "3"})],
    ),
    (
        f"Pod {HANDLED} Pod: json: cannot unmarshal number into Go struct field EnvVar.spec.containers.env.value of type string",
        POD,
        [Expected("TYPE_MISMATCH", "spec.containers.env.value", "/body/spec/containers/0/env/1/value", None, {"expected": "string", "value": 5})],
    ),
    (
        "json: cannot unmarshal number into Go struct field ObjectMeta.spec.template.metadata.labels of type string",
        DEPLOYMENT,
        [Expected("TYPE_MISMATCH", "spec.template.metadata.labels", "/body/spec/template/metadata/labels/app")],
    ),
    (
        "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
        {"kind": "Pod", "spec": {"containers": {"name": "a"}}},
        [Expected("TYPE_MISMATCH", "spec.containers", "/body/spec/containers", None, {"expected": "array", "got": "object", "value": None})],
    ),
    (
        f"Deployment {HANDLED} Deployment: v1.Deployment.Spec: v1.DeploymentSpec.Replicas: readUint32: unexpected character: \ufffd, error found in #10 byte of ...|plicas\": \"three\", \"s|..., bigger context ...|x|...",
        DEPLOYMENT,
        [Expected("TYPE_MISMATCH", "spec.replicas", "/body/spec/replicas", None, {"expected": "integer", "got": "string"})],
    ),
    (
        f'Pod {HANDLED} Pod: v1.Pod.Spec: v1.PodSpec.Containers: []v1.Container: v1.Container.Env: []v1.EnvVar: v1.EnvVar.Value: ReadString: expects " or n, but found 5, error found in #10 byte of ...|"value":5}}|..., bigger context ...|"B","value":5}}|...',
        POD,
        [Expected("TYPE_MISMATCH", "spec.containers.env.value", "/body/spec/containers/0/env/1/value", None, {"expected": "string", "got": "integer"})],
    ),
    (
        f'Deployment {HANDLED} Deployment: v1.Deployment.Spec: v1.DeploymentSpec.Template: v1.PodTemplateSpec.ObjectMeta: v1.ObjectMeta.Labels: ReadString: expects " or n, but found 1, error found in #10 byte of ...|"app":1}}|..., bigger context ...|{{"labels":{{"app":1}}|...',
        DEPLOYMENT,
        [Expected("TYPE_MISMATCH", "spec.template.metadata.labels", "/body/spec/template/metadata/labels/app", None, {"value": 1})],
    ),
    (
        f"CronJob {HANDLED} CronJob: v1.CronJob.Spec: v1.CronJobSpec.JobTemplate: v1.JobTemplateSpec.Spec: v1.JobSpec.Template: v1.PodTemplateSpec.Spec: v1.PodSpec.Containers: []v1.Container: v1.Container.Resources: v1.ResourceRequirements.Limits: unmarshalerDecoder: quantities must match the regular expression '^x$', error found in #10 byte of ...|y\": \"1 GB\"}}|..., bigger context ...|: {{\"memory\": \"1 GB\"}}|...",
        CRON,
        [Expected("QUANTITY_FORMAT", "spec.jobTemplate.spec.template.spec.containers[0].resources.limits.memory", "/body/spec/jobTemplate/spec/template/spec/containers/0/resources/limits/memory", None, {"value": "1 GB", "pod": "/body/spec/jobTemplate/spec/template/spec"})],
    ),
    (
        f"Pod {HANDLED} Deployment: converting (v1.Pod) to (apps.Deployment): unknown conversion",
        POD,
        [Expected("KIND_MISMATCH", "kind", "/body/kind", None, {"got": "Pod", "expected": "Deployment"})],
    ),
    ('no kind "Podd" is registered for version "v1" in scheme "x"', POD, [Expected("KIND_UNKNOWN", "kind", "/body/kind", None, {"got": "Podd", "profile": "v1"})]),
    (
        "the API version in the data (apps/v1) does not match the expected API version (apps/v1beta1)",
        DEPLOYMENT,
        [Expected("VERSION_MISMATCH", "apiVersion", "/body/apiVersion", None, {"got": "apps/v1", "expected": "apps/v1beta1"})],
    ),
    ("Object 'Kind' is missing in '{}'", {}, [Expected("KIND_MISSING", "kind", "/body/kind")]),
    (
        "the namespace of the provided object does not match the namespace sent on the request",
        DEPLOYMENT,
        [Expected("NAMESPACE_MISMATCH", "metadata.namespace", "/body/metadata/namespace", None, {"got": "other", "expected": "t"})],
    ),
    (
        "the name of the object (d) does not match the name on the URL (e)",
        DEPLOYMENT,
        [Expected("NAME_MISMATCH", "metadata.name", "/body/metadata/name", None, {"got": "d", "expected": "e"})],
    ),
    ("name must be provided", {}, [Expected("NAME_REQUIRED", "metadata.name", "/body/metadata/name")]),
    (
        "resourceVersion should not be set on objects to be created",
        {"metadata": {"resourceVersion": "7"}},
        [Expected("RESOURCE_VERSION_SET", "metadata.resourceVersion", "/body/metadata/resourceVersion", None, {"value": "7"})],
    ),
    (
        "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: invalid character '}' looking for ...",
        "{]",
        [Expected("MALFORMED", "", "/body")],
    ),
    ("error converting YAML to JSON: yaml: line 3: mapping values are not allowed", "a", [Expected("MALFORMED", "", "/body")]),
    ("something else", {}, [Expected("BAD_REQUEST")]),
]  # fmt: skip


@pytest.mark.parametrize(("message", "body", "expected"), DECODED)
def test_bodies_that_are_not_taken_in(message: str, body: Json, expected: list[Expected]) -> None:
    check(read(message, body, reason="BadRequest", status=400, path=DEPLOYMENTS), *expected)


JSONITER: list[tuple[str, Json, str, str, str, str]] = [
    ("Pod.Spec: v1.PodSpec.Containers: []v1.Container: v1.Container.Env: []v1.EnvVar: decode slice: expect [ or n, but found {",
     {"spec": {"containers": [{"env": {"A": "b"}}]}}, "spec.containers.env", "/body/spec/containers/0/env", "array", "object"),
    ("Pod.Spec: v1.PodSpec.Containers: []v1.Container: v1.Container.Command: []string: decode slice: expect [ or n, but found \"",
     {"spec": {"containers": [{"command": ["a"]}, {"command": "sh"}]}}, "spec.containers.command", "/body/spec/containers/1/command", "array", "string"),
    ("Pod.Spec: v1.PodSpec.Containers: []v1.Container: v1.Container.Command: []string: ReadString: expects \" or n, but found 5",
     {"spec": {"containers": [{"command": ["a", 5]}]}}, "spec.containers.command", "/body/spec/containers/0/command/1", "string", "integer"),
    ("Pod.Spec: v1.PodSpec.Containers: []v1.Container: v1.Container.Image: ReadString: expects \" or n, but found {",
     {"spec": {"containers": [{"image": {"a": 1}}]}}, "spec.containers.image", "/body/spec/containers/0/image", "string", "object"),
    ("Pod.Spec: v1.PodSpec.ObjectMeta: v1.ObjectMeta.Labels: ReadString: expects \" or n, but found 5",
     {"metadata": {"labels": {"a": 5}}, "spec": {}}, "metadata.labels", "/body/metadata/labels/a", "string", "integer"),
    ("Pod.Spec: ObjectMeta: v1.ObjectMeta.Name: ReadString: expects \" or n, but found 5",
     {"metadata": {"name": 5}, "spec": {}}, "metadata.name", "/body/metadata/name", "string", "integer"),
    ("Pod.ObjectMeta: readObjectStart: expect { or n, but found \"", {"metadata": "x"}, "metadata", "/body/metadata", "object", "string"),
    ("Pod.Spec: v1.PodSpec.Containers: []v1.Container: v1.Container.LivenessProbe: v1.Probe.Handler: HTTPGet: v1.HTTPGetAction.Port: unmarshalerDecoder: json: cannot unmarshal bool into Go value of type int32",
     {"spec": {"containers": [{"livenessProbe": {"httpGet": {"port": True}}}]}}, "spec.containers.livenessProbe.httpGet.port",
     "/body/spec/containers/0/livenessProbe/httpGet/port", "integer", "boolean"),
    ("Pod.Spec: v1.PodSpec.Containers: []v1.Container: v1.Container.SecurityContext: v1.SecurityContext.Privileged: ReadBool: expect t or f, but found \"",
     {"spec": {"containers": [{"securityContext": {"privileged": "true"}}]}}, "spec.containers.securityContext.privileged",
     "/body/spec/containers/0/securityContext/privileged", "boolean", "string"),
    ("Secret.Data: decode base64: illegal base64 data at input byte 3", {"data": {"a": "no!"}}, "data", "/body/data/a", "", "string"),
]  # fmt: skip


@pytest.mark.parametrize(("chain", "body", "param", "pointer", "expected", "got"), JSONITER)
def test_what_older_servers_say_of_types(
    chain: str, body: Json, param: str, pointer: str, expected: str, got: str
) -> None:
    message = f"Pod {HANDLED} Pod: v1.{chain}, error found in #10 byte of ...|x|..., bigger context ...|x|..."
    (found,) = read(message, body, reason="BadRequest", status=400)
    assert (found.code, found.param, found.pointer) == ("TYPE_MISMATCH", param, pointer)
    assert (found.native["expected"], found.native["got"], found.native["places"]) == (expected, got, [pointer])


def test_the_object_that_a_patch_makes_may_not_decode() -> None:
    chain = 'v1.ConfigMap.ObjectMeta: v1.ObjectMeta.TypeMeta: Kind: Data: ReadString: expects " or n, but found 5, error found in #10'
    details = cause("patch", f'Invalid value: "{{\\"data\\":{{\\"a\\":5}}}}": {chain}')
    found = read("...", {"data": {"a": 5}}, reason="Invalid", status=422, method="PATCH", details=details)
    check(
        found,
        Expected(
            "FieldValueInvalid", "patch", "/body/data/a", chain, {"expected": "string", "value": 5, "got": "integer"}
        ),
    )
    details = cause("patch", "Invalid value: 5: no idea")
    check(
        read("...", {}, reason="Invalid", status=422, method="PATCH", details=details),
        Expected("FieldValueInvalid", "patch", "/body/patch", "no idea"),
    )


@pytest.mark.parametrize(
    ("query", "body", "pointer"),
    [
        ({"limit": "abc"}, None, "/query/limit"),
        ({"limit": "abc", "continue": "abc"}, None, ""),
        ({}, {"metadata": {"resourceVersion": "abc"}}, "/body/metadata/resourceVersion"),
    ],
)
@pytest.mark.parametrize("status", [400, 500])
def test_numbers_that_are_none(query: dict[str, Any], body: Json, pointer: str, status: int) -> None:
    message = 'strconv.ParseInt: parsing "abc": invalid syntax'
    (found,) = read(message, body, reason="", status=status, method="GET", query=query)
    assert found.pointer == pointer
    assert found.code == ("INTERNAL" if status == 500 and not pointer else "BAD_REQUEST")


def test_a_list_names_its_options_too() -> None:
    message = 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
    (found,) = read(message, None, reason="", status=500, method="GET", query={"resourceVersion": "abc"})
    assert (found.code, found.pointer) == ("FieldValueInvalid", "/query/resourceVersion")


def test_the_one_schema_of_older_definitions_is_in_the_versions() -> None:
    versions = [{"name": "v1"}, {"name": "v2", "schema": {"openAPIV3Schema": {"properties": {"x": {"type": "strin"}}}}}]
    field = "spec.validation.openAPIV3Schema.properties[x].type"
    details = cause(field, 'Unsupported value: "strin": supported values: "string"', "FieldValueNotSupported")
    (found,) = read("", {"spec": {"versions": versions}}, reason="Invalid", status=422, details=details)
    assert found.pointer == "/body/spec/versions/1/schema/openAPIV3Schema/properties/x/type"


def test_apply_reports_some_of_them_as_its_own_mistake() -> None:
    message = "failed to create typed patch object (t/d; v1, Kind=Pod): .spec.x: field not declared in schema"
    check(read(message, {}, reason="InternalError", status=500), Expected("UNKNOWN_FIELD", ".spec.x", "/body/spec/x"))
    check(read("boom", {}, reason="InternalError", status=500), Expected("INTERNAL", message="boom"))


FORBIDDEN = 'pods "p" is forbidden: '
ADMISSION: list[tuple[str, Json, list[Expected]]] = [
    (
        f"{FORBIDDEN}[maximum cpu usage per Container is 1, but limit is 2, maximum memory usage per Container is 1Gi, but limit is 1536Mi]",
        POD,
        [
            Expected("LIMIT_RANGE", "cpu", "/body/spec/containers/0/resources/limits/cpu", "maximum cpu usage per Container is 1, but limit is 2",
                     {"bound": "max", "scope": "Container", "allowed": "1", "given": "2", "rule": "limits", "containers": ["a"], "value": "2000m"}),
            Expected("LIMIT_RANGE", "memory", "/body/spec/containers/0/resources/limits/memory", None, {"allowed": "1Gi", "given": "1536Mi"}),
        ],
    ),
    (
        f"{FORBIDDEN}minimum memory usage per Container is 100Mi.  No request is specified",
        POD,
        [Expected("LIMIT_RANGE", "memory", "/body/spec/containers/1/resources/requests/memory", None,
                  {"bound": "min", "given": "", "rule": "requests", "containers": ["b-2"]})],
    ),
    (
        f"{FORBIDDEN}maximum memory usage per Pod is 1Gi, but limit is 1536Mi",
        POD,
        [Expected("LIMIT_RANGE", "memory", "/body/spec/containers/0/resources/limits/memory", None, {"scope": "Pod", "containers": ["a"]})],
    ),
    (
        f"{FORBIDDEN}cpu max limit to request ratio per Container is 4, but provided ratio is 10.000000",
        POD,
        [Expected("LIMIT_RANGE", "cpu", "/body/spec/containers/0/resources/requests/cpu", None,
                  {"bound": "ratio", "allowed": "4", "given": "10.000000", "rule": "ratio"})],
    ),
    (
        'persistentvolumeclaims "c" is forbidden: maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 5Gi',
        CLAIM,
        [Expected("LIMIT_RANGE", "storage", "/body/spec/resources/requests/storage", None, {"allowed": "2Gi", "value": "5Gi"})],
    ),
    (
        f"{FORBIDDEN}exceeded quota: q, requested: limits.cpu=2,pods=1, used: limits.cpu=3,pods=2, limited: limits.cpu=4,pods=2",
        POD,
        [
            Expected("QUOTA_EXCEEDED", "limits.cpu", "/body/spec/containers/0/resources/limits/cpu", None,
                     {"quota": "q", "given": "2", "used": "3", "allowed": "4", "containers": ["a"]}),
            Expected("QUOTA_EXCEEDED", "pods", "", None, {"given": "1", "used": "2", "allowed": "2", "places": []}),
        ],
    ),
    (
        'persistentvolumeclaims "c" is forbidden: exceeded quota: q, requested: requests.storage=5Gi, used: requests.storage=0, limited: requests.storage=1Gi',
        CLAIM,
        [Expected("QUOTA_EXCEEDED", "requests.storage", "/body/spec/resources/requests/storage", None, {"allowed": "1Gi"})],
    ),
    (
        f"{FORBIDDEN}failed quota: q: must specify limits.memory,requests.cpu",
        POD,
        [
            Expected("QUOTA_MUST_SPECIFY", "limits.memory", "/body/spec/containers/1/resources/limits/memory", None, {"containers": ["b-2"], "quota": "q"}),
            Expected("QUOTA_MUST_SPECIFY", "requests.cpu", "/body/spec/containers/1/resources/requests/cpu"),
        ],
    ),
    (
        f"{FORBIDDEN}failed quota: q: must specify limits.memory for: b-2; requests.ephemeral-storage for: a,b-2",
        POD,
        [
            Expected("QUOTA_MUST_SPECIFY", "limits.memory", "/body/spec/containers/1/resources/limits/memory", None, {"containers": ["b-2"]}),
            Expected("QUOTA_MUST_SPECIFY", "requests.ephemeral-storage", "/body/spec/containers/0/resources/requests/ephemeral-storage", None, {"containers": ["a", "b-2"]}),
        ],
    ),
    (
        f"{FORBIDDEN}PodSecurityPolicy: unable to admit pod: [provider \"x\": Forbidden: not usable by user or serviceaccount spec.containers[0].securityContext.privileged: Invalid value: true: Privileged containers are not allowed spec.securityContext.hostPID: Invalid value: true: Host PID is not allowed to be used spec.containers[0].securityContext.privileged: Invalid value: true: Privileged containers are not allowed]",
        POD,
        [
            Expected("PSP", "spec.containers[0].securityContext.privileged", "/body/spec/containers/0/securityContext/privileged", "Privileged containers are not allowed", {"value": True}),
            Expected("PSP", "spec.securityContext.hostPID", "/body/spec/hostPID", "Host PID is not allowed to be used", {"rule": "Invalid value"}),
        ],
    ),
    (
        f"{FORBIDDEN}PodSecurityPolicy: unable to admit pod: [spec.containers[0].hostPort: Invalid value: 80: Host port 80 is not allowed to be used. Allowed ports: []]",
        POD,
        [Expected("PSP", "spec.containers[0].hostPort", "/body/spec/containers/0/ports/1/hostPort", "Host port 80 is not allowed to be used. Allowed ports: []")],
    ),
    (
        f'{FORBIDDEN}PodSecurityPolicy: unable to admit pod: [pod.spec.securityContext.sysctls[1]: Forbidden: unsafe sysctl "net.core.somaxconn" is not allowed]',
        POD,
        [Expected("PSP", "pod.spec.securityContext.sysctls[1]", "/body/spec/securityContext/sysctls/1")],
    ),
    (f"{FORBIDDEN}PodSecurityPolicy: no providers available to validate pod request", POD, [Expected("PSP_NO_PROVIDER", "", "/body/spec")]),
    (
        'pods is forbidden: User "dev" cannot create resource "pods" in API group "" in the namespace "default"',
        POD,
        [Expected("RBAC", "pods", "/path", None, {"user": "dev", "verb": "create", "resource": "pods", "api_group": "", "namespace": "default", "subresource": ""})],
    ),
    (
        'deployments.apps "d" is forbidden: User "dev" cannot patch resource "deployments/scale" in API group "apps" at the cluster scope: RBAC: x',
        None,
        [Expected("RBAC", "deployments", "/path", None, {"subresource": "scale", "api_group": "apps", "namespace": "", "name": "d"})],
    ),
    ('forbidden: User "system:anonymous" cannot get path "/foo"', None, [Expected("RBAC", "/foo", "/path", None, {"verb": "get"})]),
    (
        'roles.rbac.authorization.k8s.io "x" is forbidden: user "dev" (groups=["a"]) is attempting to grant RBAC permissions not currently held:\n{}',
        {},
        [Expected("RBAC_ESCALATION", native={"user": "dev"})],
    ),
    (
        f'{FORBIDDEN}error looking up service account t/robot: serviceaccount "robot" not found',
        POD,
        [Expected("SERVICE_ACCOUNT_NOT_FOUND", "serviceAccountName", "/body/spec/serviceAccountName", None, {"value": "robot"})],
    ),
    (
        f"{FORBIDDEN}no PriorityClass with name hihg was found",
        DEPLOYMENT,
        [Expected("PRIORITY_CLASS_NOT_FOUND", "priorityClassName", "/body/spec/template/spec/priorityClassName", None, {"value": "hihg"})],
    ),
    (f'{FORBIDDEN}pod rejected: RuntimeClass "x" not found', POD, [Expected("RUNTIME_CLASS_NOT_FOUND", "runtimeClassName", "/body/spec/runtimeClassName")]),
    (f"{FORBIDDEN}unable to create new content in namespace t because it is being terminated", POD, [Expected("NAMESPACE_TERMINATING", "metadata.namespace", "/path", None, {"namespace": "t"})]),
    (
        "deployments.apps \"d\" is forbidden: ValidatingAdmissionPolicy 'pol' with binding 'bind' denied request: failed expression: object.spec.replicas <= 5",
        DEPLOYMENT,
        [Expected("VAP", "pol", "", "failed expression: object.spec.replicas <= 5", {"policy": "pol", "rule": "bind", "name": "d"})],
    ),
    (f"{FORBIDDEN}not yet ready to handle request", POD, [Expected("FORBIDDEN", message="not yet ready to handle request")]),
]  # fmt: skip


@pytest.mark.parametrize(("message", "body", "expected"), ADMISSION)
def test_admission(message: str, body: Json, expected: list[Expected]) -> None:
    check(read(message, body), *expected)


CLAUSES = (
    'violates PodSecurity "restricted:v1.28": privileged (container "a" must not set securityContext.privileged=true), '
    'allowPrivilegeEscalation != false (containers "a", "b-2" must set securityContext.allowPrivilegeEscalation=false), '
    'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]; container "b-2" must not include "NET_ADMIN" in securityContext.capabilities.add), '
    'host namespaces (hostNetwork=true, hostPID=true), hostPath volumes (volume "v"), hostPort (container "a" uses hostPort 80), '
    'restricted volume types (volume "v" uses restricted volume type "hostPath"), '
    'runAsNonRoot != true (pod or containers "a", "b-2" must set securityContext.runAsNonRoot=true), runAsUser=0 (pod must not set runAsUser=0), '
    'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"), '
    "forbidden sysctls (net.core.somaxconn), something new"
)
A, B = "/body/spec/containers/0", "/body/spec/containers/1"
CHECKS: list[tuple[str, list[str], list[str]]] = [
    ("privileged", ["a"], [f"{A}/securityContext/privileged"]),
    ("allowPrivilegeEscalation", ["a", "b-2"], [f"{one}/securityContext/allowPrivilegeEscalation" for one in (A, B)]),
    ("capabilities", ["a", "b-2"], [f"{A}/securityContext/capabilities/drop", f"{B}/securityContext/capabilities/add"]),
    ("hostNamespaces", [], ["/body/spec/hostNetwork", "/body/spec/hostPID"]),
    ("hostPath", [], ["/body/spec/volumes/0/hostPath"]),
    ("hostPort", ["a"], [f"{A}/ports/1/hostPort"]),
    ("volumeTypes", [], ["/body/spec/volumes/0"]),
    ("runAsNonRoot", ["a", "b-2"], [f"{A}/securityContext/runAsNonRoot", f"{B}/securityContext/runAsNonRoot"]),
    ("runAsUser", [], ["/body/spec/securityContext/runAsUser"]),
    ("seccompProfile", ["a"], [f"{A}/securityContext/seccompProfile/type"]),
    ("sysctls", [], ["/body/spec/securityContext/sysctls/1"]),
    ("something new", [], []),
]


@pytest.mark.parametrize("before", [FORBIDDEN, f"{DENIED}{FORBIDDEN}"])
def test_pod_security_has_one_violation_for_every_clause(before: str) -> None:
    found = read(before + CLAUSES, POD)
    assert [(v.code, v.param, v.native["containers"], v.native["places"]) for v in found] == [
        ("POD_SECURITY", *one) for one in CHECKS
    ]
    assert {(v.native["level"], v.native["profile"]) for v in found} == {("restricted", "v1.28")}
    assert found[1].native["rule"] == "allowPrivilegeEscalation != false"
    assert found[1].message == 'containers "a", "b-2" must set securityContext.allowPrivilegeEscalation=false'
    assert (found[-1].pointer, found[-1].message) == ("/body/spec", "something new")
    assert {v.native["webhook"] for v in found} == {"w.x.io" if before.startswith("admission") else ""}


WEBHOOKS: list[tuple[str, list[Expected]]] = [
    (
        "[cpu-limits] container <a> has no cpu limit\n[mem] container <b-2> has no memory limit\nsecond line",
        [
            Expected("GATEKEEPER", "cpu-limits", "/body/spec/containers/0", "container <a> has no cpu limit", {"policy": "cpu-limits", "containers": ["a"]}),
            Expected("GATEKEEPER", "mem", "/body/spec/containers/1", "container <b-2> has no memory limit\nsecond line"),
        ],
    ),
    ('[denied by must-have] you must provide labels: {"owner"}', [Expected("GATEKEEPER", "must-have", "", 'you must provide labels: {"owner"}')]),
    (
        "\n\nresource Pod/t/p was blocked due to the following policies \n\ndisallow-latest:\n  autogen-validate-tag: 'validation error: Using ''latest'' is not\n    allowed. rule autogen-validate-tag failed at path /spec/containers/1/image/'\nneed-label:\n  check: 'validation error: label required. rule check failed at path /metadata/labels/app.kubernetes.io/part-of/'\n",
        [
            Expected("KYVERNO", "validate-tag", "/body/spec/containers/1/image", "Using 'latest' is not allowed.",
                     {"policy": "disallow-latest", "rule": "autogen-validate-tag", "value": "j:latest", "containers": ["b-2"]}),
            Expected("KYVERNO", "check", "/body/metadata/labels/app.kubernetes.io~1part-of", "label required.", {"policy": "need-label", "rule": "check"}),
        ],
    ),
    (
        "\n\nresource Pod/t/p was blocked due to the following policies\n\nsigned:\n  verify: |-\n    failed to verify image\n",
        [Expected("KYVERNO", "verify", "", "failed to verify image", {"policy": "signed"})],
    ),
    (
        "Checkov found 2 issues in violation of admission policy.\nCKV_K8S_14:\n  Description: Image Tag should be fixed - not latest or blank\n  Guidance: None\nCKV_K8S_43:\n  Description: Image should use digest\n  Guidance: None",
        [
            Expected("CHECKOV", "CKV_K8S_14", "/body/spec", "Image Tag should be fixed - not latest or blank", {"policy": "CKV_K8S_14", "containers": ["a", "b-2"]}),
            Expected("CHECKOV", "CKV_K8S_43", "/body/spec", "Image should use digest"),
        ],
    ),
    (
        "[spec.uid: Forbidden: identity must be that of the requester, spec.username: Forbidden: no]",
        [
            Expected("FieldValueForbidden", "spec.uid", "/body/spec/uid", "identity must be that of the requester"),
            Expected("FieldValueForbidden", "spec.username", "/body/spec/username", "no", {"webhook": "w.x.io"}),
        ],
    ),
    (
        "spec.solvers[0].dns01.route53: Forbidden: may not specify more than one provider type",
        [Expected("FieldValueForbidden", "spec.solvers[0].dns01.route53", "/body/spec/solvers/0/dns01/route53")],
    ),
    (
        "configuration is invalid: 2 errors occurred:\n\t* subset name is invalid: 2.0.0\n\t* other\n\n",
        [Expected("ISTIO", "w.x.io", "", "subset name is invalid: 2.0.0"), Expected("ISTIO", "w.x.io", "", "other")],
    ),
    ("configuration is invalid: total destination weight 150 != 100", [Expected("ISTIO", "w.x.io", "", "total destination weight 150 != 100")]),
    ("hostNetwork must not be true", [Expected("WEBHOOK", "w.x.io", "", "hostNetwork must not be true", {"webhook": "w.x.io"})]),
    ("see spec.x: Forbidden: not the beginning", [Expected("WEBHOOK", "w.x.io", "", "see spec.x: Forbidden: not the beginning")]),
    ("was blocked due to the following policies: [", [Expected("WEBHOOK", "w.x.io")]),
]  # fmt: skip


@pytest.mark.parametrize(("denial", "expected"), WEBHOOKS)
def test_webhooks(denial: str, expected: list[Expected]) -> None:
    check(read(DENIED + denial, POD, reason="", status=400), *expected)


def test_a_webhook_that_says_nothing_or_is_not_there() -> None:
    check(read('admission webhook "w" denied the request without explanation', POD), Expected("WEBHOOK", "w", "", ""))
    message = 'Internal error occurred: failed calling webhook "w.x": Post "https://x": connection refused'
    check(
        read(message, POD, reason="InternalError", status=500),
        Expected("WEBHOOK_UNREACHABLE", native={"webhook": "w.x"}),
    )


def test_a_webhook_with_field_causes_of_its_own() -> None:
    details = cause("spec.replicas", "Invalid value: 9: too many", "FieldValueInvalid")
    details["causes"].append({"message": "the same in prose"})
    found = read(f"{DENIED}too many", DEPLOYMENT, reason="Invalid", status=422, details=details)
    check(
        found, Expected("FieldValueInvalid", "spec.replicas", "/body/spec/replicas", "too many", {"webhook": "w.x.io"})
    )


@pytest.mark.parametrize(
    ("message", "reason", "status", "method", "path", "expected"),
    [
        ('pods "a1" already exists', "AlreadyExists", 409, "POST", "/x",
         Expected("ALREADY_EXISTS", "metadata.name", "/body/metadata/name", None, {"kind": "pods", "name": "a1"})),
        ('namespaces "nope" not found', "NotFound", 404, "POST", "/api/v1/namespaces/nope/pods",
         Expected("NAMESPACE_NOT_FOUND", "namespace", "/path", None, {"namespace": "nope"})),
        ('namespaces "nope" not found', "NotFound", 404, "GET", "/api/v1/namespaces/nope",
         Expected("NOT_FOUND", "namespaces", "/path", None, {"name": "nope"})),
        ('deployments.apps "ghost" not found', "NotFound", 404, "PATCH", f"{DEPLOYMENTS}/ghost",
         Expected("NOT_FOUND", "deployments.apps", "/path", None, {"name": "ghost"})),
        ("the server could not find the requested resource", "NotFound", 404, "POST", "/apis/apps/v1beta1/x",
         Expected("PATH_UNKNOWN", "", "/path")),
        ('Operation cannot be fulfilled on configmaps "e3": the object has been modified; please apply', "Conflict", 409, "PUT", "/x",
         Expected("CONFLICT", "metadata.resourceVersion", "/body/metadata/resourceVersion", None, {"rule": "modified"})),
        ('Operation cannot be fulfilled on pods "p": Precondition failed: UID in precondition: a', "Conflict", 409, "DELETE", "/x",
         Expected("CONFLICT", native={"rule": "precondition"})),
        ("415: Unsupported Media Type", "UnsupportedMediaType", 415, "PATCH", "/x",
         Expected("UNSUPPORTED_MEDIA_TYPE", "content-type", "/headers/content-type", None, {"value": "application/json", "supported": []})),
        ("the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/apply-patch+yaml",
         "UnsupportedMediaType", 415, "PATCH", "/x",
         Expected("UNSUPPORTED_MEDIA_TYPE", "content-type", "/headers/content-type", None, {"supported": ["application/json-patch+json", "application/apply-patch+yaml"]})),
        ("only the following media types are accepted: application/json, application/yaml", "NotAcceptable", 406, "GET", "/x",
         Expected("NOT_ACCEPTABLE", "accept", "/headers/accept", None, {"supported": ["application/json", "application/yaml"]})),
        ("the server does not allow this method on the requested resource", "MethodNotAllowed", 405, "POST", "/x",
         Expected("METHOD_NOT_ALLOWED", "", "/method", None, {"supported": ["GET", "PUT"]})),
        ("The resourceVersion for the provided list is too old.", "Expired", 410, "GET", "/x",
         Expected("EXPIRED", "resourceVersion", "/query/resourceVersion")),
        ("Cannot evict pod as it would violate the pod's disruption budget.", "TooManyRequests", 429, "POST", "/x", Expected("DisruptionBudget")),
        ("too many requests", "", 429, "GET", "/x", Expected("TOO_MANY_REQUESTS")),
        ("Unauthorized", "Unauthorized", 401, "GET", "/x", Expected("UNAUTHORIZED")),
        ("Timeout: request did not complete", "Timeout", 504, "GET", "/x", Expected("TIMEOUT")),
        ("Request entity too large: limit is 3145728", "RequestEntityTooLarge", 413, "POST", "/x", Expected("TOO_LARGE", "", "/body")),
        ("the server rejected our request due to an error in our request", "Invalid", 422, "PATCH", "/x", Expected("PATCH_REJECTED", "", "/body")),
        ("no idea", "Strange", 418, "GET", "/x", Expected("UNKNOWN", message="no idea")),
    ],
)  # fmt: skip
def test_answers_of_the_server_as_a_whole(
    message: str, reason: str, status: int, method: str, path: str, expected: Expected
) -> None:
    found = read(message, {}, reason=reason, status=status, method=method, path=path, headers={"allow": "GET, PUT"})
    check(found, expected)


@pytest.mark.parametrize(
    ("details", "reason", "expected"),
    [
        (
            cause(".data.k", 'conflict with "alice"', "FieldManagerConflict"),
            "Conflict",
            Expected("FieldManagerConflict", ".data.k", "/body/data/k", 'conflict with "alice"', {"manager": "alice"}),
        ),
        (
            cause("", "The disruption budget b is still being processed by the server.", "DisruptionBudget"),
            "TooManyRequests",
            Expected("DisruptionBudget"),
        ),
        (
            cause("metadata.namespace", "namespace t is being terminated", "NamespaceTerminating", name="p"),
            "Forbidden",
            Expected("NamespaceTerminating", "metadata.namespace", "/path", None, {"namespace": "t"}),
        ),
        (
            cause("", "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", ""),
            "Invalid",
            Expected("VAP", "p", "", "no", {"rule": "b"}),
        ),
    ],
)
def test_causes_that_are_no_field_errors(details: dict[str, Any], reason: str, expected: Expected) -> None:
    check(read("...", {"data": {"k": 1}}, reason=reason, details=details), expected)


@pytest.mark.parametrize(
    ("query", "message", "expected"),
    [
        (
            {"fieldSelector": "spec.foo=1"},
            "field label not supported: spec.foo",
            Expected("SELECTOR", "fieldSelector", "/query/fieldSelector", None, {"value": "spec.foo"}),
        ),
        (
            {"fieldSelector": "x=1"},
            '"x" is not a known field selector: only "metadata.name", "metadata.namespace"',
            Expected("SELECTOR", "fieldSelector", "/query/fieldSelector", None, {"supported": ["metadata.name", "metadata.namespace"]}),
        ),
        (
            {"labelSelector": "a=("},
            "unable to parse requirement: found '('",
            Expected("SELECTOR", "labelSelector", "/query/labelSelector", None, {"value": "a=("}),
        ),
    ],
)  # fmt: skip
def test_selectors(query: dict[str, Any], message: str, expected: Expected) -> None:
    check(read(message, None, reason="BadRequest", status=400, method="GET", query=query), expected)


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "Status",
        {},
        {"kind": "Pod", "status": "Failure"},
        {"kind": "Status", "status": "Success"},
        {"kind": "Status", "status": {"phase": "x"}},
    ],
)
def test_other_answers_are_not_its_own(body: Json) -> None:
    assert KUBERNETES.read(Exchange(Request("GET", "/x"), 404, {}, b""), body) == ()


@pytest.mark.parametrize(
    "status",
    [
        {"message": None, "reason": 5, "details": "x"},
        {"details": {"causes": {"a": 1}}},
        {"details": {"causes": [None, "x", {"message": 1}, {"reason": "RecoveryFeedback", "message": "ours"}]}},
        {"details": {"causes": [{"message": "m", "field": 5, "reason": []}], "retryAfterSeconds": "soon"}},
    ],
)
@pytest.mark.parametrize("request_body", [None, "text", [1], {"spec": {"containers": {"a": 1}}}, {"spec": [[]]}])
def test_strange_answers_are_read_without_a_crash(status: dict[str, Any], request_body: Json) -> None:
    said = {"kind": "Status", "status": "Failure", **status}
    for code in (400, 403, 404, 409, 422, 500):
        found = KUBERNETES.read(Exchange(Request("PATCH", "/x", body=request_body), code, {}, b""), said)
        assert [v for v in found if "ours" in v.message] == []
        assert len(found) == 1


HOSTILE = [
    ".a[b]",
    ".a",
    "a[",
    "[a",
    "a: Forbidden ",
    "\n[x] y",
    "[",
    "{",
    '"',
    "(",
    "failed quota: q: must specify ",
    "A: ",
    " .a[",
]


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize("head", ["", FORBIDDEN, DENIED, f"Pod {HANDLED} Pod: ", 'violates PodSecurity "a:b": '])
def test_hostile_messages_take_no_time(head: str, unit: str) -> None:
    many = {"kind": "Pod", "spec": {"containers": [{"name": f"c{n}", "image": "i"} for n in range(50)]}}
    message = head + unit * (20_000 // len(unit))
    started = time.perf_counter()
    for reason, status in (("Forbidden", 403), ("BadRequest", 400), ("Invalid", 422), ("", 500)):
        assert 1 <= len(read(message, many, reason=reason, status=status)) <= 64
    read("", many, reason="Invalid", status=422, details=cause(unit * 9000, f"Invalid value: {unit * 9000}"))
    assert time.perf_counter() - started < 5
