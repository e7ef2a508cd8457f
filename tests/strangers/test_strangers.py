"""Servers that nobody of this project wrote, with nothing but their descriptions: recorded refusals, replayed.

How much is right, and that nothing does harm, `make judge` counts (test_gates.py). Here: what was learned is what the
data and the code give, and pages have the figures.
"""

from __future__ import annotations

import json
import math
from collections.abc import Set
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from corrigible.adapters.reader import scorer
from corrigible.rules.wordings import reader
from tests._support.rows import check_rows, rows

from . import learn
from .case import FOLDS, Case, Stranger, fold, load, names
from .judge import Episode
from .page import PAGE, README, read, title, with_reliability, written, written_readme
from .replay import replay, rows_left_out

NAMES = names()
LEARNED = json.loads(learn.WEIGHTS.read_text("utf-8"))
OF_FOLDS = json.loads(learn.FOLD_WEIGHTS.read_text("utf-8"))
QUICK = ("flower", "gobgp", "labgrid", "moby", "optuna", "seaweed", "tensorboard", "torchserve_grpc")
"""Servers whose errors are looked at in seconds, of both kinds."""


@cache
def stranger(name: str) -> Stranger:
    return load(name)


def test_a_description_that_says_nothing_changes_no_answer() -> None:
    servers = {name: stranger(name) for name in NAMES[::8]}
    cases = [(name, case) for name, server in servers.items() if not server.is_rpc for case in server.cases]

    def check(one: tuple[str, Case]) -> None:
        name, case = one
        empty, nothing = (_without_key(replay(name, servers[name], case, known)) for known in ("empty", "nothing"))
        assert empty == nothing

    check_rows(((f"{name}: {case.name}", (name, case)) for name, case in cases), check)


def _without_key(episode: Episode) -> Episode:
    """Return an episode without fingerprints of loops: each detector has a random key of its own."""
    told = (
        one if one.loop is None else one.model_copy(update={"loop": one.loop.model_copy(update={"fingerprint": ""})})
        for one in episode.feedback
    )
    return replace(episode, feedback=tuple(told))


def test_weights_are_finite_and_of_what_was_read() -> None:
    every = LEARNED["weights"]
    assert LEARNED["corpus"] == learn.digest_of_all(OF_FOLDS["corpus"])
    assert list(OF_FOLDS["corpus"]) == NAMES
    assert len(OF_FOLDS["folds"]) == FOLDS
    for one in (LEARNED, *OF_FOLDS["folds"]):
        assert set(one["weights"]) <= set(every)
        assert all(map(math.isfinite, (*one["weights"].values(), *one["calibration"])))
        assert one["calibration"][0] > 0  # what is likelier is surer


@rows("name", QUICK)
def test_evidence_of_a_server_is_what_was_learned_from(name: str) -> None:
    """Of all servers `test_learning_again_finds_the_same` says so every night. `make learn` mends both."""
    found = list(learn.samples([name]))
    assert found
    assert learn.digest(found) == OF_FOLDS["corpus"][name]


def test_what_is_learned_from_does_not_depend_on_what_was_learned() -> None:
    usual = learn.digest(list(learn.samples(["gobgp"])))
    odd = {"weights": dict.fromkeys(LEARNED["weights"], 5.0), "calibration": [1.0, 0.0]}
    with scorer.use(odd):
        assert learn.digest(list(learn.samples(["gobgp"]))) == usual


@pytest.fixture(scope="module")
def learned_again() -> learn.Learned:
    """A minute on one core, so it is a fixture, which has no limit of time."""
    read: dict[str, Set[str]] = {}
    model, folds = learn.learn_all(list(learn.samples(NAMES, read)))
    return learn.Learned(model, {**folds, "rows": learn.rows_of_one(read)})


@pytest.mark.nightly
def test_learning_again_finds_the_same(learned_again: learn.Learned) -> None:
    model, folds = learned_again
    assert folds["corpus"] == OF_FOLDS["corpus"], "make learn"
    for name in ("corpus", "errors", "servers"):
        assert model[name] == LEARNED[name]
    for name in ("reliability", "rows"):
        assert folds[name] == OF_FOLDS[name]
    for found, committed in zip((model, *folds["folds"]), (LEARNED, *OF_FOLDS["folds"]), strict=True):
        assert found["weights"] == pytest.approx(committed["weights"], abs=0.005)
        assert found["calibration"] == pytest.approx(committed["calibration"], abs=0.005)


def test_a_row_that_one_server_alone_needs_is_left_out_for_it() -> None:
    read = {"a": {"en.one", "en.both"}, "b": {"en.both"}}
    assert learn.rows_of_one(read) == {"a": ["en.one"]}
    with rows_left_out(frozenset({"en.missing.is-required"})) as rows:
        assert [one.row for one in reader.read("name is required. 'x' is unknown").said] == ["en.unknown.not-expected"]
    assert rows == {"en.unknown.not-expected"}
    assert reader.read("name is required").said


def test_weights_of_a_fold_have_not_seen_its_servers() -> None:
    """What only servers of one fold have is worth something for the others, and unknown to that fold."""
    here = fold(NAMES[0])

    def sample(name: str) -> learn.Sample:
        said = "only here" if fold(name) == here else "elsewhere"
        return learn.Sample(name, stranger(name).is_rpc, [[said], ["never"]], np.array([True, False]))

    assert sum(fold(name) == here for name in NAMES) >= 3  # fewer are not learned from
    found = learn.learn_all([sample(name) for name in NAMES]).folds["folds"]
    assert [one["weights"].get("only here", 0.0) > 0 for one in found] == [number != here for number in range(FOLDS)]


def test_pages_have_the_figures_of_servers_left_out() -> None:
    """Rows, sums and first runs agree. That the figures are those of the product `make judge` checks."""
    servers, page, readme = [stranger(name) for name in NAMES], PAGE.read_text("utf-8"), README.read_text("utf-8")
    figures = read(page)
    for one in servers:
        first, left_out = one.first_run, figures[title(one)]
        assert (first.repairable, first.others) == (left_out.repairable, left_out.others)
    assert len(figures) == len(servers) + 2  # and the sums
    assert written(page, servers, figures) == page
    assert written_readme(readme, servers, figures) == readme


def test_the_page_says_how_often_the_confident_are_right() -> None:
    page = PAGE.read_text("utf-8")
    assert with_reliability(page, OF_FOLDS["reliability"]) == page


def test_confidence_is_what_was_right() -> None:
    """Of a hundred errors in each range as many are right as was said, give or take what chance gives."""
    for row in OF_FOLDS["reliability"]:
        share = row["right"] / row["errors"]
        give = 1 / math.sqrt(row["errors"]) + 0.02
        assert row["from"] - give <= share <= row["to"] + give, row
