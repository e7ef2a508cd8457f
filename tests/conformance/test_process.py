"""Subjects are started, waited for and stopped, however badly they behave."""

from __future__ import annotations

import os
import shlex
import socket
import sys
import time
from pathlib import Path

import pytest

from corrigible.conformance.model.outcome import Outcome, Role, UsageError
from corrigible.conformance.suite.config import SubjectConfig
from corrigible.conformance.suite.fixture import SubjectSpec, running_subject
from corrigible.conformance.suite.record import Verdict
from corrigible.conformance.suite.runner import Rules, choose, run
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.transport.http1 import HttpRequest
from corrigible.conformance.transport.process import ServerProcess, accepts, free_port, words
from corrigible.conformance.validators.finding import Finding
from tests._support.rows import rows

from .made import CLAUSES, check, head

BAD = Path(__file__).with_name("bad_subject.py")


def launched(behaviour: str, *, wait: float = 10.0, grace: float = 5.0) -> ServerProcess:
    port = free_port()
    command = [sys.executable, str(BAD), behaviour, str(port)]
    return ServerProcess(command, address=f"127.0.0.1:{port}", wait=wait, grace=grace)


def test_a_free_port_is_none_that_a_kernel_hands_out_by_itself() -> None:
    """It would be lost to whoever connects somewhere before the program listens."""
    range_of_the_kernel = Path("/proc/sys/net/ipv4/ip_local_port_range")
    least = int(range_of_the_kernel.read_text().split()[0]) if range_of_the_kernel.exists() else 49152
    assert all(1024 < free_port() < least for _ in range(50))


def start(behaviour: str) -> str:
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(BAD))} {behaviour} {{port}}"


def gone(pid: int) -> bool:
    """Whether a process is there no more, or is only waiting for its parent to look."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_subject_is_there_inside_and_gone_outside() -> None:
    with launched("answers") as one:
        assert accepts(one.address) is None
        assert one.ended() is None
    assert accepts(one.address) is not None
    assert "ready" in one.last_words()


def test_one_that_dies_is_told_with_its_last_words() -> None:
    with pytest.raises(UsageError) as told, launched("dies"):
        pass
    assert "the subject ended with exit status 3 before it accepted connections at 127.0.0.1:" in str(told.value)
    assert "no such upstream" in str(told.value)


def test_one_that_never_listens_is_given_up_and_stopped() -> None:
    one = launched("never-listens", wait=0.3)
    with (
        pytest.raises(
            UsageError, match=r"does not listen at 127\.0\.0\.1:\d+ after 0\.3 s .*\n    \(it wrote nothing\)"
        ),
        one,
    ):
        pass
    assert one.ended() is not None


def test_one_that_ignores_the_polite_signal_is_killed() -> None:
    with launched("is-stubborn", grace=0.2) as one:
        pass
    assert one.ended() == "was killed by SIGKILL"


def test_its_children_go_with_it() -> None:
    with launched("has-a-child") as one:
        child = int(one.output().split("child ")[1].split()[0])
        os.kill(child, 0)
    until = time.monotonic() + 60
    while not gone(child) and time.monotonic() < until:
        time.sleep(0.01)
    assert gone(child)


def test_a_program_that_is_not_there_is_named() -> None:
    with (
        pytest.raises(UsageError, match="could not be started: No such file or directory: no-such-program --x"),
        ServerProcess(["no-such-program", "--x"], address="127.0.0.1:1"),
    ):
        pass


def test_words_are_filled_in_within_their_word() -> None:
    assert words("run --a {suite}/x '{port} y'", {"suite": "/a b", "port": "1"}) == ["run", "--a", "/a b/x", "1 y"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("run {upstrem}", r'\{upstrem\} is nothing the suite fills in; did you mean "upstream"\? \(there are \{port\}'),
        ("run {", "start: "),
        ("run 'x", "No closing quotation"),
    ],
)
def test_what_cannot_be_filled_in_is_told(command: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        words(command, {"port": "1", "upstream": "u"})


# on the stage


def asks(id: str) -> Check:
    def ask(subject: Subject) -> list[Finding]:
        got = subject.wire.send(HttpRequest("GET", "/"), timeout=1)
        return [] if got.status == 200 else [Finding("SRF-TRN-03", got.error or "another status")]

    return check(id, ask)


def test_a_subject_that_dies_while_it_is_judged_is_no_failure_of_the_check() -> None:
    spec = SubjectSpec("http-json", "producer", SubjectConfig(start=start("dies-when-asked")))
    found = run(head(), choose([spec], [asks("a/x"), asks("a/y")], CLAUSES), Rules(CLAUSES), stage=running_subject)
    assert [entry.outcome for entry in found.entries] == [Outcome.NOT_RUN] * 2
    assert found.entries[0].reason == "the subject ended with exit status 4 while this ran; its last line: cannot go on"
    assert "while a/x ran" in (found.entries[1].reason or "")
    assert found.foot.verdict is Verdict.COULD_NOT_TELL
    assert found.foot.last_words["http-json"].endswith("cannot go on")


def test_a_mute_subject_is_told_by_the_check() -> None:
    spec = SubjectSpec("http-json", "producer", SubjectConfig(start=start("is-mute")))
    found = run(head(), choose([spec], [asks("a/x")], CLAUSES), Rules(CLAUSES), stage=running_subject)
    assert "timed out" in found.entries[0].flaws[0].message
    assert found.entries[0].trace[0].who == "to the subject"


def test_a_proxy_gets_an_upstream_of_its_own_and_settings_reach_the_check() -> None:
    config = SubjectConfig(start=start("answers") + " {upstream}", settings={"a": 1})
    with running_subject(SubjectSpec("http-json", "proxy", config, settings={"a": 0, "b": 2})) as staged:
        subject = staged.subject
        assert subject.config == {"a": 1, "b": 2}
        assert subject.wire.send(HttpRequest("GET", "/")).status == 200
        assert subject.direct is not None
        assert subject.direct.send(HttpRequest("GET", "/v1/items")).status == 200
        assert [one.sent.target for one in subject.suite_upstream.requests] == ["/v1/items"]
        assert [who for who, _ in subject.trace] == ["to the subject", "straight to the upstream"]
        assert "> GET /v1/items" in subject.trace[1][1]
        assert "< 200 OK" in subject.trace[1][1]


def test_a_target_that_runs_already_is_not_started_and_not_stopped() -> None:
    with (
        launched("answers") as one,
        running_subject(SubjectSpec("http-json", "producer", SubjectConfig(target=f"http://{one.address}"))) as staged,
    ):
        assert staged.subject.wire.send(HttpRequest("GET", "/")).status == 200
        assert staged.ended() is None


@rows(
    ("config", "said"),
    [
        (SubjectConfig(), "http-json: nothing to judge: give --target URL"),
        (SubjectConfig(target="ftp://x"), "ftp://x: not http://host:port"),
        (
            SubjectConfig(target="http://127.0.0.1:1"),
            "nothing accepts connections at http://127.0.0.1:1: Connection refused",
        ),
        (SubjectConfig(target="http://127.0.0.1:1", upstream_listen="0.0.0.0:80"), "listens on 127.0.0.1:PORT only"),
        (SubjectConfig(target="http://127.0.0.1:1", upstream_listen="127.0.0.1:x"), "listens on 127.0.0.1:PORT only"),
        (SubjectConfig(target="http://127.0.0.1:1", upstream_listen=":70000"), "listens on 127.0.0.1:PORT only"),
    ],
)
def test_what_cannot_be_reached_is_told(config: SubjectConfig, said: str) -> None:
    role: Role = "proxy" if config.upstream_listen else "producer"
    with pytest.raises(UsageError, match=said), running_subject(SubjectSpec("http-json", role, config)):
        pass


def test_an_upstream_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        config = SubjectConfig(target="http://127.0.0.1:1", upstream_listen=f"127.0.0.1:{port}")
        said = f"the suite's upstream cannot listen on 127.0.0.1:{port}: Address already in use"
        with pytest.raises(UsageError, match=said), running_subject(SubjectSpec("http-json", "proxy", config)):
            pass
