"""The providers: which wire format each uses, where its key comes from, and its address.

Does not know: what is asked, what for.

Asks a provider, and repeats the request if it is busy. Every request on the wire is counted.

Knows: HTTP, what may be repeated. Does not know: conversations, which provider this is.
"""

from __future__ import annotations

import ipaddress
import json
import math
import random
import re
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Final
from urllib.parse import urlsplit

import httpx

from corrigible.schema.exchange import Json

from . import anthropic, openai
from .conversation import DECODER, Question, Reply, Sampling


@dataclass(frozen=True, slots=True)
class Provider:
    """One wire format, and where it is used."""

    name: str
    wire: str
    base_url: str
    """Empty: there is no default."""
    path: str
    key_env: str
    needs_key: bool
    takes_seed: bool
    headers: Callable[[str], dict[str, str]]
    encode: Callable[[Question, Sampling], dict[str, Json]]
    decode: Callable[[Mapping[str, Json]], Reply]


_OPENAI: Final = "https://api.openai.com/v1"
_ALL: Final = (
    Provider(
        "anthropic", "anthropic-messages/2023-06-01", "https://api.anthropic.com", "/v1/messages", "ANTHROPIC_API_KEY",
        True, False, anthropic.headers, anthropic.encode, anthropic.decode,
    ),
    Provider(
        "openai", "openai-chat-completions/v1", _OPENAI, "/chat/completions", "OPENAI_API_KEY",
        True, True, openai.headers, openai.encode, openai.decode,
    ),
    Provider(
        "openai-responses", "openai-responses/v1", _OPENAI, "/responses", "OPENAI_API_KEY",
        True, False, openai.headers, openai.encode_responses, openai.decode_responses,
    ),
    Provider(  # a key of its own, so that OpenAI's goes to nobody else
        "compatible", "openai-chat-completions/v1", "", "/chat/completions", "COMPATIBLE_API_KEY",
        False, True, openai.headers, openai.encode_compatible, openai.decode,
    ),
)  # fmt: skip
PROVIDERS: Final[Mapping[str, Provider]] = {one.name: one for one in _ALL}


def endpoint(
    provider: Provider,
    *,
    base_url: str,
    key_env: str,
    local: bool,
    environ: Mapping[str, str],
    timeout: float = 120.0,
    retries: int = 5,
    longest_wait: float = 60.0,
) -> Endpoint:
    """Return where and how a provider is called. Raises UnusableProvider for what is missing.

    `key_env`: the variable of the key, empty for the provider's own. `local`: what answers on this machine is a model.
    """
    base = base_url or provider.base_url
    if not base:
        raise UnusableProvider(f"{provider.name}: where is it? --base-url URL, as http://127.0.0.1:11434/v1")
    loopback = is_loopback(base)
    variable = key_env or provider.key_env
    # A program on this machine is told a key only where somebody says which.
    key = "" if loopback and not key_env else environ.get(variable, "").strip()
    if not key and (provider.needs_key or key_env) and not loopback:
        raise UnusableProvider(f"{provider.name}: {variable} is not set: it holds the key")
    base = checked(base, has_key=bool(key))
    if provider.name == "anthropic":
        base = base.removesuffix("/v1")
    return Endpoint(
        url=base + provider.path,
        shown=address(base + provider.path),
        headers=provider.headers(key),
        secret=key,
        fake=loopback and not local,
        loopback=loopback,
        timeout=timeout,
        retries=retries,
        longest_wait=longest_wait,
    )


MINUTE: Final = 60.0


class RateLimiter:
    """Requests, and tokens, of the last minute. Usable from several threads."""

    def __init__(
        self,
        requests: float | None = None,
        tokens: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._requests, self._tokens = requests, tokens
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._next = 0.0
        self._spent: deque[tuple[float, int]] = deque()

    def enter(self) -> None:
        """Wait until a request may go out. Requests are spread evenly: a burst would only be refused."""
        while (wait := self._wait()) > 0:
            self._sleep(wait)

    def billed(self, tokens: int) -> None:
        """Count what a request turned out to cost."""
        with self._lock:
            self._spent.append((self._clock(), tokens))

    def _wait(self) -> float:
        with self._lock:
            now = self._clock()
            while self._spent and self._spent[0][0] <= now - MINUTE:
                self._spent.popleft()
            if self._tokens is not None and sum(tokens for _, tokens in self._spent) >= self._tokens:
                return self._spent[0][0] + MINUTE - now
            if self._requests is None:
                return 0.0
            if now < self._next:
                return self._next - now
            self._next = now + MINUTE / self._requests
            return 0.0


@cache
def rate_limiter_for(address: str, requests: float | None, tokens: float | None) -> RateLimiter:
    """Return the one rate of a provider's address: agents that ask the same provider share it."""
    return RateLimiter(requests, tokens)


REPEATED: Final = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
"""529 is Anthropic's status for overload; 409 is a lock timeout."""
FAKE: Final = "x-corrigible-fake"
"""A response header of the suite's fake providers."""
_FINAL: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_error"})
"""Codes of a 429 that a retry cannot solve."""
_KEYS: Final = re.compile(r"\b(?:sk|key|pk)-[\w*-]{6,}")


class ProviderError(Exception):
    """A provider gave no usable response: an error, and no observation of the model."""

    def __init__(self, text: str, calls: int) -> None:
        super().__init__(text)
        self.calls = calls
        """Requests on the wire until then."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a provider and how to call it."""

    url: str
    shown: str
    """The URL for reports."""
    headers: Mapping[str, str] = field(repr=False)
    secret: str = field(default="", repr=False)
    fake: bool = False
    """The provider may be a fake."""
    loopback: bool = False
    timeout: float = 120.0
    retries: int = 5
    longest_wait: float = 60.0
    """The longest wait in seconds before a retry."""


@dataclass(frozen=True, slots=True)
class ProviderAnswer:
    """A response, and the number of requests that it took."""

    document: Mapping[str, Json]
    calls: int


@cache
def _trust() -> ssl.SSLContext:
    """Return the one SSL context: it takes longer to make than a local request."""
    return httpx.create_ssl_context()


class ProviderClient:
    """The connection of one episode."""

    def __init__(
        self, endpoint: Endpoint, rate: RateLimiter, rng: random.Random, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._endpoint, self._rate, self._rng, self._sleep = endpoint, rate, rng, sleep
        # A proxy of the environment variables is for remote hosts.
        self._client = httpx.Client(timeout=endpoint.timeout, trust_env=not endpoint.loopback, verify=_trust())

    def close(self) -> None:
        self._client.close()

    def ask(self, document: Mapping[str, Json]) -> ProviderAnswer:
        """Send a document, with retries. Raises ProviderError."""
        # ASCII, because a lone surrogate, which a model may write, has no UTF-8.
        content = json.dumps(document, allow_nan=False).encode()
        headers = {**self._endpoint.headers, "content-type": "application/json"}
        calls = 0
        while True:
            self._rate.enter()
            calls += 1
            try:
                response = self._client.post(self._endpoint.url, content=content, headers=headers)
                problem_text, wait = self._error_text(response), _retry_after(response.headers)
            except httpx.TimeoutException:
                problem_text, wait, response = f"no answer within {self._endpoint.timeout:g} s", None, None
            except httpx.TransportError as problem:
                problem_text, wait, response = f"{type(problem).__name__}: {problem}", None, None
            if response is not None and not problem_text:
                if FAKE in response.headers and not self._endpoint.fake:
                    raise ProviderError("this is a fake of the suite, and would pass for a model", calls)
                try:
                    answer = DECODER.decode(response.text)
                except (ValueError, RecursionError):
                    answer = None
                if isinstance(answer, dict):
                    return ProviderAnswer(answer, calls)
                problem_text = "an answer that is no JSON object"
            final = response is not None and not _may_repeat(response)
            if final or calls > self._endpoint.retries:
                tried = f" (asked {calls} times)" if calls > 1 else ""
                raise ProviderError(f"{self._endpoint.shown}: {self._redacted(problem_text)}{tried}", calls)
            if wait is not None and wait > self._endpoint.longest_wait:
                raise ProviderError(
                    f"{self._endpoint.shown}: asks to wait {wait:g} s: {self._redacted(problem_text)}", calls
                )
            backoff = min(0.5 * 2 ** (calls - 1), 16.0, self._endpoint.longest_wait)
            jitter = self._rng.random()
            self._sleep(wait * (1 + jitter / 10) if wait is not None else backoff * (0.5 + jitter / 2))

    def _error_text(self, response: httpx.Response) -> str:
        return "" if response.is_success else f"{response.status_code} {response.text[:500]}"

    def _redacted(self, text: str) -> str:
        """Replace the key, and whatever looks like one: providers quote keys in part."""
        if self._endpoint.secret:
            text = text.replace(self._endpoint.secret, "<key>")
        return _KEYS.sub("<key>", text)


def _may_repeat(response: httpx.Response) -> bool:
    if response.is_success:  # but broken
        return True
    if response.headers.get("x-should-retry") in ("true", "false"):
        return bool(response.headers["x-should-retry"] == "true")
    return response.status_code in REPEATED and _code(response) not in _FINAL


def _code(response: httpx.Response) -> str:
    try:
        error = response.json()["error"]
        return str(error.get("code") or error.get("type"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""


def _retry_after(headers: httpx.Headers) -> float | None:
    """Read both forms of Retry-After, and the milliseconds that OpenAI sends beside them."""
    text = headers.get("retry-after", "")
    for number, unit in ((headers.get("retry-after-ms", ""), 1000), (text, 1)):
        try:
            seconds = float(number) / unit
        except ValueError:
            continue
        return max(seconds, 0.0) if math.isfinite(seconds) else None
    try:
        return max((parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return None


class UnusableProvider(Exception):
    """What was said about a provider cannot be used; the message is for users."""


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def checked(url: str, *, has_key: bool) -> str:
    """Return a base URL without a slash at its end. Raises UnusableProvider where a key would leave in the open."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UnusableProvider(f"{url}: a base URL starts with http:// or https://")
    if parts.username is not None or parts.password is not None:
        raise UnusableProvider("a base URL holds no credentials: name an environment variable with key_env")
    if parts.scheme == "http" and has_key and not is_loopback(url):
        raise UnusableProvider(f"{url}: the key would be sent unencrypted")
    return url.rstrip("/")


def address(url: str) -> str:
    """Return where a URL leads, for reports: a port of this machine is different each time."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = f":{parts.port}" if parts.port is not None and not is_loopback(url) else ""
    return f"{parts.scheme}://{host}{port}{parts.path}"
