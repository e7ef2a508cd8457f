"""What the Kubernetes dialect reads out of a Status: causes, their places, and answers as a whole."""

# ruff: noqa: E501  (what servers say is kept in one piece)

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.apis.kubernetes.format import KUBERNETES
from corrigible.schema.exchange import Exchange, Json, Request
from tests._support.kubernetes_status import DENIED, DEPLOYMENTS, FORBIDDEN, HANDLED, POD, Expected, cause, check, read
from tests._support.rows import rows

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


@rows(("field", "message", "pointer", "detail", "native"), FIELD_CAUSES)
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


@rows(
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


@rows(
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


@rows(
    "status",
    [
        {"message": None, "reason": 5, "details": "x"},
        {"details": {"causes": {"a": 1}}},
        {"details": {"causes": [None, "x", {"message": 1}, {"reason": "RecoveryFeedback", "message": "ours"}]}},
        {"details": {"causes": [{"message": "m", "field": 5, "reason": []}], "retryAfterSeconds": "soon"}},
    ],
)
@rows("request_body", [None, "text", [1], {"spec": {"containers": {"a": 1}}}, {"spec": [[]]}])
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


@pytest.mark.slow
@rows("unit", HOSTILE)
@rows("head", ["", FORBIDDEN, DENIED, f"Pod {HANDLED} Pod: ", 'violates PodSecurity "a:b": '])
def test_hostile_messages_are_read(head: str, unit: str) -> None:
    """Up to the time limit of a test: what takes square time would need minutes. `tests.bench.worst` measures it."""
    many = {"kind": "Pod", "spec": {"containers": [{"name": f"c{n}", "image": "i"} for n in range(50)]}}
    message = head + unit * (20_000 // len(unit))
    for reason, status in (("Forbidden", 403), ("BadRequest", 400), ("Invalid", 422), ("", 500)):
        assert 1 <= len(read(message, many, reason=reason, status=status)) <= 64
    read("", many, reason="Invalid", status=422, details=cause(unit * 9000, f"Invalid value: {unit * 9000}"))
