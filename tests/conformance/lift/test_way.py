"""Calls, wrong turns, stops and goals, computed from logs whose figures are known."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.conformance.lift.log import Episode, Log, Spent
from corrigible.conformance.lift.report import page, terminal
from corrigible.conformance.lift.report.summary import summarise
from corrigible.conformance.lift.resolved_plan import task_files
from corrigible.conformance.lift.stats.conduct import Way, calls_ratio, way
from corrigible.conformance.lift.stats.estimate import equivalence
from corrigible.conformance.lift.stats.group import observations
from corrigible.conformance.lift.task import Asked, asked_of, read_endings
from corrigible.schema.exchange import Request

from .logs import episode, manifest, turn

GIVEN = turn(given=True)
READ = turn(accepted=True, read=True)
FAILED = turn(astray=False)
ASTRAY = turn(astray=True)
SOLVED = turn(accepted=True, astray=False)


def played(task: str, arm: str, *turns: Any, outcome: str = "success", **more: Any) -> Episode:
    return episode(task, arm, outcome=outcome, turns=turns, start="refusal", **more)  # type: ignore[arg-type]


def of(*episodes: Episode) -> Way:
    return way("informed", "verbose", episodes, seed=0)


def test_calls_to_resolution_are_those_of_the_agent_and_of_solved_episodes() -> None:
    found = of(
        played("a", "verbose", GIVEN, READ, READ, FAILED, SOLVED),
        played("b", "verbose", GIVEN, SOLVED),
        played("c", "verbose", GIVEN, FAILED, FAILED, outcome="failure"),
    )
    assert (found.calls.value, found.calls.n) == (2.5, 2)
    assert (found.reads.value, found.refused.value) == (1.0, 0.5)
    assert found.tokens.value is None, "nobody sent a bill"


def test_repeats_of_a_task_weigh_as_one_task() -> None:
    repeats = [played("a", "verbose", READ, READ, SOLVED, seed=seed) for seed in range(3)]
    assert of(*repeats, played("b", "verbose", SOLVED)).calls.value == 2.0


def test_tokens_are_of_solved_episodes_with_a_bill() -> None:
    billed = [
        played(name, "verbose", SOLVED, spent=Spent(input=size, output=1)) for name, size in (("a", 9), ("b", 19))
    ]
    assert of(*billed).tokens.value == 15.0
    assert of(*billed, played("c", "verbose", SOLVED)).tokens.value is None


def test_wrong_turns_count_whether_they_were_taken_or_not() -> None:
    taken = turn(accepted=True, astray=True)
    found = of(
        played("a", "verbose", GIVEN, ASTRAY, taken, SOLVED),
        played("b", "verbose", GIVEN, FAILED, SOLVED),
        played("c", "verbose", ASTRAY, outcome="failure"),
    )
    assert found.wrong_turns.value == 1.0 and found.clean.value == pytest.approx(1 / 3)
    unknown = of(played("a", "verbose", turn(), SOLVED))
    assert unknown.wrong_turns.value is None and unknown.clean.n == 0


def test_stops_claims_and_questions_are_judged_by_what_the_task_is() -> None:
    def ended(name: str, ending: str, needs: str, outcome: str = "failure") -> Episode:
        return played(name, "verbose", FAILED, outcome=outcome, ending=ending, needs=needs)

    found = of(
        ended("a", "impossible: no", "nothing"),
        ended("b", "done: yes", "nothing"),
        ended("c", "", "prompt"),
        ended("d", "needs input: which", "prompt"),
        ended("e", "needs input: who", "restraint", "success"),
        ended("f", "done: yes", "impossible"),
    )
    assert (found.false_stops.value, found.false_stops.n) == (0.5, 4)
    assert found.false_done.value == pytest.approx(2 / 6) and found.false_done.n == 6
    assert (found.asked.value, found.asked.n) == (0.5, 2)


def test_the_ratio_of_calls_is_over_tasks_solved_under_both_and_two_sided() -> None:
    log = [played(name, "verbose", READ, READ, FAILED, SOLVED) for name in "abcdefgh"]
    log += [played(name, "reflective", SOLVED) for name in "abcdefg"]
    log.append(played("h", "reflective", FAILED, outcome="failure"))
    found = calls_ratio("informed", log, "reflective", "verbose", seed=0)
    assert found is not None and (found.ratio.value, found.ratio.low, found.ratio.high, found.ratio.n) == (
        0.25,
    ) * 3 + (7,)
    assert found.exact and found.p == pytest.approx(2 / 2**7)
    assert calls_ratio("informed", log, "reflective", "none", seed=0) is None


def test_a_tie_is_what_two_one_sided_tests_say() -> None:
    def log(flips: int) -> list[Episode]:
        other = ["failure" if n < flips else "success" for n in range(60)]
        return [played(f"t{n}", "reflective", SOLVED) for n in range(60)] + [
            played(f"t{n}", "verbose", SOLVED, outcome=outcome) for n, outcome in enumerate(other)
        ]

    close = equivalence(observations(log(1)), "reflective", "verbose", margin=0.1)
    far = equivalence(observations(log(12)), "reflective", "verbose", margin=0.1)
    assert close is not None and close < 0.001 and far is not None and far > 0.9


def test_registered_goals_are_told_as_they_came_out_in_every_report() -> None:
    log = [played(f"t{n}", "verbose", READ, READ, FAILED, SOLVED) for n in range(11)]
    log.append(played("t11", "verbose", FAILED, outcome="failure"))
    log += [played(f"t{n}", "reflective", SOLVED) for n in range(12)]
    registered = {"primary": ["reflective", "verbose"], "margin": 0.1, "calls_ratio": 0.5, "gain": 0.4}
    ran = manifest().model_copy(update={"plan": {"registered": registered}})
    summary = summarise(Log((ran,), tuple(log)))
    (section,) = summary.sections
    tie, gain, calls = section.goals
    assert tie == "informed: a tie within 10 points of success: not shown, TOST p 0.42, 12 tasks"
    assert gain == "informed: gain of 40 points or more: missed, +8 (+0 to +25), 12 tasks"
    assert calls.startswith(
        "informed: calls at most 0.5 of those under verbose: reached, 0.25 (0.25 to 0.25), 11 tasks"
    )
    assert calls.endswith("without a wrong turn: 100% of 12")
    text = terminal.render(summary)
    assert (
        "Registered before the run" in text and "Calls to resolution" in text and max(map(len, text.split("\n"))) <= 100
    )
    written = page.render(summary, log)
    assert "calls at most 0.5 of those under verbose: reached" in written and "The way to a result" in written
    assert not summarise(Log((ran,), tuple(log)), ("verbose", "reflective")).sections[0].goals, "chosen after the run"


def test_tasks_that_all_came_out_alike_prove_neither_a_tie_nor_a_miss() -> None:
    log = [played(f"t{n}", arm, FAILED, outcome="failure") for n in range(5) for arm in ("verbose", "reflective")]
    registered = {"primary": ["reflective", "verbose"], "margin": 0.1, "gain": 0.4}
    ran = manifest().model_copy(update={"plan": {"registered": registered}})
    (section,) = summarise(Log((ran,), tuple(log))).sections
    assert all(line.endswith("nothing can be said of 5 tasks that all came out alike") for line in section.goals)
    assert len(section.goals) == 2 and section.comparisons[0].tie is None


def test_an_answer_that_could_not_be_read_is_neither_a_stop_nor_a_solution() -> None:
    found = of(played("a", "verbose", FAILED, outcome="failure", ending="unreadable: no call that could be read"))
    assert (found.false_stops.value, found.false_stops.n) == (0.0, 1)


# What a task asks for


def test_a_write_that_no_right_ending_makes_is_none_that_was_asked_for() -> None:
    file = task_files()["github"]
    task = next(task for task in file.tasks if task.id == "issue-with-all-its-marks")
    asked = asked_of(task, read_endings(file)[task.id])
    saved = {"tenant": "e1", "spring": 2}
    assert asked.includes(Request("POST", "/repos/octocat/e1/issues"), saved)
    assert asked.includes(Request("PATCH", "/repos/octocat/e1/issues/7"), saved)
    assert not asked.includes(Request("POST", "/repos/octocat/e1/labels"), saved)
    assert not asked.includes(Request("PATCH", "/repos/octocat/e2/issues/7"), saved)
    assert not asked.includes(Request("PATCH", "/repos/octocat/e1/issues/7/lock"), saved)


def test_grpc_methods_are_compared_by_their_name() -> None:
    asked = Asked((("/etcdserverpb.KV/Put", ""),))
    assert asked.includes(Request("/etcdserverpb.KV/Put", ""), {})
    assert not asked.includes(Request("/etcdserverpb.KV/DeleteRange", ""), {})
