"""`corrigible map plan`, its scores, and mappings that a model judges. The models are fakes, and own up to it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corrigible.adapters.mapping.mapping import MapFile
from corrigible.adapters.mapping.plan_text import clauses
from corrigible.proxy.cli import main
from tests._support.rows import rows
from tests.conformance.lift.fake_provider import FakeProvider, Trouble
from tests.conformance.lift.wire_formats import Heard, Speaks

TOOLBENCH = Path(__file__).with_name("toolbench")
ASKED = "Search for hotels in Oslo, then book a room in the cheapest hotel."


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("plan") / "toolbench.index"
    assert main(["map", "index", str(TOOLBENCH / "tools"), "--out", str(file)]) == 0
    return file


def output(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> tuple[list[dict[str, Any]], str]:
    capsys.readouterr()
    assert main(["map", *words]) == status
    told = capsys.readouterr()
    return [json.loads(line) for line in told.out.splitlines() if line.startswith("{")], told.err


def names(plan: dict[str, Any]) -> list[str]:
    return [call["name"] for call in plan["calls"]]


@pytest.mark.parametrize(
    ("utterance", "wishes"),
    [
        (ASKED, ["Search for hotels in Oslo", "book a room in the cheapest hotel"]),
        ("Get the weather and delete my account", ["Get the weather", "delete my account"]),
        ("salt and pepper", ["salt and pepper"]),
        ("Do it. And that too!", ["Do it", "And that too"]),
        ("x", ["x"]),
    ],
)
def test_an_utterance_is_split_into_wishes(utterance: str, wishes: list[str]) -> None:
    assert clauses(utterance) == wishes


def test_without_a_model_each_wish_has_its_best_operation(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (plan,), told = output(capsys, "plan", ASKED, "--index", str(index), "--json")
    assert (plan["method"], names(plan), told) == ("lexical", ["Search Hotels", "Book Hotel"], "")


def numbers(heard: Heard) -> dict[str, int]:
    """Read the list that a model is shown last: what an operation is called, and its number."""
    text = "\n".join(said for role, said in heard.turns if role == "user").rpartition("\nNow\n")[2]
    return {match[2]: int(match[1]) for match in re.finditer(r"^(\d+)\. \[.*?\] .*? \((.*?)\)", text, re.MULTILINE)}


def one_answer(*called: str) -> Callable[[Heard], Speaks]:
    def mind(heard: Heard) -> Speaks:
        assert heard.schema is not None and heard.schema["additionalProperties"] is False
        known = numbers(heard)
        answer: dict[str, object] = {"calls": [known.get(name, 99) for name in called]}
        if "thought" in heard.schema["required"]:
            answer["thought"] = "First search, then book."
        return Speaks(json.dumps(answer))

    return mind


def model(provider: FakeProvider, option: str = "--model") -> list[str]:
    kind = {"openai-chat": "compatible"}.get(provider.wire, provider.wire)
    return [option, f"{kind}:fake-1", "--model-url", provider.base_url]


@rows("wire", ["anthropic", "compatible", "openai-responses"])
@rows("style", ["few-shot", "chain-of-thought"])
def test_a_model_chooses_from_the_list_and_nothing_else(
    index: Path, capsys: pytest.CaptureFixture[str], wire: str, style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "s3cret")
    with FakeProvider(wire, one_answer("Search Hotels", "no such thing", "Book Hotel")) as provider:
        words = ["plan", ASKED, "--index", str(index), "--style", style, "--json", "--price", "3,15"]
        (plan, lexical), told = output(capsys, *words, *model(provider))
    assert provider.problems == []
    assert (names(plan), plan["dropped"], lexical["method"]) == (["Search Hotels", "Book Hotel"], 1, "lexical")
    assert plan["method"] == f"{wire}:fake-1 (on this machine), {style}"
    assert re.search(r"1 requests, [1-9]\d* tokens in, [1-9]\d* out; cost 0\.0", told)
    assert "s3cret" not in json.dumps(provider.asked[0].headers)  # a program on this machine is told no key


def test_reflection_sees_the_mappings_and_may_change_the_answer(
    index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def mind(heard: Heard) -> Speaks:
        known = numbers(heard)
        if len(heard.turns) == 1:
            return Speaks(json.dumps({"calls": [known["Search Hotels"]]}))
        calls = [known["Search Hotels"], known["Book Hotel"]]
        return Speaks(json.dumps({"criticism": "The booking was missing.", "calls": calls}))

    mappings = tmp_path / "map.json"
    one = {"source": {"api": "Trip Desk", "method": "GET", "path": "/hotels"}, "equivalence": "weaker", "score": 0.5}
    one["target"] = {"api": "Trip Desk", "method": "POST", "path": "/bookings"}
    mappings.write_text(json.dumps({"method": "by hand", "mappings": [one]}))
    with FakeProvider("compatible", mind) as provider:
        words = ["plan", ASKED, "--index", str(index), "--style", "reflection", "--map", str(mappings), "--json"]
        (plan, _), _ = output(capsys, *words, *model(provider))
    assert (names(plan), plan["note"]) == (["Search Hotels", "Book Hotel"], "The booking was missing.")
    said = provider.asked[1].document["messages"][-1]["content"]
    assert re.search(r"Operation \d+ can stand in for \d+ \(weaker\)", said)


def test_react_searches_for_what_it_misses_and_ends(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def mind(heard: Heard) -> Speaks:
        known = numbers(heard)
        done = "Current Weather" in known and len(heard.turns) > 1
        answer = {"thought": "?", "query": "weather now", "calls": [known["Current Weather"]] if done else []}
        return Speaks(json.dumps(answer | {"action": "finish" if done else "search"}))

    with FakeProvider("compatible", mind) as provider:
        words = ["plan", "departure of trains", "--index", str(index), "--style", "react", "--json"]
        (plan, _), _ = output(capsys, *words, *model(provider))
    assert (names(plan), len(provider.asked)) == (["Current Weather"], 2)


def test_react_is_stopped_where_it_never_finishes(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    endless = {"thought": "?", "action": "search", "query": "more", "calls": []}
    with FakeProvider("compatible", lambda _: Speaks(json.dumps(endless))) as provider:
        words = ["plan", "trains", "--index", str(index), "--style", "react", "--json"]
        (plan, _), _ = output(capsys, *words, *model(provider), status=1)
    assert (plan["calls"], len(provider.asked)) == ([], 5)


@pytest.mark.parametrize("said", ["no JSON at all", '{"calls": "1"}', "[1]"])
def test_an_unreadable_answer_is_told_and_replaced_by_nothing(
    index: Path, capsys: pytest.CaptureFixture[str], said: str
) -> None:
    with FakeProvider("compatible", lambda _: Speaks(said)) as provider:
        words = ["plan", ASKED, "--index", str(index), "--json", *model(provider)]
        (plan, lexical), told = output(capsys, *words, status=1)
    assert plan["calls"] == [] and plan["note"] and names(lexical)
    assert "1 answers failed or could not be read" in told


def test_a_dry_run_asks_nothing_and_needs_no_key(
    index: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    words = ["plan", ASKED, "--index", str(index), "--model", "anthropic:any", "--dry-run"]
    assert main(["map", *words]) == 0
    told = capsys.readouterr().out
    assert "--- system\nYou choose calls" in told and "(Book Hotel)" in told and ASKED in told


def test_the_published_form_is_scored_without_a_model_and_with_one(
    index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeProvider("compatible", one_answer("Train Times")) as provider:
        words = ["evaluate", "--index", str(index), "--queries", str(TOOLBENCH / "queries.json"), "--json"]
        (lexical, asked), told = output(capsys, *words, *model(provider))
    assert (lexical["method"], lexical["queries"], asked["queries"]) == ("lexical", 3, 3)
    assert lexical["order"]["recall"] > 0.6
    # Of the third query's list only, where it is right: one of three examples.
    assert asked["sets"] == {
        "precision": pytest.approx(1 / 3),
        "recall": pytest.approx(1 / 3),
        "f1": pytest.approx(1 / 3),
    }
    assert "requests" in told


def test_our_own_sets_are_lines_of_json(index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "own.jsonl"
    right = [["Trip Desk", "Search Hotels"], ["Trip Desk", "Book Hotel"]]
    file.write_text(json.dumps({"utterance": ASKED, "calls": right}) + "\n")
    (row,), _ = output(capsys, "evaluate", "--index", str(index), "--queries", str(file), "--json")
    assert row["order"] == {"precision": 1.0, "recall": 1.0, "f1": 1.0}
    file.write_text('\n{"utterance": "x"}\n')
    _, told = output(capsys, "evaluate", "--index", str(index), "--queries", str(file), status=2)
    assert f"{file}:2: not of the form" in told


def labels(*, summary: str) -> dict[str, Any]:
    variable = {"in": "path", "name": "id", "required": True, "schema": {"type": "string"}}
    return {
        "openapi": "3.0.3",
        "info": {"title": "x", "version": "1"},
        "paths": {
            "/labels/{id}": {"parameters": [variable], "get": {"summary": summary, "responses": {}}},
            "/labels": {"get": {"summary": "List labels", "responses": {}}},
        },
    }


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("refine")
    specs = []
    for name, summary in (("a", "Get a label"), ("b", "Get one label")):
        (folder / f"{name}.json").write_text(json.dumps(labels(summary=summary)))
        specs.append(f"{name}={folder / f'{name}.json'}")
    assert main(["map", "index", *specs, "--out", str(folder / "x.index")]) == 0
    return folder / "x.index"


def refined(pair: Path, provider: FakeProvider) -> MapFile:
    out = pair.with_name("map.json")
    words = ["--index", str(pair), "--out", str(out), "--from", "a", "--to", "b", *model(provider, "--refine")]
    assert main(["map", "build", *words]) == 0
    return MapFile.model_validate_json(out.read_bytes())


def test_a_model_first_judges_by_examples_then_criticises_itself(
    pair: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def mind(heard: Heard) -> Speaks:
        first = heard.turns[0][1].rpartition("\nNow\n")[2]
        wanted = re.search(r"^(\d+)\. \[b\] GET /labels/\{id\}", first, re.MULTILINE)
        right = "Wanted: [a] GET /labels/{id}" in first and wanted is not None
        mappings = [{"candidate": int(wanted[1]), "reasoning": "One label."}] if right and wanted else []
        if len(heard.turns) == 1:
            return Speaks(json.dumps({"mappings": [{"candidate": 1, "reasoning": "Hasty."}]}))
        return Speaks(json.dumps({"criticism": "It was hasty.", "mappings": mappings}))

    with FakeProvider("compatible", mind) as provider:
        found = refined(pair, provider)
    by_path = {one.source.path: one for one in found.mappings}
    assert "judged by compatible:fake-1 (on this machine), few-shot and self-reflection" in found.method
    one = by_path["/labels/{id}"]
    assert (one.target.path, one.equivalence) == ("/labels/{id}", "same")
    assert one.evidence[-1].kind == "model" and one.evidence[-1].note.endswith("One label.")
    assert by_path["/labels"].equivalence == "related"  # found without the model, which says no
    assert "4 requests" in capsys.readouterr().err


def test_where_a_model_fails_the_mappings_stay_as_they_were(pair: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeProvider("compatible", lambda _: Speaks("{}"), [Trouble(400), Trouble(400)]) as provider:
        found = refined(pair, provider)
    assert {one.source.path: str(one.equivalence) for one in found.mappings} == {
        "/labels/{id}": "same",
        "/labels": "same",
    }
    assert "2 answers failed or could not be read" in capsys.readouterr().err


def test_a_dry_run_of_refining_shows_questions_and_how_many_there_are(
    pair: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--index", str(pair), "--out", "x", "--from", "a", "--to", "b", "--refine", "openai:any", "--dry-run"]
    assert main(["map", "build", *words]) == 0
    told = capsys.readouterr().out
    assert "Wanted: [a] GET /labels/{id}" in told and "with 4 requests" in told


@rows(
    ("words", "problem"),
    [
        (["--model", "antropic:x"], "expected PROVIDER:MODEL, with anthropic, openai"),
        (["--model", "compatible:x"], "where is it? --model-url URL"),
        (["--dry-run"], "belong to a model"),
        (["--model", "compatible:x", "--model-url", "http://127.0.0.1:9/v1", "--price", "3"], "expected INPUT,OUTPUT"),
        (["--model", "openai:x", "--model-url", "http://example.com/v1", "--key-env", "KEY"], "sent unencrypted"),
        (["--map", "map.json"], "--style reflection"),
    ],
)
def test_bad_arguments_are_told(
    index: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str], problem: str
) -> None:
    monkeypatch.setenv("KEY", "s3cret")
    assert main(["map", "plan", ASKED, "--index", str(index), *words]) == 2
    told = capsys.readouterr().err
    assert problem in told and "s3cret" not in told
