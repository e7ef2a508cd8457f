"""Each process of the Envoy engine dies or stands still in each phase: no call is lost, all recovers."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import MagicMock

import pytest

from corrigible.proxy.envoy.correctors import _Replica
from corrigible.proxy.runtime.fork_server import ForkServer
from tests._support.command import start
from tests._support.envoy_command import (
    CORRECTOR,
    FORKS,
    JSON,
    KEEPER,
    PATIENCE,
    REFUSED,
    VICTIMS,
    called,
    children,
    corrector_of,
    envoy_of,
    eventually,
    folder_of,
    forker,
    is_alive,
    is_corrected,
    is_dead,
    is_killed,
    keeper,
    names,
    started,
)
from tests._support.envoy_proxy import EnvoyBench as Bench

RULE = "match: {code: bad}\nsuggest: [{action: MODIFY_PARAMS, message: m, parameters: {a: 1}}]\n"
OK = Bench.message(b"200 OK", JSON, b"{}")


@pytest.fixture
def upstream() -> Iterator[Any]:
    with Bench.upstream({"/ok": OK, "/bad": REFUSED}) as running:
        yield running


@pytest.fixture
def rules(write_pack: Any) -> str:
    return str(write_pack(x=RULE))


@contextmanager
def under_load(port: int) -> Iterator[None]:
    """Make calls meanwhile. Each success is the API's, and each refusal the API's own or a corrected one."""
    over, wrong, done = threading.Event(), list[bytes](), Counter[str]()

    def call() -> None:
        while not over.is_set():
            for path, native in (("/ok", OK), ("/bad", REFUSED)):
                answer = Bench.ask(port, path, "POST", b'{"a":2}', JSON)
                is_right = Bench.seen(answer) == Bench.seen(native)
                if not is_right and not (path == "/bad" and b"recovery_feedback" in answer):
                    wrong.append(answer)
                done[path] += 1

    callers = [threading.Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    try:
        yield
    finally:
        over.set()
        for caller in callers:
            caller.join(PATIENCE)
    assert not wrong
    assert min(done["/ok"], done["/bad"]) > 10


@pytest.mark.parametrize("is_loaded", [False, True])
def test_the_death_of_each_is_recovered_and_nothing_stays(upstream: Any, rules: str, is_loaded: bool) -> None:
    with started(upstream.port, "--pack", rules, "--correctors", "2") as (process, port):
        assert is_corrected(port)
        folder, before = folder_of(process.pid), names(process.pid)
        assert before[FORKS] == 2 and before[CORRECTOR] == 2 and before[KEEPER] == 1

        def kill_all() -> None:
            for victim_of in VICTIMS:
                victim = victim_of(process.pid)
                os.kill(victim, signal.SIGKILL)
                eventually(partial(is_dead, victim))
                eventually(lambda: names(process.pid) == before and is_corrected(port))

        if is_loaded:
            with under_load(port):
                kill_all()
        else:
            kill_all()
        below = children(process.pid)
        process.kill()
        process.wait(PATIENCE)
        eventually(lambda: not [pid for pid in below if is_alive(pid)])
        eventually(lambda: not folder.exists())


def test_deaths_during_the_start_do_not_end_it(
    upstream: Any, rules: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is ended as soon as it is there is there again when the proxy is."""
    with TemporaryDirectory(prefix="c") as name:  # a short name: sockets are in it
        monkeypatch.setenv("TMPDIR", name)
        target = ("--upstream", f"http://127.0.0.1:{upstream.port}", "--listen", "127.0.0.1:0", "--pack", rules)
        command = ["corrigible", "proxy", *target, "--engine", "envoy"]
        with start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                for victim_of in (keeper, lambda pid: called(pid, FORKS)[0], corrector_of):
                    eventually(partial(is_killed, process.pid, victim_of))
                assert process.stdout is not None and process.stderr is not None
                line = process.stdout.readline()
                assert line.startswith("corrigible: http://127.0.0.1:"), line + process.stderr.read()
                port = int(line.split()[1].rpartition(":")[2])
                eventually(lambda: is_corrected(port))
                eventually(lambda: names(process.pid) == {KEEPER: 1, FORKS: 2, CORRECTOR: 1, "envoy": 1})
                process.terminate()
                assert process.wait(PATIENCE) == 0
                assert not list(Path(name).iterdir())
            finally:
                process.kill()


def test_deaths_while_it_stops_cut_nothing_off(upstream: Any, rules: str) -> None:
    asked, answers = threading.Event(), threading.Event()

    def late(connection: socket.socket) -> None:
        asked.set()
        answers.wait(PATIENCE)
        connection.sendall(OK)

    upstream.answers["/late"] = late
    with started(upstream.port, "--pack", rules) as (process, port):
        wire = Bench.Wire(port)
        wire.send(b"GET /late HTTP/1.1\r\nHost: x\r\n\r\n")
        assert asked.wait(PATIENCE)
        folder, below = folder_of(process.pid), children(process.pid)
        process.terminate()
        for victim_of in (corrector_of, forker, keeper):
            eventually(partial(is_killed, process.pid, victim_of))
        answers.set()
        assert wire.until(lambda got: got.endswith(b"{}")).startswith(b"HTTP/1.1 200")
        wire.close()
        assert process.wait(PATIENCE) == 0
        eventually(lambda: not [pid for pid in below if is_alive(pid)])
        assert not folder.exists()


def test_one_that_ends_before_it_reads_its_orders_is_missed() -> None:
    """The system says that the connection was reset, each time somebody reads: whoever watches has to go on."""

    async def watched() -> bool:
        ours, its = socket.socketpair()
        replica = _Replica(MagicMock(spec=ForkServer), "unix:/nowhere")
        replica._streams = reader, writer = await asyncio.open_unix_connection(sock=ours)
        writer.write(b"orders")
        await writer.drain()
        its.close()
        with pytest.raises(ConnectionResetError):
            await reader.read(1)
        replica.is_ready = True
        await replica.ended()
        return replica.is_ready

    assert asyncio.run(watched()) is False


def test_a_corrector_that_stands_still_is_replaced(upstream: Any, rules: str) -> None:
    with started(upstream.port, "--pack", rules, "--time-limit", "0.5") as (process, port):
        os.kill(corrector_of(process.pid), signal.SIGSTOP)
        assert Bench.seen(Bench.ask(port, "/bad", "POST", b'{"a":2}', JSON)) == Bench.seen(REFUSED)
        assert Bench.ask(port, "/ok").endswith(b"\r\n\r\n{}")
        eventually(lambda: is_corrected(port))
        process.terminate()
        assert process.wait(PATIENCE) == 0
        said = process.stderr.read() if process.stderr else ""
    assert "no corrector answered in time" in said and said.count("a corrector stands still, and is ended") == 1


def test_calls_wait_for_an_envoy_that_stands_still(upstream: Any, rules: str) -> None:
    with started(upstream.port, "--pack", rules) as (process, port):
        envoy, answers = envoy_of(process.pid), list[bytes]()
        os.kill(envoy, signal.SIGSTOP)
        callers = [
            threading.Thread(target=lambda path=path: answers.append(Bench.ask(port, path, "POST", b'{"a":2}', JSON)))
            for path in ("/ok", "/bad") * 3
        ]
        for caller in callers:
            caller.start()
        time.sleep(3)  # the command looks at Envoy's counters meanwhile
        assert not answers
        os.kill(envoy, signal.SIGCONT)
        for caller in callers:
            caller.join(PATIENCE)
        assert sorted(b"recovery_feedback" in answer for answer in answers) == [False] * 3 + [True] * 3
        process.terminate()
        assert process.wait(PATIENCE) == 0
