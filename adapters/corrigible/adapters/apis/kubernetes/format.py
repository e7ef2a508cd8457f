"""The Kubernetes API's Status object, and the errors of admission plugins and webhooks in its message.

Locates facts; rules judge them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json

from . import status_errors
from .admission_errors import read_forbidden, read_webhook
from .decode_errors import read_bad_request

OWN_CAUSE = "RecoveryFeedback"
"""The reason of causes that carry feedback: no error of the server."""

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
        refusal = status_errors.Refusal(exchange, body)
        denied = _WEBHOOK.match(refusal.text)
        if denied is not None:
            refusal = status_errors.Refusal(exchange, body, denied["name"])
        causes = [cause for cause in refusal.details.get("causes") or () if _complains(cause, refusal.reason)]
        violations = [
            violation for cause in causes[: status_errors.MOST_COMPLAINTS] for violation in _cause(refusal, cause)
        ]
        if violations:
            return violations
        if denied is not None:
            return read_webhook(refusal, refusal.text[denied.end() :])
        return list(islice(_read(refusal, exchange.status), status_errors.MOST_COMPLAINTS))


def _complains(cause: Json, reason: str) -> bool:
    if not isinstance(cause, Mapping) or cause.get("reason") == OWN_CAUSE or not cause.get("message"):
        return False
    # The causes of an internal error name no place, and repeat the message.
    return reason != "InternalError" or bool(cause.get("field"))


def _cause(refusal: status_errors.Refusal, cause: Mapping[str, Json]) -> Iterator[Violation]:
    message, field, reason = (
        status_errors.text(cause, name)[: status_errors.MOST_TEXT] for name in ("message", "field", "reason")
    )
    policy = _VAP.match(message)
    if policy is not None:
        yield _denied_by_policy(refusal, policy)
        return
    if reason == "FieldManagerConflict":
        manager = _CONFLICT_WITH.match(message)
        pointer = status_errors.field_pointer(refusal.request, field)
        by = manager["manager"] if manager else ""
        yield refusal.about(reason, message, [pointer], param=field, manager=by, value=None)
        return
    if reason == "NamespaceTerminating":
        match = _TERMINATING.search(message)
        namespace = match["namespace"] if match else ""
        yield refusal.violation(reason, message, param=field, pointer="/path", namespace=namespace)
        return
    if field == "patch" and refusal.request.method == "PATCH":
        detail = status_errors.field_error(field, message).detail
        undecoded = list(
            read_bad_request(
                status_errors.Refusal(refusal.exchange, {**refusal.status, "message": detail, "details": {}})
            )
        )
        if undecoded and undecoded[0].code == "QUANTITY_FORMAT":
            yield undecoded[0]
            return
        if undecoded and undecoded[0].code != "BAD_REQUEST":
            yield undecoded[0]._replace(code=reason or "FieldValueInvalid", param=field, message=detail)
            return
    if refusal.webhook and not field and not reason.startswith("FieldValue"):
        return  # the message has the same text in a known dialect
    yield refusal.field(status_errors.field_error(field, message), reason)


def _denied_by_policy(refusal: status_errors.Refusal, policy: re.Match[str]) -> Violation:
    name = policy["policy"]
    return refusal.violation("VAP", policy["text"], param=name, policy=name, rule=policy["binding"])


def _read(refusal: status_errors.Refusal, status: int) -> Iterator[Violation]:
    unreachable = _UNREACHABLE.search(refusal.text)
    if unreachable is not None:
        yield refusal.violation("WEBHOOK_UNREACHABLE", refusal.text, webhook=unreachable["name"])
        return
    policy = _VAP.match(refusal.body)
    if policy is not None:
        yield _denied_by_policy(refusal, policy)
        return
    read = _BY_REASON.get(refusal.reason) or _BY_STATUS.get(status) or _unknown
    yield from read(refusal)


def _invalid(refusal: status_errors.Refusal) -> Iterator[Violation]:
    errors = status_errors.field_errors(refusal.body)
    if not errors:
        code = "PATCH_REJECTED" if refusal.request.method == "PATCH" else "INVALID"
        yield refusal.violation(code, refusal.body, pointer="/body")
    for error in errors:
        yield refusal.field(error)


def _not_found(refusal: status_errors.Refusal) -> Iterator[Violation]:
    match, text = _NOT_FOUND.match(refusal.text), refusal.text
    if match is None:
        yield refusal.violation("PATH_UNKNOWN", text, pointer="/path")
        return
    path = refusal.request.path
    kind, name = match["kind"], match["name"]
    segment = f"/namespaces/{name}/"
    if kind == "namespaces" and segment in path + "/" and not path.endswith(segment[:-1]):
        yield refusal.violation(
            "NAMESPACE_NOT_FOUND", text, param="namespace", pointer="/path", name=name, kind=kind, namespace=name
        )
        return
    yield refusal.violation("NOT_FOUND", text, param=kind, pointer="/path", kind=kind, name=name)


def _exists(refusal: status_errors.Refusal) -> Iterator[Violation]:
    match, pointer = _EXISTS.match(refusal.text), "/body/metadata/name"
    native = match.groupdict() if match else {}
    yield refusal.violation("ALREADY_EXISTS", refusal.text, param="metadata.name", pointer=pointer, **native)


def _conflict(refusal: status_errors.Refusal) -> Iterator[Violation]:
    if _MODIFIED in refusal.text:
        pointer = status_errors.field_pointer(refusal.request, "metadata.resourceVersion")
        param = "metadata.resourceVersion"
        yield refusal.about("CONFLICT", refusal.text, [pointer], param=param, rule="modified", value=None)
    else:
        rule = "precondition" if _PRECONDITION.search(refusal.text) else ""
        yield refusal.violation("CONFLICT", refusal.text, rule=rule)


def _too_many(refusal: status_errors.Refusal) -> Iterator[Violation]:
    code = "DisruptionBudget" if "disruption budget" in refusal.text else "TOO_MANY_REQUESTS"
    yield refusal.violation(code, refusal.text)


def _media_type(refusal: status_errors.Refusal) -> Iterator[Violation]:
    yield refusal.violation(
        "UNSUPPORTED_MEDIA_TYPE", refusal.text, param="content-type", pointer="/headers/content-type",
        value=refusal.request.headers.get("content-type"), supported=status_errors.listed(refusal.text),
    )  # fmt: skip


def _not_acceptable(refusal: status_errors.Refusal) -> Iterator[Violation]:
    if status_errors.field_errors(refusal.body):
        yield from _invalid(refusal)
        return
    yield refusal.violation(
        "NOT_ACCEPTABLE", refusal.text, param="accept", pointer="/headers/accept",
        value=refusal.request.headers.get("accept"), supported=status_errors.listed(refusal.text),
    )  # fmt: skip


def _method(refusal: status_errors.Refusal) -> Iterator[Violation]:
    allow = refusal.exchange.headers.get("allow", "")
    supported: list[Json] = [part.strip() for part in allow.split(",") if part.strip()]
    yield refusal.violation("METHOD_NOT_ALLOWED", refusal.text, pointer="/method", supported=supported)


def _expired(refusal: status_errors.Refusal) -> Iterator[Violation]:
    param = "continue" if "continue" in refusal.request.query else "resourceVersion"
    yield refusal.violation("EXPIRED", refusal.text, param=param, pointer=f"/query/{param}")


def _internal(refusal: status_errors.Refusal) -> Iterator[Violation]:
    violations = list(read_bad_request(refusal))
    if violations and (violations[0].code != "BAD_REQUEST" or violations[0].pointer):
        yield from violations
    else:
        yield refusal.violation("INTERNAL", refusal.text)


def _plain(code: str, pointer: str = "") -> Callable[[status_errors.Refusal], Iterator[Violation]]:
    def read(refusal: status_errors.Refusal) -> Iterator[Violation]:
        yield refusal.violation(code, refusal.text, pointer=pointer)

    return read


_unknown = _plain("UNKNOWN")
_BY_REASON: Mapping[str, Callable[[status_errors.Refusal], Iterator[Violation]]] = {
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
_BY_STATUS: Mapping[int, Callable[[status_errors.Refusal], Iterator[Violation]]] = {
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
