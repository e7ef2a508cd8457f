"""SPEC.md says what is true: its snippets are run."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from corrigible.schema import BaseAction, Next, Request, apply, parse, validate
from corrigible.schema.word import Word

ROOT = files("corrigible.schema")
SPEC = ROOT.joinpath("SPEC.md").read_text("utf-8")
SCHEMA = Draft202012Validator(json.loads(ROOT.joinpath("feedback.schema.json").read_text("utf-8")))
SNIPPETS = [(kind.strip(), json.loads(text)) for kind, text in re.findall(r"```json(.*)\n([^`]*)```", SPEC)]


def request(document: dict[str, Any]) -> Request:
    return Request(**document)


def test_there_are_snippets_of_every_kind_and_no_others() -> None:
    assert sorted(kind for kind, _ in SNIPPETS) == ["", "apply", "apply", "read"]
    assert SPEC.count("```python\n") == 1, "the program that tests/test_docs.py runs"
    assert SPEC.count("```") == 2 * (len(SNIPPETS) + 1)


@pytest.mark.parametrize(("kind", "snippet"), SNIPPETS)
def test_a_snippet_holds(kind: str, snippet: dict[str, Any]) -> None:
    match kind:
        case "":
            validate(parse(snippet))
            SCHEMA.validate(snippet)
        case "read":
            assert parse(snippet).suggestions[0].parameters
            assert not SCHEMA.is_valid(snippet)
        case "apply":
            validate(parse(snippet["feedback"]))
            SCHEMA.validate(snippet["feedback"])
            result = apply(snippet["feedback"], request(snippet["request"]))
            assert isinstance(result, Next)
            assert result.request.document() == snippet["next"]


def test_every_word_is_in_the_text() -> None:
    words = {member.value for kind in Word.__subclasses__() for member in kind}
    verbs_of_rfc_6902 = {"add", "remove", "replace", "move", "copy"}
    assert {word for word in words - verbs_of_rfc_6902 if not re.search(rf"\b{word}\b", SPEC)} == set()
    assert {action.value for action in BaseAction} <= words


def test_clauses_are_numbered_without_gaps() -> None:
    clauses = [tuple(map(int, number.split("."))) for number in re.findall(r"^(\d+\.\d+) ", SPEC, re.MULTILINE)]
    sections = {section for section, _ in clauses}
    for section in sections:
        assert [clause for s, clause in clauses if s == section] == list(
            range(1, sum(s == section for s, _ in clauses) + 1)
        )
    assert len(SPEC.split()) <= 2921  # words: lines of code are narrow
