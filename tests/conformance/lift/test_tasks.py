"""The tasks as they are written down: enough of each kind in every domain, each with what its kind needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from corrigible.conformance.lift.environment import environments
from corrigible.conformance.lift.log import UNOBTAINABLE
from corrigible.conformance.lift.resolved_plan import task_files
from corrigible.conformance.lift.task import TASKS, read_endings
from tests._support.rows import rows

from .live import tasks_of

ROOT = Path(__file__).parents[3]
AT_LEAST: Mapping[str, Mapping[str, int]] = {
    "stripe": {"nothing": 8, "prompt": 3, "impossible": 3},
    "github": {"nothing": 8, "prompt": 3, "restraint": 5},
    "kubernetes": {"nothing": 8, "prompt": 3, "impossible": 3, "restraint": 2},
    "etcd": {"nothing": 8, "prompt": 3, "agent": 1, "impossible": 3, "restraint": 1},
    "acme": {"nothing": 10, "prompt": 5, "impossible": 5, "restraint": 3},
    "kinto": {"nothing": 6, "prompt": 5, "agent": 6, "impossible": 3, "restraint": 2},
    "better-auth": {"nothing": 7, "prompt": 5, "agent": 5, "impossible": 3, "restraint": 3},
}
KEPT_BY_ALL = {"acme"}
IN_THE_ABOUT = {"path-in-the-singular"}
"""How paths of the API look is no secret."""


@rows("domain", AT_LEAST)
def test_there_are_enough_of_each_kind(domain: str) -> None:
    tasks, least = tasks_of(domain), AT_LEAST[domain]
    kinds = Counter[str](task.needs for task in tasks)
    assert len(tasks) >= max(14, sum(least.values()))
    assert all(kinds[needs] >= count for needs, count in least.items()), kinds
    assert all(bool(task.facts) == (task.needs == "prompt") for task in tasks)


@rows("domain", AT_LEAST)
def test_what_is_impossible_is_told_by_what_stays_as_it_is(domain: str) -> None:
    assert all(task.kept for task in tasks_of(domain) if task.needs in UNOBTAINABLE or domain in KEPT_BY_ALL)


@pytest.mark.parametrize("domain", [name for name, one in environments().items() if not one.has_pack])
def test_where_no_pack_is_the_audit_searches_for_paraphrases(domain: str) -> None:
    named = {task.id for task in tasks_of(domain) if task.paraphrases}
    assert named == {task.id for task in tasks_of(domain) if task.needs in ("nothing", "agent")} - IN_THE_ABOUT


def test_the_datasheet_counts_what_there_is() -> None:
    sheet = (TASKS / "DATASHEET.md").read_text("utf-8")
    files = task_files()
    for domain, file in files.items():
        kinds = Counter[str](task.needs for task in file.tasks)
        endings = read_endings(file).values()
        told = [sum(len(getattr(one, verdict)) for one in endings) for verdict in ("right", "wrong", "tried")]
        counts = [kinds[needs] for needs in ("nothing", "prompt", "agent", "restraint", "impossible")]
        (line,) = [line for line in sheet.splitlines() if line.startswith(f"| {domain} |")]
        assert line.endswith(" | ".join(map(str, ["", len(file.tasks), *counts, *told])).lstrip() + " |"), line
    total = sum(len(file.tasks) for file in files.values())
    assert total >= 200 and f"{total} tasks" in " ".join((ROOT / "CITATION.cff").read_text("utf-8").split())
    ours = sum(len(files[domain].tasks) for domain in ("acme", "recipe"))
    described = sum(len(file.tasks) for domain, file in files.items() if not environments()[domain].has_pack)
    assert total - ours >= 150 and f"{described} run on two servers without a pack" in sheet
    assert (
        f"{total} tasks." in sheet and f"{total - ours} tasks run on servers of third parties, {ours} on two" in sheet
    )
