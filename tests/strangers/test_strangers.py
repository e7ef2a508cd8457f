"""Servers that nobody of this project wrote, with nothing but their descriptions: recorded refusals, replayed.

What was right stays right. What is not is listed in the data with its reason (`missed`), until it is right.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests._support.rows import check_rows

from .case import FOLDER, Case, Stranger, confirmed_sentence, load, names, total_row
from .judge import judge
from .replay import replay

NAMES = names()
PAGE = (FOLDER.parents[1] / "docs/servers.md").read_text("utf-8")


@cache
def stranger(name: str) -> Stranger:
    return load(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_server_is_answered_as_recorded(name: str) -> None:
    """All its cases: what is right stays right, and what is missed does no harm."""
    server = stranger(name)

    def check(case: Case) -> None:
        episode = replay(name, server, case)
        verdict = judge(case, episode)
        if not case.missed:
            assert verdict.right, episode
            assert verdict.confirmed is case.confirmed, "`python -m tests.strangers.record NAME` puts it right"
            return
        assert not verdict.right, "it is right now: remove its `missed`, and change the figures in docs/servers.md"
        assert not verdict.harm, episode
        assert verdict.fault == case.fault, episode

    check_rows(((case.name, case) for case in server.cases), check)


def test_the_page_has_the_figures_of_the_data() -> None:
    def check(server: Stranger) -> None:
        first, now = server.first_run, server.figures()
        assert (first.refusals, first.repairable, first.others) == (now.refusals, now.repairable, now.others)
        assert server.row() in PAGE.splitlines()

    check_rows(((name, stranger(name)) for name in NAMES), check)


@pytest.mark.parametrize(("kind", "is_rpc"), [("HTTP servers", False), ("gRPC servers", True)])
def test_the_page_has_the_sums(kind: str, is_rpc: bool) -> None:
    assert total_row(kind, [one for one in map(stranger, NAMES) if one.is_rpc is is_rpc]) in PAGE.splitlines()


def test_the_page_says_how_many_repairs_take_a_yes() -> None:
    assert confirmed_sentence(list(map(stranger, NAMES))) in " ".join(PAGE.split())


def test_the_page_has_no_other_servers() -> None:
    rows = re.findall(r"^\|.+\| \d+ of \d+, \d+ of \d+ \| \d+ of \d+, \d+ of \d+ \|.+\|$", PAGE, re.MULTILINE)
    assert len(rows) == len(NAMES) + 2  # and the sums
