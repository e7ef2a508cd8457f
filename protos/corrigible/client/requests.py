"""requests: an adapter for `requests.Session`.

    session.mount("https://api.example.com/", CorrigibleAdapter(on_refusal="repair"))

`response.raise_for_status()` raises a `requests.HTTPError` whose text shows the correction, and `response.corrigible`
is the `Outcome`: the explanation, the feedback, what was corrected.
"""

from __future__ import annotations

import io
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter

from .answer import MOST_BYTES, Answer, may_refuse, unpacked
from .correction import Outcome
from .driver import run
from .policy import Policy, PolicyMembers, policy_of
from .sent_request import NotSendable, SentRequest

__all__ = ["CorrigibleAdapter", "ExplainedResponse"]

_POLICY = frozenset(PolicyMembers.__annotations__)


class CorrigibleAdapter(HTTPAdapter):
    """Sends requests, and again with the corrections that the policy allows. Other arguments are an HTTPAdapter's."""

    def __init__(self, policy: Policy | None = None, **options: Any) -> None:
        members = {name: options.pop(name) for name in _POLICY & options.keys()}
        self.policy = policy_of(policy, **members)
        super().__init__(**options)

    def send(self, request: requests.PreparedRequest, *arguments: Any, **options: Any) -> requests.Response:
        response = super().send(request, *arguments, **options)
        if not may_refuse(response.status_code, response.headers.items()):
            return response

        def send(again: SentRequest) -> Answer:
            try:
                response = super(CorrigibleAdapter, self).send(_request(again, request), *arguments, **options)
            except (ValueError, TypeError) as problem:  # requests.exceptions.InvalidURL, InvalidHeader are such
                raise NotSendable(type(problem).__name__) from problem
            return _answer(response)

        return _response(run(_sent(request), _answer(response), self.policy, send))


class ExplainedResponse(requests.Response):
    """A refusal whose error shows the correction."""

    corrigible: Outcome

    def raise_for_status(self) -> None:
        try:
            super().raise_for_status()
        except requests.HTTPError as error:
            if not self.corrigible.explanation:
                raise
            raise requests.HTTPError(self.corrigible.error_text(str(error)), response=self) from None


def _sent(request: requests.PreparedRequest) -> SentRequest:
    body = request.body
    if isinstance(body, str):
        body = body.encode()
    elif not isinstance(body, bytes | None):
        body = None  # a file or a generator
    else:
        body = body or b""
    headers = tuple((_text(name), _text(value)) for name, value in request.headers.items())
    return SentRequest(request.method or "GET", request.url or "", headers, body)


def _request(sent: SentRequest, before: requests.PreparedRequest) -> requests.PreparedRequest:
    request = before.copy()
    request.method, request.url, request.body = sent.method, sent.url, sent.body or None
    request.headers = requests.structures.CaseInsensitiveDict(dict(sent.headers))
    if "content-length" not in request.headers:
        request.prepare_content_length(request.body)
    return request


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _answer(response: requests.Response) -> Answer:
    headers = tuple(response.headers.items())
    raw = _taken(response) if may_refuse(response.status_code, headers) else None
    return Answer(response.status_code, headers, b"" if raw is None else unpacked(headers, raw), response)


def _taken(response: requests.Response) -> bytes | None:
    """Return a body as it came, which the response keeps.

    None if it is too long or breaks off: the response goes on where the reading has ended, for the caller.
    """
    came, parts, size = response.raw, list[bytes](), 0
    problem: Exception | None = None
    try:
        while size <= MOST_BYTES and (part := came.read(_PART, decode_content=False)):
            parts.append(part)
            size += len(part)
    except Exception as raised:  # as the caller would see it, who may want what came before
        problem = raised
    start = b"".join(parts)
    response.raw = urllib3.HTTPResponse(
        io.BufferedReader(_Resumed(start, came, problem)),
        headers=came.headers,
        status=came.status,
        version=came.version,
        reason=came.reason,
        preload_content=False,
        decode_content=False,
        original_response=getattr(came, "_original_response", None),  # requests reads its cookies
        retries=came.retries,
        request_method=response.request.method,
    )
    return start if problem is None and size <= MOST_BYTES else None


_PART = 1 << 16


class _Resumed(io.RawIOBase):
    """A body of which the start has been read."""

    def __init__(self, start: bytes, rest: Any, problem: Exception | None) -> None:
        self._start, self._rest, self._problem = io.BytesIO(start), rest, problem

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._start.read(len(buffer))
        if not part and self._problem is not None:
            raise self._problem
        part = part or self._rest.read(len(buffer), decode_content=False)
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._rest.close()
        super().close()


def _response(outcome: Outcome) -> requests.Response:
    response = ExplainedResponse()
    response.__dict__.update(vars(outcome.answer.native))
    response.corrigible = outcome
    return response
