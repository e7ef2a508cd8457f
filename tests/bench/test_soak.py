"""The soak tells growth from noise, and its traffic is answered as it should be."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.bench.soak import CALLS, FULL, Held, Sample, Tally, grows, growth, memory, problems, slope, soak, tree, vary


def samples(at_first: float, a_minute: float, minutes: float = 10) -> list[Sample]:
    """Return what is held, every two seconds: a start that takes a while, noise, and a rate."""
    times = [2.0 * number for number in range(int(minutes * 30))]
    return [Sample(t, at_first + min(t, 60) / 2 + a_minute * t / 60 + (t % 7 - 3) / 3) for t in times]


def test_growth_is_told_from_a_start_and_from_noise() -> None:
    assert slope(samples(100, 3.5)) == pytest.approx(3.5, abs=0.1)
    assert grows(samples(100, 3.5))
    assert not grows(samples(100, 0.0))
    assert not grows(samples(100, -1.0))
    assert not grows(samples(100, 3.5)[:2]) and not grows([])


def test_what_a_process_and_its_children_hold_is_counted() -> None:
    child = "import subprocess, sys; held = 'x' * (30 << 20); subprocess.run([sys.executable, '-c', 'input()'])"
    with subprocess.Popen([sys.executable, "-c", child], stdin=subprocess.PIPE) as process:
        while len(tree(process.pid)) < 2:
            pass
        assert os.getpid() not in tree(process.pid)
        assert 30 < memory(process.pid) < 200
        process.communicate(b"\n\n")
    assert memory(process.pid) == 0


def test_growth_counts_from_when_all_is_full() -> None:
    held = [Held(0, {1: 90.0}), Held(FULL + 9, {1: 120.0, 2: 95.0}), Held(2 * FULL, {1: 122.0, 2: 103.0, 3: 300.0})]
    assert growth(held) == 8.0
    assert growth(held[:2]) == growth([]) == 0.0


def test_varied_refusals_are_answered() -> None:
    held = vary("mitmproxy", 60, 0.05)
    assert held[-1].refusals >= 60 and max(held[-1].mib.values()) > 20


def test_mixed_traffic_is_answered_and_explained() -> None:
    lines: list[str] = []
    measured, tally, _ = soak(2.0, 0.1, lines.append)
    assert not tally.wrong
    assert {"a list", "by a rule with a look-up", "gRPC, refused"} <= set(tally.done)
    assert tally.explained["gRPC, refused"] and tally.explained["by the description alone"]
    assert {title: len(found) > 1 and found[-1].mib > 20 for title, found in measured.items()} == {
        "HTTP": True,
        "gRPC": True,
    }
    assert lines[0].endswith("MiB")


def test_what_makes_it_fail_is_named() -> None:
    tally = Tally()
    tally.note("a list", explained=False, wrong="502")
    for call in CALLS:
        tally.note(call.name, explained=call.explained)
    assert problems({"HTTP": samples(100, 3.5)}, tally, 0.5) == [
        "HTTP: memory grows by 3.50 MiB a minute",
        "1 times a list: 502",
    ]
    assert problems({"HTTP": samples(100, 0)}, Tally(), 0.5)[0] == "by a rule with a look-up: never explained"
