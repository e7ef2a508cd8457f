"""Lines for people: what each says, and how many there are of them."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any

from corrigible.proxy.access_log.entry import Entry, Verdict
from corrigible.proxy.access_log.statistics import OTHER, Recorder, Statistics
from corrigible.proxy.access_log.terminal import MOST_PER_SECOND, Terminal
from tests._support.rows import rows

REFUSED = Entry(1_700_000_000.25, "x", "GET", "/v1/a?key=1", 404, "untouched", 1.0, reason="no rule matches")


def annotated(**feedback: Any) -> Entry:
    return replace(REFUSED, outcome="annotated", feedback=feedback, rules=("a.b",), reason=None, correction=0.000812)


WAIT = {"recovery": "transient", "retry": {"after_seconds": 5}, "suggestions": [{"action": "WAIT_AND_RETRY"}]}
LATE = "over the time limit of 1 s (--time-limit): took 1445 ms"
LINES = {
    "404 GET /v1/a unchanged: no rule matches": REFUSED,
    "404 GET /v1/a (ListA) unchanged: no rule matches": replace(REFUSED, operation="ListA"),
    "404 GET /v1/a unchanged: no reason is known": replace(REFUSED, reason=None),
    "404 GET /v1/a unchanged, an error of Corrigible: KeyError: 1": replace(REFUSED, error="KeyError: 1"),
    "404 GET /v1/a unchanged: over the time limit of 1 s (--time-limit): took 1445 ms": replace(
        REFUSED, error=LATE, reason=LATE
    ),
    "404 GET /v1/\\u001b[31m unchanged: no rule matches": replace(REFUSED, path="/v1/\x1b[31m"),
    "NOT_FOUND /a.B/C unchanged: no rule matches": replace(REFUSED, method="GRPC", path="/a.B/C", code="NOT_FOUND"),
    "404 GET /v1/a try again in 5 s: WAIT_AND_RETRY (a.b) [812 µs]": annotated(**WAIT),
    "404 GET /v1/a no retry helps: ESCALATE (a.b) [812 µs]": annotated(
        recovery="terminal", suggestions=[{"action": "ESCALATE"}]
    ),
    "404 GET /v1/a asks for a value: MODIFY_PARAMS (a.b) [2 look-ups, 1.5 s]": replace(
        annotated(suggestions=[{"action": "MODIFY_PARAMS", "placeholders": [{"pointer": "/body/a"}]}]),
        correction=1.5,
        lookups=2,
    ),
    "404 GET /v1/a no retry helps, attempt 4: ESCALATE [812 µs]": replace(
        annotated(recovery="terminal", suggestions=[{"action": "ESCALATE"}], loop={"attempt": 4}), rules=()
    ),
    "404 GET /v1/a asks for a choice: A, B (a.b) [812 µs]": annotated(
        type="intent_disambiguation", suggestions=[{"action": "A"}, {"action": "B"}, {"action": "A"}]
    ),
    "404 GET /v1/a no correction, attempt 3, the caller has to read the answer: MODIFY_PARAMS [812 µs]": replace(
        annotated(type="confidence_signal", suggestions=[{"action": "MODIFY_PARAMS"}], loop={"attempt": 3}), rules=()
    ),
}


@rows("line", LINES)
def test_a_line_tells_what_was_said_or_why_nothing_was(line: str) -> None:
    told = shown([LINES[line]])
    assert [re.sub(r"^\d\d:\d\d:\d\d ", "", one) for one in told] == [line]


def test_what_has_no_correction_is_not_counted_as_corrected() -> None:
    signal = annotated(type="confidence_signal", recovery="correctable", suggestions=[{"action": "MODIFY_PARAMS"}])
    assert signal.verdict is Verdict.ASKED


def shown(entries: list[Entry]) -> list[str]:
    reading, writing = os.pipe()
    terminal = Terminal(writing)
    os.close(writing)
    for entry in entries:
        terminal.write(entry)
    terminal.close()
    with open(reading, encoding="utf-8") as lines:
        return lines.read().splitlines()


def test_a_storm_is_told_by_its_beginning_and_a_number() -> None:
    lines = shown([REFUSED] * (MOST_PER_SECOND + 700) + [replace(REFUSED, time=REFUSED.time + 1)])
    assert len(lines) == MOST_PER_SECOND + 2
    assert lines[-2] == "corrigible proxy: 700 more refusals in that second (--log FILE writes all)"


def test_a_storm_that_ends_in_another_order_is_a_storm() -> None:
    entries = [replace(REFUSED, time=REFUSED.time + number % 2) for number in range(20 * MOST_PER_SECOND)]
    assert len(shown(entries)) < 3 * MOST_PER_SECOND


def test_a_failure_that_repeats_is_told_again_after_a_while() -> None:
    failed = replace(REFUSED, status=None, outcome="failed", failure="connection refused")
    times = (0, 1, 2, 11, 12)
    lines = [line[9:] for line in shown([replace(failed, time=failed.time + seconds) for seconds in times])]
    told = "502 GET /v1/a no answer from the API: connection refused"
    last = "corrigible proxy: no answer from the API, 1 more: connection refused"
    assert lines == [told, f"{told} (2 more since then)", last[9:]]


def test_callers_who_left_and_successes_are_no_lines() -> None:
    gone = replace(REFUSED, status=None, outcome="failed")
    assert (gone.verdict, shown([gone, replace(REFUSED, status=200)])) == (Verdict.GONE, [])


def test_what_callers_send_does_not_fill_the_memory() -> None:
    recorder = Recorder()
    for number in range(5000):
        recorder.write(replace(REFUSED, operation=f"Op{number}"))
    assert len(recorder.statistics.unchanged) < 1000
    assert recorder.statistics.unchanged.total() == recorder.statistics.refusals == 5000
    assert any(kind.operation == OTHER for kind in recorder.statistics.unchanged)
    assert len(list(recorder.statistics.summary())) < 10


def test_lines_of_a_closed_stream_and_mistakes_concern_nobody() -> None:
    class Broken:
        def write(self, entry: Entry) -> None:
            raise RuntimeError

        close = None

    reading, writing = os.pipe()
    os.close(reading)
    recorder = Recorder(None, Terminal(writing), [Broken()])  # type: ignore[list-item]
    recorder.write(REFUSED)
    recorder.close()
    os.close(writing)
    assert recorder.statistics.refusals == 1


def test_refusals_that_took_too_long_are_one_kind() -> None:
    counts = Statistics()
    for milliseconds in (1445, 1502, 20311):
        late = f"over the time limit of 1 s (--time-limit): took {milliseconds} ms"
        counts.write(replace(REFUSED, reason=late))
    assert [*counts.summary()][1:] == [
        "unchanged: 3 x 404 unknown operation: over the time limit of 1 s (--time-limit)",
    ]
