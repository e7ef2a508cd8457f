"""`corrigible proxy --engine envoy` as a user starts, breaks and stops it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from corrigible.proxy.envoy.process import KEEPING
from tests._support.command import run, start
from tests._support.envoy_command import (
    JSON,
    PATIENCE,
    REFUSED,
    STARTING,
    children,
    corrector_of,
    envoy_of,
    eventually,
    folder_of,
    is_alive,
    is_corrected,
    started,
)
from tests._support.envoy_proxy import EnvoyBench as Bench
from tests._support.http2_frames import GOAWAY
from tests._support.http2_frames import two as two

RULE = "match: {code: bad}\nsuggest: [{action: MODIFY_PARAMS, message: m, parameters: {a: 1}}]\n"
ANSWERS: dict[str, Any] = {
    "/ok": Bench.message(b"200 OK", JSON, b"{}"),
    "/bad": REFUSED,
    "/xml": Bench.message(b"400 Bad Request", b"Content-Type: application/xml\r\n", b"<e><code>bad</code></e>"),
    "/gone": lambda connection: connection.close(),
}


@pytest.fixture
def upstream() -> Iterator[Any]:
    with Bench.upstream(dict(ANSWERS)) as running:
        yield running


def test_it_corrects_tells_and_stops_with_nothing_left(upstream: Any, write_pack: Any, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with started(upstream.port, "--pack", str(write_pack(x=RULE)), "--log", str(log)) as (process, port):
        folder, below = folder_of(process.pid), children(process.pid)
        assert folder.stat().st_mode & 0o077 == 0
        assert is_corrected(port)
        assert Bench.ask(port, "/ok").endswith(b"{}")
        assert Bench.ask(port, "/gone").startswith(b"HTTP/1.1 502")
        envoy = Path(f"/proc/{envoy_of(process.pid)}")
        resident = int((envoy / "statm").read_text().split()[2]) * os.sysconf("SC_PAGESIZE")  # of files
        assert resident < (envoy / "exe").stat().st_size / 3, "what its start has used of the binary is given back"
        process.terminate()
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        said = process.stderr.read()
    assert re.search(r"400 POST /bad corrected: MODIFY_PARAMS, to be confirmed \(apex\.x\) \[", said)
    assert "3 requests, 1 refusal: 1 corrected" in said
    assert "without an answer from the API: 1 x the upstream closed the connection without an answer" in said
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["path"], line["status"], line["outcome"]) for line in lines] == [
        ("/bad", 400, "annotated"),
        ("/ok", 200, "untouched"),
        ("/gone", None, "failed"),
    ]
    assert lines[0]["rules"] == ["apex.x"] and lines[0]["actions"] == ["MODIFY_PARAMS"]
    assert not folder.exists()
    eventually(lambda: not [pid for pid in below if is_alive(pid)])


def test_successes_are_counted_without_a_log(upstream: Any) -> None:
    with started(upstream.port, "--pack", "http") as (process, port):
        for _ in range(5):
            Bench.ask(port, "/ok")
        Bench.ask(port, "/bad")
        process.terminate()
        assert process.wait(PATIENCE) == 0
        assert "6 requests, 1 refusal" in (process.stderr.read() if process.stderr else "")


@pytest.mark.parametrize("is_logged", [False, True])
def test_its_metrics_are_those_of_the_other_engine(upstream: Any, tmp_path: Path, is_logged: bool) -> None:
    """What Envoy counts itself, and what it logs, is each counted once."""
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"

    def breaks_off(connection: socket.socket) -> None:
        connection.sendall(whole)
        connection.shutdown(socket.SHUT_RDWR)

    upstream.answers |= {"/moved": Bench.message(b"302 Found", b"Location: /ok\r\n", b""), "/broken": breaks_off}
    words = ["--pack", "http", "--admin", "127.0.0.1:0", *(["--log", str(tmp_path / "log")] if is_logged else [])]
    with started(upstream.port, *words) as (process, port):
        assert process.stderr is not None
        assert process.stderr.readline() == STARTING
        found = re.search(r"http://\S+", process.stderr.readline())
        assert found is not None
        for path in ("/ok", "/ok", "/moved", "/broken", "/bad", "/gone"):
            Bench.ask(port, path)
        expected = {("2xx", "success"): 2, ("3xx", "success"): 1, ("4xx", "unchanged"): 1, ("5xx", "failed"): 1}

        def numbers(metric: str) -> dict[tuple[str, str], float]:
            families = text_string_to_metric_families(httpx.get(f"{found[0]}/metrics", timeout=PATIENCE).text)
            samples = [one for family in families for one in family.samples if one.name == metric]
            assert {(one.labels["api"], one.labels["operation"]) for one in samples} <= {("http", "")}
            return {(one.labels["status_class"], one.labels["verdict"]): one.value for one in samples}

        def is_complete() -> bool:
            counts = numbers("corrigible_requests_total")
            broken = sum(counts.pop((name, verdict), 0) for name in ("2xx", "none") for verdict in ("failed", "gone"))
            return counts == expected and broken == 1

        eventually(is_complete)
        # Envoy brings durations up to date every five seconds.
        eventually(lambda: sum(numbers("corrigible_request_seconds_count").values()) >= 6)
        process.terminate()
        assert process.wait(PATIENCE) == 0
        assert "6 requests, 1 refusal" in process.stderr.read()


def test_its_sudden_end_leaves_no_process_and_no_file(upstream: Any) -> None:
    with started(upstream.port, "--pack", "http") as (process, _):
        folder, below = folder_of(process.pid), children(process.pid)
        assert len(below) >= 3 and folder.exists()
        process.kill()
        process.wait(PATIENCE)
        eventually(lambda: not folder.exists())
        eventually(lambda: not [pid for pid in below if is_alive(pid)])


def test_a_corrector_that_dies_is_replaced_and_no_call_is_lost(upstream: Any, write_pack: Any) -> None:
    with started(upstream.port, "--pack", str(write_pack(x=RULE))) as (process, port):
        assert is_corrected(port)
        os.kill(corrector_of(process.pid), signal.SIGKILL)
        for _ in range(5):
            assert Bench.ask(port, "/ok").endswith(b"\r\n\r\n{}")
            answer = Bench.ask(port, "/bad", "POST", b'{"a":2}', JSON)
            assert b"recovery_feedback" in answer or Bench.seen(answer) == Bench.seen(REFUSED)
        eventually(lambda: is_corrected(port))
        process.terminate()
        assert process.wait(PATIENCE) == 0
        assert "a corrector ended, and is started again" in (process.stderr.read() if process.stderr else "")


def test_the_end_of_envoy_ends_the_command(upstream: Any) -> None:
    with started(upstream.port, "--pack", "http") as (process, _):
        folder = folder_of(process.pid)
        os.kill(envoy_of(process.pid), signal.SIGKILL)
        assert process.wait(PATIENCE) == 1
        assert "Envoy ended with exit status -9" in (process.stderr.read() if process.stderr else "")
        assert not folder.exists()


def test_feedback_is_found_whichever_corrector_made_it_and_by_its_owner_only(upstream: Any, write_pack: Any) -> None:
    pack = write_pack(x="match: {status: 400}\nsuggest: [{action: MODIFY_PARAMS, message: m, parameters: {a: 1}}]\n")
    with started(upstream.port, "--pack", str(pack), "--correctors", "3") as (_, port):
        for name in ("one", "two", "three", "four"):
            own = f"Authorization: Bearer {name}\r\n".encode()
            head = Bench.ask(port, "/xml", "POST", b'{"a":2}', JSON + own).partition(b"\r\n\r\n")[0]
            link = re.search(rb"(?i)^link: <([^>]+)>", head, re.MULTILINE)
            assert link is not None, head
            target = link[1].decode()
            # A caller is its credentials: its number may be another one from elsewhere, and the feedback is found.
            elsewhere = own + b'Prefer: recovery-feedback=reflective; caller="elsewhere"\r\n'
            for headers in (own, elsewhere):
                answer = Bench.ask(port, target, headers=headers)
                assert answer.startswith(b"HTTP/1.1 200"), answer
                assert json.loads(answer.partition(b"\r\n\r\n")[2])["suggestions"]
            upstream.answers[target] = Bench.message(b"404 Not Found", b"", b"")
            assert Bench.ask(port, target, headers=b"Authorization: Bearer thief\r\n").startswith(b"HTTP/1.1 404")


def test_a_changed_pack_is_taken_without_a_call_lost(upstream: Any, write_pack: Any) -> None:
    with started(upstream.port, "--pack", str(write_pack(x=RULE)), "--reload") as (process, port):
        assert is_corrected(port)
        write_pack(x=RULE.replace("code: bad", "code: other"))
        eventually(lambda: not is_corrected(port))
        write_pack(x=RULE)
        eventually(lambda: is_corrected(port))
        process.terminate()
        assert process.wait(PATIENCE) == 0
        assert "a corrector ended" not in (process.stderr.read() if process.stderr else "")


def ended(*words: str) -> tuple[int, str]:
    command = ["corrigible", "proxy", *words]
    done = run(command)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--engine", "envoy", "--engine-mode", "regular", "--pack", "http"), "--engine-mode regular needs mitmproxy"),
        (
            ("--engine", "nginx", "--upstream", "http://a.test", "--pack", "http"),
            "--engine nginx: expected mitmproxy, envoy, auto",
        ),
        (
            ("--correctors", "2", "--upstream", "http://a.test", "--pack", "http"),
            "--correctors needs Envoy: --engine mitmproxy",
        ),
        (
            ("--engine", "auto", "--correctors", "2", "--engine-mode", "regular", "--pack", "http"),
            "--correctors needs Envoy: --engine-mode regular needs mitmproxy",
        ),
        (
            ("--engine", "envoy", "--correctors", "none", "--upstream", "http://a.test", "--pack", "http"),
            "--correctors none: not a number from 1 to 64",
        ),
    ],
)
def test_what_envoy_cannot_do_is_one_line_and_2(words: tuple[str, ...], problem: str) -> None:
    status, said = ended(*words)
    assert (status, said.count("\n")) == (2, 1)
    assert problem in said


def test_an_address_that_is_taken_is_1(upstream: Any) -> None:
    words = ("--upstream", "http://127.0.0.1:1", "--pack", "http", "--engine", "envoy")
    status, said = ended(*words, "--listen", f"127.0.0.1:{upstream.port}")
    assert status == 1
    assert said == f"{STARTING}corrigible proxy: cannot listen on 127.0.0.1:{upstream.port}: address already in use\n"


@pytest.mark.parametrize("engine", ["envoy", "mitmproxy"])
def test_an_address_that_another_proxy_has_is_1(upstream: Any, engine: str) -> None:
    with started(upstream.port, "--pack", "http") as (_, port):
        words = ("--upstream", "http://127.0.0.1:1", "--pack", "http", "--engine", engine)
        status, said = ended(*words, "--listen", f"127.0.0.1:{port}")
        line = f"corrigible proxy: cannot listen on 127.0.0.1:{port}: address already in use\n"
        assert (status, said) == (1, STARTING + line)


@pytest.mark.parametrize(("words", "said"), [((), ""), (("--engine", "auto"), ", on Envoy")])
def test_the_line_about_the_start_says_what_was_taken_unasked(upstream: Any, words: tuple[str, ...], said: str) -> None:
    target = ("--upstream", f"http://127.0.0.1:{upstream.port}", "--listen", "127.0.0.1:0", "--pack", "http")
    command = ["corrigible", "proxy", *target, *words]
    with start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None and process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("corrigible: http://127.0.0.1:")
            assert line.endswith(f" (http; reflective){said}\n")
            assert any("--config-path" in command for command in children(process.pid).values()) is bool(said)
            process.terminate()
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()


def test_a_long_name_of_the_temporary_folder_leaves_room_for_sockets(
    upstream: Any, write_pack: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 80)
    long.mkdir()
    monkeypatch.setenv("TMPDIR", str(long))
    with started(upstream.port, "--pack", str(write_pack(x=RULE))) as (process, port):
        assert is_corrected(port)
        assert folder_of(process.pid).stat().st_mode & 0o077 == 0


def spawned(pid: int, names: str) -> bool:
    """Whether a process below one is of a kind: what forks, a corrector, Envoy."""
    return any(names in command for command in children(pid).values())


PHASES: dict[str, Callable[[subprocess.Popen[str], Path], bool]] = {
    # Before, Python writes a file there to see whether that is possible, and an end at this moment leaves this file.
    "its folder is there": lambda process, place: any(place.glob("corrigible-*")),
    "who removes it is there": lambda process, place: bool(children(process.pid)),
    "what forks is there": lambda process, place: len(children(process.pid)) >= 2,
    "correctors start": lambda process, place: bool(list(place.glob("*/corrector-*"))),
    "Envoy starts": lambda process, place: spawned(process.pid, "--config-path"),
    "Envoy answers its admin socket": lambda process, place: bool(list(place.glob("*/admin.sock"))),
}


@pytest.mark.parametrize("phase", [*PHASES, "it drains"])
def test_its_sudden_end_in_each_phase_leaves_nothing(
    upstream: Any, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with TemporaryDirectory(prefix="c") as name:  # a short name: sockets are in it
        place = Path(name)
        monkeypatch.setenv("TMPDIR", name)
        target = ("--upstream", f"http://127.0.0.1:{upstream.port}", "--listen", "127.0.0.1:0", "--pack", "http")
        command = ["corrigible", "proxy", *target, "--engine", "envoy", "--correctors", "2"]
        with start(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            wire = None
            try:
                assert process.stdout is not None
                if phase in PHASES:
                    eventually(lambda: PHASES[phase](process, place))
                else:
                    asked, ended = threading.Event(), threading.Event()

                    def waits(connection: socket.socket) -> None:
                        asked.set()
                        ended.wait(PATIENCE)

                    upstream.answers["/waits"] = waits
                    port = int(process.stdout.readline().split()[1].rpartition(":")[2])
                    wire = Bench.Wire(port)
                    wire.send(b"GET /waits HTTP/1.1\r\nHost: x\r\n\r\n")
                    assert asked.wait(PATIENCE)
                    process.terminate()
                    eventually(lambda: not is_listening(port))
                below = children(process.pid)
                process.kill()
                process.wait(PATIENCE)
                eventually(lambda: not [pid for pid in below if is_alive(pid)])
                eventually(lambda: not list(place.iterdir()))
            finally:
                process.kill()
                if wire is not None:
                    ended.set()
                    wire.close()


def test_the_private_folder_goes_if_nobody_hears_that_it_was_made(tmp_path: Path) -> None:
    """Its owner has ended between the start of the keeper and the keeper's first word."""
    silent, deaf = os.pipe(), os.pipe()
    os.close(silent[1])
    os.close(deaf[0])
    made = tmp_path / "made"
    keeper = ["/bin/sh", "-c", KEEPING, str(made), "new"]
    subprocess.run(keeper, stdin=silent[0], stdout=deaf[1], check=True, timeout=60)
    assert not made.exists()
    os.close(silent[0])
    os.close(deaf[1])


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_at_its_end_callers_are_told_and_what_is_under_way_is_finished(upstream: Any, two: Any) -> None:
    asked, release = threading.Event(), threading.Event()

    def slow(connection: socket.socket) -> None:
        asked.set()
        assert release.wait(PATIENCE)
        connection.sendall(ANSWERS["/ok"])

    upstream.answers["/slow"] = slow
    files = ("--tls-cert", str(two.ours.certificate), "--tls-key", str(two.ours.key))
    with (
        started(upstream.port, "--pack", "http", "--quiet", *files) as (process, port),
        two.caller(port) as idle,
        two.caller(port) as busy,
        two.caller(port) as silent,
    ):
        assert idle.ask(b"/ok") == (b"200", b"{}")
        stream = busy.stream()
        busy.headers(stream, busy.head(b"/slow"))
        assert asked.wait(PATIENCE)
        process.terminate()
        for one in (idle, silent):
            assert [(found.type, found.code) for found in one.rest()][-1] == (GOAWAY, 0)
        assert not is_listening(port)
        release.set()
        assert [found.code for found in busy.rest() if found.type == GOAWAY][:1] == [0]
        assert b"".join(busy.bodies[stream]) == b"{}"
        assert process.wait(PATIENCE) == 0
        assert (process.stderr.read() if process.stderr else "") == ""


def test_at_its_end_an_answer_over_http1_ends_its_connection(upstream: Any) -> None:
    asked, release = threading.Event(), threading.Event()

    def slow(connection: socket.socket) -> None:
        asked.set()
        assert release.wait(PATIENCE)
        connection.sendall(ANSWERS["/ok"])

    upstream.answers["/slow"] = slow
    with started(upstream.port, "--pack", "http") as (process, port):
        idle, busy = Bench.Wire(port), Bench.Wire(port)
        busy.send(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        assert asked.wait(PATIENCE)
        process.terminate()
        assert idle.rest() == b""
        eventually(lambda: not is_listening(port))
        release.set()
        head, _, body = busy.rest().partition(b"\r\n\r\n")
        assert body == b"{}" and b"\r\nconnection: close" in head.lower()
        assert process.wait(PATIENCE) == 0
        idle.close()
        busy.close()


def test_idle_connections_make_room(upstream: Any) -> None:
    few = ["sh", "-c", 'ulimit -Sn 200 && ulimit -Hn 400 && exec "$@"', "sh"]  # Envoy itself has some 60
    with started(upstream.port, "--pack", "http", before=few) as (process, port):
        wires = [Bench.Wire(port) for _ in range(200)]

        def is_served() -> bool:
            with suppress(OSError):
                return Bench.ask(port, "/ok").endswith(b"{}")
            return False

        eventually(is_served)
        assert wires[0].rest() == b""
        eventually(lambda: all(is_served() for _ in range(5)))
        process.terminate()
        assert process.wait(PATIENCE) == 0
        assert "idle ones are closed" in (process.stderr.read() if process.stderr else "")
        for wire in wires:
            wire.close()
