"""The reader as a program: lines in, lines out, and never a crash."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import Any

import pytest

from corrigible.schema.stdio import answer, serve
from tests._support.rows import rows

REQUEST = {"method": "POST", "path": "/x", "query": {}, "headers": {}, "body": {"a": 1}, "form": False}
FIX = {"suggestions": [{"action": "MODIFY_PARAMS", "parameters": {"a": 2}}]}
AFTER = {"method": "POST", "path": "/x", "query": {}, "headers": {}, "body": {"a": 2}}
STEP: dict[str, Any] = {"method": "POST", "path": "/y", "query": {}, "headers": {}, "body": None}
ASKS = {"suggestions": [{**FIX["suggestions"][0], "safety": {"requires_confirmation": True}}]}
CHOICE = {**FIX, "type": "intent_disambiguation"}


def said(**question: Any) -> Any:
    return json.loads(answer(json.dumps({"id": "1", "request": REQUEST, **question})))


@rows(
    ("question", "expected"),
    [
        ({"feedback": FIX}, {"next": {"request": AFTER}}),
        ({"answer": {"status": 400, "body": {"recovery_feedback": FIX}}}, {"next": {"request": AFTER}}),
        ({"answer": {"status": 400, "text": json.dumps({"recovery_feedback": FIX})}}, {"next": {"request": AFTER}}),
        ({"feedback": ASKS, "options": {"confirmed": True}}, {"next": {"request": AFTER}}),
        ({"feedback": CHOICE, "options": {"choice": 0}}, {"next": {"request": AFTER}}),
        (
            {"feedback": {**FIX, "retry": {"after_seconds": 3, "idempotency_key": "new"}}},
            {"next": {"request": AFTER, "wait": 3, "new_idempotency_key": True}},
        ),
        (
            {"feedback": {"suggestions": [{**FIX["suggestions"][0], "steps": [{"method": "POST", "path": "/y"}]}]}},
            {"next": {"request": AFTER, "steps": [STEP]}},
        ),
        (
            {"feedback": {"suggestions": [{"action": "ESCALATE", "parameters": {"b": 1}}], "message": "No."}},
            {"terminal": {"action": "ESCALATE", "message": "No.", "parameters": {"b": 1}}},
        ),
    ],
)
def test_a_question_is_answered(question: dict[str, Any], expected: dict[str, Any]) -> None:
    assert said(**question) == {"id": "1", **expected}


def test_all_of_the_request_goes_on() -> None:
    request = {"method": "PUT", "path": "/y", "query": {"q": "1"}, "headers": {"x-a": "1"}, "body": {"a": 1, "b": 3}}
    after = {**request, "body": {"a": 2, "b": 3}}
    assert said(request=request, feedback=FIX)["next"]["request"] == after


def test_in_a_form_values_are_texts() -> None:
    patch = [{"op": "test", "path": "/body/a", "value": 1}, {"op": "replace", "path": "/body/a", "value": 2}]
    feedback = {"suggestions": [{"action": "MODIFY_PARAMS", "parameters": {}, "patch": patch}]}
    text = {**REQUEST, "body": {"a": "1"}}
    assert "next" in said(request={**text, "form": True}, feedback=feedback)
    assert "needs_input" in said(request=text, feedback=feedback)


@pytest.mark.parametrize(
    ("status", "is_refused"), [(400, True), (200, False), (None, True), (True, True), ("200", True)]
)
def test_the_status_of_an_answer_says_whether_it_refuses(status: Any, is_refused: bool) -> None:
    found = said(answer={"status": status, "body": {"recovery_feedback": FIX}})
    assert found.get("error") == (None if is_refused else "the answer has no feedback")


def test_what_is_missing_is_named() -> None:
    found = said(feedback=ASKS)["needs_input"]
    assert found["reason"]
    assert (found["confirm"], found["choices"], found["placeholders"]) == (True, [0], [])
    placeholder = {"pointer": "/body/a", "ask": "user"}
    found = said(feedback={"suggestions": [{**FIX["suggestions"][0], "placeholders": [placeholder]}]})["needs_input"]
    assert found["placeholders"] == [placeholder]
    assert "next" in said(feedback=FIX, options={"cap": "MAYBE_INCORRECT"})
    assert "needs_input" in said(feedback=FIX, options={"cap": "MACHINE_APPLICABLE"})


@rows(
    ("question", "problem"),
    [
        ({"feedback": []}, "feedback: not an object"),
        ({"answer": {"body": {}}}, "the answer has no feedback"),
        ({"answer": {"text": "<html>"}}, "Expecting value"),
        ({}, "a question has feedback or an answer"),
        ({"feedback": FIX, "request": None}, "request: no request document"),
        ({"feedback": FIX, "request": {"method": "GET"}}, "request: no request document"),
        ({"feedback": FIX, "options": {"cap": "EVERYTHING"}}, "'EVERYTHING' is not a valid Applicability"),
        ({"feedback": FIX, "options": {"choice": 7}}, "no suggestion 7"),
    ],
)
def test_what_cannot_be_read_is_an_error(question: dict[str, Any], problem: str) -> None:
    found = said(**question)
    assert found["id"] == "1"
    assert found["error"].startswith(problem)


@rows("line", ["", "x", "[]", "7", "[" * 100_000, '{"id": 1, "request": 1e400, "feedback": {}}'])
def test_a_line_that_is_no_question_is_an_error_too(line: str) -> None:
    assert set(json.loads(answer(line))) == {"id", "error"}


def test_every_error_says_something() -> None:
    assert json.loads(answer("[" * 100_000))["error"]


def test_blank_lines_are_no_questions_and_every_other_gets_one_line() -> None:
    out = io.StringIO()
    serve(["\n", json.dumps({"id": 1}) + "\n", "  \n", "x\n"], out)
    assert [set(json.loads(line)) for line in out.getvalue().splitlines()] == [{"id", "error"}] * 2


def test_it_is_a_program() -> None:
    question = json.dumps({"id": "é", "request": REQUEST, "feedback": FIX})
    command = [sys.executable, "-m", "corrigible.schema.stdio"]
    run = subprocess.run(command, input=f"{question}\n", capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == {"id": "é", "next": {"request": AFTER}}
