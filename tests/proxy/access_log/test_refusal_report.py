"""The report of `corrigible run`: what a program gets wrong, counted, and no value that it sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.access_log.entry import Entry
from corrigible.proxy.access_log.refusal_report import RefusalReport, complaints

SECRET = "hunter2"


def entry(*suggestions: Mapping[str, Any], status: int = 422, recovery: str = "correctable", **more: Any) -> Entry:
    feedback = {"recovery": recovery, "suggestions": suggestions}
    outcome = "annotated" if suggestions else "untouched"
    return Entry(0.0, "i", "POST", f"/orders?key={SECRET}", status, outcome, 1.0, feedback=feedback, **more)


def patch(*operations: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"action": "MODIFY_PARAMS", "patch": operations}


ROWS: list[tuple[Entry, list[str]]] = [
    (
        entry(
            patch(
                {"op": "test", "path": "/body/amount", "value": SECRET},
                {"op": "replace", "path": "/body/amount", "value": 10},
            )
        ),
        ["`amount` is sent as text"],
    ),
    (
        entry(
            patch(
                {"op": "test", "path": "/body/a/0/b", "value": SECRET},
                {"op": "replace", "path": "/body/a/0/b", "value": "x"},
            )
        ),
        ["`a[].b` has a value that the API does not take"],
    ),
    (
        entry(
            patch({"op": "move", "from": "/body/titel", "path": "/body/title"}, {"op": "remove", "path": "/query/x"})
        ),
        ["`titel` is sent, and the API knows it as `title`", "`x` is sent, and the API does not take it"],
    ),
    (entry(patch({"op": "add", "path": "/body/list/-", "value": SECRET})), ["`list[]` is missing"]),
    (entry({"action": "MODIFY_PARAMS", "placeholders": [{"pointer": "/body/name"}]}), ["`name` needs another value"]),
    (entry({"action": "WAIT"}, recovery="transient"), ["The call is to be sent again later"]),
    (entry({"action": "ESCALATE"}, recovery="terminal"), ["The call cannot be mended by the caller"]),
    (entry(), ["The call got no correction"]),
]


def test_each_kind_of_correction_has_its_sentence() -> None:
    assert [[*complaints(one)] for one, _ in ROWS] == [said for _, said in ROWS]


@pytest.mark.parametrize("suffix", [".html", ".json", ".md"])
def test_refusals_are_counted_by_operation_without_values(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"report{suffix}"
    report = RefusalReport(file)
    for _ in range(14):
        report.write(ROWS[0][0])
    for one, _ in ROWS[1:]:
        report.write(one)
    report.write(Entry(0.0, "i", "GET", "/fine", 200, "untouched", 1.0))
    report.write(Entry(0.0, "i", "GET", "/gone", None, "failed", 1.0))
    report.close()
    text = file.read_text("utf-8")
    assert SECRET not in text
    assert "/fine" not in text
    assert "/gone" not in text
    match suffix:
        case ".json":
            (row,) = json.loads(text)["operations"]
            assert (row["operation"], row["refused"], row["statuses"]) == ("POST /orders", 21, {"422": 21})
            assert row["complaints"][0] == {"text": "`amount` is sent as text", "calls": 14}
        case ".md":
            assert text.startswith("## `amount` is sent as text in 14 calls of POST /orders\n")
        case ".html":
            HTMLParser().feed(text)
            assert "<li>`amount` is sent as text: 14 calls</li>" in text


def test_names_of_callers_are_no_markup(tmp_path: Path) -> None:
    report = RefusalReport(tmp_path / "report.html")
    report.write(entry(patch({"op": "add", "path": "/body/<script>"}), operation="<b>"))
    report.close()
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "<script>" not in text
    assert "<b>" not in text


def test_another_form_is_refused_and_a_file_that_cannot_be_made_too(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"report\.pdf: expected the suffix \.html, \.json, \.md"):
        RefusalReport(tmp_path / "report.pdf")
    with pytest.raises(OSError, match="No such file"):
        RefusalReport(tmp_path / "none" / "report.md")
