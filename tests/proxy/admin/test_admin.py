"""The admin address of a running proxy, and `corrigible status`."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from corrigible.adapters.sandbox.server import free_port
from corrigible.proxy.access_log.entry import Entry
from corrigible.proxy.access_log.statistics import Named, Statistics
from corrigible.proxy.admin import server as admin
from corrigible.proxy.admin.prometheus import Metrics, read
from corrigible.proxy.admin.server import AdminServer
from corrigible.proxy.cli import main
from tests._support.rows import rows

JSON = b"Content-Type: application/json\r\n"
REFUSED = Entry(1.0, "x", "GET", "/x", 404, "untouched", 1.0, "Op", reason="no rule", correction=0.01, api="a")


def got(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def test_a_running_proxy_tells_what_it_did(bench: Any, write_pack: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pack = write_pack(x="match: {code: bad}\nsuggest: [{action: MODIFY_PARAMS, message: m, parameters: {a: 1}}]\n")
    answers = {
        "/ok": bench.message(b"200 OK", b"", b"ok"),
        "/bad": bench.message(b"400 No", JSON, b'{"error":{"code":"bad","message":"m"}}'),
        "/other": bench.message(b"404 No", JSON, b'{"error":{"code":"other","message":"m"}}'),
        "/gone": lambda connection: connection.close(),
    }
    with bench.upstream(answers) as upstream:
        url = f"http://127.0.0.1:{upstream.port}"
        words = ("--upstream", url, "--pack", str(pack), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
        with bench.start(*words) as process:
            try:
                assert process.stdout is not None and process.stderr is not None
                port = int(process.stdout.readline().split()[1].rpartition(":")[2])
                assert process.stderr.readline() == "corrigible proxy: starting\n"
                first = process.stderr.readline()
                found = re.fullmatch(r"corrigible proxy: (http://\S+) has /healthz, /readyz and /metrics\n", first)
                assert found is not None
                at = found[1]
                for path in ("/ok", "/ok", "/other", "/gone"):
                    bench.ask(port, path)
                bench.ask(port, "/bad", "POST", b'{"a":2}', JSON)
                assert got(f"{at}/healthz") == (200, "ok\n")
                assert got(f"{at}/readyz") == (200, "ok\n")
                assert got(f"{at}/x")[0] == 404
                code, page = got(f"{at}/metrics")
                assert code == 200
                lines, group = page.splitlines(), 'api="apex",operation=""'
                for line in (
                    f'corrigible_requests_total{{{group},status_class="2xx",verdict="success"}} 2.0',
                    f'corrigible_requests_total{{{group},status_class="4xx",verdict="corrected"}} 1.0',
                    f'corrigible_requests_total{{{group},status_class="5xx",verdict="failed"}} 1.0',
                    f'corrigible_request_seconds_count{{{group},status_class="2xx",verdict="success"}} 2.0',
                    f'corrigible_refusals_total{{{group},status="400"}} 1.0',
                    'corrigible_rule_matches_total{api="apex",rule="apex.x"} 1.0',
                    f'corrigible_unchanged_total{{{group},reason="no rule matches",status="404"}} 1.0',
                    'corrigible_correction_seconds_count{api="apex"} 2.0',
                ):
                    assert line in lines, page
                capsys.readouterr()
                assert main(["status", "--admin", at]) == 0
                told = capsys.readouterr().out.splitlines()
                assert re.fullmatch(rf"corrigible \S+ is well: {url} \(apex; reflective\)", told[0])
                assert told[2:] == [
                    "5 requests, 2 refusals: 1 corrected, 1 unchanged",
                    "by rule: 1 x apex.x",
                    "unchanged: 1 x 404 unknown operation: no rule matches",
                    "without an answer from the API: 1 x the upstream closed the connection without an answer",
                ]
                process.send_signal(signal.SIGTERM)
                assert process.wait(60) == 0
            finally:
                process.kill()
    assert main(["status", "--admin", at]) == 1
    assert capsys.readouterr().err.endswith(": connection refused: is the proxy running with --admin?\n")
    page = bench.message(b"200 OK", b"", b"<html>ok</html>")
    with bench.upstream({"/healthz": page, "/metrics": page}) as other:
        assert main(["status", "--admin", f"127.0.0.1:{other.port}"]) == 1
    assert "this is no Corrigible: not the admin address of a proxy" in capsys.readouterr().err


@contextlib.contextmanager
def serving(
    upstreams: Mapping[str, tuple[str, int]] | None = None, unready: Callable[[], Iterable[str]] = tuple
) -> Iterator[AdminServer]:
    """Serve an admin address before a loop that runs."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = AdminServer("127.0.0.1", 0, Statistics().copy, Metrics(version="1").render, upstreams)
    try:
        server.start(loop, unready)
        yield server
    finally:
        server.close()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def connected(server: AdminServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=30)


def received(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(1 << 16), b""))


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nX: ", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_strangers_who_hold_connections_keep_no_probe_out(sent: bytes) -> None:
    with serving() as server, contextlib.ExitStack() as held:
        threads = threading.active_count()
        for _ in range(3 * admin.CONNECTIONS):
            stranger = held.enter_context(connected(server))
            stranger.sendall(sent)
        assert got(f"{server.url}/healthz") == (200, "ok\n")
        assert threading.active_count() <= threads, "no thread for a connection"
        assert len(server._open) <= admin.CONNECTIONS


def test_a_request_that_is_none_is_answered_and_the_connection_closed() -> None:
    for sent, status in (
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 20_000, b"431"),
        (b"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", b"405"),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n", b"413"),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n", b"413"),
        (b"GET /%FF HTTP/1.1\r\nHost: x\r\n\r\n", b"404"),
        (b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\r\n\r\n", b"400"),
    ):
        with serving() as server, connected(server) as connection:
            connection.sendall(sent)
            with contextlib.suppress(ConnectionResetError):
                assert received(connection).startswith(b"HTTP/1.1 " + status), sent


def test_a_connection_takes_several_requests_and_head_has_no_body() -> None:
    with serving() as server, connected(server) as connection:
        head = b"HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        last = b"GET /healthz?a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        connection.sendall(head + last)
        first, second, body = received(connection).split(b"\r\n\r\n")
        assert b"content-length: 3" in first.lower() and second.startswith(b"HTTP/1.1 200 OK") and body == b"ok\n"


def test_whoever_sends_a_head_byte_by_byte_has_a_time_limit_for_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "_SECONDS", 0.3)
    with serving() as server, connected(server) as connection, contextlib.suppress(ConnectionError):
        connection.settimeout(0.01)
        for _ in range(3_000):  # each byte comes sooner than the limit
            connection.sendall(b"G")
            with contextlib.suppress(TimeoutError):
                if not connection.recv(1):
                    break
        else:
            pytest.fail("it is still there")


def test_readiness_names_what_is_missing() -> None:
    reasons = ["1 of 2 correctors are not ready"]
    with socket.create_server(("127.0.0.1", 0)) as api:
        there, dead = api.getsockname(), ("127.0.0.1", free_port())
        with serving({"billing": there, "code": dead, "far": ("no-such-name.invalid", 80)}, lambda: reasons) as server:
            status, text = got(f"{server.url}/readyz")
            assert status == 503
            assert text.splitlines()[:2] == [*reasons, "code cannot be reached: connection refused"]
            assert text.splitlines()[2].startswith("far cannot be reached: ") and len(text.splitlines()) == 3
            assert str(dead[1]) not in text, "no address"
            assert got(f"{server.url}/healthz") == (200, "ok\n"), "it is alive all the same"
        with serving({"": there}) as server:
            assert got(f"{server.url}/readyz") == (200, "ok\n")
        with serving({"": dead}) as server:
            assert got(f"{server.url}/readyz") == (503, "the API cannot be reached: connection refused\n")


def test_an_api_gets_no_more_connections_however_many_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "_KNOWN_FOR", 600.0)
    with socket.create_server(("127.0.0.1", 0)) as api, serving({"": api.getsockname()}) as server:
        assert [got(f"{server.url}/readyz")[0] for _ in range(20)] == [200] * 20
        api.settimeout(30)
        connection, _ = api.accept()
        with connection, contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b"", "no request"
        api.settimeout(0.05)
        with pytest.raises(TimeoutError):
            api.accept()


def test_an_event_loop_that_does_not_answer_is_not_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "PATIENCE", 0.05)
    loop = asyncio.new_event_loop()  # nobody runs it
    statistics = Statistics()
    server = AdminServer("127.0.0.1", 0, statistics.copy, Metrics(version="1").render)
    try:
        server.start(loop)
        assert got(f"{server.url}/healthz") == (503, "the event loop has not answered for 0.05 s\n")
        loop.close()
        assert got(f"{server.url}/metrics") == (503, "the proxy is stopping\n")
    finally:
        server.close()


@rows("text", ["\udcff", "a\ud800b", 'x"} 1\ncorrigible_x{a="', "a\r\x85\u2028b", "\0\x1b[31m", "\\", "x" * 900])
@rows("name", ["operation", "reason", "error", "failure"])
def test_no_text_of_a_caller_breaks_the_page(text: str, name: str) -> None:
    statistics = Statistics()
    statistics.count_success("a", text, 200, 0.1)
    statistics.write(replace(REFUSED, **{name: text}))  # type: ignore[arg-type]  # of several types
    page = Metrics(version="1", serves=text).render(statistics).body.decode()
    assert [*read(page).statistics.summary()] == [*statistics.summary()]
    assert max(map(len, page.splitlines())) < 1000 and all(line.isprintable() for line in page.split("\n"))


def test_what_is_rendered_is_read_back() -> None:
    statistics = Statistics()
    statistics.failures[Named("a", 'connection refused\n"x" \\ (127.0.0.1:9)')] = 3
    statistics.count_success("a", "Op", 200, 0.1)
    statistics.write(REFUSED)
    statistics.reloads["done"] = 2
    scraped = read(Metrics(version="1", serves="a -> b").render(statistics).body.decode())
    assert (scraped.info["serves"], scraped.statistics.failures) == ("a -> b", statistics.failures)
    assert list(scraped.statistics.summary()) == list(statistics.summary())
    assert (scraped.statistics.refused, scraped.statistics.unchanged) == (statistics.refused, statistics.unchanged)
    assert scraped.statistics.corrections["a"].count == 1
    with pytest.raises(ValueError):
        read("up 1\n")
