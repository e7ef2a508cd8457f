"""The demo holds from end to end, fits a terminal, and fails when a step does not hold."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from corrigible.proxy.command.demo import preserves
from corrigible.proxy.demo.client import Answer
from corrigible.proxy.demo.page import Page, lines
from corrigible.schema.exchange import Json, Request
from tests._support.command import run


def test_the_demo_shows_a_refusal_its_correction_and_success_for_each_sandbox() -> None:
    bare = {name: value for name, value in os.environ.items() if name != "KUBEBUILDER_ASSETS"}
    done = run(["corrigible", "demo"], env=bare, check=True)
    out = done.stdout.splitlines()
    assert [line for line in out if line.startswith("===")] == [
        "=== recipe service: pancakes for a person with celiac disease ".ljust(96, "="),
        "=== stripe-stateful-mock 0.0.16: a refund of $5.00 when $3.00 is left on the charge ".ljust(96, "="),
        "=== emulate 0.12.2: a file updated without the sha of its present content ".ljust(96, "="),
    ]
    verdicts = [line.strip() for line in out if line.startswith("   ") and ("rejected" in line or "accepted" in line)]
    assert verdicts == [
        "200 OK, rejected",
        "200 OK, rejected: the same error, with feedback added",
        "200 OK, accepted",
        "400 Bad Request, rejected",
        "400 Bad Request, rejected: the same error, with feedback added",
        "200 OK, accepted",
        "422 Unprocessable Entity, rejected",
        "422 Unprocessable Entity, rejected: the same error, with feedback added",
        "200 OK, accepted",
    ]
    assert max(len(line) for line in out) <= 100
    assert "\033" not in done.stdout
    assert out[-1].startswith("Each call was rejected, corrected and accepted")


def test_a_step_that_does_not_hold_ends_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import argparse, sys\n"
        "from corrigible.proxy.command import demo\n"
        "demo.proxy_for = lambda upstream, pack, options: demo.SANDBOXES['recipe'][0]\n"  # a proxy that adds nothing
        "sys.exit(demo.run(argparse.Namespace(apis=['recipe'])))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 1
    assert done.stderr == "corrigible demo: the proxy added nothing\n"


@pytest.mark.parametrize(
    ("native", "corrected", "kept"),
    [
        ({"error": {"code": "x"}}, {"error": {"code": "x", "recovery_feedback": {}}, "validation_errors": []}, True),
        ({"error": {"code": "x"}}, {"error": {"code": "y"}}, False),
        ({"error": {"code": "x"}}, {"error": {}}, False),
        ({"error": {"code": None}}, {"error": {}}, False),
        ({"errors": [1]}, {"errors": [1, 2]}, True),
        ({"errors": [1, 2]}, {"errors": [2, 1, 2]}, False),
        ({"errors": [1, 2]}, {"errors": [1]}, False),
        ({"error": {}}, {"error": "x"}, False),
        ("text", "text", True),
    ],
)
def test_every_native_member_has_to_be_there(native: Json, corrected: Json, kept: bool) -> None:
    assert preserves(native, corrected) is kept


def test_members_that_fit_stay_on_one_line() -> None:
    assert list(lines({"a": 1, "b": [1, 2]})) == ['{"a": 1, "b": [1, 2]}']
    long = "word " * 30
    assert list(lines({"a": {"b": 1}, "c": long.strip()})) == [
        "{",
        '  "a": {"b": 1},',
        '  "c": "' + "word " * 15 + "word",
        "    " + "word " * 13 + 'word"',
        "}",
    ]


def test_a_page_for_no_terminal_has_no_colours_and_marks_what_changed() -> None:
    out = io.StringIO()
    page = Page(out)
    before = Request("POST", "/r", body={"amount": "5"}, form=True)
    page.request(Request("POST", "/r", body={"amount": 3}, form=True), before=before)
    page.answer(Answer(200, "OK", {"id": 1}), {"id": 1})
    assert out.getvalue() == '   POST /r\n   > {"amount": 3}\n   200 OK, accepted\n     {"id": 1}\n'
