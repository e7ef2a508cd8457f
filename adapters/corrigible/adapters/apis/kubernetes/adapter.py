"""The Kubernetes adapter.

The webhook position: kube-apiserver calls a webhook through the proxy, with the agent's request in the review.
An AdmissionReview becomes the request it is about, and a denial the Status that the API server will make of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, unquote

import orjson

from corrigible.adapters.base import Adapter, Call, Calls
from corrigible.adapters.operation import Operations
from corrigible.schema.exchange import Exchange, Json, Request

from .format import KUBERNETES

_OPERATIONS: Final[Mapping[str, Sequence[str]]] = {
    "POST": ("CREATE", "CONNECT"),
    "PUT": ("UPDATE", "CREATE", "CONNECT"),
    "PATCH": ("UPDATE", "CREATE", "CONNECT"),
    "DELETE": ("DELETE", "CONNECT"),
    "GET": ("CONNECT",),
}
"""The admission operations of a method: a PUT or a PATCH may create the object, every method may connect."""
_OF_A_NAMESPACE: Final = frozenset({"finalize", "status"})


def calls_of(request: Request) -> Calls:
    """Return the calls that a request may be, and the uid of the question where it is one about a call."""
    review = request.body
    question = (
        review.get("request") if isinstance(review, Mapping) and review.get("kind") == "AdmissionReview" else None
    )
    if isinstance(question, Mapping):
        call = _call_in(question)
        return Calls((call,) if call is not None else (), _text(question.get("uid")))
    return Calls(tuple(_sent(request)))


def _call_in(question: Mapping[str, Any]) -> Call | None:
    resource = question.get("requestResource") or question.get("resource")
    if not isinstance(resource, Mapping):
        return None
    group, version, kind = (_text(resource.get(name)) for name in ("group", "version", "resource"))
    subresource = _text(question.get("requestSubResource") or question.get("subResource"))
    namespace = "" if kind == "namespaces" and not group else _text(question.get("namespace"))
    return (_text(question.get("operation")), group, version, kind, subresource, namespace, _text(question.get("name")))


def _sent(request: Request) -> list[Call]:
    parts = [unquote(part) for part in request.path.split("/")[1:]]
    match parts:
        case ["api", version, *rest] if rest:
            group = ""
        case ["apis", group, version, *rest] if rest:
            pass
        case _:
            return []
    namespace = ""
    match rest:
        case ["namespaces", _, subresource] if not group and subresource in _OF_A_NAMESPACE:
            pass
        case ["namespaces", namespace, _, *_]:
            rest = rest[2:]
    kind, name, subresource = rest[0], *[*rest[1:2], ""][:1], "/".join(rest[2:])
    name = name or _own_name(request.body)
    return [
        (operation, group, version, kind, subresource, namespace, name)
        for operation in _OPERATIONS.get(request.method, ())
    ]


def _own_name(body: Json) -> str:
    metadata = body.get("metadata") if isinstance(body, Mapping) else None
    return _text(metadata.get("name")) if isinstance(metadata, Mapping) else ""


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


_ROOTS = ("/api/{version}", "/apis/{group}/{version}")
_DISCOVERY = ("/api", "/apis", "/api/{version}", "/apis/{group}", "/apis/{group}/{version}")
_OBJECT = {"GET": "get", "PUT": "replace", "PATCH": "patch", "DELETE": "delete"}
_COLLECTION = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_ANY = {**_OBJECT, "POST": "create"}
_OWN = {
    "binding": {"POST": "bind"},
    "ephemeralcontainers": dict.fromkeys(("PUT", "PATCH"), "ephemeral"),
    "eviction": {"POST": "evict"},
    "log": {"GET": "log"},
    "proxy": dict.fromkeys(_ANY, "proxy"),
    "scale": {"GET": "get-scale", "PUT": "replace-scale", "PATCH": "patch-scale"},
    "status": {"GET": "get-status", "PUT": "replace-status", "PATCH": "patch-status"},
    "token": {"POST": "token"},
    **{name: dict.fromkeys(("GET", "POST"), name) for name in ("attach", "exec", "portforward")},
}
"""Subresources with a name of their own; every other one is `<verb>-subresource`."""
_PARAMS = ("group", "version", "namespace", "resource", "name", "subresource")


class KubernetesOperations(Operations):
    """The same names for every group and kind. All path parameters are always there, empty where not in the path."""

    def __init__(self, table: Mapping[str, str] | None = None) -> None:
        super().__init__(dict(_table()) if table is None else table)

    def find(self, method: str, path: str) -> tuple[str, dict[str, str]] | None:
        match = super().find(method, path)
        if match is None:
            return None
        operation, params = match
        whole = dict.fromkeys(_PARAMS, "") | params
        if not whole["resource"] and operation != "discover":
            _, _, rest = path.partition("/namespaces")
            whole["resource"] = "namespaces"
            whole["namespace"] = whole["name"]
            whole["subresource"] = whole["subresource"] or rest.strip("/").partition("/")[2]
        elif not whole["subresource"] and operation not in _OBJECT_VERBS:
            last = path.rstrip("/").rpartition("/")[2] if whole["name"] else ""
            whole["subresource"] = "proxy" if "path" in params else last
        return operation, whole

    def merged_with(self, more: Operations) -> Operations:
        return KubernetesOperations({**more.templates, **self.templates})

    def with_prefix(self, base: str) -> Operations:
        return KubernetesOperations(super().with_prefix(base).templates)


_OBJECT_VERBS = frozenset(_OBJECT.values()) | frozenset(_COLLECTION.values())


def _table() -> Iterator[tuple[str, str]]:
    for path in _DISCOVERY:
        yield f"GET {path}", "discover"
    for root in _ROOTS:
        yield from _objects(f"{root}/{{resource}}")
        yield from _objects(f"{root}/namespaces/{{namespace}}/{{resource}}")
    yield from _objects("/api/{version}/namespaces")
    # `finalize` is the one subresource of namespaces beside `status`; others would read as kinds inside a namespace.
    for name in ("status", "finalize"):
        for method, verb in _OBJECT.items():
            operation = _OWN.get(name, {}).get(method, f"{verb}-subresource")
            yield f"{method} /api/{{version}}/namespaces/{{name}}/{name}", operation


def _objects(collection: str) -> Iterator[tuple[str, str]]:
    for method, verb in _COLLECTION.items():
        yield f"{method} {collection}", verb
    object_path = f"{collection}/{{name}}"
    for method, verb in _OBJECT.items():
        yield f"{method} {object_path}", verb
    if collection.endswith("/namespaces"):
        return
    for name, verbs in _OWN.items():
        for method, operation in verbs.items():
            yield f"{method} {object_path}/{name}", operation
    for method, verb in _ANY.items():
        yield f"{method} {object_path}/{{subresource}}", f"{verb}-subresource"
        yield f"{method} {object_path}/proxy/{{+path}}", "proxy"


_GROUP = "admission.k8s.io/"
_METHODS = {"CREATE": "POST", "UPDATE": "PUT", "DELETE": "DELETE", "CONNECT": "POST"}
_API_SERVER_AGENT = "kube-apiserver-admission"
"""The User-Agent of an API server that calls a webhook."""
_OWN_ROOTS = frozenset({"api", "apis", "openapi", "version", "healthz", "livez", "readyz", "metrics", "logs"})
_FILLED_IN = frozenset({"creationTimestamp", "resources", "securityContext", "status", "strategy"})
_ASSIGNED = frozenset({"managedFields"})
_ASSIGNED_TO_NEW = _ASSIGNED | {"uid", "creationTimestamp"}
_LEAST_REFUSAL = 400


def may_refuse(method: str, path: str, headers: Mapping[str, str]) -> bool:
    """Whether a 2xx answer may be a webhook's denial: the question came from an API server, or not to one."""
    if method != "POST":
        return False
    root = path.lstrip("/").partition("/")[0]
    return headers.get("user-agent", "").startswith(_API_SERVER_AGENT) or root not in _OWN_ROOTS


def present(exchange: Exchange) -> Exchange | None:
    """Return the agent's own request and the Status it will get, for an AdmissionReview that was denied."""
    review = exchange.request.body
    if not _is_review(review) or not 200 <= exchange.status < 300:
        return None
    try:
        answer = orjson.loads(exchange.body)
    except orjson.JSONDecodeError:
        return None
    response = answer.get("response") if _is_review(answer) else None
    question = review.get("request")
    if not isinstance(response, dict) or response.get("allowed") is not False or not isinstance(question, dict):
        return None
    request = _request(question)
    if request is None:
        return None
    status = _status(exchange.request.path, response.get("status"))
    return Exchange(
        request=request,
        status=status["code"],
        headers={"content-type": "application/json"},
        body=orjson.dumps(status),
        id=exchange.id,
        started=exchange.started,
        elapsed=exchange.elapsed,
        caller=_caller(exchange.caller, question),
    )


def _caller(server: str, question: Mapping[str, Any]) -> str:
    """Return the caller of the API server, empty for a dry run, which is no attempt."""
    user = question.get("userInfo")
    name = user.get("username") if isinstance(user, dict) else None
    return "" if question.get("dryRun") is True or not server else f"{server} {name or ''}"


def _is_review(body: Json) -> bool:
    return (
        isinstance(body, dict)
        and body.get("kind") == "AdmissionReview"
        and str(body.get("apiVersion", "")).startswith(_GROUP)
    )


def _request(question: Mapping[str, Any]) -> Request | None:
    resource, operation = question.get("resource"), str(question.get("operation", ""))
    method = _METHODS.get(operation)
    if method is None or not isinstance(resource, dict) or not resource.get("resource"):
        return None
    return Request(
        method=method,
        path=_path(question, resource, operation),
        query={"dryRun": "All"} if question.get("dryRun") is True else {},
        headers={"content-type": "application/json"},
        body=_unassigned(as_sent(question.get("object")), operation),
    )


def _unassigned(body: Json, operation: str) -> Json:
    """Return an object without the metadata that the API server adds: it differs from review to review."""
    metadata = body.get("metadata") if isinstance(body, dict) else None
    if not isinstance(metadata, dict):
        return body
    assigned = _ASSIGNED_TO_NEW if operation == "CREATE" else _ASSIGNED
    return {**body, "metadata": {key: value for key, value in metadata.items() if key not in assigned}}


def as_sent(body: Json) -> Json:
    """Return an object without the empty members that the API server adds before the review.

    The caller may not have them: a patch has to add the whole member, which is right whether it is there or not.
    """
    if isinstance(body, dict):
        return {key: as_sent(value) for key, value in body.items() if key not in _FILLED_IN or value not in ({}, None)}
    return [as_sent(value) for value in body] if isinstance(body, list) else body


def _path(question: Mapping[str, Any], resource: Mapping[str, Any], operation: str) -> str:
    group, version, kind = (str(resource.get(name) or "") for name in ("group", "version", "resource"))
    name, namespace, subresource = (str(question.get(key) or "") for key in ("name", "namespace", "subResource"))
    parts = ["apis", group, version] if group else ["api", version]
    if namespace and not (kind == "namespaces" and not group):
        parts += ["namespaces", namespace]
    parts.append(kind)
    if name and (operation != "CREATE" or subresource):
        parts.append(name)
        parts += [subresource] if subresource else []
    return "/" + "/".join(quote(part, safe="") for part in parts)


def _status(webhook: str, refusal: Json) -> dict[str, Any]:
    """Return the Status that the API server makes of a denial (apiserver's admission/plugin/webhook/errors)."""
    answer_status = dict(refusal) if isinstance(refusal, dict) else {}
    denied = f'admission webhook "{webhook.strip("/") or "webhook"}" denied the request'
    text = answer_status.get("message") or answer_status.get("reason")
    code = answer_status.get("code")
    is_refusal = isinstance(code, int) and code >= _LEAST_REFUSAL
    return {
        **answer_status,
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": f"{denied}: {text}" if text else f"{denied} without explanation",
        "code": code if is_refusal else _LEAST_REFUSAL,
    }


ADAPTER = Adapter(
    name="kubernetes",
    formats=(KUBERNETES,),
    operations=KubernetesOperations(),
    unwrap=present,
    may_refuse=may_refuse,
    placement="kubernetes",
    calls=calls_of,
)
