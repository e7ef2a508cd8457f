"""stripe-python: an HTTP client for `stripe.StripeClient` that wraps another one.

    client = stripe.StripeClient(key, http_client=CorrigibleHTTPClient(on_refusal="repair"))

`str(error)` of a `stripe.StripeError` shows the correction below Stripe's own message. The request is seen as the SDK
sends it, with its `Idempotency-Key`, version and account.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Unpack

import stripe
from stripe._http_client import new_default_http_client, new_http_client_async_fallback

from .answer import MOST_BYTES, Answer, may_refuse
from .correction import Outcome
from .driver import Calls, corrected, drive, drive_async
from .policy import Policy, PolicyMembers, policy_of
from .sent_request import NotSendable, SentRequest

__all__ = ["CorrigibleHTTPClient"]

_Answered = tuple[Any, int, Mapping[str, str]]


class CorrigibleHTTPClient(stripe.HTTPClient):
    """Sends requests through another client of the SDK, and again with the corrections that the policy allows."""

    name = "corrigible"

    def __init__(
        self, policy: Policy | None = None, *, client: stripe.HTTPClient | None = None, **members: Unpack[PolicyMembers]
    ) -> None:
        super().__init__()
        self._policy = policy_of(policy, **members)
        self._client = client or new_default_http_client(async_fallback_client=new_http_client_async_fallback())

    def request(
        self, method: str, url: str, headers: Mapping[str, str] | None, post_data: Any = None, **options: Any
    ) -> _Answered:
        send = partial(self._client.request, **options)
        return drive(_exchange(send, self._policy, method, url, headers or {}, post_data))

    async def request_async(
        self, method: str, url: str, headers: Mapping[str, str] | None, post_data: Any = None, **options: Any
    ) -> _Answered:
        send = partial(self._client.request_async, **options)
        return await drive_async(_exchange(send, self._policy, method, url, headers or {}, post_data))

    def request_stream(self, *arguments: Any, **options: Any) -> _Answered:
        """Stream an answer. What is streamed is never corrected."""
        return self._client.request_stream(*arguments, **options)

    async def request_stream_async(self, *arguments: Any, **options: Any) -> _Answered:
        return await self._client.request_stream_async(*arguments, **options)

    def sleep_async(self, secs: float) -> Awaitable[None]:
        return self._client.sleep_async(secs)

    def close(self) -> None:
        self._client.close()  # type: ignore[no-untyped-call]  # stripe types only part of itself

    async def close_async(self) -> None:
        await self._client.close_async()  # type: ignore[no-untyped-call]


def _exchange(
    send: Callable[..., Any], policy: Policy, method: str, url: str, headers: Mapping[str, str], post_data: Any
) -> Calls[_Answered]:
    """Yield the calls of a request and of its corrections."""
    answered: _Answered = yield partial(send, method, url, headers, post_data)
    if not may_refuse(answered[1], answered[2].items()):
        return answered

    def again(request: SentRequest) -> Calls[Answer]:
        return _answer((yield partial(send, *_arguments(request))))

    sent = _sent(method, url, headers, post_data)
    return _explained((yield from corrected(sent, _answer(answered), policy, again)))


def _sent(method: str, url: str, headers: Mapping[str, str], post_data: Any) -> SentRequest:
    body = post_data.encode() if isinstance(post_data, str) else post_data or b""
    fields = tuple((name, str(value)) for name, value in headers.items())
    return SentRequest(method.upper(), url, fields, body if isinstance(body, bytes) else None)


def _arguments(sent: SentRequest) -> tuple[str, str, Mapping[str, str], Any]:
    try:
        text = (sent.body or b"").decode()
    except UnicodeDecodeError:
        raise NotSendable("the SDK sends text") from None
    return sent.method.lower(), sent.url, dict(sent.headers), text or None


def _answer(answered: _Answered) -> Answer:
    body, status, headers = answered
    whole = body if len(body) <= MOST_BYTES else b""
    content = whole.encode("utf-8", "replace") if isinstance(whole, str) else whole
    return Answer(status, tuple((name, str(value)) for name, value in headers.items()), content, answered)


def _explained(outcome: Outcome) -> _Answered:
    """Return an answer to the SDK, with the correction below the message of the error: the SDK shows nothing else."""
    answered: Any = outcome.answer.native
    body, status, headers = answered
    if not outcome.explanation:
        return body, status, headers
    try:
        members = json.loads(outcome.answer.body)
        members["error"]["message"] = "\n".join(filter(None, (members["error"].get("message"), outcome.explanation)))
        text = json.dumps(members)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):  # no error of Stripe's
        return body, status, headers
    return text if isinstance(body, str) else text.encode(), status, headers
