"""`corrigible pack`: what is printed, where, and the exit status."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from corrigible.proxy.cli import main
from tests._support.command import start
from tests._support.rows import rows

WritePack = Callable[..., Path]
Capture = pytest.CaptureFixture[str]
RULE = "match: {code: bad}\nsuggest: [{action: MODIFY_PARAMS, message: m, parameters: {amount: 300}}]\n"
CASES = """\
- name: too much
  origin: synthetic
  request: {body: {amount: 500}}
  response: {status: 400, body: {error: {code: bad}}}
  expect: {suggestions: [{parameters: {amount: %s}, safety: {changes_intent: true}}]}
- name: another
  origin: synthetic
  request: {}
  response: {status: 400, body: {error: {code: other}}}
  no_match: true
"""


def run(capsys: Capture, *arguments: str | Path) -> tuple[int, list[str], list[str]]:
    """Run the command; return the exit status and the lines of both outputs."""
    try:
        status = main([str(argument) for argument in arguments])
    except SystemExit as end:  # argparse
        assert isinstance(end.code, int)
        status = end.code
    said = capsys.readouterr()
    return status, said.out.splitlines(), said.err.splitlines()


def test_lint_of_a_pack_in_order(write_pack: WritePack, capsys: Capture) -> None:
    folder = write_pack(x=RULE)
    (folder / "x.cases.yaml").write_text(CASES % 300, "utf-8")
    assert run(capsys, "pack", "lint", folder) == (0, ["apex 2.1.0: 1 rule, 2 cases, 0 tables, no mistakes"], [])


def test_lint_wants_a_loss_to_be_claimed(write_pack: WritePack, capsys: Capture) -> None:
    folder = write_pack(x=RULE)
    (folder / "x.cases.yaml").write_text((CASES % 300).replace(", safety: {changes_intent: true}", ""), "utf-8")
    said = f'{folder}/x.cases.yaml:1: "too much": the edit loses /body/amount: claim changes_intent: true'
    assert run(capsys, "pack", "lint", folder) == (1, [], [said])


def test_lint_prints_every_mistake_with_its_line(write_pack: WritePack, capsys: Capture) -> None:
    folder = write_pack(a=RULE + "wen: 1\n", b=RULE.replace("MODIFY_PARAMS", "MODIFY_PARAM"), x=RULE)
    (folder / "x.cases.yaml").write_text((CASES % 300).replace("no_match: true", "expect: {}"), "utf-8")
    assert run(capsys, "pack", "lint", folder) == (
        1,
        [],
        [
            f'{folder}/a.yaml:8: unknown key "wen"; did you mean "when"?',
            f'{folder}/b.yaml:7: action "MODIFY_PARAM" is not registered in pack.yaml; did you mean "MODIFY_PARAMS"?',
            f"{folder}/x.cases.yaml:1: the rule has 2 cases: it needs a case with no_match: true",
        ],
    )


def test_lint_reads_the_cases_too(write_pack: WritePack, capsys: Capture) -> None:
    folder = write_pack(x=RULE)
    (folder / "x.cases.yaml").write_text((CASES % 300).replace("expect", "expct"), "utf-8")
    status, out, err = run(capsys, "pack", "lint", folder)
    assert (status, out) == (1, [])
    assert err == [f'{folder}/x.cases.yaml:5: unknown key "expct"; did you mean "expect"?']


def test_lint_goes_on_after_a_pack_that_is_wrong(write_pack: WritePack, capsys: Capture, tmp_path: Path) -> None:
    folder = write_pack(x=RULE)
    (folder / "x.cases.yaml").write_text(CASES % 300, "utf-8")
    status, out, err = run(capsys, "pack", "lint", tmp_path / "none", folder)
    assert (status, len(out), len(err)) == (1, 1, 1)
    assert err[0].startswith(f"{tmp_path / 'none'}: no built-in pack and no folder of that name; built in: ")


def test_test(write_pack: WritePack, capsys: Capture) -> None:
    folder = write_pack(x=RULE)
    (folder / "x.cases.yaml").write_text(CASES % 300, "utf-8")
    assert run(capsys, "pack", "test", folder) == (0, [f"{folder}: 2 passed, 0 failed"], [])
    (folder / "x.cases.yaml").write_text(CASES % 301, "utf-8")
    assert run(capsys, "pack", "test", folder) == (
        1,
        [f"{folder}: 1 passed, 1 failed"],
        [f'{folder}/x.cases.yaml:1: "too much": /suggestions/0/parameters/amount: expected 301, got 300'],
    )
    (folder / "x.cases.yaml").unlink()
    assert run(capsys, "pack", "test", folder) == (
        1,
        [f"{folder}: 0 passed, 0 failed"],
        [
            f"{folder}/x.cases.yaml:1: the rule has 0 cases: it needs a case that it matches (expect)",
            f"{folder}/x.cases.yaml:1: the rule has 0 cases: it needs a case with no_match: true",
        ],
    )
    (folder / "x.cases.yaml").write_text("- name: n\n", "utf-8")
    status, out, err = run(capsys, "pack", "test", folder)
    assert (status, err[0]) == (2, f'{folder}/x.cases.yaml:1: "origin" is missing')
    assert out == [f"{folder}: 0 passed, 0 failed; 1 file is malformed, its cases were not run"]


def test_test_goes_on_after_a_rule_that_is_wrong(write_pack: WritePack, capsys: Capture) -> None:
    folder = write_pack(x=RULE, y=RULE + "wen: 1\n")
    (folder / "x.cases.yaml").write_text(CASES % 300, "utf-8")
    assert run(capsys, "pack", "test", folder) == (
        2,
        [f"{folder}: 2 passed, 0 failed; 1 file is malformed, its cases were not run"],
        [f'{folder}/y.yaml:8: unknown key "wen"; did you mean "when"?'],
    )


def test_lint_as_sarif(write_pack: WritePack, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = write_pack(x=RULE + "wen: 1\n", y=RULE + "when: captures.n == 1\n")
    (folder / "y.cases.yaml").write_text(CASES % 300, "utf-8")
    status, out, err = run(capsys, "pack", "lint", folder, "--format", "sarif")
    assert (status, err) == (1, [])
    document = json.loads("\n".join(out))
    (scan,) = document["runs"]
    shown = [
        (
            scan["tool"]["driver"]["rules"][result["ruleIndex"]]["id"],
            result["level"],
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            result["locations"][0]["physicalLocation"]["region"]["startLine"],
        )
        for result in scan["results"]
    ]
    assert shown == [("invalid", "error", "apex/x.yaml", 8), ("unknown-capture", "warning", "apex/y.yaml", 8)]
    assert len({result["partialFingerprints"]["mistake/v1"] for result in scan["results"]}) == 2


def test_watch_runs_again_after_each_change(write_pack: WritePack) -> None:
    folder = write_pack(x=RULE)
    (folder / "x.cases.yaml").write_text(CASES % 301, "utf-8")
    command = ["corrigible", "pack", "test", str(folder), "--watch"]
    with start(command, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            _until(process.stdout, f"{folder}: 1 passed, 1 failed")
            _until(process.stdout, "-- watching")
            (folder / "x.cases.yaml").write_text(CASES % 300, "utf-8")
            _until(process.stdout, f"{folder}: 2 passed, 0 failed")
            _until(process.stdout, "-- watching")
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()


def _until(lines: Iterable[str], start: str) -> None:
    assert any(line.startswith(start) for line in lines), f"no line {start}"


def test_new_lints_and_passes(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "apex"
    status, out, err = run(capsys, "pack", "new", folder)
    assert (status, out[0], out[-1]) == (0, f"{folder}/pack.yaml", f"{folder}/example.cases.yaml")
    assert err[1] == f"next, 2: corrigible pack lint {folder}; corrigible pack test {folder}"
    made = [f"{folder}/too-many.yaml", f"{folder}/too-many.cases.yaml"]
    assert run(capsys, "pack", "new", folder / "too-many")[:2] == (0, made)
    assert run(capsys, "pack", "lint", folder)[0] == 0
    assert run(capsys, "pack", "test", folder) == (0, [f"{folder}: 4 passed, 0 failed"], [])
    assert run(capsys, "pack", "new", folder) == (2, [], [f"{folder}: is there already and not empty"])


def test_lint_notes_what_is_left_of_the_template(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "apex"
    run(capsys, "pack", "new", folder)
    rule = folder / "example.yaml"
    note = f"note: {rule}:{{}}: still the template of corrigible pack new: {{}}"
    summary = "apex 1.0.0: 1 rule, 2 cases, 0 tables, no mistakes, 1 note"
    assert run(capsys, "pack", "lint", folder) == (0, [summary], [note.format(5, "references, suggest, diagnosis")])
    scan = json.loads("\n".join(run(capsys, "pack", "lint", folder, "--format", "sarif")[1]))["runs"][0]
    assert [(one["ruleId"], one["level"]) for one in scan["results"]] == [("template", "note")]
    text = rule.read_text("utf-8").replace("example.com", "shop.test").replace("message: Say", "message: Tell")
    rule.write_text(text, "utf-8")
    assert run(capsys, "pack", "lint", folder) == (0, [summary], [note.format(14, "diagnosis")])
    rule.write_text(text.replace("diagnosis: Say", "diagnosis: Tell"), "utf-8")
    assert run(capsys, "pack", "lint", folder) == (0, [summary.removesuffix(", 1 note")], [])


def test_new_says_that_a_folder_is_missing(tmp_path: Path, capsys: Capture) -> None:
    status, out, (message,) = run(capsys, "pack", "new", tmp_path / "nopack" / "x")
    assert (status, out) == (2, [])
    assert message.startswith(f"{tmp_path}/nopack: there is no pack: a pack is a folder with pack.yaml. ")
    assert f"corrigible pack new {tmp_path}/nopack makes it" in message
    assert not (tmp_path / "nopack").exists()


def test_a_rule_matches_the_code_as_the_api_writes_it(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "apex"
    run(capsys, "pack", "new", folder)
    run(capsys, "pack", "new", folder / "not-found")
    assert run(capsys, "pack", "test", folder) == (0, [f"{folder}: 4 passed, 0 failed"], [])


def test_docs_and_schema(write_pack: WritePack, capsys: Capture) -> None:
    status, out, err = run(capsys, "pack", "docs", write_pack(x=RULE))
    assert (status, out[0], err) == (0, "# Apex", [])
    assert "- **MODIFY_PARAMS**: m" in out
    titles = {}
    for what in ("rule", "pack", "cases"):
        status, out, err = run(capsys, "pack", "schema", what)
        assert (status, err) == (0, [])
        titles[what] = json.loads("\n".join(out)).get("title")
    assert titles == {"rule": "RuleText", "pack": "PackText", "cases": None}
    assert run(capsys, "pack", "schema")[1] == run(capsys, "pack", "schema", "rule")[1]


def test_explain_says_what_would_be_sent_and_why(write_pack: WritePack, capsys: Capture, tmp_path: Path) -> None:
    folder = write_pack(x=RULE, y=RULE.replace("bad", "worse"))
    file = tmp_path / "one.json"
    capture = {
        "case": "one",
        "request": {"method": "POST", "path": "/x", "body": {"amount": 500}},
        "response": {"status": 400, "body": {"error": {"code": "bad"}}},
    }
    file.write_text(json.dumps(capture), "utf-8")
    status, out, err = run(capsys, "pack", "explain", folder, file)
    assert (status, err) == (0, [])
    assert out[:9] == [
        "one: 400 annotated: apex.x",
        "  operation: unknown (pack apex)",
        "  errors[0], as rules see it under `error`:",
        '    code: "bad"',
        '    message: ""',
        '    pointer: ""',
        '    param: ""',
        "  apex.y: not asked: code is bad, the rule listens for worse",
        "  apex.x: matched",
    ]
    assert json.loads("\n".join(out[9:]))["recovery_feedback"]["suggestions"][0]["parameters"] == {"amount": 300}


@rows(
    ("arguments", "said"),
    [
        (["pack"], "missing: VERB"),
        (["pack", "schema", "rules"], '"rules" is none of '),
        (["pack", "docs"], "one of the arguments NAME_OR_PATH --reference is required"),
        (["pack", "docs", "strip"], 'did you mean "stripe"?'),
        (["pack", "try", "recipe", "gone.json"], "gone.json: cannot be read: No such file or directory"),
        (["pack", "explain", "recipe", "gone.json"], "gone.json: cannot be read: No such file or directory"),
        (["pack", "explain", "recipe", "x", "--mode", "loud"], "argument --mode: invalid "),
        (["pack", "new", "Bad_Name"], '"Bad_Name" is no pack name'),
    ],
)
def test_called_wrongly(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, [])
    assert said in err[-1]


def test_lint_counts_wordings_and_explain_reads_them(tmp_path: Path, capsys: Capture) -> None:
    row = "{id: exists.row-sold, pattern: 'row {value} went to', example: Row 7 went to Ann, counter: Row 7 is free}"
    manifest = "name: cinema\ntitle: Cinema\nversion: 1.0.0\napi: {name: Cinema API}\nlicense: Apache-2.0\n"
    (tmp_path / "pack.yaml").write_text(f"{manifest}wordings:\n  - {row}\n", "utf-8")
    summary = "cinema 1.0.0: 0 rules, 0 cases, 0 tables, 1 wording, no mistakes"
    assert run(capsys, "pack", "lint", tmp_path) == (0, [summary], [])
    lines = ['exists: "Row 9 went to"', "  value: 9", "  row: cinema.exists.row-sold"]
    assert run(capsys, "explain", "Row 9 went to the mayor", "--pack", tmp_path) == (0, lines, [])
    assert run(capsys, "explain", "Row 9 went to the mayor") == (1, [], ["No row reads this text."])
