"""The role pack: a pack in order passes every check, and each way to spoil it is caught by the one that is about it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from corrigible.conformance.audit import subject as audit_subject
from corrigible.conformance.checks import pack
from corrigible.conformance.model.outcome import CouldNotTell, NotApplicable
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.process import completed
from corrigible.proxy.cli import main
from tests._support.rows import rows

from .made import checks_of, told

CHECKS = checks_of("pack/")

HEAD = """\
name: acme
title: Acme
version: 2.1.0
api: {name: Acme API}
license: Apache-2.0
"""
RULE = """\
id: acme.%s
title: Too much
status: stable
references: [https://a.test]
match: {code: bad, message: '^too (?P<what>much|many)$'}
when: error.message.matches('^too .*')
suggest: [{action: MODIFY_PARAMS, message: Less., parameters: {amount: 300}, changes_intent: true}]
diagnosis: It is too much.
author: Somebody
date: 2026-11-21
"""
CASES = """\
- name: too much
  origin: synthetic
  request: {body: {amount: 500}}
  response: {status: 400, body: {error: {code: bad, message: too much}}}
  expect: {suggestions: [{parameters: {amount: 300}, safety: {changes_intent: true}}]}
- name: another
  origin: documented
  request: {}
  response: {status: 400, body: {error: {code: other, message: too much}}}
  no_match: true
"""
FILES: Mapping[str, str] = {"pack.yaml": HEAD, "less.yaml": RULE % "less", "less.cases.yaml": CASES}
HERE = "in-this-process"
Changed = Mapping[str, Callable[[str], str]]


@pytest.fixture
def corrigible(monkeypatch: pytest.MonkeyPatch) -> str:
    """The command, which runs in this process wherever checks start it."""

    def ran(words: Sequence[str], timeout: float) -> subprocess.CompletedProcess[str]:
        if HERE not in words:
            return completed(words, timeout)
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
            status = main(words[2:])
        return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())

    for module in (pack, audit_subject):
        monkeypatch.setattr(module, "completed", ran)
    return f"{sys.executable} {HERE}"


def findings(folder: Path | str, **config: str) -> dict[str, list[str]]:
    """Return what each check finds; checks that cannot tell, or have nothing to look at, find nothing."""
    subject = Subject("pack", "http-json", config={"pack": str(folder), **config})
    found: dict[str, list[str]] = {}
    for check in CHECKS:
        try:
            found[check.id] = [f"{one.requirement} {one.message}" for one in told(check.run(subject))]
        except (CouldNotTell, NotApplicable):
            continue
    return {id: said for id, said in found.items() if said}


def spoilt(root: Path, changed: Changed) -> Path:
    folder = root / "acme"
    folder.mkdir()
    for name in {*FILES, *changed}:
        text = changed.get(name, str)(FILES.get(name, ""))
        if text:
            (folder / name).write_text(text, "utf-8")
    return folder


def given(text: str) -> Callable[[str], str]:
    return lambda _: text


def replacing(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return change


FAULTS: dict[str, tuple[Changed, str, str]] = {
    "a key that nobody knows": ({"less.yaml": replacing("when:", "wen:")}, "loads", "wen"),
    "no CEL": ({"less.yaml": replacing("error.message.matches", "eror.message.matches")}, "loads", "less.yaml:6"),
    "a manifest without a license": ({"pack.yaml": replacing("license: Apache-2.0\n", "")}, "loads", "license"),
    "no YAML": ({"less.cases.yaml": replacing("- name: another", "- name: [")}, "loads", "less.cases.yaml"),
    "no cases": (
        {"less.cases.yaml": given(""), "less.yaml": replacing(", changes_intent: true", "")},
        "shown-both-ways",
        "no case in which it matches",
    ),
    "no case in which it is silent": (
        {"less.cases.yaml": lambda text: text.partition("- name: another")[0]},
        "shown-both-ways",
        "no case in which it does not match",
    ),
    "a case that does not hold": (
        {"less.cases.yaml": replacing("[{parameters: {amount: 300},", "[{parameters: {amount: 200},")},
        "shown-both-ways",
        "A case does not hold",
    ),
    "a rule behind another": (
        {
            "more.yaml": given((RULE % "more").replace("suggest:", "priority: 5\nsuggest:")),
            "more.cases.yaml": given(CASES),
        },
        "can-speak",
        "acme.more matches first",
    ),
    "a pattern that looks ahead": (
        {"less.yaml": replacing("'^too (?P<what>much|many)$'", "'^too (?=much)'")},
        "linear-patterns",
        "match.message",
    ),
    "an expression that looks ahead": (
        {"less.yaml": replacing("when: error", "when: error.code == 'bad' || error.message.matches('(?=m)') || error")},
        "linear-patterns",
        "when",
    ),
    "a case of no origin": (
        {"less.cases.yaml": replacing("  origin: documented\n", "")},
        "origins",
        "Case 2 of the rule less",
    ),
    "a case of an origin that there is not": (
        {"less.cases.yaml": replacing("origin: documented", "origin: hearsay")},
        "origins",
        "Case 2 of the rule less",
    ),
}
NUMBER = {"loads": 1, "shown-both-ways": 2, "can-speak": 3, "linear-patterns": 4, "coverage": 5, "origins": 6}


def test_a_pack_in_order_passes(corrigible: str, tmp_path: Path) -> None:
    assert findings(spoilt(tmp_path, {}), corrigible=corrigible) == {}


@rows("fault", FAULTS)
def test_each_fault_is_caught_by_the_check_that_is_about_it(corrigible: str, tmp_path: Path, fault: str) -> None:
    changed, check, said = FAULTS[fault]
    found = findings(spoilt(tmp_path, changed), corrigible=corrigible)
    assert list(found) == [f"pack/{check}"]
    (first, *_) = found[f"pack/{check}"]
    assert first.startswith(f"SRF-PCK-0{NUMBER[check]} ") and said in first


def test_a_rule_with_a_fault_of_each_kind_is_caught_by_each(corrigible: str, tmp_path: Path) -> None:
    changed: Changed = {
        "less.yaml": lambda text: text.replace("(?P<what>much|many)", "(?=much)").replace("title: Too much\n", ""),
        "less.cases.yaml": lambda text: text.partition("- name: another")[0].replace("synthetic", "hearsay"),
    }
    found = findings(spoilt(tmp_path, changed), corrigible=corrigible)
    assert list(found) == ["pack/loads", "pack/shown-both-ways", "pack/linear-patterns", "pack/origins"]


def test_a_deprecated_rule_needs_no_cases(corrigible: str, tmp_path: Path) -> None:
    old = {"old.yaml": given((RULE % "old").replace("stable", "deprecated"))}
    assert findings(spoilt(tmp_path, old), corrigible=corrigible) == {}


def of(name: str, pack: str, **config: str) -> list[str]:
    """Return what one check finds."""
    check = next(check for check in CHECKS if check.id == f"pack/{name}")
    return [one.message for one in told(check.run(Subject("pack", "http-json", config={"pack": pack, **config})))]


@pytest.mark.parametrize("pack", ["acme", pytest.param("stripe", marks=pytest.mark.nightly)])
def test_a_declaration_that_holds_passes(corrigible: str, tmp_path: Path, pack: str) -> None:
    if pack == "acme":
        pack = str(spoilt(tmp_path, {"pack.yaml": lambda text: text + "min_coverage: 0\n"}))
    assert of("coverage", pack, corrigible=corrigible) == []


def test_coverage_is_held_against_what_is_declared(corrigible: str, tmp_path: Path) -> None:
    folder = spoilt(tmp_path, {"pack.yaml": lambda text: text + "min_coverage: 50\n"})
    assert findings(folder, corrigible=corrigible) == {
        "pack/coverage": ["SRF-PCK-05 The pack covers less than it declares."]
    }  # there is no description of this API, so nothing of what is documented is covered


def test_our_own_packs_are_in_order(corrigible: str) -> None:
    assert findings("http", corrigible=corrigible) == {}
    assert findings("recipe", corrigible=corrigible) == {}
    assert of("loads", "recipe") == [], "by the command as it is installed"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "no pack is given"),
        ({"pack": "no-such-pack"}, "does not load"),
        ({"pack": "recipe", "corrigible": "no-such-command"}, "no-such-command"),
    ],
)
def test_what_cannot_be_judged_is_told_apart_from_what_fails(
    corrigible: str, config: dict[str, str], said: str
) -> None:
    for check in CHECKS:
        with pytest.raises(CouldNotTell, match=said):
            list(told(check.run(Subject("pack", "http-json", config={"corrigible": corrigible, **config}))))
