"""Who may connect to the mitmproxy front end, for how long, and where to."""

from __future__ import annotations

import re
import select
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests._support.rows import rows

OK = b"HTTP/1.1 200 OK\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nok"
GET = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"


def test_a_connection_that_asks_for_nothing_is_closed(bench: Any) -> None:
    with (
        bench.upstream({"/x": OK}) as upstream,
        bench.proxy(bench.Silent(), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        silent, asking = bench.Wire(proxy.port), bench.Wire(proxy.port)
        asking.send(GET)
        asking.until(lambda got: got == OK)
        proxy.later(61)
        assert silent.rest() == b""
        asking.send(GET)
        asking.until(lambda got: got == OK * 2)
        silent.close()
        asking.close()


def test_a_head_that_drips_is_given_up(limited: Any) -> None:
    engine, limits, passes = limited
    with (
        engine.upstream({"/x": OK}) as upstream,
        engine.proxy(
            engine.Silent(), upstream=f"http://127.0.0.1:{upstream.port}", timeouts=replace(limits, idle=0.0)
        ) as proxy,
    ):
        wire = engine.Wire(proxy.port)
        wire.send(GET[:9])
        wire.send(GET[9:])
        wire.until(lambda got: got.endswith(b"\r\n\r\nok"))
        answered = len(wire.received)
        stop = threading.Event()

        def drip() -> None:
            while not stop.wait(0.05):
                try:
                    wire.send(b"G")
                except OSError:
                    return

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            while not select.select([wire.socket], [], [], 0.5)[0]:
                passes(proxy)
            wire.until(lambda got: re.search(rb"corrigible: the (head of the )?request took too long\n\Z", got))
        finally:
            stop.set()
            dripping.join()
            wire.close()
    assert wire.received[answered:].startswith(b"HTTP/1.1 408 Request Time")


def test_what_is_sent_ahead_waits_outside(bench: Any) -> None:
    """Megabytes of further requests are not read before there is an answer to the first."""
    asked, release = threading.Event(), threading.Event()

    def slow(connection: socket.socket) -> None:
        asked.set()
        assert release.wait(bench.patience)
        connection.sendall(OK)

    ahead = GET * 800_000
    with (
        bench.upstream({"/x": slow}) as upstream,
        bench.proxy(bench.Silent(), upstream=f"http://127.0.0.1:{upstream.port}") as proxy,
    ):
        wire = bench.Wire(proxy.port)
        wire.send(GET)
        assert asked.wait(bench.patience)
        wire.socket.settimeout(0.5)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < len(ahead):
                sent += wire.socket.send(ahead[sent : sent + 65536])
        assert sent < len(ahead) // 2  # the buffers of the system take up to 7 MB
        release.set()
        wire.socket.settimeout(bench.patience)
        wire.until(lambda got: got.startswith(OK * 3))
        wire.close()


@pytest.mark.parametrize("number", [120])
def test_idle_connections_make_room(bench: Any, number: int) -> None:
    """A process that may open 100 files serves on, whoever sits on its connections; and says so."""
    with bench.upstream({"/x": OK}) as upstream:
        # By a shell: between fork and exec of a process with threads Python code may hang or die.
        few = ["sh", "-c", 'ulimit -Sn 64 && ulimit -Hn 100 && exec "$@"', "sh"]
        command = [str(Path(sys.executable).parent / "corrigible"), "proxy", "--engine", "mitmproxy"]
        command += ["--upstream", f"http://127.0.0.1:{upstream.port}", "--pack", "http", "--listen", "127.0.0.1:0"]
        process = subprocess.Popen([*few, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wires = []
        try:
            assert process.stdout is not None and process.stderr is not None
            port = int(process.stdout.readline().split()[1].rpartition(":")[2])
            for _ in range(number):
                wires.append(bench.Wire(port))
            last = bench.Wire(port)
            wires.append(last)
            last.send(GET)
            last.until(lambda got: got == OK)
            assert wires[0].rest() == b""  # the oldest had to go
        finally:
            process.send_signal(signal.SIGTERM)
            said = process.communicate(timeout=bench.patience)[1]
            for wire in wires:
                wire.close()
    assert "connections or file descriptors run short" in said and "idle connections closed" in said


OWN_NAMES = ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0", "localhost", "127.0.0.1"]


@rows("tunnel", [False, True], ids=["absolute", "CONNECT"])
@rows("name", OWN_NAMES)
def test_regular_mode_never_reaches_itself_under_any_name(bench: Any, regular: Any, name: str, tunnel: bool) -> None:
    wire = bench.Wire(regular.port)
    place = b"%s:%d" % (name.encode(), regular.port)
    target = b"CONNECT " + place if tunnel else b"GET http://%s/x" % place
    wire.send(target + b" HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % place)
    got = wire.until(lambda got: got.endswith(b"\n") and b"\r\n\r\ncorrigible" in got)
    wire.close()
    assert got.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
    assert got.endswith(b"this proxy is its own upstream\n")
    assert got.count(b"\n", got.index(b"\r\n\r\n") + 4) == 1


@pytest.fixture(scope="module")
def regular(bench: Any) -> Any:
    with bench.proxy(bench.none(), engine_mode="regular") as proxy:
        yield proxy


@rows(
    ("mode", "client", "blocked"),
    [
        ("regular", "8.8.8.8", True),
        ("regular", "2001:4860:4860::8888", True),
        ("regular", "::ffff:8.8.8.8", True),
        ("regular", "10.0.0.1", False),
        ("regular", "127.0.0.1", False),
        ("transparent", "8.8.8.8", True),
        ("reverse", "8.8.8.8", False),
    ],
)
def test_a_proxy_to_everywhere_is_not_for_everybody(bench: Any, mode: Any, client: str, blocked: bool) -> None:
    import asyncio

    from mitmproxy.addonmanager import traverse
    from mitmproxy.connection import Client
    from mitmproxy.proxy.mode_specs import ProxyMode
    from mitmproxy.proxy.server_hooks import ClientConnectedHook

    from corrigible.proxy.access_log.statistics import Recorder
    from corrigible.proxy.http.api_routes import ApiRoute, ApiRoutes
    from corrigible.proxy.http.lookup_client import LookupClient
    from corrigible.proxy.mitm.addon import CorrectionAddon
    from corrigible.proxy.mitm.connection import HookTable
    from corrigible.proxy.mitm.server import Settings, _master

    async def connected() -> Client:
        settings = Settings(
            "127.0.0.1", 0, upstream="http://127.0.0.1:1" if mode == "reverse" else None, engine_mode=mode
        )
        master = _master(settings, CorrectionAddon(ApiRoutes([ApiRoute(bench.none())]), LookupClient(), Recorder()))
        peer = Client(
            peername=(client, 1),
            sockname=("127.0.0.1", 2),
            timestamp_start=0,
            proxy_mode=ProxyMode.parse(settings.spec),
        )
        HookTable(traverse(master.addons.chain))(ClientConnectedHook(peer))  # type: ignore[no-untyped-call]
        await master.done()
        return peer

    assert (asyncio.run(connected()).error is not None) is blocked
