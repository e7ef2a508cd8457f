"""Tasks on servers that nobody here wrote: each is refused, repeating solves none, and what the feedback says does."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from corrigible.conformance.cli import main
from corrigible.conformance.lift import task as lift
from corrigible.conformance.lift.task import TaskFile, read_tasks

FILES = Path(lift.__file__).with_name("tasks")


@pytest.fixture(params=["stripe", "github"])
def tasks(request: pytest.FixtureRequest) -> TaskFile:
    return read_tasks(FILES / f"{request.param}.yaml")


def test_there_are_enough_of_each_kind(tasks: TaskFile) -> None:
    kinds = Counter(task.needs for task in tasks.tasks)
    assert len(tasks.tasks) >= 14
    assert kinds["nothing"] >= 8 and kinds["prompt"] >= 3 and kinds["impossible"] >= 3
    assert all(bool(task.facts) == (task.needs == "prompt") for task in tasks.tasks)


def test_what_is_impossible_is_told_by_what_stays_as_it_is(tasks: TaskFile) -> None:
    assert all(task.kept for task in tasks.tasks if task.needs == "impossible")


def test_the_feedback_is_enough_and_nothing_else_is(tasks: TaskFile, tmp_path: Path) -> None:
    run = ["lift", "run", "--domain", tasks.domain, "--out", str(tmp_path), "--quiet"]
    assert main([*run, "--arms", "none,reflective-patches", "--agents", "stubborn,patch-executor,informed"]) == 0
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text("utf-8").splitlines()]
    episodes = [one for one in lines if "outcome" in one]
    assert len(episodes) == 6 * len(tasks.tasks)
    wrong = [
        (one["task"], one["arm"], one["agent"], one["outcome"], one["why"], one["harm"])
        for one in episodes
        if one["harm"] or (one["outcome"] == "success") != _should_succeed(one["needs"], one["arm"], one["agent"])
    ]
    assert wrong == []


def _should_succeed(needs: str, arm: str, agent: str) -> bool:
    if needs == "impossible":
        return agent != "stubborn"  # who has to be stopped
    solvers = {"nothing": ("patch-executor", "informed"), "prompt": ("informed",)}[needs]
    return arm == "reflective-patches" and agent in solvers
