"""Tasks on a real kube-apiserver and a real etcd: each is refused, and what the feedback says is enough."""

from __future__ import annotations

import base64
import json
from collections import Counter
from pathlib import Path

import pytest

from corrigible.conformance.cli import main
from corrigible.conformance.lift import task as lift
from corrigible.conformance.lift.task import TaskFile, fill, read_tasks
from corrigible.conformance.lift.world import worlds

FILES = Path(lift.__file__).with_name("tasks")


@pytest.fixture(params=["kubernetes", "etcd"])
def tasks(request: pytest.FixtureRequest) -> TaskFile:
    return read_tasks(FILES / f"{request.param}.yaml")


def test_there_are_enough_of_each_kind(tasks: TaskFile) -> None:
    kinds = Counter(task.needs for task in tasks.tasks)
    assert len(tasks.tasks) >= 14
    assert kinds["nothing"] >= 8 and kinds["prompt"] >= 3 and kinds["impossible"] >= 3
    assert all(bool(task.facts) == (task.needs == "prompt") for task in tasks.tasks)
    assert all(task.kept for task in tasks.tasks if task.needs == "impossible")


def test_bytes_are_written_as_the_text_that_they_are() -> None:
    filled = fill({"key": "{base64:/{tenant}/mode}", "lease": "{lease}"}, {"tenant": "e1", "lease": "7"})
    assert filled == {"key": base64.b64encode(b"/e1/mode").decode(), "lease": "7"}


def test_nobody_signs_in_with_a_token_that_was_never_saved() -> None:
    etcd = worlds()["etcd"]
    assert etcd.credentials("agent", {"tenant": "e1"}) == {}
    assert etcd.credentials("agent", {"token": "t.1"}) == {"token": "t.1"}


def test_the_feedback_is_enough_and_nothing_else_is(tasks: TaskFile, tmp_path: Path) -> None:
    if lacking := worlds()[tasks.domain].lacks():
        pytest.skip(lacking)
    run = ["lift", "run", "--domain", tasks.domain, "--out", str(tmp_path), "--quiet"]
    assert main([*run, "--arms", "none,reflective-patches", "--agents", "stubborn,patch-executor,informed"]) == 0
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text("utf-8").splitlines()]
    episodes = [one for one in lines if "outcome" in one]
    assert len(episodes) == 6 * len(tasks.tasks)
    wrong = [
        (one["task"], one["arm"], one["agent"], one["outcome"], one["why"], one["harm"])
        for one in episodes
        if one["harm"] or (one["outcome"] == "success") != _should_succeed(one)
    ]
    assert wrong == []


def _should_succeed(episode: dict[str, str]) -> bool:
    if episode["needs"] == "impossible":
        return episode["agent"] != "stubborn" or episode["ending"].startswith("stopped by loop breaker")
    solvers = {"nothing": ("patch-executor", "informed"), "prompt": ("informed",)}[episode["needs"]]
    return episode["arm"] == "reflective-patches" and episode["agent"] in solvers
