"""The HTTP client of episodes: documents as they go out, answers as they come, connections that are kept."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from corrigible.conformance.lift.environment import HttpClient, Unreachable
from corrigible.conformance.transport.process import free_port
from corrigible.schema.exchange import Request
from tests._support.wire import received

ANSWER = b'HTTP/1.1 200 OK\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 17\r\n\r\n{"success": true}'


class Server:
    """Keeps what it is sent, answers with what it is given, and closes every connection after `most` answers."""

    def __init__(self, answer: bytes = ANSWER, most: int = 100) -> None:
        self.sent: list[bytes] = []
        self.connections = 0
        self.closed = threading.Semaphore(0)
        """Is released when a connection has been closed."""
        self._response, self._most = answer, most
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            with connection:
                for _ in range(self._most):
                    if not (sent := connection.recv(65536)):
                        break
                    while b"content-length: " in sent.lower() and sent.endswith(b"\r\n\r\n"):
                        sent += received(connection)
                    self.sent.append(sent)
                    connection.sendall(self._response)
            self.closed.release()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.close()


def test_a_json_document(server: Server) -> None:
    client = HttpClient(server.url)
    request = Request(
        "PATCH", "/a b/ü", {"x": ["1", "2"], "y": True}, {"content-type": "application/merge-patch+json"}, {"n": 1}
    )
    answer = client.send(request, {"Authorization": "Bearer k"})
    client.close()
    (sent,) = server.sent
    assert sent.startswith(b"PATCH /a%20b/%C3%BC?x=1&x=2&y=true HTTP/1.1\r\n")
    assert b"authorization: Bearer k\r\n" in sent and b"content-type: application/merge-patch+json\r\n" in sent
    assert sent.endswith(b'{"n": 1}')
    assert answer.succeeded and answer.body == {"success": True} and answer.headers["x-a"] == "1, 2"


def test_a_form(server: Server) -> None:
    client = HttpClient(server.url)
    client.send(Request("POST", "/v1", body={"a": {"b": [1, "x y"]}, "c": None}, form=True), {})
    client.close()
    assert server.sent[0].endswith(b"\r\n\r\na%5Bb%5D%5B0%5D=1&a%5Bb%5D%5B1%5D=x+y&c=")


def test_connections_are_kept_and_renewed() -> None:
    server = Server(most=2)
    client = HttpClient(server.url)
    for number in range(5):
        assert client.send(Request("POST", "/", body={}), {}).succeeded
        if number % 2:  # a call that meets the end of its connection is another matter
            assert server.closed.acquire(timeout=60)
    client.close()
    server.close()
    assert server.connections == 3 and len(server.sent) == 5


@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n" + b'{"success": false}', 200, {"success": False}),
        (b"HTTP/1.1 502 Bad\r\nContent-Length: 4\r\n\r\noops", 502, "oops"),
        (b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", 404, None),
    ],
)
def test_refusals(answer: bytes, status: int, body: object) -> None:
    server = Server(answer)
    client = HttpClient(server.url)
    found = client.send(Request("GET", "/"), {})
    client.close()
    server.close()
    assert (found.status, found.body, found.succeeded) == (status, body, False)


def test_nobody_there_is_no_answer() -> None:
    client = HttpClient(f"http://127.0.0.1:{free_port()}")
    with pytest.raises(Unreachable, match="refused"):
        client.send(Request("GET", "/"), {})
    client.close()


def test_no_header_of_a_document_says_where_a_request_goes(server: Server) -> None:
    client = HttpClient(server.url)
    client.send(Request("GET", "/", headers={"host": "elsewhere", "x": "1"}), {})
    client.close()
    assert b"elsewhere" not in server.sent[0] and b"x: 1\r\n" in server.sent[0]


def test_what_the_caller_gives_no_document_changes(server: Server) -> None:
    client = HttpClient(server.url)
    document = Request(
        "GET", "/x", headers={"Prefer": "recovery-feedback=reflective", "authorization": "b", "x-a": "1"}
    )
    client.send(document, {"prefer": "recovery-feedback=none", "Authorization": "a"})
    client.close()
    said = server.sent[0].lower()
    assert said.count(b"prefer:") == said.count(b"authorization:") == 1
    assert b"recovery-feedback=none" in said and b"x-a: 1" in said and b"authorization: a\r\n" in said
