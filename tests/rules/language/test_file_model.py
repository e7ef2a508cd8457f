"""What an author may write, and what stands for what is left out: at the bound, and one beyond it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from corrigible.rules.errors import AuthoringError
from corrigible.rules.language.file_model import FileModel, checked
from corrigible.rules.language.pack_model import PackText
from corrigible.rules.language.rule_model import CaseText, RuleText
from corrigible.rules.language.yaml_source import read_source
from tests._support.rows import rows

ESCALATE = {"action": "ESCALATE", "message": "m"}
RULE = {"id": "a.b", "title": "T", "status": "draft", "references": ["r"], "suggest": [ESCALATE], "diagnosis": "d"}
PACK = {"name": "a", "title": "t", "version": "1.2.3", "api": {"name": "A"}, "license": "MIT"}
CASE = {"name": "n", "origin": "recorded", "request": {}, "response": {"status": 400}, "no_match": True}
DRY_RUN = {"query": {"dryRun": "All"}, "methods": ["POST"]}
MEANING = {"where": {"/kind": "Job"}, "becomes": {"/v": 1}, "at": "/a", "because": "b"}


def suggestion(**members: Any) -> dict[str, Any]:
    return {"suggest": [{"message": "m", **members}]}


EACH = {"each": "[1]", "suggest": ESCALATE}
ASK_EACH = {"each": "[1]", "pointer": "/body/a"}

ACCEPTED: list[tuple[type[FileModel], Any, Any]] = [
    *(
        (RuleText, RULE, change)
        for change in (
            {"id": "a-1.b2-3c"},
            {"status": "stable"},
            {"status": "deprecated"},
            {"author": "a", "date": "2026-01-31"},
            {"when": True},
            {"when": "x"},
            {"code": "A_1"},
            {"type": "intent_disambiguation"},
            {"lookup": {"a": {"get": "x", "if": "y", "optional": True, "message": {"b": 1}}}},
            suggestion(action="A_1"),
            suggestion(set="x"),
            suggestion(set={"a": 1}),
            suggestion(patch="x"),
            suggestion(patch=[{"op": "move", "path": "/body/a", "from": "/body/b"}]),
            suggestion(parameters={"a": 1}),
            suggestion(ask="/body/a"),
            suggestion(ask=["/body/a", {"pointer": "/body/b", "who": "agent", "schema": {}, "schema_from": "x"}]),
            suggestion(ask=ASK_EACH),
            suggestion(ask={**ASK_EACH, "as": "a_1"}),
            suggestion(all=[ESCALATE]),
            suggestion(all=EACH),
            suggestion(one_of={**EACH, "as": "a_1"}),
            suggestion(set={"a": 1}, differs="x", **{"if": True}),
            suggestion(action="WAIT_AND_RETRY", retry={"max_attempts": 1, "after_seconds": "x"}),
            suggestion(action="WAIT_AND_RETRY", retry={"max_attempts": 10, "idempotency_key": "new"}),
            *(suggestion(action="ESCALATE", actor=actor) for actor in ("nobody", "somebody_else", "you")),
        )
    ),
    *(
        (PackText, PACK, change)
        for change in (
            {"name": "a-1", "version": "10.20.30"},
            {"min_coverage": 0},
            {"min_coverage": 100},
            {"min_coverage": 0.5},
            {"author": "a"},
            {"operations": {"POST /v1": "Create"}},
            {"dialect": "graphql"},
            {"dialect": "mcp"},
            {"mirror": "/error"},
            {"redact": ["/a"], "lookups": ["/v1/{id}"], "bases": ["/api"]},
            {"functions": {"f(x)": "x"}},
            {"dry_run": DRY_RUN},
            {"dry_run": {**DRY_RUN, "unanswered": ["/a"], "silent": {"kind": "Status"}, "version": "apiVersion"}},
            {"meanings": [MEANING]},
            {"meanings": [{**MEANING, "value": None}]},
        )
    ),
    *(
        (CaseText, CASE, change)
        for change in (
            {"no_match": False, "expect": {}},
            {"no_match": False, "expect": {}, "after": {}},
            {"origin": "documented"},
            {"origin": "synthetic"},
        )
    ),
]

REFUSED: list[tuple[type[FileModel], dict[str, Any], dict[str, Any], str]] = [
    *(
        (RuleText, RULE, change, problem)
        for change, problem in (
            ({"id": "a"}, "match pattern"),
            ({"id": "A.b"}, "match pattern"),
            ({"title": ""}, "at least 1 character"),
            ({"references": []}, "at least 1 item"),
            ({"author": ""}, "at least 1 character"),
            ({"date": "26-01-31"}, "match pattern"),
            ({"suggest": []}, "at least 1 item"),
            ({"diagnosis": ""}, "at least 1 character"),
            ({"also_resolves": ""}, "at least 1 character"),
            ({"code": "a"}, "match pattern"),
            (suggestion(action="escalate"), "match pattern"),
            (suggestion(), "exactly one of action, all, one_of"),
            (suggestion(action="A", all=[ESCALATE]), "exactly one of action, all, one_of"),
            (suggestion(all=[ESCALATE], one_of=[ESCALATE]), "exactly one of action, all, one_of"),
            ({"suggest": [{"set": {"a": 1}}]}, "an action needs a message"),
            ({"suggest": [{"action": "ESCALATE", "message": ""}]}, "an action needs a message"),
            (suggestion(set={"a": 1}, patch="x"), "says either set or patch"),
            (suggestion(one_of={**EACH, "as": "A"}), "match pattern"),
            (suggestion(ask={**ASK_EACH, "as": "1"}), "match pattern"),
            (suggestion(action="A", retry={"max_attempts": 0}), "greater than or equal to 1"),
            (suggestion(action="A", retry={"max_attempts": 11}), "less than or equal to 10"),
            (suggestion(action="A", actor="me"), "Input should be"),
        )
    ),
    *(
        (PackText, PACK, change, problem)
        for change, problem in (
            ({"name": "A"}, "match pattern"),
            ({"version": "1.2"}, "match pattern"),
            ({"author": ""}, "at least 1 character"),
            ({"operations": {"post /v1": "Create"}}, "match pattern"),
            ({"mirror": "error"}, "match pattern"),
            ({"redact": ["a"]}, "match pattern"),
            ({"lookups": ["/a?b"]}, "match pattern"),
            ({"bases": ["/{a}"]}, "match pattern"),
            ({"min_coverage": -0.5}, "greater than or equal to 0"),
            ({"min_coverage": 100.5}, "less than or equal to 100"),
            ({"dry_run": {**DRY_RUN, "query": {}}}, "at least 1 item"),
            ({"dry_run": {**DRY_RUN, "methods": []}}, "at least 1 item"),
            ({"dry_run": {**DRY_RUN, "methods": ["GET"]}}, "Input should be"),
            ({"dry_run": {**DRY_RUN, "unanswered": ["a"]}}, "match pattern"),
            ({"meanings": [{**MEANING, "where": {}}]}, "at least 1 item"),
            ({"meanings": [{**MEANING, "becomes": {}}]}, "at least 1 item"),
            ({"meanings": [{**MEANING, "at": "a"}]}, "match pattern"),
        )
    ),
    *(
        (CaseText, CASE, change, problem)
        for change, problem in (
            ({"name": ""}, "at least 1 character"),
            ({"no_match": False}, "needs either expect"),
            ({"expect": {}}, "needs either expect"),
            ({"after": {}}, "after needs expect"),
        )
    ),
]


@rows(("model", "least", "change"), ACCEPTED)
def test_what_may_be_written(model: type[FileModel], least: dict[str, Any], change: dict[str, Any]) -> None:
    read = model.model_validate({**least, **change})
    with pytest.raises(ValidationError, match="frozen"):
        read.name = "another"  # type: ignore[attr-defined]


@rows(("model", "least", "change", "problem"), REFUSED)
def test_what_may_not_be_written(
    model: type[FileModel], least: dict[str, Any], change: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ValidationError, match=problem):
        model.model_validate({**least, **change})


@pytest.mark.parametrize(("model", "least"), [(RuleText, RULE), (PackText, PACK), (CaseText, CASE)])
def test_a_key_that_there_is_not(model: type[FileModel], least: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        model.model_validate({**least, "zzz": 1})


def given(read: Any) -> dict[str, Any]:
    """Return the members that say something."""
    members = {name: getattr(read, name) for name in type(read).model_fields}
    return {name: value for name, value in members.items() if value not in (None, [], {}, False, 0, "")}


def test_what_is_left_out() -> None:
    rule = RuleText.model_validate({**RULE, "lookup": {"a": {"get": "x"}}, **suggestion(ask=ASK_EACH)})
    assert (rule.priority, rule.type, given(rule.match)) == (0, "recovery_guidance", {})
    assert given(rule.lookup["a"]) == {"get": "x"}
    (edit,) = rule.suggest
    assert given(edit) == {"action": "MODIFY_PARAMS", "message": "m", "ask": edit.ask}
    assert given(edit.ask) == {"each": "[1]", "pointer": "/body/a", "who": "user", "name": "item"}
    (choice,) = RuleText.model_validate({**RULE, **suggestion(all=EACH)}).suggest
    assert getattr(choice.all, "name", None) == "choice"
    (waiting,) = RuleText.model_validate({**RULE, **suggestion(action="A", retry={})}).suggest
    assert waiting.retry is not None
    assert given(waiting.retry) == {}
    pack = PackText.model_validate({**PACK, "dry_run": DRY_RUN})
    assert given(pack) == {**PACK, "api": pack.api, "dry_run": pack.dry_run}
    assert (given(pack.api), given(pack.dry_run)) == ({"name": "A"}, DRY_RUN)
    case = CaseText.model_validate({**CASE, "no_match": False, "expect": {"a": 1}})
    assert set(given(case)) == {"name", "origin", "request", "response", "expect"}
    assert given(case.request) == {"method": "POST", "path": "/"}
    assert given(case.response) == {"status": 400}


@pytest.mark.parametrize(("value", "is_about_a_value"), [({}, False), ({"value": None}, True), ({"value": 1}, True)])
def test_a_meaning_is_of_a_value_or_of_none(value: dict[str, Any], is_about_a_value: bool) -> None:
    (meaning,) = PackText.model_validate({**PACK, "meanings": [{**MEANING, **value}]}).meanings
    assert meaning.is_about_a_value is is_about_a_value


@rows(
    ("model", "text", "name", "now"),
    [
        (RuleText, "on: {}", "on", "match"),
        (RuleText, "also: x", "also", "also_resolves"),
        (RuleText, "suggest:\n  - placeholders: [/body/a]", "placeholders", "ask"),
        (CaseText, "speaks: {}", "speaks", "expect"),
        (CaseText, "silent: true", "silent", "no_match"),
        (PackText, "covers: 5", "covers", "min_coverage"),
    ],
)
def test_a_key_of_an_earlier_version(tmp_path: Path, model: type[FileModel], text: str, name: str, now: str) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(text, "utf-8")
    with pytest.raises(AuthoringError) as caught:
        checked(model, read_source(file))
    assert f'"{name}" is now called "{now}"' in str(caught.value)
