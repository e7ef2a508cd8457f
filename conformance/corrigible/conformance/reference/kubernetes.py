"""A stand-in for a kube-apiserver: it serves a few objects, and answers dry runs from the vectors.

A dry run of a request that a vector has refused is refused alike, and one that the vector allows as next is taken.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from corrigible.conformance.model.yaml_file import load_yaml
from corrigible.conformance.reference.upstream import Received, Script, answer
from corrigible.conformance.transport.http1 import HttpRequest
from corrigible.schema.exchange import Json

DRY_RUN: Final = ("dryRun", "All")
_LISTED: Final = files(__package__).joinpath("kubernetes.yaml")


class Known(NamedTuple):
    """A request whose answer is known: `{method, path, query, body}`."""

    request: Mapping[str, Json]
    status: int
    body: Json


class ApiServer:
    """Answers what no script is for. It changes nothing: every write that is no dry run is refused."""

    def __init__(self, known_objects: Iterable[Known] = ()) -> None:
        self._objects: dict[str, Any] = load_yaml(_LISTED.read_text(encoding="utf-8"))
        self._known = {_key(entry.request): entry for entry in known_objects}

    def __call__(self, received: Received) -> Script:
        sent = received.sent
        path, _, query = sent.target.partition("?")
        if sent.method in ("GET", "HEAD"):
            stored = self._objects.get(path)
            return answer(200, stored) if stored is not None else refusal(404, "NotFound", f'"{path}" not found')
        if not is_dry_run(sent):
            return refusal(403, "Forbidden", "this server takes dry runs only")
        request = {
            "method": sent.method,
            "path": path,
            "query": {name: value for name, value in parse_qsl(query) if (name, value) != DRY_RUN},
            "body": json.loads(sent.body) if sent.body else None,
        }
        known_object = self._known.get(_key(request))
        if known_object is None:
            return refusal(422, "Invalid", "this server knows no such request")
        return answer(known_object.status, known_object.body)


def is_dry_run(request: HttpRequest) -> bool:
    """Whether a request asks for a dry run."""
    return DRY_RUN in parse_qsl(request.target.partition("?")[2])


def refusal(code: int, reason: str, message: str) -> Script:
    """Return a Status, as every refusal of the API server is one."""
    return answer(code, status(code, reason, message))


def status(code: int, reason: str, message: str, **more: Json) -> dict[str, Json]:
    """Return the object of a refusal, its members in the order in which the API server writes them."""
    head = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return {**head, "message": message, "reason": reason, **more, "code": code}


def _key(request: Mapping[str, Json]) -> str:
    parts = {name: request.get(name) for name in ("method", "path", "body")}
    return json.dumps({**parts, "query": dict(request.get("query") or {})}, sort_keys=True)
