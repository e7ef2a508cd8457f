"""What the Kubernetes dialect reads out of bodies that the server does not take in."""

# ruff: noqa: E501  (what servers say is kept in one piece)

from __future__ import annotations

from typing import Any

import pytest

from corrigible.schema.exchange import Json
from tests._support.kubernetes_status import CRON, DEPLOYMENT, DEPLOYMENTS, HANDLED, POD, Expected, cause, check, read
from tests._support.rows import rows

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


@rows(("message", "body", "expected"), DECODED)
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


@rows(("chain", "body", "param", "pointer", "expected", "got"), JSONITER)
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


@rows(
    ("query", "body", "pointer"),
    [
        ({"limit": "abc"}, None, "/query/limit"),
        ({"limit": "abc", "continue": "abc"}, None, ""),
        ({}, {"metadata": {"resourceVersion": "abc"}}, "/body/metadata/resourceVersion"),
    ],
)
@rows("status", [400, 500])
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


@pytest.mark.parametrize("piece", [".", "a."])
def test_a_long_message_is_read_in_linear_time(piece: str) -> None:
    """That it comes back at all is the proof."""
    message = f"Pod {HANDLED} Pod: json: cannot unmarshal string into Go struct field {piece * 500_000}"
    assert read(message, POD, reason="BadRequest", status=400)
