"""Correctors that answer garbage, too much, nothing or too late: the API's own bytes pass, and it recovers."""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from corrigible.proxy.envoy.bootstrap import bootstrap
from corrigible.proxy.envoy.gateway import Gateway
from corrigible.proxy.envoy.log_line import entry_of, fields_of
from corrigible.proxy.http.api_routes import Upstream
from tests._support.envoy_command import eventually
from tests._support.envoy_proxy import EnvoyBench as Bench
from tests._support.envoy_proxy import configured_envoy
from tests._support.rows import rows

JSON = b"Content-Type: application/json\r\n"
REFUSED = Bench.message(b"400 Bad Request", JSON, b'{"error":{"code":"bad"}}')
CHUNKED = Bench.chunks(b"422 Unprocessable Entity", JSON, b'{"error":', b'{"code":"bad"}}')
OK = Bench.message(b"200 OK", JSON, b"{}")
MORE = b"corrigible-sections: 0 %d\r\ncorrigible-entry: %s\r\n"
SECONDS = 0.4
"""In which a corrector has to answer."""


def replied(status: bytes, headers: bytes, body: bytes) -> bytes:
    return b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s" % (status, headers, len(body), body)


def slowly(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\ncorrigible-sections: 0 100\r\n\r\n")
    for _ in range(100):
        time.sleep(SECONDS / 10)
        connection.sendall(b"x")


def cut_off(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
    connection.close()


HUGE = b"x" * (5 << 20)
FAULTS: dict[str, bytes | Callable[[socket.socket], None]] = {
    "no HTTP": b"\x00\xff\x16garbage\r\n\r\n",
    "another status": replied(b"500 No", b"", b"{}"),
    "no sections": replied(b"200 OK", b"", b"garbage"),
    "sections that are no numbers": replied(b"200 OK", b"corrigible-sections: a b\r\n", b"garbage"),
    "sections of another length": replied(b"200 OK", b"corrigible-sections: 3 400\r\n", b"garbage"),
    "sections that overflow": replied(b"200 OK", b"corrigible-sections: 99999999999999999999 1\r\n", b"garbage"),
    "5 MB": replied(b"200 OK", MORE % (len(HUGE), b"{}"), HUGE),
    "5 MB of garbage": replied(b"200 OK", b"", HUGE),
    "an end at once": lambda connection: connection.close(),
    "an end in between": cut_off,
    "a byte now and then": slowly,
    "nothing": lambda connection: time.sleep(3 * SECONDS),
}


@pytest.fixture(scope="module")
def placed() -> Iterator[tuple[int, Any]]:
    """An Envoy, and what answers in a corrector's place."""
    answers: dict[str, Any] = {"/bad": REFUSED, "/chunked": CHUNKED, "/ok": OK}
    with Bench.upstream(answers) as api, Bench.upstream({}) as stand_in:
        gateway = Gateway(
            "127.0.0.1", 0, Upstream("http", "127.0.0.1", api.port), [f"127.0.0.1:{stand_in.port}"], seconds=SECONDS
        )
        with configured_envoy(bootstrap(gateway)) as port:
            yield port, stand_in


def post(port: int, path: str) -> bytes:
    return Bench.ask(port, path, "POST", b'{"a":1}', JSON)


@rows("fault", FAULTS)
def test_what_is_native_passes_and_it_recovers(placed: tuple[int, Any], fault: str) -> None:
    port, stand_in = placed
    stand_in.answers["/v1/refusal"] = FAULTS[fault]
    got: list[bytes] = []
    others = threading.Thread(target=lambda: got.extend(post(port, "/ok") for _ in range(10)))
    others.start()
    for path, native in (("/bad", REFUSED), ("/chunked", CHUNKED)):
        assert Bench.seen(post(port, path)) == Bench.seen(native)
    others.join(60)
    assert [Bench.seen(one) for one in got] == [Bench.seen(OK)] * 10
    edits = b"+x-added:1\n"
    stand_in.answers["/v1/refusal"] = replied(b"200 OK", b"corrigible-sections: %d 3\r\n" % len(edits), edits + b"new")
    eventually(lambda: post(port, "/bad").endswith(b"new"))


def test_what_is_too_much_for_correctors_passes_and_is_counted_as_that() -> None:
    """While a corrector has as much as it may have at once, further refusals are not queued."""
    answer = threading.Event()

    def waits(connection: socket.socket) -> None:
        assert answer.wait(60)
        connection.sendall(replied(b"204 No Content", b"", b""))

    logged: list[bytes] = []
    with Bench.upstream({"/bad": REFUSED}) as api, Bench.upstream({"/v1/refusal": waits}) as stand_in:
        config = bootstrap(
            Gateway("127.0.0.1", 0, Upstream("http", "127.0.0.1", api.port), [f"127.0.0.1:{stand_in.port}"], seconds=60)
        )
        (corrector,) = (one for one in config["static_resources"]["clusters"] if one["name"] == "corrigible-0")
        (limits,) = corrector["circuit_breakers"]["thresholds"]
        assert set(limits.values()) == {512}
        limits.update(dict.fromkeys(limits, 2))  # two are asked about, and two wait
        ended: queue.Queue[bytes] = queue.Queue()
        with configured_envoy(config, logged.append) as port:
            callers = [threading.Thread(target=lambda: ended.put(post(port, "/bad"))) for _ in range(8)]
            for thread in callers:
                thread.start()
            answers = [ended.get(timeout=60) for _ in range(3)]
            answer.set()
            for thread in callers:
                thread.join(60)
    answers += [ended.get() for _ in range(5)]
    assert [Bench.seen(one) for one in answers] == [Bench.seen(REFUSED)] * 8
    reasons = [entry_of(fields_of(line)).reason for line in logged]
    assert reasons.count("shed: too many refusals at once") >= 3
    assert reasons.count(None) >= 2 and len(set(reasons)) == 2
