"""Reports of lift: views of one summary, readable, and nothing that was said by others acts in them."""

from __future__ import annotations

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from corrigible.conformance.cli import main
from corrigible.conformance.lift.agents.registry import AGENTS
from corrigible.conformance.lift.arms import Arm
from corrigible.conformance.lift.log import Episode, Log
from corrigible.conformance.lift.report import page, terminal
from corrigible.conformance.lift.report import summary as document
from corrigible.conformance.lift.report import summary as legend
from corrigible.conformance.lift.report.summary import SCRIPTED, Summary, summarise
from corrigible.conformance.lift.stats.estimate import Estimate

from .logs import HOSTILE, Outcome, episode, log, manifest, models, scripted, turn

OUTCOMES: tuple[Outcome, ...] = ("success", "failure", "error")


@pytest.fixture(scope="module")
def some() -> Log:
    # The scripts' section is the wide one; it comes after that of models.
    told = models(tasks=4, seeds=2, strategies=("none", "structured"))
    return log([*scripted(tasks=6).episodes, *told.episodes], told.manifest)


@pytest.fixture(scope="module")
def summary(some: Log) -> Summary:
    return summarise(some)


@pytest.fixture(scope="module")
def text(some: Log, summary: Summary) -> str:
    return page.render(summary, some.episodes)


def hostile() -> Log:
    shown = {
        "error": {"message": HOSTILE, "recovery_feedback": {"message": HOSTILE, "suggestions": [{"action": HOSTILE}]}}
    }
    bad = turn(shown=shown, note=HOSTILE)
    made = [
        episode(
            HOSTILE, arm, HOSTILE, n, outcome, domain=HOSTILE, why=HOSTILE, ending=HOSTILE, turns=(bad, bad),
            harm=(HOSTILE,),
        )
        for arm in ("verbose", "reflective-patches")
        for n, outcome in enumerate(OUTCOMES)
    ]  # fmt: skip
    told = {f"{HOSTILE}/{HOSTILE}": {"origin": HOSTILE, "prompt": HOSTILE}}
    plan = {"registered": {"hypothesis": HOSTILE, "exclusions": [HOSTILE]}, "skipped": {HOSTILE: HOSTILE}}
    return log(made, manifest(plan=plan, tasks=told, versions={HOSTILE: HOSTILE}, digests={HOSTILE: HOSTILE}))


# terminal


def test_the_table_fits_a_hundred_columns_and_carries_the_caveat(summary: Summary) -> None:
    text = terminal.render(summary)
    assert max(map(len, text.split("\n"))) <= 100
    assert SCRIPTED.split(". ")[0] in text.replace("\n", " ")
    for words in (
        "SCRIPTED AGENTS, NO MODELS",
        "MODELS, from the wish on:",
        "sign-flip p",
        "McNemar p",
        "Holm",
        "Tokens per success",
    ):
        assert words in text
    table = text[text.index("SCRIPTED") :]
    head = next(line for line in table.split("\n") if line.startswith("agent"))
    assert head.split() == ["agent", "none", "tradit.", "verbose", "reflect.", "patches", "shuffled", "noise", "length"]


def test_a_terminal_gets_no_control_characters_from_strangers() -> None:
    text = terminal.render(summarise(hostile()))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert max(map(len, text.split("\n"))) <= 100


def test_a_comparison_chosen_after_the_run_says_so() -> None:
    made = log([episode(arm=arm) for arm in ("verbose", "reflective")])
    assert "AFTER the run" in terminal.render(summarise(made, ("reflective", "verbose")))
    assert "chosen after the run" in page.render(summarise(made, ("reflective", "verbose")), made.episodes)


# page


class Markup(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "br", "img", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> ends something else"


def test_the_page_is_well_formed_and_asks_nobody_for_anything(text: str) -> None:
    found = Markup(text)
    assert found.open == []
    for tag, attributes in found.tags:
        assert tag not in ("link", "iframe", "img", "object", "base")
        assert not any(name.startswith("on") or name == "src" for name in attributes)
        assert (attributes.get("href") or "#").startswith("#")
    assert "http-equiv" in text and "default-src 'none'" in text
    assert SCRIPTED in text


def test_hostile_text_is_text() -> None:
    made = hostile()
    text = page.render(summarise(made), made.episodes)
    found = Markup(text)
    assert [tag for tag, _ in found.tags if tag == "img"] == []
    assert sum(tag == "script" for tag, _ in found.tags) == 3, "the index, one block, the viewer"
    assert "alert(1)</script>" not in text
    assert "\u202e" not in text and "\x1b" not in text
    assert "innerHTML" not in text and "document.write" not in text


def test_the_viewer_never_makes_markup_of_text() -> None:
    script = Path(page.__file__).with_name("viewer.js").read_text(encoding="utf-8")
    for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "fetch(", "import("):
        assert word not in script


def unpacked(text: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(text)))


def test_every_episode_can_be_read_back_from_the_page(some: Log) -> None:
    packed = page.pack(some.episodes, {"stripe/task-05": "Order tea."})
    index = unpacked(packed.index)
    assert len(index["rows"]) == len(some.episodes) and packed.left_out == 0 and packed.rule == ""
    assert index["prompts"]["stripe/task-05"] == "Order tea."
    wanted = next(one for one in some.episodes if one.arm == "reflective-patches" and one.outcome == "success")
    block = unpacked(packed.blocks[index["tasks"].index(f"{wanted.domain}/{wanted.task}")])
    turns = block["episodes"][wanted.key[:16]]["turns"]
    assert [block["values"][one["request"]] for one in turns] == [one.request for one in wanted.turns]
    assert block["values"][turns[0]["shown"]] == wanted.turns[0].shown
    assert turns[-1]["followed"] and turns[-1]["applied"] == [0]


def test_two_pages_are_the_same_bytes_in_whatever_order_episodes_ended(some: Log, text: str) -> None:
    turned = Log(some.manifests, tuple(reversed(some.episodes)))
    assert page.render(summarise(turned), turned.episodes) == text


def test_a_large_log_keeps_what_failed_and_says_so(some: Log, summary: Summary) -> None:
    whole = sum(map(len, page.pack(some.episodes, {}).blocks))
    fewer = page.pack(some.episodes, {}, limit=whole - 1)
    assert sum(map(len, fewer.blocks)) < whole
    assert fewer.left_out and "failed or did harm" in fewer.rule
    none = page.pack(some.episodes, {}, limit=0)
    assert none.left_out == len(some.episodes) and none.rule == "No turns are embedded"
    assert "No turns are embedded" in page.render(summary, some.episodes, limit=0)


# figures


def test_a_dot_stands_where_its_rates_are() -> None:
    svg = page.dots([page.Dot("stripe/a", 0.25, 0.75, 0.0, 4)], "verbose", "reflective", "traditional")
    assert "stripe/a: verbose 25%, reflective 75%, traditional 0%, n = 4" in svg
    assert "1 tasks, n = 4 each per arm: 1 above the line, 0 on it, 0 below" in svg


def test_dots_at_one_place_do_not_hide_each_other() -> None:
    svg = page.dots([page.Dot(f"d/{n}", 1.0, 1.0, None, 1) for n in range(30)], "verbose", "reflective", "none")
    places = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="[\d.]+" class="dot" style="[^"]*"><title>', svg)
    assert len(set(places)) == 30
    assert "30 tasks" in svg


def test_figures_escape_names() -> None:
    bar = page.Bar(HOSTILE, Estimate(0.5, 0.2, 0.8, 9), "red", HOSTILE)
    for svg in (
        page.dots([page.Dot(HOSTILE, 0.1, 0.9, 0.5, 1)], HOSTILE, HOSTILE, HOSTILE),
        page.forest([bar], HOSTILE),
        page.curves({HOSTILE: ([1, 2], 4)}),
    ):
        assert "<script" not in svg and "<img" not in svg and "\x1b" not in svg


@pytest.mark.parametrize("name", ["dots", "forest", "curves"])
def test_a_figure_of_nothing_is_drawn_all_the_same(name: str) -> None:
    nothing = {
        "dots": page.dots([], "a", "b", "c"),
        "forest": page.forest([page.Bar("a", Estimate(None, None, None, 0), "red")], "t"),
        "curves": page.curves({"verbose": ([], 3)}),
    }
    assert nothing[name].endswith("</svg>")


# command


def written(folder: Path, made: Log) -> Path:
    lines = [one.model_dump_json() for one in (*made.manifests, *made.episodes)]
    (folder / "log.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_the_command_prints_and_writes_what_was_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = written(tmp_path, models(tasks=4, seeds=1))
    html, figures = tmp_path / "r.html", tmp_path / "r.json"
    assert main(["lift", "report", str(folder), "--html", str(html), "--json", str(figures)]) == 0
    assert "reflective less verbose" in capsys.readouterr().out
    assert html.read_text(encoding="utf-8").startswith("<!doctype html>")
    found = json.loads(figures.read_text(encoding="utf-8"))
    assert found["format"] == "corrigible-lift-report/1"
    assert main(["lift", "report", str(folder), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out) == found
    assert json.loads(document.render(summarise(models(tasks=4, seeds=1)))) == found


MISUSES = {
    "no folder": (None, [], "no log"),
    "no episode": ([], [], "no episode has ended"),
    "half a pair": ([episode()], ["--primary", "reflective"], "name two arms"),
    "no arm": ([episode()], ["--primary", "reflectve:verbose"], 'did you mean "reflective"'),
    "no place to write": ([episode()], ["--html", "/nowhere/at/all.html"], "No such file"),
}


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_is_said_and_ends_with_two(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    episodes, options, said = MISUSES[name]
    folder = written(tmp_path, log(episodes)) if episodes is not None else tmp_path / "none"
    assert main(["lift", "report", str(folder), *options]) == 2
    assert said in capsys.readouterr().err


def test_an_episode_without_turns_is_listed(some: Log) -> None:
    crashed: list[Episode] = [episode(outcome="error"), episode(seed=1)]
    assert len(unpacked(page.pack(crashed, {}).index)["rows"]) == 2


def test_the_page_says_what_every_agent_and_arm_is_and_whose_the_harm_was() -> None:
    log = scripted(tasks=3)
    harm = ("twice: POST /x was accepted 2 times",)
    harmed = log.episodes[0].model_copy(update={"harm": harm})
    planted = episode("planted", "reflective-patches", "mis-merger").model_copy(update={"harm": harm * 2})
    changed = Log(log.manifests, (harmed, planted, *log.episodes[1:]))
    written = page.render(summarise(changed), changed.episodes)
    for section in summarise(changed).sections:
        for _, line in (*legend.agent_lines(section.agents, section.kind), *legend.arm_lines(section.arms)):
            assert line in written
    assert f"<li>{harmed.agent}: <b>1</b>harms, 0 by a suggestion</li>" in written
    assert "<li>mis-merger: <b>2</b>harms, 0 by a suggestion</li>" in written
    assert "<b>3</b>harms outside arms that are wrong on purpose" in written
    assert "need patches" in written
    assert "<details open><summary>What the agents and arms are</summary>" in written
    assert 'class="id">stripe/planted<' in written, "a task's id is not broken"


def test_the_legend_knows_every_agent_and_arm_that_there_is() -> None:
    assert set(legend.ARMS) == set(Arm)
    assert {agent.name for agent in AGENTS} == set(legend.AGENTS)
    assert legend.agent_lines(["patch-executor", "local:x"], "scripted")[0][1].startswith("script: does")
    assert legend.agent_lines(["fake x"], "model", ["fake x"]) == [("fake x", "a fake provider, no model")]
