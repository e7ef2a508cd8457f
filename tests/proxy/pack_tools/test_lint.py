"""Mistakes of packs that load: what a rule lacks, what is too long, what no case would notice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from corrigible.proxy.pack_tools.lint import lint_pack

WritePack = Callable[..., Path]
RULE = "match: {code: bad}\nsuggest: [{message: m, changes_intent: true, parameters: {amount: 300}}]\n"
CASE = """\
- name: n
  origin: synthetic
  request: {path: /v1/x, body: {amount: 500}}
  response: {status: 400, body: {error: {code: bad, message: m}}}
  expect: {suggestions: [{parameters: {amount: 300}%s}]}
"""


def linted(folder: Path, claim: str = ", safety: {changes_intent: true}") -> list[str]:
    (folder / "x.cases.yaml").write_text(CASE % claim, "utf-8")
    return [str(problem).replace(f"{folder}/", "") for problem in lint_pack(folder)]


def test_a_pack_in_order(write_pack: WritePack) -> None:
    assert linted(write_pack(x=RULE)) == []


def test_a_change_of_intent_that_no_case_claims(write_pack: WritePack) -> None:
    assert linted(write_pack(x=RULE), "") == [
        "x.yaml:1: the rule has changes_intent: true, and none of its cases claims it"
    ]


def test_an_expression_is_200_characters_long_at_most(write_pack: WritePack) -> None:
    fits, long = f"'{'x' * 198}'", f"'{'x' * 199}'"
    manifest = f'functions: {{"f(n)": "n + {long}"}}\n'
    folder = write_pack(manifest=manifest, x=RULE + f'let:\n  fits: "{fits}"\n  long: "{long}"\n')
    assert [problem.partition(", 200")[0] for problem in linted(folder)] == [
        "pack.yaml:6: an expression of 205 characters",
        "x.yaml:10: an expression of 201 characters",
    ]


@pytest.mark.parametrize(
    ("status", "manifest", "problems"),
    [
        ("stable", "", ['"author", here or in pack.yaml', '"date"']),
        ("stable", "author: Us\n", ['"date"']),
        ("draft", "", []),
    ],
)
def test_a_stable_rule_says_who_wrote_it_and_when(
    write_pack: WritePack, status: str, manifest: str, problems: list[str]
) -> None:
    folder = write_pack(manifest=manifest, x=RULE)
    text = (folder / "x.yaml").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith(("author", "date"))]
    (folder / "x.yaml").write_text("\n".join(lines).replace("status: stable", f"status: {status}"), "utf-8")
    assert linted(folder) == [f"x.yaml:3: a stable rule needs {problem}" for problem in problems]


def test_a_file_that_readers_disagree_about(write_pack: WritePack) -> None:
    folder = write_pack(x=RULE + "let: {'off': 1}\n")
    assert linted(folder) == []
    (folder / "x.yaml").write_text((folder / "x.yaml").read_text("utf-8").replace("'off'", "off"), "utf-8")
    assert linted(folder) == ['x.yaml:8: "off" is a boolean in YAML 1.1 and text in YAML 1.2: quote it']
