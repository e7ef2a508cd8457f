"""`corrigible pack render`: a pack, its rules and its answered cases, as data for those who judge from outside."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.cli import main
from corrigible.proxy.pack_tools.export import literals, render
from tests._support.rows import rows

WritePack = Callable[..., Path]

RULE = """\
match: {code: bad, message: '^too'}
let: {unit: "request.body.big ? 'crates' : 'boxes'", unused: "'nothing'"}
suggest:
  - if: error.message == 'too much'
    action: MODIFY_PARAMS
    message: m
    parameters: {amount: 300, unit: unit}
  - {action: ESCALATE, actor: somebody_else, message: m, parameters: {missing: "'a person'"}}
"""
CASES = """\
- name: too much
  origin: recorded
  request: {body: {amount: 500, big: true}}
  response: {status: 400, headers: {X-Hint: none}, body: {error: {code: bad, message: too much}}}
  expect: {suggestions: [{parameters: {amount: 300, unit: crates}}]}
- name: over gRPC
  origin: synthetic
  request: {method: /shop.v1.Shop/Order, path: "", body: {amount: 500, big: false}}
  response: {status: 400, body: {error: {code: bad, message: too much}}}
  expect: {suggestions: [{parameters: {amount: 300, unit: boxes}}]}
- name: another
  origin: synthetic
  request: {}
  response: {status: 400, body: {error: {code: other, message: none}}}
  no_match: true
"""


@pytest.fixture
def folder(write_pack: WritePack) -> Path:
    folder = write_pack(manifest="redact: [/error/message]\nparaphrases: {300: [three hundred]}\n", less=RULE)
    (folder / "less.cases.yaml").write_text(CASES, "utf-8")
    return folder


def test_a_pack_its_rules_and_its_cases_come_in_order(folder: Path) -> None:
    pack, rule, *cases = render(folder)
    assert (pack["kind"], pack["pack"], pack["version"], pack["redact"]) == (
        "pack",
        "apex",
        "2.1.0",
        ["/error/message"],
    )
    assert (pack["path"], pack["tasks"], pack["paraphrases"]) == (str(folder), None, {"300": ["three hundred"]})
    assert (rule["kind"], rule["rule"], rule["diagnosis"], rule["code"]) == ("rule", "apex.less", "It is less.", "LESS")
    assert (rule["literals"], rule["lets"], rule["patterns"]) == ([300], ["crates", "boxes"], ["^too"])
    assert [(case["case"], case["origin"], case["spoke"]) for case in cases] == [
        ("too much", "recorded", ["apex.less"]),
        ("over gRPC", "synthetic", ["apex.less"]),
        ("another", "synthetic", []),
    ]


def test_a_case_is_answered_as_a_client_would_get_it_in_each_mode(folder: Path) -> None:
    _, _, case, *_ = render(folder)
    bodies = {mode: json.loads(answer["body"]) for mode, answer in case["answers"].items()}
    native = {"error": {"code": "bad", "message": "too much"}}
    diagnosed = {"validation_errors": [{"code": "bad", "message": "It is less.", "pointer": "/body/amount"}]}
    assert bodies["none"] == native
    assert bodies["traditional"] == {"error": {"code": "bad", "message": ""}}
    assert bodies["verbose"] == native | diagnosed
    assert bodies["reflective"] == native | diagnosed | {"recovery_feedback": case["feedback"]}
    assert case["feedback"]["suggestions"][0]["parameters"] == {"amount": 300, "unit": "crates"}
    assert ["X-Hint", "none"] in case["answers"]["none"]["headers"]


def test_over_grpc_only_reflective_adds_anything(folder: Path) -> None:
    case: dict[str, Any] = next(one for one in render(folder) if one.get("case") == "over gRPC")
    bodies = {mode: answer["body"] for mode, answer in case["answers"].items()}
    assert case["transport"] == "grpc"
    assert bodies["none"] == bodies["traditional"] == bodies["verbose"] != bodies["reflective"]


@rows(
    ("suggest", "let", "own", "helping"),
    [
        ([{"action": "MODIFY_PARAMS", "parameters": {"a": "'x'", "b": 2, "c": True}}], {}, ["x", 2], []),
        (
            [{"action": "MODIFY_PARAMS", "patch": [{"op": "test", "value": "'t'"}, {"op": "add", "value": "'v'"}]}],
            {},
            ["v"],
            [],
        ),
        ([{"one_of": [{"action": "MODIFY_PARAMS", "parameters": {"a": "'x'"}}]}], {}, ["x"], []),
        (
            [{"one_of": {"each": "l", "suggest": {"action": "MODIFY_PARAMS", "parameters": {"a": "'x'"}}}}],
            {},
            ["x"],
            [],
        ),
        (
            [{"action": "USE_ALTERNATIVE_ENDPOINT", "steps": [{"path": "'/a' + b", "body": {"c": "'x'"}}]}],
            {},
            ["x"],
            [],
        ),
        ([{"action": "NO_RECOVERY_AVAILABLE", "parameters": {"why": "'x'"}}], {}, [], []),
        ([{"action": "MODIFY_PARAMS", "parameters": {"a": "b"}}], {"b": "c", "c": "'x'", "d": "'y'"}, [], ["x"]),
        ([{"action": "MODIFY_PARAMS", "parameters": {"a": "x == 'asked' ? 'told' : y['key']"}}], {}, ["told"], []),
        ([{"action": "MODIFY_PARAMS", "parameters": {"a": "x.replace('-', '') + at(request, '/body/b')"}}], {}, [], []),
    ],
)
def test_what_of_a_rule_goes_into_requests(
    suggest: list[dict[str, Any]], let: dict[str, str], own: list[object], helping: list[object]
) -> None:
    assert literals({"suggest": suggest, "let": let}) == (own, helping)


def test_the_command_prints_json_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", "render", str(folder)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["kind"] for line in lines] == ["pack", "rule", "case", "case", "case"]


def test_a_pack_that_does_not_load_is_no_rendering(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "less.yaml").write_text("id: 3\n", "utf-8")
    assert main(["pack", "render", str(folder)]) == 2
    assert "less.yaml" in capsys.readouterr().err


@pytest.mark.nightly
def test_processes_say_the_same_to_the_byte_of_every_case_of_every_pack() -> None:
    """CEL hands maps out in an order that differs from one process to the next, and so would what agents read."""
    start = "import sys; from corrigible.proxy.cli import main; sys.exit(main(['pack', 'render']))"
    said = {subprocess.check_output([sys.executable, "-c", start]) for _ in range(2)}
    assert len(said) == 1


def test_the_values_of_functions_and_of_set_are_the_rules_too() -> None:
    suggest = [{"set": {"/body/unit": "unit_of(body)", "/body/amount": 300}}]
    functions = {"unit_of(body)": "has(body.unit) ? body.unit : 'crates'", "other(x)": "'boxes'"}
    assert literals({"suggest": suggest}, functions) == ([300], ["crates"])


def test_the_keys_of_maps_are_no_values() -> None:
    suggest = [{"set": {"/body/a": "[{'at': 'x', 'of': c ? 'y' : 'z'}]"}}]
    assert literals({"suggest": suggest}) == (["x", "y", "z"], [])
