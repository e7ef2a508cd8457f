"""Loops in several processes: a success in one ends them in all."""

from __future__ import annotations

import pytest

from corrigible.proxy.core.loop import shared
from corrigible.proxy.core.loop.shared import LoopsApart
from tests._support.repeater import Agent


def test_a_success_is_reported_for_callers_with_loops_elsewhere() -> None:
    loops = LoopsApart(b"k")
    told: list[tuple[str, str]] = []
    loops.apart(lambda caller, place: told.append((caller, place)))
    loops.handed_over("elsewhere")
    Agent(loops, caller="here").refused()
    assert (loops.knows("elsewhere"), loops.knows("here"), loops.knows("nobody")) == (True, True, False)
    for caller in ("elsewhere", "here", "nobody"):
        loops.succeeded(caller, "Refund")
    assert told == [("elsewhere", "Refund")]
    assert not loops.knows("here"), "what is counted here ends here"


def test_without_a_keeper_nothing_is_reported() -> None:
    loops = LoopsApart(b"k")
    loops.handed_over("elsewhere")
    loops.succeeded("elsewhere", "Refund")
    assert loops.knows("elsewhere")


def test_the_callers_refused_longest_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "MOST", 2)
    loops = LoopsApart(b"k")
    for caller in ("a", "b", "a", "c"):
        loops.handed_over(caller)
    assert [loops.knows(caller) for caller in "abc"] == [True, False, True]
