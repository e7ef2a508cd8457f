"""What the mitmproxy front end writes down, and that neither that nor a mistake disturbs the traffic."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.access_log.entry import AccessLog, Verdict
from corrigible.proxy.access_log.statistics import Recorder
from corrigible.proxy.build import build_corrector
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.core.mode import Mode

JSON = b"Content-Type: application/json\r\n"
MEBIBYTE = 1 << 20


class Broken:
    """A corrector that fails at every chance."""

    limits = Limits()

    def upstream_target(self, target: str) -> str:
        raise RuntimeError("target")

    def wants_body(self, *_: object) -> bool:
        return True

    def caller(self, *_: object) -> str:
        raise RuntimeError("caller")

    def accepted(self, *_: object) -> Any:
        raise RuntimeError("accepted")

    def correct(self, *_: object, **__: object) -> Any:
        raise RuntimeError("correct")


def test_a_mistake_of_ours_leaves_every_byte(bench: Any, tmp_path: Path) -> None:
    answer = bench.message(b"400 Bad Request", JSON, b"{}")
    with (
        bench.upstream({"/x": answer}) as upstream,
        bench.proxy(Broken(), upstream=f"http://127.0.0.1:{upstream.port}", log=tmp_path / "log.jsonl") as proxy,
    ):
        assert bench.ask(proxy.port, "/x?a=1") == answer
    (entry,) = bench.journal(tmp_path)
    assert (entry["outcome"], entry["error"]) == ("untouched", "RuntimeError: caller")


def test_each_exchange_is_one_line_in_the_journal(bench: Any, tmp_path: Path) -> None:
    answers: dict[str, bytes | Callable[[socket.socket], None]] = {
        "/ok": bench.message(b"200 OK", b"", b"ok"),
        "/big": bench.message(b"200 OK", b"", b"x" * 100_000),
        "/no": bench.message(b"400 Bad Request", JSON, b"{}"),
        "/huge": bench.message(b"400 Bad Request", JSON, b"x" * 2 * MEBIBYTE),
        "/gone": lambda connection: connection.close(),
    }
    with (
        bench.upstream(answers) as upstream,
        bench.proxy(
            bench.Telling(ask="/ok"),
            upstream=f"http://127.0.0.1:{upstream.port}",
            log=tmp_path / "log.jsonl",
        ) as proxy,
    ):
        for path in ("/ok?api_key=sk_test_1", "/big", "/no", "/huge", "/gone"):
            bench.ask(proxy.port, path, headers=b"Authorization: Bearer sk_live_9\r\n")
    entries = bench.journal(tmp_path)
    members = ("method", "path", "status", "outcome", "operation", "rules", "reason", "lookups")
    assert [tuple(entry[member] for member in members) for entry in entries] == [
        ("GET", "/ok?api_key=[redacted]", 200, "untouched", None, [], None, 0),
        ("GET", "/big", 200, "untouched", None, [], None, 0),
        ("GET", "/no", 400, "annotated", "PostX", ["pack.rule"], None, 1),
        ("GET", "/huge", 400, "untouched", None, [], "the answer is over the limit", 0),
        ("GET", "/gone", None, "failed", None, [], None, 0),
    ]
    assert [entry["error"] for entry in entries] == [None] * 4 + ["server closed connection"]
    assert len({entry["id"] for entry in entries}) == 5
    assert all(entry["ms"] > 0 for entry in entries)
    assert "sk_" not in (tmp_path / "log.jsonl").read_text()


@pytest.mark.parametrize(
    ("mode", "verdict"),
    [
        (Mode.REFLECTIVE, "annotated"),
        (Mode.VERBOSE, "diagnosed"),
        (Mode.TRADITIONAL, "blanked"),
        (Mode.NONE, "untouched"),
    ],
)
def test_the_journal_says_what_was_done_in_each_mode(
    bench: Any, tmp_path: Path, write_pack: Any, mode: Mode, verdict: str
) -> None:
    pack = write_pack(
        manifest="redact: [/error/message]\n",
        x="match: {code: bad}\nsuggest: [{action: MODIFY_PARAMS, message: m, parameters: {a: 1}}]\n",
    )
    refusal = bench.message(
        b"400 Bad Request", b"Content-Type: application/json\r\n", b'{"error":{"code":"bad","message":"m"}}'
    )
    with (
        bench.upstream({"/x": refusal}) as upstream,
        bench.proxy(
            build_corrector([pack], mode=mode, limits=bench.patient),
            upstream=f"http://127.0.0.1:{upstream.port}",
            log=tmp_path / "log.jsonl",
        ) as proxy,
    ):
        bench.ask(proxy.port, "/x", "POST", b"{}", b"Content-Type: application/json\r\n")
    assert [entry["outcome"] for entry in bench.journal(tmp_path)] == [verdict]


def test_a_full_disk_does_not_disturb_the_traffic(bench: Any) -> None:
    answer = bench.message(b"200 OK", b"", b"ok")
    with (
        bench.upstream({"/x": answer}) as upstream,
        bench.proxy(bench.none(), upstream=f"http://127.0.0.1:{upstream.port}", log=Path("/dev/full")) as proxy,
    ):
        assert bench.ask(proxy.port, "/x") == answer


def test_who_broke_an_exchange_off_is_told_apart(bench: Any, tmp_path: Path) -> None:
    recorder = Recorder(AccessLog(tmp_path / "log.jsonl"))
    arrived, left = threading.Event(), threading.Event()

    def hang(connection: socket.socket) -> None:
        arrived.set()
        assert left.wait(bench.patience)

    with (
        bench.upstream({"/hang": hang, "/gone": lambda connection: connection.close()}) as upstream,
        bench.proxy(bench.none(), upstream=f"http://127.0.0.1:{upstream.port}", recorder=recorder) as proxy,
    ):
        bench.ask(proxy.port, "/gone")
        tunnel = bench.Wire(proxy.port)
        tunnel.send(b"CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n")
        tunnel.until(lambda got: got.startswith(b"HTTP/1.1 400 "))
        wire = bench.Wire(proxy.port)
        wire.send(b"GET /hang HTTP/1.1\r\nHost: x\r\n\r\n")
        assert arrived.wait(bench.patience)
        wire.close()
        end = time.monotonic() + bench.patience
        while recorder.statistics.requests < 3 and time.monotonic() < end:
            time.sleep(0.01)
        left.set()
    recorder.close()
    assert recorder.statistics.verdicts == {Verdict.FAILED: 1, Verdict.GONE: 2}
    assert recorder.statistics.failures == {("", "the upstream closed the connection without an answer"): 1}
