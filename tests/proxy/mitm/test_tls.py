"""TLS on both sides of the mitmproxy front end, and HTTP/2 inside: whom it believes, what it shows, what it carries."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from h2.config import H2Configuration  # type: ignore[import-untyped]  # h2 4.1, which mitmproxy 11.0 pins
from h2.connection import H2Connection  # type: ignore[import-untyped]
from h2.events import RequestReceived  # type: ignore[import-untyped]

from corrigible.adapters.sandbox.certificate import Files, make_certificate
from corrigible.adapters.sandbox.server import free_port
from corrigible.proxy.access_log.statistics import Recorder
from corrigible.proxy.cli import main
from corrigible.proxy.http.api_routes import ApiRoute, Upstream
from corrigible.proxy.http.own_location import OwnLocation, Rewritten
from corrigible.proxy.tls_files import Identity, Trust, WrongFile
from tests._support.command import start
from tests._support.rows import rows
from tests._support.wire import received

PATIENCE = 10.0


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The upstream's certificate."""
    return make_certificate(tmp_path_factory.mktemp("theirs"))


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The proxy's certificate."""
    return make_certificate(tmp_path_factory.mktemp("ours"))


def identity(files: Files) -> Identity:
    return Identity(files.certificate, files.key)


def server_context(files: Files, *protocols: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    if protocols:
        context.set_alpn_protocols(protocols)
    return context


def client_context(files: Files, *protocols: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=files.authority)
    if protocols:
        context.set_alpn_protocols(protocols)
    return context


@contextmanager
def serving(context: ssl.SSLContext, handle: Callable[[ssl.SSLSocket], None]) -> Iterator[int]:
    """Serve each TLS connection in a thread of its own; yield the port."""
    listener = socket.create_server(("127.0.0.1", 0))
    opened: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def one(plain: socket.socket) -> None:
        with suppress(OSError, ValueError), context.wrap_socket(plain, server_side=True) as connection:
            opened.append(connection)
            handle(connection)

    def accept() -> None:
        with suppress(OSError):
            while True:
                plain, _ = listener.accept()
                opened.append(plain)
                threads.append(threading.Thread(target=one, args=(plain,)))
                threads[-1].start()

    acceptor = threading.Thread(target=accept)
    acceptor.start()
    try:
        yield listener.getsockname()[1]
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        acceptor.join(PATIENCE)
        for connection in opened:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        for thread in threads:
            thread.join(PATIENCE)


def head_of(connection: ssl.SSLSocket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            raise OSError("closed")
        data += more
    return data


OK = b"HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nok"
REFUSAL = b"HTTP/1.1 422 Unprocessable Entity\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


def http1(connection: ssl.SSLSocket) -> None:
    while True:
        target = head_of(connection).split(b" ")[1]
        connection.sendall(REFUSAL if target == b"/refused" else OK)


@pytest.fixture
def upstream(theirs: Files) -> Iterator[int]:
    """An HTTP/1.1 server with TLS, the port of it."""
    with serving(server_context(theirs, "http/1.1"), http1) as port:
        yield port


def ask(port: int, target: bytes = b"/", context: ssl.SSLContext | None = None) -> bytes:
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as plain:
        wire = context.wrap_socket(plain, server_hostname="127.0.0.1") if context is not None else plain
        wire.sendall(b"GET " + target + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        data = b""
        while more := wire.recv(65536):
            data += more
        wire.close()
        return data


class TestTheUpstream:
    def test_one_of_the_ca_file_is_believed_by_calls_and_look_ups(
        self, bench: Any, upstream: int, theirs: Files
    ) -> None:
        url = f"https://127.0.0.1:{upstream}"
        with bench.proxy(bench.Telling(ask="/look"), upstream=url, trust=Trust(theirs.authority)) as proxy:
            assert ask(proxy.port) == OK
            assert ask(proxy.port, b"/refused").endswith(b"X-Added: 1\r\n\r\n{} | 200 ok")

    def test_a_certificate_of_the_file_is_an_anchor_even_if_it_is_no_ca(
        self, bench: Any, upstream: int, theirs: Files
    ) -> None:
        url = f"https://127.0.0.1:{upstream}"
        with bench.proxy(bench.Telling(ask="/look"), upstream=url, trust=Trust(theirs.certificate)) as proxy:
            assert ask(proxy.port) == OK
            assert ask(proxy.port, b"/refused").endswith(b" | 200 ok")

    @pytest.mark.parametrize("which", ["another CA", "the usual ones"])
    def test_one_that_is_not_believed_gets_nothing(self, bench: Any, upstream: int, ours: Files, which: str) -> None:
        trust = Trust(ours.authority if which == "another CA" else None)
        with bench.proxy(bench.Silent(), upstream=f"https://127.0.0.1:{upstream}", trust=trust) as proxy:
            answer = ask(proxy.port)
        assert answer.startswith(b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain; charset=utf-8\r\n")
        body = answer.partition(b"\r\n\r\n")[2]
        assert body.startswith(b"corrigible: certificate verify failed: ")
        assert body.endswith(b"; --upstream-ca names the CA to trust\n")

    def test_the_name_counts(self, bench: Any, upstream: int, theirs: Files, monkeypatch: pytest.MonkeyPatch) -> None:
        url = f"https://127.0.0.2:{upstream}"
        listener = socket.create_server(("127.0.0.2", upstream))
        context = server_context(theirs)

        def serve() -> None:
            with suppress(OSError):
                context.wrap_socket(listener.accept()[0], server_side=True)

        thread = threading.Thread(target=serve)
        thread.start()
        with bench.proxy(bench.Silent(), upstream=url, trust=Trust(theirs.authority)) as proxy:
            assert b"certificate verify failed: ip address mismatch" in ask(proxy.port)
        listener.close()
        thread.join(PATIENCE)

    def test_insecure_believes_anybody_in_calls_and_look_ups(self, bench: Any, upstream: int) -> None:
        url = f"https://127.0.0.1:{upstream}"
        with bench.proxy(bench.Telling(ask="/look"), upstream=url, trust=Trust(insecure=True)) as proxy:
            assert ask(proxy.port) == OK
            assert ask(proxy.port, b"/refused").endswith(b" | 200 ok")

    def test_it_sees_our_certificate_in_calls_and_look_ups(
        self, bench: Any, theirs: Files, ours: Files, tmp_path: Path
    ) -> None:
        context = server_context(theirs)
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(ours.authority)
        both = tmp_path / "both.pem"
        both.write_bytes(ours.certificate.read_bytes() + ours.key.read_bytes())
        trust = Trust(theirs.authority, certificate=both)
        trust.check()
        with (
            serving(context, http1) as port,
            bench.proxy(bench.Telling(ask="/look"), upstream=f"https://127.0.0.1:{port}", trust=trust) as proxy,
        ):
            assert ask(proxy.port) == OK
            assert ask(proxy.port, b"/refused").endswith(b" | 200 ok")


class TestTheClient:
    def test_with_tls_it_sees_our_certificate_and_without_it_is_served_too(
        self, bench: Any, upstream: int, theirs: Files, ours: Files
    ) -> None:
        settings = {"trust": Trust(theirs.authority), "identity": identity(ours)}
        with bench.proxy(bench.Telling(), upstream=f"https://127.0.0.1:{upstream}", **settings) as proxy:
            assert ask(proxy.port, context=client_context(ours)) == OK
            assert ask(proxy.port, b"/refused", context=client_context(ours)).endswith(b"{} | 0 ")
            assert ask(proxy.port) == OK

    def test_in_front_of_http(self, bench: Any, ours: Files) -> None:
        with (
            bench.upstream({"/": OK}) as upstream,
            bench.proxy(bench.Silent(), upstream=f"http://127.0.0.1:{upstream.port}", identity=identity(ours)) as proxy,
        ):
            assert ask(proxy.port, context=client_context(ours)) == OK

    @pytest.mark.parametrize(("known", "chosen"), [(("h2", "http/1.1"), "h2"), (("http/1.1",), "http/1.1"), ((), None)])
    def test_it_is_offered_the_http_that_the_upstream_speaks(
        self, bench: Any, theirs: Files, ours: Files, known: tuple[str, ...], chosen: str | None
    ) -> None:
        settings = {"trust": Trust(theirs.authority), "identity": identity(ours)}

        def wait(connection: ssl.SSLSocket) -> None:
            connection.recv(1)

        with (
            serving(server_context(theirs, *known), wait) as port,
            bench.proxy(bench.Silent(), upstream=f"https://127.0.0.1:{port}", **settings) as proxy,
            socket.create_connection(("127.0.0.1", proxy.port), PATIENCE) as plain,
            client_context(ours, "h2", "http/1.1").wrap_socket(plain, server_hostname="127.0.0.1") as wire,
        ):
            assert wire.selected_alpn_protocol() == (chosen or "http/1.1")

    def test_in_front_of_http_it_is_offered_http1(self, bench: Any, ours: Files) -> None:
        with (
            bench.upstream({}) as upstream,
            bench.proxy(bench.Silent(), upstream=f"http://127.0.0.1:{upstream.port}", identity=identity(ours)) as proxy,
            socket.create_connection(("127.0.0.1", proxy.port), PATIENCE) as plain,
            client_context(ours, "h2", "http/1.1").wrap_socket(plain, server_hostname="127.0.0.1") as wire,
        ):
            assert wire.selected_alpn_protocol() == "http/1.1"

    def test_an_upgraded_connection_is_bytes_both_ways(self, bench: Any, theirs: Files, ours: Files) -> None:
        """What `kubectl exec` needs."""

        def upgrade(connection: ssl.SSLSocket) -> None:
            assert b"Upgrade: SPDY/3.1" in head_of(connection)
            connection.sendall(
                b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n\x80\3"
            )
            while data := connection.recv(65536):
                connection.sendall(data[::-1])

        settings = {"trust": Trust(theirs.authority), "identity": identity(ours)}
        with (
            serving(server_context(theirs, "http/1.1"), upgrade) as port,
            bench.proxy(bench.Silent(), upstream=f"https://127.0.0.1:{port}", **settings) as proxy,
            socket.create_connection(("127.0.0.1", proxy.port), PATIENCE) as plain,
            client_context(ours, "http/1.1").wrap_socket(plain, server_hostname="127.0.0.1") as wire,
        ):
            wire.sendall(b"POST /exec HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
            data = b""
            while not data.endswith(b"\x80\3"):
                data += received(wire)
            assert data.startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
            wire.sendall(b"\0\1\2")
            assert wire.recv(65536) == b"\2\1\0"


class Http2Upstream:
    """Answers HTTP/2 from a script: `handle` is told of each request and of what came before."""

    def __init__(self, handle: Callable[[Http2Upstream, H2Connection, int, str], None]) -> None:
        self._handle = handle
        self.connections = 0

    def __call__(self, connection: ssl.SSLSocket) -> None:
        self.connections += 1
        http2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        http2.initiate_connection()
        connection.sendall(http2.data_to_send())
        while data := connection.recv(65536):
            for event in http2.receive_data(data):
                if isinstance(event, RequestReceived):
                    self._handle(self, http2, event.stream_id, dict(event.headers)[":path"])
            connection.sendall(http2.data_to_send())


def whole(http2: H2Connection, stream: int, body: bytes, status: str = "200") -> None:
    http2.send_headers(stream, [(":status", status), ("content-type", "application/json")])
    http2.send_data(stream, body, end_stream=True)


@contextmanager
def http2_client(port: int, files: Files) -> Iterator[httpx.Client]:
    context = client_context(files)
    with httpx.Client(http2=True, http1=False, verify=context, base_url=f"https://127.0.0.1:{port}", timeout=10) as one:
        yield one


async def at_once(port: int, files: Files, paths: list[str]) -> list[httpx.Response]:
    """Ask for all of these on one connection. (The client of httpx for threads mixes up its streams.)"""
    url, context = f"https://127.0.0.1:{port}", client_context(files)
    async with httpx.AsyncClient(http2=True, http1=False, verify=context, base_url=url, timeout=30) as client:
        return await asyncio.gather(*map(client.get, paths))


class TestHttp2:
    def test_successes_pass_and_refusals_are_corrected(self, bench: Any, theirs: Files, ours: Files) -> None:
        def handle(server: Http2Upstream, http2: H2Connection, stream: int, path: str) -> None:
            whole(http2, stream, b"{ }", "422" if path == "/refused" else "200")

        upstream = Http2Upstream(handle)
        settings = {"trust": Trust(theirs.authority), "identity": identity(ours)}
        with (
            serving(server_context(theirs, "h2"), upstream) as port,
            bench.proxy(bench.Telling(), upstream=f"https://127.0.0.1:{port}", **settings) as proxy,
            http2_client(proxy.port, ours) as client,
        ):
            for _ in range(12):  # more than the connections that mitmproxy opens to one place
                answer = client.get("/")
                assert (answer.http_version, answer.status_code, answer.content) == ("HTTP/2", 200, b"{ }")
            refused = client.get("/refused")
            assert (refused.status_code, refused.headers["x-added"], refused.content) == (422, "1", b"{ } | 0 ")
        assert upstream.connections == 1

    def test_several_apis_share_a_connection(self, bench: Any, theirs: Files, ours: Files) -> None:
        """One speaks HTTP/2, one HTTP/1.1 with TLS, one without; each request says which is meant."""

        def handle(server: Http2Upstream, http2: H2Connection, stream: int, path: str) -> None:
            whole(http2, stream, b"new " + path.encode(), "422" if path == "/refused" else "200")

        new = Http2Upstream(handle)
        plain = bench.message(b"422 No", b"Content-Type: application/json\r\n", b"plain")
        telling = bench.Telling()
        with (
            serving(server_context(theirs, "h2"), new) as new_port,
            serving(server_context(theirs, "http/1.1"), http1) as old_port,
            bench.upstream({"/": bench.message(b"200 OK", b"", b"plain"), "/refused": plain}) as third,
        ):
            places = {
                "/new": f"https://127.0.0.1:{new_port}",
                "/old": f"https://127.0.0.1:{old_port}",
                "/plain": f"http://127.0.0.1:{third.port}",
            }
            apis = [
                ApiRoute(telling, prefix, OwnLocation(url, Rewritten.REDIRECTS), Upstream.parse(url), prefix=prefix)
                for prefix, url in places.items()
            ]
            settings = {"trust": Trust(theirs.authority), "identity": identity(ours), "apis": apis}
            routed = {"is_routed": True, "is_secure": True, "upstream": places["/new"]}
            with bench.proxy(telling, **settings, **routed) as proxy, http2_client(proxy.port, ours) as client:
                for _ in range(12):
                    answers = [client.get(f"{prefix}/") for prefix in places]
                    assert {one.http_version for one in answers} == {"HTTP/2"}
                    assert [one.content for one in answers] == [b"new /", b"ok", b"plain"]
                refused = [client.get(f"{prefix}/refused") for prefix in places]
                assert [one.status_code for one in refused] == [422, 422, 422]
                assert [one.headers["x-added"] for one in refused] == ["1", "1", "1"]
                together = asyncio.run(at_once(proxy.port, ours, [f"{prefix}/" for prefix in places] * 20))
                assert [one.content for one in together] == [b"new /", b"ok", b"plain"] * 20
        assert new.connections == 2
        assert all(f"host: 127.0.0.1:{third.port}".encode() in one.lower() for one in third.requests)

    def test_the_page_about_an_api_that_is_down_has_its_name(self, bench: Any, theirs: Files, ours: Files) -> None:
        port = free_port()
        with bench.upstream({"/": lambda connection: connection.close()}) as closing:
            places = {"billing": f"https://127.0.0.1:{port}", "code": f"http://127.0.0.1:{closing.port}"}
            apis = [
                ApiRoute(bench.Silent(), name, None, Upstream.parse(url), prefix=f"/{name}", name=name, label=name)
                for name, url in places.items()
            ]
            recorder = Recorder()
            settings = {"apis": apis, "is_routed": True, "is_secure": True, "upstream": places["billing"]}
            with bench.proxy(bench.Silent(), identity=identity(ours), recorder=recorder, **settings) as proxy:
                with http2_client(proxy.port, ours) as client:
                    pages = [client.get(f"/{name}/") for name in places]
                with httpx.Client(verify=client_context(ours, "http/1.1"), timeout=10) as client:
                    pages += [client.get(f"https://127.0.0.1:{proxy.port}/{name}/") for name in (*places, "none")]
        refused = "corrigible: billing: no connection to the upstream: connection refused\n"
        closed = "corrigible: code: the upstream closed the connection without an answer\n"
        assert [page.text for page in pages[:4]] == [refused, closed] * 2
        assert [page.status_code for page in pages] == [502] * 4 + [404]
        assert {(group.api, times.count) for group, times in recorder.statistics.groups.items()} == {
            ("billing", 2),
            ("code", 2),
            ("", 1),
        }

    def test_several_apis_without_tls_are_offered_http1(self, bench: Any, ours: Files) -> None:
        with bench.upstream({"/": OK}) as upstream:
            url = f"http://127.0.0.1:{upstream.port}"
            apis = [ApiRoute(bench.Silent(), "a", None, Upstream.parse(url), prefix="/a")]
            settings = {"identity": identity(ours), "apis": apis, "is_routed": True, "upstream": url}
            with (
                bench.proxy(bench.Silent(), **settings) as proxy,
                socket.create_connection(("127.0.0.1", proxy.port), PATIENCE) as plain,
                client_context(ours, "h2", "http/1.1").wrap_socket(plain, server_hostname="127.0.0.1") as wire,
            ):
                assert wire.selected_alpn_protocol() == "http/1.1"

    def test_no_upstream_is_one_line_of_text(self, bench: Any, ours: Files) -> None:
        port = free_port()
        with (
            bench.proxy(bench.Silent(), upstream=f"https://127.0.0.1:{port}", identity=identity(ours)) as proxy,
            http2_client(proxy.port, ours) as client,
        ):
            answer = client.get("/")
        assert (answer.status_code, answer.headers["content-type"]) == (502, "text/plain; charset=utf-8")
        assert answer.text.startswith("corrigible: no connection to the upstream: ")
        assert answer.text.count("\n") == 1

    def test_what_is_under_way_outlives_a_polite_goodbye(self, bench: Any, theirs: Files, ours: Files) -> None:
        said: list[int] = []

        def handle(server: Http2Upstream, http2: H2Connection, stream: int, path: str) -> None:
            if path == "/bye":
                http2.send_headers(stream, [(":status", "200")])
                http2.send_data(stream, b"before, ")
                goodbye = b"\0\0\x08\x07\0\0\0\0\0" + stream.to_bytes(4, "big") + b"\0\0\0\0"
                http2._data_to_send += goodbye  # it would say no more after its own
                http2.send_data(stream, b"after", end_stream=True)
            else:
                said.append(server.connections)
                whole(http2, stream, b"elsewhere")

        upstream = Http2Upstream(handle)
        settings = {"trust": Trust(theirs.authority), "identity": identity(ours)}
        with (
            serving(server_context(theirs, "h2"), upstream) as port,
            bench.proxy(bench.Silent(), upstream=f"https://127.0.0.1:{port}", **settings) as proxy,
            http2_client(proxy.port, ours) as client,
        ):
            assert client.get("/bye").content == b"before, after"
            assert client.get("/next").content == b"elsewhere"
            assert client.get("/last").content == b"elsewhere"
        assert (upstream.connections, said) == (2, [2, 2])

    def test_what_the_upstream_will_not_look_at_is_handed_back_as_such(
        self, bench: Any, theirs: Files, ours: Files
    ) -> None:
        def handle(server: Http2Upstream, http2: H2Connection, stream: int, path: str) -> None:
            http2._data_to_send += b"\0\0\x08\x07\0\0\0\0\0" + bytes(4) + b"\0\0\0\0"  # nothing has been looked at

        settings = {"trust": Trust(theirs.authority), "identity": identity(ours)}
        with (
            serving(server_context(theirs, "h2"), Http2Upstream(handle)) as port,
            bench.proxy(bench.Silent(), upstream=f"https://127.0.0.1:{port}", **settings) as proxy,
            http2_client(proxy.port, ours) as client,
            pytest.raises(httpx.RemoteProtocolError, match="error_code:7"),  # REFUSED_STREAM: safe to send again
        ):
            client.get("/")


@rows(
    ("words", "complaint"),
    [
        (["--upstream-ca", "a", "--upstream-insecure"], "--upstream-ca and --upstream-insecure: use only one of them"),
        (["--relay-key", "/nonexistent/key"], "--relay-key /nonexistent/key: no such file or directory"),
        (["--tls-key", "a"], "--tls-key needs --tls-cert"),
        (["--upstream-ca", "nowhere"], "--upstream-ca nowhere: no such file or directory"),
        (["--tls-cert", "nowhere"], "--tls-cert nowhere: no such file or directory"),
        (
            ["--upstream", "http://127.0.0.1:9", "--upstream-insecure"],
            "--upstream-insecure cannot be used with --upstream http://127.0.0.1:9: it needs TLS",
        ),
        (
            ["--upstream", "http://127.0.0.1:9", "--upstream-cert", "a"],
            "--upstream-cert cannot be used with --upstream http://127.0.0.1:9: it needs TLS",
        ),
    ],
)
def test_options_that_make_no_sense_are_one_line_and_status_2(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream = [] if "--upstream" in words else ["--upstream", "https://127.0.0.1:9"]
    assert main(["proxy", *upstream, "--pack", "stripe", *words]) == 2
    assert capsys.readouterr() == ("", f"corrigible proxy: {complaint}\n")


def test_regular_mode_makes_its_own_certificates(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["proxy", "--engine-mode", "regular", "--pack", "stripe", "--tls-cert", "a"]) == 2
    said = "corrigible proxy: --tls-cert cannot be used with --engine-mode regular\n"
    assert capsys.readouterr() == ("", said)


def test_the_command_says_https_and_that_it_does_not_check(theirs: Files, ours: Files) -> None:
    with serving(server_context(theirs), http1) as port:
        tls = ["--tls-cert", str(ours.certificate), "--tls-key", str(ours.key), "--upstream-insecure"]
        words = ["--upstream", f"https://127.0.0.1:{port}", "--pack", "stripe", "--listen", "127.0.0.1:0", *tls]
        words += ["--engine", "mitmproxy"]
        with start(
            ["corrigible", "proxy", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            found = re.match(r"corrigible: https://127\.0\.0\.1:(\d+) -> ", process.stdout.readline())
            assert found is not None
            answers = [ask(int(found[1]), context=client_context(ours)) for _ in range(2)]
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=240)
    assert answers == [OK, OK]
    assert err.splitlines() == [
        "corrigible proxy: starting",
        "corrigible proxy: --upstream-insecure: the API's certificate is not verified",
        "corrigible proxy: 2 requests, 0 refusals",
    ]
    assert process.returncode == 0


@rows(
    ("option", "content", "said"),
    [
        ("--upstream-ca", None, "no such file or directory"),
        ("--upstream-ca", "nothing", "no PEM certificate in it"),
        ("--upstream-cert", "nothing", "no PEM certificate in it"),
        ("--upstream-cert", "certificate", "no PEM key without a password in it"),
        ("--tls-cert", None, "no such file or directory"),
        ("--tls-cert", "key", "no PEM certificate in it"),
        ("--tls-cert", "certificate", "no PEM key without a password in it"),
        ("--tls-key", None, "no such file or directory"),
        ("--tls-key", "certificate", "no PEM key without a password in it"),
        ("--tls-key", "another key", "not the key of that certificate"),
    ],
)
def test_a_missing_or_wrong_file_is_one_line_that_names_the_option(
    tmp_path: Path, theirs: Files, ours: Files, option: str, content: str | None, said: str
) -> None:
    file = tmp_path / "file.pem"
    contents = {"certificate": ours.certificate, "key": ours.key, "another key": theirs.key}
    if content is not None:
        file.write_bytes(contents[content].read_bytes() if content in contents else b"nothing")
    checks: dict[str, Callable[[], None]] = {
        "--upstream-ca": Trust(file).check,
        "--upstream-cert": Trust(certificate=file).check,
        "--tls-cert": Identity(file).check,
        "--tls-key": Identity(ours.certificate, file).check,
    }
    with pytest.raises(WrongFile) as caught:
        checks[option]()
    assert str(caught.value) == f"{option} {file}: {said}"
