"""A log written out for a publication: the figures are the report's, and each file is whole by itself."""

from __future__ import annotations

import csv
import io
import sys
import xml.etree.ElementTree as Tree
from importlib.util import find_spec
from pathlib import Path

import pytest

from corrigible.conformance.cli import main
from corrigible.conformance.command.lift_results import FinishedRun, exported
from corrigible.conformance.lift.log import Log, opened
from corrigible.conformance.lift.report.export import EPISODES, export, pdf, tex
from corrigible.conformance.lift.report.summary import Summary, summarise

from .logs import HOSTILE, episode, models, scripted


def made() -> Log:
    one, two = models(tasks=6), scripted(tasks=5)
    hostile = episode("=1+1", "verbose", "informed", ending=f"@{HOSTILE}", start="refusal")
    return Log((*one.manifests, *two.manifests), (*one.episodes, *two.episodes, hostile))


@pytest.fixture(scope="module")
def log() -> Log:
    return made()


@pytest.fixture(scope="module")
def summary(log: Log) -> Summary:
    return summarise(log)


@pytest.fixture(scope="module")
def files(log: Log, summary: Summary) -> dict[str, str]:
    return export(summary, log.episodes)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_every_episode_is_a_row_and_no_cell_is_a_formula(log: Log, files: dict[str, str]) -> None:
    found = rows(files["episodes.csv"])
    assert len(found) == len(log.episodes) and tuple(found[0]) == EPISODES
    assert {row["start"] for row in found} == {"wish", "refusal"}
    assert not [cell for row in found for cell in row.values() if cell[:1] in ("=", "+", "@")]
    (hostile,) = [row for row in found if row["start"] == "refusal"]
    assert hostile["task"] == "'=1+1" and hostile["ending"].startswith("'@</script>")


def test_figures_are_those_of_the_summary_and_starts_have_files_of_their_own(
    summary: Summary, files: dict[str, str]
) -> None:
    for section in summary.sections:
        name = f"{section.kind}-{section.start}"
        told = rows(files[f"success-{name}.csv"])
        assert [(row["arm"], int(row["successes"]), int(row["n"])) for row in told] == [
            (rate.arm, rate.successes, rate.success.n) for rate in section.rates
        ]
        ways = rows(files[f"way-{name}.csv"])
        assert [row["calls"] for row in ways] == [str(w.calls.value) if w.calls.n else "" for w in section.ways]
        declared = [row for row in rows(files[f"comparison-{name}.csv"]) if row["declared"] == "True"]
        assert [float(row["difference"]) for row in declared] == [
            one.difference.estimate.value for one in section.comparisons
        ]
    assert {name for name in files if name.startswith("success-") and name.endswith(".csv")} == {
        "success-model-wish.csv",
        "success-scripted-wish.csv",
        "success-scripted-refusal.csv",
    }


def test_tables_balance_and_say_what_scripts_are_not(files: dict[str, str]) -> None:
    tables = {name: text for name, text in files.items() if name.endswith(".tex")}
    assert len(tables) >= 4
    for name, text in tables.items():
        assert text.count(r"\begin{") == text.count(r"\end{") == 2
        body = text[text.index(r"\toprule") : text.index(r"\bottomrule")].split("\n")
        assert len({line.count(" & ") for line in body if line.endswith(r"\\")}) == 1, "as many cells in each row"
        assert ("no figure of theirs is LLM lift" in text) is ("scripted" in name)


def test_figures_stand_alone(files: dict[str, str]) -> None:
    drawn = {name: text for name, text in files.items() if name.endswith(".svg")}
    assert len(drawn) >= 3
    for text in drawn.values():
        assert Tree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(" not in text and "<style>" in text


@pytest.mark.skipif(find_spec("svglib") is None, reason="no svglib: it is in an extra of its own")
def test_a_figure_is_one_page_of_pdf_and_the_same_bytes_each_time(files: dict[str, str]) -> None:
    drawn = {name: text for name, text in files.items() if name.endswith(".svg")}
    for text in drawn.values():
        made_of_it = pdf(text)
        assert made_of_it.startswith(b"%PDF-") and made_of_it.count(b"/Type /Page\n") == 1
        assert made_of_it == pdf(text), "no date stands in it"


def test_without_svglib_the_rest_is_written_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, summary: Summary, log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("svglib", "svglib.svglib", "reportlab", "reportlab.graphics"):
        monkeypatch.setitem(sys.modules, name, None)
    written = exported(FinishedRun(summary, log.episodes))
    assert written and not [name for name in written if name.endswith(".pdf")]
    assert "no PDF" in capsys.readouterr().err


def test_what_latex_reads_is_escaped() -> None:
    assert tex("a_b & 50 % {x}") == r"a\_b \& 50 \% \{x\}"


def test_the_command_writes_and_names_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = made()
    with opened(tmp_path) as store:
        for ran in log.manifests:
            store.add(ran)
        for one in log.episodes:
            store.add(one)
    assert main(["lift", "export", str(tmp_path)]) == 0
    assert "episodes.csv" in capsys.readouterr().out
    made_here = {".csv", ".tex", ".svg"} | ({".pdf"} if find_spec("svglib") else set())
    assert {path.suffix for path in (tmp_path / "export").iterdir()} == made_here
    assert main(["lift", "export", str(tmp_path), "--inspect", "--to", str(tmp_path / "two")]) == 0
    groups = {(one.start, one.agent, one.arm) for one in log.episodes}
    assert len(list((tmp_path / "two" / "inspect").iterdir())) == len(groups)
    assert main(["lift", "export", str(tmp_path / "nothing")]) == 2
