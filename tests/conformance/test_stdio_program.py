"""Programs that do not answer as they ought to: each is told clearly, in time, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from corrigible.conformance.model.outcome import CouldNotTell
from corrigible.conformance.transport.process import NoAnswer, StdioProgram
from tests._support.rows import rows

ECHO = """
import json, sys
for line in sys.stdin:
    id = json.loads(line)["id"]
    {}
    sys.stdout.flush()
"""
GOOD = "print(json.dumps({'id': id, 'next': {}}))"


def python(body: str) -> list[str]:
    return [sys.executable, "-c", body]


def answering(body: str) -> list[str]:
    return python(ECHO.format(body))


def asked(command: list[str], *, timeout: float = 5.0, times: int = 1) -> list[Mapping[str, object] | NoAnswer]:
    with StdioProgram(command, timeout=timeout) as respondent:
        return [respondent.ask({"id": f"q{n}"}) for n in range(times)]


def test_answers_come_in_order_from_one_process() -> None:
    command = answering("import os; print(json.dumps({'id': id, 'pid': os.getpid()}))")
    answers = asked(command, times=3)
    assert [answer["id"] for answer in answers if not isinstance(answer, NoAnswer)] == ["q0", "q1", "q2"]
    assert len({answer["pid"] for answer in answers if not isinstance(answer, NoAnswer)}) == 1


BAD = {
    "crashes": (
        python("import sys; sys.stdin.readline(); sys.exit('no such option: shop')"),
        "ended with status 1 instead of answering; it said last: no such option: shop",
    ),
    "raises": (
        answering("raise KeyError('next')"),
        "ended with status 1 instead of answering; it said last: KeyError: 'next'",
    ),
    "ends": (python("pass"), "ended with status 0 instead of answering"),
    "is killed": (
        answering("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"),
        "was ended by SIGKILL instead of answering",
    ),
    "closes its output": (
        answering("import os, time; os.close(1); time.sleep(60)"),
        "closed its output without an answer, and runs on",
    ),
    "garbage": (answering("print('ready.')"), "answered with a line that is no JSON: ready."),
    "python's own notation": (answering("print({'id': id})"), "answered with a line that is no JSON: {'id': 'q0'}"),
    "not a number": (answering('print(\'{"id": "q0", "next": NaN}\')'), "answered with a line that is no JSON"),
    "an array": (answering("print(json.dumps([id]))"), 'answered with JSON that is no object: ["q0"]'),
    "an empty line": (answering("print()"), "answered with a line that is no JSON: "),
    "bytes that are no text": (
        answering(r"sys.stdout.buffer.write(b'\xff\xfe\n')"),
        "answered with a line that is no JSON: \N{REPLACEMENT CHARACTER}",
    ),
    "wrong id": (answering("print(json.dumps({'id': 7}))"), 'answered with the id 7 when it was asked "q0"'),
    "no id": (answering("print('{}')"), 'answered with the id null when it was asked "q0"'),
    "splits its answer": (
        answering("print(json.dumps({'id': id, 'next': {}}, indent=2))"),
        "answered with a line that is no JSON: {",
    ),
    "no end of line": (
        python('import sys; sys.stdin.readline(); sys.stdout.write(\'{"id": "q0"}\')'),
        'left its answer without an end of line: {"id": "q0"}',
    ),
    "nests without end": (answering("print('[' * 100000)"), "answered with a line that is no JSON: [[["),
}


@rows("name", BAD)
def test_what_is_no_answer_is_told(name: str) -> None:
    command, said = BAD[name]
    (answer,) = asked(command)
    assert isinstance(answer, NoAnswer)
    assert answer.message.startswith(said)
    assert len(answer.message) < 400


SLOW = {
    "hangs": answering("import time; time.sleep(60)"),
    "reads nothing": python("import time; time.sleep(60)"),
    "waits for the end of its input": python("import sys; sys.stdin.read(); print('{}')"),
    "does not flush": python("import sys, time; sys.stdin.readline(); sys.stdout.write('{}'); time.sleep(60)"),
    "ignores the wish to end": python(
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    ),
}


@pytest.mark.parametrize("name", SLOW)
def test_what_takes_too_long_is_told(name: str) -> None:
    (answer,) = asked(SLOW[name], timeout=0.4)
    assert isinstance(answer, NoAnswer)
    assert answer.message.startswith("did not answer within 0.4 seconds; each line is to be answered")


def test_a_program_that_does_not_read_a_long_question_stops_nobody() -> None:
    with StdioProgram(SLOW["reads nothing"], timeout=0.4) as respondent:
        answer = respondent.ask({"id": "q", "long": "x" * 1_000_000})
    assert isinstance(answer, NoAnswer)


def test_an_answer_that_comes_in_pieces_is_one_answer() -> None:
    pieces = "out = json.dumps({'id': id}) + chr(10)\n    for piece in out: sys.stdout.write(piece); sys.stdout.flush()"
    assert asked(answering(pieces), times=2) == [{"id": "q0"}, {"id": "q1"}]


def test_after_no_answer_the_next_question_goes_to_a_new_process() -> None:
    swapped = "print(json.dumps({'id': {'q0': 'q1'}.get(id, id)}))"
    first, second = asked(answering(swapped), times=2)
    assert first == NoAnswer('answered with the id "q1" when it was asked "q0"')
    assert second == {"id": "q1"}


def test_a_second_line_for_one_question_is_no_answer_to_the_next() -> None:
    first, second = asked(answering(f"{GOOD}; {GOOD}"), times=2)
    assert first == {"id": "q0", "next": {}}
    assert second == NoAnswer('answered with the id "q0" when it was asked "q1"')


def runs(pid: int) -> bool:
    """Whether there is such a process, dead ones that nobody waited for apart."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_its_children_are_gone_afterwards(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    child = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    parent = (
        f"import subprocess, sys, os; subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        f"while not (os.path.exists({str(note)!r}) and os.path.getsize({str(note)!r})): pass\n"
        'sys.stdin.readline(); print(\'{"id": "q0"}\', flush=True); sys.stdin.read()'
    )
    assert asked(python(parent)) == [{"id": "q0"}]
    gone_by = time.monotonic() + 60
    while runs(int(note.read_text())):
        assert time.monotonic() < gone_by


@pytest.mark.parametrize("command", ["no-such-reader", "/", os.devnull])
def test_a_program_that_cannot_be_started_is_nobodys_failure(command: str) -> None:
    with (
        pytest.raises(CouldNotTell, match=re.escape(f"{command} cannot be started: ")),
        StdioProgram([command]),
    ):
        pass
