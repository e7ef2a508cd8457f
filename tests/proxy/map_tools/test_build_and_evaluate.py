"""`corrigible map build` and `corrigible map evaluate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corrigible.adapters.mapping.mapping import MapFile
from corrigible.proxy.cli import main


def spec(title: str, number: str, results: tuple[str, ...]) -> dict[str, object]:
    def answer(schema: object) -> dict[str, object]:
        return {"responses": {"200": {"description": "", "content": {"application/json": {"schema": schema}}}}}

    thing = {"type": "object", "properties": {name: {"type": "string"} for name in results}}
    things = {"type": "array", "items": thing}
    variable = {"in": "path", "name": number, "required": True, "schema": {"type": "string"}}
    page = {"in": "query", "name": "page", "schema": {"type": "integer"}}
    listing: dict[str, object] = {"operationId": "list", "summary": "List tickets", "parameters": [page]}
    single: dict[str, object] = {"operationId": "get", "summary": "Get a ticket"}
    return {
        "openapi": "3.0.3",
        "info": {"title": title, "version": "1"},
        "paths": {
            "/tickets": {"get": listing | answer(things)},
            f"/tickets/{{{number}}}": {
                "parameters": [variable],
                "get": single | answer(thing),
                "delete": {"operationId": "delete", "summary": "Delete a ticket", "responses": {}},
            },
            f"/only{title}": {"get": {"summary": f"What only {title} has", "responses": {}}},
        },
    }  # fmt: skip


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("map")
    (folder / "a.json").write_text(json.dumps(spec("Alpha", "number", ("id", "title", "mood"))))
    (folder / "b.json").write_text(json.dumps(spec("Beta", "id", ("id", "title"))))
    file = folder / "apis.index"
    assert main(["map", "index", f"a={folder / 'a.json'}", f"b={folder / 'b.json'}", "--out", str(file)]) == 0
    return file


def mapped(index: Path, *words: str) -> MapFile:
    out = index.with_suffix(".json")
    assert main(["map", "build", "--index", str(index), "--out", str(out), *words]) == 0
    return MapFile.model_validate_json(out.read_bytes())


def test_a_map_says_what_was_found_how_and_what_is_lost(index: Path) -> None:
    found = mapped(index, "--from", "a", "--to", "b")
    assert found.method == "lexical; candidates by lexical (BM25)"
    assert [one.name for one in found.apis] == ["a", "b"]
    by_key = {f"{one.source.method} {one.source.path}": one for one in found.mappings}
    assert set(by_key) == {"GET /tickets", "GET /tickets/{number}", "DELETE /tickets/{number}"}
    assert by_key["GET /tickets"].lost_results == ("/result/*/mood",)
    assert by_key["DELETE /tickets/{number}"].equivalence == "same with conversion"
    assert [pair.target for pair in by_key["GET /tickets/{number}"].arguments] == ["/path/id"]


def test_the_same_index_gives_the_same_bytes(index: Path) -> None:
    mapped(index)
    first = index.with_suffix(".json").read_bytes()
    mapped(index)
    assert index.with_suffix(".json").read_bytes() == first


def truth(index: Path, *operations: object) -> Path:
    file = index.with_name("truth.json")
    head = {"format": "corrigible mapping truth 1", "source_api": "a", "target_api": "b", "split": "tune"}
    file.write_text(json.dumps(head | {"operations": operations}))
    return file


GET = {"method": "GET", "path": "/tickets/{number}"}
JUDGED = {
    "source": GET,
    "mappings": [
        {
            "target": {"method": "GET", "path": "/tickets/{id}"},
            "equivalence": "weaker",
            "arguments": [{"source": "/path/number", "target": "/path/id"}],
            "results": [{"source": "/result/id", "target": "/result/id"}],
            "judged_arguments": ["/path"],
            "judged_results": ["/result"],
        }
    ],
}
WRONG = {"source": {"method": "DELETE", "path": "/tickets/{number}"}, "mappings": []}
MISSED = {
    "source": {"method": "GET", "path": "/onlyAlpha"},
    "mappings": [{"target": {"method": "GET", "path": "/onlyBeta"}, "equivalence": "same"}],
}


def test_scores_are_those_that_a_reader_of_the_truth_would_count(
    index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = truth(index, JUDGED, WRONG, MISSED)
    mapped(index)
    capsys.readouterr()
    words = ["--truth", str(file), "--map", str(index.with_suffix(".json")), "--json"]
    assert main(["map", "evaluate", "--index", str(index), *words]) == 0
    own, *others = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    # One of the two proposed targets is right, and one of two that are right was proposed.
    assert {key: own["targets"][key] for key in ("right", "proposed", "wanted")} == {
        "right": 1,
        "proposed": 2,
        "wanted": 2,
    }
    # The pair of titles is wrong by this truth: its parent is judged, and it is not listed.
    assert {key: own["fields"][key] for key in ("right", "proposed", "wanted")} == {
        "right": 2,
        "proposed": 3,
        "wanted": 2,
    }
    assert own["classes_right"] == 1
    assert [one["method"].partition(",")[0] for one in others] == ["names alone", "descriptions alone (words)"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["build", "--index", "{index}", "--out", "x.json", "--from", "aa"], "--from aa: not in this index; did you"),
        (["evaluate", "--index", "{index}"], "nothing to score by"),
        (["evaluate", "--index", "{index}", "--truth", "{index}"], "no ground truth of mappings"),
        (["evaluate", "--index", "{index}", "--truth", "{truth}", "--map", "{truth}"], "not a map"),
    ],
)  # fmt: skip
def test_bad_arguments_are_told(
    index: Path, capsys: pytest.CaptureFixture[str], words: list[str], problem: str
) -> None:
    file = truth(index)
    assert main(["map", *(word.format(index=index, truth=file) for word in words)]) == 2
    assert problem in capsys.readouterr().err


def judged(index: Path, *said: tuple[str, str, str, str, Any]) -> Path:
    """Write a file of annotations: annotator, key of the source, verdict, class, changes of the mapping."""
    by_key = {
        f"{one.source.method} {one.source.path}": one for one in mapped(index, "--from", "a", "--to", "b").mappings
    }
    lines = []
    for annotator, key, verdict, equivalence, changes in said:
        proposed = by_key[key].model_dump(mode="json")
        right = proposed | {"equivalence": equivalence or proposed["equivalence"]} | changes
        line = {"annotator": annotator, "at": "2026-01-01T00:00:00+00:00", "verdict": verdict, "proposed": proposed}
        lines.append(json.dumps(line | ({} if verdict == "reject" else {"mapping": right})))
    file = index.with_name("said.jsonl")
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


LIST, ONE, REMOVE = "GET /tickets", "GET /tickets/{number}", "DELETE /tickets/{number}"


def test_a_map_is_as_people_judged_it(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fields = {"arguments": [{"source": "/path/number", "target": "/path/id", "conversion": "to integer"}]}
    file = judged(
        index,
        ("ann", LIST, "accept", "", {}),  # second thoughts stand
        ("ann", LIST, "reject", "", {}),
        ("ann", ONE, "correct", "weaker", fields),
        ("bob", ONE, "accept", "", {}),
        ("cid", ONE, "correct", "weaker", fields),
        ("ann", REMOVE, "accept", "", {}),
        ("bob", REMOVE, "reject", "", {}),
    )
    found = mapped(index, "--from", "a", "--to", "b", "--annotations", str(file))
    by_key = {f"{one.source.method} {one.source.path}": one for one in found.mappings}
    assert set(by_key) == {ONE, REMOVE}
    assert [(one.target, one.conversion) for one in by_key[ONE].arguments] == [("/path/id", "to integer")]
    assert by_key[ONE].score == 1
    assert by_key[REMOVE].equivalence == "related"  # as many say yes as no
    said = {key: [one for one in by_key[key].evidence if one.kind == "annotation"] for key in by_key}
    assert [(one.score, one.note) for one in said[ONE]] == [(1.0, "3 of 3 annotators")]
    assert [one.score for one in said[REMOVE]] == [0.5]
    assert found.method.endswith("; 3 judged by people")
    assert "3 judged mappings\n" in capsys.readouterr().out


def test_what_people_said_of_other_apis_is_left_out_and_told(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = judged(index, ("ann", ONE, "accept", "", {}))
    other = file.read_text().replace("/tickets/{id}", "/gone/{id}")
    file.write_text(file.read_text() + other)
    found = mapped(index, "--from", "a", "--to", "b", "--annotations", str(file))
    assert all("gone" not in one.target.path for one in found.mappings)
    assert "1 judged mappings; 1 of operations that are not compared here" in capsys.readouterr().out


def test_maps_are_scored_by_what_people_judged_and_nothing_else(
    index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = judged(
        index,
        ("ann", ONE, "correct", "same", {"arguments": [{"source": "/path/number", "target": "/path/other"}]}),
        ("ann", REMOVE, "reject", "", {}),
    )
    capsys.readouterr()
    assert main(["map", "evaluate", "--index", str(index), "--annotations", str(file), "--json"]) == 0
    own, *others = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    # What nobody judged (the list) is no matter; of the two that were judged one is right, with a wrong field.
    assert {key: own["targets"][key] for key in ("right", "proposed", "wanted")} == {
        "right": 1,
        "proposed": 2,
        "wanted": 1,
    }
    assert {key: own["fields"][key] for key in ("right", "proposed", "wanted")} == {
        "right": 0,
        "proposed": 1,
        "wanted": 1,
    }
    assert own["classes_right"] == 1  # `same` beside a lost result means `weaker`
    assert len(others) == 2


def test_a_wrong_line_of_annotations_is_told_with_its_place(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = index.with_name("wrong.jsonl")
    file.write_text("{}\n")
    words = ["--index", str(index), "--annotations", str(file)]
    assert main(["map", "build", *words, "--out", str(index.with_name("no.json"))]) == 2
    assert f"{file}:1: " in capsys.readouterr().err
    assert main(["map", "evaluate", *words]) == 2
    assert f"{file}:1: " in capsys.readouterr().err
    assert not index.with_name("no.json").exists()
