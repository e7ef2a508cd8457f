"""No verdict depends on the order of checks, or on the time that one has before it is ended and runs again."""

from __future__ import annotations

import ast
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from corrigible.conformance.model.background import awaited, pause, repeated_beside
from corrigible.conformance.model.outcome import NotApplicable, Outcome
from corrigible.conformance.model.yaml_file import SUITE
from corrigible.conformance.reference.upstream import Listener, Pause, Received, Script, Upstream, answer
from corrigible.conformance.suite.config import SubjectConfig
from corrigible.conformance.suite.fixture import Fixture, RunningSubject, SubjectSpec, running_subject
from corrigible.conformance.suite.record import Record
from corrigible.conformance.suite.runner import Rules, choose, run
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.transport.grpc import GrpcCall, GrpcClient
from corrigible.conformance.transport.http1 import HttpClient, HttpRequest, RawConnection
from corrigible.conformance.transport.http2 import Caller
from corrigible.conformance.transport.process import ServerProcess, StdioProgram, completed, free_port
from corrigible.conformance.validators.finding import Finding
from tests._support.rows import rows

from .made import CLAUSES, OTHER, broken, check, finding, head, spec
from .test_process import gone, start

ENDLESS = "import time\nprint(flush=True)\nwhile True: time.sleep(1)"


def stage_of(target: Upstream) -> Fixture:
    @contextmanager
    def stage(spec: SubjectSpec) -> Iterator[RunningSubject]:
        yield RunningSubject(Subject(spec.role, spec.profile, target=HttpClient(target.url)))

    return stage


def judged(target: Upstream, *checks: Check, **rules: float) -> Record:
    return run(head(), choose([spec()], checks, CLAUSES), Rules(CLAUSES, **rules), stage=stage_of(target))  # type: ignore[arg-type]


ASKED: list[str] = []
"""Who asks, in order. What an ended check sent last, an upstream may read later than what the next check sends."""


def asking(id: str, times: int, *more: Finding) -> Check:
    """A check that asks so often, and finds it wrong if somebody else asks meanwhile."""

    def ask(subject: Subject) -> Iterator[Finding]:
        before = len(ASKED)
        for _ in range(times):
            ASKED.append(id)
            subject.wire.send(HttpRequest("GET", f"/{id}"))
        asked = ASKED[before:]
        if asked != [id] * times:
            yield finding("Somebody else asked meanwhile.", got=list(asked))
        yield from more

    return check(id, ask)


def unable(id: str) -> Check:
    def ask(subject: Subject) -> Iterator[Finding]:
        subject.wire.send(HttpRequest("GET", f"/{id}"))
        raise NotApplicable("nothing to look at")
        yield

    return check(id, ask)


@settings(max_examples=15, deadline=None)
@given(
    order=st.randoms(use_true_random=False),
    times=st.lists(st.sampled_from([0, 1, 3, 30]), min_size=3, max_size=6),
    timeout=st.sampled_from([0.0, 0.001, 0.01, 0.03, 0.1, 60.0]),
    fails=st.booleans(),
)
def test_every_order_and_every_limit_gives_the_same_verdict(
    order: random.Random, times: list[int], timeout: float, fails: bool
) -> None:
    with Upstream(lambda received: answer(200, {})) as target:
        checks = [asking(f"a/{number}", count) for number, count in enumerate(times)]
        checks += [unable("b/0"), check("c/0", about=OTHER)]
        checks += [asking("d/0", 10, finding())] * fails
        usual = judged(target, *checks)
        order.shuffle(checks)
        found = judged(target, *checks, check_timeout=timeout)
    assert {e.check: e.outcome for e in found.entries} == {e.check: e.outcome for e in usual.entries}
    assert [flaw.message for e in found.entries for flaw in e.flaws] == ["The status is another one."] * fails
    assert (found.foot.verdict, found.foot.level, found.foot.claim) == (
        usual.foot.verdict,
        usual.foot.level,
        usual.foot.claim,
    )


def once_late(subject: Subject, times: list[int]) -> Iterator[Finding]:
    """Wait without end at the first attempt: whether that is late does not depend on the machine."""
    times.append(1)
    if len(times) == 1:
        pause(600)
    yield from ()


def test_what_was_slow_is_told_as_slow_and_nothing_else() -> None:
    times: list[int] = []
    with Upstream(lambda received: answer(200, {})) as target:
        slow = check("a/slow", lambda subject: once_late(subject, times))
        found = judged(target, slow, check("a/quick"), check_timeout=1)
    assert [(entry.check, entry.outcome) for entry in found.entries] == [
        ("a/quick", Outcome.PASSED),
        ("a/slow", Outcome.PASSED),
    ]
    assert found.entries[1].remarks == ["slow: a/slow did not end within 1 s, was ended, and ran again."]
    assert found.entries[0].remarks == []


# What a check has open ends with it.

Opens = Callable[[Subject, list[Callable[[], bool]]], None]
"""Opens something and waits for it without end; adds what tells whether it is gone."""


def raw(subject: Subject, ended: list[Callable[[], bool]]) -> None:
    with RawConnection(subject.wire, timeout=600) as connection:
        ended.append(lambda: connection._socket is not None and connection._socket.fileno() == -1)
        connection.say(b"GET /never HTTP/1.1\r\nHost: a\r\n\r\n")
        connection.rest()


def request(subject: Subject, ended: list[Callable[[], bool]]) -> None:
    ended.append(lambda: True)
    subject.wire.send(HttpRequest("GET", "/never"), timeout=600)


def http2(subject: Subject, ended: list[Callable[[], bool]]) -> None:
    with _Frames("frames") as listener, Caller(("127.0.0.1", listener.port)) as caller:
        ended.append(lambda: caller.wire.fileno() == -1)
        caller.next(600)


class _Frames(Listener):
    def _serve(self, connection: object) -> None:
        connection.sendall(b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")  # type: ignore[attr-defined]
        while connection.recv(65536):  # type: ignore[attr-defined]
            pass


def grpc(subject: Subject, ended: list[Callable[[], bool]]) -> None:
    with _Frames("mute") as listener, GrpcClient(f"127.0.0.1:{listener.port}") as client:
        ended.append(lambda: not listener._thread.is_alive())
        client.send(GrpcCall("/a.B/C", (b"",)), timeout=600)


def stream(subject: Subject, ended: list[Callable[[], bool]]) -> None:
    with _Frames("mute") as listener, GrpcClient(f"127.0.0.1:{listener.port}") as client:
        ended.append(lambda: not listener._thread.is_alive())
        client.send(GrpcCall("/a.B/C", (b"", b"")), timeout=600)


def reader(subject: Subject, ended: list[Callable[[], bool]]) -> None:
    with StdioProgram([sys.executable, "-c", "while True: input()"], timeout=600) as program:
        assert program._process is not None
        pid = program._process.pid
        ended.append(lambda: gone(pid))
        program.ask({"id": "1"})


def command(subject: Subject, ended: list[Callable[[], bool]]) -> None:
    pid_file = Path(str(subject.config["folder"])) / "pid"
    program = f"import os; open({str(pid_file)!r}, 'w').write(str(os.getpid()))\n{ENDLESS}"
    ended.append(lambda: not pid_file.exists() or gone(int(pid_file.read_text() or "0")))
    completed([sys.executable, "-c", program], 600)


def server(subject: Subject, ended: list[Callable[[], bool]]) -> None:
    port = free_port()
    bad = Path(__file__).with_name("bad_subject.py")
    with ServerProcess([sys.executable, str(bad), "is-stubborn", str(port)], address=f"127.0.0.1:{port}") as running:
        ended.append(lambda: running.ended() is not None)
        pause(600)


def never_there(subject: Subject, ended: list[Callable[[], bool]]) -> None:
    address = f"127.0.0.1:{free_port()}"
    running = ServerProcess([sys.executable, "-c", ENDLESS], address=address, wait=600)
    ended.append(lambda: running.ended() is not None)
    with running:
        pass


def listener(subject: Subject, ended: list[Callable[[], bool]]) -> None:
    with Upstream() as own:
        ended.append(lambda: not own._thread.is_alive())
        HttpClient(own.url).send(HttpRequest("GET", "/"))
        awaited(threading.Event(), 600)


def thread(subject: Subject, ended: list[Callable[[], bool]]) -> None:
    def call() -> None:
        subject.wire.send(HttpRequest("GET", "/beside"))

    with repeated_beside(call, every=0.001, timeout=5, name="beside of a test"):
        ended.append(lambda: not any(one.name == "beside of a test" for one in threading.enumerate()))
        pause(600)


def computing(subject: Subject, ended: list[Callable[[], bool]]) -> None:
    ended.append(lambda: True)
    while True:
        with suppress(Exception):
            subject.seed += 1


def stubborn(subject: Subject, ended: list[Callable[[], bool]]) -> None:
    """Swallow what goes wrong, and go on."""
    ended.append(lambda: True)
    while True:
        with suppress(Exception):
            subject.wire.send(HttpRequest("GET", "/again"))


OF_PROCESSES = (reader, command, server, never_there)
OPENS: tuple[Opens, ...] = (
    raw, request, http2, grpc, stream, reader, command, server, never_there, listener, thread, computing, stubborn
)  # fmt: skip


@rows("opens", OPENS, ids=lambda one: one.__name__)
def test_a_check_that_timed_out_has_ended_with_all_it_opened_before_the_next_starts(
    opens: Opens, tmp_path: Path
) -> None:
    """It opens at its first attempt alone. The next check looks whether anything of it is left."""
    ended: list[Callable[[], bool]] = []
    attempts: list[threading.Thread] = []
    seen: list[bool] = []

    def ask(subject: Subject) -> Iterator[Finding]:
        attempts.append(threading.current_thread())
        if len(attempts) == 1:
            subject.config = {"folder": str(tmp_path)}
            opens(subject, ended)
            yield finding("It went on.")

    def looks(subject: Subject) -> Iterator[Finding]:
        seen.extend([*(one() for one in ended), not attempts[0].is_alive()])
        before = len(target.requests)
        subject.wire.send(HttpRequest("GET", "/mine"))
        pause(0.05)
        if [received.sent.target for received in target.requests[before:]] != ["/mine"]:
            yield finding("Somebody else still asks.")

    def serve(received: Received) -> Script:
        return Script((Pause(600),)) if received.sent.target == "/never" else answer(200, {})

    with Upstream(serve) as target:
        timeout = 1.0 if opens in OF_PROCESSES else 0.4  # long enough to open it, where the machine is not busy
        found = judged(target, check("a/opens", ask), check("a/looks", looks), check_timeout=timeout)
    assert all(seen)
    assert {entry.check: entry.outcome for entry in found.entries} == {
        "a/looks": Outcome.PASSED,
        "a/opens": Outcome.PASSED,
    }
    assert len(attempts) == 2


def test_one_that_never_ends_is_not_run_and_the_others_are() -> None:
    def ask(subject: Subject) -> Iterator[Finding]:
        while True:
            pause(600)
        yield

    with Upstream() as target:
        found = judged(target, check("a/x", ask), check("a/y"), check_timeout=0.5, longest=1)
    assert [(entry.check, entry.outcome) for entry in found.entries] == [
        ("a/y", Outcome.PASSED),
        ("a/x", Outcome.NOT_RUN),
    ]
    assert found.entries[1].reason == "did not end within 1 s"


def test_what_was_asked_half_is_asked_anew() -> None:
    """A check that was ended leaves nothing behind for those that look at the same answers."""
    first = threading.Event()

    def ask(subject: Subject) -> Iterator[int]:
        for number in range(3):
            yield number
            if number == 1 and not first.is_set():
                first.set()
                pause(600)

    def looks(subject: Subject) -> Iterator[Finding]:
        if list(subject.each("numbers", lambda: ask(subject))) != [0, 1, 2]:
            yield finding()

    with Upstream() as target:
        found = judged(target, check("a/x", looks), check("a/y", looks), check_timeout=0.2)
    assert [entry.outcome for entry in found.entries] == [Outcome.PASSED] * 2


def test_a_subject_that_a_check_kills_is_there_for_the_others() -> None:
    def kills(subject: Subject) -> Iterator[Finding]:
        subject.wire.send(HttpRequest("GET", "/"), timeout=5)
        yield finding()

    checks = [check("a/kills", kills), check("a/quiet"), check("a/kills-too", kills), check("a/ill", broken())]
    subject = SubjectSpec("http-json", "producer", SubjectConfig(start=start("dies-when-asked")))
    found = []
    for order in (checks, checks[::-1]):
        record = run(head(), choose([subject], order, CLAUSES), Rules(CLAUSES), stage=running_subject)
        found.append({entry.check: entry.outcome.value for entry in record.entries})
    assert found[0] == found[1]
    assert found[0] == {"a/kills": "not run", "a/kills-too": "not run", "a/quiet": "passed", "a/ill": "failed"}


def test_callers_of_a_subject_that_is_set_up_anew_are_others() -> None:
    callers: list[str] = []

    def ask(subject: Subject) -> Iterator[Finding]:
        callers.append(subject.caller()[1])
        if len(callers) == 1:
            pause(600)
        yield from ()

    with Upstream() as target:
        judged(target, check("a/x", ask), check("a/y", ask), check_timeout=0.2)
    assert len(set(callers)) == len(callers) >= 3  # more where the second one was late, too


def test_a_subject_that_runs_on_has_not_met_the_callers_of_the_next_run() -> None:
    """A loop breaker counts by caller, and remembers."""
    first, second = (Subject("producer", "http-json", seed=7) for _ in range(2))
    assert first.caller() != second.caller()


def test_checks_open_nothing_that_does_not_end_with_them() -> None:
    """Connections, threads, programs and sleep come from modules that end them with the check."""
    forbidden = {
        ("threading", "Thread"),
        ("socket", "create_connection"),
        ("subprocess", "run"),
        ("subprocess", "Popen"),
        ("time", "sleep"),
        ("grpc", "insecure_channel"),
    }
    homes = {"http1.py", "background.py", "process.py", "stdio_program.py", "grpc.py"}
    used = {
        (path.name, node.value.id, node.attr)
        for folder in ("checks", "validators", "transport", "audit")
        for path in (SUITE / folder).rglob("*.py")
        if path.name not in homes or folder != "transport"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    assert {one for one in used if one[1:] in forbidden} == set()
