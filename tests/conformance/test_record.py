"""A record says all that reports need, is whole or refused, and two of them can be compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corrigible.conformance.model.outcome import Outcome, UsageError
from corrigible.conformance.report.terminal import compare
from corrigible.conformance.suite.record import Record, RecordedFinding, lines, read
from tests._support.rows import rows

from .made import FLAW, MUST, entry, hostile, mixed, record


def kept(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "run.json"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("made", [mixed(), record()], ids=["every outcome", "empty"])
def test_what_is_written_is_read(made: Record, tmp_path: Path) -> None:
    assert read(kept(tmp_path, "".join(lines(made)))) == made


def test_absence_and_null_are_read_as_they_were(tmp_path: Path) -> None:
    flaws = [
        RecordedFinding(requirement=MUST, message="x", expected=None),
        RecordedFinding(requirement=MUST, message="x", got=None),
    ]
    found = read(kept(tmp_path, "".join(lines(record(entry("a/x", Outcome.FAILED, *flaws))))))
    assert [flaw.sides for flaw in found.entries[0].flaws] == [flaw.sides for flaw in flaws]


def test_first_line_last_line_and_one_for_each_check() -> None:
    rows = [json.loads(line) for line in lines(mixed())]
    assert [row["kind"] for row in rows] == ["run", *["check"] * 7, "end"]
    assert rows[0]["subject"] == "Acme gateway 2.1"
    assert rows[-1]["counts"] == {
        "passed": 1,
        "failed": 1,
        "advised": 1,
        "failed as expected": 1,
        "passed, but is listed as known failing": 1,
        "not run": 1,
        "not applicable": 1,
    }


def test_a_claim_counts_requirements_and_names_what_is_known() -> None:
    assert (
        mixed().foot.claim
        == "SRF 0.1 L1, 0 of 2 passed / http-json, suite 0.1.0: 0/2 MUST, 0/1 SHOULD, 1 known failing"
    )


def test_text_that_is_no_unicode_can_be_written(tmp_path: Path) -> None:
    text = "".join(lines(hostile()))
    assert read(kept(tmp_path, text)).entries[0].check == "a/failed"


CUT = {
    "nothing": ("", "empty, where a record of a run was expected"),
    "no footer": ("".join([*lines(mixed())][:-1]), "no last line with its counts: the run was cut short"),
    "a footer cut": ("".join(lines(mixed()))[:-20], "no last line with its counts: the run was cut short"),
    "only a footer": ([*lines(mixed())][-1], "no record of a run"),
    "no JSON": ("hello\nworld\n", "no record of a run"),
    "another JSON": ('{"a": 1}\n{"b": 2}\n', "no record of a run"),
}


@rows("name", CUT)
def test_a_record_that_is_none_or_not_whole_is_refused(name: str, tmp_path: Path) -> None:
    text, said = CUT[name]
    with pytest.raises(UsageError, match=said):
        read(kept(tmp_path, text))


def test_what_changed_is_told_apart() -> None:
    fails = Outcome.FAILED
    before = record(
        entry("same"), entry("breaks"), entry("mends", fails, FLAW), entry("goes"), entry("stops"), entry("worsens")
    )
    after = record(
        entry("same"),
        entry("breaks", fails, FLAW),
        entry("mends"),
        entry("comes"),
        entry("comes-broken", fails, FLAW),
        entry("stops", Outcome.NOT_RUN, reason="x"),
        entry("worsens", fails, FLAW, advice=True),
    )
    found = compare(before, after)
    said = f"{MUST}: {FLAW.message}"
    assert found.newly_failing == (
        f"http-json:breaks  passed -> failed  {said}",
        f"http-json:comes-broken  failed  {said}",
    )
    assert found.fixed == ("http-json:mends  failed -> passed",)
    assert found.removed == ("http-json:goes  passed",)
    assert found.new == ("http-json:comes  passed",)
    assert found.otherwise == (
        "http-json:stops  passed -> not run",
        f"http-json:worsens  passed -> advice  {said}",
    )
    assert found.worse
    assert not compare(after, after).worse
