"""How the proxy takes leave of HTTP/2 callers, and they of it: what is under way is finished."""

from __future__ import annotations

import re
import signal
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

HEADERS, RST_STREAM, GOAWAY, WINDOW_UPDATE = 1, 3, 7, 8
REFUSED_STREAM = 7
OK = (b"200", b"ok")


class Slow:
    """An upstream that answers `/slow` when it is told to."""

    def __init__(self, two: Any) -> None:
        self.asked, self.release = threading.Event(), threading.Event()
        self._two = two

    def __call__(self, upstream: Any, wire: ssl.SSLSocket) -> None:
        peer = self._two.Server(wire)
        while (found := peer.next()) is not None:
            if found.type == HEADERS:
                upstream.seen.append(fields := dict(peer.fields(found)))
                if fields[b":path"] == b"/slow":
                    self.asked.set()
                    assert self.release.wait(60)
                peer.headers(found.stream, [(b":status", b"200")], end=False)
                peer.data(found.stream, b"ok")


@contextmanager
def command(bench: Any, two: Any, port: int) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run the proxy as users do."""
    told = two.settings(port)
    words = [
        "--quiet",
        "--upstream",
        told["upstream"],
        "--upstream-ca",
        str(told["trust"].ca),
        "--listen",
        "127.0.0.1:0",
    ]
    words += ["--tls-cert", str(told["identity"].certificate), "--tls-key", str(told["identity"].key)]
    with bench.start("--quiet", "--pack", "http", *words) as process:
        assert process.stdout is not None
        try:
            found = re.search(r":(\d+) -> ", process.stdout.readline())
            assert found is not None
            yield process, int(found[1])
        finally:
            process.kill()


def test_at_its_end_it_says_goodbye_and_finishes_what_is_under_way(bench: Any, two: Any) -> None:
    slow = Slow(two)
    with (
        two.upstream(slow) as upstream,
        command(bench, two, upstream.port) as (process, port),
        two.caller(port) as idle,
        two.caller(port) as busy,
    ):
        assert idle.ask() == OK
        stream = busy.stream()
        busy.headers(stream, busy.head(b"/slow"))
        assert slow.asked.wait(60)
        process.send_signal(signal.SIGTERM)
        said = busy.until(lambda found: found.type == GOAWAY)
        assert (said.code, int.from_bytes(said.payload[:4], "big")) == (0, stream)
        assert [found.type for found in idle.rest()][-1] == GOAWAY
        late = busy.stream()
        busy.headers(late, busy.head(b"/late"))
        busy.until(lambda found: found.type == RST_STREAM)
        slow.release.set()
        resets = [(found.stream, found.code) for found in busy.rest() if found.type == RST_STREAM]
        assert resets == [(late, REFUSED_STREAM)]
        assert b"".join(busy.bodies[stream]) == b"ok"
        assert process.wait(bench.patience) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert b"/late" not in [fields[b":path"] for fields in upstream.seen]


def test_what_waits_for_a_window_is_sent_before_the_end(bench: Any, two: Any) -> None:
    with (
        two.upstream(two.http2) as upstream,
        bench.proxy(bench.Silent(), **two.settings(upstream.port)) as proxy,
        two.caller(proxy.port, b"\0\4\0\0\0\1") as caller,  # a window of one byte
    ):
        stream = caller.stream()
        caller.headers(stream, caller.head())
        caller.until(lambda found: found.type == 0)
        proxy.stop()
        caller.until(lambda found: found.type == GOAWAY)
        caller.send(two.frame(WINDOW_UPDATE, 0, stream, b"\0\0\0\1"))
        caller.rest()
        assert b"".join(caller.bodies[stream]) == b"ok"
        assert proxy.ended.wait(bench.patience)


def test_a_callers_goodbye_ends_nothing_that_is_under_way(bench: Any, two: Any) -> None:
    slow = Slow(two)
    with (
        two.upstream(slow) as upstream,
        bench.proxy(bench.Silent(), **two.settings(upstream.port)) as proxy,
        two.caller(proxy.port) as caller,
    ):
        stream = caller.stream()
        caller.headers(stream, caller.head(b"/slow"))
        assert slow.asked.wait(60)
        caller.send(two.frame(GOAWAY, 0, 0, bytes(8)))
        slow.release.set()
        caller.rest()
        assert b"".join(caller.bodies[stream]) == b"ok"


def test_the_second_time_it_ends_at_once(bench: Any, two: Any) -> None:
    slow = Slow(two)
    with (
        two.upstream(slow) as upstream,
        command(bench, two, upstream.port) as (process, port),
        two.caller(port) as caller,
    ):
        caller.headers(caller.stream(), caller.head(b"/slow"))
        assert slow.asked.wait(60)
        process.send_signal(signal.SIGTERM)
        caller.until(lambda found: found.type == GOAWAY)
        process.send_signal(signal.SIGINT)
        assert process.wait(bench.patience / 2) == 0
        slow.release.set()
