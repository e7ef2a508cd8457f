"""Look-ups of the proxy: sent to the origin of a request, with the caller's own credentials.

Knows: h11, which headers are copied. Does not know: engines, rules, when a look-up is needed.

`HttpClient` is the client: HTTP/1.1 and no more, of which each process of a proxy has a copy in memory.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import quote

import h11

from corrigible.proxy.tls_files import USUAL, Trust
from corrigible.rules.lookup import CALL, Lookup, LookupAnswer, kept_headers
from corrigible.schema.content_encoding import decoded

from .message_head import is_forwarded

BODY_LIMIT = 1 << 20
"""Longer responses count as no answer."""

_NO_ANSWER = LookupAnswer(status=0)
_CONNECT_SECONDS: Final = 2.0
_SECONDS: Final = 5.0
_MOST_CONNECTIONS: Final = 64
_MOST_IDLE: Final = 16
_IDLE_SECONDS: Final = 4.0
"""Node.js servers close idle connections after 5 s: a request at that moment would be lost."""
_LONGEST_HEAD: Final = 100 << 10
_NEXT_ADDRESS: Final = 0.25
"""Seconds after which another address of a host is tried, too (RFC 8305, section 5)."""


class Place(NamedTuple):
    """What a connection leads to."""

    host: str
    """The path of a Unix socket where `port` is 0."""
    port: int = 0
    tls: ssl.SSLContext | None = None
    server_name: str | None = None
    """The name in the server's certificate, if it is not `host`."""


class Answered(NamedTuple):
    """An answer."""

    status: int
    headers: Sequence[tuple[str, str]]
    """Names in lower case."""
    body: bytes


class _Connection(asyncio.Protocol):
    """One connection. What comes before it is asked is no answer, and ends it."""

    def __init__(self) -> None:
        self._http = h11.Connection(h11.CLIENT, _LONGEST_HEAD)
        self._came = asyncio.Event()
        self._transport: asyncio.WriteTransport | None = None
        """None once it has ended."""
        self.is_idle = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self.is_idle:
            self.close()
        else:
            self._http.receive_data(data)
            self._came.set()

    def connection_lost(self, problem: Exception | None) -> None:
        self._transport = None
        self._http.receive_data(b"")
        self._came.set()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
            self._transport = None

    def is_open(self) -> bool:
        return self._transport is not None

    async def ask(self, method: str, target: bytes, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> Answered:
        """Send a request. Raises what h11 raises, and OSError. Afterwards it is idle if another one may follow."""
        head = h11.Request(method=method, target=target, headers=list(headers))
        data = b"".join(self._http.send(event) or b"" for event in (head, h11.Data(body), h11.EndOfMessage()))
        if self._transport is None:
            raise OSError("the connection has ended")
        self.is_idle = False
        self._transport.write(data)
        answer: h11.Response | None = None
        came = bytearray()
        while not isinstance(event := self._http.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                self._came.clear()
                await self._came.wait()
            elif isinstance(event, h11.Response):
                answer = event
            elif isinstance(event, h11.Data):
                came += event.data
                if len(came) > BODY_LIMIT:
                    raise OSError("over the limit")
            elif not isinstance(event, h11.InformationalResponse):
                raise OSError(f"no answer of HTTP: {event}")
        assert answer is not None, "h11 sees to it"
        if self._http.our_state is self._http.their_state is h11.DONE and self._http.trailing_data == (b"", False):
            self._http.start_next_cycle()
            self.is_idle = True
        fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in answer.headers]
        return Answered(answer.status_code, fields, bytes(came))


class HttpClient:
    """Connections for the lifetime of a process. Knows no cookies, so callers never share any, and no redirects."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        """`seconds` is how long an answer may take."""
        self._seconds = seconds
        self._room = asyncio.Semaphore(_MOST_CONNECTIONS)
        self._idle: list[tuple[float, Place, _Connection]] = []
        """Until when each is kept, the newest first."""

    async def send(
        self, place: Place, method: str, target: bytes, headers: Sequence[tuple[bytes, bytes]] = (), body: bytes = b""
    ) -> Answered:
        """Send a request. Raises OSError without a complete answer in time, and ValueError for what cannot be sent."""
        length = [(b"content-length", b"%d" % len(body))] if body or method != "GET" else []
        async with asyncio.timeout(self._seconds), self._room:
            connection = self._taken(place) or await _connected(place)
            try:
                answered = await connection.ask(method, target, [*headers, *length], body)
            except h11.LocalProtocolError as problem:
                raise ValueError(str(problem)) from None
            except h11.RemoteProtocolError as problem:
                raise OSError(f"no answer of HTTP: {problem}") from None
            finally:
                if not connection.is_idle:
                    connection.close()
        if connection.is_idle:
            self._idle.insert(0, (asyncio.get_running_loop().time() + _IDLE_SECONDS, place, connection))
        return answered

    def _taken(self, place: Place) -> _Connection | None:
        """Return the newest connection there is, and close those that are too old or too many."""
        now, taken = asyncio.get_running_loop().time(), None
        kept: list[tuple[float, Place, _Connection]] = []
        for until, to, connection in self._idle:
            if until < now or len(kept) == _MOST_IDLE or not connection.is_open():
                connection.close()
            elif to == place and taken is None:
                taken = connection
            else:
                kept.append((until, to, connection))
        self._idle = kept
        return taken

    def close(self) -> None:
        """Close all connections."""
        while self._idle:
            self._idle.pop()[2].close()


async def _connected(place: Place) -> _Connection:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(_CONNECT_SECONDS):
        if not place.port:
            return (await loop.create_unix_connection(_Connection, place.host))[1]
        name = (place.server_name or place.host) if place.tls is not None else None
        _, connection = await loop.create_connection(
            _Connection, place.host, place.port, ssl=place.tls, server_hostname=name, happy_eyeballs_delay=_NEXT_ADDRESS
        )
        return connection


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


class LookupClient(HttpClient):
    """Sends look-ups."""

    def __init__(self, trust: Trust = USUAL) -> None:
        super().__init__()
        self._trust = trust
        self._tls: ssl.SSLContext | None = None

    def prepare(self) -> None:
        """Read the public CAs, which takes 1 MB and a moment for which the first look-up would wait."""
        tls = self._tls = self._trust.context()
        tls.set_alpn_protocols(["http/1.1"])
        if self._trust.ca is None and not self._trust.insecure:
            import certifi

            tls.load_verify_locations(certifi.where())  # as mitmproxy does

    async def ask(self, origin: Origin, lookup: Lookup) -> LookupAnswer:
        """Send a look-up to the origin. Anything but a complete response within the limit is status 0."""
        path = lookup.path
        if not path.startswith("/") or lookup.method == CALL:
            return _NO_ANSWER  # a gRPC method cannot be called over HTTP
        is_secure = origin.scheme == "https"
        if is_secure and self._tls is None:
            self.prepare()
        host = origin.host.strip("[]")
        place = Place(host, origin.port, self._tls if is_secure else None, origin.server_name)
        try:
            target = quote(path, safe="/?&=%:@!$'()*+,;~[]-._").encode("ascii")
            stated = [(name.encode("ascii"), value.encode("ascii")) for name, value in lookup.headers]
            names = {name for name, _ in stated}
            headers = [one for one in credentials(origin.headers) if one[0].lower() not in names] + stated
            if all(name.lower() != b"host" for name, _ in headers):
                authority = f"[{host}]" if ":" in host else host
                headers.insert(0, (b"host", f"{authority}:{origin.port}".encode("ascii")))
            if lookup.content_type:
                headers.append((b"content-type", lookup.content_type.encode("latin-1")))
            answer = await self.send(place, lookup.method, target, headers, lookup.body)
            # `decoded` raises ValueError if the body is over the limit. Any number of codings may be in each other.
            body = decoded(answer.headers, answer.body, BODY_LIMIT)
            return LookupAnswer(answer.status, body, kept_headers(answer.headers))
        except (ValueError, OSError):
            return _NO_ANSWER


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
