"""`corrigible map build` and `corrigible map evaluate`."""

from __future__ import annotations

import json
from pathlib import Path

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
