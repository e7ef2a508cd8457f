"""The gates hold: figures of all runs are not below their bars, and a figure that is fails them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from corrigible.adapters.reader import scorer
from tests._support.rows import rows

from . import gates
from .case import FOLDER, FOLDS, Recorded, fold, load, load_sentences, names
from .gates import (
    BARS,
    BASE,
    EMPTY,
    LANGUAGES,
    OWN_RUNS,
    RIGHTS,
    RUNS,
    SHIPPED,
    Row,
    below_the_bars,
    differences,
    figures,
    figures_of,
    is_worse,
    left_out,
    measured,
    pages,
    raised,
    rows_of,
    table,
)
from .page import PAGE, read, title
from .said_otherwise import in_nonsense, in_other_words, names_described, under_other_names, with_other_quotes

KNOWN_BARS = json.loads(BARS.read_text("utf-8"))


OFTEN = (BASE, *(run for run in RUNS if run.startswith("in ") and run[3:] in LANGUAGES), *OWN_RUNS)
"""The runs that `.ci/run` judges whole. The others, in other words or without a description, are judged at night."""
SAMPLED = {BASE: 4, SHIPPED: 8, EMPTY: 8}
"""The runs of `make test`: of each the servers are so many times fewer. A server more changes nothing of the rest."""


def sample(run: str) -> list[str]:
    return [name for name in names() if crc32(name.encode()) % SAMPLED[run] == 0]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """What `make judge` finds in most runs: half a minute or more, so it is a fixture, which has no limit of time."""
    out = tmp_path_factory.mktemp("gates") / "out.json"
    command = [sys.executable, "-m", "tests.strangers.gates", "--out", str(out), "--runs", *OFTEN]
    subprocess.run(command, cwd=FOLDER.parents[1], capture_output=True, check=True)
    return [Row(**one) for one in json.loads(out.read_text("utf-8"))]


@pytest.fixture(scope="module")
def sampled() -> list[Row]:
    """Here, as a process more would take as long as some servers."""
    runs = {name: [run for run in SAMPLED if name in sample(run)] for name in names()}
    return [one for name, wanted in runs.items() if wanted for one in rows_of((name, wanted))]


@pytest.mark.whole
def test_no_figure_is_below_its_bar(judged: list[Row]) -> None:
    found = figures(judged)
    known = {name: bar for name, bar in KNOWN_BARS["figures"].items() if name in found}
    assert len(known) > 50
    assert list(below_the_bars(found, {**KNOWN_BARS, "figures": known})) == []


@pytest.mark.whole
def test_pages_have_the_figures(judged: list[Row]) -> None:
    assert {one.server for one in judged if one.run == BASE} == set(names())
    assert [path.name for path, text in pages(judged).items() if text != path.read_text("utf-8")] == [], "make judge"


@pytest.mark.slow
def test_each_server_has_the_figures_of_the_page(sampled: list[Row]) -> None:
    page, base = read(PAGE.read_text("utf-8")), [one for one in sampled if one.run == BASE]
    found = {name: figures_of([one for one in base if one.server == name]) for name in sample(BASE)}
    assert found == {name: page[title(load(name))] for name in found}, "make judge"


@pytest.mark.slow
def test_no_answer_gets_worse_as_more_is_known(sampled: list[Row]) -> None:
    """The bars count the same of all servers. Here the case has its name, and one of 200 may be about two places."""
    described = {(one.server, one.case): one for one in sampled if one.run == BASE}
    right = [one for one in sampled if one.run == EMPTY and one.right]
    worse = [f"{one.server}: {one.case}" for one in right if is_worse(one, described[one.server, one.case])]
    assert len(right) > 300
    assert len(worse) <= len(right) // 200, worse


@pytest.mark.slow
def test_no_answer_does_harm(sampled: list[Row]) -> None:
    """The bars count the same. Here the case has its name."""
    assert {(one.run, one.server) for one in sampled} == {(run, name) for run in SAMPLED for name in sample(run)}
    assert [one.key for one in sampled if one.fault == "harm" or one.fault.startswith("failed")] == []


@pytest.mark.slow
def test_what_is_right_left_out_stays_right_as_shipped(sampled: list[Row]) -> None:
    """Few differ, as the weights do, and an empty description loses what only a description can say."""
    right = {(one.server, one.case) for one in sampled if one.run == BASE and one.right}
    for run, least in ((SHIPPED, 99), (EMPTY, 61)):
        those = {(one.server, one.case) for one in sampled if one.run == run} & right
        kept = sum((one.server, one.case) in those for one in sampled if one.run == run and one.right)
        assert 100 * kept >= least * len(those) > 0, run


@pytest.mark.nightly
def test_the_command_finds_no_figure_below_its_bar() -> None:
    command = [sys.executable, "-m", "tests.strangers.gates"]
    done = subprocess.run(command, cwd=FOLDER.parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def row(case: str = "a", **members: Any) -> Row:
    usual: dict[str, Any] = {"run": BASE, "server": "x", "is_rpc": False, "is_repairable": True, "right": True}
    return Row(**usual | {"kind": "unasked", "fault": "", "is_offered": True, "wrong_edits": 0, "case": case} | members)


def share(percent: float) -> tuple[int, int]:
    return round(percent * 100), 10000


@rows("name", KNOWN_BARS["figures"])
def test_each_bar_is_read(name: str) -> None:
    found = {one: share(bar.get("least", bar.get("most"))) for one, bar in KNOWN_BARS["figures"].items()}
    assert list(below_the_bars(found, KNOWN_BARS)) == []
    bar, (count, of) = KNOWN_BARS["figures"][name], found[name]
    worse = {**found, name: (count - 1 if "least" in bar else count + 1, of)}
    assert [one.partition(": ")[0] for one in below_the_bars(worse, KNOWN_BARS)] == [name.partition(": ")[0]]
    del worse[name]
    assert list(below_the_bars(worse, KNOWN_BARS)) == [f"{name}: there is a bar, and no figure"]


def test_bars_never_sink() -> None:
    bars = {"about": "", "goals": {}, "figures": {"a": {"least": 50.0}, "b": {"most": 3.0}, "c": {"least": 90.0}}}
    found = {"a": (3, 4), "b": (5, 100), "c": (9, 10), "new": (1, 4), "new: harm": (0, 4), "answer: question": (1, 4)}
    better = raised(found, bars)["figures"]
    assert better == {"a": {"least": 75.0}, "b": {"most": 3.0}, "c": {"least": 90.0}} | {
        "new": {"least": 25.0},
        "new: harm": {"most": 0.0},
    }


def test_bars_are_written_as_measured() -> None:
    bars = {"about": "", "goals": {"harm": 0}, "figures": {"b": {"least": 50.0}, "gone": {"least": 3.0}}}
    found = {"new: harm": (1, 4), "answer: question": (1, 4), "b": (1, 4), "harm": (1, 4)}
    assert measured(found, bars)["figures"] == {
        "b": {"least": 25.0},
        "new: harm": {"most": 25.0},
        "harm": {"most": 0.0},  # never allowed
    }


def test_what_has_a_goal_comes_first() -> None:
    bars = {"goals": {"gRPC b": 4, "HTTP c": 1}, "figures": {"HTTP a": {"least": 50.0}, "gRPC b": {"most": 5.0}}}
    lines = table({"HTTP a": (1, 2), "gRPC b": (1, 4), "HTTP b": (0, 4), "HTTP d": (0, 0)}, bars).splitlines()
    assert [" ".join(line.split()) for line in lines[1:]] == [
        "b 0 of 4, 0.0 % 1 of 4, 25.0 % <= 5.0 4",
        "a 1 of 2, 50.0 % >= 50.0",
        "d 0 of 0, 0.0 %",
    ]


def test_the_command_fails_below_a_bar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "all_rows", lambda servers, runs: [row("a"), row("b", right=False)])
    monkeypatch.setattr(gates, "BARS", tmp_path / "bars.json")
    monkeypatch.setattr(gates, "pages", lambda rows: {})
    for least, status in ((50, 0), (51, 1)):
        figure = {"HTTP repaired": {"least": least}}
        gates.BARS.write_text(json.dumps({"about": "", "goals": {}, "figures": figure}), "utf-8")
        assert gates.main(["--out", str(tmp_path / "out.json")]) == status
        assert gates.main(["--only", names()[0]]) == 0  # the bars are of all
    assert gates.main(["--out", str(tmp_path / "new.json"), "--compare", str(tmp_path / "out.json")]) == 1
    assert gates.main(["--write"]) == 1  # a bar does not sink unsaid
    assert gates.main(["--lower", "a harder case"]) == 0
    written = json.loads(gates.BARS.read_text("utf-8"))
    assert written["figures"]["HTTP repaired"] == {"least": 50.0}
    assert written["lowered"] == {"HTTP repaired": "a harder case"}


def test_the_command_fails_where_a_page_has_other_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (page := tmp_path / "page.md").write_text("old", "utf-8")
    monkeypatch.setattr(gates, "all_rows", lambda servers, runs: [row("a")])
    monkeypatch.setattr(gates, "BARS", tmp_path / "bars.json")
    monkeypatch.setattr(gates, "pages", lambda rows: {page: "new"})
    gates.BARS.write_text(json.dumps({"about": "", "goals": {}, "figures": {}}), "utf-8")
    assert gates.main([]) == 1
    assert page.read_text("utf-8") == "old"
    assert gates.main(["--write"]) == 0
    assert gates.main([]) == 0


def test_a_failure_of_ours_is_one_of_one_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(gates, "replay", failing)
    server = load_sentences("unseen.yaml")
    failed = gates.row(BASE, "own", server, server.cases[0])
    assert (failed.right, failed.fault) == (False, "failed: KeyError: 'x'")
    assert figures([failed, row("b")])["HTTP failures of ours, in all runs"] == (1, 2)


def test_what_is_counted() -> None:
    found = figures(
        [
            row("a"),
            row("b", right=False, kind="unasked", wrong_edits=1, is_offered=False),
            row("c", kind="question", is_offered=False),
            row("d", right=False, kind="question", fault="asked wrong", is_repairable=False),
            row("e", kind="to confirm", is_rpc=True),
            row("a", run=EMPTY, right=False, kind="silence"),
            row("c", run=EMPTY, right=False, kind="unasked", fault="harm"),
            row("z", run=RIGHTS, right=False, kind="question", denied=True),
        ]
    )
    assert found["HTTP repaired"] == (2, 3)
    assert found["HTTP others right"] == (0, 1)
    assert found["HTTP right edit offered"] == found["HTTP right edit unasked"] == (1, 3)
    assert found["HTTP right of the edits sent"] == (1, 2)
    assert found["HTTP asked at a wrong place"] == (1, 4)
    assert found["gRPC answer: to confirm"] == (1, 1)
    assert found[f"HTTP {EMPTY}: right"] == (0, 2)
    assert found[f"HTTP {EMPTY}: harm"] == (1, 2)
    assert found[f"HTTP {RIGHTS}: no matter of permission"] == (1, 1)
    assert figures([row("a", run=EMPTY), row("a", right=False, kind="silence")])[
        "HTTP with the description, worse than with an empty description"
    ] == (1, 1)


@rows(
    ("less", "more", "expected"),
    [
        (row(), row(kind="to confirm"), False),
        (row(), row(right=False, kind="question"), False),
        (row(), row(right=False, kind="question", fault="asked wrong"), True),
        (row(), row(right=False, kind="silence"), True),
        (row(), row(right=False, kind="unasked"), True),
        (row(right=False), row(right=False, kind="silence"), False),
    ],
)
def test_what_gets_worse_as_more_is_known(less: Row, more: Row, expected: bool) -> None:
    assert is_worse(less, more) is expected


def test_what_differs_is_printed_by_server() -> None:
    old = [row("a"), row("b"), row("c", right=False, kind="silence")]
    new = [row("a"), row("b", right=False, fault="asked wrong", kind="question"), row("c"), row("d")]
    assert list(differences(old, new)) == [
        "LOST x: b (left out): unasked -> question asked wrong",
        "won  x: c (left out): silence -> unasked",
    ]


def test_a_server_stays_in_its_fold() -> None:
    assert [fold(name) for name in ("acapy", "cerbos", "cerbos_grpc")] == [7, 9, 9]
    assert {fold(name) for name in names()} == set(range(FOLDS))


def test_a_server_is_read_by_weights_that_never_saw_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[Any] = []

    @contextmanager
    def entered(what: object) -> Iterator[None]:
        used.append(what)
        yield
        used.append("left")

    monkeypatch.setattr(scorer, "use", entered)
    monkeypatch.setattr(gates, "rows_left_out", entered)
    monkeypatch.setattr(gates, "FOLD_WEIGHTS", tmp_path / "folds.json")
    learned = {"folds": [{"fold": number} for number in range(FOLDS)], "rows": {"cerbos": ["en.one"]}}
    gates.FOLD_WEIGHTS.write_text(json.dumps(learned), "utf-8")
    with left_out("cerbos_grpc"):
        assert used == [{"fold": 9}, {"en.one"}]
    assert used[2:] == ["left", "left"]


def test_sentences_of_our_own_are_as_many_as_promised() -> None:
    assert [len(load_sentences(file).cases) for file in ("unseen.yaml", "rights.yaml")] == [60, 28]
    assert {case.exchanges[0].status for case in load_sentences("rights.yaml").cases} == {403}


def recorded(answer: str, body: str = '{"name": "a"}') -> Recorded:
    return Recorded(
        method="POST", target="/x?page=1", headers=[], body=body, status=400, response_headers=[], response_body=answer
    )


def test_names_of_what_was_sent_stay() -> None:
    assert under_other_names(recorded('{"message": "No.", "name": 1}')) == '{"meldung0": "No.", "name": 1}'
    assert under_other_names(recorded('{"message": "No."}', '{"message": "hi"}')) is None
    assert under_other_names(recorded("No.")) is None


@rows(
    ("text", "expected"),
    [
        ("name must be a string", "as name we can only read one string"),
        ("Sorry: the user 'a b' already exists", "Sorry: we have seen the user 'a b' before"),
        ("The field size is required.", "we cannot do without The field size."),
        ("size must be between 1 and 20", "size lies beyond the span from 1 to 20"),
        ("No.", None),
    ],
)
def test_other_words(text: str, expected: str | None) -> None:
    assert in_other_words(recorded(json.dumps({"message": text}))) == (expected and json.dumps({"message": expected}))
    assert in_other_words(recorded(text)) == expected


def test_other_quotes() -> None:
    quoted = with_other_quotes(recorded('{"message": "no \'a\'"}'))
    assert quoted is not None and "\\u201ca\\u201d" in quoted
    assert with_other_quotes(recorded('{"message": "don\'t"}')) is None


@rows(
    ("text", "expected"),
    [
        ("Page of NAME isn't x: user_id, A.b, 12 'kind'", "Page blorven NAME blorven x: user_id, A.b, 12 'kind'"),
        ("<p>Bad <b>name</b></p>", "<p>Blorven <b>name</b></p>"),
        ("SIZE", "BLORVEN"),
        ("name", None),
    ],
)
def test_nonsense_leaves_names_and_values(text: str, expected: str | None) -> None:
    assert in_nonsense(frozenset({"kind"}))(recorded(text)) == expected


def test_nonsense_leaves_names_of_the_answer() -> None:
    said = in_nonsense(frozenset())(recorded('{"color": "Color or size"}'))
    assert said == '{"color": "Color blorven blorven"}'


def test_names_and_values_of_a_description() -> None:
    described = names_described(FOLDER / "own/town.yaml")
    assert described >= {"customer_id", "eur", "orders", "page_size"}
    assert described.isdisjoint({"object", "true", "default"})
    assert "startworkflowexecution" in names_described(FOLDER / "temporal/descriptors.binpb")
