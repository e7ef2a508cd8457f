"""The admin address of a running proxy, and `corrigible status`."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import urllib.error
import urllib.request
from typing import Any

import pytest

from corrigible.proxy.access_log.statistics import Statistics
from corrigible.proxy.admin import server as admin
from corrigible.proxy.admin.prometheus import Metrics, read
from corrigible.proxy.admin.server import AdminServer
from corrigible.proxy.cli import main

JSON = b"Content-Type: application/json\r\n"


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
        with subprocess.Popen(
            bench.command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                assert process.stdout is not None and process.stderr is not None
                port = int(process.stdout.readline().split()[1].rpartition(":")[2])
                first = process.stderr.readline()
                found = re.fullmatch(r"corrigible proxy: (http://\S+) has /healthz and /metrics\n", first)
                assert found is not None
                at = found[1]
                for path in ("/ok", "/ok", "/other", "/gone"):
                    bench.ask(port, path)
                bench.ask(port, "/bad", "POST", b'{"a":2}', JSON)
                assert got(f"{at}/healthz") == (200, "ok\n")
                assert got(f"{at}/x")[0] == 404
                code, page = got(f"{at}/metrics")
                assert code == 200
                lines = page.splitlines()
                for line in (
                    'corrigible_requests_total{verdict="success"} 2.0',
                    'corrigible_requests_total{verdict="corrected"} 1.0',
                    'corrigible_refusals_total{status="400"} 1.0',
                    'corrigible_rule_matches_total{rule="apex.x"} 1.0',
                    'corrigible_unchanged_total{operation="",reason="no rule matches",status="404"} 1.0',
                    "corrigible_correction_seconds_count 2.0",
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


def test_what_is_rendered_is_read_back() -> None:
    statistics = Statistics()
    statistics.failures['connection refused\n"x" \\ (127.0.0.1:9)'] = 3
    statistics.count_success()
    statistics.reloads["done"] = 2
    scraped = read(Metrics(version="1", serves="a -> b").render(statistics).body.decode())
    assert (scraped.info["serves"], scraped.statistics.failures) == ("a -> b", statistics.failures)
    assert list(scraped.statistics.summary()) == list(statistics.summary())
    with pytest.raises(ValueError):
        read("up 1\n")
