"""Right endings of tasks are scored right and wrong ones wrong, on the real servers.

All of them: `conformance lift audit-scorers`, which CI runs. Here: a few over HTTP and over gRPC, and planted faults.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from corrigible.conformance.cli import main
from corrigible.conformance.lift.environment import environments
from corrigible.conformance.lift.log import UNOBTAINABLE
from corrigible.conformance.lift.resolved_plan import task_files
from corrigible.conformance.lift.scorer_audit import Case, audit, cases
from corrigible.conformance.lift.task import (
    LEAST,
    Ending,
    EndingCall,
    Read,
    Task,
    TaskFile,
    read_endings,
    read_played,
)
from corrigible.conformance.model.outcome import UsageError

from .by_hand import rows

FILES = task_files()
SAMPLE = {
    "etcd": ("switch-over-in-one-step", "all-seats-or-none", "member-that-died"),
    "recipe": ("adv_ctx_001", "adv_impossible_001"),
}


@pytest.mark.parametrize("domain", FILES)
def test_every_task_has_enough_endings_of_both_kinds_and_ways_around_what_is_impossible(domain: str) -> None:
    endings = read_endings(FILES[domain])
    for task in FILES[domain].tasks:
        own = endings[task.id]
        assert len(own.right) >= LEAST and len(own.wrong) >= LEAST, task.id
        assert bool(own.tried) is (task.needs in UNOBTAINABLE), task.id


@pytest.mark.parametrize("domain", SAMPLE)
def test_a_few_are_scored_as_they_must_be(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    if lacking := environments()[domain].why_unavailable():
        pytest.skip(lacking)
    words = [word for task in SAMPLE[domain] for word in ("--task", task)]
    assert main(["lift", "audit-scorers", domain, *words]) == 0, capsys.readouterr().out
    assert f"endings of {len(SAMPLE[domain])} tasks, 0 scored wrongly" in capsys.readouterr().out


def test_thirty_were_played_by_hand_through_the_desk() -> None:
    by_domain = {domain: read_played(domain) for domain in FILES}
    assert sum(map(len, by_domain.values())) == 30 and all(by_domain.values())
    assert {one.start for tasks in by_domain.values() for one in tasks.values()} == {"wish", "refusal"}


@pytest.mark.nightly
def test_what_was_played_by_hand_is_scored_as_it_must_be_when_it_is_played_once_more() -> None:
    played = read_played("recipe")
    found = [
        row
        for start in ("wish", "refusal")
        for row in rows(FILES["recipe"], {name: one for name, one in played.items() if one.start == start}, start)
    ]
    assert len(found) == 2 * len(played) and all(row.as_it_must for row in found), found


# Planted faults: the scorers of earlier days, and endings that are not what they are called.


def chosen(task: str, domain: str = "recipe") -> list[Case]:
    file = FILES[domain]
    return [case for case in cases(file, read_endings(file)) if case.task.id == task]


def scored(changed: Callable[[Task], Task], task: str, domain: str = "recipe") -> list[str]:
    file = FILES[domain]
    found = [
        Case(case.domain, changed(case.task), case.expected, case.name, case.ending) for case in chosen(task, domain)
    ]
    return [str(finding) for finding in audit(found, file, environments()[domain])]


def test_a_scorer_that_compares_words_or_order_is_found() -> None:
    def as_it_was(task: Task) -> Task:
        assert task.accepted is not None
        body = {**task.accepted["body"], "ingredients": [{}, {"name": "eggs", "amount": 2}, {"unit": "cups"}]}
        return task.model_copy(update={"accepted": {**task.accepted, "body": body}})

    found = scored(as_it_was, "adv_ctx_001")
    assert len(found) == 1 and "right: another brand, another order: is scored failure" in found[0]


def test_a_scorer_that_takes_anything_is_found() -> None:
    lax = scored(lambda task: task.model_copy(update={"accepted": {}}), "adv_ctx_001")
    assert [line.rpartition(": is scored")[2] for line in lax] == [" as success, without harm"] * 2


def test_a_task_that_is_possible_and_called_impossible_is_found() -> None:
    file = FILES["recipe"]
    (first, *_) = chosen("adv_impossible_001")
    way = Ending(calls=(EndingCall(set={"/body/ingredients/0/name": "chickpea flour"}),))
    loose = first.task.model_copy(update={"accepted": {"path": "/api/recipe/convert"}})
    found = audit([Case("recipe", loose, "tried", "chickpeas", way)], file, environments()["recipe"])
    assert [str(one) for one in found] == [
        "recipe/adv_impossible_001 tried: chickpeas: brings about what cannot be had"
    ]


def test_an_ending_whose_calls_go_otherwise_than_it_says_is_found() -> None:
    file = FILES["recipe"]
    (first, *_) = chosen("adv_ctx_002")
    same = Ending(calls=(EndingCall(),))
    easy = Ending(calls=(EndingCall(set={"/body/target_cuisine": "thai"}, refused=True),))
    named = [Case("recipe", first.task, "wrong", "same", same), Case("recipe", first.task, "wrong", "easy", easy)]
    found = [str(one) for one in audit(named, file, environments()["recipe"])]
    assert "wrong: same: call 1 was refused: 200" in found[0] and "wrong: easy: call 1 was accepted" in found[1]


# Files


def written(folder: Path, text: str) -> TaskFile:
    (folder / "recipe.yaml").write_text(text, "utf-8")
    return FILES["recipe"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("adv_ctx_009: {}", "there is no task adv_ctx_009"),
        ("adv_ctx_001: {right: {a: []}, wrong: {a: [], b: []}}", "adv_ctx_001.right: .*at least 2"),
        ("adv_ctx_001: {right: {a: [], b: []}, wrong: {a: [], b: []}}", "no endings of adv_ctx_002"),
        ("adv_ctx_001: {right: {a: [{method: GET, set: {/x: 1}}], b: []}, wrong: {a: [], b: []}}", "not both"),
        ("adv_impossible_001: {right: {a: [], b: []}, wrong: {a: [], b: []}}", "no way around that was tried"),
    ],
)
def test_a_file_that_is_wrong_is_said(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_endings(written(tmp_path, text), tmp_path)


def test_a_call_is_the_tasks_own_with_edits() -> None:
    task = next(task for task in FILES["recipe"].tasks if task.id == "adv_ctx_002")
    call = EndingCall.model_validate(
        {"set": {"/body/ingredients/1/name": "cream", "/body/note/by": "me", "/body/ingredients/-": {"name": "x"}}}
    )
    request = call.request(task, {}, form=False)
    assert request.path == task.request.path
    assert [one["name"] for one in request.body["ingredients"]] == ["potatoes", "cream", "garlic clove", "x"]
    assert request.body["note"] == {"by": "me"} and task.request.body["ingredients"][1]["name"] == "coconut milk"


def test_reads_may_name_what_was_read_before_and_have_an_alternative() -> None:
    read = Read.model_validate(
        {
            "read": {"method": "GET", "path": "/a"},
            "save": {"at": "/id"},
            "alternative": {"read": {"method": "GET", "path": "/b/{at}"}, "status": 404},
        }
    )
    assert read.alternative is not None and read.alternative.status == 404
