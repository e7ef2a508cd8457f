"""A small HTTP/1.1 relay that hands everything on to the byte, apart from the one fault it is told to have.

It stands in front of the suite's upstream, or of a proxy that conforms. A fault is a pure function on a message;
which exchanges it touches, and how much of an answer it must see, is said beside it.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: Headers
    body: bytes = b""
    """As it came, chunks and all."""

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


@dataclass(frozen=True)
class Answer:
    status: int
    reason: str
    headers: Headers
    body: bytes = b""
    """Out of its chunks; empty where a fault looks at the head only."""
    trailers: Headers = ()
    version: str = "HTTP/1.1"

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def with_header(self, name: str, value: str) -> Answer:
        """Return it with a header in its place, or at the end where there was none."""
        if self.header(name) is None:
            return replace(self, headers=(*self.headers, (name, value)))
        return replace(self, headers=tuple((n, value if n.lower() == name.lower() else v) for n, v in self.headers))

    def without(self, name: str) -> Answer:
        return replace(self, headers=tuple(one for one in self.headers if one[0].lower() != name.lower()))

    def with_body(self, body: bytes) -> Answer:
        """Return it with another body and the length of that, where it has a length."""
        made = replace(self, body=body)
        return made.with_header("Content-Length", str(len(body))) if self.header("content-length") else made


def is_message(request: Request, answer: Answer) -> bool:
    """Whether an answer is one thing that says how long it is, and no download."""
    kind = answer.header("content-type") or ""
    return answer.header("content-length") is not None and not kind.startswith("application/octet-stream")


@dataclass(frozen=True)
class Fault:
    """What is wrong with a relay. All parts together; the defaults do nothing."""

    request: Callable[[Request], Request] = lambda request: request
    head: Callable[[Request, Answer], Answer] = lambda request, answer: answer
    """Sees an answer without its body, which flows on."""
    whole: Callable[[Request, Answer], Answer] | None = None
    """Sees an answer with its body, where `touches` says so."""
    touches: Callable[[Request, Answer], bool] = is_message
    interim: bool = True
    """Whether interim answers are handed on."""
    waits: bool = False
    """Whether a request is kept until it is whole."""
    holds: bool = False
    """Whether an answer is held back to its end."""
    trailers: Callable[[Headers], Headers] = lambda trailers: trailers
    after_upgrade: Callable[[bytes], bytes] = lambda data: data
    whole_again: bool = False
    """Whether a body that broke off is passed on as if it were whole."""


@contextmanager
def relay(port: int, fault: Fault) -> Iterator[int]:
    """Run a relay in front of a port of this machine; the value is where it listens."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    sockets: set[socket.socket] = set()

    def serve(client: socket.socket) -> None:
        with client, suppress(OSError, ValueError, _Ended), socket.create_connection(("127.0.0.1", port)) as server:
            sockets.update((client, server))
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            conversation = _Conversation(client, server, fault)
            while conversation.exchange():
                pass

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for one in list(sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        thread.join(5)


class _Ended(Exception):
    """The other side has gone."""


class _Source:
    """A socket to read from by pieces."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.buffer = b""

    def more(self) -> None:
        data = self._connection.recv(1 << 20)
        if not data:
            raise _Ended
        self.buffer += data

    def until(self, mark: bytes) -> bytes:
        start = 0
        while (at := self.buffer.find(mark, start)) < 0:
            start = max(0, len(self.buffer) - len(mark) + 1)
            self.more()
        end = at + len(mark)
        found, self.buffer = self.buffer[:end], self.buffer[end:]
        return found

    def take(self, size: int) -> Iterator[bytes]:
        """Yield so many bytes, as they come."""
        while size:
            if not self.buffer:
                self.more()
            piece, self.buffer = self.buffer[:size], self.buffer[size:]
            size -= len(piece)
            yield piece

    def ends_chunks(self) -> bool:
        return self.buffer.endswith(b"\r\n\r\n") and (b"\r\n0\r\n" in self.buffer or self.buffer.startswith(b"0\r\n"))

    def rest(self) -> Iterator[bytes]:
        with suppress(_Ended):
            while True:
                if not self.buffer:
                    self.more()
                piece, self.buffer = self.buffer, b""
                yield piece

    def chunks(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield each chunk as it was written and what is in it; the last one is the end, with the trailers."""
        while True:
            line = self.until(b"\r\n")
            size = int(line.split(b";")[0], 16)
            if size == 0:
                end = b""
                while not end.endswith(b"\r\n\r\n") and end != b"\r\n":
                    end += self.until(b"\r\n")
                yield line + end, end
                return
            data = b"".join(self.take(size + 2))
            yield line + data, data[:-2]


class _Conversation:
    """One connection of a client, and one to the server for it."""

    def __init__(self, client: socket.socket, server: socket.socket, fault: Fault) -> None:
        self.client, self.server, self.fault = client, server, fault
        self.asked, self.said = _Source(client), _Source(server)

    def exchange(self) -> bool:
        """Carry one exchange. False where the connection is over."""
        line, headers = _head(self.asked.until(b"\r\n\r\n"))
        method, target, _ = line.split(" ", 2)
        request = Request(method, target, headers)
        waits = (request.header("expect") or "").lower() == "100-continue"
        if waits:
            self.server.sendall(_request(self.fault.request(request)))
            interim = self.said.until(b"\r\n\r\n")
            self.client.sendall(interim)
            if not interim.startswith(b"HTTP/1.1 100"):
                return False
        if not self.fault.waits and not self._is_whole(request):
            return self._both_ways(request)
        request = replace(request, body=b"".join(self._body(request)))
        sent = self.fault.request(request)
        self.server.sendall(sent.body if waits else _request(sent) + sent.body)
        return self._answer(request)

    def _is_whole(self, request: Request) -> bool:
        """Whether the body of a request comes right behind its head."""
        chunked = request.header("transfer-encoding") is not None
        size = int(request.header("content-length") or 0)
        self.client.settimeout(0.2)
        try:
            while not (self.asked.ends_chunks() if chunked else len(self.asked.buffer) >= size):
                self.asked.more()
        except TimeoutError:
            return False
        finally:
            self.client.settimeout(None)
        return True

    def _both_ways(self, request: Request) -> bool:
        """Hand a request on while it comes, and its answer beside it."""
        self.server.sendall(_request(self.fault.request(request)))

        def up() -> None:
            with suppress(OSError, ValueError, _Ended):
                for piece in self._body(request):
                    self.server.sendall(piece)

        threading.Thread(target=up, daemon=True).start()
        self._answer(request)
        return False

    def _body(self, request: Request) -> Iterator[bytes]:
        if request.header("transfer-encoding") is not None:
            yield from (raw for raw, _ in self.asked.chunks())
        else:
            yield from self.asked.take(int(request.header("content-length") or 0))

    def _answer(self, request: Request) -> bool:
        while True:
            raw = self.said.until(b"\r\n\r\n")
            line, headers = _head(raw)
            version, status, reason = (*line.split(" ", 2), "")[:3]
            if not status.startswith("1") or status == "101":
                break
            if self.fault.interim:
                self.client.sendall(raw)
        native = Answer(int(status), reason, headers, version=version)
        if native.status == 101:
            self.client.sendall(raw)
            self._tunnel()
            return False
        touched = self.fault.whole is not None and self.fault.touches(request, native)
        if touched and self.fault.whole is not None and not self._takes_its_time(request, native):
            self._whole(request, native, self.fault.whole)
        else:
            self._streamed(request, native, raw)
        return version == "HTTP/1.1" and "close" not in (
            native.header("connection"),
            request.header("connection"),
        )

    def _takes_its_time(self, request: Request, native: Answer) -> bool:
        """Whether the body of an answer stops on its way: then it is not waited for, and not seen whole."""
        if request.method == "HEAD" or native.status in (204, 304):
            return False
        self.server.settimeout(0.3)
        try:
            while len(self.said.buffer) < int(native.header("content-length") or 0):
                self.said.more()
        except TimeoutError:
            return True
        except _Ended:
            return False
        finally:
            self.server.settimeout(None)
        return False

    def _streamed(self, request: Request, native: Answer, raw: bytes) -> None:
        changed = self.fault.head(request, native)
        pieces = [raw if changed == native else _answer_head(changed)]
        out = pieces.append if self.fault.holds else self.client.sendall
        self.client.sendall(b"") if self.fault.holds else self.client.sendall(pieces.pop())
        for piece, _ in self._pieces(request, native):
            out(piece)
        if self.fault.holds:
            self.client.sendall(b"".join(pieces))

    def _pieces(self, request: Request, native: Answer) -> Iterator[tuple[bytes, bytes]]:
        """Yield each piece of a body, as it was written and as it is meant."""
        length = native.header("content-length")
        if request.method == "HEAD" or native.status in (204, 304):
            return
        if native.header("transfer-encoding") is not None:
            for raw, data in self.said.chunks():
                if raw.startswith(b"0"):
                    trailers = self.fault.trailers(_fields(data))
                    yield b"0\r\n" + _lines(trailers) + b"\r\n", b""
                else:
                    yield raw, data
        elif length is not None:
            yield from ((piece, piece) for piece in self.said.take(int(length)))
        else:
            yield from ((piece, piece) for piece in self.said.rest())

    def _whole(self, request: Request, native: Answer, change: Callable[[Request, Answer], Answer]) -> None:
        body = bytearray()
        broke = False
        try:
            for _, data in self._pieces(request, native):
                body += data
        except _Ended:
            broke = True
        made = change(request, replace(native, body=bytes(body)))
        if broke and self.fault.whole_again:
            made = made.with_header("Content-Length", str(len(made.body)))
        self.client.sendall(_answer_head(made))
        if made.header("transfer-encoding") is not None:
            chunk = b"%x\r\n%s\r\n" % (len(made.body), made.body) if made.body else b""
            self.client.sendall(chunk + (b"" if broke else b"0\r\n" + _lines(made.trailers) + b"\r\n"))
        else:
            self.client.sendall(made.body)
        if broke:
            raise _Ended

    def _tunnel(self) -> None:
        def up() -> None:
            with suppress(OSError):
                for piece in self.asked.rest():
                    self.server.sendall(piece)

        threading.Thread(target=up, daemon=True).start()
        for piece in self.said.rest():
            self.client.sendall(self.fault.after_upgrade(piece))


def _head(raw: bytes) -> tuple[str, Headers]:
    first, _, rest = raw.partition(b"\r\n")
    return first.decode("latin-1"), _fields(rest)


def _fields(raw: bytes) -> Headers:
    lines = [line for line in raw.decode("latin-1").split("\r\n") if line]
    return tuple((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))


def _lines(headers: Headers) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in headers).encode("latin-1")


def _request(request: Request) -> bytes:
    line = f"{request.method} {request.target} HTTP/1.1\r\n".encode("latin-1")
    return line + _lines(request.headers) + b"\r\n"


def _answer_head(answer: Answer) -> bytes:
    line = f"{answer.version} {answer.status} {answer.reason}\r\n".encode("latin-1")
    return line + _lines(answer.headers) + b"\r\n"
