"""What flows through the mitmproxy front end: every byte as it comes, and what breaks off breaks off natively."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pytest

from tests._support.rows import rows

JSON = b"Content-Type: application/json\r\n"
POST = b"POST /x HTTP/1.1\r\nHost: x\r\n"


@contextmanager
def server(handle: Callable[[socket.socket], None]) -> Iterator[str]:
    """An upstream that is handed its connections bare."""
    threads = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def one(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                connection.settimeout(60)
                handle(connection)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threads.append(threading.Thread(target=one, args=(listener.accept()[0],), daemon=True))
                    threads[-1].start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join(60)
            for thread in threads:
                thread.join(60)


def until(connection: socket.socket, end: bytes) -> bytes:
    got = b""
    while not got.endswith(end):
        more = connection.recv(1 << 16)
        assert more, got
        got += more
    return got


def head_of(connection: socket.socket) -> bytes:
    got = b""
    while b"\r\n\r\n" not in got:
        more = connection.recv(1 << 16)
        assert more, got
        got += more
    return got


def ends(mark: bytes) -> Callable[[bytes], bool]:
    return lambda got: got.endswith(mark)


BROKEN = {
    "a short success": b"HTTP/1.1 201 Created\r\nX-Id: 7\r\nContent-Length: 90\r\n\r\n" + b'{"id": 7',
    "a long success": b"HTTP/1.1 201 Created\r\nContent-Length: 900000\r\n\r\n" + b"x" * 99_000,
    "a success in chunks": b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    "a refusal": b"HTTP/1.1 400 Bad Request\r\n" + JSON + b'Content-Length: 90\r\n\r\n{"error": ',
    "a refusal in chunks": b"HTTP/1.1 400 No\r\n" + JSON + b'Transfer-Encoding: chunked\r\n\r\na\r\n{"error": \r\n',
    "a refusal without a byte": b"HTTP/1.1 409 Conflict\r\n" + JSON + b"Content-Length: 90\r\n\r\n",
}


@rows("answer", BROKEN.values(), ids=BROKEN)
def test_an_answer_that_breaks_off_arrives_as_far_as_it_came(bench: Any, answer: bytes) -> None:
    def dies(connection: socket.socket) -> None:
        until(connection, b"\r\n\r\n")
        connection.sendall(answer)

    with server(dies) as url, bench.proxy(bench.Telling(), upstream=url) as proxy:
        wire = bench.Wire(proxy.port)
        wire.send(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
        assert wire.rest() == answer
        wire.close()


def test_two_sides_talk_in_turns(bench: Any) -> None:
    """Chunk by chunk, each waiting for the other's."""

    def echo(connection: socket.socket) -> None:
        until(connection, b"\r\n\r\n")
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while (said := until(connection, b"\r\n")) != b"0\r\n\r\n":
            connection.sendall(said if b"\r\n" in said[:-2] else said + until(connection, b"\r\n"))
        connection.sendall(said)

    with server(echo) as url, bench.proxy(bench.Telling(), upstream=url) as proxy:
        wire = bench.Wire(proxy.port)
        wire.send(POST + b"Transfer-Encoding: chunked\r\n\r\n")
        wire.until(ends(b"\r\n\r\n"))
        for word in (b"one", b"two", b"three"):
            wire.send(b"%x\r\n%s\r\n" % (len(word), word))
            wire.until(ends(b"\r\n%s\r\n" % word))
        wire.send(b"0\r\n\r\n")
        wire.until(ends(b"0\r\n\r\n"))
        wire.close()


@pytest.mark.parametrize("status", [b"200 OK", b"400 Bad Request"])
def test_a_short_answer_that_drips_is_not_held_until_it_is_whole(bench: Any, status: bytes) -> None:
    seen = threading.Event()

    def drips(connection: socket.socket) -> None:
        until(connection, b"\r\n\r\n")
        connection.sendall(b"HTTP/1.1 %s\r\n%sContent-Length: 4\r\n\r\n{" % (status, JSON))
        assert seen.wait(bench.patience)
        connection.sendall(b"  }")

    corrector = bench.Telling()
    with server(drips) as url, bench.proxy(corrector, upstream=url, hold=0.2) as proxy:
        wire = bench.Wire(proxy.port)
        wire.send(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
        wire.until(ends(b"\r\n\r\n{"))
        seen.set()
        assert wire.until(ends(b"}")) == b"HTTP/1.1 %s\r\n%sContent-Length: 4\r\n\r\n{  }" % (status, JSON)
        wire.close()
    assert corrector.seen == []


def test_a_refusal_in_two_parts_is_still_corrected(bench: Any) -> None:
    def halves(connection: socket.socket) -> None:
        until(connection, b"hello")
        connection.sendall(b"HTTP/1.1 400 No\r\n" + JSON + b"Content-Length: 2\r\n\r\n")
        threading.Event().wait(0.05)
        connection.sendall(b"{}")

    corrector = bench.Telling()
    with server(halves) as url, bench.proxy(corrector, upstream=url) as proxy:
        wire = bench.Wire(proxy.port)
        wire.send(POST + b"Content-Length: 5\r\n\r\nhe")
        wire.send(b"llo")
        wire.until(ends(b"{} | 0 "))
        wire.close()
    assert [(body, answer) for _, body, _, answer in corrector.seen] == [(b"hello", b"{}")]


def test_a_refusal_waits_for_the_rest_of_the_request_that_it_is_about(bench: Any) -> None:
    answered = threading.Event()

    def hasty(connection: socket.socket) -> None:
        until(connection, b"\r\n\r\n")
        connection.sendall(bench.message(b"400 No", JSON, b"{}"))
        answered.set()
        until(connection, b"hello")

    corrector = bench.Telling()
    with server(hasty) as url, bench.proxy(corrector, upstream=url) as proxy:
        wire = bench.Wire(proxy.port)
        wire.send(POST + b"Content-Length: 5\r\n\r\n")
        assert answered.wait(bench.patience)
        wire.send(b"hello")
        wire.until(ends(b"{} | 0 "))
        wire.close()
    assert [body for _, body, _, _ in corrector.seen] == [b"hello"]


@pytest.mark.parametrize(
    "framing", [b"Content-Length: 2\r\n\r\nok", b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"]
)
def test_an_answer_overtakes_its_request(bench: Any, framing: bytes) -> None:
    received: list[bytes] = []

    def early(connection: socket.socket) -> None:
        until(connection, b"\r\n\r\n")
        connection.sendall(b"HTTP/1.1 200 OK\r\n" + framing)
        received.append(head_of(connection))  # the rest of the body, and the next request
        connection.sendall(bench.message(b"200 OK", b"", b"next"))

    with server(early) as url, bench.proxy(bench.none(), upstream=url) as proxy:
        wire = bench.Wire(proxy.port)
        wire.send(POST + b"Content-Length: 5\r\n\r\n")
        assert wire.until(ends(framing)) == b"HTTP/1.1 200 OK\r\n" + framing
        wire.send(b"hello")
        wire.send(b"GET /next HTTP/1.1\r\nHost: x\r\n\r\n")
        wire.until(ends(b"next"))
        wire.close()
    assert received[0].startswith(b"helloGET /next ")


@pytest.mark.parametrize("framing", [b"Content-Length: 4\r\n", b""])
def test_an_upstream_that_hangs_up_on_an_upload_is_heard(bench: Any, framing: bytes) -> None:
    def no_room(connection: socket.socket) -> None:
        head_of(connection)
        connection.sendall(b"HTTP/1.1 413 Too Large\r\nConnection: close\r\n%s\r\nfull" % framing)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 16):
            pass

    with server(no_room) as url, bench.proxy(bench.none(), upstream=url) as proxy:
        wire = bench.Wire(proxy.port)
        wire.send(POST + b"Content-Length: 9000000\r\n\r\n" + b"x" * 100_000)
        assert wire.rest() == b"HTTP/1.1 413 Too Large\r\nConnection: close\r\n%s\r\nfull" % framing
        wire.close()


def test_an_expectation_is_the_upstream_s_to_meet(bench: Any) -> None:
    def asks(connection: socket.socket) -> None:
        assert b"\r\nExpect: 100-continue\r\n" in until(connection, b"\r\n\r\n")
        connection.sendall(b"HTTP/1.1 100 Continue\r\nX-Go: on\r\n\r\n")
        until(connection, b"hello")
        connection.sendall(bench.message(b"400 No", JSON, b"{}"))

    corrector = bench.Telling()
    with server(asks) as url, bench.proxy(corrector, upstream=url) as proxy:
        wire = bench.Wire(proxy.port)
        wire.send(POST + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        assert wire.until(ends(b"\r\n\r\n")) == b"HTTP/1.1 100 Continue\r\nX-Go: on\r\n\r\n"
        wire.send(b"hello")
        wire.until(ends(b"{} | 0 "))
        wire.close()
    assert [body for _, body, _, _ in corrector.seen] == [b"hello"]


@pytest.mark.parametrize("status", [b"417 Expectation Failed", b"401 Unauthorized"])
def test_a_refusal_instead_of_a_100_arrives_at_once(bench: Any, status: bytes) -> None:
    refusal = bench.message(status, JSON, b"{}")

    def refuses(connection: socket.socket) -> None:
        until(connection, b"\r\n\r\n")
        connection.sendall(refusal)
        connection.recv(1)

    with server(refuses) as url, bench.proxy(bench.Telling(), upstream=url) as proxy:
        wire = bench.Wire(proxy.port)
        wire.send(POST + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        assert wire.until(ends(b"{}")) == refusal  # native: what it is about will not be sent
        wire.close()


def test_requests_that_are_sent_ahead_are_answered_in_order(bench: Any) -> None:
    answers = {f"/{name}": bench.message(b"200 OK", b"", name.encode()) for name in ("a", "b")}
    answers["/no"] = bench.message(b"400 No", JSON, b"{}")
    with (
        bench.upstream(answers) as upstream,
        bench.proxy(bench.Telling(), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        wire = bench.Wire(proxy.port)
        sent = b"".join(
            b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (path, len(body), body)
            for path, body in ((b"/a", b""), (b"/no", b"1"), (b"/b", b"22"))
        )
        wire.send(sent + b"GET /a HTTP/1.0\r\n\r\n")
        bodies = [one.partition(b"\r\n\r\n")[2] for one in wire.rest().split(b"HTTP/1.1 ")[1:]]
        assert bodies == [b"a", b"{} | 0 ", b"b", b"a"]
        wire.close()


def test_a_client_of_http_1_0_gets_no_chunks(bench: Any) -> None:
    with (
        bench.upstream({"/x": bench.chunks(b"200 OK", b"X-A: 1\r\n", b"he", b"llo")}) as upstream,
        bench.proxy(bench.none(), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        wire = bench.Wire(proxy.port)
        wire.send(b"GET /x HTTP/1.0\r\n\r\n")
        assert wire.rest() == b"HTTP/1.1 200 OK\r\nX-A: 1\r\n\r\nhello"
        wire.close()


def test_a_copy_of_a_request_has_a_limit(bench: Any) -> None:
    """Past it the request flows on, and its refusal is native."""
    refusal = bench.message(b"400 No", JSON, b"{}")
    corrector = bench.Telling()
    with (
        bench.upstream({"/x": refusal}) as upstream,
        bench.proxy(corrector, upstream=f"http://127.0.0.1:{upstream.port}", body_limit=1000) as proxy,
    ):
        wire = bench.Wire(proxy.port)
        wire.send(POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"258\r\n%s\r\n" % (b"x" * 600) * 2 + b"0\r\n\r\n")
        assert wire.until(partial(_at_least, len(refusal))) == refusal
        wire.send(POST + b"Content-Length: 1000\r\n\r\n" + b"x" * 1000)
        wire.until(ends(b"{} | 0 "))
        wire.close()
    assert [len(body) for _, body, _, _ in corrector.seen] == [1000]


def _at_least(length: int, got: bytes) -> bool:
    return len(got) >= length
