"""The webhook position: kube-apiserver calls a webhook through the proxy, with the agent's request in the review.

An AdmissionReview becomes the request it is about, and a denial the Status that the API server will make of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import orjson

from corrigible.schema.exchange import Exchange, Json, Request

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
