"""The Kubernetes API's Status object, and what admission plugins and webhooks put into its message.

Knows where things are. Whether they are right is for rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from corrigible.adapters.apis.kubernetes.errors.admission_errors import read_forbidden
from corrigible.adapters.apis.kubernetes.errors.decode_errors import read_bad_request
from corrigible.adapters.apis.kubernetes.errors.field_path import field_pointer
from corrigible.adapters.apis.kubernetes.errors.status_errors import (
    MOST_COMPLAINTS,
    MOST_TEXT,
    Said,
    field_error,
    field_errors,
    listed,
    text,
)
from corrigible.adapters.apis.kubernetes.errors.webhook_errors import read_webhook
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json

OWN_CAUSE = "RecoveryFeedback"
"""The reason of causes that carry feedback: no complaint of the server."""

_WEBHOOK = re.compile(
    r'^admission webhook "(?P<name>[^"]*)" (?:denied the request|denied)(?::\s| without explanation|:?$)'
)
_UNREACHABLE = re.compile(r'failed calling (?:admission )?webhook "(?P<name>[^"]*)"')
_CONFLICT_WITH = re.compile(r'^conflict with "(?P<manager>[^"]*)"')
_TERMINATING = re.compile(r"namespace (?P<namespace>\S+) is being terminated")
_NOT_FOUND = re.compile(r'^(?P<kind>[\w.\-/]+) "(?P<name>[^"]*)" not found')
_EXISTS = re.compile(r'^(?P<kind>[\w.\-/]+) "(?P<name>[^"]*)" already exists')
_MODIFIED = "the object has been modified"
_PRECONDITION = re.compile(r"[Pp]reconditions? failed|(?:UID|ResourceVersion) in (?:the )?precondition")
_VAP = re.compile(
    r"^(?:: )?ValidatingAdmissionPolicy '(?P<policy>[^']*)' with binding '(?P<binding>[^']*)' denied request: "
    r"(?P<text>.*)",
    re.S,
)


@dataclass(frozen=True, slots=True)
class KubernetesFormat:
    name: str = "kubernetes"

    def read(self, exchange: Exchange, body: Json) -> Sequence[Violation]:
        if not isinstance(body, Mapping) or body.get("kind") != "Status" or body.get("status") != "Failure":
            return ()
        said = Said(exchange, body)
        denied = _WEBHOOK.match(said.text)
        if denied is not None:
            said = Said(exchange, body, denied["name"])
        causes = [one for one in said.details.get("causes") or () if _complains(one, said.reason)]
        found = [violation for cause in causes[:MOST_COMPLAINTS] for violation in _cause(said, cause)]
        if found:
            return found
        if denied is not None:
            return read_webhook(said, said.text[denied.end() :])
        return list(islice(_read(said, exchange.status), MOST_COMPLAINTS))


def _complains(cause: Json, reason: str) -> bool:
    if not isinstance(cause, Mapping) or cause.get("reason") == OWN_CAUSE or not cause.get("message"):
        return False
    # The causes of an internal error name no place, and the message says as much.
    return reason != "InternalError" or bool(cause.get("field"))


def _cause(said: Said, cause: Mapping[str, Json]) -> Iterator[Violation]:
    message, field, reason = (text(cause, name)[:MOST_TEXT] for name in ("message", "field", "reason"))
    policy = _VAP.match(message)
    if policy is not None:
        yield said.violation(
            "VAP", policy["text"], param=policy["policy"], policy=policy["policy"], rule=policy["binding"]
        )
        return
    if reason == "FieldManagerConflict":
        manager = _CONFLICT_WITH.match(message)
        pointer = field_pointer(said.request, field)
        yield said.violation(
            reason,
            message,
            param=field,
            pointer=pointer,
            manager=manager["manager"] if manager else "",
            places=[pointer],
        )
        return
    if reason == "NamespaceTerminating":
        found = _TERMINATING.search(message)
        namespace = found["namespace"] if found else ""
        yield said.violation(reason, message, param=field, pointer="/path", namespace=namespace)
        return
    if field == "patch" and said.request.method == "PATCH":
        detail = field_error(field, message).detail
        undecoded = list(read_bad_request(Said(said.exchange, {**said.status, "message": detail, "details": {}})))
        if undecoded and undecoded[0].code == "QUANTITY_FORMAT":
            yield undecoded[0]
            return
        if undecoded and undecoded[0].code != "BAD_REQUEST":
            yield undecoded[0]._replace(code=reason or "FieldValueInvalid", param=field, message=detail)
            return
    if said.webhook and not field and not reason.startswith("FieldValue"):
        return  # its text says the same, and its dialect is known
    yield said.field(field_error(field, message), reason)


def _read(said: Said, status: int) -> Iterator[Violation]:
    unreachable = _UNREACHABLE.search(said.text)
    if unreachable is not None:
        yield said.violation("WEBHOOK_UNREACHABLE", said.text, webhook=unreachable["name"])
        return
    policy = _VAP.match(said.body)
    if policy is not None:
        yield said.violation(
            "VAP", policy["text"], param=policy["policy"], policy=policy["policy"], rule=policy["binding"]
        )
        return
    read = _BY_REASON.get(said.reason) or _BY_STATUS.get(status) or _unknown
    yield from read(said)


def _invalid(said: Said) -> Iterator[Violation]:
    found = field_errors(said.body)
    if not found:
        code = "PATCH_REJECTED" if said.request.method == "PATCH" else "INVALID"
        yield said.violation(code, said.body, pointer="/body")
    for error in found:
        yield said.field(error)


def _not_found(said: Said) -> Iterator[Violation]:
    found = _NOT_FOUND.match(said.text)
    if found is None:
        yield said.violation("PATH_UNKNOWN", said.text, pointer="/path")
        return
    kind, name = found["kind"], found["name"]
    segment = f"/namespaces/{name}/"
    if kind == "namespaces" and segment in said.request.path + "/" and not said.request.path.endswith(segment[:-1]):
        yield said.violation(
            "NAMESPACE_NOT_FOUND", said.text, param="namespace", pointer="/path", name=name, kind=kind, namespace=name
        )
        return
    yield said.violation("NOT_FOUND", said.text, param=kind, pointer="/path", kind=kind, name=name)


def _exists(said: Said) -> Iterator[Violation]:
    found = _EXISTS.match(said.text)
    extra = {"kind": found["kind"], "name": found["name"]} if found else {}
    yield said.violation("ALREADY_EXISTS", said.text, param="metadata.name", pointer="/body/metadata/name", **extra)


def _conflict(said: Said) -> Iterator[Violation]:
    if _MODIFIED in said.text:
        pointer = field_pointer(said.request, "metadata.resourceVersion")
        yield said.violation(
            "CONFLICT", said.text, param="metadata.resourceVersion", pointer=pointer, rule="modified", places=[pointer]
        )
    else:
        rule = "precondition" if _PRECONDITION.search(said.text) else ""
        yield said.violation("CONFLICT", said.text, rule=rule)


def _too_many(said: Said) -> Iterator[Violation]:
    code = "DisruptionBudget" if "disruption budget" in said.text else "TOO_MANY_REQUESTS"
    yield said.violation(code, said.text)


def _media_type(said: Said) -> Iterator[Violation]:
    yield said.violation(
        "UNSUPPORTED_MEDIA_TYPE", said.text, param="content-type", pointer="/headers/content-type",
        value=said.request.headers.get("content-type"), supported=listed(said.text),
    )  # fmt: skip


def _not_acceptable(said: Said) -> Iterator[Violation]:
    if field_errors(said.body):
        yield from _invalid(said)
        return
    yield said.violation(
        "NOT_ACCEPTABLE", said.text, param="accept", pointer="/headers/accept",
        value=said.request.headers.get("accept"), supported=listed(said.text),
    )  # fmt: skip


def _method(said: Said) -> Iterator[Violation]:
    allow = said.exchange.headers.get("allow", "")
    supported: list[Json] = [part.strip() for part in allow.split(",") if part.strip()]
    yield said.violation("METHOD_NOT_ALLOWED", said.text, pointer="/method", supported=supported)


def _expired(said: Said) -> Iterator[Violation]:
    param = "continue" if "continue" in said.request.query else "resourceVersion"
    yield said.violation("EXPIRED", said.text, param=param, pointer=f"/query/{param}")


def _internal(said: Said) -> Iterator[Violation]:
    found = list(read_bad_request(said))
    if found and (found[0].code != "BAD_REQUEST" or found[0].pointer):
        yield from found
    else:
        yield said.violation("INTERNAL", said.text)


def _plain(code: str, pointer: str = "") -> Callable[[Said], Iterator[Violation]]:
    def read(said: Said) -> Iterator[Violation]:
        yield said.violation(code, said.text, pointer=pointer)

    return read


_unknown = _plain("UNKNOWN")
_BY_REASON: Mapping[str, Callable[[Said], Iterator[Violation]]] = {
    "AlreadyExists": _exists,
    "BadRequest": read_bad_request,
    "Conflict": _conflict,
    "Expired": _expired,
    "Forbidden": read_forbidden,
    "Gone": _expired,
    "InternalError": _internal,
    "Invalid": _invalid,
    "MethodNotAllowed": _method,
    "NotAcceptable": _not_acceptable,
    "NotFound": _not_found,
    "RequestEntityTooLarge": _plain("TOO_LARGE", "/body"),
    "ServerTimeout": _plain("TIMEOUT"),
    "ServiceUnavailable": _plain("UNAVAILABLE"),
    "Timeout": _plain("TIMEOUT"),
    "TooManyRequests": _too_many,
    "Unauthorized": _plain("UNAUTHORIZED"),
    "UnsupportedMediaType": _media_type,
}
_BY_STATUS: Mapping[int, Callable[[Said], Iterator[Violation]]] = {
    400: read_bad_request,
    401: _BY_REASON["Unauthorized"],
    403: read_forbidden,
    404: _not_found,
    405: _method,
    406: _not_acceptable,
    409: _conflict,
    410: _expired,
    413: _BY_REASON["RequestEntityTooLarge"],
    415: _media_type,
    422: _invalid,
    429: _too_many,
    500: _internal,
    503: _BY_REASON["ServiceUnavailable"],
    504: _BY_REASON["Timeout"],
}

KUBERNETES = KubernetesFormat()
