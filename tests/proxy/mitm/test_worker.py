"""Large refusals are corrected in a process of their own: whatever becomes of it, traffic and answers pass."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

if not Path("/proc/self/task").exists():
    pytest.skip("children are looked up in /proc", allow_module_level=True)

JSON = b"Content-Type: application/json\r\n"
NATIVE = b'{"error":{"message":"m"}}'
LARGE = json.dumps({"a": 1, "filler": ["x" * 50] * 1000}).encode()
SMALL = b'{"a": 1}'
OF_ITS_KIND = ("first", "second", "third")
"""Paths that are asked once: what was slow on this machine goes to a worker the next time."""


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Proxy:
    """A running `corrigible proxy`, and its processes."""

    def __init__(self, process: subprocess.Popen[str], port: int, log: Path) -> None:
        self.process, self.port, self.log = process, port, log

    @property
    def servers(self) -> list[int]:
        """What forks workers, and what waits to do so."""
        return [pid for pid in children(self.process.pid) if lives(pid)]

    @property
    def workers(self) -> list[int]:
        return [pid for server in self.servers for pid in children(server) if lives(pid)]

    def said(self) -> list[dict[str, Any]]:
        """Return the log, all that has happened by now."""
        mark = f"/v1/ok?mark={time.monotonic_ns():x}"  # in decimal it may be a card number, which the log does not show
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{mark}") as answer:
            answer.read()
        assert eventually(lambda: mark in self.log.read_text())
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line for line in lines if "?mark=" not in line["path"]]


PACK = {
    "pack.yaml": """\
name: apex
title: Apex
version: 1.0.0
api: {name: Apex API}
license: Apache-2.0
lookups: ['/v1/{id}']
""",
    "x.yaml": """\
id: apex.x
title: X
status: stable
references: [https://a.test]
diagnosis: It is x.
match: {status: [400]}
suggest: [{action: MODIFY_PARAMS, message: m, parameters: {a: 2}}]
""",
    "y.yaml": """\
id: apex.y
title: Y
status: stable
references: [https://a.test]
diagnosis: It is y.
match: {status: [422]}
lookup: {room: {get: "'/v1/room'"}}
suggest: [{action: MODIFY_PARAMS, message: m, parameters: {a: room.free}}]
""",
}


@contextmanager
def started(bench: Any, folder: Path, seconds: str = "60") -> Iterator[Proxy]:
    pack = folder / "apex"
    pack.mkdir(exist_ok=True)
    for name, text in PACK.items():
        (pack / name).write_text(text)
    refusals = iter([400, 400, 200, 400])

    def turns(connection: socket.socket) -> None:
        status = b"%d So" % next(refusals)
        connection.sendall(bench.message(status, JSON, NATIVE))

    answers = {
        "/v1/x": bench.message(b"400 Bad Request", JSON, NATIVE),
        **{f"/v1/{name}": bench.message(b"400 Bad Request", JSON, NATIVE) for name in OF_ITS_KIND},
        "/v1/list": bench.message(b"400 Bad Request", JSON, b'[{"message":"m"}]'),
        "/v1/y": bench.message(b"422 No", JSON, NATIVE),
        "/v1/turns": turns,
        "/v1/room": bench.message(b"200 OK", JSON, b'{"free": 7}'),
        "/v1/ok": bench.message(b"200 OK", JSON, b"{}"),
    }
    with bench.upstream(answers) as upstream:
        words = ["--pack", str(pack), "--upstream", f"http://127.0.0.1:{upstream.port}", "--listen", "127.0.0.1:0"]
        with bench.start(*words, "--time-limit", seconds, "--log", str(folder / "log.jsonl")) as process:
            try:
                assert process.stdout is not None
                found = re.match(r"corrigible: http://127\.0\.0\.1:(\d+) ", process.stdout.readline())
                assert found is not None
                yield Proxy(process, int(found[1]), folder / "log.jsonl")
            finally:
                process.kill()


@pytest.fixture
def proxy(bench: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with started(bench, tmp_path_factory.mktemp("proxy")) as running:
        yield running


def corrected(answer: bytes, value: int = 2) -> bool:
    return b'"a":%d' % value in answer


def eventually(holds: Callable[[], Any]) -> bool:
    end = time.monotonic() + 60
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(holds())


KNOWN = JSON + b"X-Api-Key: 1\r\n"
"""Of a caller whose refusals are counted."""


def test_large_refusals_are_corrected_in_a_worker_look_ups_and_loops_included(bench: Any, proxy: Proxy) -> None:
    assert corrected(bench.ask(proxy.port, "/v1/x", "POST", SMALL, JSON))
    assert corrected(bench.ask(proxy.port, "/v1/x", "POST", LARGE, KNOWN))
    (worker,) = proxy.workers
    assert corrected(bench.ask(proxy.port, "/v1/y", "POST", LARGE, KNOWN), 7)
    again = bench.ask(proxy.port, "/v1/x", "POST", LARGE, KNOWN)
    assert b'"attempt":2' in again
    assert proxy.workers == [worker]
    other = bench.ask(proxy.port, "/v1/x", "POST", LARGE, JSON + b"Authorization: Bearer other\r\n")
    assert corrected(other)
    assert b'"attempt"' not in other
    said = [(one["outcome"], one["lookups"]) for one in proxy.said()[-5:]]
    assert said == [("annotated", count) for count in (0, 0, 1, 0, 0)]


def test_a_success_ends_loops_that_a_worker_remembers(bench: Any, proxy: Proxy) -> None:
    said = [bench.ask(proxy.port, "/v1/turns", "POST", LARGE, KNOWN) for _ in range(4)]
    assert [b'"attempt":2' in one for one in said] == [False, True, False, False]
    assert [corrected(one) for one in said] == [True, True, False, True]


def test_a_small_body_that_unfolds_is_a_large_one(bench: Any, proxy: Proxy) -> None:
    for worker in proxy.workers:
        os.kill(worker, signal.SIGKILL)
    assert eventually(lambda: proxy.workers == [])
    headers = JSON + b"Content-Encoding: gzip\r\n"
    assert corrected(bench.ask(proxy.port, "/v1/x", "POST", gzip.compress(SMALL), headers))
    assert proxy.workers == []
    assert corrected(bench.ask(proxy.port, "/v1/x", "POST", gzip.compress(LARGE), headers))
    assert len(proxy.workers) == 1


def test_what_a_worker_has_no_place_for_is_fetched_from_the_front(bench: Any, proxy: Proxy) -> None:
    for number in range(2):
        answer = bench.ask(proxy.port, "/v1/list", "POST", LARGE, JSON)
        assert answer.endswith(b'[{"message":"m"}]')
        link = re.search(rb"Link: <([^>]+)>", answer)
        assert link is not None, answer
        fetched = bench.ask(proxy.port, link[1].decode())
        assert fetched.startswith(b"HTTP/1.1 200 OK\r\n"), number
        assert b'"recovery"' in fetched


def test_a_worker_that_stands_still_holds_nobody_up_and_its_death_costs_one_correction(
    bench: Any, proxy: Proxy
) -> None:
    bench.ask(proxy.port, "/v1/x", "POST", LARGE, JSON)
    workers = proxy.workers
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    answers: list[bytes] = []
    waiting = threading.Thread(target=lambda: answers.append(bench.ask(proxy.port, "/v1/x", "POST", LARGE, JSON)))
    waiting.start()
    for number, name in enumerate(OF_ITS_KIND):
        assert bench.ask(proxy.port, "/v1/ok").endswith(b"{}")
        headers = JSON + b"Authorization: Bearer still%d\r\n" % number
        assert corrected(bench.ask(proxy.port, f"/v1/{name}", "POST", SMALL, headers))
    assert answers == []
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    waiting.join(60)
    assert answers == [bench.message(b"400 Bad Request", JSON, NATIVE)]
    headers = JSON + b"Authorization: Bearer next%d\r\n"
    assert all(corrected(bench.ask(proxy.port, "/v1/x", "POST", LARGE, headers % number)) for number in range(4))
    assert not set(workers) & set(proxy.workers)
    assert [one["error"][:22] for one in proxy.said() if one["error"]] == ["the worker broke off ("]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_the_proxy_whatever_they_do(bench: Any, tmp_path: Path, how: signal.Signals) -> None:
    with started(bench, tmp_path, "1") as proxy:
        bench.ask(proxy.port, "/v1/x", "POST", LARGE, JSON)
        servers, worker = proxy.servers, proxy.workers[0]
        assert len(servers) == 2
        os.kill(worker, signal.SIGSTOP)
        if how is signal.SIGTERM:
            native = bench.message(b"400 Bad Request", JSON, NATIVE)
            assert bench.ask(proxy.port, "/v1/x", "POST", LARGE, JSON) == native
            last = proxy.said()[-1]
            assert last["error"] == last["reason"] == "took over 1000 ms, and the worker was ended"
            assert eventually(lambda: not lives(worker))
        proxy.process.send_signal(how)
        assert proxy.process.wait(60) == (0 if how is signal.SIGTERM else -how)
        assert eventually(lambda: not any(map(lives, (*servers, worker))))


def test_the_death_of_a_fork_server_costs_one_correction_at_most(bench: Any, tmp_path: Path) -> None:
    with started(bench, tmp_path) as proxy:
        bench.ask(proxy.port, "/v1/x", "POST", LARGE, JSON)
        (first,) = (server for server in proxy.servers if children(server))
        os.kill(first, signal.SIGKILL)
        assert corrected(bench.ask(proxy.port, "/v1/x", "POST", SMALL, JSON))
        bench.ask(proxy.port, "/v1/x", "POST", LARGE, JSON)  # the worker may be gone before it is known to be
        headers = JSON + b"Authorization: Bearer next%d\r\n"
        assert all(corrected(bench.ask(proxy.port, "/v1/x", "POST", LARGE, headers % number)) for number in range(2))
        assert first not in proxy.servers


def test_without_any_fork_server_answers_pass(bench: Any, tmp_path: Path) -> None:
    with started(bench, tmp_path) as proxy:
        for server in proxy.servers:
            os.kill(server, signal.SIGKILL)
        assert eventually(lambda: not proxy.servers)
        assert bench.ask(proxy.port, "/v1/x", "POST", LARGE, JSON) == bench.message(b"400 Bad Request", JSON, NATIVE)
        assert corrected(bench.ask(proxy.port, "/v1/x", "POST", SMALL, JSON))
        proxy.process.terminate()
        assert proxy.process.wait(60) == 0


def test_a_worker_reads_header_fields_without_mitmproxy() -> None:
    from corrigible.proxy.mitm.messages import FieldList

    fields = FieldList(((b"Accept", b"*/*"), (b"X", b"\xff")))
    copy = pickle.loads(pickle.dumps(fields))
    assert (type(copy), copy) == (list, [("Accept", "*/*"), ("X", "\udcff")])
