"""`corrigible pack coverage`: documented errors, observed errors, rules and cases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.cli import main
from corrigible.proxy.pack_tools.coverage import Error, Exercise, ObservedError, Share, could_match, coverage
from corrigible.rules.language.rule import Rule
from corrigible.rules.pack.load import load_pack
from tests._support.rows import rows

WritePack = Callable[..., Path]
Capture = pytest.CaptureFixture[str]
SAYS = "\nsuggest: [{action: MODIFY_PARAMS, message: m, parameters: {amount: 300}}]\n"
CASES = """\
- name: too much
  origin: synthetic
  request: {method: POST, path: /refunds, body: {amount: 500}}
  response: {status: 400, body: {error: {code: too_much, message: over}}}
  expect: {}
- name: another
  origin: synthetic
  request: {method: POST, path: /refunds, body: {}}
  response: {status: 400, body: {error: {code: other, message: other}}}
  no_match: true
"""
SPEC = {
    "openapi": "3.0.3",
    "info": {"title": "Apex", "version": "1"},
    "paths": {
        "/refunds": {
            "post": {
                "operationId": "CreateRefund",
                "responses": {
                    "201": {"description": "made"},
                    "400": {
                        "description": "refused",
                        "content": {
                            "application/json": {
                                "schema": {
                                    "type": "object",
                                    "properties": {"error": {"type": "object", "properties": {"code": {"enum": None}}}},
                                }
                            }
                        },
                    },
                    "429": {"description": "slow down"},
                },
            },
            "get": {"operationId": "ListRefunds", "responses": {"default": {"description": "else"}}},
        }
    },
}


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CORRIGIBLE_CACHE", str(tmp_path / "cache"))
    text = json.dumps(SPEC).replace('"enum": null', '"enum": ["too_much", "too_late"]')
    path = tmp_path / "openapi.json"
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def pack(write_pack: WritePack) -> Path:
    folder = write_pack(
        over="match: {operation: CreateRefund, code: too_much}" + SAYS,
        slow="match: {status: 429}" + SAYS,
        words="match: {status: 400, message: '^late'}" + SAYS,
        elsewhere="match: {operation: CreateRefnd}" + SAYS,
    )
    (folder / "over.cases.yaml").write_text(CASES, "utf-8")
    return folder


def rules(folder: Path) -> tuple[Rule, ...]:
    return load_pack(folder).rules


def run(capsys: Capture, *arguments: str | Path) -> tuple[int, str, str]:
    status = main(["pack", "coverage", *map(str, arguments)])
    said = capsys.readouterr()
    return status, said.out, said.err


@rows(
    ("error", "expected"),
    [
        (Error("CreateRefund", "400", "too_much"), {"over"}),
        (Error("CreateRefund", "400", "too_late"), set()),
        (Error("CreateRefund", "400"), {"over"}),
        (Error("CreateRefund", "4XX"), {"over"}),
        (Error("ListRefunds", "400"), set()),
        (Error("ListRefunds", "429"), {"slow"}),
        (Error("ListRefunds", "4XX"), set()),  # a rule for one of a hundred statuses is not a rule for them
        (Error("CreateRefnd", "default"), {"elsewhere"}),
    ],
)
def test_which_rules_could_match(pack: Path, error: Error, expected: set[str]) -> None:
    assert {rule.id.removeprefix("apex.") for rule in rules(pack) if could_match(rule, error)} == expected


def test_what_was_seen_or_is_in_a_case_shows_that_a_rule_speaks(pack: Path) -> None:
    late = Error("ListRefunds", "400", "late")
    seen = [ObservedError(late, ("apex.words",), True), ObservedError(late, (), False)]
    case = Exercise(Error("ListRefunds", "404"), "apex.words")
    found = coverage([Error("ListRefunds", "default")], seen, [case], rules(pack))
    (row,) = found.rows
    assert (row.error, row.documented, row.observed, row.corrected) == (Error("ListRefunds", "default"), True, 2, 1)
    assert (row.rules, row.cases, row.covered) == (("apex.words",), 1, False)  # one of the two was corrected
    (row,) = coverage([Error("ListRefunds", "default")], seen[:1], [case], rules(pack)).rows
    assert row.covered
    assert found.idle == ("apex.elsewhere", "apex.over", "apex.slow")
    assert found.rules == Share(1, 4)


def test_what_a_rule_could_match_is_not_covered(pack: Path) -> None:
    error = Error("CreateRefund", "400", "too_much")
    (row,) = coverage([error], [], [], rules(pack)).rows
    assert (row.rules, row.cases, row.covered) == (("apex.over",), 0, False)


def test_entries_are_covered_by_cases_and_by_traffic(pack: Path) -> None:
    error = Error("CreateRefund", "400", "too_much")
    case = Exercise(error, "apex.over", frozenset({(0,)}))
    seen = ObservedError(Error("ListRefunds", "429"), ("apex.slow",), True, frozenset({("apex.slow", (0,))}))
    found = coverage([error], [seen, seen], [case], rules(pack))
    assert [(one.rule, one.branch, one.cases, one.observed) for one in found.entries if one.covered] == [
        ("apex.over", (0,), 1, 0),
        ("apex.slow", (0,), 0, 2),
    ]
    assert (found.rules, found.reached, found.idle) == (Share(2, 4), Share(2, 4), ("apex.elsewhere", "apex.words"))


TWO_WAYS = """\
match: {operation: CreateRefund, code: too_much}
suggest:
  - {if: body.amount > 400, action: MODIFY_PARAMS, message: m, parameters: {amount: 300}}
  - {if: body.amount > 100, action: MODIFY_PARAMS, message: m, parameters: {amount: 100}}
  - one_of:
      - {if: body.amount > 50, action: MODIFY_PARAMS, message: m, parameters: {amount: 50}}
      - {action: MODIFY_PARAMS, message: m, parameters: {amount: 10}}
"""


def test_a_case_that_fails_covers_nothing(write_pack: WritePack, spec: Path, capsys: Capture) -> None:
    folder = write_pack(over=TWO_WAYS)
    second = (
        CASES.replace("too much", "less")
        .replace("amount: 500", "amount: 200", 1)
        .replace("expect: {}", "expect: {recovery: %s}")
    )
    for claim, passed in (("correctable", 2), ("terminal", 1)):
        (folder / "over.cases.yaml").write_text(CASES + (second % claim).partition("- name: another")[0], "utf-8")
        said = json.loads(run(capsys, folder, "--spec", spec, "--json")[1])
        assert said["entries"]["covered"] == passed
        assert said["entries"]["of"] == 4
        row = next(one for one in said["errors"] if one["code"] == "too_much")
        assert row["cases"] == passed
    _, out, _ = run(capsys, folder, "--spec", spec)
    assert out.splitlines()[-4:] == [
        "entries under suggest: 1 of 4 (25.0 %) gave one",
        "  apex.over: suggest[1] (if: body.amount > 100): not reached",
        "  apex.over: suggest[2]: not reached",
        "  apex.over: suggest[2].one_of[0] (if: body.amount > 50): not reached",
    ]


def test_an_error_belongs_to_the_narrowest_documented_one(pack: Path) -> None:
    documented = [Error("A", "400", "x"), Error("A", "4XX"), Error("A", "default")]
    seen = [
        ObservedError(Error("A", *error), (), False)
        for error in (("400", "x"), ("400", "y"), ("404", "z"), ("500", ""))
    ]
    found = coverage(documented, [*seen, ObservedError(Error("B", "400"), (), False)], [], rules(pack))
    assert {(row.error, row.documented, row.observed) for row in found.rows} == {
        (Error("A", "400", "x"), True, 1),
        (Error("A", "400", "y"), False, 1),
        (Error("A", "4XX"), True, 1),
        (Error("A", "default"), True, 1),
        (Error("B", "400"), False, 1),
    }


def test_what_was_seen_and_never_answered_is_not_covered_whatever_rules_there_are(pack: Path) -> None:
    error = Error("CreateRefund", "400", "too_much")
    found = coverage([error], [ObservedError(error, (), False)], [], rules(pack))
    assert (found.rows[0].rules, found.rows[0].covered) == (("apex.over",), False)
    assert (found.observed, found.corrected) == (Share(0, 1), Share(0, 1))


def test_a_share_of_nothing_has_no_percentage() -> None:
    assert Share(0, 0).percent is None
    assert str(Share(0, 0)) == "0 of 0"
    assert str(Share(1, 3)) == "1 of 3 (33.3 %)"


def test_the_table(pack: Path, spec: Path, capsys: Capture) -> None:
    status, out, err = run(capsys, pack, "--spec", spec)
    assert (status, err) == (0, "")
    assert [" ".join(line.split()) for line in out.splitlines() if line] == [
        "operation status code documented seen answered rules cases",
        "CreateRefund 400 too_much yes - - apex.over 1",
        "not shown (use --all): 3 documented errors without a case; a rule could match 1 of them, none 2",
        "documented: 1 of 4 (25.0 %) errors are corrected in a case or in observed responses",
        "rules: 1 of 4 (25.0 %) gave a correction in a case that passes or in an observed response",
        "entries under suggest: 1 of 4 (25.0 %) gave one",
        "apex.elsewhere: suggest[0]: not reached",
        "apex.words: suggest[0]: not reached",
        "apex.slow: suggest[0]: not reached",
    ]
    status, out, err = run(capsys, pack, "--spec", spec, "--all")
    assert [line.split()[:3] for line in out.splitlines()[1:5]] == [
        ["CreateRefund", "400", "too_late"],
        ["CreateRefund", "429", "-"],
        ["ListRefunds", "default", "-"],
        ["CreateRefund", "400", "too_much"],
    ]


def test_min(pack: Path, spec: Path, capsys: Capture) -> None:
    assert run(capsys, pack, "--spec", spec, "--min", "25")[0] == 0
    status, _, err = run(capsys, pack, "--spec", spec, "--min", "25.5")
    assert (status, err) == (1, "coverage: documented 1 of 4 (25.0 %) is under 25.5 %\n")
    status, _, err = run(capsys, pack, "--min", "1")
    assert (status, err) == (1, "coverage: documented 0 of 0 is under 1 %\n")


def line(**members: Any) -> str:
    return json.dumps(members) + "\n"


def captured(code: str, message: str, amount: int = 500) -> dict[str, Any]:
    return {
        "request": {
            "method": "POST",
            "path": "/refunds",
            "headers": {"Content-Type": "application/json"},
            "body": {"amount": amount},
        },
        "response": {"status": 400, "body": {"error": {"code": code, "message": message}}},
    }


def test_observed_errors_come_from_journals_captures_and_recordings(
    pack: Path, spec: Path, tmp_path: Path, capsys: Capture
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(
        line(method="POST", path="/refunds?a=1", operation=None, status=429, outcome="annotated", rules=["apex.slow"])
        + line(method="POST", path="/refunds", operation="CreateRefund", status=429, outcome="untouched", rules=[])
        + line(method="POST", path="/refunds", operation="CreateRefund", status=201, outcome="untouched", rules=[])
        + "\n"
        + line(method="POST", path="/refunds", operation="CreateRefund", status=None, outcome="failed", rules=[])
        + json.dumps(captured("too_much", "over"))
        + "\n"
    )
    one = tmp_path / "one.json"
    one.write_text(json.dumps(captured("strange", "words")))
    status, out, err = run(capsys, pack, "--spec", spec, "--log", log, "--log", one, "--json", "--min", "34")
    said = json.loads(out)
    assert said["observed"] == {"covered": 1, "of": 3, "percent": 33.3}
    assert said["answers"] == {"covered": 2, "of": 4, "percent": 50.0}
    assert {
        (e["status"], e["code"], e["documented"], e["seen"], e["answered"]) for e in said["errors"] if e["seen"]
    } == {
        ("429", "", True, 2, 1),
        ("400", "too_much", True, 1, 1),
        ("400", "strange", False, 1, 0),
    }
    assert (status, err) == (1, "coverage: observed 1 of 3 (33.3 %) is under 34 %\n")


def test_what_could_not_be_read_counts_as_not_covered(pack: Path, spec: Path, tmp_path: Path, capsys: Capture) -> None:
    read = captured("too_much", "over")
    bodies = [("image/png", "picture"), ("application/json", "teapot {"), ("video/mp4", "film")]
    unread = [
        {**read, "response": {"status": 400, "headers": {"Content-Type": media}, "body": text}}
        for media, text in bodies
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(line(**one) for one in [read, *unread]))
    with log.open("a") as file:
        reason = "no known error format"
        file.write(line(method="POST", path="/refunds", status=400, outcome="untouched", rules=[], reason=reason))
    said = json.loads(run(capsys, pack, "--spec", spec, "--log", log, "--json")[1])
    kinds = {(one["code"], one["seen"], one["answered"], one["covered"]) for one in said["errors"] if one["seen"]}
    assert ("too_much", 1, 1, True) in kinds
    assert said["answers"] == {"covered": 1, "of": 5, "percent": 20.0}
    assert said["unread"] == sum(seen for code, seen, _, _ in kinds if code == "(unread)") >= 3
    assert (
        f"not read: {said['unread']} responses, with the code (unread)"
        in run(capsys, pack, "--spec", spec, "--log", log)[1]
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}\n{\n", "2: not JSON"),
        ("\n{}\n", '2: expected a line of the proxy log, or "request" and "response"'),
        ('{"request": {}, "response": {}}\n', "1: malformed: KeyError"),
    ],
)
def test_a_log_that_is_wrong_is_named_with_its_line(
    pack: Path, tmp_path: Path, capsys: Capture, text: str, said: str
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(text.replace("{}\n{\n", line(status=200, outcome="untouched") + "{\n"))
    status, out, err = run(capsys, pack, "--log", log)
    assert (status, out) == (2, "")
    assert err.startswith(f"{log}:{said}")


def test_a_log_that_is_not_there(pack: Path, tmp_path: Path, capsys: Capture) -> None:
    assert run(capsys, pack, "--log", tmp_path / "none.jsonl")[0] == 2


def test_the_description_that_ships_with_an_adapter_is_the_default(capsys: Capture) -> None:
    status, out, _ = run(capsys, "github", "--json")
    said = json.loads(out)
    assert status == 0
    assert said["documented"]["of"] > 1500
    merge = {e["status"]: e for e in said["errors"] if e["operation"] == "pulls/merge" and e["documented"]}
    assert sorted(merge) == ["403", "404", "405", "409", "422"]
    assert "github.merge-draft" in merge["405"]["rules"]
