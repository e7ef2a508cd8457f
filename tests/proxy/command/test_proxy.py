"""`corrigible proxy` as a user starts and stops it."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.cli import main
from corrigible.proxy.command import options
from corrigible.proxy.command import proxy as command
from corrigible.schema.extra import install_line
from tests._support.rows import rows

STARTING = "corrigible proxy: starting\n"


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add(parser.add_subparsers())
    return parser.parse_args(["proxy", *words])


@contextmanager
def started(bench: Any, *words: str) -> Iterator[subprocess.Popen[str]]:
    with bench.start(*words) as process:
        try:
            yield process
        finally:
            process.kill()


def port_of(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    found = re.match(r"corrigible: http://127\.0\.0\.1:(\d+) ", process.stdout.readline())
    assert found is not None
    return int(found[1])


def test_it_says_one_line_finishes_what_is_under_way_and_exits_0(bench: Any, tmp_path: Path) -> None:
    asked, release = threading.Event(), threading.Event()

    def slow(connection: socket.socket) -> None:
        asked.set()
        assert release.wait(60)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")

    log = tmp_path / "log.jsonl"
    with bench.upstream({"/slow": slow}) as upstream:
        url = f"http://127.0.0.1:{upstream.port}"
        with started(
            bench, "--upstream", url, "--pack", "http", "--listen", "127.0.0.1:0", "--log", str(log)
        ) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.fullmatch(rf"corrigible: http://127\.0\.0\.1:(\d+) -> {url} \(http; reflective\)\n", line)
            assert found is not None, line
            wire = bench.Wire(int(found[1]))
            wire.send(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            assert asked.wait(60)
            process.send_signal(signal.SIGTERM)
            idle = 0
            while idle == 0:  # until it accepts no more
                with socket.socket() as probe:
                    idle = probe.connect_ex(("127.0.0.1", int(found[1])))
            release.set()
            assert wire.rest() == b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nconnection: close\r\n\r\ndone"
            wire.close()
            assert process.wait(60) == 0
            summary = process.stderr.read() if process.stderr else ""
            assert (process.stdout.read(), summary) == ("", f"{STARTING}corrigible proxy: 1 request, 0 refusals\n")
    assert log.read_text().count("\n") == 1


def test_a_log_that_nobody_reads_stops_neither_callers_nor_the_end(bench: Any, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    answer = bench.message(b"200 OK", b"", b"ok")
    with bench.upstream({"/x": answer}) as upstream:
        words = ("--upstream", f"http://127.0.0.1:{upstream.port}", "--pack", "http", "--listen", "127.0.0.1:0")
        with started(bench, *words, "--log", str(pipe)) as process:
            port = port_of(process)
            for _ in range(80):  # the pipe takes 64 KiB
                assert bench.ask(port, "/x?" + "y" * 2000) == answer
            process.terminate()
            assert process.wait(60) == 0
            said = process.stderr.read() if process.stderr else ""
    assert re.search(r"^corrigible proxy: \d+ log lines could not be written$", said, re.MULTILINE), said
    os.close(reader)


def test_a_log_that_nobody_has_opened_yet_keeps_nothing_from_starting(bench: Any, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with bench.upstream({"/x": bench.message(b"200 OK", b"", b"ok")}) as upstream:
        words = ("--upstream", f"http://127.0.0.1:{upstream.port}", "--pack", "stripe", "--listen", "127.0.0.1:0")
        with started(bench, *words, "--log", str(pipe)) as process:
            port = port_of(process)
            bench.ask(port, "/x?before")
            with open(pipe, "rb") as reader:
                assert b"/x?before" in reader.readline()
            bench.ask(port, "/x?behind")  # the reader is gone: no reason to stop
            process.terminate()
            assert process.wait(60) == 0


def test_a_log_that_was_moved_away_is_made_anew_on_sighup(bench: Any, tmp_path: Path) -> None:
    log, old = tmp_path / "log.jsonl", tmp_path / "old.jsonl"
    with bench.upstream({"/x": bench.message(b"200 OK", b"", b"ok")}) as upstream:
        words = ("--upstream", f"http://127.0.0.1:{upstream.port}", "--pack", "http", "--listen", "127.0.0.1:0")
        with started(bench, *words, "--log", str(log)) as process:
            port = port_of(process)
            bench.ask(port, "/x?first")
            log.rename(old)
            process.send_signal(signal.SIGHUP)
            end = time.monotonic() + 60
            while not log.exists() and time.monotonic() < end:
                time.sleep(0.01)
            bench.ask(port, "/x?second")
            process.terminate()
            assert process.wait(60) == 0
    assert ["?first" in old.read_text(), "?second" in log.read_text()] == [True, True]
    assert (old.read_text() + log.read_text()).count("\n") == 2


REFUSAL = b"Content-Type: application/json\r\n"


def test_each_refusal_and_each_kind_of_failure_is_one_line_and_a_summary_ends_it(
    bench: Any, write_pack: Callable[..., Path]
) -> None:
    pack = write_pack(
        x="""\
        match: {code: bad}
        suggest: [{action: MODIFY_PARAMS, message: m, parameters: {a: 1}, changes_intent: true}]
        """,
    )
    answers = {
        "/ok": bench.message(b"200 OK", b"", b"ok"),
        "/bad": bench.message(b"400 No", REFUSAL, b'{"error":{"code":"bad","message":"m"}}'),
        "/other": bench.message(b"404 No", REFUSAL, b'{"error":{"code":"\x1b[31m","message":"m"}}'),
        "/image": bench.message(b"403 No", b"Content-Type: image/png\r\n", b"png"),
        "/gone": lambda connection: connection.close(),
    }
    with bench.upstream(answers) as upstream:
        url = f"http://127.0.0.1:{upstream.port}"
        with started(
            bench, "--upstream", url, "--pack", str(pack), "--listen", "127.0.0.1:0", "--time-limit", "60"
        ) as process:
            port = port_of(process)
            body = b'{"a":2}'
            bench.ask(port, "/bad?api_key=sk_live_1", "POST", body, b"Content-Type: application/json\r\n")
            for path in ("/ok", "/other", "/image", "/gone", "/gone", "/gone"):
                bench.ask(port, path)
            bench.ask(port, "/other", "HEAD")
            bench.ask(port, "/other", headers=b"Prefer: recovery-feedback=none\r\n")
            process.terminate()
            first, *lines = process.communicate(timeout=240)[1].splitlines()
    assert first == STARTING.rstrip()
    took = r" \[\d+(\.\d+)? (µs|ms|s)\]"
    expected = [
        r"..:..:.. 400 POST /bad corrected: MODIFY_PARAMS, to be confirmed \(apex\.x\)" + took,
        "..:..:.. 404 GET /other unchanged: no rule matches" + took,
        "..:..:.. 403 GET /image unchanged: answers of the type image/png are not read",
        "..:..:.. 502 GET /gone no answer from the API: the upstream closed the connection without an answer",
        "..:..:.. 404 HEAD /other unchanged: an answer without a body has no place for feedback",
        "..:..:.. 404 GET /other unchanged: mode is none",
    ]
    for line, pattern in zip(lines, expected, strict=False):
        assert re.fullmatch(pattern, line), line
    assert lines[len(expected) :] == [
        "corrigible proxy: no answer from the API, 2 more: the upstream closed the connection without an answer",
        "corrigible proxy: 9 requests, 5 refusals: 1 corrected, 4 unchanged",
        "corrigible proxy: by rule: 1 x apex.x",
        "corrigible proxy: unchanged: 1 x 404 unknown operation: no rule matches",
        "corrigible proxy: unchanged: 1 x 403 unknown operation: answers of the type image/png are not read",
        "corrigible proxy: unchanged: 1 x 404 unknown operation: an answer without a body has no place for feedback",
        "corrigible proxy: unchanged: 1 x 404 unknown operation: mode is none",
        "corrigible proxy: without an answer from the API: 3 x the upstream closed the connection without an answer",
    ]


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_terminal_that_takes_nothing_disturbs_no_caller(bench: Any, is_closed: bool) -> None:
    refusal = bench.message(b"404 No", REFUSAL, b'{"error":{"code":"x","message":"m"}}')
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, b"x" * 4096)  # full: who writes now waits
    os.set_blocking(writing, True)
    with bench.upstream({"/x": refusal}) as upstream:
        words = ["--upstream", f"http://127.0.0.1:{upstream.port}", "--pack", "stripe", "--listen", "127.0.0.1:0"]
        closing = ["sh", "-c", 'exec "$@" 2>&-', "sh", *bench.command(*words)]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": writing, "text": True}
        with subprocess.Popen(closing, **pipes) if is_closed else bench.start(*words, **pipes) as process:
            try:
                port = port_of(process)
                for _ in range(20):
                    assert bench.ask(port, "/x").startswith(b"HTTP/1.1 404 No")
                process.terminate()
                assert process.wait(60) == 0
            finally:
                process.kill()
    os.close(reading)
    os.close(writing)


def test_a_taken_port_is_one_line_and_status_1(bench: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with started(bench, "--upstream", "http://127.0.0.1:9", "--pack", "http", "--listen", address) as process:
            out, err = process.communicate(timeout=240)
    assert (process.returncode, out) == (1, "")
    assert err == f"{STARTING}corrigible proxy: cannot listen on {address}: address already in use\n"


@pytest.mark.parametrize(("limit", "corrected"), [((), False), (("--body-limit", "2"), True)])
def test_a_large_request_is_read_up_to_the_limit(
    limit: tuple[str, ...], corrected: bool, bench: Any, write_pack: Callable[..., Path]
) -> None:
    pack = write_pack(x="suggest: [{action: MODIFY_PARAMS, message: m, parameters: {a: 7}}]")
    refusal = bench.message(b"422 No", REFUSAL, b'{"error":{"message":"m"}}')
    words = ("--pack", str(pack), "--listen", "127.0.0.1:0", "--time-limit", "60", *limit)
    body = json.dumps({"a": 1, "image": "x" * (3 << 19)}).encode()
    with (
        bench.upstream({"/v1/x": refusal}) as upstream,
        started(bench, "--upstream", f"http://127.0.0.1:{upstream.port}", *words) as process,
    ):
        answer = bench.ask(port_of(process), "/v1/x", "POST", body, b"Content-Type: application/json\r\n")
    assert answer.startswith(b"HTTP/1.1 422 ")
    assert (b'"a":7' in answer) is corrected


@pytest.mark.parametrize(("limit", "corrected"), [((), False), (("--time-limit", "30"), True)])
def test_a_slow_look_up_is_waited_for_as_long_as_was_said(
    limit: tuple[str, ...],
    corrected: bool,
    bench: Any,
    write_pack: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("CORRIGIBLE_TIME_LIMIT")
    pack = write_pack(
        manifest="lookups: ['/v1/{id}']\n",
        x="""\
        lookup: {room: {get: "'/v1/room'"}}
        suggest: [{action: MODIFY_PARAMS, message: m, parameters: {a: room.free}}]
        """,
    )

    def slow(connection: socket.socket) -> None:
        time.sleep(1.2)  # the limit is 1 s where nobody says so
        connection.sendall(bench.message(b"200 OK", b"Content-Type: application/json\r\n", b'{"free": 7}'))

    refusal = bench.message(b"422 No", b"Content-Type: application/json\r\n", b'{"error":{"message":"m"}}')
    with bench.upstream({"/v1/x": refusal, "/v1/room": slow}) as upstream:
        url = f"http://127.0.0.1:{upstream.port}"
        with started(bench, "--upstream", url, "--pack", str(pack), "--listen", "127.0.0.1:0", *limit) as process:
            assert process.stdout is not None
            found = re.match(r"corrigible: http://127\.0\.0\.1:(\d+) ", process.stdout.readline())
            assert found is not None
            answer = bench.ask(int(found[1]), "/v1/x")
    assert answer.startswith(b"HTTP/1.1 422 ")
    assert (b'"a":7' in answer) is corrected
    assert answer.endswith(b'{"error":{"message":"m"}}') is not corrected


UP = ("--upstream", "http://127.0.0.1:9")
NO_TIME = "not a number of seconds above 0, at most 3600"


@rows(
    ("words", "complaint"),
    [
        (("--pack", "x"), "--upstream URL is required, except with --engine-mode regular or transparent"),
        (UP, "--pack or --spec is required"),
        (("--upstream", "ftp://x", "--pack", "x"), "--upstream ftp://x: not http[s]://host[:port]"),
        (
            ("--upstream", "localhost:80", "--pack", "x"),
            '--upstream localhost:80: not http[s]://host[:port]; did you mean "http://localhost:80"?',
        ),
        (("--upstream", "http://x:99999", "--pack", "x"), "--upstream http://x:99999: not http[s]://host[:port]"),
        (
            ("--upstream", "http://x/v1", "--pack", "x"),
            "--upstream http://x/v1: must not have a path, a query or credentials",
        ),
        (
            ("--upstream", "http://127.0.0.1:8080", "--pack", "x"),
            "--upstream http://127.0.0.1:8080: this is the proxy's own address (--listen)",
        ),
        ((*UP, "--pack", "x", "--listen", "here"), "--listen here: not HOST:PORT"),
        ((*UP, "--pack", "x", "--listen", "h:70000"), "--listen h:70000: not HOST:PORT"),
        ((*UP, "--pack", "x", "--listen", "::1:80"), "--listen ::1:80: not HOST:PORT"),
        (
            (*UP, "--pack", "x", "--mode", "reflectiv"),
            '--mode reflectiv: expected none, traditional, verbose, reflective; did you mean "reflective"?',
        ),
        (
            (*UP, "--pack", "x", "--engine-mode", "socks"),
            "--engine-mode socks: expected reverse, regular, transparent",
        ),
        ((*UP, "--pack", "x", "--time-limit", "2s"), f"--time-limit 2s: {NO_TIME}"),
        ((*UP, "--pack", "x", "--time-limit", "0"), f"--time-limit 0: {NO_TIME}"),
        ((*UP, "--pack", "x", "--time-limit", "nan"), f"--time-limit nan: {NO_TIME}"),
        ((*UP, "--pack", "x", "--time-limit", "5000"), f"--time-limit 5000: {NO_TIME}"),
        (
            (*UP, "--pack", "x", "--engine-mode", "regular"),
            "--upstream cannot be used with --engine-mode regular",
        ),
    ],
)
def test_a_wrong_argument_is_one_line_and_status_2(
    words: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.run(arguments(*words)) == 2
    assert capsys.readouterr() == ("", f"corrigible proxy: {complaint}\n")


@pytest.mark.usefixtures("bench")
def test_an_unknown_pack_is_status_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command.run(arguments(*UP, "--pack", str(tmp_path / "nowhere"))) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("corrigible proxy: ")
    assert "nowhere" in err


@pytest.mark.usefixtures("bench")
def test_what_watches_and_cannot_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert command.run(arguments(*UP, "--pack", "http", "--admin", address)) == 2
    line = f"corrigible proxy: --admin {address}: cannot listen: address already in use\n"
    assert capsys.readouterr() == ("", line)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "pigeon")
    assert command.run(arguments(*UP, "--pack", "http", "--otel")) == 2
    line = "corrigible proxy: --otel: the OpenTelemetry exporter pigeon is not installed\n"
    assert capsys.readouterr() == ("", line)


@pytest.mark.usefixtures("bench")
def test_a_log_that_cannot_be_written_is_status_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "no" / "log.jsonl"
    assert command.run(arguments(*UP, "--pack", "stripe", "--log", str(log))) == 2
    line = f"corrigible proxy: cannot write the log {log}: no such file or directory\n"
    assert capsys.readouterr() == ("", line)


def test_without_mitmproxy_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mitmproxy", None)
    for name in [name for name in sys.modules if name.startswith("corrigible.proxy.mitm.server")]:
        monkeypatch.delitem(sys.modules, name)
    assert command.run(arguments(*UP, "--pack", "stripe", "--engine", "mitmproxy")) == 1
    assert capsys.readouterr() == (
        "",
        f"corrigible proxy: mitmproxy is not installed: {install_line('mitmproxy')}\n",
    )


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8080", ("127.0.0.1", 8080)),
        (":0", ("127.0.0.1", 0)),
        ("9000", ("127.0.0.1", 9000)),
        ("[::1]:80", ("::1", 80)),
        ("0.0.0.0:1", ("0.0.0.0", 1)),
    ],
)
def test_an_address_to_listen_on(text: str, address: tuple[str, int]) -> None:
    assert options.parse_listen(text) == address


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("http://127.0.0.1:18201", "http://127.0.0.1:18201"),
        ("https://API.stripe.com/", "https://api.stripe.com"),
        ("HTTP://[::1]:80", "http://[::1]:80"),
    ],
)
def test_an_upstream_is_an_origin(text: str, origin: str) -> None:
    assert options.parse_upstream(text) == origin


@rows("engine", ["mitmproxy", "envoy"])
@rows("target", ["--upstream=http://127.0.0.1:9", "--grpc-upstream=grpc://127.0.0.1:9"])
@rows(
    ("listen", "is_told"),
    [
        ("0.0.0.0:0", True),
        ("[::]:0", True),
        ("[::ffff:0.0.0.0]:0", True),
        ("192.0.2.7:0", True),
        ("127.0.0.1:0", False),
        ("127.8.8.8:0", False),
        ("[::1]:0", False),
        ("[::ffff:127.0.0.1]:0", False),
        ("localhost:0", False),
        (":0", False),
        ("0", False),
    ],
)
def test_callers_from_other_machines_without_tls_are_warned_of(
    listen: str, is_told: bool, target: str, engine: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = [target, "--pack", "http", "--listen", listen, "--engine", engine]
    wrong = ["--upstream-ca", str(tmp_path / "ca.crt")]  # which ends it: TLS is ruled out
    assert command.run(arguments(*words, *wrong)) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [("reached from other machines, without TLS" in line) for line in lines[:-1]] == ([True] if is_told else [])
    assert "it needs TLS" in lines[-1]
    assert command.run(arguments(*words, *wrong, "--tls-cert", str(tmp_path / "own.crt"))) == 2
    assert "other machines" not in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no such signal here")
def test_a_hangup_during_the_start_ends_nothing() -> None:
    before = signal.getsignal(signal.SIGHUP)
    try:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with pytest.raises(SystemExit):
            main(["proxy", "--help"])
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["proxy", "--help"], ["proxy", "--engine", "envoy"]])
def test_help_and_mistakes_import_nothing_slow(words: list[str]) -> None:
    code = f"import sys; from corrigible.proxy.cli import main\ntry: main({words!r})\nfinally: print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240)
    imported = set(ran.stdout.splitlines()[-1].split())
    assert imported & {"asyncio", "httpx", "mitmproxy", "pydantic", "yaml"} == set()
    if words == ["proxy", "--help"]:
        titles = [line for line in ran.stdout.splitlines() if re.fullmatch(r"[a-z]+:", line)]
        assert titles == ["options:", "upstream:", "knowledge:", "answers:", "operation:", "security:"]
