"""HTTP/1.1 as the suite speaks it: requests, answers with their codings, and the command line that sends one again.

Connections that end with the check that opened them, and one that sends exactly the given bytes.
"""

from __future__ import annotations

import json
import shlex
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar
from urllib.parse import parse_qsl, urlsplit

import h11

from corrigible.conformance.model.background import go_on, hold
from corrigible.schema.carrier import find
from corrigible.schema.content_encoding import coding
from corrigible.schema.exchange import Json, Request

Socket = TypeVar("Socket", bound=socket.socket)


class Address(Protocol):
    """Where somebody listens."""

    host: str
    port: int


def connected(address: tuple[str, int], timeout: float) -> socket.socket:
    """Connect. Raises OSError where nobody takes the connection."""
    go_on()
    return kept(socket.create_connection(address, timeout))


def kept(connection: Socket) -> Socket:
    """Return a connection that ends with the check that opened it."""
    try:
        return hold(connection, _shut)
    except BaseException:  # raised again: nobody else has it yet
        connection.close()
        raise


def _shut(connection: socket.socket) -> None:
    """End a connection under the hands of whoever reads it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class RawConnection:
    """One connection. What goes wrong on it is an end of what was received, never raised."""

    def __init__(self, wire: Address, *, timeout: float = 5.0) -> None:
        self._timeout = timeout
        self.received = b""
        self.open = True
        """Whether the other side may still say something."""
        self._socket: socket.socket | None = None
        try:
            self._socket = connected((wire.host, wire.port), timeout)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:
            self.open = False

    def __enter__(self) -> RawConnection:
        return self

    def __exit__(self, *_: object) -> None:
        if self._socket is not None:
            self._socket.close()

    def say(self, data: bytes) -> None:
        go_on()
        if self._socket is not None:
            with suppress(OSError):
                self._socket.sendall(data)

    def until(self, enough: Callable[[bytes], bool], *, timeout: float | None = None) -> bool:
        """Read until there is enough. False where the connection ended, or timeout did, before that."""
        end = time.monotonic() + (self._timeout if timeout is None else timeout)
        while not enough(self.received):
            left = end - time.monotonic()
            if not self.open or self._socket is None or left <= 0:
                return False
            self._socket.settimeout(left)
            try:
                data = self._socket.recv(1 << 16)
            except TimeoutError:
                return False
            except OSError:
                data = b""
            go_on()
            self.open = bool(data)
            self.received += data
        return True

    def has(self, text: bytes, *, timeout: float | None = None) -> bool:
        """Read until a text is there."""
        return self.until(lambda received: text in received, timeout=timeout)

    def rest(self) -> bytes:
        """Read to the end of the connection, or of timeout."""
        self.until(lambda received: False)
        return self.received


def head(method: str, target: str, *headers: tuple[str, str]) -> bytes:
    """Return the head of a request as it goes over the wire."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")


Headers = tuple[tuple[str, str], ...]

CASE: Final = "conformance-case"
"""The request header that picks a script. A proxy forwards it as any other header."""
_CREDENTIALS: Final = frozenset({"authorization", "cookie", "proxy-authorization"})
_NOT_IN_DOCUMENTS: Final = _CREDENTIALS | {"host", "content-length", "connection", "accept-encoding", "user-agent"}
_LARGEST: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request as it goes out. `Host` and `Content-Length` are added where they are not given."""

    method: str
    target: str
    """Path and query."""
    headers: Headers = ()
    body: bytes = b""

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def adding(self, *headers: tuple[str, str]) -> HttpRequest:
        return HttpRequest(self.method, self.target, (*self.headers, *headers), self.body)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """One answer as it came, up to where it ended."""

    status: int
    """0 where there was no answer."""
    reason: str
    headers: Headers
    body: bytes
    trailers: Headers = ()
    informational: tuple[int, ...] = ()
    arrivals: tuple[tuple[float, int], ...] = ()
    """Seconds since the request went out, and how much of the body had come by then."""
    error: str | None = None
    """What cut it short; None for a whole answer."""
    seconds: float = 0.0

    def header(self, name: str) -> str | None:
        """Return the first header of a name, in any case."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def json(self) -> Json:
        """Return the body as JSON. Raises ValueError where it is none."""
        return json.loads(self.body)

    @property
    def feedback(self) -> Mapping[str, Json] | None:
        """The feedback in the body of a refusal, wherever the contract lets it stand."""
        try:
            document = self.json()
        except (ValueError, RecursionError):
            return None
        feedback = find(document, self.status)
        return feedback if isinstance(feedback, Mapping) else None


class KeepAlive:
    """One connection for many exchanges in a row, as long as both sides keep it open. A context manager."""

    def __init__(self) -> None:
        self._kept: socket.socket | None = None

    def __enter__(self) -> KeepAlive:
        return self

    def __exit__(self, *_: object) -> None:
        if (idle := self.taken()) is not None:
            idle.close()

    def keep(self, connection: socket.socket) -> None:
        self._kept = connection

    def taken(self) -> socket.socket | None:
        """Return the connection, which is the taker's from now on."""
        idle, self._kept = self._kept, None
        return idle


class HttpClient:
    """Connections to one HTTP server, a fresh one for each exchange unless a line is given."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or parts.hostname is None:
            raise ValueError(f"{url}: not http://host:port")
        self.url = url.rstrip("/")
        self.host, self.port = parts.hostname, parts.port or 80

    def send(self, request: HttpRequest, *, timeout: float = 10.0, line: KeepAlive | None = None) -> HttpResponse:
        """Send one request and read its answer to the end, within `timeout` seconds. What goes wrong is in `error`."""
        began = time.monotonic()
        if line is not None and (idle := line.taken()) is not None:
            response = self._sent(idle, request, began, timeout, line)
            if response.status != 0:
                return response
            # The other side may have hung up between two exchanges: it is asked again on a fresh connection.
        try:
            connection = connected((self.host, self.port), timeout)
        except OSError as problem:
            return self._unanswered(problem, began)
        return self._sent(connection, request, began, timeout, line)

    def _sent(
        self,
        connection: socket.socket,
        request: HttpRequest,
        began: float,
        timeout: float,
        line: KeepAlive | None,
    ) -> HttpResponse:
        """Have one exchange, and keep the connection on the line or close it."""
        reusable = False
        try:
            go_on()
            response, goes_on = _exchanged(connection, request, f"{self.host}:{self.port}", began, timeout)
            reusable = goes_on and line is not None
            go_on()  # an answer that broke off because the check was ended is nobody's answer
            if reusable and line is not None:
                line.keep(connection)
            return response
        except OSError as problem:
            go_on()
            return self._unanswered(problem, began)
        finally:
            if not reusable:
                connection.close()

    def _unanswered(self, problem: OSError, began: float) -> HttpResponse:
        sentence = f"no answer from {self.url}: {problem.strerror or problem}"
        return HttpResponse(0, "", (), b"", error=sentence, seconds=time.monotonic() - began)


def _exchanged(
    connection: socket.socket, request: HttpRequest, authority: str, began: float, timeout: float
) -> tuple[HttpResponse, bool]:
    """Return what came, and whether another request may follow on the same connection."""
    connection.settimeout(timeout)
    client = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LARGEST)
    headers = list(request.headers)
    present = {name.lower() for name, _ in headers}
    if "host" not in present:
        headers.insert(0, ("Host", authority))
    if "content-length" not in present and "transfer-encoding" not in present and request.body:
        headers.append(("Content-Length", str(len(request.body))))
    fields = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    head = h11.Request(method=request.method, target=request.target, headers=fields)
    connection.sendall((client.send(head) or b"") + (client.send(h11.Data(request.body)) or b""))
    connection.sendall(client.send(h11.EndOfMessage()) or b"")
    informational: list[int] = []
    response_head: h11.Response | h11.InformationalResponse | None = None
    body, arrivals = bytearray(), []
    trailers: Headers = ()
    error: str | None = None
    while True:
        try:
            event = client.next_event()
            if event is h11.NEED_DATA:
                # Who sends a byte from time to time does not get more of it.
                connection.settimeout(max(0.001, began + timeout - time.monotonic()))
                client.receive_data(connection.recv(65536))
                continue
        except h11.RemoteProtocolError as problem:
            error = f"the answer is no whole HTTP message: {problem}"
            break
        except OSError as problem:
            error = f"the answer stopped: {problem.strerror or problem}"
            break
        match event:
            case h11.InformationalResponse():
                informational.append(event.status_code)
                if event.status_code == 101:
                    response_head = event
                    break
            case h11.Response():
                response_head = event
            case h11.Data():
                body += event.data
                arrivals.append((time.monotonic() - began, len(body)))
            case h11.EndOfMessage():
                trailers = _decoded_headers(event.headers)
                break
            case _:
                error = "the connection was closed before the answer"
                break
    response = HttpResponse(
        status=response_head.status_code if response_head is not None else 0,
        reason=bytes(response_head.reason).decode("latin-1") if response_head is not None else "",
        headers=_decoded_headers(response_head.headers) if response_head is not None else (),
        body=bytes(body),
        trailers=trailers,
        informational=tuple(informational),
        arrivals=tuple(arrivals),
        error=error,
        seconds=time.monotonic() - began,
    )
    return response, error is None and client.our_state is h11.DONE and client.their_state is h11.DONE


def _decoded_headers(headers: h11.Headers) -> Headers:  # type: ignore[name-defined]  # h11 re-exports it from a private module
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.raw_items())


def curl(url: str, request: HttpRequest) -> str:
    """Return the command line that sends this again."""
    words = ["curl", "-i", "-X", request.method, url + request.target]
    for name, value in request.headers:
        words += ["-H", f"{name}: {value}"]
    if request.body:
        words += ["--data-binary", request.body.decode("utf-8", "replace")]
    return shlex.join(words)


def request_document(request: HttpRequest) -> Request:
    """Return the request document of section 2 of the contract for what was sent."""
    path, _, query = request.target.partition("?")
    media = (request.header("content-type") or "").partition(";")[0].strip().lower()
    body: Json = None
    form = media == "application/x-www-form-urlencoded"
    if form:
        body = _nested(parse_qsl(request.body.decode(), keep_blank_values=True))
    elif request.body:
        body = json.loads(request.body)
    parameters: dict[str, Json] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        had = parameters.get(name)
        parameters[name] = value if had is None else [*(had if isinstance(had, list) else [had]), value]
    headers = {name.lower(): value for name, value in request.headers if name.lower() not in _NOT_IN_DOCUMENTS}
    return Request(request.method, path, query=parameters, headers=headers, body=body, form=form)


def _nested(pairs: list[tuple[str, str]]) -> dict[str, Json]:
    """Read `a[b]=c` as `{"a": {"b": "c"}}`."""
    nested_document: dict[str, Json] = {}
    for name, value in pairs:
        parts = name.replace("]", "").split("[")
        inner = nested_document
        for part in parts[:-1]:
            inner = inner.setdefault(part, {})
        inner[parts[-1]] = value
    return nested_document


OFFERED: Final = "gzip, deflate, br, zstd"


_MOST_DECODED: Final = 1 << 28


def decoded(body: bytes, codings: str | None) -> bytes:
    """Return what a body says. Raises ValueError where it is broken, or coded as nobody knows or has installed."""
    for name in reversed([part for part in (codings or "").split(",") if part.strip()]):
        if (scheme := coding(name)) is None:
            raise ValueError(f"nobody knows the coding {name.strip()}, or its package is not installed")
        body = scheme.decode(body, _MOST_DECODED)
    return body


def readable(name: str) -> bool:
    """Whether `decoded` knows a coding here: two of them need a package."""
    return coding(name) is not None


def encoded(body: bytes, name: str) -> bytes:
    """Return a body in one of the codings that are readable here."""
    if (scheme := coding(name)) is None:
        raise ValueError(f"nobody knows the coding {name}")
    return scheme.encode(body)
