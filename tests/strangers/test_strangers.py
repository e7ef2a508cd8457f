"""Servers that nobody of this project wrote, with nothing but their descriptions: recorded refusals, replayed.

What was right stays right. What is not is listed in the data with its reason (`missed`), until it is right.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from .case import FOLDER, Case, Stranger, confirmed_sentence, load, names, total_row
from .judge import judge
from .replay import replay

STRANGERS = {name: load(name) for name in names()}
PAGE = (FOLDER.parents[1] / "docs/servers.md").read_text("utf-8")


def cases(*, missed: bool) -> list[Any]:
    return [
        pytest.param(name, stranger, case, id=f"{name}: {case.name}")
        for name, stranger in STRANGERS.items()
        for case in stranger.cases
        if bool(case.missed) is missed
    ]


@pytest.mark.parametrize(("name", "stranger", "case"), cases(missed=False))
def test_what_is_right_stays_right(name: str, stranger: Stranger, case: Case) -> None:
    episode = replay(name, stranger, case)
    verdict = judge(case, episode)
    assert verdict.right, episode
    assert verdict.confirmed is case.confirmed, "`python -m tests.strangers.record NAME` puts it right"


@pytest.mark.parametrize(("name", "stranger", "case"), cases(missed=True))
def test_what_is_missed_does_no_harm(name: str, stranger: Stranger, case: Case) -> None:
    episode = replay(name, stranger, case)
    verdict = judge(case, episode)
    assert not verdict.right, "this case is right now: remove its `missed`, and change the figures in docs/servers.md"
    assert not verdict.harm, episode
    assert verdict.fault == case.fault, episode


@pytest.mark.parametrize("name", STRANGERS)
def test_the_page_has_the_figures_of_the_data(name: str) -> None:
    stranger = STRANGERS[name]
    first, now = stranger.first_run, stranger.figures()
    assert (first.refusals, first.repairable, first.others) == (now.refusals, now.repairable, now.others)
    assert stranger.row() in PAGE.splitlines()


@pytest.mark.parametrize(("kind", "is_rpc"), [("HTTP servers", False), ("gRPC servers", True)])
def test_the_page_has_the_sums(kind: str, is_rpc: bool) -> None:
    assert total_row(kind, [one for one in STRANGERS.values() if one.is_rpc is is_rpc]) in PAGE.splitlines()


def test_the_page_says_how_many_repairs_take_a_yes() -> None:
    assert confirmed_sentence(list(STRANGERS.values())) in " ".join(PAGE.split())


def test_the_page_has_no_other_servers() -> None:
    rows = re.findall(r"^\|.+\| \d+ of \d+, \d+ of \d+ \| \d+ of \d+, \d+ of \d+ \|.+\|$", PAGE, re.MULTILINE)
    assert len(rows) == len(STRANGERS) + 2  # and the sums
