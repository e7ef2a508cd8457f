"""Subjects that hold connections: one sentence, and no waiting at every check."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from corrigible.conformance.model.outcome import CouldNotTell, Outcome
from corrigible.conformance.report.write import Growing, wanted
from corrigible.conformance.suite import runner
from corrigible.conformance.suite.fixture import Fixture, RunningSubject, SubjectSpec, TracingClient
from corrigible.conformance.suite.record import Entry, Record
from corrigible.conformance.suite.runner import Rules, choose, holding, run
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.transport.http1 import HttpClient, HttpRequest
from corrigible.conformance.transport.process import free_port
from corrigible.conformance.validators.finding import Finding

from .made import CLAUSES, broken, check, finding, head, spec

ENDLESS = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nand so on"
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
GET = HttpRequest("GET", "/")


@contextmanager
def server(says: bytes) -> Iterator[int]:
    """Take every connection, say this, and hold it."""
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    held.append(connection)
                    connection.sendall(says)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)
        for one in held:
            one.close()


SHORT, LONG = 0.2, 60.0
"""Seconds for who never answers, and for who does, on whatever machine."""
SAID = [
    (b"", SHORT, "takes connections and holds them: a plain GET had no answer after 0.2 s"),
    (ENDLESS, 2.0, "does not end its answers: the one to a plain GET had no end after 2 s"),
    (WHOLE, LONG, None),
    (b"what?\r\n\r\n", LONG, None),
]


@pytest.mark.parametrize(("says", "timeout", "expected"), SAID)
def test_who_holds_a_connection_is_told_from_who_answers(says: bytes, timeout: float, expected: str | None) -> None:
    with server(says) as port:
        subject = Subject("proxy", "http-json", target=HttpClient(f"http://127.0.0.1:{port}"))
        assert holding(subject, timeout=timeout) == (f"the subject {expected}" if expected else None)


@pytest.mark.parametrize(("says", "timeout"), [(b"", SHORT), (b"\x00\x00\x00\x04\x00\x00\x00\x00\x00", LONG)])
def test_over_http2_a_first_frame_is_an_answer(says: bytes, timeout: float) -> None:
    with server(says) as port:
        found = holding(Subject("proxy", "grpc", grpc=f"127.0.0.1:{port}"), timeout=timeout)
    assert (found is None) is bool(says)


def test_who_is_not_there_holds_nothing() -> None:
    port = free_port()
    assert holding(Subject("proxy", "http-json", target=HttpClient(f"http://127.0.0.1:{port}"))) is None
    assert holding(Subject("proxy", "grpc", grpc=f"127.0.0.1:{port}")) is None
    assert holding(Subject("pack", "http-json")) is None


def test_an_answer_that_drips_is_over_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.sendall(ENDLESS)
                while True:
                    connection.sendall(b".")
                    over.wait(0.02)

        over = threading.Event()
        threading.Thread(target=drip, daemon=True).start()
        got = HttpClient(f"http://127.0.0.1:{listener.getsockname()[1]}").send(GET, timeout=2)
        over.set()
    assert got.status == 200 and got.error is not None and "timed out" in got.error
    assert 1.9 < got.seconds < 60


def staged(port: int) -> Fixture:
    @contextmanager
    def stage(spec: SubjectSpec) -> Iterator[RunningSubject]:
        subject = Subject(spec.role, spec.profile)
        subject.target = TracingClient(f"http://127.0.0.1:{port}", "to it", subject.note, subject.overdue)
        yield RunningSubject(subject)

    return stage


def asking(times: int, *, timeout: float = 0.05) -> Callable[[Subject], Iterator[Finding]]:
    def ask(subject: Subject) -> Iterator[Finding]:
        for _ in range(times):
            got = subject.wire.send(GET, timeout=timeout)
            if got.error is not None and times == 1:
                raise CouldNotTell(got.error)
        yield from ()

    return ask


def judged(port: int, *checks: Check, rules: Rules | None = None) -> Record:
    return run(head(), choose([spec()], checks, CLAUSES), rules or Rules(CLAUSES), stage=staged(port))


def test_after_one_check_all_others_are_told_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "TIMEOUT", 0.2)
    never = check("a/z", broken())
    with server(b"") as port:
        found = judged(port, check("a/x", asking(1)), check("a/y", asking(50)), never)
    reasons = [entry.reason or "" for entry in found.entries]
    assert "timed out" in reasons[0]
    assert reasons[1] == reasons[2]
    assert reasons[1].startswith("the subject takes connections and holds them: a plain GET had no answer after")


def test_a_check_waits_three_times_and_what_it_found_stands() -> None:
    with server(WHOLE) as port, server(b"") as mute:
        other = HttpClient(f"http://127.0.0.1:{mute}")

        def ask(subject: Subject) -> Iterator[Finding]:
            yield finding()
            for _ in range(50):
                got = other.send(GET, timeout=0.02)
                subject.overdue(got.error or "")

        found = judged(port, check("a/x", ask), check("a/y", asking(1, timeout=LONG)))
    first, second = found.entries
    assert first.outcome is Outcome.FAILED and len(first.flaws) == 1
    assert "3 requests of this check had no whole answer in time" in first.remarks[0]
    assert second.outcome is Outcome.PASSED


def test_a_run_ends_in_time() -> None:
    with server(WHOLE) as port:
        found = judged(port, check("a/x"), check("a/y"), rules=Rules(CLAUSES, limit=-1))
    assert {entry.reason for entry in found.entries} == {"the time for the whole run was over after -1 s"}
    assert found.foot.verdict.value == "could not tell"


def test_a_record_grows_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lengths: list[int] = []

    def heard(entry: Entry) -> None:
        growing.add(entry)
        lengths.append(len(path.read_text("utf-8").splitlines()))

    with Growing(wanted([f"json={path}"]), head()) as growing:
        assert len(path.read_text("utf-8").splitlines()) == 1
        chosen = choose([spec()], [check("a/x"), check("a/y")], CLAUSES)
        with server(WHOLE) as port:
            run(head(), chosen, Rules(CLAUSES), stage=staged(port), listener=heard)
    assert lengths == [2, 3]
