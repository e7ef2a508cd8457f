"""Send request documents to a server the way a client of its API would."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from urllib.parse import urlencode

import httpx

from corrigible.schema.document import form_pairs, query_pairs
from corrigible.schema.exchange import Json, Request


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    reason: str
    body: Json
    """Decoded JSON, else text."""

    @property
    def feedback(self) -> Mapping[str, Json] | None:
        """The `recovery_feedback` of this answer."""
        feedback = self.body.get("recovery_feedback") if isinstance(self.body, dict) else None
        return feedback if isinstance(feedback, dict) else None

    @property
    def succeeded(self) -> bool:
        """Whether the call succeeded: 2xx, and no `success: false` in the body."""
        failed = isinstance(self.body, dict) and self.body.get("success") is False
        return 200 <= self.status < 300 and not failed


class Caller:
    """A client of one server. `headers` (credentials) go with every call and never enter a request document."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None, *, authority: Path | None = None) -> None:
        self._headers = dict(headers or {})
        trust = ssl.create_default_context(cafile=authority) if authority is not None else True
        self._client = httpx.Client(base_url=url, timeout=30.0, verify=trust, trust_env=False)  # no proxy on loopback

    def __enter__(self) -> Caller:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def send(self, request: Request) -> Answer:
        """Send one request and read its answer."""
        headers = {**self._headers, **request.headers}
        headers.pop("content-type", None)  # set below, from the kind of body
        content: bytes | None = None
        if request.body is not None and request.form:
            content = urlencode(list(form_pairs(request.body))).encode()
            headers["content-type"] = "application/x-www-form-urlencoded"
        elif request.body is not None:
            content = json.dumps(request.body).encode()
            headers["content-type"] = "application/json"
        target = request.path + (f"?{urlencode(list(query_pairs(request.query)))}" if request.query else "")
        answer = self._client.request(request.method, target, content=content, headers=headers)
        try:
            body = answer.json()
        except ValueError:
            body = answer.text
        return Answer(answer.status_code, answer.reason_phrase, body)
