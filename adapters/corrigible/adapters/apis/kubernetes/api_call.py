"""The Kubernetes API call that a request makes or an AdmissionReview is about: both give the same key.

Knows: paths, AdmissionReviews. Does not know: what the key is used for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

from corrigible.adapters.base import Call, Calls
from corrigible.schema.exchange import Json, Request

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
