"""Look-ups for the mitmproxy front end: asked at the origin of a request, with that caller's own credentials.

Knows: httpx, which headers may travel. Does not know: mitmproxy, rules, when a look-up is worth it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING
from urllib.parse import quote

from corrigible.proxy.http.content_encoding import decoded
from corrigible.proxy.http.forwarded_headers import travels
from corrigible.proxy.tls_files import USUAL, Trust
from corrigible.rules.engine.lookup import CALL, Lookup, LookupAnswer

if TYPE_CHECKING:
    import httpx

BODY_LIMIT = 1 << 20
"""Longer answers count as none."""

_NO_ANSWER = LookupAnswer(status=0)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a request went, and what it takes to ask the same place again as the same caller."""

    scheme: str
    host: str
    port: int
    server_name: str | None
    """The name the certificate is checked against, where it is not `host`."""
    headers: tuple[tuple[bytes, bytes], ...]
    """The headers of the original request."""


class LookupClient:
    """One connection pool for the life of the proxy. Keeps no cookie: callers never see each other's."""

    def __init__(self, trust: Trust = USUAL, *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._trust = trust
        self._transport = transport
        self._client: httpx.AsyncClient | None = None

    def _pool(self) -> httpx.AsyncClient:
        """Return the pool. Made, and httpx imported, by the first look-up: 4 MB that many a proxy does without."""
        if self._client is not None:
            return self._client
        import certifi
        import httpx

        verify = self._trust.context()
        if self._trust.ca is None and not self._trust.insecure:
            verify.load_verify_locations(certifi.where())  # as mitmproxy does
        self._client = httpx.AsyncClient(
            verify=verify,
            http1=True,
            http2=False,
            follow_redirects=False,
            trust_env=False,
            timeout=httpx.Timeout(5.0, connect=2.0),
            # Servers on Node hang up after 5 s of silence: what is asked at that very moment would be lost.
            limits=httpx.Limits(max_connections=64, max_keepalive_connections=16, keepalive_expiry=4),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            transport=self._transport,
        )
        return self._client

    async def ask(self, origin: Origin, lookup: Lookup) -> LookupAnswer:
        """Put a question to the origin. Anything but a whole answer within the limit is status 0."""
        path = lookup.path
        if not path.startswith("/") or lookup.method == CALL:
            return _NO_ANSWER  # a gRPC method behind a gateway is not asked for by its name
        import httpx

        client = self._pool()
        target = quote(path, safe="/?&=%:@!$'()*+,;~[]-._")
        extensions = {"sni_hostname": origin.server_name} if origin.server_name else None
        try:
            url = httpx.URL(scheme=origin.scheme, host=origin.host, port=origin.port, raw_path=target.encode("ascii"))
            headers = list(credentials(origin.headers))
            if lookup.content_type:
                headers.append((b"content-type", lookup.content_type.encode("latin-1")))
            request = client.build_request(
                lookup.method, url, headers=headers, content=lookup.body or None, extensions=extensions
            )
            answer = await client.send(request, stream=True)
            try:
                return LookupAnswer(answer.status_code, await _read(answer))
            finally:
                await answer.aclose()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError):
            return _NO_ANSWER

    async def close(self) -> None:
        """Close the pool."""
        if self._client is not None:
            await self._client.aclose()


async def _read(answer: httpx.Response) -> bytes:
    """Return an answer's body. Raises ValueError where it is over the limit, before or after it is decoded.

    httpx would undo any number of codings, each as large as it gets.
    """
    body = bytearray()
    async for part in answer.aiter_raw():
        body += part
        if len(body) > BODY_LIMIT:
            raise ValueError("over the limit")
    return decoded(answer.headers.multi_items(), bytes(body), BODY_LIMIT)


def credentials(headers: Iterable[tuple[bytes, bytes]]) -> Iterable[tuple[bytes, bytes]]:
    """Yield the headers a look-up carries: who asks, for which account and version, and no more."""
    headers = list(headers)
    named = {
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
        elif lower not in named and travels(lower):
            yield name, value
    yield b"user-agent", agent
    yield b"accept", b"application/json"
    yield b"accept-encoding", b"gzip"
