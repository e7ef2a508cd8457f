"""Papers and runs computed again: what matches is said to match, and what was changed is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from corrigible.conformance.cli import main
from corrigible.conformance.lift import reproduction
from corrigible.conformance.lift.log import read
from corrigible.conformance.lift.plan import read_plan
from corrigible.conformance.lift.reproduction import (
    Figure,
    Table,
    by_arm,
    outcome_differences,
    plan_differences,
    rendered,
)
from corrigible.conformance.lift.stats.estimate import Counts
from tests._support.rows import rows

from .logs import episode

PLANS = Path(__file__).parents[3] / "conformance" / "plans"


def test_every_figure_of_both_papers_that_has_counts_matches(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lift", "reproduce", "papers"]) == 0
    out = capsys.readouterr().out
    for title in ("Table 1", "Table 2", "Table 3", "Table 4", "Figure 1", "Figure 2", "Figure 3"):
        assert f"\n{title}: " in f"\n{out}"
    assert "  mismatch" not in out and out.splitlines()[-1].startswith("match: ")
    assert "claude-haiku-4-5 95 %, low    printed     1.05  computed        -  not given" in out


def test_a_count_that_is_one_off_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = reproduction.RECIPE["gpt-4o-mini"]
    monkeypatch.setitem(reproduction.RECIPE, "gpt-4o-mini", {**cells, "verbose": Counts(16, 30)})
    wrong = [one.name for table in reproduction.recipe_tables() for one in table.figures if one.verdict == "mismatch"]
    assert "gpt-4o-mini verbose" in wrong and "gpt-4o-mini reflective - verbose p" in wrong
    assert not [name for name in wrong if "claude" in name]
    assert list(rendered(reproduction.recipe_tables()))[-1].startswith("mismatch: ")


@rows(
    ("printed", "computed", "to", "verdict"),
    [
        ("0.0011", 0.00114, "", "match"),
        ("0.0011", 0.00116, "", "mismatch"),
        ("2.4e-12", 2.44e-12, "", "match"),
        ("2.4e-12", 2.46e-12, "", "mismatch"),
        ("1.0", 0.968, "", "match"),
        ("40", 40.5, "1e1", "match"),
        ("40", 46.0, "1e1", "mismatch"),
        ("1.05", None, "", "not given"),
    ],
)
def test_a_figure_matches_to_the_digits_that_were_printed(
    printed: str, computed: float | None, to: str, verdict: str
) -> None:
    assert Figure("x", printed, computed, to).verdict == verdict


def test_what_cannot_be_computed_is_neither_right_nor_wrong() -> None:
    *_, last = rendered([Table("T", [Figure("a", "1.0", 1.0), Figure("b", "2.0", None)])])
    assert last == "match: 1 of 1 figures match; 1 cannot be computed from what is printed"
    assert len(reproduction.snowballing_tables()) == 3


@pytest.mark.parametrize("plan", sorted(path.parent.name for path in PLANS.glob("*/report.txt")))
def test_a_committed_report_is_what_its_log_comes_to(plan: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = PLANS / f"{plan}.yaml"
    assert main(["lift", "reproduce", str(file if file.exists() else PLANS / plan)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "match"


def test_a_report_or_a_plan_that_was_changed_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, plan = tmp_path / "smollm2", tmp_path / "smollm2.yaml"
    shutil.copytree(PLANS / "smollm2", folder)
    text = (PLANS / "smollm2.yaml").read_text("utf-8")
    plan.write_text(text.replace("seeds: [0]", "seeds: [0, 1]"), "utf-8")
    report = folder / "report.txt"
    report.write_text(report.read_text("utf-8").replace("Success, with", "Great success, with"), "utf-8")
    assert main(["lift", "reproduce", str(plan)]) == 1
    out = capsys.readouterr().out
    assert "+Success, with" in out and "/seeds: [0, 1], and [0]" in out and out.endswith("mismatch\n")


def test_the_committed_plan_is_the_one_that_ran() -> None:
    assert plan_differences(read_plan(PLANS / "smollm2.yaml"), read(PLANS / "smollm2").manifest) == []


def test_episodes_that_end_otherwise_when_played_again_are_named() -> None:
    before = [episode("t1", outcome="success"), episode("t2", outcome="failure")]
    now = [episode("t1", outcome="failure"), episode("t2", outcome="failure"), episode("t3", outcome="error")]
    assert [line.partition(" ")[0] for line in outcome_differences(before, now)] == ["stripe/t1", "stripe/t3"]
    assert by_arm(now) == {"informed verbose": "0 of 2"}
    assert list(outcome_differences(before, before)) == []


def test_a_plan_is_played_again_and_episodes_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, folder, again = tmp_path / "p.yaml", tmp_path / "p", tmp_path / "again"
    plan.write_text(
        "domains: [recipe]\ntasks: [adv_ctx_001]\narms: [verbose, reflective-patches]\nagents: [informed]\n"
        "registered: {primary: [reflective-patches, verbose]}\n",
        "utf-8",
    )
    assert main(["lift", "run", str(plan), "--out", str(folder), "--skip-audit", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["lift", "report", str(folder)]) == 0
    (folder / "report.txt").write_text(capsys.readouterr().out, "utf-8")
    assert main(["lift", "reproduce", str(plan), "--play", str(again)]) == 0
    out = capsys.readouterr().out
    assert out.endswith("match\n") and "informed reflective-patches" in out and "1 of 1, and now     1 of 1" in out
    assert len(read(again).episodes) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("structure-snowbaling",), 'did you mean "structure-snowballing"'),
        (("papers", "--play", "again"), "--play belongs to a plan"),
        ((str(PLANS / "frontier.yaml"),), "no log of"),
        ((str(PLANS / "smollm2"), "--play", "again"), "--play needs the plan"),
    ],
)
def test_what_cannot_be_compared_is_said(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lift", "reproduce", *words]) == 2
    assert said in capsys.readouterr().err.replace("'", '"')
