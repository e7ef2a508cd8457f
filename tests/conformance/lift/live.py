"""The tasks of a domain played on its real server: who solves them without the feedback, and who with it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from corrigible.conformance.cli import main
from corrigible.conformance.lift.log import ADVISED, UNOBTAINABLE
from corrigible.conformance.lift.task import TASKS, Task, read_tasks


def tasks_of(domain: str) -> tuple[Task, ...]:
    return tuple(read_tasks(TASKS / f"{domain}.yaml").tasks)


def played(domain: str, out: Path) -> list[dict[str, Any]]:
    """Let three agents play every task of a domain in two arms, and return the episodes.

    `test_audit` audits all packs and tasks: it is not done again for each domain.
    """
    run = ["lift", "run", "--domain", domain, "--out", str(out), "--quiet", "--skip-audit"]
    assert main([*run, "--arm", "none,reflective-patches", "--agents", "stubborn,patch-executor,informed"]) == 0
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text("utf-8").splitlines()]
    episodes = [one for one in lines if "outcome" in one]
    assert len(episodes) == 6 * len(tasks_of(domain))
    return episodes


def unexpected(episodes: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return what ended otherwise than it should, or did harm."""
    return [
        (one["task"], one["arm"], one["agent"], one["outcome"], one["why"], one["harm"])
        for one in episodes
        if one["harm"] or (one["outcome"] == "success") != _should_succeed(one)
    ]


def unpromised(episodes: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return what ended otherwise than it should on a server without a pack.

    There only tasks that need nothing promise that scripts can solve them; others they may solve. If a script agrees to
    a suggestion that says that it changes what is wished for, the harm is the script's.
    """
    return [
        (one["task"], one["arm"], one["agent"], one["outcome"], one["why"], one["harm"])
        for one in episodes
        if any(f"{ADVISED} says so" not in line for line in one["harm"])
        or ((one["outcome"] == "success") != _should_succeed(one) and not _is_open(one))
    ]


def _is_open(episode: dict[str, Any]) -> bool:
    if episode["arm"] != "reflective-patches":
        return False
    if episode["agent"] == "stubborn":  # where the proxy is silent, nothing stops whoever repeats
        return "recovery_feedback" not in json.dumps(episode["turns"][-1]["shown"])
    return episode["needs"] in ("prompt", "agent")


ANOTHER_WISH = frozenset({"rate-on-a-day-long-past"})
"""The feedback offers what was not wished for and says so (`changes_intent`). A script agrees to it, and is wrong."""


def _should_succeed(episode: dict[str, Any]) -> bool:
    if episode["task"] in ANOTHER_WISH and episode["arm"] == "reflective-patches":
        return episode["agent"] == "stubborn" and _breaks(episode)
    if episode["needs"] in UNOBTAINABLE:  # to stop is all there is to do
        return episode["agent"] != "stubborn" or _breaks(episode)
    solvers = {"nothing": ("patch-executor", "informed"), "prompt": ("informed",), "agent": ()}[episode["needs"]]
    return episode["arm"] == "reflective-patches" and episode["agent"] in solvers


def _breaks(episode: dict[str, Any]) -> bool:
    """Whether a loop breaker stops whoever repeats a refused call: where there is feedback, unless all is done."""
    last = episode["turns"][-1]["shown"]
    return episode["arm"] == "reflective-patches" and "ALREADY_DONE" not in json.dumps(last)
