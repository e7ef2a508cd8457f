"""What the Kubernetes dialect reads out of denials: quotas and limits, Pod Security, webhooks and their policies."""

# ruff: noqa: E501  (what servers say is kept in one piece)

from __future__ import annotations

import pytest

from corrigible.schema.exchange import Json
from tests._support.kubernetes_status import CLAIM, DENIED, DEPLOYMENT, FORBIDDEN, POD, Expected, cause, check, read
from tests._support.rows import rows

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


@rows(("message", "body", "expected"), ADMISSION)
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


@rows(("denial", "expected"), WEBHOOKS)
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
