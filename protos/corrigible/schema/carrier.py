"""Where feedback travels in a JSON answer.

Knows: the places that SPEC.md names. Does not know: how an answer was sent, what a reader makes of feedback.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from .error import ReaderError
from .exchange import Json
from .feedback import MEMBER

CAUSE: Final = "RecoveryFeedback"
"""The reason of a cause, in the details of a Kubernetes Status, that carries feedback as JSON text."""
DETAIL: Final = "corrigible.schema.v0_1.RecoveryFeedback"
"""The message that stands as an Any in the details of a google.rpc.Status."""
_LONGEST_TEXT = 64 * 1024

Found = Mapping[str, Json] | None


def find(body: Json) -> Json | None:
    """Return the feedback object of a decoded JSON answer, None where there is none."""
    if not isinstance(body, Mapping):
        return None
    return next((found for place in _PLACES if (found := place(body)) is not None), None)


def _member(holder: Json) -> Found:
    return _object(_get(holder, MEMBER))


def _in_error(body: Mapping[str, Json]) -> Found:
    """SDKs show the native error object and nothing else."""
    return _member(body.get("error"))


def _in_data(body: Mapping[str, Json]) -> Found:
    """JSON-RPC 2.0, section 5.1."""
    return _member(_get(body.get("error"), "data"))


def _in_extensions(body: Mapping[str, Json]) -> Found:
    """GraphQL over HTTP: each error has extensions of its own."""
    return next(
        (f for error in _list(body.get("errors")) if (f := _member(_get(error, "extensions"))) is not None), None
    )


def in_causes(body: Mapping[str, Json]) -> Found:
    """The Kubernetes API server keeps the causes of a webhook's denial, and no member of its own."""
    if body.get("kind") != "Status":
        return None
    causes = _list(_get(body.get("details"), "causes"))
    said = (_get(cause, "message") for cause in causes if _get(cause, "reason") == CAUSE)
    return next((found for text in said if (found := _object(_parsed(text))) is not None), None)


def _in_details(body: Mapping[str, Json]) -> Found:
    """A google.rpc.Status in proto-JSON, bare or as `error` (AIP-193)."""
    for status in (body, body.get("error")):
        for detail in _list(_get(status, "details")):
            kind = _get(detail, "@type")
            if isinstance(kind, str) and kind.rpartition("/")[2] == DETAIL and (found := _from_any(detail)) is not None:
                return found
    return None


def _in_content(body: Mapping[str, Json]) -> Found:
    """A tool result of the Model Context Protocol, bare or as the result of a JSON-RPC answer."""
    for result in (body, body.get("result")):
        texts = (_get(item, "text") for item in _list(_get(result, "content")) if _get(item, "type") == "text")
        found = next((f for text in texts if (f := _member(_parsed(text))) is not None), None)
        if found is not None:
            return found
    return None


_PLACES: Final[tuple[Callable[[Mapping[str, Json]], Found], ...]] = (
    _member,
    _in_error,
    _in_data,
    _in_extensions,
    in_causes,
    _in_details,
    _in_content,
)
"""In the order of SPEC.md 3.5: the first object counts."""


def _from_any(detail: Any) -> Found:
    from google.protobuf import json_format  # protobuf is for those who have it to read

    from .convert import from_proto
    from .v0_1.feedback_pb2 import RecoveryFeedback

    members = {name: value for name, value in detail.items() if name != "@type"}
    try:
        message = json_format.ParseDict(members, RecoveryFeedback(), ignore_unknown_fields=True)
        return from_proto(message).document()
    except (json_format.ParseError, ReaderError, RecursionError):
        return None


def _get(holder: Json, name: str) -> Json:
    return holder.get(name) if isinstance(holder, Mapping) else None


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _object(value: Json) -> Found:
    return value if isinstance(value, Mapping) else None


def _parsed(text: Json) -> Json:
    """Return the object that a text holds as JSON, None where it is prose or too long."""
    if not isinstance(text, str) or len(text) > _LONGEST_TEXT or not text.lstrip().startswith("{"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
