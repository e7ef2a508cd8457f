"""Loops in several processes: a success in one ends them in all."""

from __future__ import annotations

import pytest

from corrigible.proxy.core.loop import detector as shared
from corrigible.proxy.core.loop.detector import SharedLoops
from tests._support.repeater import Agent


def test_a_success_is_reported_for_callers_with_loops_elsewhere() -> None:
    loops = SharedLoops(b"k")
    told: list[tuple[str, str]] = []
    loops.report_successes_to(lambda caller, place: told.append((caller, place)))
    loops.mark_remote("elsewhere")
    Agent(loops, caller="here").refused()
    assert (loops.has_loop("elsewhere"), loops.has_loop("here"), loops.has_loop("nobody")) == (True, True, False)
    for caller in ("elsewhere", "here", "nobody"):
        loops.succeeded(caller, "Refund")
    assert told == [("elsewhere", "Refund")]
    assert not loops.has_loop("here"), "what is counted here ends here"


def test_there_may_be_loops_where_none_is_counted_here() -> None:
    """Who asks whether a success could end any must hear of those in other processes."""
    loops = SharedLoops(b"k")
    assert not loops
    loops.mark_remote("elsewhere")
    assert loops


def test_without_a_keeper_nothing_is_reported() -> None:
    loops = SharedLoops(b"k")
    loops.mark_remote("elsewhere")
    loops.succeeded("elsewhere", "Refund")
    assert loops.has_loop("elsewhere")


def test_the_callers_refused_longest_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "MOST", 2)
    loops = SharedLoops(b"k")
    for caller in ("a", "b", "a", "c"):
        loops.mark_remote(caller)
    assert [loops.has_loop(caller) for caller in "abc"] == [True, False, True]
