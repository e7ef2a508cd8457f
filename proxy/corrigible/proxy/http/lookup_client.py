"""Look-ups of the proxy: sent to the origin of a request, with the caller's own credentials.

Knows: httpx, which headers are copied. Does not know: engines, rules, when a look-up is needed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib.util import find_spec
from typing import Final
from urllib.parse import quote

import httpx

from corrigible.proxy.tls_files import USUAL, Trust
from corrigible.rules.lookup import CALL, Lookup, LookupAnswer, kept_headers
from corrigible.schema.content_encoding import decoded

from .message_head import is_forwarded

BODY_LIMIT = 1 << 20
"""Longer responses count as no answer."""

_NO_ANSWER = LookupAnswer(status=0)
_PLAIN: Final = Trust(insecure=True)
"""For connections without TLS: to read the public CAs takes 1 MB."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request went, and what is needed to call the same server as the same caller."""

    scheme: str
    host: str
    port: int
    server_name: str | None
    """The name in the server's certificate, if it is not `host`."""
    headers: tuple[tuple[bytes, bytes], ...]
    """The headers of the original request."""


class LookupClient:
    """Connection pools for the lifetime of the proxy. They store no cookies, so callers never share any."""

    def __init__(self, trust: Trust = USUAL, *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._trust = trust
        self._transport = transport
        self._clients: dict[bool, httpx.AsyncClient] = {}
        """By whether it uses TLS."""

    def _pool(self, *, is_secure: bool) -> httpx.AsyncClient:
        """Return the pool."""
        if is_secure in self._clients:
            return self._clients[is_secure]
        if find_spec("sniffio") is None:
            # httpcore tries to import it at each lock, some ten times a look-up. What is not there, Python looks for in
            # every folder each time, unless it is told here.
            sys.modules["sniffio"] = None  # type: ignore[assignment]
        trust = self._trust if is_secure else _PLAIN
        verify = trust.context()
        if trust.ca is None and not trust.insecure:
            import certifi

            verify.load_verify_locations(certifi.where())  # as mitmproxy does
        client = self._clients[is_secure] = httpx.AsyncClient(
            verify=verify,
            http1=True,
            http2=False,
            follow_redirects=False,
            trust_env=False,
            timeout=httpx.Timeout(5.0, connect=2.0),
            # Node.js servers close idle connections after 5 s: a request at that moment would be lost.
            limits=httpx.Limits(max_connections=64, max_keepalive_connections=16, keepalive_expiry=4),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            transport=self._transport,
        )
        return client

    async def prepare(self, *, is_secure: bool) -> None:
        """Import and build what the first look-up needs: 0.1 s of computing, which its caller should not wait for."""
        from anyio.lowlevel import checkpoint

        self._pool(is_secure=is_secure)
        await checkpoint()  # imports what anyio has for asyncio

    async def ask(self, origin: Origin, lookup: Lookup) -> LookupAnswer:
        """Send a look-up to the origin. Anything but a complete response within the limit is status 0."""
        path = lookup.path
        if not path.startswith("/") or lookup.method == CALL:
            return _NO_ANSWER  # a gRPC method cannot be called over HTTP
        client = self._pool(is_secure=origin.scheme == "https")
        target = quote(path, safe="/?&=%:@!$'()*+,;~[]-._")
        extensions = {"sni_hostname": origin.server_name} if origin.server_name else None
        try:
            url = httpx.URL(scheme=origin.scheme, host=origin.host, port=origin.port, raw_path=target.encode("ascii"))
            stated = [(name.encode("ascii"), value.encode("ascii")) for name, value in lookup.headers]
            names = {name for name, _ in stated}
            headers = [one for one in credentials(origin.headers) if one[0].lower() not in names] + stated
            if lookup.content_type:
                headers.append((b"content-type", lookup.content_type.encode("latin-1")))
            request = client.build_request(
                lookup.method, url, headers=headers, content=lookup.body or None, extensions=extensions
            )
            response = await client.send(request, stream=True)
            try:
                kept = kept_headers(response.headers.multi_items())
                return LookupAnswer(response.status_code, await _read(response), kept)
            finally:
                await response.aclose()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError):
            return _NO_ANSWER

    async def close(self) -> None:
        """Close the pools."""
        for client in self._clients.values():
            await client.aclose()


async def _read(response: httpx.Response) -> bytes:
    """Return a response body. Raises ValueError if it is over the limit, before or after decoding.

    httpx would undo any number of codings, each as large as it gets.
    """
    body = bytearray()
    async for part in response.aiter_raw():
        body += part
        if len(body) > BODY_LIMIT:
            raise ValueError("over the limit")
    return decoded(response.headers.multi_items(), bytes(body), BODY_LIMIT)


def credentials(headers: Iterable[tuple[bytes, bytes]]) -> Iterable[tuple[bytes, bytes]]:
    """Yield the headers of a look-up: credentials, account and API version, and nothing else."""
    headers = list(headers)
    names = {
        token.strip().lower()
        for name, value in headers
        if name.lower() == b"connection"
        for token in value.decode("latin1").split(",")
    }
    agent = b"corrigible"
    for name, value in headers:
        lower = name.decode("latin1").lower()
        if lower == "host":
            yield name, value
        elif lower == "user-agent":
            agent = value
        elif lower not in names and is_forwarded(lower):
            yield name, value
    yield b"user-agent", agent
    yield b"accept", b"application/json"
    yield b"accept-encoding", b"gzip"
