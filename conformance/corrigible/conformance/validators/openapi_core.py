"""A second judge of requests and answers by a description: openapi-core, which shares no code with this project.

Knows: openapi-core, request documents, answers. Does not know: which judge is right where two of them differ.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from openapi_core import Config, OpenAPI
from openapi_core.datatypes import RequestParameters
from openapi_core.templating.paths.exceptions import PathError
from werkzeug.datastructures import Headers, ImmutableMultiDict

from corrigible.schema.document import form_pairs
from corrigible.schema.exchange import Json, Request

_HOST: Final = "http://subject.test"
_LONGEST: Final = 200
_OPERATIONS: Final = ("get", "put", "post", "delete", "patch", "head", "options", "trace")


@dataclass(slots=True)
class _Asked:
    """A request as openapi-core takes it."""

    path: str
    method: str
    content_type: str
    body: bytes | None
    parameters: RequestParameters
    host_url: str = _HOST


@dataclass(frozen=True, slots=True)
class _Answered:
    """An answer as openapi-core takes it."""

    status_code: int
    content_type: str
    data: bytes
    headers: Headers = field(default_factory=Headers)


class SecondJudge:
    """openapi-core with one description."""

    def __init__(self, document: Mapping[str, Json]) -> None:
        """Raises ValueError where openapi-core takes no such description, Swagger 2.0 for one."""
        if not str(document.get("openapi", "")).startswith("3."):
            raise ValueError("it takes OpenAPI 3 alone")
        try:
            self._api: Any = OpenAPI.from_dict(_judged(document), config=_config(document))
        except Exception as problem:  # of jsonschema, of its loaders, of referencing: whatever it cannot read
            raise ValueError(f"{type(problem).__name__}: {str(problem)[:_LONGEST]}") from None

    def request_errors(self, request: Request) -> list[str] | None:
        """Return what is wrong with a request, None where openapi-core cannot tell: an unknown path, an own failure."""
        try:
            errors = list(self._api.iter_request_errors(_asked(request)))
        except Exception:  # what it does not implement it raises as anything
            return None
        return None if any(isinstance(one, PathError) for one in errors) else _told(errors)

    def response_errors(
        self, request: Request, status: int, headers: Sequence[tuple[str, str]], body: bytes
    ) -> list[str] | None:
        """Return what is wrong with an answer, None where openapi-core cannot tell."""
        names = Headers(list(headers))
        answered = _Answered(status, (names.get("content-type") or "").lower(), body, names)
        try:
            errors = list(self._api.iter_response_errors(_asked(request), answered))
        except Exception:  # the same
            return None
        return None if any(isinstance(one, PathError) for one in errors) else _told(errors)


def _config(document: Mapping[str, Json]) -> Config:
    """Return what differs from the defaults: more media types of JSON, and no check of the description (seconds)."""
    return Config(
        spec_validator_cls=None,  # type: ignore[arg-type]  # documented; the type leaves it out
        extra_media_type_deserializers=dict.fromkeys(_json_types(document), json.loads),
    )


def _json_types(value: Json) -> Iterator[str]:
    """Yield the media types of a description that are JSON by their suffix (RFC 6839 section 3.1)."""
    if isinstance(value, Mapping):
        content = value.get("content")
        yield from (name for name in content if name.endswith("+json")) if isinstance(content, Mapping) else ()
        for inner in value.values():
            yield from _json_types(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _json_types(inner)


def _told(errors: Sequence[Exception]) -> list[str]:
    return [text for one in errors for text in _causes(one)]


def _causes(error: Exception) -> Iterator[str]:
    """Yield what a schema says, where openapi-core only says that the body is invalid."""
    cause = error.__cause__
    inner = getattr(cause, "schema_errors", None)
    for one in inner if inner is not None else (cause or error,):
        yield str(getattr(one, "message", None) or one)[:_LONGEST]


def _judged(document: Mapping[str, Json]) -> dict[str, Any]:
    """Return the description without credentials, which request documents never hold, and with all base paths."""
    judged = deepcopy(dict(document))
    bases = dict.fromkeys(urlsplit(str(one.get("url", ""))).path.rstrip("/") for one in judged.get("servers") or ())
    judged["servers"] = [{"url": f"{_HOST}{base}"} for base in dict.fromkeys(["", *bases])]
    judged.pop("security", None)
    for item in judged.get("paths", {}).values():
        item.pop("servers", None)
        for name in _OPERATIONS:
            if isinstance(item.get(name), dict):
                item[name].pop("security", None)
                item[name].pop("servers", None)
    return judged


def _asked(request: Request) -> _Asked:
    headers = Headers([(name, str(value)) for name, value in request.headers.items()])
    body: bytes | None = None
    media = str(headers.get("content-type") or "").lower()
    if request.body is not None and request.form:
        media = "application/x-www-form-urlencoded"
        body = urlencode(list(form_pairs(request.body))).encode()
    elif request.body is not None:
        media = media or "application/json"
        body = json.dumps(request.body).encode()
    query = [(name, text) for name, value in request.query.items() for text in _texts(value)]
    parameters = RequestParameters(query=ImmutableMultiDict(query), header=headers)
    return _Asked(request.path, request.method.lower(), media, body, parameters)


def _texts(value: Json) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [str(one).lower() if isinstance(one, bool) else str(one) for one in values]
